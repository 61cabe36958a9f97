package tutti.engine.postgres.apply;

import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine.Applier;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.WriteSet;
import tutti.engine.postgres.apply.NetEffect.Step;
import tutti.engine.postgres.capture.CaptureInstaller;
import tutti.engine.postgres.capture.Changes.Change;
import tutti.engine.postgres.capture.Changes.TableName;
import tutti.engine.postgres.capture.Changes;
import tutti.engine.postgres.capture.Statement;
import tutti.engine.postgres.catalog.CatalogQuery;
import tutti.engine.postgres.catalog.Table;
import tutti.engine.postgres.catalog.TableCatalog;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.Frontend;
import tutti.pgwire.PostgresException;

/**
 * Applies ordered write sets on one connection: everything of one {@link #apply} in one round trip, with statements that
 * stay prepared. A lost connection is replaced at the next call.
 *
 * <p>
 * All state belongs to the event loop; the methods hand over to it.
 */
public final class PostgresApplier implements Applier {
    /** Names the variables in which the changes of a request are gathered, which nobody reads. */
    private static final String APPLIER_KEY = "0000000000000000";
    private static final String CONNECTION_FAILURE = "08006";
    private static final String DAMAGED = "XX001";

    private final ApplierServices engine;
    private final EventLoop loop;
    private @Nullable BackendConnection connection;
    private @Nullable TableCatalog preparedFor;
    private final Map<String, Integer> prepared = new HashMap<>();
    private boolean schemaChanged;
    /** Changes are being made. */
    private boolean applying;
    private boolean closed;

    /** Made by its engine. */
    public PostgresApplier(ApplierServices engine, EventLoop loop) {
        this.engine = engine;
        this.loop = loop;
    }

    @Override
    public void apply(long position, List<WriteSet> writes, Completion<Void> done) {
        List<WriteSet> all = List.copyOf(writes);
        onConnection(done, server -> {
            List<Change> changes = new ArrayList<>();
            for (WriteSet set : all) {
                changes.addAll(Changes.read(set.changes()));
            }
            schemaChanged = false;
            applying = true;
            ScheduledFuture<?> watch = position == 0
                    ? engine.watch(loop, this, server.processId())
                    : engine.watch(loop, position, server.processId());
            applyFrom(server, engine.catalog(), changes, 0, true, new Completion<>() {
                @Override
                public void succeeded(Void nothing) {
                    watch.cancel(false);
                    applying = false;
                    done.succeeded(null);
                }

                @Override
                public void failed(EngineFailure failure) {
                    watch.cancel(false);
                    applying = false;
                    rollback(() -> done.failed(failure));
                }
            });
        });
    }

    /** Applies from the change at {@code start} on, up to a statement and then, with what it made of the schema, further. */
    private void applyFrom(BackendConnection server, TableCatalog catalog, List<Change> changes, int start,
            boolean begin,
            Completion<Void> done) {
        int end = start;
        while (end < changes.size() && !(changes.get(end) instanceof Change.Execute)) {
            end++;
        }
        Batch batch = new Batch(server.buffer());
        if (begin) {
            batch.plain("BEGIN");
        }
        try {
            for (Step step : NetEffect.of(catalog, changes.subList(start, end))) {
                step(batch, catalog, step);
            }
            if (end < changes.size() && changes.get(end) instanceof Change.Execute(byte[] statement)) {
                statement(batch, Statement.of(statement));
            }
        } catch (RuntimeException damaged) {
            batch.release();
            forget();
            done.failed(new EngineFailure(DAMAGED, String.valueOf(damaged.getMessage()), false));
            return;
        }
        int next = end + 1;
        boolean more = end < changes.size();
        batch.send(server, new BatchHandler.Listener() {
            @Override
            public void done(BatchHandler results) {
                if (!more) {
                    done.succeeded(null);
                    return;
                }
                schemaChanged = true;
                server.query(CatalogQuery.SQL).whenComplete((result, failed) -> {
                    if (failed != null) {
                        done.failed(failure(failed));
                    } else {
                        continueWith(CatalogQuery.read(result));
                    }
                });
            }

            private void continueWith(TableCatalog changed) {
                forget();
                applyFrom(server, changed, changes, next, false, done);
            }

            @Override
            public void failed(EngineFailure failure) {
                forget();
                done.failed(failure);
            }
        });
    }

    private void step(Batch batch, TableCatalog catalog, Step step) {
        if (preparedFor != catalog) {
            forget();
            preparedFor = catalog;
        }
        switch (step) {
            case Step.Truncate(var tables) -> {
                List<String> names = new ArrayList<>();
                for (TableName name : tables) {
                    Table table = catalog.table(name.schema(), name.name());
                    if (table == null) {
                        throw new IllegalStateException(
                                "table " + name.schema() + "." + name.name() + " does not exist here");
                    }
                    names.add("ONLY " + table.qualifiedName());
                }
                batch.plain("TRUNCATE " + String.join(", ", names));
            }
            case Step.Rows(var table, var operation, var rows) -> {
                boolean one = RowStatements.singly(operation, rows.size());
                String name = operation.name().charAt(0) + (one ? "1_" : "_") + table.oid();
                if (prepared.putIfAbsent(name, 1) == null) {
                    Frontend.closeStatement(batch.bytes, name);
                    Frontend.parse(batch.bytes, name, one
                            ? RowStatements.sqlForOne(table, operation)
                            : RowStatements.sql(table, operation));
                }
                int bind = Frontend.beginBind(batch.bytes, "", name, false, 1);
                if (one) {
                    Frontend.parameter(batch.bytes, rows.getFirst());
                } else {
                    RowStatements.array(batch.bytes, rows);
                }
                Frontend.endBind(batch.bytes, bind, false);
                Frontend.execute(batch.bytes, "", 0);
                batch.expectRows(rows.size(), operation + " of table " + table.displayName());
            }
        }
    }

    /** Sets up what the statement's meaning depends on, and executes it. */
    private static int statement(Batch batch, Statement statement) {
        statement.settings().forEach(
                (name, value) -> batch.plain("SELECT pg_catalog.set_config($1, $2, true)", name, value));
        batch.plain(CaptureInstaller.ALLOW);
        batch.plain("SET LOCAL ROLE " + Table.quote(statement.role()));
        int place = batch.plain(statement.sql());
        batch.plain("RESET ROLE");
        batch.plain(CaptureInstaller.ALLOW_NO_MORE);
        statement.settings().keySet().forEach(name -> batch.plain("RESET " + Table.quote(name)));
        return place;
    }

    @Override
    public void cancel() {
        loop.execute(() -> {
            BackendConnection server = connection;
            if (server != null && applying) {
                CompletableFuture<?> _ = server.cancel();
            }
        });
    }

    /**
     * Executes a client's request as its own session would: with triggers and foreign keys. What capture gathers meanwhile
     * is not needed, since every replica executes the same.
     */
    private int request(Batch batch, Statement request) {
        List<String> settings = new ArrayList<>();
        StringBuilder set = new StringBuilder("SELECT ''");
        request.settings().forEach((name, value) -> {
            set.append(", pg_catalog.set_config($").append(settings.size() + 1).append(", $")
                    .append(settings.size() + 2).append(", true)");
            settings.add(name);
            settings.add(value);
        });
        batch.named(prepared, "settings" + request.settings().size(), set.toString(), settings.toArray(String[]::new));
        batch.named(prepared, "origin", "SET LOCAL session_replication_role = origin");
        batch.plain("SET LOCAL ROLE " + Table.quote(request.role()));
        int first = batch.size();
        request.calls().forEach(batch::call);
        batch.keepResponses(first, batch.size() - 1);
        batch.plain("RESET ROLE");
        int finished = batch.plain(CaptureInstaller.FINISH, engine.secret(), APPLIER_KEY);
        batch.plain("SET LOCAL session_replication_role = replica");
        return finished;
    }

    @Override
    public void commit(long position, Completion<Void> done) {
        loop.execute(() -> {
            BackendConnection server = connection;
            if (server == null) {
                done.failed(new EngineFailure(CONNECTION_FAILURE, "the applier's connection was lost before its commit",
                        true));
                return;
            }
            Batch batch = new Batch(server.buffer());
            record(batch, position);
            batch.send(server, new BatchHandler.Listener() {
                @Override
                public void done(BatchHandler results) {
                    if (schemaChanged) {
                        refresh(done);
                    } else {
                        done.succeeded(null);
                    }
                }

                @Override
                public void failed(EngineFailure failure) {
                    rollback(() -> done.failed(failure));
                }
            });
        });
    }

    private void refresh(Completion<Void> done) {
        engine.refreshCatalog().whenComplete((_, failed) -> {
            if (failed == null) {
                done.succeeded(null);
            } else {
                done.failed(failure(failed));
            }
        });
    }

    private void record(Batch batch, long position) {
        batch.named(prepared, "record", CaptureInstaller.RECORD, Long.toString(position));
        batch.named(prepared, "commit", "COMMIT");
    }

    @Override
    public void rollback(Runnable done) {
        loop.execute(() -> {
            BackendConnection server = connection;
            if (server == null) {
                done.run();
                return;
            }
            Batch batch = new Batch(server.buffer());
            batch.plain("ROLLBACK");
            batch.send(server, new BatchHandler.Listener() {
                @Override
                public void done(BatchHandler results) {
                    done.run();
                }

                @Override
                public void failed(EngineFailure failure) {
                    server.abort();
                    lost(server);
                    done.run();
                }
            });
        });
    }

    @Override
    public void execute(long position, byte[] encoded, Completion<ExecuteResult> done) {
        onConnection(done, server -> {
            Statement statement = Statement.of(encoded);
            Batch batch = new Batch(server.buffer());
            batch.plain("BEGIN");
            int place = statement.isRequest() ? request(batch, statement) : statement(batch, statement);
            record(batch, position);
            if (!statement.isRequest()) {
                batch.keepResponses(place, place);
            }
            ScheduledFuture<?> watch = engine.watch(loop, position, server.processId());
            batch.send(server, new BatchHandler.Listener() {
                @Override
                public void done(BatchHandler results) {
                    watch.cancel(false);
                    finish(new ExecuteResult(true, results.response()));
                }

                private void finish(ExecuteResult result) {
                    if (statement.isRequest()) {
                        done.succeeded(result);
                        return;
                    }
                    engine.refreshCatalog().whenComplete((_, failed) -> {
                        if (failed == null) {
                            done.succeeded(result);
                        } else {
                            done.failed(failure(failed));
                        }
                    });
                }

                @Override
                public void failed(EngineFailure failure) {
                    watch.cancel(false);
                    throw new IllegalStateException("decided by failedWith");
                }

                @Override
                public void failedWith(EngineFailure failure, BatchHandler results) {
                    watch.cancel(false);
                    forget();
                    boolean refused = results.completed() <= place && results.refusedByAll();
                    rollback(() -> {
                        if (refused) {
                            recordRefused(position, new ExecuteResult(false, results.response()), done);
                        } else {
                            done.failed(failure);
                        }
                    });
                }
            });
        });
    }

    /** Records the position of a statement that the engine refused. */
    private void recordRefused(long position, ExecuteResult result, Completion<ExecuteResult> done) {
        onConnection(done, server -> {
            Batch batch = new Batch(server.buffer());
            batch.plain("BEGIN");
            record(batch, position);
            batch.send(server, new BatchHandler.Listener() {
                @Override
                public void done(BatchHandler results) {
                    done.succeeded(result);
                }

                @Override
                public void failed(EngineFailure failure) {
                    rollback(() -> done.failed(failure));
                }
            });
        });
    }

    /** Does something on the event loop with a connection, made if there is none. */
    private void onConnection(Completion<?> done, Consumer<BackendConnection> action) {
        loop.execute(() -> {
            if (closed) {
                done.failed(new EngineFailure("57P01", "the applier is closed", false));
                return;
            }
            BackendConnection open = connection;
            if (open != null) {
                guarded(done, action, open);
                return;
            }
            engine.connectApplier(loop).whenComplete((server, failed) -> loop.execute(() -> {
                if (failed != null) {
                    done.failed(failure(failed));
                } else {
                    connection = server;
                    prepared.clear();
                    engine.registerApplier(server, this);
                    CompletableFuture<Void> _ = server.closed().thenRun(() -> lost(server));
                    guarded(done, action, server);
                }
            }));
        });
    }

    private static void guarded(Completion<?> done, Consumer<BackendConnection> action, BackendConnection server) {
        try {
            action.accept(server);
        } catch (IllegalArgumentException damaged) {
            done.failed(new EngineFailure(DAMAGED, String.valueOf(damaged.getMessage()), false));
        }
    }

    private void lost(BackendConnection server) {
        if (connection == server) {
            connection = null;
            prepared.clear();
        }
    }

    /** What is prepared in the session is not known, or fits no more. */
    private void forget() {
        prepared.clear();
    }

    private static EngineFailure failure(Throwable failed) {
        Throwable cause = failed instanceof java.util.concurrent.CompletionException && failed.getCause() != null
                ? failed.getCause()
                : failed;
        return cause instanceof PostgresException refused
                ? BatchHandler.failure(refused.fields())
                : new EngineFailure(CONNECTION_FAILURE, String.valueOf(cause.getMessage()), true);
    }

    @Override
    public void close() {
        loop.execute(() -> {
            closed = true;
            if (connection != null) {
                connection.close();
            }
        });
    }

    /** Statements to be sent together. */
    private static final class Batch {
        private final ByteBuf bytes;
        private final List<BatchHandler.Expectation> expectations = new ArrayList<>();
        private int responseFirst = -1;
        private int responseLast = -1;

        Batch(ByteBuf bytes) {
            this.bytes = bytes;
        }

        int plain(String sql, String... parameters) {
            Frontend.statement(bytes, sql, parameters);
            expectations.add(BatchHandler.Expectation.ANY);
            return expectations.size() - 1;
        }

        void named(Map<String, Integer> prepared, String name, String sql, String... parameters) {
            if (prepared.putIfAbsent(name, 1) == null) {
                Frontend.closeStatement(bytes, name);
                Frontend.parse(bytes, name, sql);
            }
            Frontend.bind(bytes, "", name, parameters);
            Frontend.execute(bytes, "", 0);
            expectations.add(BatchHandler.Expectation.ANY);
        }

        void expectRows(int rows, String what) {
            expectations.add(new BatchHandler.Expectation(rows, what));
        }

        int size() {
            return expectations.size();
        }

        void call(Statement.Call call) {
            Frontend.parse(bytes, "", call.sql(), call.types());
            Frontend.bindAgain(bytes, "", "", call.bound());
            if (call.described()) {
                Frontend.describePortal(bytes, "");
            }
            Frontend.execute(bytes, "", call.rowsMax());
            expectations.add(BatchHandler.Expectation.ANY);
        }

        void keepResponses(int first, int last) {
            responseFirst = first;
            responseLast = last;
        }

        void send(BackendConnection server, BatchHandler.Listener listener) {
            Frontend.sync(bytes);
            server.send(bytes, new BatchHandler(expectations, responseFirst, responseLast, listener));
        }

        void release() {
            bytes.release();
        }
    }
}
