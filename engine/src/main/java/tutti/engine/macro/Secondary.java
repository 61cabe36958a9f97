package tutti.engine.macro;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine.Applier;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.WriteSet;
import tutti.engine.jdbc.BarrierResponse;
import tutti.engine.jdbc.JdbcEngine;

/**
 * A secondary and what it has still to apply. States: waiting for its copy (only collects), started, closed. Safe for use
 * from any thread.
 */
final class Secondary {
    /**
     * What one engine transaction of the primary has committed.
     *
     * @param position its last
     * @param writes its write sets, in order
     * @param statement instead of write sets, which took effect at the primary; or null
     */
    record Entry(long position, List<WriteSet> writes, byte @Nullable [] statement) {
        long bytes() {
            long bytes = 0;
            for (WriteSet set : writes) {
                bytes += set.changes().length;
            }
            return bytes;
        }
    }

    private static final Logger LOG = LoggerFactory.getLogger(Secondary.class);

    private final MacroDb.Settings settings;
    private final BiConsumer<Secondary, EngineFailure> failed;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final ArrayDeque<Entry> queue = new ArrayDeque<>();
    private long queuedBytes;
    private boolean closed;
    private int readers;
    private @Nullable JdbcEngine engine;
    private @Nullable Thread worker;
    /** -1 until it has been started. */
    private volatile long position = -1;

    Secondary(MacroDb.Settings settings, BiConsumer<Secondary, EngineFailure> failed) {
        this.settings = settings;
        this.failed = failed;
    }

    /** The position that it shows; -1 if none yet. */
    long position() {
        return position;
    }

    /** How many transactions read from it. */
    int readers() {
        lock.lock();
        try {
            return readers;
        } finally {
            lock.unlock();
        }
    }

    /** The database, while a reader has entered. */
    JdbcEngine engine() {
        lock.lock();
        try {
            JdbcEngine present = engine;
            if (present == null) {
                throw new IllegalStateException("the secondary has not been started");
            }
            return present;
        } finally {
            lock.unlock();
        }
    }

    /** Whether it takes nothing any more. */
    boolean closed() {
        lock.lock();
        try {
            return closed;
        } finally {
            lock.unlock();
        }
    }

    /** A reading transaction begins; answers false if it must go elsewhere. */
    boolean enter() {
        lock.lock();
        try {
            if (closed) {
                return false;
            }
            readers++;
            return true;
        } finally {
            lock.unlock();
        }
    }

    /** It has ended. */
    void leave() {
        boolean last;
        lock.lock();
        try {
            readers--;
            last = closed && readers == 0;
        } finally {
            lock.unlock();
        }
        if (last) {
            closeEngine();
        }
    }

    void add(Entry entry) {
        lock.lock();
        try {
            if (!closed) {
                queue.add(entry);
                queuedBytes += entry.bytes();
                changed.signalAll();
            }
        } finally {
            lock.unlock();
        }
    }

    /** Whether no more than the allowed bytes are queued. */
    boolean hasRoom() {
        lock.lock();
        try {
            return closed || engine == null || queuedBytes <= settings.queueBytesMax();
        } finally {
            lock.unlock();
        }
    }

    /** Waits until no more than the allowed bytes are queued. One that is being filled may take more. */
    void awaitRoom() {
        lock.lock();
        try {
            while (!hasRoom()) {
                changed.awaitUninterruptibly();
            }
        } finally {
            lock.unlock();
        }
    }

    /** It has been filled, and begins to apply what is queued. */
    void start(JdbcEngine filled) {
        long at = filled.appliedPosition();
        lock.lock();
        try {
            engine = filled;
            if (!closed) {
                position = at;
                worker = Thread.ofVirtual().name("tutti-secondary").start(() -> work(filled));
                return;
            }
        } finally {
            lock.unlock();
        }
        filled.close();
    }

    private void work(JdbcEngine of) {
        EngineFailure failure;
        try (Applier applier = of.openApplier()) {
            failure = follow(applier);
        } catch (RuntimeException | Error unexpected) {
            LOG.error("following at {}", of, unexpected);
            failure = new EngineFailure("XX000", unexpected.toString(), false);
        }
        if (failure != null) {
            failed.accept(this, failure);
            close();
        }
    }

    /** Applies what comes until it is closed, and answers null, or why it cannot go on. */
    private @Nullable EngineFailure follow(Applier applier) {
        while (true) {
            List<Entry> batch = take();
            if (batch.isEmpty()) {
                return null;
            }
            EngineFailure failure = apply(applier, batch);
            if (failure != null) {
                return failure;
            }
            position = batch.getLast().position();
        }
    }

    /** What is to be applied next, at once; empty if it has been closed. */
    private List<Entry> take() {
        lock.lock();
        try {
            List<Entry> batch = new ArrayList<>();
            while (!closed && batch.isEmpty()) {
                while (!queue.isEmpty() && queue.peek().position() <= position) {
                    remove();
                }
                while (!queue.isEmpty() && batch.size() < settings.batchPositionsMax()) {
                    boolean alone = queue.peek().statement() != null;
                    if (alone && !batch.isEmpty()) {
                        break;
                    }
                    batch.add(remove());
                    if (alone) {
                        break;
                    }
                }
                if (batch.isEmpty()) {
                    changed.awaitUninterruptibly();
                }
            }
            return closed ? List.of() : batch;
        } finally {
            lock.unlock();
        }
    }

    private Entry remove() {
        Entry entry = queue.remove();
        queuedBytes -= entry.bytes();
        changed.signalAll();
        return entry;
    }

    private static @Nullable EngineFailure apply(Applier applier, List<Entry> batch) {
        Entry first = batch.getFirst();
        byte[] statement = first.statement();
        if (statement != null) {
            Told<ExecuteResult> executed = new Told<>();
            applier.execute(first.position(), statement, executed);
            EngineFailure failure = executed.failure();
            return failure == null ? difference(executed.value()) : failure;
        }
        List<WriteSet> writes = new ArrayList<>();
        for (Entry entry : batch) {
            writes.addAll(entry.writes());
        }
        Told<Void> applied = new Told<>();
        applier.apply(first.position(), writes, applied);
        EngineFailure failure = applied.failure();
        if (failure != null) {
            return failure;
        }
        Told<Void> committed = new Told<>();
        applier.commit(batch.getLast().position(), committed);
        return committed.failure();
    }

    /** Why a database in which the statement had this result is no copy of the primary, or null if it is. */
    private static @Nullable EngineFailure difference(@Nullable ExecuteResult here) {
        if (here == null || here.tookEffect()) {
            return null;
        }
        BarrierResponse response = BarrierResponse.of(here.response());
        return new EngineFailure("XX000", "a statement that took effect at the primary is refused here: "
                + (response == null ? "" : response.message()), false);
    }

    /** A completion that can be waited for. */
    private static final class Told<T> implements Completion<T> {
        private final CompletableFuture<@Nullable EngineFailure> told = new CompletableFuture<>();
        private volatile @Nullable T value;

        @Override
        public void succeeded(T result) {
            value = result;
            told.complete(null);
        }

        /** With what it succeeded; null before, and if it failed. */
        @Nullable
        T value() {
            return value;
        }

        @Override
        public void failed(EngineFailure failure) {
            told.complete(failure);
        }

        @Nullable
        EngineFailure failure() {
            return told.join();
        }
    }

    /** Takes no more readers and no more changes; the database is closed when the last reader has left. */
    void close() {
        boolean last;
        lock.lock();
        try {
            if (closed) {
                return;
            }
            closed = true;
            queue.clear();
            queuedBytes = 0;
            changed.signalAll();
            last = readers == 0;
        } finally {
            lock.unlock();
        }
        if (last) {
            closeEngine();
        }
    }

    private void closeEngine() {
        Thread applying;
        JdbcEngine present;
        lock.lock();
        try {
            applying = worker;
            present = engine;
        } finally {
            lock.unlock();
        }
        if (applying != null && !applying.equals(Thread.currentThread())) {
            boolean interrupted = false;
            while (applying.isAlive()) {
                try {
                    applying.join();
                } catch (InterruptedException late) {
                    interrupted = true;
                }
            }
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
        if (present != null) {
            present.close();
        }
    }
}
