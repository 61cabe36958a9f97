package tutti.macro.distribution;

import org.jspecify.annotations.Nullable;

/** This node has left the group or cannot follow it any more. Whether calls under way took effect is not known here. */
public final class NodeFailedException extends RuntimeException {
    private static final long serialVersionUID = 1;

    NodeFailedException(String what, @Nullable Throwable cause) {
        super(what, cause);
    }
}
