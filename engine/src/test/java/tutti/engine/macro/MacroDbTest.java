package tutti.engine.macro;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import tutti.core.spi.Engine.Applier;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.engine.EngineContract.Result;
import tutti.engine.jdbc.BarrierStatement;
import tutti.engine.jdbc.ClientSession;
import tutti.engine.jdbc.EmbeddedDatabase;
import tutti.engine.jdbc.h2.H2Database;
import tutti.engine.jdbc.hsqldb.HsqldbDatabase;

/** One copy for the client, whatever there is behind it. */
@Timeout(60)
class MacroDbTest {
    private static final String PARITY = "SELECT SUM(V) FROM T";

    enum Kind {
        H2, HSQLDB;

        EmbeddedDatabase create() throws SQLException {
            return switch (this) {
                case H2 -> H2Database.inMemory();
                case HSQLDB -> HsqldbDatabase.inMemory();
            };
        }
    }

    private long position;

    private MacroDb open(Kind kind, int secondaries) throws Exception {
        MacroDb macro = MacroDb.open(kind.create(), kind::create, secondaries, MacroDb.Settings.DEFAULT);
        everywhere(macro, "CREATE TABLE T (ID INTEGER PRIMARY KEY, V INTEGER)");
        return macro;
    }

    private void everywhere(MacroDb macro, String sql) throws Exception {
        try (Applier applier = macro.openApplier()) {
            Result<ExecuteResult> done = new Result<>();
            applier.execute(++position, new BarrierStatement("PUBLIC", sql).toBytes(), done);
            assertTrue(done.success().tookEffect());
        }
    }

    private static void execute(ClientSession session, String sql) throws SQLException {
        session.statement(connection -> {
            try (Statement statement = connection.createStatement()) {
                return statement.execute(sql);
            }
        });
    }

    private static int number(ClientSession session, String sql) throws SQLException {
        return session.statement(connection -> {
            try (Statement statement = connection.createStatement(); ResultSet row = statement.executeQuery(sql)) {
                row.next();
                return row.getInt(1);
            }
        });
    }

    private void commit(ClientSession session) throws Exception {
        session.capture();
        Result<Void> done = new Result<>();
        session.commit(++position, done);
        done.success();
    }

    private static void awaitPosition(MacroDb macro, long wanted) {
        while (macro.status().secondaries().stream().anyMatch(at -> at < wanted)) {
            LockSupport.parkNanos(100_000);
        }
    }

    /** Every reader sees what was committed before it began, and both rows of a transaction or none. */
    @ParameterizedTest
    @EnumSource
    void readersSeeWhatWasCommittedBeforeThemAndNeverHalfOfIt(Kind kind) throws Exception {
        try (MacroDb macro = open(kind, 2); ClientSession writer = macro.openSession(() -> null)) {
            execute(writer, "INSERT INTO T VALUES (1, 0), (2, 0)");
            commit(writer);
            AtomicBoolean stop = new AtomicBoolean();
            CompletableFuture<Integer> reads = CompletableFuture.supplyAsync(() -> {
                try (ClientSession reader = macro.openSession(() -> null)) {
                    reader.setReadOnly(true);
                    int count = 0;
                    for (; !stop.get(); count++) {
                        assertEquals(0, number(reader, PARITY));
                        reader.commitUnchanged();
                    }
                    return count;
                } catch (SQLException failed) {
                    throw new IllegalStateException(failed);
                }
            });
            try (ClientSession reader = macro.openSession(() -> null)) {
                reader.setReadOnly(true);
                for (int i = 1; i <= 200; i++) {
                    execute(writer, "UPDATE T SET V = V + 1 WHERE ID = 1");
                    execute(writer, "UPDATE T SET V = V - 1 WHERE ID = 2");
                    commit(writer);
                    assertEquals(i, number(reader, "SELECT V FROM T WHERE ID = 1"));
                    reader.commitUnchanged();
                }
            }
            stop.set(true);
            assertTrue(reads.get() > 0);
            awaitPosition(macro, position);
            assertEquals(List.of(position, position), macro.status().secondaries());
            try (ClientSession reader = macro.openSession(() -> null)) {
                long before = macro.status().readsAtSecondaries();
                reader.setReadOnly(true);
                assertEquals(200, number(reader, "SELECT V FROM T WHERE ID = 1"));
                assertEquals(before + 1, macro.status().readsAtSecondaries(), "an idle secondary is new enough");
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void aSecondaryIsMadeAndBroughtUpToDateWhileCommitsGoOn(Kind kind) throws Exception {
        try (MacroDb macro = open(kind, 0); ClientSession writer = macro.openSession(() -> null)) {
            for (int i = 0; i < 500; i++) {
                execute(writer, "INSERT INTO T VALUES (" + i + ", 0)");
            }
            commit(writer);
            everywhere(macro, "CREATE TABLE CHILD (ID INTEGER PRIMARY KEY, T INTEGER REFERENCES T (ID))");
            CompletableFuture<Void> added = CompletableFuture.runAsync(() -> {
                try {
                    macro.addSecondary();
                } catch (SQLException failed) {
                    throw new IllegalStateException(failed);
                }
            });
            for (int i = 0; i < 100 || !added.isDone(); i++) {
                execute(writer, "UPDATE T SET V = V + 1 WHERE ID = " + i % 500);
                if (i < 500) {
                    execute(writer, "INSERT INTO CHILD VALUES (" + i + ", " + i + ")");
                }
                commit(writer);
            }
            added.get();
            awaitPosition(macro, position);
            try (ClientSession reader = macro.openSession(() -> null)) {
                int expected = number(writer, PARITY);
                writer.commitUnchanged();
                reader.setReadOnly(true);
                assertEquals(expected, number(reader, PARITY));
                assertEquals(1, macro.status().readsAtSecondaries());
                macro.removeSecondary();
                assertEquals(expected, number(reader, PARITY), "its reader goes on to the end");
                reader.commitUnchanged();
                assertEquals(expected, number(reader, PARITY));
                assertEquals(1, macro.status().readsAtPrimary());
            }
            assertEquals(List.of(), macro.status().secondaries());
        }
    }

    @ParameterizedTest
    @EnumSource
    void aReadOnlyTransactionThatWritesIsRefused(Kind kind) throws Exception {
        try (MacroDb macro = open(kind, 1); ClientSession session = macro.openSession(() -> null)) {
            awaitPosition(macro, position);
            session.setReadOnly(true);
            SQLException refused = assertThrows(SQLException.class, () -> {
                execute(session, "INSERT INTO T VALUES (1, 1)");
                session.capture();
            });
            assertEquals("25006", refused.getSQLState());
            session.forget();
            assertEquals(0, number(session, "SELECT COUNT(*) FROM T"));
        }
    }

    /** Changes of the schema go to the secondaries in their place among the commits. */
    @ParameterizedTest
    @EnumSource
    void schemaChangesReachTheSecondaries(Kind kind) throws Exception {
        try (MacroDb macro = open(kind, 1); ClientSession session = macro.openSession(() -> null)) {
            execute(session, "INSERT INTO T VALUES (1, 1)");
            commit(session);
            everywhere(macro, "ALTER TABLE T ADD COLUMN W INTEGER DEFAULT 7");
            execute(session, "INSERT INTO T (ID, V, W) VALUES (2, 2, 8)");
            commit(session);
            awaitPosition(macro, position);
            session.setReadOnly(true);
            assertEquals(15, number(session, "SELECT SUM(W) FROM T"));
            assertEquals(1, macro.status().readsAtSecondaries());
        }
    }
}
