package tutti.order.raft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tutti.core.schema.ByteStrings;
import tutti.core.spi.Group;
import tutti.order.Recorder;
import tutti.order.batch.Batch;
import tutti.order.batch.SenderTable;
import tutti.runtime.Directory;
import tutti.runtime.real.PathDirectory;
import tutti.runtime.real.RealMachine;

/** Copies of an order's log are put together up to a position. */
class JoinedCopiesTest {
    private static final RaftOrderConfig CONFIG = RaftOrderConfig
            .of(0, Map.of(0, InetSocketAddress.createUnresolved("127.0.0.1", 1))).withSegmentBytes(1 << 14);

    @TempDir
    private Path directory;
    private int made;

    /** Entry i is the batch of number i of a node with i messages, but every tenth, which a new leader wrote. */
    private static LogEntry entry(long index) {
        int term = (int) (index / 10) + 1;
        if (index % 10 == 0) {
            return new LogEntry(index, term, LogEntry.NEW_TERM, new byte[0]);
        }
        List<byte[]> messages = new ArrayList<>();
        for (int i = 0; i < index; i++) {
            messages.add((index + "." + i + "x".repeat(300)).getBytes(StandardCharsets.UTF_8));
        }
        return new LogEntry(index, term, LogEntry.BATCH,
                new Batch(0, 1, index - index / 10, ByteStrings.of(messages)).bytes());
    }

    /** The positions that entries up to this one give out. */
    private static long positions(long index) {
        long positions = 0;
        for (long i = 1; i <= index; i++) {
            positions += i % 10 == 0 ? 0 : i;
        }
        return positions;
    }

    /** A copy that begins behind one entry and ends with another. */
    private Directory copy(long after, long last) throws IOException {
        Directory copy = log(after, last);
        Checkpoints.write(copy, List.of(checkpoint(after)));
        return copy;
    }

    private Directory log(long after, long last) throws IOException {
        Directory copy = PathDirectory.of(directory.resolve("copy" + made++));
        try (SegmentedLog log = SegmentedLog.open(RealMachine.INSTANCE, copy.directory("log"), CONFIG.segmentBytes(),
                1 << 16, after + 1)) {
            for (long index = after + 1; index <= last; index++) {
                log.append(entry(index));
            }
            log.flush();
        }
        NodeDirectory.copied(copy, "the cluster", 77);
        return copy;
    }

    private static Checkpoints.Checkpoint checkpoint(long after) {
        SenderTable table = new SenderTable();
        for (long index = 1; index <= after; index++) {
            if (index % 10 != 0) {
                table.accept(0, 1, index - index / 10, (int) index);
            }
        }
        return new Checkpoints.Checkpoint(after, after == 0 ? 0 : entry(after).term(), table.image());
    }

    /** All messages of a log, behind the number of their position. */
    private static List<String> messages(Directory joined) throws IOException {
        List<String> all = new ArrayList<>();
        try (SegmentedLog log = SegmentedLog.open(RealMachine.INSTANCE, joined.directory("log"), CONFIG.segmentBytes(),
                1 << 16)) {
            Checkpoints checkpoints = new Checkpoints(joined, log);
            SenderTable table = SenderTable.of(checkpoints.oldest().table());
            for (long index = log.firstIndex(); index <= log.lastIndex(); index++) {
                LogEntry entry = log.read(index);
                if (entry.kind() == LogEntry.BATCH) {
                    Batch batch = Batch.of(entry.body());
                    long position = table.accept(batch.sender(), batch.incarnation(), batch.sequence(),
                            batch.messages().count());
                    ByteBuffer rest = batch.messages().encoded();
                    for (int i = 0; i < batch.messages().count(); i++) {
                        String text = StandardCharsets.UTF_8.decode(ByteStrings.next(rest)).toString();
                        all.add(position + i + " " + text.replace("x", ""));
                    }
                }
            }
        }
        return all;
    }

    private long join(Path into, long position, Directory... copies) throws IOException {
        return JoinedCopies.write(CONFIG, RealMachine.INSTANCE, List.of(copies), position, PathDirectory.of(into));
    }

    @Test
    void theyEndWithThePositionThatIsAskedForAlsoInTheMiddleOfAnEntry() throws Exception {
        Directory base = copy(12, 25);
        Directory next = copy(20, 33);
        Directory last = copy(33, 60);
        long begin = positions(12);
        for (long position : List.of(positions(25), positions(25) + 1, positions(29), positions(40) - 1,
                positions(47) + 20, positions(60))) {
            Path into = directory.resolve("joined at " + position);
            assertEquals(position, join(into, position, base, next, last));
            List<String> all = messages(PathDirectory.of(into));
            assertEquals(position - begin, all.size());
            assertTrue(all.getFirst().startsWith(begin + 1 + " 13.0"), all::getFirst);
            assertTrue(all.getLast().startsWith(position + " "), all::getLast);
        }
    }

    @Test
    void aLogThatBeginsWithItsFirstEntryIsKeptWholeWhateverCheckpointsThereAre() throws Exception {
        Directory base = log(0, 40);
        Checkpoints.write(base, List.of(checkpoint(0), checkpoint(12), checkpoint(33)));
        Path into = directory.resolve("joined");
        assertEquals(positions(40), join(into, positions(40), base));
        try (SegmentedLog log = SegmentedLog.open(RealMachine.INSTANCE, PathDirectory.of(into).directory("log"),
                CONFIG.segmentBytes(), 1 << 16)) {
            assertEquals(1, log.firstIndex());
        }
        assertTrue(messages(PathDirectory.of(into)).getFirst().startsWith("1 1.0"));
    }

    @Test
    void theySayHowFarTheyReach() throws Exception {
        assertEquals(positions(25), join(directory.resolve("joined"), positions(26), copy(0, 25)));
    }

    @Test
    void whatIsMissingBetweenThemIsTold() throws Exception {
        Directory base = copy(0, 25);
        Directory later = copy(27, 33);
        IOException gap = assertThrows(IOException.class,
                () -> join(directory.resolve("joined"), positions(33), base, later));
        assertTrue(gap.getMessage().contains("entries 26 to 27 are missing"), gap::getMessage);
    }

    private static MemberList members(long number, int... nodes) {
        TreeMap<Integer, String> addresses = new TreeMap<>();
        for (int node : nodes) {
            addresses.put(node, "before:" + node);
        }
        return new MemberList(new Group.Members(number, addresses, Set.of(), new TreeMap<>(Map.of(7, "gone:7"))),
                "0=before:0,7=before:7", Set.of(0, 7));
    }

    private static RaftOrderConfig nodes(int... nodes) {
        Map<Integer, InetSocketAddress> members = new HashMap<>();
        for (int node : nodes) {
            members.put(node, InetSocketAddress.createUnresolved("now", node));
        }
        return RaftOrderConfig.of(0, members).withSegmentBytes(1 << 14);
    }

    private MemberList joined(RaftOrderConfig config, long position, Directory... copies) throws IOException {
        Directory into = PathDirectory.of(directory.resolve("joined" + made++));
        JoinedCopies.write(config, RealMachine.INSTANCE, List.of(copies), position, into);
        return MemberList.read(into, config);
    }

    @Test
    void membersAreThoseOfThePositionWhereTheyAreConfigured() throws Exception {
        Directory base = copy(12, 25);
        Directory next = copy(20, 33);
        Directory last = copy(33, 60);
        members(positions(31), 0, 3).write(next);
        members(positions(41), 0, 3, 4).write(last);

        assertEquals(new MemberList(new Group.Members(0, new TreeMap<>(Map.of(0, "now:0", 7, "now:7")), Set.of(),
                new TreeMap<>()), "0=now:0,7=now:7", Set.of(0, 7)),
                joined(nodes(0, 7), positions(25), base, next, last));
        assertEquals(members(positions(31), 0, 3).at(nodes(0, 3)),
                joined(nodes(0, 3), positions(33), base, next, last));
        MemberList end = joined(nodes(0, 3, 4), positions(60), base, next, last);
        assertEquals(Map.of(0, "now:0", 3, "now:3", 4, "now:4"), end.now().addresses());
        assertEquals(Set.of(0, 7), end.founders());
        assertEquals("0=before:0,7=before:7", end.words());

        IOException others = assertThrows(IOException.class,
                () -> joined(nodes(0, 3), positions(60), base, next, last));
        assertTrue(others.getMessage().contains("the nodes [0, 3, 4] are the members"), others::getMessage);
        IOException unknown = assertThrows(IOException.class, () -> joined(nodes(0, 3, 4), positions(40), last));
        assertTrue(unknown.getMessage().contains("restore to that position"), unknown::getMessage);
    }

    /** Messages of before are delivered again when a node starts with it. */
    @Test
    void directoriesOfBeforeAreOfNoConcern() throws Exception {
        Path into = directory.resolve("joined");
        long end = JoinedCopies.write(nodes(0, 3), RealMachine.INSTANCE, List.of(copy(0, 25)), positions(25),
                PathDirectory.of(into));
        MetNodes met = new MetNodes(0, PathDirectory.of(into));
        assertFalse(met.replaced(3, 99, end, end));
        assertTrue(met.knows(3, 17));
        assertTrue(met.replaced(3, 99, end, end + 1));
        assertFalse(met.knows(3, 17));
    }

    /** Raft is given what lies behind the newest checkpoint, and forgets of that what it has no room for. */
    @Test
    void aNodeBeginsWithAnyNumberOfEntries() throws Exception {
        int entries = 30_000;
        RaftOrderConfig config = RaftOrderConfig.of(0, RaftNodes.members(1)).withSegmentBytes(1 << 20);
        Directory base = PathDirectory.of(directory.resolve("base"));
        try (SegmentedLog log = SegmentedLog.open(RealMachine.INSTANCE, base.directory("log"), config.segmentBytes(),
                1 << 16)) {
            for (int index = 1; index <= entries; index++) {
                log.append(new LogEntry(index, 1, LogEntry.BATCH,
                        new Batch(0, 1, index, ByteStrings.of(List.of(new byte[1]))).bytes()));
            }
            log.flush();
        }
        NodeDirectory.copied(base, "the cluster", 1);
        Directory into = PathDirectory.of(directory.resolve("joined"));
        assertEquals(entries, JoinedCopies.write(config, RealMachine.INSTANCE, List.of(base), entries, into));
        OrderCopy.adopt(config, RealMachine.INSTANCE, into, 4711);
        Recorder recorder = new Recorder();
        try (RaftOrder order = RaftOrder.open(config, RealMachine.INSTANCE, into)) {
            order.join(recorder);
            order.start(entries - 1, recorder);
            assertEquals(entries, recorder.awaitCount(1).getFirst().position());
        }
    }

    /** A node begins with those as of the newest checkpoint, behind which changes may lie. */
    @Test
    void whoTakesPartIsKnownAsOfEachCheckpoint() throws Exception {
        RaftOrderConfig config = nodes(0, 7);
        Directory base = PathDirectory.of(directory.resolve("base"));
        Set<Integer> founders = Set.of(0, 7);
        Set<Integer> more = Set.of(0, 3, 7);
        try (SegmentedLog log = SegmentedLog.open(RealMachine.INSTANCE, base.directory("log"), config.segmentBytes(),
                1 << 16)) {
            log.append(entry(1));
            log.append(new LogEntry(2, 1, LogEntry.GROUP,
                    new GroupChange(3, GroupChange.Step.COMES, more, founders).bytes()));
            log.append(new LogEntry(3, 1, LogEntry.GROUP,
                    new GroupChange(3, GroupChange.Step.VOTES, more, more).bytes()));
            for (long index = 4; index <= 40; index++) {
                log.append(entry(index));
            }
            log.flush();
        }
        NodeDirectory.copied(base, "the cluster", 77);
        Directory into = PathDirectory.of(directory.resolve("joined"));
        JoinedCopies.write(config, RealMachine.INSTANCE, List.of(base), positions(30), into);
        VotingGroups groups = new VotingGroups(into, new VotingGroups.Group(0, Set.of(0), Set.of(0)));
        assertEquals(new VotingGroups.Group(0, founders, founders), groups.before(1));
        assertEquals(new VotingGroups.Group(2, more, founders), groups.before(2));
        assertEquals(new VotingGroups.Group(3, more, more), groups.before(20));
    }

    @Test
    void anotherHistoryIsTold() throws Exception {
        Directory base = copy(0, 25);
        Directory other = PathDirectory.of(directory.resolve("other"));
        try (SegmentedLog log = SegmentedLog.open(RealMachine.INSTANCE, other.directory("log"), CONFIG.segmentBytes(),
                1 << 16, 20)) {
            for (long index = 20; index <= 30; index++) {
                LogEntry entry = entry(index);
                log.append(new LogEntry(index, entry.term() + 1, entry.kind(), entry.body()));
            }
            log.flush();
        }
        IOException told = assertThrows(IOException.class,
                () -> join(directory.resolve("joined"), positions(30), base, other));
        assertTrue(told.getMessage().contains("another history"), told::getMessage);
    }
}
