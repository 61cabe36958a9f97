package tutti.cli.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tutti.cluster.ClusterSpec;
import tutti.jdbc.TuttiLog;
import tutti.jdbc.TuttiLog.Outcome;

/** Stored transactions in Java: executed once, by the owner of their log, with the same result everywhere; bad calls have clear errors. */
@Tag("long")
class JavaProceduresClusterTest {
    private static final List<String> SCHEMA = List.of(
            "CREATE TABLE account (id int PRIMARY KEY, balance bigint NOT NULL)",
            "CREATE TABLE payment (id uuid PRIMARY KEY, at timestamptz, chance float8)",
            "CREATE TABLE elsewhere (id int)",
            "INSERT INTO account SELECT i, 100 FROM generate_series(1, 9) AS i",
            "CREATE PROCEDURE transfer(source int, target int, amount int) LANGUAGE plpgsql"
                    + " SET tutti.java = 'transfer' SET tutti.classes = 'account, payment'"
                    + " AS 'BEGIN PERFORM tutti_java(jsonb_build_array(source, target, amount)); END'",
            "CREATE PROCEDURE outside(source int, target int, amount int) LANGUAGE plpgsql"
                    + " SET tutti.java = 'transfer' SET tutti.classes = 'elsewhere'"
                    + " AS 'BEGIN PERFORM tutti_java(jsonb_build_array(source, target, amount)); END'",
            "CREATE PROCEDURE keyless(n int) LANGUAGE plpgsql SET tutti.java = 'transfer'"
                    + " AS 'BEGIN PERFORM tutti_java(jsonb_build_array(n)); END'",
            "CREATE PROCEDURE missing() LANGUAGE plpgsql SET tutti.java = 'lend' SET tutti.classes = 'account'"
                    + " AS 'BEGIN PERFORM tutti_java(jsonb_build_array()); END'",
            "CREATE PROCEDURE unsaid() LANGUAGE plpgsql SET tutti.classes = 'account'"
                    + " AS 'BEGIN PERFORM tutti_java(jsonb_build_array()); END'");

    @TempDir
    private Path directory;

    private static void execute(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private static void refused(Connection connection, String sql, String state, String says) {
        SQLException e = assertThrows(SQLException.class, () -> execute(connection, sql), sql);
        assertEquals(state, e.getSQLState(), e.getMessage());
        assertTrue(String.valueOf(e.getMessage()).contains(says), e.getMessage());
    }

    private static String value(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet row = statement.executeQuery(sql)) {
            return row.next() ? row.getString(1) : "nothing";
        }
    }

    @Test
    @Timeout(300)
    void theOwnerExecutesThemOnceAndBadCallsAreRefused() throws Exception {
        ClusterSpec spec = FaultCluster.alsoLoading(Transfer.class, FaultCluster.with(
                FaultCluster.spec(directory, 2, "hybrid"), "procedures",
                "{transfer: " + Transfer.class.getName() + "}"));
        try (FaultCluster cluster = FaultCluster.start(spec);
                Connection first = cluster.connect(0);
                Connection second = cluster.connect(1)) {
            for (String sql : SCHEMA) {
                execute(first, sql);
            }
            execute(second, "SET tutti.read_level = 'linearizable'");
            for (Connection at : List.of(first, second)) {
                execute(at, "CALL transfer(1, 2, 10)");
                try (CallableStatement call = at.prepareCall("call transfer(?, ?, ?)")) {
                    call.setInt(1, 1);
                    call.setInt(2, 3);
                    call.setInt(3, 5);
                    call.execute();
                }
            }
            assertEquals("70 120 110 4",
                    value(second, "SELECT concat_ws(' ', (SELECT balance FROM account WHERE id = 1),"
                            + " (SELECT balance FROM account WHERE id = 2), (SELECT balance FROM account WHERE id = 3),"
                            + " (SELECT count(*) FROM payment))"));
            assertEquals("t", value(first,
                    "SELECT bool_and(at > now() - interval '1 hour' AND chance >= 0 AND chance < 1) FROM payment"));

            refused(first, "CALL transfer(1, 2, 1000)", "P0004", "account 1 has 70 only");
            refused(first, "CALL transfer(1, 99, 1)", "02000", "no account 99");
            refused(first, "CALL transfer(1, NULL, 1)", "22004", "is NULL");
            refused(first, "CALL transfer(1, 2, 0)", "25006", "gen_random_uuid");
            refused(first, "CALL transfer(1, 2, -1)", "0A000", "COMMIT");
            refused(first, "CALL outside(1, 2, 1)", "2F003", "account");
            refused(first, "CALL keyless(1)", "42P13", "does not say which tables");
            refused(first, "CALL missing()", "42883", "no Java procedure lend");
            refused(first, "CALL unsaid()", "55000", "names one in Java");
            refused(first, "CALL nowhere()", "42883", "nowhere");
            refused(first, "UPDATE account SET balance = 0; CALL transfer(1, 2, 1)", "0A000", "called alone");
            refused(first, "BEGIN; CALL transfer(1, 2, 1)", "0A000", "only the owner");
            execute(first, "ROLLBACK");
            assertEquals("70", value(second, "SELECT balance FROM account WHERE id = 1"),
                    "what was refused has changed nothing");

            try (TuttiLog log = TuttiLog.over(cluster.connect(1))) {
                TuttiLog.Ticket ticket = log.submit("CALL transfer(?, ?, ?)", 4, 5, 7);
                assertEquals(Outcome.COMMITTED, log.await(ticket, Duration.ofSeconds(30)));
                List<TuttiLog.Ticket> tickets = log.submitAll("CALL transfer(?, ?, ?)",
                        List.of(new Object[]{4, 5, 1}, new Object[]{4, 5, 5000}, new Object[]{4, 5, 2}));
                assertEquals(Outcome.COMMITTED, log.await(tickets.get(2), Duration.ofSeconds(30)));
                assertEquals(Outcome.ABORTED, log.await(tickets.get(1), Duration.ofSeconds(30)));
                SQLException foreign = assertThrows(SQLException.class, () -> log
                        .outcome(new TuttiLog.Ticket(ticket.name().replaceAll("@.*", "@0badcafe"))));
                assertTrue(String.valueOf(foreign.getMessage()).contains("cluster"), foreign.getMessage());
            }
            assertEquals("90", value(second, "SELECT balance FROM account WHERE id = 4"));
            cluster.cluster.kill(1);
            Path config = spec.directory().resolve(cluster.node(1).name()).resolve("node.yaml");
            Files.writeString(config,
                    Files.readString(config).replace(Transfer.class.getName(), OtherTransfer.class.getName()));
            cluster.cluster.startNode(1);
            cluster.awaitReady();
            try (Connection again = cluster.connect(0)) {
                FaultCluster.await("node 1 says what it has", () -> versions(again));
                refused(again, "CALL transfer(1, 2, 1)", "55000", "not at node 1");
            }
        }
    }

    /** As at nodes with PostgreSQL, but for the schema, which has nothing of it. */
    @Test
    @Timeout(200)
    void nodesWithH2HaveThem() throws Exception {
        ClusterSpec spec = FaultCluster.alsoLoading(Transfer.class, FaultCluster.with(FaultCluster.with(
                FaultCluster.spec(directory, 2, "hybrid"), ClusterSpec.ENGINE, "h2"), "procedures",
                "{transfer: " + Transfer.class.getName() + "}"));
        try (FaultCluster cluster = FaultCluster.start(spec);
                Connection first = cluster.connect(0);
                Connection second = cluster.connect(1)) {
            execute(first, SCHEMA.get(0));
            execute(first, SCHEMA.get(1));
            execute(first, "INSERT INTO account VALUES (1, 100), (2, 100)");
            execute(second, "SET tutti.read_level = 'linearizable'");
            execute(first, "CALL transfer(1, 2, 10)");
            execute(second, "CALL transfer(1, 2, 5)");
            refused(second, "CALL transfer(1, 2, 1000)", "P0004", "account 1 has 85 only");
            assertEquals("115", value(second, "SELECT balance FROM account WHERE id = 2"));
            assertEquals("2", value(second, "SELECT count(*) FROM payment WHERE chance >= 0 AND chance < 1"));
        }
    }

    private static boolean versions(Connection connection) {
        try {
            execute(connection, "CALL transfer(1, 2, 1000)");
            return false;
        } catch (SQLException refused) {
            return "55000".equals(refused.getSQLState());
        }
    }
}
