package tutti.engine.jdbc;

import java.nio.file.Path;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.io.TempDir;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.Outcome;
import tutti.core.txn.WriteSet;
import tutti.engine.EngineContract;
import tutti.engine.ExecutorContract;

/** Binds the suite to a database in this virtual machine. */
public abstract class JdbcEngineContract extends EngineContract {
    /** A new and empty database. */
    protected abstract EmbeddedDatabase database(Path files) throws SQLException;

    /** The engine under test, over a database. */
    protected ClientEngine engine(EmbeddedDatabase database) throws SQLException {
        return JdbcEngine.open(database);
    }

    @TempDir
    private Path directory;

    @Override
    protected Harness open() throws SQLException {
        return harness("");
    }

    private Harness harness(String of) throws SQLException {
        return new JdbcHarness(engine(withTable(of + "one")), JdbcEngine.open(withTable(of + "other")));
    }

    private EmbeddedDatabase withTable(String name) throws SQLException {
        EmbeddedDatabase database = database(directory.resolve(name));
        try (EmbeddedDatabase.Session session = database.openApplier();
                Statement statement = session.connection().createStatement()) {
            statement.execute("CREATE TABLE KV (K INTEGER PRIMARY KEY, V VARCHAR(100))");
        }
        return database;
    }

    /** The same, for executors of requests. */
    @Nested
    class Executors extends ExecutorContract {
        @Override
        protected Harness open() throws SQLException {
            return harness("executor of ");
        }
    }

    private static void put(ClientSession session, int key, String value) throws SQLException {
        session.statement(connection -> {
            try (PreparedStatement update = connection.prepareStatement("UPDATE KV SET V = ? WHERE K = ?");
                    PreparedStatement insert = connection.prepareStatement("INSERT INTO KV VALUES (?, ?)")) {
                update.setString(1, value);
                update.setInt(2, key);
                if (update.executeUpdate() == 0) {
                    insert.setInt(1, key);
                    insert.setString(2, value);
                    insert.executeUpdate();
                }
                return null;
            }
        });
    }

    private record JdbcHarness(ClientEngine jdbc, JdbcEngine other) implements Harness {
        @Override
        public Engine engine() {
            return jdbc;
        }

        @Override
        public WriteSet put(int key, String value) throws Exception {
            try (JdbcSession session = other.openSession(() -> null)) {
                JdbcEngineContract.put(session, key, value);
                return commit(session);
            }
        }

        @Override
        public WriteSet remove(int key) throws Exception {
            try (JdbcSession session = other.openSession(() -> null)) {
                session.statement(connection -> {
                    try (PreparedStatement delete = connection.prepareStatement("DELETE FROM KV WHERE K = ?")) {
                        delete.setInt(1, key);
                        return delete.executeUpdate();
                    }
                });
                return commit(session);
            }
        }

        private WriteSet commit(JdbcSession session) throws Exception {
            WriteSet writes = session.capture().writes();
            Result<Void> committed = new Result<>();
            session.commit(other.appliedPosition() + 1, committed);
            committed.success();
            return writes;
        }

        @Override
        public Map<Integer, String> contents() throws SQLException {
            try (ClientSession session = jdbc.openSession(() -> null)) {
                session.setReadOnly(true);
                return session.statement(connection -> {
                    Map<Integer, String> contents = new HashMap<>();
                    try (PreparedStatement query = connection.prepareStatement("SELECT K, V FROM KV");
                            ResultSet rows = query.executeQuery()) {
                        while (rows.next()) {
                            contents.put(rows.getInt(1), rows.getString(2));
                        }
                    }
                    return contents;
                });
            }
        }

        @Override
        public Local begin(int key, String value) throws SQLException {
            AtomicReference<@Nullable LocalTransaction> current = new AtomicReference<>();
            ClientSession session = jdbc.openSession(current::get);
            SessionTransaction transaction = new SessionTransaction(session);
            current.set(transaction);
            JdbcEngineContract.put(session, key, value);
            return new Local(transaction, session.capture().writes());
        }

        @Override
        public byte[] createTable() {
            return new BarrierStatement("PUBLIC", "CREATE TABLE MADE (ID INTEGER PRIMARY KEY)").toBytes();
        }

        @Override
        public byte[] putRequest(int key, String value) {
            return new ClientRequest("PUBLIC", List.of(
                    new ClientRequest.Call("DELETE FROM KV WHERE K = ?", List.of(key)),
                    new ClientRequest.Call("INSERT INTO KV VALUES (?, ?)", List.of(key, value)))).toBytes();
        }

        @Override
        public byte[] insertRequest(int key, String value) {
            return ClientRequest.of("PUBLIC", "INSERT INTO KV VALUES (?, ?)", key, value).toBytes();
        }

        @Override
        public byte[] readRequest() {
            return ClientRequest.of("PUBLIC", "SELECT COUNT(*) FROM KV").toBytes();
        }

        @Override
        public void close() {
            jdbc.close();
            other.close();
        }
    }

    /** Commits as a front end does. */
    private record SessionTransaction(ClientSession session) implements LocalTransaction {
        @Override
        public void commit(long position, Completion<Void> done) {
            session.commit(position, done);
        }

        @Override
        public void rollback(Runnable done) {
            session.rollback(this, done);
        }

        @Override
        public void answer(Outcome outcome) {
            throw new UnsupportedOperationException("not asked for here");
        }
    }
}
