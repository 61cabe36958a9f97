package tutti.sim.world.engine;

import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Completion;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.Outcome;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/**
 * One run of a client's transaction in the engine. Its snapshot is taken at its first statement. Under snapshot concurrency
 * control it locks the rows that it writes and fails if they were written since (first updater wins); under locking, it
 * locks what it reads, too, and has seen, when it ends, what was visible then: whoever changes it meanwhile must push it
 * aside first.
 */
public final class SimSession extends Branch implements LocalTransaction {
    private final Run run;
    private boolean first;
    private final long begun;
    private long snapshot = -1;
    private int failAt;

    SimSession(SimEngine engine, TransactionId transaction, Program program, long salt, boolean first, int failAt) {
        super(engine);
        this.run = new Run(transaction, program, salt);
        this.first = first;
        this.failAt = failAt;
        begun = engine.store().visible();
    }

    @Override
    boolean priority() {
        return first;
    }

    /** From now on it goes before others, also where it waits already. */
    public void prioritize() {
        if (!first) {
            first = true;
            engine.locks().prioritized(this);
        }
    }

    /** A position that was visible before its snapshot was taken. */
    public long begun() {
        return begun;
    }

    /** What it has done. */
    public Run run() {
        return run;
    }

    /** Whether there is another statement. */
    public boolean hasNext() {
        return run.next() != null;
    }

    /**
     * Carries the next statement out, which may have to wait for locks.
     *
     * @param ended told null when it is done, or why the transaction was rolled back: {@code deadlock} or
     *            {@code first-updater}. Perhaps before the call returns; never if the session is rolled back meanwhile
     */
    public void perform(Consumer<@Nullable String> ended) {
        if (isRolledBack()) {
            throw new IllegalStateException("a statement of a transaction that is over");
        }
        Program.Step step = run.next();
        if (step == null) {
            throw new IllegalStateException("no statement is left");
        }
        if (failAt-- == 0) {
            fail("deadlock", ended);
            return;
        }
        if (snapshot < 0) {
            snapshot = engine.store().visible();
        }
        lock(step, 0, ended);
    }

    private void fail(String label, Consumer<@Nullable String> ended) {
        rollBack();
        ended.accept(label);
    }

    private void lock(Program.Step step, int from, Consumer<@Nullable String> ended) {
        for (int number = from; number < 2; number++) {
            int after = number + 1;
            Locks.Mode mode = number == 0 ? tableMode(step) : rowMode(step);
            if (mode == null) {
                continue;
            }
            long key = number == 0 ? Catalog.tableKey(step.table()) : Catalog.rowKey(step.row());
            switch (engine.locks().acquire(this, key, mode, () -> lock(step, after, ended))) {
                case GRANTED -> {
                    // On to the next.
                }
                case WAITS -> {
                    return;
                }
                case DEADLOCK -> {
                    fail("deadlock", ended);
                    return;
                }
            }
        }
        locked(step, ended);
    }

    private Locks.@Nullable Mode tableMode(Program.Step step) {
        if (!engine.isLocking()) {
            return null;
        }
        return step.action() == Program.Action.SCAN
                ? Locks.Mode.SHARED
                : step.action().writes() ? Locks.Mode.INTENTION : null;
    }

    private Locks.@Nullable Mode rowMode(Program.Step step) {
        return switch (step.action()) {
            case LOCK, APPEND, SET, DELETE -> Locks.Mode.EXCLUSIVE;
            case READ -> engine.isLocking() ? Locks.Mode.SHARED : null;
            case SCAN -> null;
        };
    }

    private void locked(Program.Step step, Consumer<@Nullable String> ended) {
        boolean exclusive = step.action() == Program.Action.LOCK || step.action().writes();
        if (!engine.isLocking() && exclusive && engine.store().lastWritten(step.row()) > snapshot) {
            fail("first-updater", ended);
            return;
        }
        run.perform(this::see);
        ended.accept(null);
    }

    private Store.Version see(long row) {
        return engine.store().read(row, engine.isLocking() ? Long.MAX_VALUE : snapshot);
    }

    /** Captures what it changed, when it has executed all; it goes on holding its locks. */
    public WriteSet capture() {
        run.snapshot(engine.isLocking() ? engine.store().visible() : snapshot);
        return run.writeSet(this::see);
    }

    @Override
    Changes changes() {
        return run.changes();
    }

    @Override
    public void commit(long position, Completion<Void> done) {
        commitChanges(position, done);
    }

    /** Told before the call returns. */
    @Override
    public void rollback(Runnable done) {
        rollBack();
        done.run();
    }

    /** Ends a transaction that changed nothing; others have ended before. */
    @Override
    public void answer(Outcome outcome) {
        rollBack();
    }

    @Override
    public String toString() {
        return "session of " + run.transaction();
    }
}
