package tutti.engine.jdbc;

import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
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
import tutti.engine.procedure.StoredProcedure;

/**
 * Executes clients' {@linkplain ClientRequest requests}, several in one transaction, in a session of its own, on a thread of its own. Safe for use from any
 * thread.
 *
 * <p>
 * <b>Rollbacks</b> come at any time. One counts the run up, and has the session end what it has open: what the thread finds out
 * afterwards about the earlier run is told to nobody. The session refuses all statements from then until {@code forget}, which the
 * thread calls before it looks whether its run is still the one that counts; so a run that was rolled back executes nothing more.
 */
final class JdbcExecutor implements Executor {
    private static final int MESSAGE_LENGTH_MAX = 10_000;

    private final ClientEngine engine;
    private final ExecutorService thread = Executors
            .newSingleThreadExecutor(Thread.ofVirtual().name("tutti-executor-", 0).factory());
    private final AtomicReference<@Nullable LocalTransaction> current = new AtomicReference<>();
    private final AtomicInteger run = new AtomicInteger();
    private volatile @Nullable ClientSession session;
    private String schema = "";

    JdbcExecutor(ClientEngine engine) {
        this.engine = engine;
    }

    @Override
    public void execute(LocalTransaction transaction, List<Request> requests, Completion<Executed> done) {
        int own = run.incrementAndGet();
        current.set(transaction);
        try {
            thread.execute(() -> execute(own, requests, done));
        } catch (RejectedExecutionException closed) {
            done.failed(new EngineFailure("57P01", "the executor is closed", true));
        }
    }

    private void execute(int own, List<Request> requests, Completion<Executed> done) {
        Executed executed;
        try {
            ClientSession in = session();
            in.forget();
            if (own != run.get()) {
                return;
            }
            executed = together(own, in, requests);
        } catch (SQLException failed) {
            forget();
            EngineFailure failure = failure(failed);
            if (failure.transientFailure()) {
                failed(own, failure, done);
                return;
            }
            executed = refused(failure);
        } catch (IllegalArgumentException damaged) {
            forget();
            executed = refused(new EngineFailure("XX001", String.valueOf(damaged.getMessage()), false));
        } catch (RuntimeException | Error unexpected) {
            forget();
            failed(own, new EngineFailure("XX000", String.valueOf(unexpected), true), done);
            return;
        }
        if (own == run.get()) {
            done.succeeded(executed);
        }
    }

    private void failed(int own, EngineFailure failure, Completion<Executed> done) {
        if (own == run.get()) {
            done.failed(failure);
        }
    }

    private static Executed refused(EngineFailure why) {
        String message = why.message();
        return new Executed(WriteSet.EMPTY, new Response(why.sqlState().length() == 5 ? why.sqlState() : "HY000",
                message.length() > MESSAGE_LENGTH_MAX ? message.substring(0, MESSAGE_LENGTH_MAX) : message,
                new byte[0]));
    }

    private ClientSession session() throws SQLException {
        ClientSession open = session;
        if (open == null) {
            open = engine.openSession(current::get);
            session = open;
        }
        return open;
    }

    private void forget() {
        ClientSession open = session;
        if (open != null) {
            open.forget();
        }
    }

    /** Executes requests in one transaction: those before the first that is refused, once more. */
    private Executed together(int own, ClientSession in, List<Request> requests) throws SQLException {
        List<Response> responses = new ArrayList<>();
        try {
            for (Request each : requests) {
                responses.add(Response.done(executed(own, in, ClientRequest.of(each.statement()), each.classes())));
            }
            return captured(in, requests, responses);
        } catch (SQLException refused) {
            if (requests.size() == 1 || failure(refused).transientFailure()) {
                throw refused;
            }
        } catch (IllegalArgumentException damaged) {
            if (requests.size() == 1) {
                throw damaged;
            }
        }
        in.forget();
        if (own != run.get()) {
            throw new SQLException("the requests have been rolled back", "40001");
        }
        return together(own, in,
                requests.subList(0, responses.size() == requests.size() ? 1 : Math.max(1, responses.size())));
    }

    private byte[] executed(int own, ClientSession in, ClientRequest request, ConflictClasses classes)
            throws SQLException {
        List<ClientAnswer.Part> parts = new ArrayList<>();
        for (ClientRequest.Call call : request.calls()) {
            JavaCall java = call.java();
            String outside = java == null ? null : in.footprints().outside(call.sql(), classes);
            if (outside != null) {
                throw new JavaRun.Refusal("an argument uses " + outside
                        + ", which is not among the tables that the procedure says it touches", "2F003", null);
            }
            ClientAnswer.Part part = in.statement(call.sql(), call.parameters(), connection -> {
                if (!schema.equals(request.schema())) {
                    connection.setSchema(request.schema());
                    schema = request.schema();
                }
                try (PreparedStatement statement = connection.prepareStatement(call.sql())) {
                    return JavaRun.answer(statement, call.parameters());
                }
            });
            parts.add(java == null ? part : new ClientAnswer.Changed(called(own, in, java, part, classes)));
        }
        return new ClientAnswer(parts).toBytes();
    }

    private long called(int own, ClientSession in, JavaCall java, ClientAnswer.Part arguments, ConflictClasses classes)
            throws SQLException {
        if (!(arguments instanceof ClientAnswer.Rows(var _, var rows)) || rows.size() != 1
                || rows.getFirst().isEmpty()) {
            throw new IllegalArgumentException("a damaged call of procedure " + java.name());
        }
        JavaCall.Known known = engine.procedures();
        StoredProcedure procedure;
        try {
            procedure = known.registered().make(java.name(), java.version());
        } catch (IllegalArgumentException missing) {
            throw new JavaRun.Refusal(String.valueOf(missing.getMessage()), "55000", missing);
        }
        List<? extends @Nullable Object> row = rows.getFirst();
        return new JavaRun(in, java, classes, row.subList(1, row.size())).execute(procedure, known.limit(),
                () -> own == run.get(), () -> {
                    LocalTransaction expected = current.get();
                    if (expected != null) {
                        in.rollback(expected, () -> {});
                    }
                });
    }

    private static EngineFailure failure(SQLException failed) {
        return failed instanceof JavaRun.Refusal
                ? new EngineFailure(failed.getSQLState(), String.valueOf(failed.getMessage()), false)
                : JdbcEngine.failure(failed);
    }

    private static Executed captured(ClientSession in, List<Request> requests, List<Response> responses)
            throws SQLException {
        Executed executed = new Executed(in.capture().writes(), responses);
        String outside = in.footprints().outside(executed.writes().keys(), Request.classes(requests));
        if (outside != null) {
            throw new SQLException(
                    "the request has changed " + outside + ", which is not among the conflict classes that"
                            + " it was logged by; if the schema was changed meanwhile, try again",
                    "2F003");
        }
        if (requests.size() > 1 && executed.bytes() > BYTES_MAX) {
            throw new SQLException("the requests' changes and answers are too large for one transaction", "54000");
        }
        if (executed.writes().isEmpty()) {
            in.commitUnchanged();
        }
        return executed;
    }

    @Override
    public void commit(long position, Completion<Void> done) {
        ClientSession open = session;
        if (open == null) {
            done.failed(new EngineFailure("40001", "nothing has been executed", true));
            return;
        }
        open.commit(position, new Completion<>() {
            @Override
            public void succeeded(Void nothing) {
                current.set(null);
                done.succeeded(null);
            }

            @Override
            public void failed(EngineFailure failure) {
                current.set(null);
                done.failed(failure);
            }
        });
    }

    @Override
    public void rollback(Runnable done) {
        run.incrementAndGet();
        ClientSession open = session;
        LocalTransaction expected = current.get();
        if (open == null || expected == null) {
            done.run();
        } else {
            open.rollback(expected, done);
        }
    }

    @Override
    public void close() {
        run.incrementAndGet();
        ClientSession open = session;
        LocalTransaction expected = current.get();
        if (open != null && expected != null) {
            open.rollback(expected, () -> {});
        }
        thread.close();
        if (open != null) {
            open.close();
        }
    }
}
