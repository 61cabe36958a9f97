package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.postgresql.PGConnection;
import org.postgresql.core.BaseConnection;
import tutti.core.txn.AbortReason;

/** Unmodified clients: pgjdbc, psql, pgbench. */
@Timeout(90)
class DriversTest extends OnFrontEnd {
    @ParameterizedTest
    @ValueSource(strings = {"simple", "extended", "extendedForPrepared", "extendedCacheEverything"})
    void pgjdbcWorksInEveryQueryMode(String mode) throws Exception {
        try (Connection connection = fixture.jdbc("preferQueryMode=" + mode, "prepareThreshold=2");
                Statement statement = connection.createStatement()) {
            for (int i = 1; i <= 5; i++) {
                try (PreparedStatement insert = connection.prepareStatement("INSERT INTO account VALUES (?, ?)")) {
                    insert.setInt(1, i);
                    insert.setInt(2, i * 10);
                    assertEquals(1, insert.executeUpdate());
                }
            }
            connection.setAutoCommit(false);
            for (int round = 0; round < 4; round++) {
                try (PreparedStatement update = connection
                        .prepareStatement("UPDATE account SET balance = balance + ? WHERE id = ?")) {
                    for (int i = 1; i <= 5; i++) {
                        update.setInt(1, 1);
                        update.setInt(2, i);
                        update.addBatch();
                    }
                    assertArrayEquals(new int[]{1, 1, 1, 1, 1}, update.executeBatch());
                }
                if (round % 2 == 0) {
                    connection.commit();
                } else {
                    connection.rollback();
                }
            }
            try (ResultSet rows = statement.executeQuery("SELECT sum(balance) FROM account")) {
                assertTrue(rows.next());
                assertEquals(160, rows.getInt(1));
            }
            connection.commit();
            assertEquals(7, fixture.node.drainCommitted().size());
            fixture.node.abort = new AbortReason.LostCertification(0, 7);
            statement.executeUpdate("UPDATE account SET balance = 0");
            SQLException lost = assertThrows(SQLException.class, connection::commit);
            assertEquals("40001", lost.getSQLState());
            fixture.node.abort = null;
            statement.executeUpdate("UPDATE account SET balance = 1");
            connection.commit();
            assertEquals("1:1 2:1 3:1 4:1 5:1", fixture.accounts());
        }
    }

    @Test
    void pgjdbcCopiesAndUsesCursorsAndSavepoints() throws Exception {
        try (Connection connection = fixture.jdbc(); Statement statement = connection.createStatement()) {
            StringBuilder rows = new StringBuilder();
            for (int i = 0; i < 1000; i++) {
                rows.append(i).append('\t').append(i).append("\tsome text to make it longer\n");
            }
            assertEquals(1000, connection.unwrap(PGConnection.class).getCopyAPI()
                    .copyIn("COPY account FROM STDIN", new StringReader(rows.toString())));
            connection.setAutoCommit(false);
            statement.setFetchSize(100);
            int count = 0;
            try (ResultSet all = statement.executeQuery("SELECT * FROM account ORDER BY id")) {
                while (all.next()) {
                    assertEquals(count++, all.getInt(1));
                }
            }
            assertEquals(1000, count);
            statement.executeUpdate("DELETE FROM account WHERE id >= 2");
            var savepoint = connection.setSavepoint();
            statement.executeUpdate("DELETE FROM account");
            connection.rollback(savepoint);
            connection.commit();
            assertEquals("0:0 1:1", fixture.accounts());
        }
    }

    @Test
    void pgjdbcKeepsItsPreparedStatementsWhileTheNodeReadsTheCatalog() throws Exception {
        try (Connection connection = fixture.jdbc("prepareThreshold=1");
                Statement statement = connection.createStatement()) {
            connection.unwrap(BaseConnection.class).getQueryExecutor().setFlushCacheOnDdl(false);
            connection.setAutoCommit(false);
            statement.execute("CREATE TABLE kept (id int)");
            try (PreparedStatement all = connection.prepareStatement("SELECT * FROM kept")) {
                all.executeQuery().close();
                statement.execute("ALTER TABLE kept ADD more int");
                SQLException outdated = assertThrows(SQLException.class, all::executeQuery);
                // it would have forgotten it if it had been told of another search path
                assertEquals("0A000", outdated.getSQLState());
            }
            connection.rollback();
            statement.execute("SET search_path = public, pg_catalog; CREATE TABLE kept (id int)");
            assertEquals("public, pg_catalog",
                    connection.unwrap(PGConnection.class).getParameterStatus("search_path"));
            connection.rollback();
        }
    }

    @Test
    void noticesAreHeardWhileTheirStatementRuns() throws Exception {
        try (Connection connection = fixture.jdbc();
                Statement statement = connection.createStatement();
                Connection other = fixture.jdbc();
                Statement locks = other.createStatement()) {
            locks.execute("SELECT pg_advisory_lock(77)");
            CompletableFuture<Boolean> done = new CompletableFuture<>();
            Thread.ofVirtual().start(() -> {
                try {
                    done.complete(statement
                            .execute("DO 'BEGIN RAISE NOTICE $$here$$; PERFORM pg_advisory_xact_lock(77); END'"));
                } catch (SQLException failed) {
                    done.completeExceptionally(failed);
                }
            });
            while (statement.getWarnings() == null) {
                assertFalse(done.isDone() || Thread.interrupted());
                Thread.onSpinWait();
            }
            locks.execute("SELECT pg_advisory_unlock(77)");
            assertFalse(done.get(60, TimeUnit.SECONDS));
        }
    }

    private static String run(String... command) throws Exception {
        Path output = Files.createTempFile("output", ".txt");
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
        builder.environment().put("PGPASSWORD", "wonderland");
        Process process = builder.start();
        if (!process.waitFor(60, TimeUnit.SECONDS)) {
            process.destroyForcibly();
            throw new AssertionError(String.join(" ", command) + " hangs: " + Files.readString(output));
        }
        return Files.readString(output) + "exit " + process.exitValue();
    }

    private static String psql(String... arguments) throws Exception {
        assumeTrue(Files.isExecutable(Path.of("/usr/bin/psql")), "psql is not installed");
        List<String> command = new ArrayList<>(List.of("/usr/bin/psql", "-X", "-h", "127.0.0.1", "-p",
                String.valueOf(fixture.address.getPort()), "-U", "alice", "-d", "postgres", "-A", "-t"));
        command.addAll(List.of(arguments));
        return run(command.toArray(String[]::new));
    }

    @Test
    void psqlWorks() throws Exception {
        assertEquals("INSERT 0 1\nexit 0", psql("-c", "insert into account values (1, 1)"));
        assertTrue(psql("-c", "\\d account").contains("balance|integer|"));
        Path rows = Files.writeString(Files.createTempFile("rows", ".csv"), "2,2,x\n3,3,y\n");
        assertEquals("COPY 2\nexit 0", psql("-c", "\\copy account from '" + rows + "' csv"));
        assertEquals("BEGIN\nUPDATE 3\nSAVEPOINT\nERROR:  division by zero\nROLLBACK\nCOMMIT\n1|7\n2|7\n3|7\nexit 0",
                psql("-c", "begin", "-c", "update account set balance = 7", "-c", "savepoint a", "-c", "select 1/0",
                        "-c", "rollback to a", "-c", "commit", "-c", "select id, balance from account order by id"));
        String script = psql("-c", "begin; declare c cursor for select id from account order by id; fetch 2 from c;"
                + " commit; select 'ü'");
        assertTrue(script.contains("1\n2\n") && script.contains("ü"), script);
    }

    @ParameterizedTest
    @ValueSource(strings = {"simple", "extended", "prepared"})
    void pgbenchWorks(String mode) throws Exception {
        assumeTrue(Files.isExecutable(Path.of("/usr/bin/pgbench")), "pgbench is not installed");
        fixture.admin.execute("SET session_replication_role = replica; INSERT INTO account SELECT i, 0 FROM"
                + " generate_series(1, 100) i; RESET session_replication_role", FrontEndFixture.PATIENCE);
        Path script = Files.writeString(Files.createTempFile("script", ".sql"), """
                \\set one random(1, 50)
                \\set two random(51, 100)
                BEGIN;
                UPDATE account SET balance = balance + 1 WHERE id = :one;
                SELECT balance FROM account WHERE id = :one;
                UPDATE account SET balance = balance - 1 WHERE id = :two;
                END;
                UPDATE account SET balance = balance WHERE id = 1;
                """);
        String output = run("/usr/bin/pgbench", "-h", "127.0.0.1", "-p", String.valueOf(fixture.address.getPort()),
                "-U", "alice", "-n", "-M", mode, "-c", "1", "-t", "200", "-f", script.toString(), "postgres");
        assertTrue(output.contains("number of transactions actually processed: 200/200") && output.endsWith("exit 0"),
                output);
        assertEquals(400, fixture.node.drainCommitted().size());
        assertEquals("0", fixture.admin.execute("SELECT sum(balance) FROM account", FrontEndFixture.PATIENCE).value());
    }
}
