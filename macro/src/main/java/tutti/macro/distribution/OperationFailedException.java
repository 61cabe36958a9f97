package tutti.macro.distribution;

/** Stands, at a remote client, for an exception of a class that cannot be made again there. */
public final class OperationFailedException extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final String thrownClass;

    OperationFailedException(String thrownClass, String message) {
        super(thrownClass + ": " + message);
        this.thrownClass = thrownClass;
    }

    /** Name of the class of the exception that the operation threw. */
    public String thrownClass() {
        return thrownClass;
    }
}
