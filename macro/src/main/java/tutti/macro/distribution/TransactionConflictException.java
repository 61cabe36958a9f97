package tutti.macro.distribution;

/** A transaction has lost to another one that was ordered before it. Nothing of it was done; it may be tried again. */
public final class TransactionConflictException extends RuntimeException {
    private static final long serialVersionUID = 1;

    TransactionConflictException(String what) {
        super(what);
    }
}
