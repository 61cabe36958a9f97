package tutti.macroddb;

import java.nio.ByteBuffer;
import java.sql.Blob;
import java.sql.Clob;
import java.sql.Date;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Time;
import java.sql.Timestamp;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.Outcome;
import tutti.core.txn.WriteSet;
import tutti.engine.jdbc.BarrierStatement;
import tutti.engine.jdbc.ClientEngine;
import tutti.engine.jdbc.ClientSession;
import tutti.engine.postgres.catalog.TableCatalog;
import tutti.macro.distribution.TransactionalComponent;

/**
 * A transaction in a database, in a session that it has until it ends. States: open; undone by the engine for one that was ordered before;
 * committing; over.
 */
final class DatabaseTransaction implements TransactionalComponent.Transaction<SqlDatabase>, LocalTransaction {
    private enum State {
        OPEN, UNDONE, COMMITTING, OVER
    }

    private final Place place;
    private final Runnable renewed;
    private final ReentrantLock lock = new ReentrantLock();
    private State state = State.OPEN;
    // Of the client's thread.
    private boolean touched;
    private @Nullable String definition;

    DatabaseTransaction(Place place, boolean readOnly, Runnable renewed) {
        this.place = place;
        this.renewed = renewed;
        place.session.setReadOnly(readOnly);
        place.current = this;
    }

    /** A session, and the transaction that it is given to. */
    static final class Place {
        private final ClientSession session;
        private final Consumer<Place> free;
        private volatile @Nullable DatabaseTransaction current;

        Place(ClientEngine engine, Consumer<Place> free) throws SQLException {
            this.free = free;
            session = engine.openSession(() -> current);
        }

        void close() {
            session.close();
        }
    }

    /**
     * What travels: a byte that tells which, and the rows as the engine encodes them, or a statement that changes the schema.
     */
    record Changes(boolean definition, byte[] content) {
        static Changes of(WriteSet writes) {
            byte[] changes = writes.changes();
            return new Changes(changes[0] == 1, Arrays.copyOfRange(changes, 1, changes.length));
        }

        WriteSet with(KeySet keys) {
            byte kind = (byte) (definition ? 1 : 0);
            return new WriteSet(keys, ByteBuffer.allocate(1 + content.length).put(kind).put(content).array());
        }
    }

    @Override
    public SqlDatabase component() {
        return new Statements();
    }

    @Override
    public WriteSet changes() throws SQLException {
        String schemaChange = definition;
        if (schemaChange != null) {
            // It depends on nothing that was seen.
            renewed.run();
            return new Changes(true, new BarrierStatement("PUBLIC", schemaChange).toBytes())
                    .with(new KeySet.Builder().add(TableCatalog.SCHEMA_KEY, KeyKind.EXCLUSIVE).build());
        }
        if (!touched) {
            return WriteSet.EMPTY;
        }
        try {
            WriteSet writes = place.session.capture().writes();
            return writes.isEmpty() ? WriteSet.EMPTY : new Changes(false, writes.changes()).with(writes.keys());
        } catch (SQLException failed) {
            throw plain(failed);
        }
    }

    @Override
    public boolean commit(long position) {
        if (definition != null || !move(State.OPEN, State.COMMITTING)) {
            end();
            return false;
        }
        CompletableFuture<@Nullable EngineFailure> told = new CompletableFuture<>();
        place.session.commit(position, new Completion<>() {
            @Override
            public void succeeded(Void nothing) {
                told.complete(null);
            }

            @Override
            public void failed(EngineFailure failure) {
                told.complete(failure);
            }
        });
        boolean committed = told.join() == null;
        end();
        return committed;
    }

    private boolean move(State from, State to) {
        lock.lock();
        try {
            if (state != from) {
                return false;
            }
            state = to;
            return true;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void end() {
        lock.lock();
        try {
            if (state == State.OVER) {
                return;
            }
            state = State.OVER;
        } finally {
            lock.unlock();
        }
        place.session.forget();
        place.current = null;
        place.free.accept(place);
    }

    // What the engine asks

    @Override
    public void commit(long position, Completion<Void> done) {
        place.session.commit(position, done);
    }

    @Override
    public void rollback(Runnable done) {
        if (move(State.OPEN, State.UNDONE)) {
            place.session.rollback(this, done);
        } else {
            done.run();
        }
    }

    @Override
    public void renewed() {
        renewed.run();
    }

    @Override
    public void answer(Outcome outcome) {
        throw new IllegalStateException("no node answers it");
    }

    /** Of this very class, so that it can be sent. */
    private static SQLException plain(SQLException failed) {
        return failed.getClass().equals(SQLException.class)
                ? failed
                : new SQLException(failed.getMessage(), failed.getSQLState(), failed.getErrorCode(), failed);
    }

    private final class Statements implements SqlDatabase {
        @Override
        public List<List<@Nullable Object>> query(String sql, @Nullable Object... parameters) throws SQLException {
            return statement(sql, Arrays.asList(parameters), connection -> {
                try (PreparedStatement statement = connection.prepareStatement(sql)) {
                    set(statement, parameters);
                    try (ResultSet rows = statement.executeQuery()) {
                        return read(rows);
                    }
                }
            });
        }

        @Override
        public int update(String sql, @Nullable Object... parameters) throws SQLException {
            return statement(sql, Arrays.asList(parameters), connection -> {
                try (PreparedStatement statement = connection.prepareStatement(sql)) {
                    set(statement, parameters);
                    return statement.executeUpdate();
                }
            });
        }

        @Override
        public void define(String sql) throws SQLException {
            if (touched || definition != null) {
                throw new SQLException("a schema change must be the only call of its transaction", "25001");
            }
            definition = sql;
        }

        @Override
        public <T extends @Nullable Object> T statement(@Nullable String sql,
                List<? extends @Nullable Object> parameters, ClientSession.Work<T> work) throws SQLException {
            if (definition != null) {
                throw new SQLException("a schema change must be the only call of its transaction", "25001");
            }
            touched = true;
            try {
                return place.session.statement(sql, parameters, work);
            } catch (SQLException failed) {
                throw plain(failed);
            }
        }

        private static void set(PreparedStatement statement, @Nullable Object[] parameters) throws SQLException {
            for (int i = 0; i < parameters.length; i++) {
                statement.setObject(i + 1, parameters[i]);
            }
        }

        private static List<List<@Nullable Object>> read(ResultSet rows) throws SQLException {
            List<List<@Nullable Object>> all = new ArrayList<>();
            int columns = rows.getMetaData().getColumnCount();
            while (rows.next()) {
                List<@Nullable Object> row = new ArrayList<>(columns);
                for (int i = 1; i <= columns; i++) {
                    row.add(portable(rows.getObject(i)));
                }
                all.add(row);
            }
            return all;
        }

        private static @Nullable Object portable(@Nullable Object value) throws SQLException {
            return switch (value) {
                case Timestamp time -> time.toLocalDateTime();
                case Date date -> date.toLocalDate();
                case Time time -> time.toLocalTime();
                case Clob text -> text.getSubString(1, Math.toIntExact(text.length()));
                case Blob bytes -> bytes.getBytes(1, Math.toIntExact(bytes.length()));
                case null, default -> value;
            };
        }
    }
}
