package tutti.engine.postgres;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.Outcome;
import tutti.core.txn.WriteSet;
import tutti.engine.EngineContract;
import tutti.engine.postgres.apply.ExecutorServices;
import tutti.engine.postgres.capture.Statement;
import tutti.engine.postgres.databases.DatabaseTag;
import tutti.engine.postgres.databases.ServerEngine;
import tutti.pgwire.BackendConnection;

class PostgresEngineContractTest extends EngineContract {
    private static final String TABLE = "CREATE TABLE kv (k int PRIMARY KEY, v text)";
    /** A position at which a database was made. */
    static final long MADE_AT = 7;
    private static final String PUT = "INSERT INTO kv VALUES (%d, '%s') ON CONFLICT (k) DO UPDATE SET v = excluded.v";

    /** Of the other replica: one for all, whose table each test leaves empty. */
    private static @Nullable LocalSession maker;

    @Override
    protected Harness open() throws Exception {
        return harness();
    }

    private static LocalSession maker() throws Exception {
        LocalSession session = maker;
        if (session == null) {
            String other = TestServer.database(TABLE);
            TestServer.install(other, 1);
            session = new LocalSession(other);
            maker = session;
        }
        return session;
    }

    /** A new database of the test server, and another one. */
    static Harness harness() throws Exception {
        String database = TestServer.database(TABLE);
        PostgresEngine engine = PostgresEngine.open(TestServer.loops(), TestServer.reach(database),
                TestServer.settings(0));
        return new PostgresHarness(engine, engine, DatabaseTag.CONFIGURED, database, maker());
    }

    /** The same of a database that a cluster has besides the configured one, which is empty. */
    static Harness harnessOfAnother() throws Exception {
        String configured = TestServer.database();
        String database = TestServer.database(TABLE);
        ServerEngine engine = server(configured, database);
        return new PostgresHarness(engine, Objects.requireNonNull(engine.member(database)).engine(), MADE_AT, database,
                maker());
    }

    /** The engine of a server, with databases that were made at {@link #MADE_AT} and the positions after it. */
    static ServerEngine server(String configured, String... others) throws Exception {
        PostgresEngine first = PostgresEngine.open(TestServer.loops(), TestServer.reach(configured),
                TestServer.settings(0));
        BackendConnection connection = TestServer.connect(configured);
        for (int i = 0; i < others.length; i++) {
            TestServer.execute(connection,
                    "INSERT INTO tutti.databases VALUES (" + (MADE_AT + i) + ", '" + others[i] + "', 'open')");
        }
        connection.close();
        return new ServerEngine(TestServer.loops(), TestServer.reach(configured), first,
                (settings, beside) -> PostgresEngine.open(TestServer.loops(), settings, TestServer.settings(0),
                        beside));
    }

    /**
     * A replica.
     *
     * @param postgres the engine of the database that has the table
     * @param tag of that database
     */
    private record PostgresHarness(Engine engine, PostgresEngine postgres, long tag, String database,
            LocalSession other) implements Harness {

        @Override
        public WriteSet put(int key, String value) throws Exception {
            return DatabaseTag.tag(tag, other.commit(PUT.formatted(key, value)));
        }

        @Override
        public WriteSet remove(int key) throws Exception {
            return DatabaseTag.tag(tag, other.commit("DELETE FROM kv WHERE k = " + key));
        }

        @Override
        public Map<Integer, String> contents() throws Exception {
            Map<Integer, String> contents = new HashMap<>();
            try (Connection connection = TestServer.jdbc(database);
                    PreparedStatement query = connection.prepareStatement("SELECT k, v FROM kv");
                    ResultSet rows = query.executeQuery()) {
                while (rows.next()) {
                    contents.put(rows.getInt(1), rows.getString(2));
                }
            }
            return contents;
        }

        @Override
        public Local begin(int key, String value) throws Exception {
            LocalSession session = new LocalSession(database);
            session.execute(PUT.formatted(key, value));
            WriteSet writes = DatabaseTag.tag(tag, session.capture().writes());
            int pid = session.connection().unwrap(PGConnection.class).getBackendPID();
            SessionTransaction transaction = new SessionTransaction(session, postgres.secret());
            ExecutorServices.Registration _ = postgres.registerSession(pid, () -> transaction);
            return new Local(transaction, writes);
        }

        @Override
        public byte[] createTable() {
            return DatabaseTag.tag(tag, new Statement("CREATE TABLE made (id int PRIMARY KEY)", TestServer.USER,
                    Map.of("search_path", "public")).toBytes());
        }

        private byte[] request(String sql) {
            return request(sql, Map.of("search_path", "public"));
        }

        private byte[] request(String sql, Map<String, String> settings) {
            return DatabaseTag.tag(tag, Statement.request(List.of(Statement.Call.plain(sql)), TestServer.USER, settings)
                    .toBytes());
        }

        @Override
        public byte[] putRequest(int key, String value) {
            return request(PUT.formatted(key, value));
        }

        @Override
        public byte[] insertRequest(int key, String value) {
            return request("INSERT INTO kv VALUES (%d, '%s')".formatted(key, value));
        }

        @Override
        public byte[] readRequest() {
            return request("SELECT count(*) FROM kv");
        }

        @Override
        public String placeable() {
            return "kv";
        }

        @Override
        public void close() {
            engine.close();
            try {
                other.connection().rollback();
                other.execute("DELETE FROM kv").gather();
                other.connection().commit();
            } catch (SQLException failed) {
                throw new IllegalStateException(failed);
            }
        }
    }

    /** A request to a replica of {@link #harness} under settings of a session. */
    static byte[] request(Harness replica, String sql, Map<String, String> settings) {
        return ((PostgresHarness) replica).request(sql, settings);
    }

    /** Commits as a front end does. */
    private record SessionTransaction(LocalSession session, String secret) implements LocalTransaction {
        @Override
        public void commit(long position, Completion<Void> done) {
            try {
                session.execute("SELECT tutti.record('" + secret + "', " + position + ")", "COMMIT");
                done.succeeded(null);
            } catch (SQLException failed) {
                done.failed(new EngineFailure(String.valueOf(failed.getSQLState()), String.valueOf(failed.getMessage()),
                        true));
            }
        }

        @Override
        public void rollback(Runnable done) {
            try {
                session.connection().rollback();
            } catch (SQLException failed) {
                throw new IllegalStateException(failed);
            }
            done.run();
        }

        @Override
        public void answer(Outcome outcome) {
            throw new UnsupportedOperationException("not asked for here");
        }
    }
}
