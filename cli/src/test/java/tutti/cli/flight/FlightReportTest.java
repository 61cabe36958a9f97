package tutti.cli.flight;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tutti.command.Failure;
import tutti.command.Screen;
import tutti.core.flight.FlightRecorder;
import tutti.core.flight.FlightRecording;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.Protocols;
import tutti.core.protocol.ReplicaWorld;
import tutti.core.protocol.TransactionRequest;
import tutti.core.txn.AbortReason;
import tutti.core.txn.TransactionId;
import tutti.node.NodeFlightRecorder;
import tutti.runtime.real.PathDirectory;
import tutti.runtime.real.RealMachine;

class FlightReportTest {
    private static final FlightRecorder.Limits LIMITS = new FlightRecorder.Limits(1 << 20, 1_000_000_000);

    @TempDir
    private Path directory;

    private final StringWriter out = new StringWriter();

    /** Two transactions that come to nothing, and then something that the protocol does not expect. */
    private byte[] record(String protocolName, Map<String, String> parameters) throws IOException {
        NodeFlightRecorder recorder = new NodeFlightRecorder(RealMachine.INSTANCE, PathDirectory.of(directory),
                new FlightRecording.Subject(protocolName, parameters, 1, Set.of(0, 1)), LIMITS);
        ReplicaWorld nobody = (ReplicaWorld) Proxy.newProxyInstance(getClass().getClassLoader(),
                new Class<?>[]{ReplicaWorld.class},
                (_, _, _) -> null);
        Protocol protocol = recorder
                .recorded(world -> Protocols.STANDARD.choose("passive").create(1, Set.of(0, 1), world))
                .apply(nobody);
        for (int serial = 1; serial <= 2; serial++) {
            TransactionId transaction = new TransactionId(1, serial);
            protocol.submitted(transaction, TransactionRequest.Interactive.UNDECLARED);
            protocol.failed(transaction, new AbortReason.Failed("user"));
        }
        assertThrows(IllegalStateException.class, () -> protocol.prepared(new TransactionId(0, 7)));
        return Files.readAllBytes(Path.of(recorder.write()));
    }

    private boolean replay(byte[] file, long first, long last) {
        return FlightReport.replay(Path.of("incident"), file, first, last, new Screen(new PrintWriter(out), false));
    }

    @Test
    void saysWhatHappenedAndThatItHappensAgain() throws IOException {
        assertTrue(replay(record("passive", Map.of()), 2, 3));
        String told = out.toString();
        assertTrue(told.contains("Flight recording of node 1, protocol passive, replicas [0, 1]"), told);
        assertTrue(told.contains(": asked for"), told);
        assertTrue(told.contains("  5 events over ") && told.contains(": 5 effects and 0 states are the same"), told);
        assertTrue(told.contains("same effects, and the protocol threw as it did then:"), told);
        assertTrue(
                told.contains(
                        "java.lang.IllegalStateException: 0:0.7 was prepared, but this protocol asks for nothing"),
                told);
        assertTrue(
                told.contains("Z failed 1:0.1 (user)") && told.contains("    answer 1:0.1: aborted, Failed[label=user]")
                        && told.contains("Z submitted 1:0.2 (interactive, all classes)"),
                told);
        assertFalse(told.contains("submitted 1:0.1 "), told);
    }

    @Test
    void whatCannotBeReplayedIsRefusedWithTheReason() throws IOException {
        byte[] other = record("si", Map.of());
        assertTrue(assertThrows(Failure.class, () -> replay(other, 1, 0)).getMessage()
                .contains("the state is one of PassiveReplication, the protocol is SnapshotIsolation"));
        byte[] unknown = record("paxos", Map.of());
        assertTrue(assertThrows(Failure.class, () -> replay(unknown, 1, 0)).getMessage()
                .contains("no protocol 'paxos'"));
        unknown[100] ^= 1;
        String damaged = String.valueOf(assertThrows(Failure.class, () -> replay(unknown, 1, 0)).getMessage());
        assertTrue(damaged.startsWith("incident: byte "), damaged);
        assertEquals("", out.toString().lines().filter(line -> line.contains("same effects")).findAny().orElse(""));
    }
}
