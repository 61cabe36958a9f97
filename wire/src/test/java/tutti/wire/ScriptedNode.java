package tutti.wire;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.ReplicaWorld.Priority;
import tutti.core.protocol.TransactionRequest;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.AbortReason;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeySet;
import tutti.core.txn.Outcome;
import tutti.core.txn.TransactionId;
import tutti.core.txn.ReadSet;
import tutti.core.txn.WriteSet;
import tutti.engine.postgres.capture.Statement;
import tutti.node.TransactionOutcome;
import tutti.node.Transactions;
import tutti.pgwire.Backend;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.PostgresException;

/**
 * A node for tests of the front end: commits one transaction after the other at increasing positions, from a thread of
 * its own, unless a test tells it otherwise.
 */
final class ScriptedNode implements Transactions, AutoCloseable {
    final BlockingQueue<String> committed = new LinkedBlockingQueue<>();
    final BlockingQueue<Open> begun = new LinkedBlockingQueue<>();
    final BlockingQueue<Open> submitted = new LinkedBlockingQueue<>();
    /** Whether transactions run without waiting for a turn that the test gives them. */
    volatile boolean atOnce = true;
    /** Whether a turn comes at once. */
    volatile boolean runs;
    volatile boolean needsReads;
    volatile boolean takesReads;
    volatile boolean needsClasses;
    final BlockingQueue<Open> asked = new LinkedBlockingQueue<>();
    final BlockingQueue<String> ended = new LinkedBlockingQueue<>();
    final BlockingQueue<String> barriers = new LinkedBlockingQueue<>();
    final BlockingQueue<ConflictClasses> requests = new LinkedBlockingQueue<>();
    /** What every node answers to requests. */
    volatile byte[] answer = new byte[0];
    volatile boolean wholeOnly;
    volatile boolean promises = true;
    /** What becomes visible while it is waited for. */
    volatile Runnable awaited = () -> {};
    /** Those that wait for a position are left to the test. */
    volatile boolean keepsWaiting;
    final BlockingQueue<Completion<Long>> waiting = new LinkedBlockingQueue<>();
    /** Why it cannot say what was ordered before; null if it can. */
    volatile @Nullable EngineFailure awaitRefusal;
    volatile boolean everywhereIfPossible;
    volatile boolean undertakes;
    /** Classes of requests that are for their owner. */
    final BlockingQueue<ConflictClasses> undertaken = new LinkedBlockingQueue<>();
    /** Positions that sessions waited for at other nodes. */
    final BlockingQueue<Long> elsewhere = new LinkedBlockingQueue<>();
    /** What they are told. */
    volatile Set<Integer> missing = Set.of();
    /** Why the owner's engine refuses them, without an answer in the engine's form; null if it does not. */
    volatile @Nullable EngineFailure ownerRefuses;
    final BlockingQueue<String> failures = new LinkedBlockingQueue<>();
    /** What becomes of transactions that ask: null commits them, otherwise they are aborted for this reason. */
    volatile @Nullable AbortReason abort;
    /** Transactions that ask are left to the test. */
    volatile boolean manual;
    volatile @Nullable String refusal;
    volatile @Nullable BackendConnection admin;
    private final ExecutorService loop = Executors.newSingleThreadExecutor(Thread.ofPlatform().daemon().factory());
    private final AtomicLong position = new AtomicLong();
    private final AtomicLong serial = new AtomicLong();
    /** Names that clients have been told and that have not been given back. */
    final Set<TransactionId> names = ConcurrentHashMap.newKeySet();

    /** Keys of which some transaction would have seen something else. */
    final Set<Long> wanted = ConcurrentHashMap.newKeySet();
    final BlockingQueue<Booked> booked = new LinkedBlockingQueue<>();

    /** What a session has booked. */
    final class Booked implements Booking {
        final long key;
        final Completion<Long> come;
        final BlockingQueue<TransactionId> runs = new LinkedBlockingQueue<>();
        final CompletableFuture<Void> over = new CompletableFuture<>();

        Booked(long key, Completion<Long> come) {
            this.key = key;
            this.come = come;
        }

        void comes() {
            come.succeeded(visiblePosition());
        }

        @Override
        public void isFor(TransactionId run) {
            runs.add(run);
        }

        @Override
        public void end() {
            over.complete(null);
        }
    }

    @Override
    public void want(long key) {
        wanted.add(key);
    }

    @Override
    public boolean isWanted(long key) {
        return wanted.contains(key);
    }

    @Override
    public boolean mayBeWanted(int kind) {
        return wanted.stream().anyMatch(key -> (int) (key >>> 32) == kind);
    }

    @Override
    public boolean wantsAny() {
        return !wanted.isEmpty();
    }

    @Override
    public Booking book(long key, Completion<Long> come) {
        Booked booking = new Booked(key, come);
        booked.add(booking);
        return booking;
    }

    final class Open implements Ticket {
        final LocalTransaction transaction;
        final TransactionId id;
        /** By which its client knows it; null if it knows none. */
        final @Nullable TransactionId name;
        /** Whether it is another run of a transaction that has lost. */
        final boolean again;
        volatile WriteSet writes = WriteSet.EMPTY;
        volatile ReadSet reads = ReadSet.EMPTY;
        volatile @Nullable TransactionRequest request;

        Open(LocalTransaction transaction, @Nullable TransactionId name, boolean again) {
            this.transaction = transaction;
            this.id = name == null || again ? nextId() : name;
            this.name = name;
            this.again = again;
        }

        @Override
        public TransactionId id() {
            return id;
        }

        @Override
        public void submit(TransactionRequest asked) {
            request = asked;
            submitted.add(this);
            if (runs) {
                transaction.run(Priority.ORDERED);
            }
        }

        @Override
        public void executed(WriteSet asking, ReadSet seen) {
            writes = asking;
            reads = seen;
            loop.execute(() -> {
                AbortReason reason = abort;
                if (manual) {
                    asked.add(this);
                } else if (reason != null) {
                    rollBack(reason);
                } else {
                    commit();
                }
            });
        }

        /** Has it rolled back, then aborted. */
        void rollBack(AbortReason reason) {
            rollBack();
            abort(reason);
        }

        /** Has it rolled back; {@link #abort} follows. */
        void rollBack() {
            CompletableFuture<Void> done = new CompletableFuture<>();
            transaction.rollback(() -> done.complete(null));
            await(done);
        }

        void abort(AbortReason reason) {
            transaction.answer(new Outcome.Aborted(reason));
        }

        void commit() {
            CompletableFuture<@Nullable EngineFailure> done = new CompletableFuture<>();
            long at = position.incrementAndGet();
            transaction.commit(at, new Completion<Void>() {
                @Override
                public void succeeded(Void value) {
                    done.complete(null);
                }

                @Override
                public void failed(EngineFailure failure) {
                    done.complete(failure);
                }
            });
            EngineFailure failure = await(done);
            if (failure != null) {
                failures.add(failure.sqlState());
            } else {
                committed.add(new String(writes.changes(), StandardCharsets.UTF_8));
            }
            transaction.answer(new Outcome.Committed(at));
        }

        @Override
        public void ended() {
            ended.add("ended");
        }

        @Override
        public void failed(AbortReason.Failed cause) {
            ended.add(cause.label());
        }
    }

    /** Lets transactions do what they want, at once, and wants to know nothing of them. */
    void reset() {
        atOnce = true;
        runs = false;
        needsReads = false;
        takesReads = false;
        needsClasses = false;
        answer = new byte[0];
        wholeOnly = false;
        promises = true;
        awaited = () -> {};
        awaitRefusal = null;
        keepsWaiting = false;
        everywhereIfPossible = false;
        undertakes = false;
        ownerRefuses = null;
        abort = null;
        manual = false;
        refusal = null;
        wanted.clear();
    }

    /** Forgets what transactions have done. */
    void forget() {
        List.of(waiting, committed, begun, submitted, asked, ended, barriers, requests, undertaken, failures, booked)
                .forEach(BlockingQueue::clear);
    }

    long position() {
        return position.get();
    }

    static <T> T await(CompletableFuture<T> future) {
        return future.orTimeout(20, TimeUnit.SECONDS).join();
    }

    static <T> T take(BlockingQueue<T> queue) throws InterruptedException {
        T taken = queue.poll(20, TimeUnit.SECONDS);
        if (taken == null) {
            throw new AssertionError("nothing came within 20 seconds");
        }
        return taken;
    }

    List<String> drainCommitted() {
        List<String> all = new ArrayList<>();
        committed.drainTo(all);
        return all;
    }

    @Override
    public boolean executesAtOnce() {
        return atOnce;
    }

    @Override
    public boolean needsReads() {
        return needsReads;
    }

    @Override
    public boolean takesReads() {
        return takesReads;
    }

    @Override
    public boolean needsClasses() {
        return needsClasses;
    }

    @Override
    public boolean classesCoverReads() {
        return needsClasses;
    }

    @Override
    public long visiblePosition() {
        return position.get();
    }

    private TransactionId nextId() {
        return new TransactionId(0, serial.incrementAndGet());
    }

    @Override
    public TransactionId reserve() {
        TransactionId name = nextId();
        names.add(name);
        return name;
    }

    @Override
    public void release(TransactionId name) {
        names.remove(name);
    }

    @Override
    public Ticket begin(LocalTransaction transaction, long since) {
        return begin(transaction, since, null);
    }

    @Override
    public Ticket begin(LocalTransaction transaction, long since, @Nullable TransactionId name) {
        return open(new Open(transaction, name, false));
    }

    @Override
    public Ticket again(LocalTransaction transaction, long since, TransactionId name) {
        return open(new Open(transaction, name, true));
    }

    private Ticket open(Open open) {
        begun.add(open);
        return open;
    }

    @Override
    public void barrier(byte[] statement, KeySet keys, @Nullable TransactionId name, Completion<ExecuteResult> done) {
        String text = new String(statement, StandardCharsets.UTF_8);
        barriers.add(text);
        loop.execute(() -> done.succeeded(execute(text.substring(text.indexOf(": ") + 2))));
    }

    @Override
    public void request(byte[] request, ConflictClasses classes, KeySet keys, @Nullable TransactionId name,
            Completion<ExecuteResult> done) {
        requests.add(classes);
        byte[] response = request[0] == 1 ? answer : undescribed(answer);
        loop.execute(() -> done.succeeded(
                response.length == 0 || response[0] != 'E' ? ExecuteResult.done(response) : refused(response)));
    }

    /** Without the description of its columns, if that comes first. */
    private static byte[] undescribed(byte[] response) {
        return response.length == 0 || response[0] != Backend.ROW_DESCRIPTION
                ? response
                : Arrays.copyOfRange(response, 1 + ByteBuffer.wrap(response).getInt(1), response.length);
    }

    @Override
    public boolean promises() {
        return promises;
    }

    /** It shows every position that anybody waits for, and no later one. */
    @Override
    public void await(long wanted, Completion<Long> done) {
        if (keepsWaiting) {
            waiting.add(done);
            return;
        }
        loop.execute(() -> done.succeeded(wanted));
    }

    /** Those with an even number have committed. */
    @Override
    public void outcome(TransactionId transaction, Completion<TransactionOutcome> done) {
        loop.execute(() -> done
                .succeeded(transaction.serial() % 2 == 0 ? TransactionOutcome.COMMITTED : TransactionOutcome.ABORTED));
    }

    @Override
    public void awaitAll(Completion<Long> done) {
        awaited.run();
        EngineFailure refusal = awaitRefusal;
        if (keepsWaiting) {
            waiting.add(done);
        } else if (refusal == null) {
            done.succeeded(position.get());
        } else {
            done.failed(refusal);
        }
    }

    @Override
    public boolean wholeOnly() {
        return wholeOnly;
    }

    @Override
    public boolean everywhereIfPossible() {
        return everywhereIfPossible;
    }

    @Override
    public boolean undertakes() {
        return undertakes;
    }

    @Override
    public void undertake(byte[] request, ConflictClasses classes, @Nullable TransactionId name,
            Completion<ExecuteResult> done) {
        undertaken.add(classes);
        byte[] response = request[0] == 1 ? answer : undescribed(answer);
        EngineFailure refusal = ownerRefuses;
        loop.execute(() -> done.succeeded(
                refusal == null ? ExecuteResult.done(response) : new ExecuteResult(refusal, new byte[0])));
    }

    @Override
    public void awaitElsewhere(long position, long patienceNanos, Completion<Set<Integer>> done) {
        elsewhere.add(position);
        loop.execute(() -> done.succeeded(missing));
    }

    @Override
    public void log(byte[] request, ConflictClasses classes, @Nullable TransactionId name,
            Completion<TransactionId> logged) {
        undertaken.add(classes);
        loop.execute(() -> logged.succeeded(new TransactionId(1, 77)));
    }

    private static ExecuteResult refused(byte[] response) {
        return new ExecuteResult(new EngineFailure("XX000", "refused", false), response);
    }

    private ExecuteResult execute(String sql) {
        ByteBuf out = Unpooled.buffer();
        boolean tookEffect = true;
        BackendConnection engine = java.util.Objects.requireNonNull(admin);
        Duration patience = Duration.ofSeconds(20);
        engine.eventLoop().submit(() -> engine.onNotice(notice -> Backend.noticeResponse(out, notice)))
                .syncUninterruptibly();
        try {
            engine.execute("begin", patience);
            try {
                for (String one : sql.split(Statement.SEPARATOR, -1)) {
                    Backend.commandComplete(out, engine.execute(one, patience).statements().getLast().tag());
                }
            } catch (PostgresException refused) {
                tookEffect = false;
                Backend.errorResponse(out, refused.fields());
            }
            engine.execute(tookEffect ? "commit" : "rollback", patience);
        } catch (java.io.IOException | InterruptedException lost) {
            throw new IllegalStateException(lost);
        }
        byte[] bytes = new byte[out.readableBytes()];
        out.readBytes(bytes);
        return tookEffect ? ExecuteResult.done(bytes) : refused(bytes);
    }

    @Override
    public @Nullable String refusal() {
        return refusal;
    }

    @Override
    public void close() {
        loop.shutdownNow();
    }
}
