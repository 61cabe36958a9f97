package tutti.node;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;
import tutti.node.metrics.NodeMetrics;
import tutti.runtime.Loop;

/** A commit pipeline over an engine whose operations end when a test says so. */
abstract class PipelineFixture {
    /** Longer than any test. */
    static final long LINGER_NANOS = TimeUnit.HOURS.toNanos(1);

    boolean unwatched;
    final AtomicReference<@Nullable Throwable> broken = new AtomicReference<>();
    final TestMachine machine = new TestMachine();
    final Loop loop = machine.loop("test", broken::set);
    final ManualEngine engine = new ManualEngine();
    final List<Long> visible = new ArrayList<>();
    final AtomicReference<@Nullable Throwable> failed = new AtomicReference<>();
    final List<TransactionId> preparedHeard = new ArrayList<>();
    final List<Long> refused = new ArrayList<>();
    final Set<Long> skipped = new HashSet<>();
    final List<Long> leftOut = new ArrayList<>();
    final List<Long> told = new ArrayList<>();
    final List<TransactionId> takenBack = new ArrayList<>();
    final List<String> blockedHeard = new ArrayList<>();
    final List<TransactionId> notPreparedHeard = new ArrayList<>();
    final CommitPipeline.Events events = new CommitPipeline.Events() {
        @Override
        public void committed(long position, WriteSet writes) {
            told.add(position);
        }

        @Override
        public void visible(long position) {
            visible.add(position);
        }

        @Override
        public void prepared(TransactionId transaction) {
            preparedHeard.add(transaction);
        }

        @Override
        public void blocked(TransactionId transaction, Set<TransactionId> holders) {
            blockedHeard.add(transaction + " by " + holders);
        }

        @Override
        public void notPrepared(TransactionId transaction, EngineFailure cause) {
            notPreparedHeard.add(transaction);
        }

        @Override
        public void executed(long position, ExecuteResult result) {
            // Only the position matters here.
        }

        @Override
        public void refused(Slot slot, EngineFailure why) {
            refused.add(slot.position());
        }

        @Override
        public @Nullable EngineFailure leftOut(long position) {
            return skipped.contains(position) ? new EngineFailure("23514", "left out", false) : null;
        }

        @Override
        public void leavesOut(long position, TransactionId transaction, EngineFailure why) {
            leftOut.add(position);
        }

        @Override
        public void takesBack(TransactionId transaction) {
            takenBack.add(transaction);
        }

        @Override
        public void failed(Throwable cause) {
            failed.set(cause);
        }
    };
    final CommitPipeline pipeline = pipeline(LINGER_NANOS);

    CommitPipeline pipeline(long lingerNanos) {
        return pipeline(lingerNanos, 0, 0);
    }

    CommitPipeline pipeline(long lingerNanos, long held, long before) {
        CommitPipeline made = new CommitPipeline(engine, machine, loop, events, NodeMetrics.NONE,
                new ApplySettings(3, 8, lingerNanos), new LostKeys(), () -> unwatched);
        made.open(held, before);
        return made;
    }

    @AfterEach
    void stop() {
        loop.close();
        assertEquals(null, broken.get());
    }

    static TransactionId id(long position) {
        return new TransactionId(1, position);
    }

    static WriteSet writes(long position, int... keys) {
        KeySet.Builder builder = new KeySet.Builder();
        for (int key : keys) {
            builder.add(key, KeyKind.UPDATE);
        }
        return new WriteSet(builder.build(), ByteBuffer.allocate(8).putLong(position).array());
    }

    /** Runs on the loop, with what it sets off there now. */
    <T> T on(Supplier<T> task) {
        AtomicReference<T> result = new AtomicReference<>();
        loop.execute(() -> result.set(task.get()));
        machine.runDue();
        assertEquals(null, broken.get());
        return result.get();
    }

    void run(Runnable task) {
        on(() -> {
            task.run();
            return true;
        });
    }

    List<ManualEngine.Pending> pending() {
        machine.runDue();
        return engine.takePending();
    }

    void succeedAll() {
        for (List<ManualEngine.Pending> pending = pending(); !pending.isEmpty(); pending = pending()) {
            pending.forEach(ManualEngine.Pending::succeed);
        }
    }
}
