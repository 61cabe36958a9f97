package tutti.wire;

import io.netty.buffer.ByteBuf;
import java.util.List;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.ConflictClasses;
import tutti.pgwire.Backend;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.Frontend;
import tutti.wire.CommitSequence.Form;

/**
 * Has the node execute what no transaction of the session's own does: statements and requests that every node executes at one
 * position of the order, and questions about the cluster. No transaction is open. On the session's event loop.
 */
final class OrderedStatements {
    private final Session session;
    private final CurrentTransaction transaction;
    private final BackendRequests backend;
    private final ClientStream client;
    private final ClientCycle cycle;
    private final Capture capture;

    OrderedStatements(Session session) {
        this.session = session;
        this.transaction = session.transaction();
        this.backend = session.backend();
        this.client = session.client();
        this.cycle = session.cycle();
        this.capture = session.capture();
    }

    /**
     * Has a statement executed by every node.
     *
     * @param simple whether it is a simple query, and not executed by the extended protocol
     * @param script the query of several statements that it is; null if it is one
     */
    void statement(UtilityStatement statement, boolean simple, @Nullable MultiStatementQuery script) {
        cycle.await();
        backend.batch().settings(statement.targets()).sync(reply -> {
            if (reply.error() != null || cycle.failed()) {
                over(cycle.failed() ? null : reply.error(), simple);
            } else if (UtilityStatement.temporary(reply.row())) {
                if (script == null) {
                    onlyHere(statement.sql(), simple);
                } else {
                    script.oneByOne();
                }
            } else {
                if (script != null) {
                    script.handedIn();
                }
                transaction.becomes(SessionState.BARRIER);
                session.node().barrier(capture.orderedStatement(statement.sql(), reply.row()), capture.barrierKeys(),
                        transaction.takeName(),
                        whenExecuted(script == null ? UnaryOperator.identity() : script::placed, simple));
            }
        });
    }

    /**
     * Has a request, which is a whole cycle, executed by every node.
     *
     * @param request makes it from what the session's settings are
     * @param response what the client sees of the engine's answer
     */
    void request(Function<List<@Nullable String>, byte[]> request, ConflictClasses touched,
            UnaryOperator<byte[]> response) {
        cycle.await();
        backend.batch().settings(List.of()).sync(reply -> {
            if (reply.error() != null) {
                over(reply.error(), true);
            } else {
                transaction.becomes(SessionState.BARRIER);
                session.node().request(request.apply(reply.row()), touched, capture.barrierKeys(),
                        transaction.takeName(), whenExecuted(response, true));
            }
        });
    }

    private Completion<ExecuteResult> whenExecuted(UnaryOperator<byte[]> response, boolean wholeCycle) {
        return new Completion<>() {
            @Override
            public void succeeded(ExecuteResult result) {
                session.onLoop(() -> {
                    if (!result.tookEffect()) {
                        cycle.fail();
                    }
                    client.write(client.buffer().writeBytes(response.apply(result.response())));
                    over(null, wholeCycle);
                });
            }

            @Override
            public void failed(EngineFailure failure) {
                session.onLoop(() -> over(Errors.error(failure.sqlState(), failure.message()), wholeCycle));
            }
        };
    }

    private void over(@Nullable ErrorFields cause, boolean wholeCycle) {
        if (transaction.is(SessionState.BARRIER)) {
            transaction.becomes(SessionState.IDLE);
        }
        transaction.report();
        if (cause != null) {
            session.error(cause);
        }
        if (client.gone()) {
            backend.close();
        } else if (wholeCycle) {
            session.finishCycle(Backend.IDLE);
        } else {
            cycle.proceedUnlessFailed();
        }
    }

    /** A change to a temporary relation concerns nobody else. */
    private void onlyHere(String sql, boolean simple) {
        transaction.work().mayChange(TransactionActivity.Change.TEMPORARY_RELATION);
        session.beginImplicit(false);
        if (simple) {
            ByteBuf query = client.buffer();
            Frontend.query(query, sql);
            backend.forward(query, SentMessage.QUERY);
            session.commit().begin(Form.IMPLICIT, false, false);
        } else {
            backend.batch().once(sql, SentMessage.EXECUTE).send();
            cycle.proceed();
        }
    }

    /** Has the node answer a question; the engine then sends the answer as a result. */
    void question(ClusterQuestion question, boolean simple) {
        cycle.await();
        question.ask(session.node(), new Completion<>() {
            @Override
            public void succeeded(ClusterQuestion.Answer answer) {
                session.onLoop(() -> {
                    cycle.proceed();
                    ByteBuf out = client.buffer();
                    if (simple) {
                        Frontend.query(out, answer.statement());
                    } else {
                        Frontend.parse(out, "", answer.statement());
                    }
                    backend.forward(out, simple ? SentMessage.QUERY : SentMessage.PARSE);
                });
            }

            @Override
            public void failed(EngineFailure failure) {
                session.onLoop(() -> {
                    cycle.proceed();
                    backend.refuse(Errors.error(failure.sqlState(), failure.message()),
                            simple ? SentMessage.REFUSED_QUERY : SentMessage.REFUSED_PARSE);
                });
            }
        });
    }
}
