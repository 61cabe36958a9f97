package tutti.bench.micro;

import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;
import tutti.core.flight.FlightRecorder;
import tutti.core.flight.FlightRecording;
import tutti.core.protocol.ChosenProtocol;
import tutti.core.protocol.Execution;
import tutti.core.protocol.Message;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.Protocols;
import tutti.core.protocol.ReplicaWorld;
import tutti.core.protocol.UniformWorld;
import tutti.core.protocol.TransactionRequest;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.ReadSet;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/**
 * Measures what the flight recorder costs a replica's event loop. Each operation is a transaction of the replica itself
 * under {@code si}: submitted, executed, delivered, committed, with ten keys and half a kilobyte of changes, which the
 * recorder writes down twice. One of another replica is two of these events. Nothing else is done: no engine, no
 * network.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class RecorderBenchmark {
    /** Events told per transaction. */
    public static final int EVENTS_PER_TRANSACTION = 4;
    private static final Set<Integer> REPLICAS = Set.of(0, 1, 2);
    private static final int TRANSACTIONS = 10_000;
    private static final int KEYS = 10;
    private static final int EXCLUSIVE = 2;
    private static final int REFERENCES = 2;
    private static final int CHANGES_BYTES = 500;
    private static final long RECORDER_BYTES = 64 << 20;

    /** Whether there is a recorder. */
    @Param({"false", "true"})
    private boolean recorded;

    /** How many keys the certification index holds, which are part of the state that every segment begins with. */
    @Param({"1000", "100000"})
    private int liveKeys = KEYS;

    private final Loop loop = new Loop();
    private Protocol protocol = Protocols.STANDARD.choose(Protocols.DEFAULT).create(0, REPLICAS, loop);
    private WriteSet[] writes = {};
    private long position;

    /** A world that orders at once. */
    private static final class Loop extends UniformWorld {
        @Nullable
        Message ordered;

        @Override
        public void order(Message message) {
            ordered = message;
        }

        @Override
        protected void ask(Consumer<ReplicaWorld> effect) {
            // Not measured.
        }
    }

    /** Makes the protocol, and fills its index. */
    @Setup
    public void fill() {
        SplittableRandom random = new SplittableRandom(1);
        writes = new WriteSet[Math.max(TRANSACTIONS, 2 * liveKeys / KEYS)];
        for (int i = 0; i < writes.length; i++) {
            KeySet.Builder keys = new KeySet.Builder();
            for (int k = 0; k < KEYS; k++) {
                keys.add(random.nextLong(), k < EXCLUSIVE
                        ? KeyKind.EXCLUSIVE
                        : k < EXCLUSIVE + REFERENCES ? KeyKind.REFERENCE : KeyKind.UPDATE);
            }
            byte[] changes = new byte[CHANGES_BYTES];
            random.nextBytes(changes);
            writes[i] = new WriteSet(keys.build(), changes);
        }
        position = 0;
        Map<String, String> parameters = Map.of("window", Integer.toString(liveKeys / KEYS));
        ChosenProtocol chosen = Protocols.STANDARD.choose(Protocols.DEFAULT, parameters);
        protocol = recorded
                ? new FlightRecorder(new FlightRecording.Subject(chosen.name(), parameters, 0, REPLICAS),
                        new FlightRecorder.Limits(RECORDER_BYTES, TimeUnit.MINUTES.toNanos(5)), System::nanoTime,
                        trouble -> {
                            throw new IllegalStateException(trouble);
                        }).attach(loop, world -> chosen.create(0, REPLICAS, world))
                : chosen.create(0, REPLICAS, loop);
        for (int i = 0; i < writes.length; i++) {
            transaction();
        }
    }

    private void transaction() {
        WriteSet changes = writes[(int) (position % writes.length)];
        TransactionId id = new TransactionId(0, position + 1);
        protocol.submitted(id, TransactionRequest.Interactive.UNDECLARED);
        protocol.executed(id, new Execution(position, position, changes, ReadSet.EMPTY));
        Message ordered = loop.ordered;
        if (ordered == null) {
            throw new IllegalStateException(id + " was not to be ordered");
        }
        loop.ordered = null;
        position++;
        protocol.delivered(position, 0, ordered);
        protocol.committed(position, position);
    }

    /** Each operation is one transaction. */
    @Benchmark
    @OperationsPerInvocation(TRANSACTIONS)
    public long transactions(CpuClock clock) {
        for (int i = 0; i < TRANSACTIONS; i++) {
            transaction();
        }
        clock.operations += TRANSACTIONS;
        return position;
    }
}
