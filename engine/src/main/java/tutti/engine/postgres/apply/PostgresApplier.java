package tutti.engine.postgres.apply;

import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
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
import tutti.engine.postgres.capture.CaptureInstaller.Role;
import tutti.engine.postgres.capture.Changes.Change;
import tutti.engine.postgres.capture.Promise;
import tutti.engine.postgres.apply.EngineCalls.Begin;
import tutti.engine.postgres.capture.Statement;
import tutti.pgwire.Backend;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.Cancellation;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.PostgresException;

/**
 * Applies ordered write sets: everything of one call in one round trip. A lost connection is replaced at the next call.
 *
 * <p>
 * <b>Clients' code</b> (CHECK functions, index expressions, triggers, what a schema change calls) runs in these sessions, so they
 * are of roles that may do nothing (docs/decisions/0016). Rows are written by functions of the tables' owners, a schema
 * change is made as the role that sent it, of which the session is a member until it is made. What code can do to the session:
 * take back the role, and be one that may do nothing; prepare, close or name statements, of which none is used here: functions are
 * called by object id, statements have no name and are parsed each time; change settings, on which the functions do not depend; make temporary objects, take
 * advisory locks, listen. All that lasts is undone when the transaction is over.
 *
 * <p>
 * All state belongs to the event loop; the methods hand over to it.
 */
public final class PostgresApplier implements Applier {
    private static final String BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE";
    private static final String CONNECTION_FAILURE = "08006";
    private static final String DAMAGED = "XX001";
    private static final String NOT_THERE = "42704";
    /** No position: they begin at 1. */
    private static final long NOT_YET = 0;

    private final ApplierServices engine;
    private final EngineCalls calls;
    private final EventLoop loop;
    /** The session that writes rows and changes the schema; one of another role executes requests. */
    private final Map<Role, BackendConnection> connections = new EnumMap<>(Role.class);
    /** Roles in whose session clients' code has run since it was cleaned. */
    private final Set<Role> touched = EnumSet.noneOf(Role.class);
    private boolean schemaChanged;
    /** What the open transaction prepares for clients. */
    private final List<Change.Prepare> kept = new ArrayList<>();
    /** Changes are being made. */
    private boolean applying;
    /** Of what is being applied, if somebody has asked for it. */
    private @Nullable Cancellation cancellation;
    private boolean closed;

    /** Made by its engine. */
    public PostgresApplier(ApplierServices engine, EventLoop loop) {
        this.engine = engine;
        calls = new EngineCalls(engine);
        this.loop = loop;
    }

    @Override
    public void apply(long position, List<WriteSet> writes, Completion<Void> done) {
        apply(position, writes, NOT_YET, done);
    }

    /** In one message, so that the server is woken once and answers once: it says by itself whether all rows were there. */
    @Override
    public void applyAndCommit(long first, List<WriteSet> writes, long last, Completion<Void> done) {
        apply(first, writes, last, done);
    }

    /** @param last to be recorded and committed; {@link #NOT_YET} if that comes later */
    private void apply(long position, List<WriteSet> writes, long last, Completion<Void> done) {
        List<WriteSet> all = List.copyOf(writes);
        if (engine.builds().any() && changesTables(all)) {
            withoutBuilds(done, end -> apply(position, all, last, Begin.DROPPING, end));
        } else {
            apply(position, all, last, Begin.PLAIN, done);
        }
    }

    /** Whether more than rows changes. What is damaged does not matter here. */
    private static boolean changesTables(List<WriteSet> writes) {
        try {
            ChangeParts parts = new ChangeParts(writes.stream().map(WriteSet::changes).toList());
            for (ChangeParts.Part part = parts.next();; part = parts.next()) {
                if (part.statement() != null || part.rows().stream().anyMatch(Change.Truncate.class::isInstance)) {
                    return true;
                } else if (part.last()) {
                    return false;
                }
            }
        } catch (RuntimeException damaged) {
            return false;
        }
    }

    /**
     * Does something where this node builds no index, and may drop what there is of those: other nodes may not have them.
     *
     * @param action told what to tell when it is over
     */
    private <T> void withoutBuilds(Completion<T> done, Consumer<Completion<T>> action) {
        IndexBuilds builds = engine.builds();
        CompletableFuture<Void> _ = builds.stop().thenRun(() -> action.accept(new Completion<>() {
            @Override
            public void succeeded(T value) {
                builds.resume();
                done.succeeded(value);
            }

            @Override
            public void failed(EngineFailure failure) {
                builds.resume();
                done.failed(failure);
            }
        }));
    }

    private void apply(long position, List<WriteSet> all, long last, Begin begin, Completion<Void> done) {
        onConnection(Role.APPLIER, done, server -> {
            schemaChanged = false;
            applying = true;
            ScheduledFuture<?> watch = position == 0
                    ? engine.watch(loop, this, server.processId())
                    : engine.watch(loop, position, server.processId());
            ChangeParts parts = new ChangeParts(all.stream().map(WriteSet::changes).toList());
            TimeLimit limit = rowsLimit(position, server, all.stream().mapToLong(each -> each.changes().length).sum());
            apply(server, engine.schema(), parts, begin, last, new Completion<>() {
                @Override
                public void succeeded(Void nothing) {
                    limit.over();
                    over(() -> {
                        if (last == NOT_YET) {
                            done.succeeded(null);
                        } else {
                            committed(last, done);
                        }
                    });
                }

                @Override
                public void failed(EngineFailure failure) {
                    EngineFailure why = limit.over(failure);
                    engine.failed(why);
                    over(() -> rollback(Role.APPLIER, () -> {
                        if (isChosen(failure, begin)) {
                            withoutBuilds(done, end -> apply(position, all, last, Begin.ALONE, end));
                        } else if (begin == Begin.PLAIN && engine.builds().any()
                                && !why.sqlState().equals(CONNECTION_FAILURE)) {
                            // an index that other nodes may not have may have refused a row
                            withoutBuilds(done, end -> apply(position, all, last, Begin.DROPPING, end));
                        } else {
                            done.failed(why);
                        }
                    }));
                }

                private void over(Runnable then) {
                    watch.cancel(false);
                    applying = false;
                    noCancels(then);
                }
            });
        });
    }

    /** Whether the server may have chosen a name because of what clients of this node alone have not committed. */
    private static boolean isChosen(EngineFailure failure, Begin begin) {
        return begin != Begin.ALONE && failure.sqlState().equals(Statement.CHOSEN_BESIDE_OTHERS);
    }

    private TimeLimit rowsLimit(long position, BackendConnection server, long bytes) {
        return new TimeLimit(loop, TimeLimit.forRows(engine.rowsTime(), bytes),
                "what clients' code does when the rows of position " + position + " are written",
                () -> touched.contains(Role.APPLIER), () -> engine.end(server.processId()));
    }

    /** Applies a part, and then the rest, as the schema is behind it; commits with the last one if that is asked for. */
    private void apply(BackendConnection server, AppliedSchema schema, ChangeParts parts, Begin begin, long recorded,
            Completion<Void> done) {
        Batch batch = new Batch(server.buffer());
        if (begin != Begin.BEGUN) {
            batch.query(BEGIN, 1);
        }
        calls.begin(batch, begin);
        ChangeParts.Part part;
        byte[] statement;
        try {
            part = parts.next();
            statement = part.statement();
            for (Step step : NetEffect.of(schema.catalog(), schema.placed().kept(part.rows()))) {
                step(batch, schema, step);
            }
            if (statement != null) {
                touched.add(Role.APPLIER);
                calls.statement(batch, Statement.of(statement));
            }
        } catch (RuntimeException damaged) {
            batch.release();
            done.failed(new EngineFailure(DAMAGED, String.valueOf(damaged.getMessage()), false));
            return;
        }
        boolean last = part.last() && statement == null;
        boolean commits = last && recorded != NOT_YET;
        if (commits) {
            record(batch, recorded);
        }
        batch.send(server, new BatchHandler.Listener() {
            @Override
            public void done(BatchHandler results) {
                if (statement != null) {
                    schemaChanged = true;
                    AppliedSchema.read(server).whenComplete((changed, failed) -> {
                        if (failed != null) {
                            done.failed(failure(failed));
                        } else {
                            apply(server, changed, parts, Begin.BEGUN, recorded, done);
                        }
                    });
                } else if (last) {
                    done.succeeded(null);
                } else {
                    apply(server, schema, parts, Begin.BEGUN, recorded, done);
                }
            }

            @Override
            public void failed(EngineFailure failure) {
                throw new IllegalStateException("decided by failedWith");
            }

            @Override
            public void failedWith(EngineFailure failure, BatchHandler results) {
                if (commits && results.lost()) {
                    // Whether the commit has been made may stay unknown: then it is taken for made. If not, it is not to be any more.
                    kept.clear();
                    end(server);
                }
                done.failed(failure);
            }
        });
    }

    /** A connection is lost: its session may go on with what it was asked for, and is not to when that is asked for again. */
    private void end(BackendConnection server) {
        if (!closed) {
            engine.end(server.processId());
        }
    }

    /** Leaves nothing of a client's in a session whose transaction is over: an idle one would keep locks from others. */
    private void clean(Role role, Runnable then) {
        BackendConnection server = connections.get(role);
        if (server == null || !touched.remove(role)) {
            then.run();
            return;
        }
        Batch batch = new Batch(server.buffer());
        batch.clean();
        send(batch, server, role, then);
    }

    /** Sends what must not fail: if it does, the session is given up. */
    private void send(Batch batch, BackendConnection server, Role role, Runnable then) {
        batch.send(server, new BatchHandler.Listener() {
            @Override
            public void done(BatchHandler results) {
                then.run();
            }

            @Override
            public void failed(EngineFailure failure) {
                server.abort();
                connections.remove(role, server);
                then.run();
            }
        });
    }

    private void step(Batch batch, AppliedSchema schema, Step step) {
        switch (step) {
            case Step.Truncate(var tables) -> calls.truncate(batch, schema.catalog(), tables);
            case Step.Notify(byte[] channel, byte[] payload) ->
                calls.call(batch, engine.functions().raise(), channel, payload);
            case Step.Prepare(var transaction) -> {
                engine.promises().keep(Promise.of(transaction.identifier(), transaction.token(), transaction.keys()));
                kept.add(transaction);
                calls.call(batch, engine.functions().prepare(), transaction.parts().toArray(byte[][]::new));
            }
            case Step.Restart(var sequence) -> calls.restart(batch, sequence);
            case Step.LargeObject(var object) ->
                calls.call(batch, engine.functions().largeObject(), object.parts().toArray(byte[][]::new));
            case Step.LargePages(var pages) ->
                calls.call(batch, engine.functions().largePages(), pages.parts().toArray(byte[][]::new));
            case Step.Rows(var table, var operation, var columns, var rows) -> {
                ApplyFunctions.Function function = schema.functions().function(table, operation, columns != null,
                        rows.size());
                if (function.runsCode()) {
                    touched.add(Role.APPLIER);
                }
                byte[] given = ApplyFunctions.singly(operation, rows.size()) ? rows.getFirst() : RowArray.of(rows);
                if (columns == null) {
                    batch.call(function.oid(), engine.functionSecret(), given);
                } else {
                    batch.call(function.oid(), engine.functionSecret(), given, columns);
                }
            }
        }
    }

    @Override
    public void cancel() {
        loop.execute(() -> {
            BackendConnection server = connections.get(Role.APPLIER);
            if (server != null && applying && cancellation == null) {
                cancellation = new Cancellation(server);
                cancellation.until(() -> !applying);
            }
        });
    }

    /** Goes on when no request to cancel is under way, which would meet what comes next. */
    private void noCancels(Runnable then) {
        Cancellation of = cancellation;
        if (of == null || of.none()) {
            cancellation = null;
            then.run();
        } else {
            of.stop();
            of.whenNone(() -> {
                cancellation = null;
                then.run();
            });
        }
    }

    @Override
    public void commit(long position, Completion<Void> done) {
        loop.execute(() -> {
            BackendConnection server = connections.get(Role.APPLIER);
            if (server == null) {
                done.failed(new EngineFailure(CONNECTION_FAILURE, "the applier's connection was lost before its commit",
                        true));
                return;
            }
            Batch batch = new Batch(server.buffer());
            record(batch, position);
            // Whether the commit has been made may stay unknown: then it is taken for made.
            kept.clear();
            batch.send(server, new BatchHandler.Listener() {
                @Override
                public void done(BatchHandler results) {
                    committed(position, done);
                }

                @Override
                public void failed(EngineFailure failure) {
                    engine.failed(failure);
                    rollback(Role.APPLIER, () -> done.failed(failure));
                }
            });
        });
    }

    private void committed(long position, Completion<Void> done) {
        kept.clear();
        clean(Role.APPLIER, () -> cleaned(position, done));
    }

    private void cleaned(long position, Completion<Void> done) {
        if (!schemaChanged) {
            done.succeeded(null);
            return;
        }
        engine.refreshCatalog(loop, position).whenComplete((_, failed) -> {
            if (failed == null) {
                done.succeeded(null);
            } else {
                done.failed(failure(failed));
            }
        });
    }

    private void record(Batch batch, long position) {
        calls.call(batch, engine.functions().record(), Batch.bytes(position));
        batch.query("COMMIT", 1);
    }

    @Override
    public void rollback(Runnable done) {
        loop.execute(() -> rollback(Role.APPLIER, done));
    }

    private void rollback(Role role, Runnable done) {
        if (role == Role.APPLIER) {
            kept.forEach(each -> engine.promises().forget(each.identifier(), each.token()));
            kept.clear();
        }
        BackendConnection server = connections.get(role);
        if (server == null) {
            done.run();
            return;
        }
        touched.remove(role);
        Batch batch = new Batch(server.buffer());
        batch.query("ROLLBACK", 1);
        batch.clean();
        send(batch, server, role, done);
    }

    @Override
    public void execute(long position, byte[] encoded, Completion<ExecuteResult> done) {
        Statement statement;
        try {
            statement = Statement.of(encoded);
        } catch (IllegalArgumentException damaged) {
            done.failed(new EngineFailure(DAMAGED, String.valueOf(damaged.getMessage()), false));
            return;
        }
        if (statement.isBuild()) {
            reach(position, statement, done);
            return;
        }
        IndexBuilds.Built built = engine.builds().built(encoded);
        if (built != null) {
            execute(position, statement, built, Begin.PLAIN, new Completion<>() {
                @Override
                public void succeeded(ExecuteResult result) {
                    if (result.tookEffect()) {
                        engine.builds().named(encoded);
                        done.succeeded(result);
                    } else {
                        // whatever it was: other nodes may have no index that could be named
                        withoutBuilds(done, end -> {
                            engine.builds().built(encoded);
                            execute(position, statement, null, Begin.DROPPING, end);
                        });
                    }
                }

                @Override
                public void failed(EngineFailure failure) {
                    done.failed(failure);
                }
            });
        } else if (engine.builds().any() && !statement.isGrant()) {
            withoutBuilds(done, end -> execute(position, statement, null, Begin.DROPPING, end));
        } else {
            execute(position, statement, null, Begin.PLAIN, done);
        }
    }

    /** Only the position of such a statement counts for the database. */
    private void reach(long position, Statement statement, Completion<ExecuteResult> done) {
        onConnection(Role.APPLIER, done, server -> {
            Batch batch = new Batch(server.buffer());
            batch.query(BEGIN, 1);
            record(batch, position);
            batch.send(server, new BatchHandler.Listener() {
                @Override
                public void done(BatchHandler results) {
                    engine.builds().reached(statement);
                    done.succeeded(ExecuteResult.done(new byte[0]));
                }

                @Override
                public void failed(EngineFailure failure) {
                    engine.failed(failure);
                    rollback(Role.APPLIER, () -> done.failed(failure));
                }
            });
        });
    }

    /** @param built what is named in place of executing the statement; null to execute it */
    private void execute(long position, Statement statement, IndexBuilds.@Nullable Built built, Begin begin,
            Completion<ExecuteResult> done) {
        if (statement.isFinish()) {
            finish(position, statement, begin, done);
            return;
        }
        Role role = statement.isRequest() ? Role.EXECUTOR : Role.APPLIER;
        onConnection(role, done, server -> {
            Batch batch = new Batch(server.buffer());
            batch.query(BEGIN, 1);
            calls.begin(batch, begin);
            if (!statement.isGrant()) {
                calls.call(batch, engine.functions().checkPrepared());
            }
            int end = built == null ? calls.ordered(batch, statement) : calls.name(batch, built, statement);
            record(batch, position);
            touched.add(role);
            ScheduledFuture<?> watch = engine.watch(loop, position, server.processId());
            TimeLimit limit = new TimeLimit(loop, engine.statementTime(), "the statement of position " + position,
                    () -> true, () -> engine.end(server.processId()));
            batch.send(server, new BatchHandler.Listener() {
                @Override
                public void done(BatchHandler results) {
                    watch.cancel(false);
                    limit.over();
                    clean(role, () -> finish(ExecuteResult.done(built == null ? results.response() : named(server))));
                }

                private void finish(ExecuteResult result) {
                    if (statement.isRequest() || statement.isGrant()) {
                        done.succeeded(result);
                        return;
                    }
                    engine.refreshCatalog(loop, position).whenComplete((_, failed) -> {
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
                    EngineFailure why = limit.over(failure);
                    engine.failed(why);
                    if (results.lost()) {
                        end(server);
                    }
                    boolean refused = built != null
                            ? !results.lost()
                            : results.completed() <= end && results.refusedByAll();
                    rollback(role, () -> {
                        if (refused && isChosen(failure, begin)) {
                            withoutBuilds(done, end -> execute(position, statement, null, Begin.ALONE, end));
                        } else if (refused) {
                            done.succeeded(new ExecuteResult(result(statement, failure), results.response()));
                        } else {
                            done.failed(why);
                        }
                    });
                }
            });
        });
    }

    /** What CREATE INDEX answers. */
    private static byte[] named(BackendConnection server) {
        ByteBuf message = server.buffer();
        Backend.commandComplete(message, "CREATE INDEX");
        return taken(message);
    }

    /** Only a placement can need a copy: what else fails may have had its SQLSTATE from a client's code. */
    private static EngineFailure result(Statement statement, EngineFailure failure) {
        return statement.isPlacement() && failure.sqlState().equals(Statement.NEEDS_COPY)
                ? new EngineFailure(failure.sqlState(), failure.message(), EngineFailure.Kind.NEEDS_COPY)
                : failure;
    }

    /**
     * Ends a transaction that a client has prepared: takes it out of what is kept, and makes its changes if it is committed. Nobody has
     * committed since what meets its keys, and schema changes have been refused, so they can be made as they are.
     */
    private void finish(long position, Statement statement, Begin begin, Completion<ExecuteResult> done) {
        Statement.Finish end = statement.finish();
        onConnection(Role.APPLIER, done, server -> {
            Batch batch = new Batch(server.buffer());
            batch.query(BEGIN, 1);
            calls.begin(batch, begin);
            int place = calls.call(batch, engine.functions().takePrepared(), EngineCalls.bytes(end.identifier()),
                    EngineCalls.bytes(end.token()),
                    EngineCalls.bytes(statement.role()));
            batch.keepResponses(place, place);
            batch.keepResult(place);
            batch.send(server, new BatchHandler.Listener() {
                @Override
                public void done(BatchHandler results) {
                    byte[] changes = results.result();
                    if (end.commits() && changes != null && changes.length > 0) {
                        make(server, position, end, changes, done);
                    } else {
                        ended(server, position, end, done);
                    }
                }

                @Override
                public void failed(EngineFailure failure) {
                    throw new IllegalStateException("decided by failedWith");
                }

                @Override
                public void failedWith(EngineFailure failure, BatchHandler results) {
                    engine.failed(failure);
                    rollback(Role.APPLIER, () -> {
                        if (results.refusedByAll()) {
                            if (failure.sqlState().equals(NOT_THERE)) {
                                engine.promises().forget(end.identifier(), end.token());
                            }
                            done.succeeded(new ExecuteResult(failure, results.response()));
                        } else {
                            done.failed(failure);
                        }
                    });
                }
            });
        });
    }

    private void make(BackendConnection server, long position, Statement.Finish end, byte[] changes,
            Completion<ExecuteResult> done) {
        schemaChanged = false;
        ScheduledFuture<?> watch = engine.watch(loop, position, server.processId());
        TimeLimit limit = rowsLimit(position, server, changes.length);
        apply(server, engine.schema(), new ChangeParts(List.of(changes)), Begin.BEGUN, NOT_YET, new Completion<>() {
            @Override
            public void succeeded(Void nothing) {
                watch.cancel(false);
                limit.over();
                ended(server, position, end, done);
            }

            @Override
            public void failed(EngineFailure failure) {
                watch.cancel(false);
                EngineFailure why = limit.over(failure);
                engine.failed(why);
                rollback(Role.APPLIER, () -> done.failed(why));
            }
        });
    }

    private void ended(BackendConnection server, long position, Statement.Finish end, Completion<ExecuteResult> done) {
        Batch batch = new Batch(server.buffer());
        record(batch, position);
        batch.send(server, new BatchHandler.Listener() {
            @Override
            public void done(BatchHandler results) {
                engine.promises().forget(end.identifier(), end.token());
                ByteBuf message = server.buffer();
                Backend.commandComplete(message, end.commits() ? "COMMIT PREPARED" : "ROLLBACK PREPARED");
                ExecuteResult result = ExecuteResult.done(taken(message));
                clean(Role.APPLIER, () -> done.succeeded(result));
            }

            @Override
            public void failed(EngineFailure failure) {
                engine.failed(failure);
                rollback(Role.APPLIER, () -> done.failed(failure));
            }
        });
    }

    @Override
    public void skip(long position, EngineFailure why, Completion<ExecuteResult> done) {
        onConnection(Role.APPLIER, done, server -> {
            Batch batch = new Batch(server.buffer());
            batch.query(BEGIN, 1);
            calls.call(batch, engine.functions().skip(), Batch.bytes(position));
            batch.query("COMMIT", 1);
            batch.send(server, new BatchHandler.Listener() {
                @Override
                public void done(BatchHandler results) {
                    done.succeeded(new ExecuteResult(why, errorResponse(server, why)));
                }

                @Override
                public void failed(EngineFailure failure) {
                    engine.failed(failure);
                    rollback(Role.APPLIER, () -> done.failed(failure));
                }
            });
        });
    }

    private static byte[] errorResponse(BackendConnection server, EngineFailure why) {
        ByteBuf message = server.buffer();
        Backend.errorResponse(message, ErrorFields.of("ERROR", why.sqlState(), why.message()));
        return taken(message);
    }

    /** The bytes of a message, which is released. */
    private static byte[] taken(ByteBuf message) {
        try {
            byte[] bytes = new byte[message.readableBytes()];
            message.readBytes(bytes);
            return bytes;
        } finally {
            message.release();
        }
    }

    private static EngineFailure closedApplier() {
        return new EngineFailure("57P01", "the applier is closed", false);
    }

    /** Does something on the event loop with a connection of that role, made if there is none. */
    private void onConnection(Role role, Completion<?> done, Consumer<BackendConnection> action) {
        loop.execute(() -> {
            if (closed) {
                done.failed(closedApplier());
                return;
            }
            BackendConnection open = connections.get(role);
            if (open != null) {
                guarded(done, action, open);
                return;
            }
            engine.connectApplier(loop, role).whenComplete((server, failed) -> loop.execute(() -> {
                if (failed != null) {
                    done.failed(failure(failed));
                } else if (closed) {
                    server.close();
                    done.failed(closedApplier());
                } else {
                    connections.put(role, server);
                    touched.remove(role);
                    engine.registerApplier(server, this);
                    CompletableFuture<Void> _ = server.closed().thenRun(() -> {
                        if (connections.remove(role, server)) {
                            end(server);
                        }
                    });
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

    private static EngineFailure failure(Throwable failed) {
        Throwable cause = failed instanceof java.util.concurrent.CompletionException && failed.getCause() != null
                ? failed.getCause()
                : failed;
        return cause instanceof PostgresException refused
                ? new EngineFailure(refused.fields().sqlState(), refused.fields().toString(),
                        EngineFailure.Kind.TROUBLE)
                : new EngineFailure(CONNECTION_FAILURE, String.valueOf(cause.getMessage()), EngineFailure.Kind.TROUBLE);
    }

    @Override
    public void close() {
        loop.execute(() -> {
            closed = true;
            connections.values().forEach(BackendConnection::close);
        });
    }
}
