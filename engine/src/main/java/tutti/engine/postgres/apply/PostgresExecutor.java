package tutti.engine.postgres.apply;

import io.netty.channel.EventLoop;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ScheduledFuture;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.Response;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine.Executed;
import tutti.core.spi.Engine.Executor;
import tutti.core.spi.Engine.Request;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.WriteSet;
import tutti.engine.postgres.capture.CaptureException;
import tutti.engine.postgres.capture.CaptureInstaller;
import tutti.engine.postgres.capture.CaptureReader;
import tutti.engine.postgres.capture.Statement;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.Cancellation;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.PostgresException;

/**
 * Executes clients' whole requests of any node, each in a session of a role that may take the client's role and do nothing else: all of
 * some requests, and the closing of their capture, in one round trip. A lost connection is replaced at the next call.
 *
 * <p>
 * <b>Several in one transaction</b> are of one role, and each sets its role and all its settings before it begins, so that it finds the session as if
 * it were the first: the engine {@linkplain ExecutorServices#together says} whether anything else could be left behind. If one is refused that is not
 * the first, all is rolled back and executed again with a savepoint before each, and so are the next transactions of several. Then what is refused is
 * undone alone, those behind it go on, and its refusal is its result: it has seen what those before it leave, which are committed with it. What several of them say under the same settings is prepared once; with the end of the transaction
 * it is given up, so nothing is read by settings of another one.
 *
 * <p>
 * <b>Clients' code</b> runs in these sessions, and what it can do to them is undone when its transaction ends: a session serves one role
 * only, so that code which resets the role is left with that one or none; settings, cursors, temporary tables, prepared statements and
 * advisory locks are given up. The variables in which rows are gathered are named by a key that is drawn for each executor.
 *
 * <p>
 * All state belongs to the event loop; the methods hand over to it.
 */
public final class PostgresExecutor implements Executor {
    private static final String BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ WRITE";
    /** Without the queries of cursors WITH HOLD, which nobody could read any more, and of which COMMIT would wait for the end. */
    private static final String COMMIT = "CLOSE ALL; COMMIT";
    private static final int COMMIT_STATEMENTS = 2;
    private static final String ROLLBACK = "ROLLBACK";
    /** So many transactions of several have savepoints since a request was refused: these cost each request a little. */
    private static final int APART = 100;
    private static final String LOCKS = "SELECT DISTINCT relation FROM pg_catalog.pg_locks"
            + " WHERE locktype OPERATOR(pg_catalog.=) 'relation' AND pid OPERATOR(pg_catalog.=) pg_catalog.pg_backend_pid()";
    private static final int KEY_BYTES = 8;
    /** Sessions of one executor: most roles whose requests it executes without connecting again. */
    private static final int ROLES_MAX = 4;
    private static final int MESSAGE_LENGTH_MAX = 10_000;
    private static final SecureRandom RANDOM = new SecureRandom();

    private final ExecutorServices engine;
    private final EventLoop loop;
    private final byte[] key;
    /** Of the names of statements that are prepared once for several requests. */
    private final String prefix;
    /** The name of the savepoint before a request. */
    private final String savepoint;
    /** By role, the one that was used last at the end. */
    private final Map<String, BackendConnection> connections = new LinkedHashMap<>(8, 0.75f, true);
    /** What waits until everything has been rolled back. */
    private final List<Runnable> rollbacks = new ArrayList<>();
    /** The session in which a transaction is open, or being ended. */
    private @Nullable BackendConnection server;
    private volatile @Nullable LocalTransaction transaction;
    /** So many transactions of several are still to have savepoints. */
    private int apart;
    /** Counts the executions and their ends: what belongs to an earlier one means nothing. */
    private int run;
    /** Something has been sent that is not answered. */
    private boolean underWay;
    /** Of what is under way, once a rollback has been asked for. */
    private @Nullable Cancellation cancellation;
    private boolean closed;

    /** Made by its engine. */
    public PostgresExecutor(ExecutorServices engine, EventLoop loop) {
        this.engine = engine;
        this.loop = loop;
        byte[] random = new byte[KEY_BYTES];
        RANDOM.nextBytes(random);
        String drawn = HexFormat.of().formatHex(random);
        this.key = drawn.getBytes(StandardCharsets.US_ASCII);
        this.prefix = "tutti_" + drawn + "_";
        this.savepoint = prefix + "before";
    }

    // ------------------------------------------------------------------------------------------ executing

    /**
     * Requests that are executed in one transaction.
     *
     * @param apart whether each but the first has a savepoint before it
     */
    private record Together(LocalTransaction transaction, List<Request> requests, List<Statement> statements,
            boolean apart, Completion<Executed> done) {
        String role() {
            return statements.getFirst().role();
        }

        boolean several() {
            return requests.size() > 1;
        }

        ConflictClasses classes() {
            return Request.classes(requests);
        }

        /** The first ones. */
        Together first(int count) {
            return new Together(transaction, requests.subList(0, count), statements.subList(0, count), apart, done);
        }

        Together withSavepoints() {
            return new Together(transaction, requests, statements, true, done);
        }
    }

    @Override
    public void execute(LocalTransaction whose, List<Request> requests, Completion<Executed> done) {
        loop.execute(() -> {
            int own = ++run;
            List<Statement> statements = new ArrayList<>();
            try {
                for (Request each : requests) {
                    Statement next = Statement.of(each.statement());
                    next.calls();
                    if (!statements.isEmpty() && !follows(next, statements.getFirst())) {
                        break;
                    }
                    statements.add(next);
                }
            } catch (IllegalArgumentException damaged) {
                if (statements.isEmpty()) {
                    done.succeeded(refused(ErrorFields.of("ERROR", "XX001", String.valueOf(damaged.getMessage()))));
                    return;
                }
            }
            boolean savepoints = statements.size() > 1 && apart > 0;
            apart -= savepoints ? 1 : 0;
            begin(new Together(whose, requests.subList(0, statements.size()), statements, savepoints, done), own);
        });
    }

    /** Whether a request finds the session behind another as it would in a transaction of its own: all that it asks for is set anew. */
    private boolean follows(Statement next, Statement first) {
        return engine.together() && !callsJava(next) && !callsJava(first) && next.role().equals(first.role())
                && next.settings().keySet().equals(first.settings().keySet());
    }

    private static boolean callsJava(Statement statement) {
        return statement.settings().containsKey(Statement.JAVA_VERSIONS);
    }

    private void begin(Together all, int own) {
        transaction = all.transaction;
        connection(all, (opened, failed) -> {
            if (own != run) {
                return;
            }
            if (opened != null) {
                send(opened, all, List.of(), own);
            } else if (failed instanceof PostgresException refusal && refusal.sqlState().equals("28000")) {
                all.done.succeeded(refused(refusal.fields()));
            } else {
                // who cannot even ask knows nothing of the request
                all.done.failed(new EngineFailure("08006",
                        failed == null ? "the executor is closed" : String.valueOf(failed.getMessage()),
                        EngineFailure.Kind.TROUBLE));
            }
        });
    }

    private interface Connected {
        void with(@Nullable BackendConnection opened, @Nullable Throwable failed);
    }

    private void connection(Together all, Connected then) {
        String role = all.role();
        BackendConnection open = connections.get(role);
        if (closed || open != null) {
            then.with(closed ? null : open, null);
            return;
        }
        var _ = engine.connectExecutor(loop, role, all.transaction).whenComplete((made, failed) -> loop.execute(() -> {
            BackendConnection earlier = connections.get(role);
            if (failed != null) {
                then.with(null, failed instanceof CompletionException && failed.getCause() != null
                        ? failed.getCause()
                        : failed);
            } else if (closed) {
                made.close();
                then.with(null, null);
            } else if (earlier != null) {
                made.close(); // one was on its way already
                then.with(earlier, null);
            } else {
                keep(role, made);
                then.with(made, null);
            }
        }));
    }

    private void keep(String role, BackendConnection made) {
        if (connections.size() == ROLES_MAX) {
            BackendConnection eldest = connections.remove(connections.keySet().iterator().next());
            if (eldest != null) {
                eldest.close();
            }
        }
        connections.put(role, made);
        ExecutorServices.Registration entry = engine.registerSession(made.processId(),
                () -> made.equals(server) ? transaction : null);
        CompletableFuture<Void> _ = made.closed().thenRun(() -> {
            entry.close();
            connections.remove(role, made);
        });
    }

    /**
     * Sends requests.
     *
     * @param before what those before them were answered; the last of these was refused, and is undone first
     */
    private void send(BackendConnection to, Together all, List<Response> before, int own) {
        // Statements that are prepared behind an error are not there, so each part has names of its own.
        Batch batch = new Batch(to.buffer(), all.several() ? prefix + before.size() + "_" : null);
        batch.query(before.isEmpty() ? BEGIN : "ROLLBACK TO SAVEPOINT " + savepoint, 1);
        List<Integer> begun = new ArrayList<>();
        for (int i = before.size(); i < all.statements.size(); i++) {
            Statement request = all.statements.get(i);
            batch.session(request);
            if (all.apart && i > 1) {
                batch.execute("RELEASE SAVEPOINT " + savepoint);
            }
            if (all.apart && i > 0) {
                batch.execute("SAVEPOINT " + savepoint);
            }
            int from = batch.size();
            begun.add(from);
            request.calls().forEach(call -> batch.statement(call, request));
            batch.keepResponses(from, batch.size() - 1);
        }
        boolean java = callsJava(all.statements.getFirst());
        int last = java ? batch.size() - 1 : finish(batch);
        int first = begun.isEmpty() ? last : begun.getFirst();
        ScheduledFuture<?> watch = engine.watch(loop, all.transaction, to.processId(), () -> own == run && underWay);
        TimeLimit limit = new TimeLimit(loop, engine.statementTime(), "the request", () -> true,
                () -> engine.end(to.processId()));
        server = to;
        send(batch, to, new Answered(own) {
            @Override
            void over() {
                watch.cancel(false);
                limit.over();
            }

            // With what the first of those that were sent were answered.
            private List<Response> responses(BatchHandler results, int count) {
                List<Response> responses = new ArrayList<>(before);
                for (int i = 0; i < count; i++) {
                    responses.add(Response.done(results.response(i)));
                }
                return responses;
            }

            @Override
            void done(BatchHandler results) {
                Told told = new Told(all, results.result(), responses(results, begun.size()), own);
                if (results.overflowed()) {
                    refuse(told,
                            ErrorFields.of("ERROR", "54000", "the request's answer is too long; ask for less, or in a"
                                    + " transaction of several statements"));
                } else if (java) {
                    callJava(to, told);
                } else {
                    executed(to, told);
                }
            }

            @Override
            void failed(EngineFailure reported, BatchHandler results) {
                EngineFailure failure = limit.over(reported);
                engine.failed(failure);
                boolean late = !failure.equals(reported);
                boolean refused = late || (results.completed() >= first && results.completed() <= last
                        && results.refusedByAll());
                int done = results.groups();
                int number = before.size() + done;
                boolean itself = refused && !late && !results.overflowed() && done < begun.size()
                        && results.completed() >= begun.get(done);
                if (itself && number > 0) {
                    apart = APART;
                    if (all.apart) {
                        List<Response> responses = responses(results, done);
                        responses.add(refusal(failure, results.response(done)));
                        send(to, all, responses, own);
                        return;
                    }
                }
                if (results.completed() < first) {
                    to.abort(); // the role may not be what it was
                }
                end(ROLLBACK, own, () -> {
                    if (itself && number > 0) {
                        begin(all.withSavepoints(), own);
                    } else if (refused && all.several()) {
                        // Those before it; if all have been executed, it is not known which has failed.
                        begin(all.first(number == all.requests.size() ? 1 : Math.max(1, number)), own);
                    } else if (refused) {
                        all.done.succeeded(new Executed(WriteSet.EMPTY,
                                refusal(failure, late ? new byte[0] : results.response())));
                    } else {
                        all.done.failed(passing(failure));
                    }
                });
            }
        });
    }

    /** Closes the capture; its place. */
    private int finish(Batch batch) {
        int place = batch.call(engine.functions().finish(), engine.functionSecret(),
                engine.leavesOut() ? key : CaptureInstaller.wholeRows(key));
        batch.keepResult(place);
        return place;
    }

    private void executed(BackendConnection in, Told told) {
        if (told.all.statements.stream().anyMatch(each -> each.settings().containsKey(Statement.DECLARED))
                && !told.all.classes().all()) {
            used(in, told);
        } else {
            judge(told, List.of());
        }
    }

    // ------------------------------------------------------------------------------------------ procedures in Java

    /** The statements of a request have been executed, and have asked for procedures in Java. */
    private void callJava(BackendConnection in, Told told) {
        int own = told.run;
        Statement request = told.all.statements.getFirst();
        new JavaCalls(engine, loop, in, told.all.transaction, request, new JavaCalls.Session() {
            @Override
            public boolean counts() {
                return own == run && in.equals(server);
            }

            @Override
            public void underWay(boolean now) {
                underWay = now;
                if (own != run) {
                    rollBackIfQuiet();
                }
            }
        }).start(failed -> {
            if (own != run) {
                rollBackIfQuiet();
            } else if (failed == null) {
                close(in, told);
            } else {
                ErrorFields refusal = JavaCalls.refusal(failed);
                end(ROLLBACK, own, () -> {
                    if (refusal != null) {
                        told.all.done.succeeded(refused(refusal));
                    } else {
                        told.all.done.failed(new EngineFailure("40001", String.valueOf(failed.getMessage()), true));
                    }
                });
            }
        });
    }

    /** All has been executed. */
    private void close(BackendConnection in, Told told) {
        Batch batch = new Batch(in.buffer());
        finish(batch);
        send(batch, in, new Answered(told.run) {
            @Override
            void done(BatchHandler results) {
                executed(in, new Told(told.all, results.result(), told.responses, told.run));
            }

            @Override
            void failed(EngineFailure failure, BatchHandler results) {
                engine.failed(failure);
                end(ROLLBACK, run, () -> {
                    if (results.refusedByAll()) {
                        told.all.done.succeeded(new Executed(WriteSet.EMPTY, refusal(failure, new byte[0])));
                    } else {
                        told.all.done.failed(passing(failure));
                    }
                });
            }
        });
    }

    // ------------------------------------------------------------------------------------------ what comes of it

    /** What is known of requests when they have been executed. */
    private record Told(Together all, byte @Nullable [] gathered, List<Response> responses, int run) {}

    /** Their classes are what somebody says: finds out what they have used. */
    private void used(BackendConnection in, Told told) {
        underWay = true;
        var _ = in.query(LOCKS).whenComplete((locks, failed) -> {
            underWay = false;
            if (told.run != run) {
                rollBackIfQuiet();
            } else if (failed != null) {
                end(ROLLBACK, told.run, () -> told.all.done.failed(
                        new EngineFailure("08006", String.valueOf(failed.getMessage()), true)));
            } else {
                judge(told, locks.rows().stream().map(row -> Long.valueOf(String.valueOf(row.getFirst()))).toList());
            }
        });
    }

    private void judge(Told told, List<Long> relations) {
        int own = told.run;
        Completion<Executed> done = told.all.done;
        byte[] gathered = told.gathered;
        try {
            WriteSet writes = gathered == null
                    ? WriteSet.EMPTY
                    : CaptureReader.read(engine.catalog(), gathered).writes();
            Executed executed = new Executed(writes, told.responses);
            String outside = engine.check().outside(writes, relations, told.all.classes());
            if (outside != null) {
                refuse(told, ErrorFields.of("ERROR", "2F003", "the request has used "
                        + outside + ", which is not among the conflict classes that it was logged by"));
            } else if (told.all.several() && executed.bytes() > BYTES_MAX) {
                refuse(told, ErrorFields.of("ERROR", "54000", "too large for one transaction"));
            } else if (gathered == null) {
                end(COMMIT, own, () -> done.succeeded(executed));
            } else {
                done.succeeded(executed);
            }
        } catch (CaptureReader.UnknownTable older) {
            end(ROLLBACK, own, () -> {
                var _ = engine.refreshCatalog().whenComplete((_, _) -> done.failed(new EngineFailure("40001",
                        "the request changes a table that is not known yet: " + older.getMessage(), true)));
            });
        } catch (CaptureException cannot) {
            refuse(told, ErrorFields.of("ERROR", cannot.sqlState(), String.valueOf(cannot.getMessage())));
        }
    }

    /** What they have changed together cannot be: of several, the first is executed alone. */
    private void refuse(Told told, ErrorFields why) {
        end(ROLLBACK, told.run, () -> {
            if (told.all.several()) {
                begin(told.all.first(1), told.run);
            } else {
                told.all.done.succeeded(refused(why));
            }
        });
    }

    /** What is no result of a request's. */
    private static EngineFailure passing(EngineFailure failure) {
        return failure.transientFailure()
                ? failure
                : new EngineFailure(failure.sqlState(), failure.message(), true);
    }

    private static String limited(String message) {
        return message.length() > MESSAGE_LENGTH_MAX ? message.substring(0, MESSAGE_LENGTH_MAX) + "…" : message;
    }

    private static Response refusal(EngineFailure why, byte[] content) {
        return new Response(why.sqlState(), limited(why.message()), content);
    }

    private static Executed refused(ErrorFields why) {
        return new Executed(WriteSet.EMPTY,
                new Response(why.sqlState(), limited(why.message()), new byte[0]));
    }

    // ------------------------------------------------------------------------------------------ ending

    @Override
    public void commit(long position, Completion<Void> done) {
        loop.execute(() -> {
            BackendConnection open = server;
            if (open == null) {
                done.failed(new EngineFailure("08006", "the executor's connection was lost before its commit", true));
                return;
            }
            int own = run;
            Batch batch = new Batch(open.buffer());
            batch.call(engine.functions().record(), engine.functionSecret(),
                    Batch.bytes(position));
            batch.query(COMMIT, COMMIT_STATEMENTS);
            int committed = batch.size();
            batch.clean();
            send(batch, open, new Answered(own) {
                @Override
                void done(BatchHandler results) {
                    ended();
                    done.succeeded(null);
                }

                @Override
                void failed(EngineFailure failure, BatchHandler results) {
                    if (results.completed() >= committed) {
                        open.abort();
                        ended();
                        done.succeeded(null);
                    } else {
                        engine.failed(failure);
                        end(ROLLBACK, own, () -> done.failed(
                                new EngineFailure(failure.sqlState(), failure.message(), true)));
                    }
                }
            });
        });
    }

    @Override
    public void rollback(Runnable done) {
        loop.execute(() -> {
            run++;
            BackendConnection open = server;
            if (open == null) {
                transaction = null;
                done.run();
                return;
            }
            rollbacks.add(done);
            if (rollbacks.size() > 1) {
                return;
            }
            if (underWay) {
                Cancellation of = new Cancellation(open);
                cancellation = of;
                of.until(() -> !underWay);
                of.whenNone(this::rollBackIfQuiet);
            } else {
                rollBackIfQuiet();
            }
        });
    }

    /** A cancellation that comes late would hit what is sent next. */
    private void rollBackIfQuiet() {
        Cancellation of = cancellation;
        if (underWay || rollbacks.isEmpty()) {
            return;
        }
        if (of == null || of.none()) {
            cancellation = null;
            end(ROLLBACK, run, () -> {});
        } else {
            of.stop();
            of.whenNone(this::rollBackIfQuiet);
        }
    }

    /** Ends the transaction in the engine; whoever waits for a rollback is told, whatever this was. */
    private void end(String how, int own, Runnable then) {
        BackendConnection open = server;
        if (open == null) {
            ended();
            then.run();
            return;
        }
        Batch batch = new Batch(open.buffer());
        batch.query(how, how.equals(COMMIT) ? COMMIT_STATEMENTS : 1);
        batch.clean();
        send(batch, open, new Answered(own) {
            @Override
            void done(BatchHandler results) {
                ended();
                then.run();
            }

            @Override
            void failed(EngineFailure failure, BatchHandler results) {
                open.abort();
                ended();
                then.run();
            }
        });
    }

    /** Nothing is open any more. */
    private void ended() {
        server = null;
        transaction = null;
        List<Runnable> waiting = List.copyOf(rollbacks);
        rollbacks.clear();
        waiting.forEach(Runnable::run);
    }

    /** What becomes of something that was sent, unless a rollback has been asked for since. */
    private abstract static class Answered {
        final int run;

        Answered(int run) {
            this.run = run;
        }

        /** It has been answered, in any case. */
        void over() {}

        abstract void done(BatchHandler results);

        abstract void failed(EngineFailure failure, BatchHandler results);
    }

    private void send(Batch batch, BackendConnection to, Answered answered) {
        underWay = true;
        batch.send(to, new BatchHandler.Listener() {
            @Override
            public void done(BatchHandler results) {
                answered(() -> answered.done(results));
            }

            @Override
            public void failed(EngineFailure failure) {
                throw new IllegalStateException("decided by failedWith");
            }

            @Override
            public void failedWith(EngineFailure failure, BatchHandler results) {
                answered(() -> answered.failed(failure, results));
            }

            private void answered(Runnable then) {
                underWay = false;
                answered.over();
                if (answered.run == run) {
                    then.run();
                } else {
                    rollBackIfQuiet();
                }
            }
        });
    }

    @Override
    public void close() {
        loop.execute(() -> {
            closed = true;
            List.copyOf(connections.values()).forEach(BackendConnection::close);
        });
    }
}
