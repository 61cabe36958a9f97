package tutti.wire;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.TransactionId;
import tutti.pgwire.Backend;
import tutti.pgwire.ErrorFields;
import tutti.engine.postgres.capture.Promise;
import tutti.pgwire.Frontend;
import tutti.wire.CommitSequence.Form;

/**
 * Has the node execute what no transaction of the session's own does: statements and requests that every node executes at one
 * position of the order, and questions about the cluster. No transaction is open. On the session's event loop.
 */
final class OrderedStatements {
    private static final int SHARES_MAX = 64;
    /** What a client does not want to hear, by its client_min_messages. */
    private static final Map<String, List<String>> QUIETER = Map.of("warning", List.of("NOTICE"), "error",
            List.of("NOTICE", "WARNING"));
    private final Session session;
    private final CurrentTransaction transaction;
    private final BackendRequests backend;
    private final ClientStream client;
    private final ClientCycle cycle;
    private final Capture capture;
    private final KnownSettings settings;
    /** The session's client_min_messages. */
    private String leastTold = "";

    OrderedStatements(Session session) {
        this.session = session;
        this.transaction = session.transaction();
        this.backend = session.backend();
        this.client = session.client();
        this.cycle = session.cycle();
        this.capture = session.capture();
        this.settings = new KnownSettings(capture, System::nanoTime);
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
            } else if (UtilityStatement.temporary(reply.row()) || capture.readsOnly(reply.row())) {
                // the engine refuses to change a schema in a transaction that may only read
                if (script == null) {
                    onlyHere(statement.sql(), simple);
                } else {
                    script.oneByOne();
                }
            } else {
                leastTold = capture.leastTold(reply.row());
                if (script != null) {
                    script.handedIn();
                }
                UnaryOperator<byte[]> response = script == null ? UnaryOperator.identity() : script::placed;
                PostgresFrontEnd.IndexBuilding building = session.indexBuilding();
                IndexText index = statement.concurrently() && building != null
                        ? IndexText.read(statement.sql(), capture.standardStrings(reply.row()))
                        : null;
                Function<String, byte[]> ordered = sql -> capture.orderedStatement(sql, reply.row());
                if (index == null || building == null) {
                    order(ordered.apply(statement.sql()),
                            statement.concurrently() ? UtilityStatement.NOT_CONCURRENTLY : null, response, simple);
                } else {
                    build(index, building, ordered.apply(statement.sql()), ordered,
                            (made, notice) -> order(made, notice, response, simple), simple);
                }
            }
        });
    }

    /** @param notice what the client hears before; null if nothing */
    private void order(byte[] statement, @Nullable ErrorFields notice, UnaryOperator<byte[]> response, boolean simple) {
        session.loads().awaitChange(() -> {
            transaction.becomes(SessionState.BARRIER);
            client.notice(notice);
            session.node().barrier(statement, capture.barrierKeys(), transaction.takeName(),
                    whenExecuted(response, simple));
        }, () -> over(Errors.CANCELLED, simple));
    }

    /**
     * Has an index built beside the order before its statement is ordered, unless that would do nothing, or be refused. One without a name has the one first that the server would
     * give it: all nodes are to call it the same, however they make it.
     *
     * @param statement as the client has it
     * @param ordered makes what is ordered of a text
     * @param then told what to order, and what the client is to hear before, null if nothing
     */
    private void build(IndexText index, PostgresFrontEnd.IndexBuilding building, byte[] statement,
            Function<String, byte[]> ordered, BiConsumer<byte[], @Nullable ErrorFields> then, boolean simple) {
        ConcurrentIndex builds = session.concurrentIndex();
        Consumer<ErrorFields> fails = cause -> over(cause, simple);
        backend.batch().once(index.question(), SentMessage.OWN_ROW).sync(reply -> {
            String answer = reply.row().isEmpty() ? "" : String.valueOf(reply.row().getFirst());
            if (reply.error() != null || cycle.failed()) {
                over(cycle.failed() ? null : reply.error(), simple);
            } else if (answer.startsWith(IndexText.PARTITIONED)) {
                over(Errors.notSupported("cannot create index on partitioned table \"" + answer.substring(1)
                        + "\" concurrently"), simple);
            } else if (!answer.equals(IndexText.BUILDS)) {
                then.accept(statement, null);
            } else if (index.isNamed()) {
                builds.begin(building, index.definition(), statement, notice -> then.accept(statement, notice), fails);
            } else {
                builds.name(building, index.definition(), statement, name -> {
                    if (name == null || name.isEmpty()) {
                        then.accept(statement, name == null ? UtilityStatement.NOT_CONCURRENTLY : null);
                        return;
                    }
                    IndexText named = index.named(name);
                    byte[] made = ordered.apply(named.sql());
                    builds.begin(building, named.definition(), made, notice -> then.accept(made, notice), fails);
                }, fails);
            }
        });
    }

    /**
     * Has a request, which is a whole cycle, executed by every node.
     *
     * @param draws what is drawn for it
     * @param request makes it from what the session's settings are, and what was drawn
     * @param response what the client sees of the engine's answer
     */
    void request(SequenceDraws draws, BiFunction<List<@Nullable String>, @Nullable String, byte[]> request,
            ConflictClasses touched, UnaryOperator<byte[]> response) {
        withSettings(row -> {
            if (capture.readsOnly(row)) {
                over(Errors.error(Errors.READ_ONLY, "what every node executes cannot be in a read-only transaction"),
                        true);
                return;
            }
            withValues(draws, drawn -> {
                transaction.becomes(SessionState.BARRIER);
                session.node().request(request.apply(row, drawn), touched, capture.barrierKeys(),
                        transaction.takeName(), whenExecuted(response, true));
            });
        });
    }

    /**
     * Has a request, which is a whole cycle, executed by its owner.
     *
     * @param draws what is drawn for it, unless it is executed in this session
     * @param logged of how many statements the client is to hear when they are logged; 0 if when they have been executed
     * @param unread what the server has not read yet, and is to refuse before it is logged if it makes no sense
     * @param here executes it in this session, where that must be
     */
    void undertaken(SequenceDraws draws, BiFunction<List<@Nullable String>, @Nullable String, byte[]> request,
            ConflictClasses touched, UnaryOperator<byte[]> response, int logged, List<byte[]> unread,
            Runnable here) {
        withSettings(row -> {
            if (!capture.likeOthers(row)) {
                if (logged == 0) {
                    here.run();
                } else {
                    over(onlyHere(), true);
                }
                return;
            }
            withValues(draws, drawn -> afterReading(unread, () -> {
                transaction.becomes(SessionState.BARRIER);
                byte[] made = request.apply(row, drawn);
                if (logged == 0) {
                    session.node().undertake(made, touched, transaction.takeName(), whenExecuted(response, true));
                } else {
                    session.node().log(made, touched, transaction.takeName(), whenLogged(response, logged));
                }
            }));
        });
    }

    /** Goes on if the server understands some texts. */
    private void afterReading(List<byte[]> texts, Runnable then) {
        if (texts.isEmpty()) {
            then.run();
            return;
        }
        backend.batch().check(texts.getFirst(), error -> {
            if (error != null || cycle.failed()) {
                over(cycle.failed() ? null : error, true);
            } else {
                afterReading(texts.subList(1, texts.size()), then);
            }
        });
    }

    private static ErrorFields onlyHere() {
        return Errors.notSupported("the request cannot be acknowledged as logged: the session has temporary"
                + " tables, or may only read")
                .with('H', "Use another session, or SET " + Modes.ACKNOWLEDGE + " = 'executed'.");
    }

    /**
     * Has each statement of a cycle logged as a request by itself. They are handed in at once, and in their order.
     *
     * @param draws what is drawn for them
     * @param request makes one
     * @param touched classes of each
     * @param response what the client sees of the answers
     */
    void loggedEach(SequenceDraws draws, EachRequest request, List<ConflictClasses> touched,
            UnaryOperator<byte[]> response) {
        withSettings(row -> {
            if (capture.likeOthers(row)) {
                withValues(draws, drawn -> loggedEach(number -> request.of(row, drawn, number), touched, response));
            } else {
                over(onlyHere(), true);
            }
        });
    }

    /** One of several requests. */
    interface EachRequest {
        /**
         * Makes it.
         *
         * @param settings what the session's are
         * @param drawn for all of them, or null
         * @param number which one, from 0
         */
        byte[] of(List<@Nullable String> settings, @Nullable String drawn, int number);
    }

    private void loggedEach(IntFunction<byte[]> request, List<ConflictClasses> touched,
            UnaryOperator<byte[]> response) {
        transaction.becomes(SessionState.BARRIER);
        LoggedEach all = new LoggedEach(touched.size(), session.node().names(), answers -> {
            if (answers.refused()) {
                cycle.fail();
            }
            client.write(client.buffer().writeBytes(response.apply(answers.bytes())));
            over(null, true);
        });
        for (int number = 0; number < touched.size(); number++) {
            int own = number;
            session.node().log(request.apply(number), touched.get(number),
                    number == 0 ? transaction.takeName() : null, new Completion<>() {
                        @Override
                        public void succeeded(TransactionId logged) {
                            session.onLoop(() -> all.logged(own, logged));
                        }

                        @Override
                        public void failed(EngineFailure failure) {
                            session.onLoop(() -> all.refused(own, failure));
                        }
                    });
        }
    }

    /**
     * Ends a transaction that a client has prepared, at this node or another. Returns false: its message is not passed on.
     *
     * @param simple whether it is a simple query, and not executed by the extended protocol
     */
    boolean finish(PreparedTransaction prepared, boolean simple) {
        cycle.await();
        backend.batch().once(prepared.finishing(), SentMessage.OWN_ROW).sync(reply -> {
            if (reply.error() != null || cycle.failed()) {
                over(cycle.failed() ? null : reply.error(), simple);
                return;
            }
            transaction.becomes(SessionState.BARRIER);
            String identifier = String.valueOf(reply.row().get(0));
            String role = String.valueOf(reply.row().get(1));
            Promise known = capture.promise(identifier);
            if (known != null) {
                finish(known, prepared.commits(), role, simple);
                return;
            }
            // it may have been prepared at another node just now
            session.node().awaitAll(new Completion<>() {
                @Override
                public void succeeded(Long visible) {
                    session.onLoop(() -> {
                        Promise now = capture.promise(identifier);
                        if (now == null) {
                            over(Errors.error("42704", "prepared transaction with identifier \"" + identifier
                                    + "\" does not exist"), simple);
                        } else {
                            finish(now, prepared.commits(), role, simple);
                        }
                    });
                }

                @Override
                public void failed(EngineFailure failure) {
                    session.onLoop(() -> over(Errors.error(failure.sqlState(), failure.message()), simple));
                }
            });
        });
        return false;
    }

    private void finish(Promise promise, boolean commits, String role, boolean simple) {
        session.node().barrier(capture.finish(promise, commits, role), promise.keys(), transaction.takeName(),
                whenExecuted(UnaryOperator.identity(), simple));
    }

    /**
     * Has every node make, change or drop a database. Returns false: its message is not passed on.
     *
     * @param simple whether it is a simple query, and not executed by the extended protocol
     */
    boolean database(DatabaseStatement statement, boolean simple) {
        cycle.await();
        backend.batch()
                .once("SELECT current_user::pg_catalog.text, pg_catalog.current_setting('transaction_read_only'),"
                        + " pg_catalog.current_setting('client_min_messages')", SentMessage.OWN_ROW)
                .sync(reply -> {
                    ErrorFields cause = reply.error();
                    if (cause == null && session.replicated() && "on".equals(reply.row().get(1))) {
                        cause = Errors.error(Errors.READ_ONLY,
                                "cannot execute " + statement.command() + " in a read-only transaction");
                    } else if (cause == null) {
                        cause = session.databases().refusal(statement, session.processId());
                    }
                    if (cause != null || cycle.failed()) {
                        over(cycle.failed() ? null : cause, simple);
                        return;
                    }
                    leastTold = String.valueOf(reply.row().get(2));
                    transaction.becomes(SessionState.BARRIER);
                    session.databases().change(statement, String.valueOf(reply.row().getFirst()),
                            transaction.takeName(),
                            whenExecuted(UnaryOperator.identity(), simple));
                });
        return false;
    }

    private void withSettings(Consumer<List<@Nullable String>> then) {
        cycle.await();
        List<@Nullable String> known = settings.now(backend.sent());
        if (known != null) {
            leastTold = capture.leastTold(known);
            session.onLoop(() -> then.accept(known));
            return;
        }
        backend.batch().settings(List.of()).sync(reply -> {
            if (reply.error() != null) {
                over(reply.error(), true);
            } else {
                settings.told(reply.row());
                leastTold = capture.leastTold(reply.row());
                then.accept(reply.row());
            }
        });
        settings.asked(backend.sent());
    }

    /** Draws what is to be drawn, and goes on with that; null if it is nothing. */
    private void withValues(SequenceDraws draws, Consumer<@Nullable String> then) {
        if (draws.sql().isEmpty()) {
            then.accept(null);
        } else {
            draw(draws.sql(), 1, then);
        }
    }

    /** Where this node has no values left it gets more, each time more, so that there are enough in the end. */
    private void draw(String sql, int shares, Consumer<@Nullable String> then) {
        backend.batch().once(sql, SentMessage.OWN_ROW).sync(reply -> {
            ErrorFields cause = reply.error();
            if (cause == null) {
                then.accept(reply.row().getFirst());
            } else if (cause.sqlState().equals(Repetition.SPENT) && shares <= SHARES_MAX && !client.gone()) {
                session.sequences().spent(cause.message(), shares, got -> session.onLoop(() -> {
                    if (got) {
                        draw(sql, 4 * shares, then);
                    } else {
                        over(Repetition.shown(cause), true);
                    }
                }));
            } else {
                over(Repetition.shown(cause), true);
            }
        });
    }

    private Completion<TransactionId> whenLogged(UnaryOperator<byte[]> response, int statements) {
        return new Completion<>() {
            @Override
            public void succeeded(TransactionId logged) {
                String ticket = session.node().names().of(logged);
                session.onLoop(() -> {
                    ByteBuf out = client.buffer();
                    Backend.noticeResponse(out, LoggedRequests.notice(ticket));
                    for (int i = 0; i < statements; i++) {
                        Backend.commandComplete(out, LoggedRequests.TAG);
                    }
                    byte[] bytes = new byte[out.readableBytes()];
                    out.readBytes(bytes);
                    client.write(out.clear().writeBytes(response.apply(bytes)));
                    over(null, true);
                });
            }

            @Override
            public void failed(EngineFailure failure) {
                session.onLoop(() -> over(Errors.error(failure.sqlState(), failure.message()), true));
            }
        };
    }

    private Completion<ExecuteResult> whenExecuted(UnaryOperator<byte[]> response, boolean wholeCycle) {
        return new Completion<>() {
            @Override
            public void succeeded(ExecuteResult result) {
                session.onLoop(() -> {
                    EngineFailure refusal = result.refusal();
                    if (refusal != null && result.response().length == 0) {
                        over(Errors.error(refusal.sqlState(), refusal.message()), wholeCycle);
                        return;
                    }
                    if (refusal != null) {
                        cycle.fail();
                    }
                    session.shownToAll().await(refusal == null, () -> {
                        client.write(told(response.apply(result.response())));
                        over(null, wholeCycle);
                    });
                });
            }

            @Override
            public void failed(EngineFailure failure) {
                session.onLoop(() -> over(Errors.error(failure.sqlState(), failure.message()), wholeCycle));
            }
        };
    }

    /** What the client hears of an answer: executors do not know which notices it wants. */
    private ByteBuf told(byte[] response) {
        ByteBuf in = Unpooled.wrappedBuffer(response);
        ByteBuf out = client.buffer();
        while (in.isReadable()) {
            int start = in.readerIndex();
            byte type = in.readByte();
            ByteBuf body = in.readSlice(in.readInt() - Integer.BYTES);
            if (type != Backend.NOTICE_RESPONSE || !QUIETER.getOrDefault(leastTold, List.of())
                    .contains(String.valueOf(ErrorFields.read(body).get('V')))) {
                out.writeBytes(response, start, in.readerIndex() - start);
            }
        }
        return out;
    }

    private void over(@Nullable ErrorFields cause, boolean wholeCycle) {
        if (transaction.is(SessionState.BARRIER)) {
            transaction.becomes(SessionState.IDLE);
        }
        session.loads().changed();
        transaction.report();
        if (cause != null) {
            session.error(cause);
        }
        if (session.ending().waitsForAll()) {
            session.ending().told(wholeCycle);
        } else if (client.gone()) {
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
}
