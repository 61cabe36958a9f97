package tutti.runtime;

import java.io.IOException;

/** The others do not let a node take part. That is how things are, and no fault of the code that is told: so there is no stack trace. */
public class TurnedAwayException extends IOException {
    private static final long serialVersionUID = 1;

    /** Says why, and what to do. */
    public TurnedAwayException(String message) {
        super(message);
    }

    @Override
    public final synchronized Throwable fillInStackTrace() {
        return this;
    }
}
