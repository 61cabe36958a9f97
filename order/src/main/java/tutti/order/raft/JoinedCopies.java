package tutti.order.raft;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import tutti.core.schema.ByteStrings;
import tutti.order.OrderDescriptor;
import tutti.order.batch.Batch;
import tutti.order.batch.SenderTable;
import tutti.runtime.Directory;
import tutti.runtime.Machine;

/**
 * Puts the logs of several copies of the same order together, up to a position: with what is backed up first, and what was ordered
 * since, a cluster begins anew. Not for use while somebody writes to one of them.
 *
 * <p>
 * All entries of a {@linkplain OrderCopy copy} are committed, so where copies overlap they are the same; which is looked at. The
 * last entry may hold messages behind the position: then its batch is made shorter. Nobody has acknowledged it as it is then, but
 * nobody has another one either: all members begin with this log, and in a term in which none of them has voted for another.
 *
 * <p>
 * <b>Checkpoints</b> lie in it as often as in any log: all entries are committed, and a node that starts gives Raft, whose memory is bounded, what
 * lies behind the newest.
 *
 * <p>
 * <b>Members</b> that were changed by command are those of the position, where their configurations have them; who took part in Raft
 * follows from the base and the log. Which directories they had, as messages in the log tell, counts no more.
 */
final class JoinedCopies {
    private static final long CACHE_BYTES = 1 << 16;
    private static final String LOG = "log";

    private final SegmentedLog joined;
    private final SenderTable table;
    private final long position;
    private final int segmentBytes;
    private final List<Checkpoints.Checkpoint> checkpoints = new ArrayList<>();
    /** Changes of those who take part, behind the first checkpoint. */
    private final List<VotingGroups.Group> groups = new ArrayList<>();
    private long bytesSinceCheckpoint;

    private JoinedCopies(SegmentedLog joined, Checkpoints.Checkpoint from, long position, int segmentBytes) {
        this.joined = joined;
        this.table = SenderTable.of(from.table());
        this.position = position;
        this.segmentBytes = segmentBytes;
        checkpoints.add(from);
    }

    /** As {@link OrderDescriptor#join}. */
    static long write(RaftOrderConfig config, Machine machine, List<Directory> copies, long position, Directory into)
            throws IOException {
        Directory base = copies.getFirst();
        Checkpoints.Checkpoint from = first(base);
        int term;
        long reached;
        try (SegmentedLog log = SegmentedLog.open(machine, into.directory(LOG), config.segmentBytes(), CACHE_BYTES,
                from.index() + 1)) {
            JoinedCopies joining = new JoinedCopies(log, from, position, config.segmentBytes());
            for (Directory copy : copies) {
                joining.add(copy.directory(LOG));
            }
            log.flush();
            reached = joining.table.positions();
            Set<Integer> founders = writeMembers(config, copies, reached, into);
            joining.writeGroups(base, founders, into);
            Checkpoints.write(into, joining.checkpoints);
            term = log.lastIndex() < log.firstIndex() ? from.term() : log.term(log.lastIndex());
        }
        for (int node : config.members().keySet()) {
            if (node != config.self()) {
                MetNodes.begins(into, node, reached);
            }
        }
        NodeDirectory.copied(into, NodeDirectory.clusterOf(base), term);
        return reached;
    }

    /**
     * Who the members are that begin with this: the newest list of the copies that is no newer than the position, each node where the
     * configuration has it. Later lists follow from the log. Answers with whom the cluster began.
     */
    private static Set<Integer> writeMembers(RaftOrderConfig config, List<Directory> copies, long position,
            Directory into) throws IOException {
        MemberList then = null;
        Set<Integer> founders = config.members().keySet();
        for (Directory copy : copies) {
            MemberList list = MemberList.read(copy);
            if (list != null) {
                founders = list.founders();
                if (list.now().number() <= position && (then == null || list.now().number() > then.now().number())) {
                    then = list;
                } else if (then == null && copy.equals(copies.getFirst())) {
                    throw new IOException("the members were changed at position " + list.now().number() + ", while "
                            + copy.location() + " was made, which does not say who they were before: restore to that"
                            + " position, or to one behind it, or with an older base");
                }
            }
        }
        Set<Integer> members = then == null ? founders : then.now().addresses().keySet();
        if (!config.members().keySet().equals(members)) {
            throw new IOException("as of position " + position + " the nodes " + members + " are the members, but "
                    + config.members().keySet() + " are configured: have each configuration list those, wherever they"
                    + " are now, and restore them; add and remove others when they serve");
        }
        if (then != null) {
            then.at(config).write(into);
        }
        return founders;
    }

    /** Who took part, if that has changed: up to the first checkpoint the base knows it, behind that the log. */
    private void writeGroups(Directory base, Set<Integer> founders, Directory into) throws IOException {
        long first = checkpoints.getFirst().index();
        List<VotingGroups.Group> all = new ArrayList<>(VotingGroups.read(base));
        all.removeIf(each -> each.index() > first);
        if (all.isEmpty()) {
            all.add(new VotingGroups.Group(0, founders, founders));
        }
        all.addAll(groups);
        VotingGroups.write(into, new VotingGroups.Image(all));
    }

    /** The one behind which a copy begins. Of a log that begins with its first entry the oldest checkpoint may be a later one. */
    private static Checkpoints.Checkpoint first(Directory copy) throws IOException {
        List<String> files = segments(copy.directory(LOG));
        if (!files.isEmpty() && firstIndex(files.getFirst()) == 1) {
            return new Checkpoints.Checkpoint(0, 0, new SenderTable().image());
        }
        Checkpoints.Checkpoint found = Checkpoints.first(copy);
        if (found == null) {
            throw new IOException(copy.location() + " is no copy of an order's directory");
        }
        return found;
    }

    private static List<String> segments(Directory log) throws IOException {
        List<String> names = new ArrayList<>(log.list());
        names.removeIf(name -> !name.endsWith(SegmentedLog.SUFFIX));
        return names;
    }

    private static long firstIndex(String name) {
        return Long.parseLong(name.substring(0, name.length() - SegmentedLog.SUFFIX.length()));
    }

    private void add(Directory log) throws IOException {
        for (String name : segments(log)) {
            LogSegment segment = new LogSegment(name, log.location(name), log.open(name, Directory.Open.EXISTING),
                    firstIndex(name));
            try {
                segment.scan(true);
                for (long index = segment.firstIndex; index <= segment.lastIndex(); index++) {
                    if (index <= joined.lastIndex()) {
                        requireSame(segment, index);
                    } else if (!add(segment.read(index))) {
                        return;
                    }
                }
            } finally {
                segment.file.close();
            }
        }
    }

    private void requireSame(LogSegment segment, long index) throws IOException {
        if (index >= joined.firstIndex() && joined.term(index) != segment.term(index)) {
            throw new IOException("entry " + index + " of " + segment.name + " is of another history: of term "
                    + segment.term(index) + ", not " + joined.term(index)
                    + ". Copies of before and after a restoration do not belong together");
        }
    }

    /** Adds an entry if the position is not reached, and says so. */
    private boolean add(LogEntry entry) throws IOException {
        if (table.positions() >= position) {
            return false;
        }
        if (entry.index() != joined.lastIndex() + 1) {
            throw new IOException("entries " + (joined.lastIndex() + 1) + " to " + (entry.index() - 1)
                    + " are missing: what was ordered between two copies is in none of them");
        }
        LogEntry added = entry.kind() == LogEntry.BATCH ? batch(entry) : entry;
        joined.append(added);
        if (added.kind() == LogEntry.GROUP) {
            GroupChange change = GroupChange.of(added.body());
            groups.add(new VotingGroups.Group(added.index(), change.members(), change.voters()));
        }
        bytesSinceCheckpoint += added.body().length;
        if (CommittedEntries.wantsCheckpoint(added.index() - checkpoints.getLast().index(), bytesSinceCheckpoint,
                segmentBytes)) {
            checkpoints.add(new Checkpoints.Checkpoint(added.index(), added.term(), table.image()));
            bytesSinceCheckpoint = 0;
        }
        return true;
    }

    /** The entry itself, or a shorter one, when its messages have been counted. */
    private LogEntry batch(LogEntry entry) {
        Batch batch = Batch.of(entry.body());
        long before = table.positions();
        int room = (int) Math.min(position - before, batch.messages().count());
        long counts = table.accept(batch.sender(), batch.incarnation(), batch.sequence(), room);
        if (counts == 0 || room == batch.messages().count()) {
            return entry;
        }
        List<byte[]> kept = new ArrayList<>();
        ByteBuffer rest = batch.messages().encoded();
        for (int i = 0; i < room; i++) {
            ByteBuffer message = ByteStrings.next(rest);
            byte[] bytes = new byte[message.remaining()];
            message.get(bytes);
            kept.add(bytes);
        }
        return new LogEntry(entry.index(), entry.term(), entry.kind(),
                new Batch(batch.sender(), batch.incarnation(), batch.sequence(), ByteStrings.of(kept)).bytes());
    }
}
