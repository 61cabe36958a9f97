package tutti.wire;

import io.netty.buffer.ByteBuf;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.QueryResult;

/**
 * Statements in an open transaction of which the capture has to be told: changes of the schema, and constraints that are checked
 * at once. On the session's event loop.
 */
final class SchemaChanges {
    /** To the capture: the statement that was allowed has been executed. */
    private static final byte[] EXECUTED = {};
    private final Session session;
    private final CurrentTransaction transaction;
    private final BackendRequests backend;
    private final ClientCycle cycle;
    private final Capture capture;

    SchemaChanges(Session session) {
        this.session = session;
        this.transaction = session.transaction();
        this.backend = session.backend();
        this.cycle = session.cycle();
        this.capture = session.capture();
    }

    /** A client's message that changes the schema, and waits. */
    private record Waiting(UtilityStatement statement, ByteBuf message, SentMessage as) {}

    /**
     * Has the transaction's next statement captured, and then sends it.
     *
     * @param message the client's message; ownership passes
     */
    void change(UtilityStatement statement, ByteBuf message, SentMessage as) {
        Waiting waiting = new Waiting(statement, message, as);
        boolean wroteRows = transaction.work().mayHaveChanged(TransactionActivity.Change.ROWS);
        transaction.work().mayChange(TransactionActivity.Change.SCHEMA);
        cycle.await();
        backend.batch().settings(statement.targets()).sync(reply -> {
            if (refused(waiting, reply.error())) {
                return;
            }
            if (UtilityStatement.temporary(reply.row()) || capture.readsOnly(reply.row())) {
                // the engine refuses to change a schema in a transaction that may only read
                send(waiting);
            } else if (wroteRows) {
                // what the rows so far look like can be told from the catalog only now
                backend.batch().catalog(catalog -> {
                    ErrorFields lost = catalog.result().isCompletedExceptionally()
                            ? Errors.unreadable("the catalog", catalog.result())
                            : null;
                    if (!refused(waiting, lost)) {
                        allow(waiting, reply.row(), catalog.result().resultNow());
                    }
                });
            } else {
                allow(waiting, reply.row(), null);
            }
        });
    }

    /**
     * Has what was captured so far set aside, and then sends TRUNCATE: PostgreSQL refuses to truncate a table with triggers that are yet to
     * fire, as the capture's are.
     *
     * @param message the client's message; ownership passes
     */
    void truncate(ByteBuf message, SentMessage as) {
        Waiting waiting = new Waiting(UtilityStatement.of(""), message, as);
        cycle.await();
        backend.batch().beforeSetConstraints().afterSetConstraints().sync(reply -> {
            if (!refused(waiting, reply.error())) {
                send(waiting);
            }
        });
    }

    private void allow(Waiting waiting, List<@Nullable String> settings, @Nullable QueryResult catalog) {
        int place = transaction.work().schemaChange(catalog);
        String recorded = waiting.statement().sql();
        if (waiting.statement().fills()) {
            // the capture makes a text from the table, and takes its rows
            recorded = "";
        }
        if (waiting.statement().fills() || waiting.statement().mayFillRows()) {
            transaction.work().mayChange(TransactionActivity.Change.ROWS);
        }
        backend.batch().allow(capture.statement(place, recorded, settings)).sync(reply -> {
            if (!refused(waiting, reply.error())) {
                execute(waiting);
            }
        });
    }

    /** Sends a statement that was allowed, and tells the capture behind it that what has changed up to there is its doing. */
    private void execute(Waiting waiting) {
        if (waiting.as() != SentMessage.EXECUTE) {
            send(waiting);
            backend.batch().allow(EXECUTED).sync(_ -> {});
            return;
        }
        backend.forward(waiting.message(), waiting.as());
        backend.batch().allow(EXECUTED).sync(reply -> {
            ErrorFields cause = reply.error();
            if (cause != null && !cycle.failed()) {
                session.error(cause);
            }
            if (transaction.rollbackWanted()) {
                session.rollback().begin();
            } else {
                cycle.proceedUnlessFailed();
            }
        });
    }

    private void send(Waiting waiting) {
        cycle.proceed();
        backend.forward(waiting.message(), waiting.as());
    }

    /** Whether the statement cannot be executed, which is then dealt with. */
    private boolean refused(Waiting waiting, @Nullable ErrorFields cause) {
        if (!transaction.rollbackWanted() && cause == null && backend.inTransaction()) {
            return false;
        }
        waiting.message().release();
        if (transaction.rollbackWanted()) {
            session.rollback().begin();
            return true;
        }
        if (cause != null && !cycle.failed()) {
            session.error(cause);
        }
        if (waiting.as() == SentMessage.EXECUTE) {
            cycle.skip();
        } else if (transaction.implicit()) {
            session.commit().cycleComplete();
        } else {
            session.finishCycle(backend.status());
        }
        return true;
    }

    /**
     * NOTIFY: a function is called that tells the capture, too.
     *
     * @param call of the function
     * @param simple whether it is a simple query, or part of one
     */
    void notification(String call, boolean simple) {
        transaction.work().mayChange(TransactionActivity.Change.ROWS);
        if (!simple) {
            cycle.await();
        }
        boolean inBlock = simple ? !backend.outsideOfTransaction() : cycle.inBlock();
        if (!inBlock && !transaction.implicit()) {
            session.beginImplicit(false);
        }
        backend.batch().once(call, SentMessage.OWN_EXECUTE).sync(reply -> {
            ErrorFields cause = reply.error();
            if (transaction.rollbackWanted()) {
                session.rollback().begin();
                return;
            }
            if (cause != null && !cycle.failed()) {
                session.error(cause);
            } else if (!cycle.failed()) {
                if (transaction.implicit()) {
                    session.client().withhold();
                }
                session.client().complete("NOTIFY");
            }
            if (!simple) {
                cycle.proceedUnlessFailed();
            } else if (session.clientReady()) {
                session.client().ready(backend.status());
            }
        });
    }

    /** SET CONSTRAINTS ... IMMEDIATE: the capture is told before and after. */
    void constraints(String sql, boolean simple) {
        cycle.await();
        backend.batch().beforeSetConstraints().once(sql, SentMessage.EXECUTE).afterSetConstraints()
                .sync(reply -> {
                    ErrorFields cause = reply.error();
                    if (cause != null && !cycle.failed()) {
                        session.error(cause);
                    }
                    if (transaction.rollbackWanted()) {
                        session.rollback().begin();
                    } else if (!simple) {
                        cycle.proceedUnlessFailed();
                    } else if (session.clientReady()) {
                        session.client().ready(backend.status());
                    }
                });
    }
}
