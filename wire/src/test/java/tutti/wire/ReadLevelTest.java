package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.core.spi.EngineFailure;

/** When transactions wait for what has been ordered before, as their session's or their own read level asks. */
@Timeout(60)
class ReadLevelTest extends OnFrontEnd {
    private final AtomicInteger waits = new AtomicInteger();

    @BeforeEach
    void count() {
        fixture.node.awaited = waits::incrementAndGet;
    }

    private static void execute(Connection connection, String... statements) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    private void waited(int expected, Connection connection, String... statements) throws SQLException {
        int before = waits.get();
        execute(connection, statements);
        assertEquals(expected, waits.get() - before, String.join("; ", statements));
    }

    private static void refused(String state, Connection connection, String sql) {
        SQLException refusal = assertThrows(SQLException.class, () -> execute(connection, sql));
        assertEquals(state, refusal.getSQLState(), refusal.getMessage());
    }

    @ParameterizedTest
    @ValueSource(strings = {"simple", "extended", "extendedForPrepared", "extendedCacheEverything"})
    void eachTransactionOfALinearizableSessionWaitsOnce(String mode) throws Exception {
        try (Connection connection = fixture.jdbc("preferQueryMode=" + mode)) {
            waited(0, connection, "SELECT 1", "SELECT 2");
            execute(connection, "SET tutti.read_level = 'linearizable'");
            waited(1, connection, "SELECT 1");
            try (PreparedStatement prepared = connection
                    .prepareStatement("SELECT count(*) FROM account WHERE id = ?")) {
                for (int round = 0; round < 8; round++) {
                    int before = waits.get();
                    prepared.setInt(1, round);
                    prepared.executeQuery().close();
                    assertEquals(1, waits.get() - before, "round " + round);
                }
            }
            connection.setAutoCommit(false);
            waited(1, connection, "SELECT 1", "SELECT 2", "SELECT 3");
            connection.rollback();
            waited(1, connection, "SELECT 1");
            connection.rollback();
            connection.setAutoCommit(true);
            execute(connection, "RESET tutti.read_level");
            waited(0, connection, "SELECT 1");
        }
        try (Connection connection = fixture.jdbc("preferQueryMode=" + mode,
                "options=-c tutti.read_level=linearizable")) {
            waited(1, connection, "SELECT 1");
        }
        assertEquals("22023", assertThrows(SQLException.class,
                () -> fixture.jdbc("options=-c tutti.read_level=newest")).getSQLState());
    }

    @ParameterizedTest
    @ValueSource(strings = {"simple", "extended"})
    void aTransactionMayAskByItselfBeforeItLooks(String mode) throws Exception {
        try (Connection connection = fixture.jdbc("preferQueryMode=" + mode)) {
            connection.setAutoCommit(false);
            waited(1, connection, "SET LOCAL tutti.read_level = 'linearizable'", "SELECT 1", "SELECT 2");
            connection.rollback();
            waited(0, connection, "SELECT 1");
            refused("25001", connection, "SET LOCAL tutti.read_level = 'linearizable'");
            connection.rollback();
            refused("25001", connection, "SET tutti.read_level = 'linearizable'");
            connection.rollback();
            refused("22023", connection, "SET LOCAL tutti.read_level = 'new'");
            connection.rollback();
            waited(0, connection, "SELECT 1");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"simple", "extended"})
    void aCausalSessionWaitsOnce(String mode) throws Exception {
        try (Connection connection = fixture.jdbc("preferQueryMode=" + mode, "options=-c tutti.read_level=causal")) {
            execute(connection, "SELECT 1");
            assertEquals(1, waits.get(), "before the first statement");
            waited(0, connection, "SELECT 2", "SELECT 3");
            waited(1, connection, "SET tutti.read_level = causal", "SELECT 1", "SELECT 2");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"simple", "extended"})
    void whoCannotBeToldHearsItAndMayChooseAnotherLevel(String mode) throws Exception {
        try (Connection connection = fixture.jdbc("preferQueryMode=" + mode)) {
            execute(connection, "SET tutti.read_level = 'linearizable'");
            fixture.node.awaitRefusal = new EngineFailure("57P03", "no majority", true);
            refused("57P03", connection, "SELECT 1");
            refused("57P03", connection, "UPDATE account SET balance = 1");
            execute(connection, "SET tutti.read_level = 'local'", "SELECT 1");
            connection.setAutoCommit(false);
            execute(connection, "SET LOCAL tutti.read_level = 'linearizable'");
            refused("57P03", connection, "SELECT 1");
            connection.rollback();
            execute(connection, "SELECT 1");
        }
    }
}
