package tutti.order.raft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tutti.core.spi.Group;
import tutti.order.Recorder;
import tutti.order.peer.Greeting;
import tutti.runtime.real.PathDirectory;
import tutti.runtime.real.RealMachine;

/** A directory that was put back from an old copy is recognised, and its node neither votes nor acknowledges. */
@Timeout(60)
class OldCopiesTest {
    @TempDir
    private Path directory;

    private final Map<Integer, RaftOrder> orders = new HashMap<>();
    private final Map<Integer, Recorder> recorders = new HashMap<>();
    private Map<Integer, InetSocketAddress> members = Map.of();

    @BeforeEach
    void startAll() throws Exception {
        members = RaftNodes.members(3);
        for (int node = 0; node < 3; node++) {
            start(node);
        }
        for (Recorder recorder : recorders.values()) {
            recorder.awaitView(v -> v.majority() && v.members().size() == 3);
        }
    }

    @AfterEach
    void close() {
        orders.values().forEach(RaftOrder::close);
    }

    private void start(int node) throws Exception {
        start(node, 0);
    }

    private void start(int node, long after) throws Exception {
        RaftOrder order = RaftNodes.open(RaftNodes.config(node, members), directory);
        orders.put(node, order);
        Recorder recorder = new Recorder();
        recorders.put(node, recorder);
        order.join(recorder);
        order.start(after, recorder);
    }

    private void stop(int node) {
        orders.remove(node).close();
        recorders.remove(node);
    }

    private void submit(int node, int count) throws Exception {
        for (int i = 0; i < count; i++) {
            orders.get(node).append("message".getBytes(StandardCharsets.UTF_8));
        }
    }

    private Path files(int node) {
        return RaftNodes.files(directory, node);
    }

    private static void copy(Path from, Path to) throws IOException {
        try (Stream<Path> all = Files.walk(from)) {
            for (Path each : all.toList()) {
                Path copy = to.resolve(from.relativize(each).toString());
                if (Files.isDirectory(each)) {
                    Files.createDirectories(copy);
                } else {
                    Files.copy(each, copy);
                }
            }
        }
    }

    /** The node comes back with what it had then, and is told that this is too little. */
    private void assertRecognised(Path then, String why) throws Exception {
        Path lost = directory.resolve("lost");
        Files.move(files(2), lost);
        Files.move(then, files(2));
        start(2);
        String failure = String.valueOf(recorders.get(2).awaitFailure().getMessage());
        assertTrue(failure.contains("less than it has promised") && failure.contains(why), failure);
        assertTrue(failure.contains("--copy-from any"), failure);
        assertEquals(List.of(), recorders.get(2).deliveries());
        stop(2);
        IOException refusal = assertThrows(IOException.class, () -> start(2));
        assertTrue(String.valueOf(refusal.getMessage()).contains("found to be an old copy"), refusal.getMessage());
        Files.move(files(2), directory.resolve("old"));
        Files.move(lost, files(2));
        start(2);
        submit(2, 1);
        assertEquals(21, recorders.get(2).awaitCount(21).getLast().position());
    }

    @Test
    void whatWasAcknowledgedToALeaderThatGoesOnIsMissed() throws Exception {
        submit(0, 10);
        recorders.get(2).awaitCount(10);
        Path then = directory.resolve("then");
        copy(files(2), then);
        for (int message = 11; message <= 20; message++) {
            // Nobody is sent an entry who has not acknowledged the one before.
            submit(0, 1);
            for (Recorder recorder : recorders.values()) {
                recorder.awaitCount(message);
            }
        }
        stop(2);
        assertRecognised(then, "its log ends with entry");
    }

    private long lifeMetByNodeZero() {
        try {
            return RaftFiles.read(PathDirectory.of(files(0)), "met-2", RaftFiles.Met.class).life();
        } catch (IOException broken) {
            throw new UncheckedIOException(broken);
        }
    }

    @Test
    void aLifeThatOthersHaveMetIsMissed() throws Exception {
        submit(0, 20);
        recorders.get(2).awaitCount(20);
        stop(2);
        Path then = directory.resolve("then");
        copy(files(2), then);
        start(2);
        Recorder.THREADS.await(this, () -> lifeMetByNodeZero() == 2, () -> "node 0 met life " + lifeMetByNodeZero());
        for (int node = 0; node < 3; node++) {
            stop(node);
        }
        // Only what is in files is remembered, and nobody leads.
        start(0);
        assertFalse(orders.get(0).view().majority());
        assertRecognised(then, "this is life 2 of its directory, but node 0 has met another process in that life");
    }

    @Test
    void itIsRememberedHowFarNodesWereThatNeverLed() throws Exception {
        MetNodes met = new MetNodes(0, PathDirectory.of(directory.resolve("notes")));
        assertEquals("", met.admit(hello(5, 1, 3, false, 40), "", false).refusal());
        met.promises(2);
        met.acknowledged(2, 3, 50, 45);
        assertEquals("", met.outdated(hello(5, 1, 3, false, 45)), "what is behind 45 was not committed");
        assertTrue(met.outdated(hello(5, 1, 3, false, 44)).contains("had entry 45 for good"));
        met.acknowledged(1, 3, 50, 50);
        assertTrue(met.outdated(hello(5, 1, 3, false, 49)).contains("had entry 50 for good"));
        met.heard(2, 4, true, 50);
        while (met.saveNext()) {}
        for (MetNodes later : List.of(met, new MetNodes(0, PathDirectory.of(directory.resolve("notes"))))) {
            assertTrue(later.outdated(hello(5, 1, 3, true, 60)).contains("was in term 4 and has voted"));
            assertTrue(later.outdated(hello(5, 1, 4, false, 60)).contains("term 4 without a vote"));
            assertTrue(later.outdated(hello(4, 1, 4, true, 60)).contains("has met life 5"));
            assertTrue(later.outdated(hello(5, 2, 4, true, 60)).contains("another process"));
            assertEquals("", later.outdated(hello(5, 1, 4, true, 50)));
            assertEquals("", later.outdated(hello(6, 2, 5, false, 50)));
            assertTrue(later.knows(2, 77));
            assertFalse(later.knows(2, 78));
        }
    }

    /** What it lacks no log holds any more: without the copy it could not come back. */
    @Test
    void aNodeThatHasLostItsDirectoryComesBackWithACopyOfAnothers() throws Exception {
        byte[] large = new byte[10_000];
        for (int i = 0; i < 40; i++) {
            orders.get(0).append(large);
        }
        for (Recorder recorder : recorders.values()) {
            recorder.awaitCount(40);
        }
        orders.values().forEach(order -> order.truncate(35));
        submit(0, 1);
        recorders.get(1).awaitCount(41);
        long first = orders.get(1).status().firstRetained();
        assertTrue(first > 1);
        stop(2);
        stop(1);
        Files.move(files(2), directory.resolve("lost"));
        copy(files(1), files(2));
        IOException refusal = assertThrows(IOException.class, () -> start(2, 40));
        assertTrue(String.valueOf(refusal.getMessage()).contains("belongs to node 1"), refusal.getMessage());
        OrderCopy.adopt(RaftNodes.config(2, members), RealMachine.INSTANCE, PathDirectory.of(files(2)), 77);
        for (int node = 0; node < 2; node++) {
            Files.delete(files(node).resolve("met-2"));
        }
        start(2, 40);
        recorders.get(0).awaitView(v -> v.majority());
        submit(2, 1);
        assertEquals(List.of(41L, 42L),
                recorders.get(2).awaitCount(2).stream().map(Recorder.Delivered::position).toList());
        start(1, 41);
        submit(1, 1);
        recorders.get(2).awaitCount(3);
        assertEquals(43, recorders.get(0).awaitCount(43).getLast().position());
    }

    @Test
    void whatIsNoCopyIsNotAdopted() {
        IOException refusal = assertThrows(IOException.class, () -> OrderCopy.adopt(RaftNodes.config(2, members),
                RealMachine.INSTANCE, PathDirectory.of(directory.resolve("empty")), 77));
        assertTrue(String.valueOf(refusal.getMessage()).contains("holds no copy"), refusal.getMessage());
        assertThrows(IOException.class, () -> OrderCopy.adopt(RaftNodes.config(2, members), RealMachine.INSTANCE,
                PathDirectory.of(files(2)), 77), "it is in use");
    }

    @Test
    void whatWasTurnedAwayByOthersLeavesNoTrace() throws Exception {
        MetNodes met = new MetNodes(0, PathDirectory.of(directory.resolve("notes")));
        assertEquals("", met.admit(hello(5, 1, 3, false, 40), "", false).refusal());
        met.promises(2);
        assertEquals("", met.admit(hello(6, 2, 3, false, 40), "", false).refusal());
        assertEquals("", met.outdated(hello(6, 3, 3, false, 40)), "life 6 of the old copy has promised nothing");
        met.promises(2);
        assertTrue(met.outdated(hello(6, 3, 3, false, 40)).contains("another process"));
    }

    private static Greeting.Hello hello(long life, long process, int term, boolean voted, long lastIndex) {
        return new Greeting.Hello(2, process, new Greeting.Standing(77, life, term, voted, lastIndex), "words");
    }

    @Test
    void whatALeaderHasWhoseTermIsOverCountsNoMore() throws Exception {
        MetNodes met = new MetNodes(0, PathDirectory.of(directory.resolve("notes")));
        assertEquals("", met.admit(hello(5, 1, 3, false, 40), "", false).refusal());
        met.promises(2);
        met.acknowledged(2, 3, 50, 40);
        met.acknowledged(1, 4, 60, 55);
        assertEquals("", met.outdated(hello(5, 1, 4, true, 40)), "entries behind 40 may have been replaced");
    }

    @Tag("long")
    @Test
    void membersComeAndGoWithoutBeingSuspected() throws Exception {
        for (int round = 1; round <= 3; round++) {
            for (int node = 0; node < 3; node++) {
                stop(node);
                start(node);
                recorders.get(node).awaitView(v -> v.majority() && v.members().size() == 3);
                submit(node, 5);
                recorders.get(node).awaitCount(15 * (round - 1) + 5 * (node + 1));
            }
        }
        for (Recorder recorder : recorders.values()) {
            recorder.awaitCount(45);
        }
        Recorder.THREADS.await(this, () -> orders.values().stream().allMatch(o -> ((Group) o).view().majority()),
                () -> "somebody is missing");
    }
}
