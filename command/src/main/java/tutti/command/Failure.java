package tutti.command;

import org.jspecify.annotations.Nullable;

/** A command cannot do what it was asked. Its message is for the person who called it: what happened, what to do. */
public final class Failure extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final int exitStatus;

    /**
     * A failure, exit status 1.
     *
     * @param what happened, to what
     * @param remedy what to do about it; may be empty
     */
    public Failure(String what, String remedy) {
        this(what, remedy, Program.FAILURE, null);
    }

    /** Likewise, with its cause, which {@code --verbose} shows. */
    public Failure(String what, String remedy, @Nullable Throwable cause) {
        this(what, remedy, Program.FAILURE, cause);
    }

    private Failure(String what, String remedy, int exitStatus, @Nullable Throwable cause) {
        super(remedy.isEmpty() ? what : what + System.lineSeparator() + "  " + remedy, cause);
        this.exitStatus = exitStatus;
    }

    /** The command was called wrongly: exit status 2. */
    public static Failure usage(String what, String remedy) {
        return new Failure(what, remedy, Program.USAGE, null);
    }

    int exitStatus() {
        return exitStatus;
    }

    /** What a person is told of any exception: its message and those of its causes that add something. */
    public static String explain(Throwable failure) {
        if (failure instanceof Failure && failure.getMessage() != null) {
            return failure.getMessage();
        }
        StringBuilder text = new StringBuilder();
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            String message = cause.getMessage() == null ? cause.getClass().getSimpleName() : cause.getMessage();
            if (text.indexOf(message) < 0) {
                text.append(text.isEmpty() ? "" : ": ").append(message);
            }
        }
        return text.append(System.lineSeparator()).append("  --verbose shows where").toString();
    }
}
