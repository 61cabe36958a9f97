package tutti.macroddb;

import java.sql.SQLException;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.WriteSet;
import tutti.engine.jdbc.BarrierResponse;
import tutti.engine.jdbc.ClientEngine;
import tutti.macro.distribution.Codec;
import tutti.macro.distribution.Input;
import tutti.macro.distribution.ObjectCodec;
import tutti.macro.distribution.Output;
import tutti.macro.distribution.TransactionalComponent;

/**
 * A database as a component of which only changes travel (MacroDDB, section 4.3): an engine in this virtual machine, or a
 * {@link tutti.engine.macro.MacroDb}, whose primary alone takes part in the distribution and hands on to its secondaries what it has committed.
 *
 * <p>
 * The engine's sessions are kept for the transactions that follow; there are as many as there were transactions at once. Closing the component closes the
 * engine.
 */
public final class DatabaseComponent implements TransactionalComponent<SqlDatabase>, AutoCloseable {
    private static final int ATTEMPTS_MAX = 10;

    private final ClientEngine engine;
    private final Engine.Applier applier;
    private final ConcurrentLinkedDeque<DatabaseTransaction.Place> idle = new ConcurrentLinkedDeque<>();
    private volatile boolean lost;

    /** @param engine for this component alone, with nobody listening to it yet */
    public DatabaseComponent(ClientEngine engine) {
        this.engine = engine;
        engine.onLost(() -> lost = true);
        engine.onBlocked(new Engine.BlockedListener() {
            // It would lose anyhow: it has changed what was ordered before it asked to commit.
            @Override
            public void blocked(long position, LocalTransaction holder) {
                holder.rollback(() -> {});
            }
        });
        applier = engine.openApplier();
    }

    /** The standard codec, which also knows {@link SQLException}s. */
    public static ObjectCodec values() {
        return ObjectCodec.standard().with(SQLException.class, "sql-exception", new Codec<>() {
            @Override
            public void write(SQLException value, Output to) {
                to.writeString(String.valueOf(value.getMessage()));
                to.writeString(String.valueOf(value.getSQLState()));
                to.writeSigned(value.getErrorCode());
            }

            @Override
            public SQLException read(Input from) {
                return new SQLException(from.readString(), from.readString(), (int) from.readSigned());
            }
        });
    }

    @Override
    public DatabaseTransaction begin(boolean readOnly, Runnable renewed) throws SQLException {
        DatabaseTransaction.Place place = idle.poll();
        if (place == null) {
            place = new DatabaseTransaction.Place(engine, idle::push);
        }
        return new DatabaseTransaction(place, readOnly, renewed);
    }

    @Override
    public long position() {
        return await(engine::appliedPosition);
    }

    @Override
    public boolean isConflict(Throwable thrown) {
        return TransactionalComponent.super.isConflict(thrown)
                || (thrown instanceof SQLException failed && String.valueOf(failed.getSQLState()).startsWith("40"));
    }

    @Override
    public void apply(long position, WriteSet writes) throws SQLException {
        if (lost) {
            throw new IllegalStateException(engine + " is lost: it must be opened again, and the order read again");
        }
        DatabaseTransaction.Changes changes = DatabaseTransaction.Changes.of(writes);
        if (changes.definition()) {
            define(position, changes.content());
            return;
        }
        List<WriteSet> rows = List.of(new WriteSet(writes.keys(), changes.content()));
        for (int attempt = 1;; attempt++) {
            EngineFailure failure = told((Consumer<Completion<Void>>) done -> applier.apply(position, rows, done))
                    .failure();
            if (failure == null) {
                awaitDone(done -> applier.commit(position, done));
                return;
            }
            if (!failure.transientFailure() || attempt == ATTEMPTS_MAX) {
                throw broken(failure);
            }
        }
    }

    private void define(long position, byte[] statement) throws SQLException {
        Engine.ExecuteResult result = await(done -> applier.execute(position, statement, done));
        EngineFailure refusal = result.refusal();
        if (refusal != null) {
            Engine.ExecuteResult _ = await(done -> applier.skip(position, refusal, done));
            BarrierResponse response = BarrierResponse.of(result.response());
            SQLException error = response == null ? null : response.error();
            throw error == null ? new SQLException(refusal.message(), refusal.sqlState()) : error;
        }
    }

    private IllegalStateException broken(EngineFailure failure) {
        return new IllegalStateException(engine + " cannot follow: " + failure.sqlState() + " " + failure.message());
    }

    /** How something ended: with a failure, or a value. */
    private record Told<T>(@Nullable EngineFailure failure, @Nullable T value) {}

    private static <T> Told<T> told(Consumer<Completion<T>> action) {
        CompletableFuture<Told<T>> told = new CompletableFuture<>();
        action.accept(new Completion<>() {
            @Override
            public void succeeded(T value) {
                told.complete(new Told<>(null, value));
            }

            @Override
            public void failed(EngineFailure failure) {
                told.complete(new Told<>(failure, null));
            }
        });
        return told.join();
    }

    private <T> T await(Consumer<Completion<T>> action) {
        Told<T> told = told(action);
        check(told.failure());
        return Objects.requireNonNull(told.value(), "a success brings a value");
    }

    private void awaitDone(Consumer<Completion<Void>> action) {
        check(told(action).failure());
    }

    private void check(@Nullable EngineFailure failure) {
        if (failure != null) {
            throw broken(failure);
        }
    }

    @Override
    public void close() {
        for (DatabaseTransaction.Place place = idle.poll(); place != null; place = idle.poll()) {
            place.close();
        }
        applier.close();
        engine.close();
    }
}
