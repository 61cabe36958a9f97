package tutti.node;

import tutti.core.spi.Group;

/**
 * Bounds how long clients wait for the outcome of a commit that nobody can decide: when this node has reached no majority for so long, each
 * is told that its outcome is in doubt, and so is everybody who asks to commit from then on. Of the replica's loop.
 *
 * <p>
 * Nothing is decided by that. What was handed to the order may be ordered when a majority is there again, or never; the protocol goes on as if
 * nobody had been told, and who asks by the transaction's name ({@link Transactions#outcome}) hears what it has come to.
 */
final class LostMajority {
    /** So often those are told who have begun to wait meanwhile, in nanoseconds. */
    private static final long PERIOD_NANOS = 1_000_000_000;

    /** What of the node is needed here. */
    interface Node {
        Group.View view();

        void schedule(long delayNanos, Runnable task);
    }

    private final Node node;
    private final long patienceNanos;
    private final Runnable doubtful;
    /** Which absence of a majority this is, or was. */
    private long absence;
    private boolean lost;

    /**
     * One that knows of no absence.
     *
     * @param patienceNanos how long a majority may be away before clients are told, in nanoseconds; 0 for ever
     * @param doubtful tells those that wait
     */
    LostMajority(Node node, long patienceNanos, Runnable doubtful) {
        this.node = node;
        this.patienceNanos = patienceNanos;
        this.doubtful = doubtful;
    }

    /** Others can be reached, or cannot any more. */
    void viewed() {
        if (node.view().majority()) {
            lost = false;
        } else if (!lost && patienceNanos > 0) {
            lost = true;
            long mine = ++absence;
            node.schedule(patienceNanos, () -> tell(mine));
        }
    }

    private void tell(long about) {
        if (lost && absence == about) {
            doubtful.run();
            node.schedule(PERIOD_NANOS, () -> tell(about));
        }
    }
}
