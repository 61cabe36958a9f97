package tutti.runtime;

import java.io.IOException;

/** A file does not hold what was once safely written to it. */
public class DamagedFileException extends IOException {
    private static final long serialVersionUID = 1;

    /** Says which file and what is wrong with it. */
    public DamagedFileException(String message) {
        super(message);
    }
}
