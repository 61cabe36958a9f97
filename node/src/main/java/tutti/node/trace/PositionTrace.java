package tutti.node.trace;

import org.jspecify.annotations.Nullable;

/** What a followed transaction's position goes through at this node after it was decided, one step after the other. Of the replica's loop. */
public final class PositionTrace {
    private final Span whole;
    private final boolean received;
    private @Nullable Span step;

    /** @param received whether the whole is over when the position is visible; otherwise that is the client's transaction, which is over later */
    PositionTrace(Span whole, boolean received) {
        this.whole = whole;
        this.received = received;
    }

    /** The next step begins; the one before it is over. */
    public void begins(String name) {
        over();
        step = whole.child(Span.Kind.STEP, name, 0);
    }

    /** The step under way ends with the commit: the engine is asked for both at once. */
    public void commitsToo() {
        if (step != null) {
            step.with("tutti.commits", "with it");
        }
    }

    /** The step is over. */
    public void over() {
        Span last = step;
        step = null;
        if (last != null) {
            last.end();
        }
    }

    /** The step was in vain; others may follow. */
    public void failed(String why) {
        if (step != null) {
            step.failed(why);
        }
        over();
    }

    /** The position is visible. */
    public void visible() {
        over();
        if (received) {
            whole.end();
        }
    }
}
