package tutti.check.history;

import java.util.List;

/**
 * What one replica applied, in the order in which it did, over all its lives. Immutable; the arrays must not be
 * modified.
 *
 * @param replica which
 * @param crashed whether it was down, or behind for a reason that is not to be held against it, when the run ended: then
 *            it may have applied less than the others
 * @param lives one per start of the replica
 */
public record ReplicaLog(int replica, boolean crashed, List<Life> lives) {
    public ReplicaLog {
        lives = List.copyOf(lives);
    }

    /**
     * From a start to a crash or to the end of the run. Positions of transactions that changed nothing, or were aborted
     * by their certification, are left out.
     *
     * @param after the position of the state it started from: 0 when empty, otherwise what it recovered or was copied
     * @param positions of what it applied, in the order in which it became visible; increasing, if the replica is right
     * @param transactions which transaction, by index in the history
     * @param states a hash of the whole state after it; equal states have equal hashes. 0 if not taken.
     */
    public record Life(long after, long[] positions, int[] transactions, long[] states) {
        public Life {
            if (positions.length != transactions.length || positions.length != states.length) {
                throw new IllegalArgumentException(positions.length + " positions, " + transactions.length
                        + " transactions, " + states.length + " states");
            }
        }

        /** How many it applied. */
        public int size() {
            return positions.length;
        }

        /** The last position that it applied. */
        public long last() {
            return positions.length == 0 ? after : positions[positions.length - 1];
        }
    }
}
