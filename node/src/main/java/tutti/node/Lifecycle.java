package tutti.node;

import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Group;
import tutti.node.ReplicaNode.State;

/** Where a replica stands, and who waits for it to get there. Any thread. */
final class Lifecycle {
    private final CompletableFuture<Void> joined = new CompletableFuture<>();
    private final CompletableFuture<Void> ready = new CompletableFuture<>();
    private volatile State state = State.NEW;
    private volatile @Nullable Throwable failure;

    State state() {
        return state;
    }

    /** Why it has failed, or null. */
    @Nullable
    Throwable failure() {
        return failure;
    }

    /**
     * Why it refuses writes, or null if it accepts them.
     *
     * @param visible the position that its engine shows
     * @param delivered the position up to which the order has told
     * @param waits what it waits for to settle a position, or null
     * @param view whom it can reach
     */
    @Nullable
    String refusal(long visible, long delivered, @Nullable String waits, Group.View view) {
        String lost = view.lost();
        return switch (state) {
            case NEW,
                    CATCHING_UP ->
                lost != null
                        ? lost
                        : "the node is catching up with the cluster: visible position " + visible + " of "
                                + Math.max(delivered, visible) + (waits == null ? "" : ": " + waits)
                                + "; try again soon, or another node";
            case EXCLUDED -> failure + "; use another node";
            case STOPPED -> "the node is stopping; use another node";
            case FAILED -> "the node has stopped because of an error (" + failure + "); use another node";
            case READY -> view.majority()
                    ? waits
                    : lost != null
                            ? lost
                            : "the node cannot reach a majority of the cluster that has a leader (it sees "
                                    + view.members()
                                    + "), so it takes no writes until it does; use a node that can";
        };
    }

    /** Completes when it has joined the order; fails if it ends before. */
    CompletableFuture<Void> joined() {
        return joined.copy();
    }

    /** Completes when it has caught up for the first time; fails if it ends before. */
    CompletableFuture<Void> ready() {
        return ready.copy();
    }

    /** It begins to catch up. */
    void begins() {
        if (!moves(State.NEW, State.CATCHING_UP)) {
            throw new IllegalStateException("a replica is started once, and this one is " + state);
        }
    }

    /** It is part of the order. */
    void joins() {
        joined.complete(null);
    }

    /** It has caught up; false if it has ended meanwhile. */
    boolean catchesUp() {
        boolean first = moves(State.CATCHING_UP, State.READY);
        if (first) {
            ready.complete(null);
        }
        return first;
    }

    /** It holds what the others do not, and serves nobody; false if it has ended already. */
    boolean excluded(Throwable cause) {
        return ends(State.EXCLUDED, cause);
    }

    /** It cannot go on; false if it has ended already. */
    boolean fails(Throwable cause) {
        return ends(State.FAILED, cause);
    }

    /** It stops because somebody asks for it. */
    void stops() {
        ends(State.STOPPED, null);
    }

    private synchronized boolean moves(State from, State to) {
        boolean there = state == from;
        if (there) {
            state = to;
        }
        return there;
    }

    private boolean ends(State end, @Nullable Throwable cause) {
        synchronized (this) {
            if (state == State.STOPPED || state == State.FAILED || state == end) {
                return false;
            }
            failure = cause;
            state = end;
        }
        Throwable told = cause == null
                ? new IllegalStateException("the replica was stopped before it was ready")
                : cause;
        joined.completeExceptionally(told);
        ready.completeExceptionally(told);
        return true;
    }
}
