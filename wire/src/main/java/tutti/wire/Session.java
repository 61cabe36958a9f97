package tutti.wire;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import java.util.List;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.AbortReason;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.TransactionId;
import tutti.pgwire.Backend;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.FrameReader;
import tutti.pgwire.Frontend;
import tutti.pgwire.QueryResult;

/**
 * One client's session: its transaction's way from the first statement to the answer. {@link ClientSide} and
 * {@link BackendSide} read the two streams and call in here where the front end has to step in.
 *
 * <p>
 * A client's messages are dealt with in cycles: a simple query, or extended-protocol messages up to Sync. One cycle is
 * under way at a time; further messages wait in the socket. Everything happens on the event loop that the client's and
 * the engine's channel share; the node's calls are handed over to it by {@link Branch}.
 */
final class Session extends SessionTurns {
    private static final Logger LOG = LoggerFactory.getLogger(Session.class);

    Session(SessionServices services, Channel client, FrameReader clientReader, BackendConnection connection) {
        super(services, client, clientReader, connection);
    }

    // ------------------------------------------------------------------------------------------ cycles

    /**
     * The engine has completed a client's simple query or Sync.
     *
     * @return whether the client gets to see the engine's ReadyForQuery
     */
    boolean cycleReady(byte newStatus) {
        settling = false;
        copyIn = false;
        copyExpected = false;
        if (implicit) {
            status = newStatus;
            if (!closingSent) {
                Script running = script;
                if (running == null || rollbackWanted || running.last() || cycleFailed) {
                    implicitReady(newStatus);
                } else {
                    running.next(false);
                }
            }
            return false;
        }
        if (suppress && branch != null) {
            status = newStatus;
            startRollback();
            return false;
        }
        plainReady(newStatus);
        if (suppress) {
            // the transaction ended by itself while it was being interrupted; its answer is lost
            suppress = false;
            error(Errors.error("40001", "the transaction gave way to one that was ordered first"));
            finishCycle(newStatus);
            return false;
        }
        if (script != null || (pendingAbort != null && newStatus == Backend.IDLE)) {
            finishCycle(pendingAbort == null ? newStatus : Backend.IN_TRANSACTION);
            return false;
        }
        cycleOver();
        return true;
    }

    /** The engine has completed a client's simple query or Sync that needs nothing from us but attention. */
    private void plainReady(byte newStatus) {
        status = newStatus;
        if (newStatus == Backend.IDLE) {
            if (branch != null) {
                transactionEnded();
            } else {
                if (state != SessionState.IDLE) {
                    state(SessionState.IDLE);
                }
                report();
            }
        } else if (newStatus == Backend.FAILED) {
            state(SessionState.FAILED);
        } else if (branch == null || state == SessionState.IDLE) {
            openTransaction();
        } else {
            state(SessionState.IN_TRANSACTION);
        }
    }

    /** The cycle is over, or one statement of a script is. */
    @Override
    void finishCycle(byte shown) {
        Script running = script;
        if (running != null && running.next(cycleFailed)) {
            return;
        }
        script = null;
        ByteBuf out = buffer();
        Backend.readyForQuery(out, shown);
        held.release();
        toClient(out);
        cycleOver();
    }

    void cycleOver() {
        cycle = Cycle.NONE;
        letGo();
        waiting = false;
        discard = false;
        cycleFailed = false;
        hideWarnings = false;
        closingSent = false;
        copyIn = false;
        refusal = null;
        preparing = false;
        settling = false;
        copyExpected = false;
        failAtSync = false;
        suppress = false;
        executed = 0;
        placed = false;
        modes.requestOver();
    }

    // ------------------------------------------------------------------------------------------ barriers

    /** Has a statement executed by all replicas; no transaction is open. */
    void barrier(Utility statement, boolean simple) {
        waiting = true;
        ownRow = List.of();
        ownError = null;
        ByteBuf out = buffer();
        prepareOwn(out);
        own.settings(out, operations, statement.target());
        own.sync(out, operations);
        steps.add(() -> {
            if (ownError != null || cycleFailed) {
                barrierOver(cycleFailed ? null : ownError, simple);
                return;
            }
            if (temporary()) {
                onlyHere(statement.sql(), simple);
                return;
            }
            state(SessionState.BARRIER);
            services.transactions().barrier(capture.statement(0, statement.sql(), ownRow), capture.barrierKeys(),
                    takeName(), whenExecuted(UnaryOperator.identity(), simple));
        });
        toEngine(out);
    }

    private Completion<ExecuteResult> whenExecuted(UnaryOperator<byte[]> response, boolean cycle) {
        return new Completion<>() {
            @Override
            public void succeeded(ExecuteResult result) {
                onLoop(() -> {
                    cycleFailed = !result.tookEffect();
                    toClient(buffer().writeBytes(response.apply(result.response())));
                    barrierOver(null, cycle);
                });
            }

            @Override
            public void failed(EngineFailure failure) {
                onLoop(() -> barrierOver(Errors.error(failure.sqlState(), failure.message()), cycle));
            }
        };
    }

    /**
     * Has a request, which is a whole cycle, executed by all replicas; no transaction is open.
     *
     * @param request makes it from what the session's settings are
     * @param response what the client sees of the engine's answer
     */
    void request(Function<List<@Nullable String>, byte[]> request, ConflictClasses touched,
            UnaryOperator<byte[]> response) {
        waiting = true;
        ownRow = List.of();
        ownError = null;
        ByteBuf out = buffer();
        prepareOwn(out);
        own.settings(out, operations, null);
        own.sync(out, operations);
        steps.add(() -> {
            if (ownError != null) {
                barrierOver(ownError, true);
                return;
            }
            state(SessionState.BARRIER);
            services.transactions().request(request.apply(ownRow), touched, capture.barrierKeys(),
                    takeName(), whenExecuted(response, true));
        });
        toEngine(out);
    }

    /** Whether the relation that was asked about is a temporary one of this session. */
    private boolean temporary() {
        return !ownRow.isEmpty() && "t".equals(ownRow.getLast());
    }

    /** A change to a temporary relation, outside of a transaction, concerns nobody else. */
    private void onlyHere(String sql, boolean simple) {
        wrote = true;
        beginImplicit(false);
        ByteBuf out = buffer();
        if (simple) {
            Frontend.query(out, sql);
            operations.add(Operations.QUERY);
            toEngine(out);
            close(Commit.IMPLICIT, false);
        } else {
            own.once(out, operations, sql, Operations.EXECUTE);
            toEngine(out);
            waiting = false;
        }
    }

    /** A SET CONSTRAINTS ... IMMEDIATE in a transaction: capture is told before and after. */
    void constraints(String sql, boolean simple) {
        waiting = true;
        ownError = null;
        ByteBuf out = buffer();
        own.once(out, operations, capture.sql().beforeSetConstraints(), Operations.OWN_EXECUTE);
        own.once(out, operations, sql, Operations.EXECUTE);
        own.once(out, operations, capture.sql().afterSetConstraints(), Operations.OWN_EXECUTE);
        own.sync(out, operations);
        steps.add(() -> {
            if (ownError != null && !cycleFailed) {
                error(ownError);
            }
            if (rollbackWanted) {
                startRollback();
            } else if (!simple) {
                waiting = false;
                discard = cycleFailed;
            } else if (cycleReady(status)) {
                ByteBuf ready = buffer();
                Backend.readyForQuery(ready, status);
                toClient(ready);
            }
        });
        toEngine(out);
    }

    /** Has the transaction's next statement, which changes the schema, captured; then sends it. */
    void schemaInBlock(Utility statement, ByteBuf message, byte operation) {
        wrote = true;
        schemaChanged = true;
        waiting = true;
        ownRow = List.of();
        ownError = null;
        ByteBuf out = buffer();
        prepareOwn(out);
        own.settings(out, operations, statement.target());
        own.sync(out, operations);
        steps.add(() -> {
            if (schemaRefused(message, operation)) {
                return;
            }
            String sql = statement.sql();
            List<@Nullable String> settings = ownRow;
            if (temporary()) {
                waiting = false;
                toEngine(message);
                operations.add(operation);
            } else if (wroteRows) {
                // what the rows so far look like can be told from the catalog only now
                readCatalog(result -> {
                    if (result.isCompletedExceptionally() && ownError == null) {
                        ownError = Errors.error("XX000",
                                "the catalog could not be read: " + result.exceptionNow().getMessage());
                    }
                    if (!schemaRefused(message, operation)) {
                        allowSchema(sql, settings, result.resultNow(), message, operation);
                    }
                });
            } else {
                allowSchema(sql, settings, null, message, operation);
            }
        });
        toEngine(out);
    }

    private void allowSchema(String sql, List<@Nullable String> settings, @Nullable QueryResult catalog,
            ByteBuf message, byte operation) {
        int place = catalogs.size();
        catalogs.add(catalog);
        ByteBuf allowing = buffer();
        own.allow(allowing, operations, capture.statement(place, sql, settings));
        own.sync(allowing, operations);
        steps.add(() -> {
            if (!schemaRefused(message, operation)) {
                waiting = false;
                toEngine(message);
                operations.add(operation);
            }
        });
        toEngine(allowing);
    }

    private boolean schemaRefused(ByteBuf message, byte operation) {
        ErrorFields cause = ownError;
        if (rollbackWanted) {
            message.release();
            startRollback();
            return true;
        }
        if (cause == null && status == Backend.IN_TRANSACTION) {
            return false;
        }
        message.release();
        waiting = false;
        if (cause != null && !cycleFailed) {
            error(cause);
        }
        if (operation == Operations.EXECUTE) {
            discard = true;
        } else if (implicit) {
            implicitReady(status);
        } else {
            finishCycle(status);
        }
        return true;
    }

    private void onLoop(Runnable task) {
        try {
            loop.execute(() -> {
                if (state != SessionState.CLOSED) {
                    task.run();
                    settle();
                }
            });
        } catch (RejectedExecutionException stopped) {
            LOG.debug("answer after the event loop stopped", stopped);
        }
    }

    private void barrierOver(@Nullable ErrorFields cause, boolean simple) {
        if (state == SessionState.BARRIER) {
            state(SessionState.IDLE);
        }
        report();
        if (cause != null) {
            error(cause);
        }
        waiting = false;
        if (clientGone) {
            closeEngine();
        } else if (simple) {
            finishCycle(Backend.IDLE);
        } else {
            discard = cycleFailed;
        }
    }

    // ------------------------------------------------------------------------------------------ questions

    /** Has the node answer a question; no transaction is open. */
    void ask(ClusterQuestion question, boolean simple) {
        waiting = true;
        question.ask(services.transactions(), new Completion<>() {
            @Override
            public void succeeded(ClusterQuestion.Answer answer) {
                onLoop(() -> {
                    String statement = answer.statement();
                    waiting = false;
                    ByteBuf out = buffer();
                    if (simple) {
                        Frontend.query(out, statement);
                        operations.add(Operations.QUERY);
                    } else {
                        Frontend.parse(out, "", statement);
                        operations.add(Operations.PARSE);
                    }
                    toEngine(out);
                });
            }

            @Override
            public void failed(EngineFailure failure) {
                onLoop(() -> {
                    waiting = false;
                    refusal = Errors.error(failure.sqlState(), failure.message());
                    ByteBuf out = buffer();
                    if (simple) {
                        own.invalidQuery(out, operations, Operations.REFUSED_QUERY);
                    } else {
                        own.invalidParse(out, operations, Operations.REFUSED_PARSE);
                    }
                    toEngine(out);
                });
            }
        });
    }

    // ------------------------------------------------------------------------------------------ cancelling, the end

    /** A client's cancel request. Nothing that commits is cancelled. */
    void cancelByClient() {
        if (state == SessionState.IN_TRANSACTION || state == SessionState.FAILED || state == SessionState.IDLE) {
            if (operations.size() > 0) {
                cancel();
            }
        }
    }

    @Override
    void cancel() {
        cancels++;
        connection.cancel().whenComplete((_, _) -> {
            cancels--;
            Runnable next = afterCancels;
            if (cancels == 0 && next != null) {
                afterCancels = null;
                next.run();
                settle();
            }
        });
    }

    /** So that a late cancel never meets a later statement of ours. */
    @Override
    void whenNoCancels(Runnable task) {
        if (cancels == 0) {
            task.run();
        } else {
            afterCancels = task;
        }
    }

    /** The client is gone. What has asked to commit is finished first. */
    void clientClosed() {
        clientGone = true;
        held.drop();
        switch (state) {
            case CERTIFYING, COMMITTING, ROLLING_BACK, AWAITING_ANSWER, BARRIER -> connection.reader().resume();
            default -> closeEngine();
        }
    }

    @Override
    void closeEngine() {
        if (operations.size() > 0) {
            cancel();
        }
        connection.close();
    }

    /** The engine's connection is gone, and with it the transaction. */
    void engineClosed(@Nullable ErrorFields lastError) {
        if (state == SessionState.CLOSED) {
            return;
        }
        SessionState before = state;
        state(SessionState.CLOSED);
        letGo();
        TransactionId unused = takeName();
        if (unused != null) {
            services.transactions().release(unused);
        }
        Branch lost = branch;
        Completion<Void> committing = commitDone;
        boolean asked = lost != null && !lost.writes.isEmpty();
        boolean toldToRollBack = rollbackWanted;
        if (lost != null) {
            forget();
            if (committing != null) {
                committing.failed(
                        new EngineFailure("08006", "the connection to PostgreSQL was lost during COMMIT", true));
            } else if (!asked && !toldToRollBack) {
                lost.ticket().failed(new AbortReason.Failed(clientGone ? "disconnect" : "engine"));
            }
        }
        held.drop();
        if (client.isActive()) {
            ByteBuf out = buffer();
            if (lastError == null) {
                String what = before.compareTo(SessionState.CERTIFYING) >= 0 && asked
                        ? "; the transaction that was committing may have been committed"
                        : "; the transaction was rolled back";
                Backend.errorResponse(out, Errors.fatal("08006", "the connection to PostgreSQL was lost" + what));
            }
            client.writeAndFlush(out).addListener(ChannelFutureListener.CLOSE);
        }
    }
}
