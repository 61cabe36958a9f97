package tutti.core.flight;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import tutti.core.protocol.ChosenProtocol;
import tutti.core.protocol.Execution;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.Protocols;
import tutti.core.protocol.ReplicaWorld;
import tutti.core.protocol.TransactionRequest;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.ReadSet;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

class FlightReplayTest {
    private static final FlightRecording.Subject SUBJECT = new FlightRecording.Subject("si",
            Map.of("window", "100", "progress-interval", "20ms"), 1, Set.of(1, 2));
    private static final ChosenProtocol SI = Protocols.STANDARD.choose(SUBJECT.protocol(), SUBJECT.parameters());
    private static final FlightReplay.Listener NOBODY = (_, _, _, _) -> {};

    private final List<String> troubles = new ArrayList<>();
    private long clock;
    private long position;
    private long serial;

    @AfterEach
    void repair() {
        Flawed.skipsWhatOthersDid = false;
        Flawed.countsTwice = false;
    }

    private FlightRecorder recorder(long bytes) {
        return new FlightRecorder(SUBJECT, new FlightRecorder.Limits(bytes, 1_000_000_000), () -> clock += 1000,
                troubles::add);
    }

    private static Protocol make(ReplicaWorld world) {
        return SI.create(SUBJECT.node(), SUBJECT.replicas(), world);
    }

    /** A transaction of this replica and one of the other, ordered and made visible. */
    private void traffic(Protocol protocol, int keys) {
        WriteSet writes = writes(keys);
        TransactionId mine = new TransactionId(1, ++serial);
        protocol.submitted(mine, TransactionRequest.Interactive.UNDECLARED);
        protocol.executed(mine, new Execution(position, position, writes, ReadSet.EMPTY));
        for (int sender = 1; sender <= 2; sender++) {
            TransactionId transaction = new TransactionId(sender, serial);
            Outbox other = new Outbox();
            Protocol there = SI.create(sender, SUBJECT.replicas(), other);
            there.submitted(transaction, TransactionRequest.Interactive.UNDECLARED);
            there.executed(transaction, new Execution(position, position, sender == 1 ? writes : writes(keys),
                    ReadSet.EMPTY));
            protocol.delivered(++position, sender, other.last());
        }
        protocol.committed(position, position);
    }

    private WriteSet writes(int keys) {
        KeySet.Builder builder = new KeySet.Builder();
        for (int i = 0; i < keys; i++) {
            builder.add(++clock * 0x9e3779b97f4a7c15L, KeyKind.UPDATE);
        }
        return new WriteSet(builder.build(), new byte[100]);
    }

    private static byte[] file(FlightRecorder recorder) {
        ByteArrayOutputStream file = new ByteArrayOutputStream();
        recorder.recording(Map.of("reason", "test"))
                .encode(piece -> file.write(piece.array(), piece.arrayOffset() + piece.position(), piece.remaining()));
        return file.toByteArray();
    }

    private static FlightReplay.Result replay(FlightRecorder recorder, Function<ReplicaWorld, Protocol> maker) {
        return FlightReplay.run(FlightRecording.decode(file(recorder), "test"), maker, SI.messages()::decode, NOBODY);
    }

    @Test
    void whatIsKeptStaysWithinItsBoundsAndCanBeReplayedFromTheMiddle() {
        FlightRecorder recorder = recorder(1 << 17);
        Protocol protocol = recorder.attach(new Outbox(), FlightReplayTest::make);
        for (int i = 0; i < 1000; i++) {
            traffic(protocol, 3);
            assertTrue(recorder.bytes() <= (1 << 17) + (1 << 11), () -> "kept " + recorder.bytes());
        }
        protocol.snapshot();
        List<Long> numbers = new ArrayList<>();
        FlightReplay.Result result = FlightReplay.run(recorder.recording(Map.of()), Protocols.STANDARD,
                (number, _, _, _) -> numbers.add(number));
        assertNull(result.divergence());
        assertEquals(recorder.events(), numbers.getLast());
        assertTrue(numbers.getFirst() > 1 && result.states() >= 3 && result.effects() > result.events() / 2,
                () -> "from " + numbers.getFirst() + ": " + result);
        assertEquals(List.of(), troubles);
    }

    @Test
    void whatIsTooOldIsDropped() {
        FlightRecorder recorder = recorder(1 << 20);
        Protocol protocol = recorder.attach(new Outbox(), FlightReplayTest::make);
        traffic(protocol, 1);
        for (int i = 0; i < 8; i++) {
            clock += 500_000_000;
            protocol.view(Set.of(1));
        }
        List<String> told = new ArrayList<>();
        FlightReplay.Result result = FlightReplay.run(recorder.recording(Map.of()), Protocols.STANDARD,
                (_, nanos, event, _) -> told.add(nanos / 500_000_000 + " " + event));
        assertEquals(List.of("0 view [1]", "1 view [1]", "2 view [1]"), told);
        assertNull(result.divergence());
    }

    @Test
    void anotherEffectIsToldWithWhatCameBefore() {
        FlightRecorder recorder = recorder(1 << 20);
        Protocol protocol = recorder.attach(new Outbox(), Flawed::new);
        traffic(protocol, 2);
        traffic(protocol, 2);
        assertNull(replay(recorder, Flawed::new).divergence());
        Flawed.skipsWhatOthersDid = true;
        FlightReplay.Result result = replay(recorder, Flawed::new);
        String told = result.divergence();
        assertNotNull(told);
        assertTrue(told.startsWith("event 4 at ") && told.contains("delivered position 2 from node 2: Certify[")
                && told.contains("effect 1 differs, after 0 that are the same")
                && told.contains("recorded: apply 2:0.1 at 2: 2 keys, 130 bytes with checksum ")
                && told.contains("replayed: skip 2")
                && told.contains("what came before, with the same effects:\n    event 1 at "), told);
        assertEquals(3, result.events());
    }

    @Test
    void whatEffectsDoNotShowIsSeenInTheStateAtTheNextSegment() {
        FlightRecorder recorder = recorder(1 << 16);
        Protocol protocol = recorder.attach(new Outbox(), Flawed::new);
        for (int i = 0; i < 30; i++) {
            traffic(protocol, 2);
        }
        Flawed.countsTwice = true;
        String told = replay(recorder, Flawed::new).divergence();
        assertNotNull(told);
        assertTrue(told.contains("the states differ: replayed Flawed.told = "), told);
    }

    @Test
    void anExceptionHappensAgain() {
        FlightRecorder recorder = recorder(1 << 20);
        Protocol protocol = recorder.attach(new Outbox(), FlightReplayTest::make);
        traffic(protocol, 1);
        assertThrows(IllegalStateException.class, () -> protocol.executed(new TransactionId(1, 99),
                new Execution(position, position, writes(1), ReadSet.EMPTY)));
        FlightReplay.Result result = replay(recorder, FlightReplayTest::make);
        assertNull(result.divergence());
        assertInstanceOf(IllegalStateException.class, result.thrown());
        assertTrue(String.valueOf(result.thrown()).contains("1:0.99 asked to commit but was not executing"));
    }

    @Test
    void aStateThatIsTooLargeInterruptsTheRecordingAndNothingElse() {
        FlightRecorder recorder = recorder(1 << 16);
        Outbox world = new Outbox();
        Protocol protocol = recorder.attach(world, FlightReplayTest::make);
        for (int i = 0; i < 200; i++) {
            traffic(protocol, 20);
        }
        assertEquals(1, troubles.size(), troubles::toString);
        assertEquals(
                "the protocol's state takes more than 32768 bytes; a recorder of 65536 bytes keeps states up to half "
                        + "of that",
                recorder.trouble());
        assertEquals(0, recorder.bytes());
        assertEquals(List.of(), recorder.recording(Map.of()).segments());
        assertEquals(400, world.decided);
        assertTrue(assertThrows(IllegalArgumentException.class, () -> replay(recorder, FlightReplayTest::make))
                .getMessage().contains("has no events"));
    }

    @Test
    void aProtocolThatHoldsMoreThanDataIsNamed() {
        FlightRecorder recorder = recorder(1 << 20);
        Protocol protocol = recorder.attach(new Outbox(), Closed::new);
        protocol.view(Set.of(1));
        assertTrue(String.valueOf(recorder.trouble()).contains("Closed.thread: an object of java.lang.Thread"),
                recorder::trouble);
    }

    @Test
    void damagedAndIncompleteFilesAreRefused() {
        FlightRecorder recorder = recorder(1 << 20);
        Protocol protocol = recorder.attach(new Outbox(), FlightReplayTest::make);
        traffic(protocol, 2);
        byte[] file = file(recorder);
        assertEquals(Map.of("reason", "test"), FlightRecording.decode(file, "it").notes());
        assertEquals(SUBJECT, FlightRecording.decode(file, "it").subject());
        for (int at = 0; at < file.length; at++) {
            byte[] damaged = file.clone();
            damaged[at] ^= 0x41;
            refused(damaged);
            refused(Arrays.copyOf(file, at));
        }
        refused(Arrays.copyOf(file, file.length + 1));
        assertFalse(FlightRecording.isOne(new byte[3]));
    }

    private static void refused(byte[] file) {
        String why = assertThrows(IllegalArgumentException.class,
                () -> FlightRecording.decode(file, "incident.tutti-flight"))
                .getMessage();
        assertTrue(why.startsWith("incident.tutti-flight: byte "), why);
    }

    @Test
    void stateOfAnotherBuildIsRefused() {
        FlightRecorder recorder = recorder(1 << 20);
        Protocol protocol = recorder.attach(new Outbox(), Flawed::new);
        traffic(protocol, 1);
        assertTrue(assertThrows(IllegalArgumentException.class, () -> replay(recorder, FlightReplayTest::make))
                .getMessage().contains("the state is one of Flawed, the protocol is SnapshotIsolation"));
        assertTrue(
                assertThrows(IllegalArgumentException.class, () -> StateShape.named(Flawed.class.getName(), "long x"))
                        .getMessage().contains("the recording is of another build"));
        assertThrows(IllegalArgumentException.class, () -> StateShape.named("java.lang.Thread", ""));
    }
}
