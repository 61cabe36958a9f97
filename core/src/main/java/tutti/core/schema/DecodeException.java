package tutti.core.schema;

import org.jspecify.annotations.Nullable;

/** Bytes that are not what they should be; says what they should be, which field is wrong, and why. */
public final class DecodeException extends IllegalArgumentException {
    private static final long serialVersionUID = 1;

    private final String reason;
    private boolean mayBeOfAnotherRelease;
    private String path = "";
    private String what = "";

    DecodeException(String reason) {
        this(reason, null);
    }

    DecodeException(@Nullable String reason, @Nullable Throwable cause) {
        super(reason, cause);
        this.reason = reason == null ? "it cannot be" : reason;
    }

    /** Another release may know it. */
    DecodeException asOfAnotherRelease() {
        mayBeOfAnotherRelease = true;
        return this;
    }

    /**
     * Whether it is of a version or kind that this build does not know, so that another release may read it; otherwise no release that
     * knows version and kind does.
     */
    public boolean mayBeOfAnotherRelease() {
        return mayBeOfAnotherRelease;
    }

    /** It happened in this field. */
    DecodeException within(String field) {
        path = path.isEmpty() ? field : field + (path.startsWith("[") ? "" : ".") + path;
        return this;
    }

    /** This was being read. */
    DecodeException reading(String message) {
        what = message;
        return this;
    }

    @Override
    public String getMessage() {
        return (what.isEmpty() ? "" : what + ": ") + (path.isEmpty() ? "" : path + ": ") + reason;
    }
}
