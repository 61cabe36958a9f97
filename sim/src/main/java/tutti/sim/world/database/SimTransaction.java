package tutti.sim.world.database;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.ReadSet;
import tutti.core.txn.WriteSet;

/**
 * One run of a client's transaction in the database. Its snapshot is taken by its first statement. With snapshots it locks the
 * rows that it writes, and fails if they were written since (first updater wins); under locking it locks what it reads, too,
 * and has seen, when it ends, what was visible then.
 */
public final class SimTransaction extends Locks.Owner {
    private enum State {
        /** Statements run. */
        OPEN,
        /** It is being committed; what is asked of it meanwhile waits for that. */
        COMMITTING,
        /** Committed, rolled back, or lost with its connection: it holds nothing. */
        OVER
    }

    private final SimEngine engine;
    private final Database database;
    private final LocalTransaction local;
    /** Of a client there is one; of an owner of request logs several, one after the other. */
    private Run run;
    /** What the runs before this one have made of rows. */
    private final Map<Long, Store.Version> made = new HashMap<>();
    private final List<Runnable> whenOver = new ArrayList<>(1);
    private State state = State.OPEN;
    private boolean disconnected;
    /** Rolling back has been asked for: no statement ends any more. */
    private boolean rollingBack;
    private boolean watched;
    private long snapshot = -1;
    private int failAt;
    private final List<Changes> captured = new ArrayList<>();
    private @Nullable Consumer<StatementEnd> statement;
    private @Nullable Completion<Void> committing;

    SimTransaction(SimEngine engine, LocalTransaction local, Run run, int failAt) {
        this.engine = engine;
        this.database = engine.database();
        this.local = local;
        this.run = run;
        this.failAt = failAt;
    }

    LocalTransaction local() {
        return local;
    }

    /** A client waits for a bounded time, and not for its own sake. */
    @Override
    boolean refusable() {
        return true;
    }

    @Override
    boolean kept() {
        return true;
    }

    /** What it has done. */
    public Run run() {
        return run;
    }

    /** Whether it has ended though nobody wanted that: its connection, or the server, is lost, and what it changed cannot be asked. */
    public boolean isLost() {
        return state == State.OVER && !rollingBack;
    }

    /** Whether it has ended: committed, rolled back, or lost. */
    public boolean isOver() {
        return state == State.OVER || rollingBack;
    }

    /** Whether it has a snapshot, which it has from its first statement on, and has not ended. */
    boolean hasBegun() {
        return state != State.OVER && snapshot >= 0;
    }

    /** Whether there is another statement. */
    public boolean hasNext() {
        return run.next() != null;
    }

    /** From now on whoever of the clients' transactions makes it wait is named to the node. */
    public void watch() {
        if (!watched) {
            watched = true;
            if (database.kind().appliersQueue()) {
                look();
            }
        }
    }

    private void look() {
        if (state == State.OPEN) {
            engine.tellBlocked(this, Locks.directlyWaitsFor(this));
            database.lookLater(this::look);
        }
    }

    /** It has met a row of another transaction; which it was is not known, where appliers do not wait in turn. */
    private void met() {
        if (!database.kind().appliersQueue() && state == State.OPEN) {
            engine.tellAllBlocked(this);
            if (isWaiting()) {
                database.lookLater(this::metStill);
            }
        }
    }

    private void metStill() {
        if (isWaiting()) {
            met();
        }
    }

    // ------------------------------------------------------------------------------------------ statements

    /**
     * Carries the next statement out, which may have to wait for locks.
     *
     * @param ended told how it ended, perhaps before the call returns; never if the transaction is rolled back meanwhile
     */
    public void perform(Consumer<StatementEnd> ended) {
        if (statement != null || run.next() == null) {
            throw new IllegalStateException(this + " cannot perform a statement now");
        }
        statement = ended;
        if (state == State.OPEN) {
            whenLet(this::begin);
        } else {
            database.tellLater(() -> end(StatementEnd.DISCONNECTED));
        }
    }

    /**
     * Does something when the server is alive and no applier is alone. Then no statement begins, not even one that reads: those
     * that have been pushed aside and run again at once would otherwise never all be gone.
     */
    private void whenLet(Runnable then) {
        database.whenAlive(() -> database.locks().whenLet(this, then));
    }

    private void end(StatementEnd how) {
        Consumer<StatementEnd> told = statement;
        statement = null;
        if (told != null && !rollingBack) {
            told.accept(how);
        }
    }

    private void begin() {
        if (state != State.OPEN || rollingBack) {
            return;
        }
        Program.Step step = run.next();
        if (step == null) {
            throw new IllegalStateException(this + " has no statement left");
        }
        if (!database.kept().mayExecute(step)) {
            fail(StatementEnd.NOT_HERE);
            return;
        }
        if (failAt-- == 0) {
            fail(StatementEnd.DEADLOCK);
            return;
        }
        if (snapshot < 0) {
            snapshot = database.visible();
        }
        lock(step, LockStep.of(database.kind(), step, see(step.row()).value() != null), 0);
    }

    private void fail(StatementEnd how) {
        boolean again = database.kind().beginsAnew() && run.isFresh() && how != StatementEnd.FOREIGN_KEY
                && how != StatementEnd.NOT_HERE;
        database.locks().release(this);
        if (again) {
            snapshot = -1;
            database.awaitEnd(() -> {
                if (state == State.OPEN && !rollingBack) {
                    local.renewed();
                    whenLet(this::begin);
                }
            });
            return;
        }
        over();
        end(how);
    }

    private void lock(Program.Step step, List<LockStep> locks, int from) {
        for (int number = from; number < locks.size(); number++) {
            int after = number + 1;
            LockStep next = locks.get(number);
            switch (database.locks().acquire(this, next.key(), next.mode(),
                    () -> database.whenAlive(() -> lock(step, locks, after)))) {
                case GRANTED -> {
                    // On to the next.
                }
                case WAITS -> {
                    met();
                    if (!database.kind().clientsWait()) {
                        fail(StatementEnd.FIRST_UPDATER);
                    }
                    return;
                }
                case DEADLOCK -> {
                    fail(StatementEnd.DEADLOCK);
                    return;
                }
            }
        }
        if (state == State.OPEN && !rollingBack) {
            locked(step);
        }
    }

    private void locked(Program.Step step) {
        if (isOutdated(step)) {
            fail(StatementEnd.FIRST_UPDATER);
        } else if (run.perform(this::see)) {
            end(StatementEnd.DONE);
        } else if (!captured.isEmpty() && database.kind() == EngineKind.POSTGRES) {
            end(StatementEnd.FOREIGN_KEY); // to the savepoint behind those before; it keeps its locks
        } else {
            fail(StatementEnd.FOREIGN_KEY);
        }
    }

    /** Whether what it would change, or refer to, is not what it has seen. */
    private boolean isOutdated(Program.Step step) {
        if (!database.kind().snapshots()) {
            return false;
        }
        boolean locks = step.action().writes()
                || (step.action() == Program.Action.LOCK && database.kind() != EngineKind.HSQLDB);
        boolean changed = locks && database.store().lastWritten(step.row()) > snapshot;
        if (changed || !database.kind().locksReferencedRows()) {
            return changed;
        }
        return switch (step.action()) {
            case LINK -> database.store().wasAway(Catalog.register(step.value()), snapshot);
            case DELETE -> Catalog.isRegister(step.row()) && Catalog.allLinks().stream()
                    .anyMatch(link -> database.store().lastWritten(link) > snapshot && refers(link, step.row()));
            default -> false;
        };
    }

    private boolean refers(long link, long register) {
        int[] value = database.read(link);
        return value != null && Catalog.referred(value) == register;
    }

    private Store.Version see(long row) {
        Store.Version own = made.get(row);
        return own != null
                ? own
                : database.store().read(row, database.kind().snapshots() ? snapshot : Long.MAX_VALUE);
    }

    /** Captures what it changed, when it has executed all; it goes on holding its locks. */
    public WriteSet capture() {
        run.snapshot(database.kind().snapshots() ? snapshot : database.visible());
        Changes changes = run.changes(this::see);
        captured.add(changes);
        return changes.writeSet();
    }

    /** What has been {@linkplain #capture captured} last stays, whatever becomes of the next. */
    void keep() {
        Changes changes = captured.getLast();
        changes.rows().forEach(
                (row, change) -> made.put(row, new Store.Version(snapshot, changes.transaction(), change.value())));
    }

    /** Goes on with another program, which sees what has been {@linkplain #keep kept}. */
    void next(Run next) {
        run = next;
    }

    /** What it read, as a read set. */
    public ReadSet reads() {
        return run.readSet();
    }

    // ------------------------------------------------------------------------------------------ the end

    private void over() {
        state = State.OVER;
        database.locks().release(this);
        engine.ended(this);
        List<Runnable> waiters = List.copyOf(whenOver);
        whenOver.clear();
        waiters.forEach(Runnable::run);
    }

    /** Commits it as {@link LocalTransaction#commit} says. */
    public void commit(long position, Completion<Void> done) {
        List<Changes> changes = captured.stream().filter(each -> !each.rows().isEmpty()).toList();
        if (state != State.OPEN || rollingBack || changes.isEmpty()) {
            database.tellLater(() -> done.failed(
                    new EngineFailure("40001", "the transaction has been rolled back before its commit", true)));
            return;
        }
        state = State.COMMITTING;
        committing = done;
        database.commitLater(engine, () -> {
            boolean aborts = database.aborts();
            boolean commits = !aborts || database.losesAnswer();
            if (commits) {
                database.commit(position, changes);
            }
            committing = null;
            over();
            if (aborts || disconnected) {
                done.failed(commits ? SimEngine.GONE : SimEngine.ABORTED);
            } else {
                done.succeeded(null);
            }
        }, () -> {
            committing = null;
            over();
            done.failed(SimEngine.ABORTED);
        });
    }

    /** Ends a transaction that has changed nothing. */
    public void commitUnchanged(Runnable done) {
        rollback(done);
    }

    /** Rolls it back as {@link LocalTransaction#rollback} says; one that is being committed is waited for. */
    public void rollback(Runnable done) {
        if (state == State.OVER) {
            database.tellLater(done);
            return;
        }
        whenOver.add(done);
        if (state == State.OPEN && !rollingBack) {
            rollingBack = true;
            database.answerLater(() -> {
                if (state == State.OPEN) {
                    over();
                }
            });
        }
    }

    /** Its connection is lost: it is rolled back, unless it is being committed; then whether it was is not told. */
    public void disconnected() {
        disconnected = true;
        if (state == State.OPEN) {
            over();
            database.tellLater(() -> end(StatementEnd.DISCONNECTED));
        }
    }

    /** The server has died. */
    void lost() {
        Completion<Void> unanswered = committing;
        committing = null;
        state = State.OVER;
        List<Runnable> waiters = List.copyOf(whenOver);
        whenOver.clear();
        database.tellLater(() -> {
            waiters.forEach(Runnable::run);
            end(StatementEnd.DISCONNECTED);
            if (unanswered != null) {
                unanswered.failed(SimEngine.GONE);
            }
        });
    }

    @Override
    public String toString() {
        return "transaction " + run.transaction() + " " + state;
    }
}
