package tutti.node;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.txn.KeySet;

/**
 * Up to where the order's log may be forgotten for the sake of tables that some nodes lack: what was written to one stays in the log until a
 * majority of those who keep it have it durably.
 *
 * <p>
 * <b>Why that is asked besides {@link LogRetention}.</b> A node that is away for too long is given up, since the others have all that it lacks and can
 * give it a copy. Of a table that some nodes lack the others who keep it may be one, or none; then the log, which all nodes have, is what
 * a second copy can still be made from. So here nobody is given up. Who does not come back is to be
 * removed from the cluster, and is none of the keepers any more.
 *
 * <p>
 * Only what was written counts, so a table that nobody writes holds nothing. What an earlier life of this node was delivered, or this one while it is
 * excluded, is taken to have written all of them. Of the replica's loop.
 */
final class KeepersDurability {
    private static final Logger LOG = LoggerFactory.getLogger(KeepersDurability.class);

    private final int self;
    private final Placements placements;
    private final Map<Long, Long> written = new TreeMap<>();
    /** What was written up to here is not known, also of tables that are placed only later. */
    private long unknown;
    private Set<Integer> awaited = Set.of();

    /** @param self number of this node */
    KeepersDurability(int self, Placements placements) {
        this.self = self;
        this.placements = placements;
    }

    /** What was written up to a position is not known here: any of them may have been, by what this life was not told. */
    void mayHaveBeenWritten(long position) {
        unknown = position;
        placements.tables().keySet().forEach(table -> written.put(table, position));
    }

    /** Others are placed than before, by a message at a position: what was written to them up to there is not known here. */
    void placed(long position) {
        written.keySet().retainAll(placements.tables().keySet());
        placements.tables().keySet().forEach(table -> written.putIfAbsent(table, Math.max(position, unknown)));
    }

    /** These keys were written at a position that is visible here. */
    void written(long position, KeySet keys) {
        placements.now().partial(keys).forEach(table -> written.put(table, position));
    }

    /**
     * Up to where the log is needless for this.
     *
     * @param needless up to where it is for everything else
     * @param members who decide with the others
     * @param restart by node: up to where it holds all durably
     * @return the same, or less
     */
    long needless(long needless, Set<Integer> members, long[] restart) {
        long least = needless;
        Set<Integer> lacking = Set.of();
        for (Map.Entry<Long, Long> table : written.entrySet()) {
            List<Integer> keepers = members.stream().filter(node -> placements.now().keeps(node, table.getKey()))
                    .toList();
            long durable = keepers.isEmpty() ? Long.MAX_VALUE : byMajority(keepers, restart);
            if (durable < table.getValue() && durable < least) {
                least = durable;
                lacking = keepers.stream().filter(node -> restart[node] <= durable).collect(Collectors.toSet());
            }
        }
        tell(lacking);
        return least;
    }

    private static long byMajority(List<Integer> keepers, long[] restart) {
        return keepers.stream().map(node -> restart[node]).sorted(Collections.reverseOrder()).toList()
                .get(keepers.size() / 2);
    }

    private void tell(Set<Integer> lacking) {
        if (!lacking.isEmpty() && !lacking.equals(awaited)) {
            LOG.warn(
                    "node {}: the order's log is kept for nodes {}, however long they are away: they keep a table that too"
                            + " few others keep, and lack what was written to it. Start them; whoever does not come back is to be"
                            + " removed (`tutti nodes remove`)",
                    self, lacking);
        }
        awaited = lacking;
    }
}
