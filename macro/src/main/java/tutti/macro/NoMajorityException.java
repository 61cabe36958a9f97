package tutti.macro;

/** No majority of the replicas gave the same answer. A write may have taken effect at some of them. */
public final class NoMajorityException extends RuntimeException {
    private static final long serialVersionUID = 1;

    NoMajorityException(String what) {
        super(what);
    }
}
