package tutti.sim.world.database;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.WriteSet;

/**
 * Applies what was ordered, and prepares what is not. Where {@linkplain EngineKind#appliersQueue appliers wait for rows in
 * turn}, whoever is in its way is named from time to time. Elsewhere it takes all its rows at once or none: when somebody
 * is in its way it names them, waits for the end of a transaction, and tries again; if it has a position, all who have none are
 * kept from getting further rows meanwhile.
 */
final class SimApplier extends Locks.Owner implements Engine.Applier {
    private enum State {
        IDLE, APPLYING, APPLIED, COMMITTING
    }

    private static final long NO_POSITION = 0;
    private static final EngineFailure CANCELLED = new EngineFailure("57014", "cancelled", true);
    private static final byte[] REFUSED = {0};
    private static final byte[] DONE = {1};

    private final SimEngine engine;
    private final Database database;
    private State state = State.IDLE;
    private List<Changes> applied = List.of();
    private long position;
    /** Counts what was begun: what comes back of something earlier means nothing. */
    private long turn;
    private @Nullable Completion<?> pending;

    SimApplier(SimEngine engine) {
        this.engine = engine;
        this.database = engine.database();
    }

    /** The node cannot do without what it applies. */
    @Override
    boolean refusable() {
        return false;
    }

    /** What is ordered waits for nobody who waits for what is ordered behind it. */
    @Override
    boolean kept() {
        return position == NO_POSITION;
    }

    private void begin(State to, Completion<?> done) {
        if (pending != null) {
            throw new IllegalStateException("an applier is asked for something while it is " + state);
        }
        state = to;
        pending = done;
    }

    private <T> void succeed(Completion<T> done, T value) {
        pending = null;
        done.succeeded(value);
    }

    private void fail(Completion<?> done, EngineFailure failure) {
        giveUp();
        pending = null;
        done.failed(failure);
    }

    private boolean isRefused(Completion<?> done) {
        if (!engine.isUsable()) {
            database.tellLater(() -> done.failed(SimEngine.UNREACHABLE));
            return true;
        }
        return false;
    }

    // ------------------------------------------------------------------------------------------ apply

    @Override
    public void apply(long first, List<WriteSet> writes, Completion<Void> done) {
        if (isRefused(done)) {
            return;
        }
        begin(State.APPLYING, done);
        position = first;
        long own = ++turn;
        List<Changes> changes = new ArrayList<>();
        List<LockStep> steps = new ArrayList<>();
        try {
            for (WriteSet one : writes) {
                for (Changes each : Changes.of(one)) {
                    Changes read = database.kept().of(each);
                    changes.add(read);
                    steps.addAll(LockStep.of(database.kind(), read));
                }
            }
        } catch (IllegalArgumentException damaged) {
            database.answerLater(() -> fail(done, failure("XX001", String.valueOf(damaged.getMessage()))));
            return;
        }
        lock(own, steps, () -> make(own, changes, done));
    }

    private static EngineFailure failure(String sqlState, String message) {
        return new EngineFailure(sqlState, message, false);
    }

    private void make(long own, List<Changes> changes, Completion<Void> done) {
        database.applyLater(() -> {
            if (own != turn) {
                return;
            }
            String wrong = wrong(changes);
            if (wrong != null) {
                fail(done, failure("XX001", wrong));
            } else if (changes.stream().anyMatch(
                    each -> !each.rows().isEmpty() && database.refusesChanges(each.transaction()))) {
                fail(done, failure("23514", "a check that only another engine passes"));
            } else if (database.isFull()) {
                fail(done, SimEngine.FULL);
            } else if (database.aborts()) {
                fail(done, SimEngine.ABORTED);
            } else {
                database.locks().open(this);
                applied = changes;
                state = State.APPLIED;
                succeed(done, null);
            }
        });
    }

    /** What cannot be done to the rows as they are; null if everything can. */
    private @Nullable String wrong(List<Changes> changes) {
        Map<Long, int @Nullable []> done = new TreeMap<>();
        for (Changes each : changes) {
            for (Map.Entry<Long, Changes.Change> entry : each.rows().entrySet()) {
                long row = entry.getKey();
                Changes.Change change = entry.getValue();
                if (!Changes.fits(change, Changes.valueAfter(done, row, database.store()))) {
                    return each.transaction() + " cannot " + change.operation() + " " + Catalog.name(row);
                }
                done.put(row, change.value());
            }
        }
        return null;
    }

    // ------------------------------------------------------------------------------------------ locks

    private void lock(long own, List<LockStep> steps, Runnable then) {
        if (database.kind().appliersQueue()) {
            lockNext(own, steps.iterator(), then);
        } else {
            database.whenAlive(() -> lockAll(own, steps, then));
        }
    }

    private void lockNext(long own, Iterator<LockStep> steps, Runnable then) {
        while (steps.hasNext()) {
            LockStep next = steps.next();
            if (database.locks().acquire(this, next.key(), next.mode(), () -> {
                if (own == turn) {
                    lockNext(own, steps, then);
                }
            }) != Locks.Result.GRANTED) {
                database.lookLater(() -> look(own));
                return;
            }
        }
        then.run();
    }

    private void look(long own) {
        if (own != turn || !isWaiting()) {
            return;
        }
        if (position == NO_POSITION) {
            engine.tellWaits(this, Locks.waitsFor(this));
        } else {
            engine.tellBlocked(position, Locks.directlyWaitsFor(this));
        }
        database.lookLater(() -> look(own));
    }

    private void lockAll(long own, List<LockStep> steps, Runnable then) {
        if (own != turn) {
            return;
        }
        Set<Locks.Owner> inTheWay = database.locks().acquireAll(this, steps);
        if (inTheWay.isEmpty()) {
            then.run();
            return;
        }
        if (position == NO_POSITION) {
            inTheWay.addAll(List.copyOf(inTheWay).stream().flatMap(owner -> Locks.waitsFor(owner).stream()).toList());
            engine.tellWaits(this, inTheWay);
        } else {
            database.locks().shut(this);
            engine.tellBlocked(position, inTheWay);
        }
        database.awaitEnd(() -> lockAll(own, steps, then));
    }

    // ------------------------------------------------------------------------------------------ the end

    private void giveUp() {
        turn++;
        state = State.IDLE;
        applied = List.of();
        database.locks().release(this);
        database.locks().open(this);
    }

    @Override
    public void cancel() {
        long own = turn;
        database.answerLater(() -> {
            Completion<?> done = pending;
            if (own == turn && state == State.APPLYING && done != null) {
                fail(done, CANCELLED);
            }
        });
    }

    @Override
    public void commit(long last, Completion<Void> done) {
        if (isRefused(done)) {
            return;
        }
        if (state != State.APPLIED) {
            throw new IllegalStateException("an applier is to commit position " + last + " while it is " + state);
        }
        begin(State.COMMITTING, done);
        database.commitLater(engine, () -> {
            boolean aborts = database.aborts();
            boolean commits = !aborts || database.losesAnswer();
            if (commits) {
                database.commit(last, applied);
            }
            if (aborts) {
                fail(done, SimEngine.GONE);
            } else {
                giveUp();
                succeed(done, null);
            }
        }, this::giveUp);
    }

    @Override
    public void rollback(Runnable done) {
        if (!engine.isUsable()) {
            database.tellLater(done);
            return;
        }
        database.answerLater(() -> {
            giveUp();
            done.run();
        });
    }

    @Override
    public void execute(long at, byte[] statement, Completion<ExecuteResult> done) {
        if (isRefused(done)) {
            return;
        }
        begin(State.APPLYING, done);
        position = at;
        long own = ++turn;
        PlacementStatement placing = PlacementStatement.parse(statement);
        if (placing != null) {
            alone(own, () -> database.applyLater(() -> {
                if (own == turn) {
                    place(placing, at, done);
                }
            }));
            return;
        }
        Program.Statement parsed = Program.Statement.parse(statement);
        Runnable then = () -> database.applyLater(() -> {
            if (own == turn) {
                execute(parsed, at, done);
            }
        });
        if (database.kind().appliersQueue()) {
            List<LockStep> steps = new ArrayList<>();
            parsed.program().steps().forEach(step -> steps
                    .addAll(LockStep.of(database.kind(), step, database.read(step.row()) != null)));
            lock(own, steps, then);
        } else {
            alone(own, then);
        }
    }

    private void alone(long own, Runnable then) {
        database.locks().shut(this);
        database.whenAlive(() -> awaitNobody(own, then));
    }

    private void place(PlacementStatement placing, long at, Completion<ExecuteResult> done) {
        if (isTroubled(done)) {
            return;
        }
        state = State.COMMITTING;
        EngineFailure refusal = placing.forgets(database.kept().placement())
                ? failure("55000", "there are rows of what would be forgotten")
                : placing.brings(database.kept())
                        ? new EngineFailure("TT001", "the rows are not here", EngineFailure.Kind.NEEDS_COPY)
                        : null;
        if (refusal == null) {
            database.place(at, placing);
        }
        giveUp();
        succeed(done, new ExecuteResult(refusal, refusal == null ? DONE : REFUSED));
    }

    /** Has all clients' transactions end. */
    private void awaitNobody(long own, Runnable then) {
        if (own != turn) {
            return;
        }
        if (!engine.hasOpen()) {
            then.run();
            return;
        }
        engine.tellAllBlocked(position);
        database.awaitEnd(() -> awaitNobody(own, then));
    }

    private boolean isTroubled(Completion<ExecuteResult> done) {
        EngineFailure trouble = database.isFull() ? SimEngine.FULL : database.aborts() ? SimEngine.ABORTED : null;
        if (trouble != null) {
            fail(done, trouble);
        }
        return trouble != null;
    }

    private void execute(Program.Statement parsed, long at, Completion<ExecuteResult> done) {
        if (isTroubled(done)) {
            return;
        }
        state = State.COMMITTING;
        Run run = database.run(parsed.transaction(), parsed.program(), 0);
        run.snapshot(database.visible());
        // Who has asked for it may not have known yet that some nodes lack what it names.
        boolean works = !database.refuses(parsed.transaction())
                && database.kept().placement().keptByAll(parsed.program().tables());
        while (works && run.next() != null) {
            works = run.perform(row -> database.store().read(row, Long.MAX_VALUE));
        }
        List<Changes> changes = works
                ? List.of(run.changes(row -> database.store().read(row, Long.MAX_VALUE)))
                : List.of();
        if (works) {
            database.executed(run);
        }
        EngineFailure refusal = works ? null : failure("22000", "the request does not work");
        if (refusal == null) {
            database.commit(at, changes);
        }
        giveUp();
        succeed(done, new ExecuteResult(refusal, works ? DONE : REFUSED));
    }

    @Override
    public void skip(long at, EngineFailure why, Completion<ExecuteResult> done) {
        if (isRefused(done)) {
            return;
        }
        begin(State.COMMITTING, done);
        database.commitLater(engine, () -> {
            boolean aborts = database.aborts();
            if (!aborts || database.losesAnswer()) {
                database.skip(at);
            }
            if (aborts) {
                fail(done, SimEngine.GONE);
            } else {
                giveUp();
                succeed(done, new ExecuteResult(why, REFUSED));
            }
        }, this::giveUp);
    }

    /** The server has died. */
    void lost() {
        Completion<?> unanswered = pending;
        turn++;
        pending = null;
        state = State.IDLE;
        applied = List.of();
        if (unanswered != null) {
            database.tellLater(() -> unanswered.failed(SimEngine.GONE));
        }
    }

    /** What is being committed goes on; everything else is rolled back. */
    @Override
    public void close() {
        if (state != State.COMMITTING) {
            giveUp();
        }
        engine.closed(this);
    }
}
