package tutti.macro.distribution;

/** Something cannot be turned into bytes, or bytes are not what they should be. */
public final class EncodingException extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** Says what. */
    public EncodingException(String what) {
        super(what);
    }

    /** Says what, and why. */
    public EncodingException(String what, Throwable cause) {
        super(what, cause);
    }
}
