package tutti.order.raft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.order.CopiedOrder;
import tutti.order.OrderDescriptor;
import tutti.order.Recorder;
import tutti.order.peer.Greeting;
import tutti.runtime.LostDirectoryException;
import tutti.runtime.real.PathDirectory;
import tutti.runtime.real.RealMachine;

/** A node that has lost its directory begins anew with a copy that another one's order has given while it went on. */
@Timeout(60)
class OrderCopyTest {
    private static final long NUMBER = 4711;

    @TempDir
    private Path directory;

    private final Map<Integer, RaftOrder> orders = new HashMap<>();
    private final Map<Integer, Recorder> recorders = new HashMap<>();
    private Map<Integer, InetSocketAddress> members = Map.of();

    @BeforeEach
    void startAll() throws Exception {
        members = RaftNodes.members(3);
        for (int node = 0; node < 3; node++) {
            start(node, 0);
        }
        for (Recorder recorder : recorders.values()) {
            recorder.awaitView(v -> v.majority() && v.members().size() == 3);
        }
    }

    @AfterEach
    void close() {
        orders.values().forEach(RaftOrder::close);
    }

    private void start(int node, long after) throws Exception {
        start(RaftNodes.config(node, members), after);
    }

    private void start(RaftOrderConfig config, long after) throws Exception {
        int node = config.self();
        RaftOrder order = RaftNodes.open(config, directory);
        orders.put(node, order);
        Recorder recorder = new Recorder();
        recorders.put(node, recorder);
        order.join(recorder);
        order.start(after, recorder);
    }

    private void submit(int node, int count) throws Exception {
        for (int i = 0; i < count; i++) {
            orders.get(node).append("message".getBytes(StandardCharsets.UTF_8));
        }
    }

    private Path files(int node) {
        return RaftNodes.files(directory, node);
    }

    /** Node 2 is stopped, its directory put aside. */
    private Path lose() throws Exception {
        orders.remove(2).close();
        recorders.remove(2);
        return Files.move(files(2), directory.resolve("lost"));
    }

    private static void copyTree(Path from, Path to) throws Exception {
        try (Stream<Path> all = Files.walk(from)) {
            for (Path each : all.toList()) {
                Files.copy(each, to.resolve(from.relativize(each)));
            }
        }
    }

    private void giveCopy(int donor, long after) throws Exception {
        CompletableFuture<CopiedOrder.Copy> taken = new CompletableFuture<>();
        orders.get(donor).copy(after, taken::complete);
        taken.get().write(PathDirectory.of(files(2)));
        assertTrue(PathDirectory.of(files(2).resolve("log")).list().stream()
                .allMatch(name -> name.endsWith(SegmentedLog.SUFFIX)), "it has the log's entries and nothing else");
        OrderCopy.adopt(RaftNodes.config(2, members), RealMachine.INSTANCE, PathDirectory.of(files(2)), NUMBER);
    }

    private void tellReplaced(long position) {
        for (int node : List.of(0, 1)) {
            orders.get(node).replaced(2, NUMBER, position, position);
        }
    }

    @Test
    void itIsDeliveredWhatFollowsAndTakesPart() throws Exception {
        submit(0, 20);
        recorders.get(2).awaitCount(20);
        Path lost = lose();
        submit(1, 10);
        recorders.get(0).awaitCount(30);
        giveCopy(0, 24);
        tellReplaced(30);
        start(2, 24);
        assertEquals(IntStream.rangeClosed(25, 30).mapToObj(Long::valueOf).toList(),
                recorders.get(2).awaitCount(6).stream().map(Recorder.Delivered::position).toList());
        recorders.get(2).awaitView(v -> v.majority() && v.members().size() == 3);
        submit(2, 1);
        assertEquals(31, recorders.get(2).awaitCount(7).getLast().position());
        // With it and one other there is a majority.
        orders.remove(0).close();
        recorders.get(1).awaitView(v -> v.majority() && !v.members().contains(0));
        submit(2, 1);
        assertEquals(32, recorders.get(1).awaitCount(32).getLast().position());
        orders.remove(2).close();
        // Whatever it was before, it is no more.
        Files.move(files(2), directory.resolve("copy"));
        Files.move(lost, files(2));
        MetNodes met = new MetNodes(1, PathDirectory.of(files(1)));
        assertFalse(met.knows(2, number(2)));
        assertTrue(met.knows(2, NUMBER));
    }

    /** It would not hear of it in the order if the other one leads, and it turns that away. */
    @Test
    void whoWasAwayWhenItWasOrderedIsToldByTheOthers() throws Exception {
        submit(0, 20);
        recorders.get(2).awaitCount(20);
        lose();
        // It may hear last what was committed.
        recorders.get(0).awaitCount(20);
        giveCopy(0, 14);
        orders.remove(1).close();
        orders.get(0).replaced(2, NUMBER, 20, 20);
        start(2, 14);
        recorders.get(2).awaitView(v -> v.majority() && v.members().contains(0));
        start(1, 20);
        recorders.get(1).awaitView(v -> v.majority() && v.members().size() == 3);
    }

    /** Of three, two have what the third has not seen; then one of them loses its directory, while the other one, which knows that, is away. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void whoLosesItsDirectoryNextIsTurnedAwayByWhoHasACopy(int donor) throws Exception {
        submit(0, 20);
        recorders.get(2).awaitCount(20);
        lose();
        recorders.get(donor).awaitCount(20);
        giveCopy(donor, 14);
        tellReplaced(20);
        submit(0, 1);
        recorders.get(1).awaitCount(21);
        orders.remove(0).close();
        orders.remove(1).close();
        Files.move(files(0), directory.resolve("lost as well"));
        start(2, 14);
        start(0, 0);
        assertInstanceOf(LostDirectoryException.class, recorders.get(0).awaitFailure());
    }

    /** The clock alone would not do, as it may have been set back. */
    @Test
    void itsNextLifeHasAHigherNumberThanThoseBefore() throws Exception {
        submit(2, 1);
        recorders.get(0).awaitCount(1);
        submit(0, 20);
        recorders.get(0).awaitCount(21);
        Path lost = lose();
        giveCopy(0, 14);
        assertEquals(last(lost), last(files(2)));
    }

    private static long last(Path files) throws Exception {
        return RaftFiles.read(PathDirectory.of(files), "incarnation", RaftFiles.Incarnation.class).last();
    }

    /** Who opens a log puts another file in the place of the one in which the next entries go. */
    @Test
    void whatANodeUsesIsNeitherAdoptedNorLookedAt() throws Exception {
        submit(0, 1);
        recorders.get(0).awaitCount(1);
        PathDirectory used = PathDirectory.of(files(0));
        Map<String, Object> before = logFiles(0);
        assertThrows(IOException.class,
                () -> AnotherHistory.reach(RaftNodes.config(0, members), RealMachine.INSTANCE, used));
        assertThrows(IOException.class,
                () -> OrderCopy.adopt(RaftNodes.config(0, members), RealMachine.INSTANCE, used, NUMBER));
        assertEquals(before, logFiles(0));
    }

    /** Names, and which files they stand for. */
    private Map<String, Object> logFiles(int node) throws Exception {
        Map<String, Object> files = new HashMap<>();
        try (Stream<Path> all = Files.list(files(node).resolve("log"))) {
            for (Path each : all.toList()) {
                files.put(each.getFileName().toString(),
                        Objects.requireNonNull(Files.readAttributes(each, BasicFileAttributes.class).fileKey()));
            }
        }
        return files;
    }

    /** As an operator copies it, where nodes cannot. */
    @Test
    void whoHasACopyByHandKnowsTheDirectoriesOfAllOthers() throws Exception {
        submit(0, 20);
        recorders.get(2).awaitCount(20);
        for (int node = 0; node < 3; node++) {
            orders.remove(node).close();
        }
        Files.move(files(2), directory.resolve("lost"));
        copyTree(files(0), files(2));
        OrderCopy.adopt(RaftNodes.config(2, members), RealMachine.INSTANCE, PathDirectory.of(files(2)), NUMBER);
        MetNodes met = new MetNodes(2, PathDirectory.of(files(2)));
        for (int node : List.of(0, 1)) {
            assertTrue(met.knows(node, number(node)));
            assertFalse(met.knows(node, NUMBER));
        }
        assertFalse(met.hasMet(2));
    }

    private long number(int node) throws Exception {
        return RaftFiles.read(PathDirectory.of(files(node)), "number", RaftFiles.DirectoryNumber.class).of();
    }

    /** At once, as nothing is lost with an empty directory; not a node that runs twice: that one would take the place of the other. */
    @Test
    void onlyWhoHasLostItsDirectoryIsToldThatACopyHelps() throws Exception {
        Files.createDirectories(lose());
        start(RaftNodes.config(2, members).withTimeouts(Duration.ofMinutes(1), Duration.ofSeconds(1)), 0);
        assertInstanceOf(LostDirectoryException.class, recorders.get(2).awaitFailure());
        orders.remove(2).close();
        MetNodes met = new MetNodes(0, PathDirectory.of(directory.resolve("notes")));
        Greeting.Hello hello = new Greeting.Hello(2, 1, new Greeting.Standing(5, 1, 1, false, 0), "");
        assertFalse(met.admit(hello, "another process runs as node 2", false).capabilities()
                .contains(Greeting.Capability.LOST));
    }

    /** Nobody of those who are there need know it any more. */
    @Test
    void whoHasStateAndAnEmptyDirectoryAsksNobodyWhetherItIsLost() throws Exception {
        submit(0, 1);
        recorders.get(2).awaitCount(1);
        lose();
        orders.remove(0).close();
        orders.remove(1).close();
        start(2, 1);
        assertInstanceOf(LostDirectoryException.class, recorders.get(2).awaitFailure());
    }

    /** The majority is lost: what one node has becomes another history, in which nobody of before takes part. */
    @Test
    void whoeverIsOfAnotherHistoryIsTurnedAway() throws Exception {
        submit(0, 20);
        for (int node = 0; node < 3; node++) {
            recorders.get(node).awaitCount(20);
        }
        for (int node = 0; node < 3; node++) {
            orders.remove(node).close();
        }
        Files.move(files(0), directory.resolve("old"));
        copyTree(files(1), files(0));
        copyTree(files(1), directory.resolve("kept"));
        for (int node : List.of(0, 1)) {
            OrderDescriptor.Reach reach = AnotherHistory.reach(RaftNodes.config(node, members), RealMachine.INSTANCE,
                    PathDirectory.of(files(node)));
            assertEquals(20, reach.position());
            AnotherHistory.begin(RaftNodes.config(node, members), RealMachine.INSTANCE, PathDirectory.of(files(node)),
                    "after the fire");
            start(node, 20);
        }
        recorders.get(0).awaitView(v -> v.majority() && v.members().contains(1));
        start(2, 20);
        assertInstanceOf(LostDirectoryException.class, recorders.get(2).awaitFailure());
        submit(0, 1);
        assertEquals(21, recorders.get(1).awaitCount(1).getLast().position());

        MetNodes met = new MetNodes(2, PathDirectory.of(directory.resolve("kept")));
        AnotherHistory.begin(RaftNodes.config(2, members), RealMachine.INSTANCE,
                PathDirectory.of(directory.resolve("kept")), "another one");
        assertFalse(met.knows(0, number(0)), "it is of a history of another name");
    }

    /** As somebody may keep a note that is deleted, so that the node comes with another directory. */
    @Test
    void copiesOfNotesAreNoNotes() throws Exception {
        PathDirectory notes = PathDirectory.of(directory.resolve("notes"));
        MetNodes met = new MetNodes(0, notes);
        assertTrue(met.replaced(2, NUMBER, 5, 10));
        Files.copy(directory.resolve("notes/met-2"), directory.resolve("notes/met-2.bak"));
        Files.copy(directory.resolve("notes/replaced-2"), directory.resolve("notes/replaced-2~"));
        assertEquals(List.of(new PeerMessage.Replaced(2, NUMBER, 10)), met.replacements());
    }

    @Test
    void whatWasSaidBeforeDoesNotCountAgain() throws Exception {
        MetNodes met = new MetNodes(0, PathDirectory.of(directory.resolve("notes")));
        assertTrue(met.replaced(2, NUMBER, 5, 10));
        assertTrue(met.replaced(2, NUMBER + 1, 15, 20));
        assertFalse(met.replaced(2, NUMBER, 5, 10));
        assertTrue(met.knows(2, NUMBER + 1));
        assertFalse(met.knows(2, NUMBER));
        assertFalse(met.replaced(2, NUMBER + 1, 25, 30), "it is known already");
        assertFalse(met.replaced(0, NUMBER, 35, 40), "it is this node");
    }

    /** It was asked at position 15, and given up; what it has ordered comes behind what the next one has ordered, with whose copy node 2 has begun. */
    @Test
    void whatADonorSaysThatWasGivenUpShutsNobodyOut() throws Exception {
        MetNodes met = new MetNodes(0, PathDirectory.of(directory.resolve("notes")));
        assertTrue(met.replaced(2, NUMBER + 1, 18, 20));
        assertFalse(met.replaced(2, NUMBER, 15, 30));
        assertTrue(met.knows(2, NUMBER + 1));
        assertFalse(met.knows(2, NUMBER));
        assertFalse(met.replaced(2, NUMBER, 25, 31), "its sender did not know that another was asked later");
        assertTrue(met.replaced(2, NUMBER + 2, 31, 40));
    }
}
