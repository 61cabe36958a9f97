package tutti.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tutti.core.flight.FlightRecorder;
import tutti.core.flight.FlightRecording;
import tutti.core.flight.FlightReplay;
import tutti.core.protocol.ChosenProtocol;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.Protocols;
import tutti.core.protocol.ReplicaWorld;
import tutti.core.txn.Outcome;
import tutti.core.txn.ReadSet;
import tutti.core.txn.WriteSet;
import tutti.runtime.Machine;
import tutti.runtime.real.RealMachine;

/** Replicas in one process, on threads, whose protocols are recorded. */
@Timeout(60)
class NodeFlightRecorderTest extends ReplicaTrio {
    private static final FlightRecorder.Limits LARGE = new FlightRecorder.Limits(1 << 20,
            Duration.ofMinutes(5).toNanos());

    private final Map<Integer, NodeFlightRecorder> recorders = new TreeMap<>();
    private FlightRecorder.Limits limits = LARGE;

    NodeFlightRecorderTest() {
        super(RealMachine.INSTANCE);
    }

    private NodeFlightRecorder recorder(Machine on, int node, ChosenProtocol protocol) throws IOException {
        return new NodeFlightRecorder(on, directory("flight" + node),
                new FlightRecording.Subject(protocol.name(), protocol.parameters(), node, ALL), limits);
    }

    @Override
    Function<ReplicaWorld, Protocol> maker(int node, ChosenProtocol protocol) throws IOException {
        NodeFlightRecorder recorder = recorder(machine, node, protocol);
        recorders.put(node, recorder);
        return recorder.recorded(super.maker(node, protocol));
    }

    @Override
    void ended(int node, End end) {
        recorders.get(node).failed(end.cause());
        super.ended(node, end);
    }

    @AfterEach
    void closeRecorders() {
        nodes.values().forEach(ReplicaNode::close);
        recorders.values().forEach(NodeFlightRecorder::close);
    }

    private CompletableFuture<Outcome> commit(int node, WriteSet writes) {
        ListEngine.Session session = engines.get(node).new Session("change");
        nodes.get(node).begin(session).executed(writes, ReadSet.EMPTY);
        return session.outcome;
    }

    private static FlightReplay.Result replay(Path file) throws IOException {
        return FlightReplay.run(FlightRecording.decode(Files.readAllBytes(file), file.toString()),
                Protocols.STANDARD, (_, _, _, _) -> {});
    }

    private List<String> files() throws IOException {
        return directory("flight0").list();
    }

    /** Ends node 0's life and answers what it has written because it failed. */
    private Path failureOfNode0() throws IOException {
        end(0);
        nodes.get(0).close();
        recorders.get(0).close();
        String file = files().getLast();
        assertTrue(file.endsWith("-node0-failed" + NodeFlightRecorder.SUFFIX), file);
        return Path.of(directory("flight0").location(file));
    }

    private static String reason(Path file) throws IOException {
        return FlightRecording.decode(Files.readAllBytes(file), "failed").notes().get(NodeFlightRecorder.REASON);
    }

    @Test
    void whatNodesDidUnderLoadIsReplayedToTheSameEffects() throws IOException {
        limits = new FlightRecorder.Limits(1 << 17, Duration.ofMinutes(5).toNanos());
        openAll("si");
        List<CompletableFuture<Outcome>> outcomes = new ArrayList<>();
        List<Path> written = new ArrayList<>();
        for (int i = 0; i < 3000; i++) {
            outcomes.add(commit(i % 3, writes("change " + i, i % 40)));
            if (i % 500 == 499) {
                // Some in the midst of the load.
                written.add(Path.of(recorders.get(i / 500 % 3).write()));
            }
        }
        int committed = 0;
        for (CompletableFuture<Outcome> outcome : outcomes) {
            committed += get(outcome) instanceof Outcome.Committed ? 1 : 0;
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
    void whenTheProtocolThrowsWhatLedToItIsWrittenAndHappensAgain() throws IOException {
        openAll("si");
        for (int i = 0; i < 20; i++) {
            get(commit(i % 3, writes("change " + i, i)));
        }
        commit(0, WriteSet.EMPTY);
        Path file = failureOfNode0();
        assertTrue(reason(file).contains("asked to commit an empty write set"), () -> "another reason");
        FlightReplay.Result result = replay(file);
        assertNull(result.divergence());
        assertInstanceOf(IllegalArgumentException.class, result.thrown());
    }

    @Test
    void whenTheNodeFindsThatSomethingCannotBeWhatLedToItIsWrittenAndReplays() throws IOException {
        openAll("si");
        for (int i = 0; i < 20; i++) {
            get(commit(i % 3, writes("change " + i, i)));
        }
        engines.get(0).durabilityLag = -1_000_000;
        Path file = failureOfNode0();
        assertTrue(reason(file).contains("is durable, expected"), () -> "another reason");
        FlightReplay.Result result = replay(file);
        assertNull(result.divergence());
        assertNull(result.thrown());
        assertTrue(result.events() > 20);
    }

    @Test
    void ofEachKindOnlyTheNewestFilesAreKept() throws IOException {
        TestMachine virtual = new TestMachine();
        NodeFlightRecorder recorder = recorder(virtual, 0, chosen("si"));
        recorders.put(0, recorder);
        assertEquals("the flight recorder has nothing: the protocol was told nothing yet",
                assertThrows(IOException.class, recorder::write).getMessage());
        recorder.recorded(world -> chosen("si").create(0, ALL, world)).apply(new NoWorld()).view(ALL);
        recorder.failed(new IllegalStateException("one"));
        recorder.close();
        for (int i = 0; i < 12; i++) {
            virtual.runFor(1_000_000_000);
            recorder.write();
        }
        List<String> names = files();
        assertEquals(1 + NodeFlightRecorder.FILES_MAX, names.size());
        assertEquals("20261121-000000.000-node0-failed.tutti-flight", names.getFirst());
        assertEquals("20261121-000005.000-node0-requested.tutti-flight", names.get(1));
        assertEquals("20261121-000012.000-node0-requested.tutti-flight", names.getLast());
    }
}
