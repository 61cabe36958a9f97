package tutti.engine.jdbc;

import java.io.IOException;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine;
import tutti.core.spi.Engine.Applier;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.WriteSet;
import tutti.engine.jdbc.rows.Change;
import tutti.engine.jdbc.rows.WriteSets;

/**
 * Applies write sets, row by row below SQL, on a thread of its own.
 *
 * <p>
 * <b>Priority.</b> It never waits for a row. When another transaction is in the way, everything of this one is rolled back,
 * the local transactions that its keys meet are named to the listener, and when one of them has ended it tries again
 * with the {@linkplain StatementGate gate} shut: then no local transaction can come to be in the way that was not before. So a
 * deadlock between local and remote transactions cannot form; the one that would have lost ends before it waits.
 *
 * <p>
 * <b>Without a position</b>, as two-phase commit prepares, it may not push anybody away, and may have to wait for others who
 * have prepared. It holds nothing while it waits, does not go first, and says for whom it waits, and for whom the statements of those
 * wait in their turn; the protocol sees to it that such waits end.
 *
 * <p>
 * <b>A statement that keeps the gate.</b> A batch or a procedure may wait for other transactions' rows many times, one of which
 * may be ordered later and wait for this applier. So the gate is waited for a short while only; without it the local
 * transactions in the way are named all the same, and after {@link #EXACT_ATTEMPTS} attempts all that have changed
 * anything, the one that is waited for among them.
 */
final class JdbcApplier implements Applier {
    private static final EngineFailure INTERRUPTED = new EngineFailure("57P01", "the applier was closed", true);
    /** After so many attempts everyone who has changed anything is taken to be in the way. */
    private static final int EXACT_ATTEMPTS = 20;
    /** In place of a position: what is prepared before it has one. */
    static final long NO_POSITION = 0;
    /** After so many, a second or more, an operator is told. */
    private static final int ATTEMPTS_TO_TELL = 200;
    private static final Logger LOG = LoggerFactory.getLogger(JdbcApplier.class);

    private final JdbcEngine engine;
    private final ExecutorService thread;
    private volatile boolean closed;
    private volatile boolean cancelled;
    /** What has been applied and not committed yet: whose rows are locked. */
    private volatile List<WriteSet> holding = List.of();
    /** Made by the applier's thread. */
    private volatile EmbeddedDatabase.@Nullable Session session;
    private @Nullable PreparedStatement record;

    JdbcApplier(JdbcEngine engine) {
        this.engine = engine;
        this.thread = Executors.newSingleThreadExecutor(Thread.ofVirtual().name("tutti-applier").factory());
    }

    private void run(Runnable task, Completion<?> done) {
        try {
            thread.execute(task);
        } catch (RejectedExecutionException closed) {
            done.failed(INTERRUPTED);
        }
    }

    private EmbeddedDatabase.Session session() throws SQLException {
        EmbeddedDatabase.Session open = session;
        if (open == null) {
            open = engine.database().openApplier();
            session = open;
            record = open.connection().prepareStatement(JdbcEngine.RECORD);
        }
        return open;
    }

    @Override
    public void apply(long position, List<WriteSet> writes, Completion<Void> done) {
        List<WriteSet> all = List.copyOf(writes);
        cancelled = false;
        run(() -> {
            EngineFailure failure = applyNow(position, all);
            if (failure == null) {
                holding = all;
                done.succeeded(null);
            } else {
                done.failed(failure);
            }
        }, done);
    }

    private @Nullable EngineFailure applyNow(long position, List<WriteSet> writes) {
        EngineFailure failure = tryToApply(position, writes);
        if (failure != null) {
            rollbackNow();
        }
        return failure;
    }

    private @Nullable EngineFailure tryToApply(long position, List<WriteSet> writes) {
        boolean first = false;
        try {
            List<Change> changes = new ArrayList<>();
            for (WriteSet set : writes) {
                changes.addAll(WriteSets.read(engine.tables(), set.changes()));
            }
            EmbeddedDatabase.Session open = session();
            for (int attempt = 0;; attempt++) {
                long ended = engine.gate().ended();
                try {
                    open.begin();
                    for (Change change : changes) {
                        open.write(change);
                    }
                    return null;
                } catch (SQLException failed) {
                    open.rollback();
                    if (!open.inTheWay(failed)) {
                        return JdbcEngine.failure(failed);
                    }
                    if (attempt == ATTEMPTS_TO_TELL && position != NO_POSITION) {
                        LOG.warn("position {} still waits for a transaction that is in its way at {}", position, engine,
                                failed);
                    }
                }
                if (position == NO_POSITION) {
                    if (closed || cancelled) {
                        return INTERRUPTED;
                    }
                    engine.opened().tellWaits(this, writes);
                    engine.gate().awaitEnd(ended);
                    continue;
                }
                if (!first) {
                    first = engine.gate().first().tryLock(StatementGate.FIRST_MILLIS, TimeUnit.MILLISECONDS);
                    if (first) {
                        continue;
                    }
                }
                if (closed) {
                    return INTERRUPTED;
                }
                engine.opened().tellBlocked(position, attempt < EXACT_ATTEMPTS ? writes : null);
                engine.gate().awaitEnd(ended);
            }
        } catch (IOException | IllegalArgumentException damaged) {
            return new EngineFailure("XX001", String.valueOf(damaged.getMessage()), false);
        } catch (SQLException failed) {
            return JdbcEngine.failure(failed);
        } catch (InterruptedException closed) {
            Thread.currentThread().interrupt();
            return INTERRUPTED;
        } catch (RuntimeException | Error unexpected) {
            return engine.unexpected(unexpected);
        } finally {
            if (first) {
                engine.gate().first().unlock();
            }
        }
    }

    /** Whether it has locked rows that these write sets need. */
    boolean inTheWayOf(List<WriteSet> writes) {
        List<WriteSet> held = holding;
        return writes.stream().anyMatch(
                wanted -> held.stream().anyMatch(write -> Conflicts.between(write.keys(), wanted.keys())));
    }

    /** Whether a statement waits for the end of its transaction. */
    boolean isWaitedForBy(JdbcSession client) {
        EmbeddedDatabase.Session open = session;
        return open != null && client.waitsFor(open);
    }

    @Override
    public void cancel() {
        cancelled = true;
    }

    @Override
    public void commit(long position, Completion<Void> done) {
        run(() -> {
            EngineFailure failure = commitNow(position);
            if (failure == null) {
                done.succeeded(null);
            } else {
                done.failed(failure);
            }
        }, done);
    }

    private @Nullable EngineFailure commitNow(long position) {
        try {
            record(position);
            session().commit();
            holding = List.of();
            return null;
        } catch (SQLException failed) {
            rollbackNow();
            return JdbcEngine.failure(failed);
        } catch (RuntimeException | Error unexpected) {
            rollbackNow();
            return engine.unexpected(unexpected);
        }
    }

    private void record(long position) throws SQLException {
        PreparedStatement insert = record;
        if (insert == null) {
            throw new SQLException("nothing has been applied", "55000");
        }
        insert.setLong(1, position);
        insert.executeUpdate();
    }

    @Override
    public void rollback(Runnable done) {
        try {
            thread.execute(() -> {
                rollbackNow();
                done.run();
            });
        } catch (RejectedExecutionException closed) {
            done.run();
        }
    }

    private void rollbackNow() {
        holding = List.of();
        EmbeddedDatabase.Session open = session;
        if (open != null) {
            try {
                open.rollback();
            } catch (SQLException broken) {
                open.close();
                session = null;
            }
        }
    }

    @Override
    public void execute(long position, byte[] statement, Completion<ExecuteResult> done) {
        run(() -> {
            ExecuteResult result;
            try {
                result = engine.barriers().execute(session(), position, BarrierStatement.of(statement),
                        () -> record(position), () -> closed);
            } catch (IOException damaged) {
                rollbackNow();
                done.failed(new EngineFailure("XX001", String.valueOf(damaged.getMessage()), false));
                return;
            } catch (SQLException failed) {
                rollbackNow();
                done.failed(JdbcEngine.failure(failed));
                return;
            } catch (InterruptedException closed) {
                Thread.currentThread().interrupt();
                rollbackNow();
                done.failed(INTERRUPTED);
                return;
            } catch (RuntimeException | Error unexpected) {
                rollbackNow();
                done.failed(engine.unexpected(unexpected));
                return;
            }
            done.succeeded(result);
        }, done);
    }

    @Override
    public void skip(long position, EngineFailure why, Completion<ExecuteResult> done) {
        run(() -> {
            EngineFailure failure = skipNow(position);
            if (failure == null) {
                done.succeeded(new ExecuteResult(why, BarrierResponse.refused(why).toBytes()));
            } else {
                rollbackNow();
                done.failed(failure);
            }
        }, done);
    }

    private @Nullable EngineFailure skipNow(long position) {
        try {
            EmbeddedDatabase.Session open = session();
            open.begin();
            record(position);
            try (Statement statement = open.connection().createStatement()) {
                statement.executeUpdate("INSERT INTO TUTTI.SKIPPED (POSITION) VALUES (" + position + ")");
                statement.executeUpdate(
                        "DELETE FROM TUTTI.SKIPPED WHERE POSITION < " + (position - Engine.SKIPPED_KEPT));
            }
            open.commit();
            return null;
        } catch (SQLException failed) {
            return JdbcEngine.failure(failed);
        } catch (RuntimeException | Error unexpected) {
            return engine.unexpected(unexpected);
        }
    }

    @Override
    public void close() {
        closed = true;
        thread.execute(() -> {
            EmbeddedDatabase.Session open = session;
            if (open != null) {
                open.close();
            }
        });
        thread.close();
        engine.opened().remove(this);
    }
}
