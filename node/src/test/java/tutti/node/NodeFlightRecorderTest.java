package tutti.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tutti.core.flight.FlightRecorder;
import tutti.core.flight.FlightRecording;
import tutti.core.flight.FlightReplay;
import tutti.core.protocol.ChosenProtocol;
import tutti.core.protocol.Protocols;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.Outcome;
import tutti.core.txn.ReadSet;
import tutti.core.txn.WriteSet;
import tutti.node.metrics.NodeMetrics;
import tutti.order.local.LocalOrderGroup;
import tutti.runtime.real.PathDirectory;
import tutti.runtime.real.RealMachine;

/** Replicas in one process whose protocols are recorded. */
@Timeout(60)
class NodeFlightRecorderTest {
    private static final Set<Integer> ALL = Set.of(0, 1, 2);
    private static final Map<String, String> PARAMETERS = Map.of("window", "1000", "progress-interval", "5ms");

    @TempDir
    private Path directory;

    private final LocalOrderGroup group = new LocalOrderGroup(RealMachine.INSTANCE, ALL);
    private final Map<Integer, ListEngine> engines = new HashMap<>();
    private final Map<Integer, ReplicaNode> nodes = new HashMap<>();
    private final Map<Integer, NodeFlightRecorder> recorders = new HashMap<>();

    private void openAll(String protocol, Map<String, String> parameters, FlightRecorder.Limits limits)
            throws Exception {
        for (int node : ALL) {
            ListEngine engine = new ListEngine();
            engines.put(node, engine);
            ChosenProtocol chosen = Protocols.STANDARD.choose(protocol, parameters);
            NodeFlightRecorder recorder = new NodeFlightRecorder(RealMachine.INSTANCE,
                    PathDirectory.of(directory.resolve("flight" + node)),
                    new FlightRecording.Subject(protocol, parameters, node, ALL), limits);
            recorders.put(node, recorder);
            ReplicaNode replica = new ReplicaNode(
                    ReplicaNode.Settings.defaults(node, ALL, chosen), RealMachine.INSTANCE,
                    PathDirectory.of(directory.resolve("node" + node)),
                    group.open(node), engine,
                    recorder.recorded(world -> chosen.create(node, ALL, world)),
                    NodeMetrics.NONE, (cause, _) -> recorder.failed(cause));
            nodes.put(node, replica);
            replica.start().get(20, TimeUnit.SECONDS);
        }
        for (ReplicaNode node : nodes.values()) {
            node.ready().get(20, TimeUnit.SECONDS);
        }
    }

    @AfterEach
    void closeAll() {
        nodes.values().forEach(ReplicaNode::close);
        recorders.values().forEach(NodeFlightRecorder::close);
        engines.values().forEach(ListEngine::close);
    }

    private CompletableFuture<Outcome> commit(int node, String change, long key) {
        ListEngine.Session session = engines.get(node).new Session(change);
        nodes.get(node).begin(session).executed(
                new WriteSet(new KeySet.Builder().add(key, KeyKind.UPDATE).build(),
                        change.getBytes(StandardCharsets.UTF_8)),
                ReadSet.EMPTY);
        return session.outcome;
    }

    private static FlightReplay.Result replay(Path file) throws IOException {
        return FlightReplay.run(FlightRecording.decode(Files.readAllBytes(file), file.toString()),
                Protocols.STANDARD, (_, _, _, _) -> {});
    }

    private List<Path> files() throws IOException {
        try (Stream<Path> files = Files.list(directory.resolve("flight0"))) {
            return files.sorted().toList();
        }
    }

    @Test
    void whatNodesDidUnderLoadIsReplayedToTheSameEffects() throws Exception {
        openAll("si", PARAMETERS, new FlightRecorder.Limits(1 << 17, Duration.ofMinutes(5).toNanos()));
        List<CompletableFuture<Outcome>> outcomes = new ArrayList<>();
        List<Path> written = new ArrayList<>();
        for (int i = 0; i < 3000; i++) {
            outcomes.add(commit(i % 3, "change " + i, i % 40));
            if (i % 500 == 499) {
                // Some in the midst of the load.
                written.add(Path.of(recorders.get(i / 500 % 3).write()));
            }
        }
        int committed = 0;
        for (CompletableFuture<Outcome> outcome : outcomes) {
            committed += outcome.get(20, TimeUnit.SECONDS) instanceof Outcome.Committed ? 1 : 0;
        }
        for (NodeFlightRecorder recorder : recorders.values()) {
            written.add(Path.of(recorder.write()));
        }
        assertTrue(committed > 0 && committed < 3000, "committed " + committed);
        int states = 0;
        long events = 0;
        for (Path file : written) {
            FlightReplay.Result result = replay(file);
            assertNull(result.divergence(), () -> file + ": " + result.divergence());
            states += result.states();
            events += result.events();
        }
        assertTrue(states > 0 && events > 500, states + " states, " + events + " events");
    }

    @Test
    void whenTheProtocolThrowsWhatLedToItIsWrittenAndHappensAgain() throws Exception {
        openAll("si", PARAMETERS, new FlightRecorder.Limits(1 << 20, Duration.ofMinutes(5).toNanos()));
        for (int i = 0; i < 20; i++) {
            commit(i % 3, "change " + i, i).get(20, TimeUnit.SECONDS);
        }
        ListEngine.Session session = engines.get(0).new Session("nothing");
        nodes.get(0).begin(session).executed(WriteSet.EMPTY, ReadSet.EMPTY);
        while (nodes.get(0).state() != ReplicaNode.State.FAILED) {
            Thread.onSpinWait();
        }
        nodes.get(0).close();
        recorders.get(0).close();
        Path file = files().getLast();
        assertTrue(file.toString().endsWith("-node0-failed" + NodeFlightRecorder.SUFFIX), file::toString);
        FlightRecording recording = FlightRecording.decode(Files.readAllBytes(file), "failed");
        assertTrue(recording.notes().get(NodeFlightRecorder.REASON).contains("asked to commit an empty write set"));
        FlightReplay.Result result = replay(file);
        assertNull(result.divergence());
        assertInstanceOf(IllegalArgumentException.class, result.thrown());
    }

    @Test
    void ofEachKindOnlyTheNewestFilesAreKept() throws Exception {
        TestMachine machine = new TestMachine();
        NodeFlightRecorder recorder = new NodeFlightRecorder(machine, PathDirectory.of(directory.resolve("flight0")),
                new FlightRecording.Subject("si", PARAMETERS, 0, ALL),
                new FlightRecorder.Limits(1 << 20, 1_000_000_000));
        recorders.put(0, recorder);
        assertEquals("the flight recorder has nothing: the protocol was told nothing yet",
                assertThrows(IOException.class, recorder::write).getMessage());
        recorder.recorded(world -> Protocols.STANDARD.choose("si", PARAMETERS).create(0, ALL, world))
                .apply(new NoWorld()).view(ALL);
        recorder.failed(new IllegalStateException("one"));
        recorder.close();
        for (int i = 0; i < 12; i++) {
            machine.runFor(1_000_000_000);
            recorder.write();
        }
        List<String> names = files().stream().map(file -> file.getFileName().toString()).toList();
        assertEquals(1 + NodeFlightRecorder.FILES_MAX, names.size());
        assertEquals("20261121-000000.000-node0-failed.tutti-flight", names.getFirst());
        assertEquals("20261121-000005.000-node0-requested.tutti-flight", names.get(1));
        assertEquals("20261121-000012.000-node0-requested.tutti-flight", names.getLast());
    }
}
