package tutti.order.raft;

import java.io.Closeable;
import java.io.IOException;
import java.util.List;
import tutti.order.CopiedOrder;
import tutti.order.OrderDescriptor;
import tutti.order.batch.SenderTable;
import tutti.runtime.DamagedFileException;
import tutti.runtime.Directory;
import tutti.runtime.Machine;

/**
 * What of a node's order another one begins anew with: the entries that are committed, behind a checkpoint before the position that
 * it wants to begin with. No entry that is committed ever changes, so the node that gives the copy goes on.
 *
 * <p>
 * <b>Why a node may vote and acknowledge with a copy, whatever it has promised before</b> and lost. Call it R. It takes no part in the
 * order from before it asks until it has the copy; and while it takes none, a message that says so is ordered, at entry m of term t.
 * The copy is taken behind that. Entry m is acknowledged by a majority Q without R.
 * <ul>
 * <li><i>What R has acknowledged.</i> Every entry that is committed before m, with R's acknowledgement or without, is in the logs of all of
 * Q, since these are the same as that of the leader of t up to m, and a leader has all that is committed. So it is not lost: nobody
 * of Q votes for a log that lacks m, and without one of Q nobody has a majority.
 * <li><i>How R has voted.</i> In terms up to t it votes for nobody any more ({@link #adopt}). If it has voted in a later term u, then
 * before m was ordered; so its candidate was in term u by then, has taken nothing of term t since, and stands for election in u
 * with a log that lacks m. Again nobody of Q votes for that, and a second vote of R in u cannot make a second leader.
 * </ul>
 * The others are told by the same message by which number R's directory is known from then on; one with another number, such as the
 * one before, is turned away.
 */
final class OrderCopy implements CopiedOrder.Copy {
    private static final long CACHE_BYTES = 1 << 16;

    private final RaftOrderConfig config;
    private final Machine machine;
    private final SegmentedLog log;
    private final List<Checkpoints.Checkpoint> from;
    private final MemberList members;
    private final VotingGroups.Image groups;
    private final MetNodes.Notes met;
    private final long last;
    private final int term;
    private final String cluster;

    /**
     * As of now.
     *
     * @param from checkpoints; behind the first the copy begins, from the last a node that starts with it goes on
     * @param members of the cluster
     * @param groups as of which entries who took part
     * @param met which directories the members have
     * @param last entry that is committed
     * @param term in which this node is
     * @param cluster its id, or nothing
     */
    OrderCopy(RaftOrderConfig config, Machine machine, SegmentedLog log, List<Checkpoints.Checkpoint> from,
            MemberList members, VotingGroups.Image groups, MetNodes.Notes met, long last, int term, String cluster) {
        this.config = config;
        this.machine = machine;
        this.log = log;
        this.from = from;
        this.members = members;
        this.groups = groups;
        this.met = met;
        this.last = last;
        this.term = term;
        this.cluster = cluster;
    }

    @Override
    public void write(Directory into) throws IOException {
        long first = from.getFirst().index() + 1;
        try (SegmentedLog copy = SegmentedLog.open(machine, into.directory("log"), config.segmentBytes(), CACHE_BYTES,
                first)) {
            for (long index = first; index <= last; index++) {
                copy.append(log.read(index));
            }
            copy.flush();
        }
        // Which whoever begins with the copy would delete, when it has come a long way.
        into.directory("log").delete(SegmentedLog.SPARE);
        Checkpoints.write(into, from);
        if (members.changed()) {
            members.write(into);
        }
        VotingGroups.write(into, groups);
        met.write(into);
        NodeDirectory.copied(into, cluster, term);
    }

    /**
     * As {@link OrderDescriptor#adopt}.
     *
     * <p>
     * The node begins with all that the other one had acknowledged, in the other one's term, in which it votes for nobody: for
     * all that is known it has voted in it already, in the life that it has lost. Its next life has a higher number than those of which the
     * log has heard, though the clock may have been set back: what it sends would count for nothing otherwise.
     */
    static void adopt(RaftOrderConfig config, Machine machine, Directory directory, long number) throws IOException {
        Directory logFiles = directory.directory("log");
        if (!SegmentedLog.exists(logFiles)) {
            throw new DamagedFileException(directory.location() + " holds no copy of another node's order directory");
        }
        try (Closeable _ = NodeDirectory.lock(directory)) {
            Checkpoints.Checkpoint end;
            try (SegmentedLog log = SegmentedLog.open(machine, logFiles, config.segmentBytes(), config.cacheBytes())) {
                end = new Checkpoints(directory, log).atEnd();
            }
            SenderTable.Sender former = end.table().senders().get(config.self());
            NodeDirectory.adopt(directory, MemberList.read(directory, config).identity(config.self()), config.self(),
                    end.term(), number, former == null ? 0 : former.incarnation());
        }
    }
}
