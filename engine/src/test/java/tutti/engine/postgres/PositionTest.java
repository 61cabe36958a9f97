package tutti.engine.postgres;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.postgresql.PGConnection;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.engine.EngineContract;

/** A position is known exactly when its effects are there, whatever becomes of the session that records it. */
class PositionTest {
    private String database;
    private PostgresEngine engine;

    @BeforeEach
    void open() throws Exception {
        database = TestServer.database("CREATE TABLE kv (k int PRIMARY KEY, v text)");
        engine = PostgresEngine.open(TestServer.loops(), TestServer.reach(database), TestServer.settings(0));
    }

    @AfterEach
    void close() {
        engine.close();
    }

    private String record(long position) {
        return "SELECT tutti.record('" + engine.secret() + "', " + position + ")";
    }

    @Test
    void aServerProcessThatEndsBetweenRecordingAndCommitLeavesNoPosition() throws Exception {
        LocalSession session = new LocalSession(database);
        session.execute("INSERT INTO kv VALUES (1, 'lost')", record(5));
        int process = session.connection().unwrap(PGConnection.class).getBackendPID();
        try (Connection other = TestServer.jdbc(database); Statement statement = other.createStatement()) {
            statement.execute("SELECT pg_terminate_backend(" + process + ", 10000)");
        }
        assertThrows(SQLException.class, () -> session.execute("COMMIT"));
        assertEquals(0, EngineContract.position(engine));
        assertEquals(0, durable());
    }

    @Test
    void aTransactionThatIsRolledBackLeavesNoPosition() throws Exception {
        LocalSession session = new LocalSession(database);
        session.execute("INSERT INTO kv VALUES (1, 'lost')", record(5), "ROLLBACK");
        assertEquals(0, EngineContract.position(engine));
        session.execute(record(6), "COMMIT");
        assertEquals(6, EngineContract.position(engine));
        assertEquals(6, durable());
    }

    @Test
    void aPositionIsCommittedOnce() throws Exception {
        LocalSession session = new LocalSession(database);
        session.execute(record(5), "COMMIT");
        SQLException twice = assertThrows(SQLException.class, () -> session.execute(record(5)));
        assertEquals("23505", twice.getSQLState());
    }

    @Test
    void oldPositionsAreForgotten() throws Exception {
        try (Connection connection = TestServer.jdbc(database); Statement statement = connection.createStatement()) {
            connection.setAutoCommit(true);
            statement.execute("INSERT INTO tutti.applied SELECT generate_series(1, 30000)");
            assertEquals(30_000, durable());
            try (var rows = statement.executeQuery("SELECT count(*) FROM tutti.applied")) {
                rows.next();
                assertEquals(10_001, rows.getInt(1));
            }
        }
        assertEquals(30_000, EngineContract.position(engine));
    }

    private long durable() throws Exception {
        CompletableFuture<Long> position = new CompletableFuture<>();
        engine.durablePosition(new Completion<>() {
            @Override
            public void succeeded(Long value) {
                position.complete(value);
            }

            @Override
            public void failed(EngineFailure failure) {
                position.completeExceptionally(new AssertionError(failure.message()));
            }
        });
        return position.get(20, TimeUnit.SECONDS);
    }
}
