package tutti.engine.postgres.output;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import tutti.core.spi.Engine.Applier;
import tutti.core.txn.KeySet;
import tutti.core.txn.WriteSet;
import tutti.engine.EngineContract.Result;
import tutti.engine.WriteSetService;
import tutti.engine.WriteSetService.Committed;
import tutti.engine.WriteSetService.Reader;
import tutti.engine.postgres.LocalSession;
import tutti.engine.postgres.PostgresEngine;
import tutti.engine.postgres.TestServer;

/** What every write-set service does, wherever its write sets come from. */
abstract class WriteSetServiceContract {
    static final Duration PATIENCE = Duration.ofSeconds(1);
    private static final int ASKED_MAX = 60;
    private static final String[] SCHEMA = {"CREATE TYPE mood AS ENUM ('sad', 'so \"so\"')",
            "CREATE TABLE parent (id int PRIMARY KEY, code text UNIQUE, note text)",
            "CREATE TABLE child (a int, b text, p int REFERENCES parent, twice int GENERATED ALWAYS AS (a * 2) STORED UNIQUE,"
                    + " PRIMARY KEY (a, b))",
            "CREATE TABLE plain (x int, m mood, d numeric, t timestamptz)",
            "CREATE TABLE whole (id int PRIMARY KEY, v text) PARTITION BY RANGE (id)",
            "CREATE TABLE low PARTITION OF whole FOR VALUES FROM (0) TO (10)",
            "CREATE TABLE high PARTITION OF whole FOR VALUES FROM (10) TO (20)",
            "CREATE TABLE large (id int PRIMARY KEY, counter int, body text)",
            "ALTER TABLE large ALTER body SET STORAGE EXTERNAL"};

    /** A database whose changes are told. */
    interface Told extends AutoCloseable {
        /** Executes in a transaction and commits it. Returns what was captured before. */
        WriteSet commit(String... statements) throws Exception;

        LocalSession session();

        WriteSetService service();

        @Override
        void close() throws IOException, SQLException;
    }

    /** One with that schema, of which everything is told from now on. */
    abstract Told open(String database) throws Exception;

    /** Has the service forget what was told up to there. */
    abstract void forget(Told told, Reader reader, long position) throws Exception;

    private Told opened() throws Exception {
        String database = TestServer.database(SCHEMA);
        TestServer.install(database, 0);
        return open(database);
    }

    /** The next transaction. */
    static Committed next(Reader reader) throws Exception {
        for (int i = 0; i < ASKED_MAX; i++) {
            Committed next = reader.next(PATIENCE);
            if (next != null && !next.writes().isEmpty()) {
                return next;
            }
        }
        throw new AssertionError("nothing was told");
    }

    private static Set<String> keys(KeySet keys) {
        Set<String> all = new TreeSet<>();
        IntStream.range(0, keys.size()).forEach(i -> all.add(keys.hash(i) + " " + keys.kind(i)));
        return all;
    }

    @Test
    void tellsWhatCaptureTellsAndItMakesAnotherReplicaEqual() throws Exception {
        String other = TestServer.database(SCHEMA);
        List<String[]> transactions = List.of(
                new String[]{
                        "INSERT INTO parent VALUES (1, 'a', 'quote '' \" \\ (x,y) ' || chr(10)), (2, NULL, ''), (3, 'c', NULL)",
                        "INSERT INTO child VALUES (1, 'x', 1), (2, '', 2)",
                        "INSERT INTO plain VALUES (1, 'so \"so\"', 1.50, '2026-03-01 12:34:56.789+02'), (NULL, 'sad', 'NaN', NULL), (7, NULL, 0, NULL)",
                        "INSERT INTO large SELECT 1, 0, string_agg(md5(i::text), '') FROM generate_series(1, 400) i"},
                new String[]{"UPDATE parent SET note = 'new' WHERE id = 1", "UPDATE child SET p = 3 WHERE a = 1"},
                new String[]{"UPDATE parent SET code = 'z' WHERE id = 3", "UPDATE child SET a = 5 WHERE a = 2"},
                new String[]{"UPDATE plain SET d = d + 1 WHERE x = 1", "DELETE FROM plain WHERE x IS NULL"},
                new String[]{"UPDATE large SET counter = counter + 1"},
                new String[]{"INSERT INTO whole VALUES (1, 'l'), (11, 'h')", "UPDATE whole SET id = 12 WHERE id = 1"},
                new String[]{"INSERT INTO parent VALUES (9, 'n', 'x')", "UPDATE parent SET note = 'y' WHERE id = 9",
                        "DELETE FROM parent WHERE id = 9", "INSERT INTO parent VALUES (9, 'm', 'z')"},
                new String[]{"SELECT tutti.flush()", "TRUNCATE plain",
                        "INSERT INTO plain VALUES (5, NULL, NULL, NULL)"});
        try (Told told = opened();
                Reader reader = told.service().read(WriteSetService.ALL);
                PostgresEngine engine = PostgresEngine.open(TestServer.loops(), TestServer.reach(other),
                        TestServer.settings(1));
                Applier applier = engine.openApplier()) {
            long position = 0;
            long before = 0;
            for (String[] statements : transactions) {
                WriteSet captured = told.commit(statements);
                Committed next = next(reader);
                assertEquals(keys(captured.keys()), keys(next.writes().keys()), () -> String.join("; ", statements));
                assertTrue(next.position() > before);
                before = next.position();
                Result<Void> applied = new Result<>();
                applier.applyAndCommit(position + 1, List.of(next.writes()), ++position, applied);
                applied.success();
            }
            for (String table : List.of("parent", "child", "plain", "whole", "large")) {
                String query = "SELECT r::text FROM " + table + " r ORDER BY 1";
                assertEquals(Rows.of(told.session(), query), Rows.of(other, query), table);
            }
        }
    }

    @Test
    void tellsOnlyWhatCommittedAndInThatOrder() throws Exception {
        try (Told told = opened(); Reader reader = told.service().read(WriteSetService.ALL)) {
            told.commit("INSERT INTO parent VALUES (1, 'a', '')");
            told.session().execute("INSERT INTO parent VALUES (2, 'b', '')", "ROLLBACK");
            told.commit("INSERT INTO parent VALUES (3, 'c', '')", "SAVEPOINT s",
                    "INSERT INTO parent VALUES (4, 'd', '')",
                    "ROLLBACK TO s");
            List<String> rows = new ArrayList<>();
            for (int i = 0; i < 2; i++) {
                rows.addAll(Rows.inserted(next(reader).writes()));
            }
            assertEquals(List.of("(1,a,\"\")", "(3,c,\"\")"), rows);
            assertNothing(reader);
        }
    }

    static void assertNothing(Reader reader) throws Exception {
        Committed more = reader.next(Duration.ofMillis(300));
        assertTrue(more == null || more.writes().isEmpty(), () -> "told: " + more);
    }

    @Test
    void goesOnFromAPositionAsOftenAsIsAsked() throws Exception {
        try (Told told = opened()) {
            List<Committed> first = new ArrayList<>();
            try (Reader reader = told.service().read(WriteSetService.ALL)) {
                for (int i = 1; i <= 4; i++) {
                    told.commit("INSERT INTO parent VALUES (" + i + ", NULL, '')");
                }
                for (int i = 0; i < 4; i++) {
                    first.add(next(reader));
                }
            }
            for (int from : new int[]{1, 3, 0}) {
                try (Reader reader = told.service().read(from == 0 ? 0 : first.get(from - 1).position())) {
                    for (int i = from; i < 4; i++) {
                        Committed again = next(reader);
                        assertEquals(first.get(i).position(), again.position());
                        assertEquals(Rows.inserted(first.get(i).writes()), Rows.inserted(again.writes()));
                    }
                    assertNothing(reader);
                }
            }
        }
    }

    @Test
    void beginsNow() throws Exception {
        try (Told told = opened()) {
            told.commit("INSERT INTO parent VALUES (1, NULL, '')");
            try (Reader reader = told.service().read(WriteSetService.NOW)) {
                told.commit("INSERT INTO parent VALUES (2, NULL, '')");
                assertEquals(List.of("(2,,\"\")"), Rows.inserted(next(reader).writes()));
                assertNothing(reader);
            }
        }
    }

    @Test
    void saysWhatIsNotToBeHadAnyMore() throws Exception {
        try (Told told = opened()) {
            Committed first;
            try (Reader reader = told.service().read(WriteSetService.ALL)) {
                told.commit("INSERT INTO parent VALUES (1, NULL, '')");
                first = next(reader);
                told.commit("INSERT INTO parent VALUES (2, NULL, '')");
                forget(told, reader, next(reader).position());
            }
            String why = String.valueOf(assertThrows(IOException.class, () -> told.service().read(first.position()))
                    .getMessage());
            assertNotNull(why);
            assertTrue(why.contains("committed"), why);
            told.commit("INSERT INTO parent VALUES (3, NULL, '')");
            try (Reader reader = told.service().read(WriteSetService.NOW)) {
                assertNothing(reader);
            }
        }
    }
}
