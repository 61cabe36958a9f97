package tutti.sim.world.engine;

import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;
import tutti.sim.disk.Journal;
import tutti.sim.host.Host;
import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.Label;
import tutti.sim.kernel.RandomStream;
import tutti.sim.world.engine.Program.Statement;

/**
 * A database on a simulated host: rows with all their versions, locks, clients' transactions and appliers, commits that are
 * durable some time later. It is the {@link Engine} of its replica. When its host crashes, locks and open transactions are
 * gone, and so are the last commits that were not on disk; what remains is a prefix.
 *
 * <p>
 * Two kinds of concurrency control. <em>Snapshot</em>: reads see the state of one position and take no locks, and of two
 * that write a row, neither having seen the other's, the second fails (first updater wins). <em>Locking</em>: strict two
 * phases, shared locks for reads, of the table for scans, exclusive ones for writes. Writes are kept with the transaction
 * until it commits, so what is read is always committed.
 *
 * <p>
 * All calls and callbacks are events of its host.
 */
public final class SimEngine implements Engine {
    private static final Label SESSION = Label.of("engine", "lock granted");
    private static final Label APPLY = Label.of("engine", "apply");
    private static final Label COMMIT = Label.of("engine", "commit");
    private static final Label FLUSH = Label.of("engine", "flush");
    private static final int COMMIT_RECORD_BYTES = 64;
    /** Of a session that is not to be aborted by a fault. */
    private static final int NEVER = Integer.MAX_VALUE;

    /** How transactions are kept apart. */
    public enum Concurrency {
        SNAPSHOT, LOCKING
    }

    /**
     * How long things take.
     *
     * @param apply of a write set, or execution of a whole request
     * @param commit of one transaction
     * @param flush until a commit is written to disk
     */
    public record Timing(Distribution apply, Distribution commit, Distribution flush) {}

    /** Hears who stands in the way of transactions with priority. May roll the holder back at once. */
    public interface Blockers {
        /** A client's transaction, or changes prepared for another replica, block an applier of this position. */
        void blocked(long position, Branch holder);

        /** They block a client's transaction that has its place in the order. */
        void blocked(SimSession waiter, Branch holder);
    }

    private final Host host;
    private final Concurrency concurrency;
    private final Timing timing;
    private final RandomStream random;
    private final Journal<Long> journal;
    private final Store store = new Store();
    private Locks locks;
    private Blockers blockers = new NoBlockers();
    private Consumer<Run> executed = _ -> {};
    private double abortRate;
    private Distribution commitDelay = Distribution.ZERO;
    private long durable;
    private boolean flushing;

    /** An empty database. */
    public SimEngine(Host host, Concurrency concurrency, Timing timing) {
        this.host = host;
        this.concurrency = concurrency;
        this.timing = timing;
        this.random = host.random("engine");
        this.journal = new Journal<>(host.disk().file("engine commits"));
        this.locks = newLocks();
    }

    private Locks newLocks() {
        return new Locks(granted -> host.after(0, SESSION, granted), this::blocked);
    }

    /** Nobody listens. */
    private static final class NoBlockers implements Blockers {
        @Override
        public void blocked(long position, Branch holder) {
            // The applier waits until the holder ends by itself.
        }

        @Override
        public void blocked(SimSession waiter, Branch holder) {
            // Likewise.
        }
    }

    /** Begins a life of the host: what was not durable is gone. */
    public void boot() {
        locks = newLocks();
        flushing = false;
        List<Long> commits = journal.recover();
        durable = commits.isEmpty() ? 0 : commits.getLast();
        store.cut(durable);
    }

    /** Sets who hears of those in the way. */
    public void onBlockers(Blockers listener) {
        blockers = listener;
    }

    /** Sets what hears of each barrier statement that was executed, just before it becomes visible. */
    public void onExecuted(Consumer<Run> listener) {
        executed = listener;
    }

    /** Sets with which probability transactions are aborted for no good reason. */
    public void setAbortRate(double rate) {
        abortRate = rate;
    }

    /** Sets how much longer commits take. */
    public void setCommitDelay(Distribution delay) {
        commitDelay = delay;
    }

    // ------------------------------------------------------------------------------------------ clients

    /**
     * Begins one run of a client's transaction.
     *
     * @param salt of a program whose results differ from run to run, something that does; otherwise 0
     * @param first whether it goes before others, as what was ordered does
     */
    public SimSession begin(TransactionId transaction, Program program, long salt, boolean first) {
        int failAt = random.chance(abortRate) ? random.nextInt(program.steps().size()) : NEVER;
        return new SimSession(this, transaction, program, salt, first, failAt);
    }

    /**
     * Makes the changes of a remote transaction without committing them.
     *
     * @param ended told whether that was possible or a deadlock kept it from it, perhaps before the call returns
     */
    public PreparedChanges prepare(WriteSet writes, Consumer<Boolean> ended) {
        PreparedChanges prepared = new PreparedChanges(this, writes, ended);
        prepared.begin();
        return prepared;
    }

    /** A hash of the whole state; equal states have equal hashes. */
    public long stateHash() {
        return store.hash();
    }

    /** What a row holds now, as committed; null if it is not there. */
    public int @Nullable [] read(long row) {
        return store.read(row, Long.MAX_VALUE).value();
    }

    /** The highest position that is visible. */
    public long visible() {
        return store.visible();
    }

    // ------------------------------------------------------------------------------------------ Engine

    /** Told before the call returns. */
    @Override
    public void appliedPosition(Completion<Long> done) {
        done.succeeded(store.visible());
    }

    /** Told before the call returns. */
    @Override
    public void durablePosition(Completion<Long> done) {
        done.succeeded(durable);
    }

    @Override
    public Applier openApplier() {
        return new SimApplier(this);
    }

    @Override
    public void onBlocked(BlockedListener listener) {
        blockers = new Blockers() {
            @Override
            public void blocked(long position, Branch holder) {
                if (holder instanceof LocalTransaction local) {
                    listener.blocked(position, local);
                }
            }

            @Override
            public void blocked(SimSession waiter, Branch holder) {
                // The SPI knows of appliers only.
            }
        };
    }

    /** The engine is never lost without its host. */
    @Override
    public void onLost(Runnable listener) {
        // Nothing will be told.
    }

    @Override
    public void close() {
        // It goes with its host.
    }

    // ------------------------------------------------------------------------------------------ for its parts

    Store store() {
        return store;
    }

    Locks locks() {
        return locks;
    }

    boolean isLocking() {
        return concurrency == Concurrency.LOCKING;
    }

    /** Whether a fault aborts what is being done now. */
    boolean aborts() {
        return abortRate > 0 && random.chance(abortRate);
    }

    void applyLater(Runnable then) {
        host.after(timing.apply.sample(random), APPLY, then);
    }

    void commitLater(Runnable then) {
        host.after(timing.commit.sample(random) + commitDelay.sample(random), COMMIT, then);
    }

    void commit(long position, List<Changes> changes) {
        store.commit(position, changes);
        journal.append(position, COMMIT_RECORD_BYTES);
        if (!flushing) {
            flushing = true;
            host.after(timing.flush.sample(random), FLUSH, this::flush);
        }
    }

    private void flush() {
        flushing = false;
        long upTo = store.visible();
        journal.sync(() -> durable = Math.max(durable, upTo));
    }

    private void blocked(Locks.Owner waiter, Locks.Owner holder) {
        if (holder instanceof Branch branch) {
            if (waiter instanceof SimApplier applier) {
                blockers.blocked(applier.position(), branch);
            } else if (waiter instanceof SimSession session) {
                blockers.blocked(session, branch);
            }
        }
    }

    /** Executes a request alone: whoever holds anything in the tables that it changes is told to leave. */
    void execute(SimApplier applier, byte[] statement) {
        Statement parsed = Statement.parse(statement);
        Program program = parsed.program();
        for (Locks.Owner holder : locks.holders(key -> isIn(program, key))) {
            blocked(applier, holder);
        }
        Run run = new Run(parsed.transaction(), program, 0);
        run.snapshot(store.visible());
        while (run.next() != null) {
            run.perform(row -> store.read(row, Long.MAX_VALUE));
        }
        executed.accept(run);
        commit(applier.position(), List.of(run.changes()));
    }

    private static boolean isIn(Program program, long key) {
        for (int table = 0; table < Catalog.TABLES; table++) {
            if (program.writes(table) && Catalog.isKeyOf(table, key)) {
                return true;
            }
        }
        return false;
    }
}
