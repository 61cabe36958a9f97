package tutti.runtime;

import java.io.IOException;

/**
 * A file does not hold what was once safely written to it, or its disk cannot read it any more. Trying again does not help; what may pass,
 * such as a disk that is full or a process that may open no more files, is another {@link IOException}.
 */
public class DamagedFileException extends IOException {
    private static final long serialVersionUID = 1;

    /** Says which file and what is wrong with it. */
    public DamagedFileException(String message) {
        super(message);
    }

    /** Likewise, with what says so. */
    public DamagedFileException(String message, Throwable cause) {
        super(message, cause);
    }
}
