package tutti.grid.node;

import java.util.Set;
import tutti.grid.view.Layout;

/**
 * What a node says of itself.
 *
 * @param view number of its view
 * @param members of its view
 * @param joining nodes that are being brought up: they copy what their group has and take no part yet; with {@code GROUPS} only
 * @param layout on which nodes keys lie, and to which they are moved
 * @param lost whether there may be keys all of whose owners have crashed
 * @param keys that it has
 * @param bytes of the keys and values of all versions that it has
 * @param expired entries that it has dropped since they had expired
 * @param full whether it stores as much as it may
 * @param unsentBytes that wait to be received by the node for which most do
 * @param kept transactions that it still remembers
 * @param committing transactions that ran here and wait for the outcome of their commit
 * @param committed transactions that ran here and have committed, reading ones included
 * @param conflicts those that have failed because something that they read was written meanwhile
 * @param deadlocks those that have waited for each other's locks
 * @param lockTimeouts those that have waited for a lock for too long
 * @param localReads reads of keys that it owns
 * @param remoteReads others, of which an owner was asked
 * @param waitingReads reads at this node that had to wait for a transaction on its way
 * @param messages that it has sent
 * @param l1 what it keeps of other nodes' entries
 */
public record GridStatus(long view, Set<Integer> members, Set<Integer> joining, Layout layout, boolean lost, int keys,
        long bytes,
        long expired, boolean full,
        long unsentBytes,
        int kept,
        int committing, long committed,
        long conflicts,
        long deadlocks, long lockTimeouts, long localReads, long remoteReads, long waitingReads, long messages,
        L1 l1) {
    /**
     * What is kept here of other nodes' entries; see {@link tutti.grid.GridConfig.CacheConfig#l1BytesMax}.
     *
     * @param hits reads that were answered from there
     * @param misses reads of caches of which something is kept, of which the owner had to be asked
     * @param invalidations entries that were dropped because they were about to be written
     * @param entries that are kept
     * @param bytes that they take, about
     */
    public record L1(long hits, long misses, long invalidations, int entries, long bytes) {}
}
