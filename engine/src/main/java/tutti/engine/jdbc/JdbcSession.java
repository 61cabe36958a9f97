package tutti.engine.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.KeySet;
import tutti.core.txn.ReadSet;
import tutti.engine.jdbc.reads.Footprints;
import tutti.engine.jdbc.reads.ReadLog;
import tutti.engine.jdbc.rows.CapturedWrites;
import tutti.engine.jdbc.rows.Tables;
import tutti.engine.jdbc.rows.WriteSets;

/**
 * A client's session in a {@link JdbcEngine}.
 *
 * <p>
 * <b>Waiting.</b> A statement that meets a row of another local transaction (H2 only; HSQLDB refuses it at once) fails
 * after a short time in the engine and is repeated here, up to {@link #WAIT_NANOS_MAX}. Between the attempts the session
 * can be rolled back, and appliers can go first. What was done before the failure, by the other statements of a batch, is
 * undone first, so repeating it is harmless.
 *
 * <p>
 * <b>Beginning anew.</b> If the engine ends a transaction during its first statement, because the row that it wants is
 * another transaction's or has been changed since the snapshot was taken, then its client has seen nothing of the
 * snapshot. So the session begins it again with a new one, when some other transaction has ended; it holds nothing
 * while it waits for that. The node is told, since what has become visible before is not concurrent any more.
 */
public final class JdbcSession implements ClientSession {
    /** How long a statement may wait for other local transactions altogether. */
    static final long WAIT_NANOS_MAX = 60_000_000_000L;

    private enum State {
        /** No transaction. */
        IDLE,
        /** Statements have run. */
        OPEN,
        /** Rolled back in the engine, and the client has not said that it knows. */
        ROLLED_BACK
    }

    private final JdbcEngine engine;
    private final EmbeddedDatabase.Session session;
    private final Supplier<? extends @Nullable LocalTransaction> current;
    private final Connection guarded;
    private final Capture capture;
    private final Object cancelLock = new Object();
    private boolean running;
    private final ReentrantLock mutex = new ReentrantLock();
    private volatile boolean rollBackAsked;
    private volatile State state = State.IDLE;
    private volatile boolean readOnly;
    /** Whether the client has seen, and the transaction has done, nothing yet. */
    private boolean untouched;
    private @Nullable PreparedStatement record;
    /** Of the open transaction; null if nobody wants to know. */
    private @Nullable ReadLog log;

    JdbcSession(JdbcEngine engine, EmbeddedDatabase.Session session,
            Supplier<? extends @Nullable LocalTransaction> current, CaptureMode mode) {
        this.guarded = GuardedConnection.guard(session.connection(), () -> log);
        this.capture = switch (mode) {
            case NOTES -> new NotesCapture(engine, session);
            case TRIGGERS -> new TriggerCapture(engine, session);
            case STATEMENTS -> new StatementCapture(engine, session);
        };
        this.engine = engine;
        this.session = session;
        this.current = current;
    }

    /** The transaction that the session's client has open, as the node knows it, or null. */
    @Nullable
    LocalTransaction transaction() {
        return current.get();
    }

    /** Whether a statement waits for the end of somebody else's transaction. From any thread. */
    boolean waitsFor(EmbeddedDatabase.Session other) {
        return session.waitsFor(other);
    }

    /** Whether another session's statement waits for the end of this one's transaction. From any thread. */
    boolean isWaitedForBy(JdbcSession other) {
        return other.waitsFor(session);
    }

    /** Whether it was not closed. */
    public boolean open() {
        return state == State.OPEN;
    }

    @Override
    public Connection connection() {
        return guarded;
    }

    @Override
    public void setReadOnly(boolean only) {
        readOnly = only;
    }

    @Override
    public void logReads() {
        log = new ReadLog(engine::footprints);
    }

    @Override
    public ReadSet reads() {
        ReadLog present = log;
        if (present == null) {
            throw new IllegalStateException("what is read has not been logged");
        }
        return present.reads();
    }

    @Override
    public Footprints footprints() {
        return engine.footprints();
    }

    @Override
    public <T extends @Nullable Object> T statement(@Nullable String sql,
            List<? extends @Nullable Object> parameters, Work<T> work) throws SQLException {
        long started = System.nanoTime();
        while (true) {
            long ended = engine.gate().ended();
            boolean again;
            engine.gate().statement().lock();
            try {
                mutex.lock();
                try {
                    T result = attempt(sql, parameters, work);
                    untouched = false;
                    return result;
                } catch (SQLException failed) {
                    again = untouched && any(failed, session::ended) && !rollBackAsked;
                    boolean met = any(failed, session::inTheWay);
                    boolean waited = state == State.OPEN && met;
                    if (met || again) {
                        engine.opened().tellBlocked(this);
                    }
                    if ((!again && !waited) || System.nanoTime() - started > WAIT_NANOS_MAX) {
                        untouched = false;
                        if (log != null) {
                            log.everything();
                        }
                        throw failed;
                    }
                    if (again) {
                        state = State.IDLE;
                    }
                } finally {
                    mutex.unlock();
                }
            } finally {
                engine.gate().statement().unlock();
            }
            if (again) {
                beginAnew(ended);
            }
        }
    }

    /** Whether it is so of a failure, or of a further one of the same batch. */
    private static boolean any(SQLException failed, Predicate<SQLException> what) {
        for (SQLException each = failed; each != null; each = each.getNextException()) {
            if (what.test(each)) {
                return true;
            }
        }
        return false;
    }

    /** Waits a little for other transactions, and has the transaction begin again. */
    private void beginAnew(long ended) throws SQLException {
        try {
            engine.gate().awaitEnd(ended);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new SQLException("interrupted while waiting for another transaction", "57014", interrupted);
        }
        LocalTransaction transaction = current.get();
        if (transaction != null) {
            transaction.renewed();
        }
    }

    private <T extends @Nullable Object> T attempt(@Nullable String sql,
            List<? extends @Nullable Object> parameters, Work<T> work) throws SQLException {
        if (rollBackAsked || state == State.ROLLED_BACK) {
            throw rolledBack(null);
        }
        if (state == State.IDLE) {
            session.refresh();
            state = State.OPEN;
            untouched = true;
            if (log != null) {
                log.clear();
            }
        }
        Tables tables = engine.tables();
        EmbeddedDatabase.Mark mark = session.waits() || !tables.allWritable() ? session.mark() : null;
        try {
            running(true);
            T result = capture.execute(sql, parameters, () -> work.run(guarded));
            SQLException refusal = mark == null || tables.allWritable() ? null : mark.refusal(tables);
            if (mark != null && refusal != null) {
                mark.undo();
                throw refusal;
            }
            return result;
        } catch (SQLException failed) {
            boolean ended = any(failed, session::ended);
            if (ended) {
                // A batch goes on behind a statement that ended the transaction, and so may hold something again.
                session.rollback();
                if (untouched && !rollBackAsked) {
                    // It had nothing that others wait for. If it told its end, it and another one that wait for a third would wake each other.
                    enter(State.ROLLED_BACK);
                } else {
                    end(State.ROLLED_BACK);
                }
            } else if (mark != null && any(failed, session::inTheWay)) {
                mark.undo();
            }
            // If it is to be rolled back, the statement was cancelled for that.
            throw rollBackAsked || (ended && !String.valueOf(failed.getSQLState()).startsWith("40"))
                    ? rolledBack(failed)
                    : failed;
        } finally {
            running(false);
        }
    }

    /** A statement is cancelled only between the two calls, and whatever comes after it is not. */
    private void running(boolean starts) {
        synchronized (cancelLock) {
            running = starts;
            if (!starts) {
                session.statementEnded();
            }
        }
    }

    private static SQLException rolledBack(@Nullable SQLException cause) {
        return new SQLException("the transaction has been rolled back because of a conflict with another one; "
                + "roll back and try it again", "40001", cause);
    }

    @Override
    public CapturedWrites capture() throws SQLException {
        mutex.lock();
        try {
            if (rollBackAsked || state == State.ROLLED_BACK) {
                throw rolledBack(null);
            }
            CapturedWrites captured = captured();
            if (readOnly && !captured.writes().isEmpty()) {
                throw new SQLException("a transaction that may only read has changed rows", "25006");
            }
            return captured;
        } finally {
            mutex.unlock();
        }
    }

    private CapturedWrites captured() throws SQLException {
        return WriteSets.of(capture.changes());
    }

    /**
     * Whether the open transaction has touched one of the keys in a way that does not go together with theirs. Answers
     * false while a statement runs. For appliers that hold the gate.
     */
    boolean meets(KeySet keys) {
        if (state != State.OPEN || !mutex.tryLock()) {
            return false;
        }
        try {
            return state == State.OPEN && Conflicts.between(captured().writes().keys(), keys);
        } catch (SQLException broken) {
            // Whatever it is, this transaction will not be able to commit.
            return true;
        } finally {
            mutex.unlock();
        }
    }

    @Override
    public void commitUnchanged() throws SQLException {
        mutex.lock();
        try {
            if (state == State.OPEN) {
                try {
                    session.commit();
                } finally {
                    end(State.IDLE);
                }
            }
        } finally {
            mutex.unlock();
        }
    }

    /** In memory at once: nothing waits for a device, and changing threads twice takes longer than the commit itself. */
    @Override
    public void commit(long position, Completion<Void> done) {
        Runnable commit = () -> {
            EngineFailure failure = commitNow(position);
            if (failure == null) {
                done.succeeded(null);
            } else {
                done.failed(failure);
            }
        };
        if (engine.database().durable()) {
            engine.execute(commit);
        } else {
            commit.run();
        }
    }

    private @Nullable EngineFailure commitNow(long position) {
        mutex.lock();
        try {
            if (state != State.OPEN) {
                return new EngineFailure("40001", "the transaction has been rolled back before its commit", true);
            }
            PreparedStatement insert = record;
            if (insert == null) {
                insert = session.connection().prepareStatement(JdbcEngine.RECORD);
                record = insert;
            }
            insert.setLong(1, position);
            insert.executeUpdate();
            session.commit();
            end(State.IDLE);
            return null;
        } catch (SQLException failed) {
            undo(failed);
            return JdbcEngine.failure(failed);
        } catch (RuntimeException | Error unexpected) {
            undo(unexpected);
            return engine.unexpected(unexpected);
        } finally {
            mutex.unlock();
        }
    }

    private void undo(Throwable failed) {
        try {
            session.rollback();
        } catch (SQLException | RuntimeException broken) {
            failed.addSuppressed(broken);
        }
        end(State.IDLE);
    }

    @Override
    public void rollback(LocalTransaction expected, Runnable done) {
        if (expected.equals(current.get())) {
            rollBackAsked = true;
            synchronized (cancelLock) {
                if (running) {
                    session.cancel();
                }
            }
        }
        engine.execute(() -> {
            mutex.lock();
            try {
                if (expected.equals(current.get())) {
                    rollbackLocked();
                } else {
                    rollBackAsked = false;
                }
            } finally {
                mutex.unlock();
            }
            done.run();
        });
    }

    private void rollbackLocked() {
        if (state == State.OPEN) {
            try {
                session.rollback();
            } catch (SQLException broken) {
                engine.broken(broken);
            }
            end(State.ROLLED_BACK);
        }
    }

    @Override
    public void forget() {
        mutex.lock();
        try {
            rollbackLocked();
            state = State.IDLE;
            rollBackAsked = false;
        } finally {
            mutex.unlock();
        }
    }

    @Override
    public void awaitFree(KeySet rows, long millis) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
        Map<JdbcSession, LocalTransaction> others = engine.opened().others(this);
        while (true) {
            long ended = engine.gate().ended();
            others.entrySet().removeIf(each -> !each.getKey().mayHold(each.getValue(), rows));
            if (others.isEmpty() || System.nanoTime() > deadline) {
                return;
            }
            engine.gate().awaitEnd(ended);
        }
    }

    /** Whether a transaction is open that has changed one of these rows, or executes a statement. */
    private boolean mayHold(LocalTransaction which, KeySet rows) {
        if (state != State.OPEN || !which.equals(current.get())) {
            return false;
        }
        if (!mutex.tryLock()) {
            return true;
        }
        try {
            // Not after the lock is given back: its commit may begin then, and the rows are held until that ends.
            return meets(rows);
        } finally {
            mutex.unlock();
        }
    }

    private void end(State next) {
        enter(next);
        engine.gate().transactionEnded();
    }

    private void enter(State next) {
        capture.reset();
        state = next;
    }

    @Override
    public void close() {
        mutex.lock();
        try {
            session.close();
            end(State.ROLLED_BACK);
        } finally {
            mutex.unlock();
            engine.opened().remove(this);
        }
    }
}
