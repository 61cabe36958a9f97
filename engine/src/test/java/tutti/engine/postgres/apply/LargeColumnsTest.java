package tutti.engine.postgres.apply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;
import tutti.core.txn.WriteSet;
import tutti.engine.postgres.capture.CaptureException;
import tutti.engine.postgres.capture.Changes;
import tutti.engine.postgres.capture.Changes.Change;

/** Large values that a transaction leaves as they are do not travel, and are not written anew. */
class LargeColumnsTest {
    private static final int LARGE = 100_000;
    /** A value that does not get much smaller when it is compressed. */
    private static final String TEXT = "(SELECT string_agg(md5(i::text || %s), '') FROM generate_series(1, "
            + LARGE / 32
            + ") i)";
    private static final int SMALL = 1_000;

    private static String text(String of) {
        return TEXT.formatted("'" + of + "'");
    }

    private static Pair documents(String... more) throws Exception {
        String[] schema = new String[more.length + 2];
        schema[0] = "CREATE TABLE doc (id int PRIMARY KEY, reads int NOT NULL, body text, raw bytea, title text)";
        schema[1] = "INSERT INTO doc VALUES (1, 0, " + text("a") + ", NULL, 'x'), (2, 0, " + text("b")
                + ", '\\x00', 'y')";
        System.arraycopy(more, 0, schema, 2, more.length);
        return new Pair(schema);
    }

    private static int size(WriteSet writes) {
        return writes.changes().length;
    }

    /** Where a value is stored apart from its row. */
    private static Object place(Pair pair, String column, int id) throws Exception {
        return Pair.rows(pair.other, "SELECT pg_column_toast_chunk_id(" + column + ") FROM doc WHERE id = " + id);
    }

    @Test
    void whatIsLeftAsItWasNeitherTravelsNorIsWrittenAnew() throws Exception {
        try (Pair pair = documents()) {
            Object before = place(pair, "body", 1);
            WriteSet writes = pair.session.commit("UPDATE doc SET reads = reads + 1, raw = NULL, title = NULL");
            assertTrue(size(writes) < SMALL, size(writes) + " bytes");
            pair.apply(List.of(writes)).assertEqual("doc");
            assertEquals(before, place(pair, "body", 1));
            WriteSet changed = pair.session.commit("UPDATE doc SET body = body || '!' WHERE id = 1");
            assertTrue(size(changed) > LARGE, size(changed) + " bytes");
            pair.apply(List.of(changed)).assertEqual("doc");
        }
    }

    /** Who assigns a value to itself has written it anew where it was, but nowhere else. */
    @Test
    void whatIsAssignedTheSameValueDoesNotTravel() throws Exception {
        try (Pair pair = documents()) {
            WriteSet writes = pair.session.commit("UPDATE doc SET reads = 7, body = body || '' WHERE id = 2");
            assertTrue(size(writes) < SMALL, size(writes) + " bytes");
            pair.apply(List.of(writes)).assertEqual("doc");
        }
    }

    @Test
    void severalChangesOfARowAreFoldedIntoOneOfAllTheirColumns() throws Exception {
        try (Pair pair = documents()) {
            WriteSet writes = pair.session.commit("UPDATE doc SET reads = 1", "UPDATE doc SET title = 'z' WHERE id = 1",
                    "UPDATE doc SET reads = reads + 1");
            assertTrue(size(writes) < SMALL, size(writes) + " bytes");
            pair.apply(List.of(writes)).assertEqual("doc");
            pair.transaction("UPDATE doc SET reads = 3", "UPDATE doc SET body = 'short' WHERE id = 1",
                    "UPDATE doc SET reads = 4, body = " + text("c") + " WHERE id = 2", "UPDATE doc SET title = NULL")
                    .assertEqual("doc");
            pair.transaction("INSERT INTO doc VALUES (3, 0, " + text("d") + ", NULL, 'new')",
                    "UPDATE doc SET reads = 5 WHERE id = 3", "UPDATE doc SET reads = 6, title = '' WHERE id = 3",
                    "UPDATE doc SET reads = 7 WHERE id = 1", "UPDATE doc SET id = 10, reads = 8 WHERE id = 1",
                    "UPDATE doc SET reads = 9 WHERE id = 10", "DELETE FROM doc WHERE id = 2",
                    "INSERT INTO doc VALUES (2, 0, " + text("b") + ", NULL, 'again')",
                    "UPDATE doc SET reads = 10 WHERE id = 2",
                    "UPDATE doc SET title = 'gone' WHERE id = 3", "DELETE FROM doc WHERE id = 3")
                    .assertEqual("doc");
        }
    }

    @Test
    void changesOfSeveralTransactionsAreFoldedToo() throws Exception {
        try (Pair pair = documents()) {
            pair.apply(List.of(pair.session.commit("UPDATE doc SET reads = 1"),
                    pair.session.commit("UPDATE doc SET body = 'short', title = '' WHERE id = 1"),
                    pair.session.commit("UPDATE doc SET raw = '\\x0102' WHERE id = 2"),
                    pair.session.commit("UPDATE doc SET reads = 4, title = NULL"))).assertEqual("doc");
        }
    }

    /** Texts do not tell any more which version of a row a change has begun with; versions do. */
    @Test
    void changesOfOneRowThatAreNotToldInOrderAreRefused() throws Exception {
        try (Pair pair = documents("CREATE FUNCTION updates(value text) RETURNS int LANGUAGE plpgsql AS"
                + " 'BEGIN UPDATE doc SET body = value WHERE id = 1; RETURN 2; END'",
                "CREATE FUNCTION deletes() RETURNS int LANGUAGE plpgsql AS"
                        + " 'BEGIN DELETE FROM doc WHERE id = 1; RETURN 2; END'")) {
            for (String statement : List.of(
                    "UPDATE doc SET reads = CASE WHEN id = 1 THEN 3 ELSE updates('x') END",
                    "UPDATE doc SET reads = 1; UPDATE doc SET body = CASE WHEN id = 1 THEN " + text("b")
                            + " ELSE updates(" + text("a") + ")::text END",
                    "UPDATE doc SET reads = 1; UPDATE doc SET reads = CASE WHEN id = 1 THEN 3 ELSE deletes() END")) {
                pair.session.execute(statement);
                assertEquals("0A000", assertThrows(CaptureException.class, () -> pair.session.capture(), statement)
                        .sqlState());
                pair.session.execute("ROLLBACK");
            }
        }
    }

    @Test
    void valuesThatAreEqualButNotTheSameArrive() throws Exception {
        try (Pair pair = documents("CREATE EXTENSION citext",
                "CREATE COLLATION ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
                "CREATE TABLE odd (id citext PRIMARY KEY, n numeric, f float8, c citext, l text COLLATE ci, j jsonb, i interval,"
                        + " big text)",
                "INSERT INTO odd VALUES ('Key', 1.0, 0, repeat('Ab', 5000), 'a', '[1.0]', '24:00', " + text("o")
                        + ")")) {
            pair.transaction("UPDATE odd SET n = 1.00").assertEqual("odd");
            pair.transaction("UPDATE odd SET f = '-0', c = lower(c), l = 'A', j = '[1.00]', i = '1 day'")
                    .assertEqual("odd");
            pair.transaction("UPDATE odd SET id = 'KEY', n = NULL").assertEqual("odd");
            pair.transaction("UPDATE odd SET n = 2", "UPDATE odd SET id = 'kEY'", "UPDATE odd SET big = upper(big)")
                    .assertEqual("odd");
        }
    }

    @Test
    void generatedColumnsDomainsAndForeignKeysStandBesideLargeValues() throws Exception {
        try (Pair pair = documents("CREATE DOMAIN filled AS text NOT NULL CHECK (VALUE <> '')",
                """
                        CREATE TABLE g (gone int, id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, doc int REFERENCES doc, big text, must filled,
                          length int GENERATED ALWAYS AS (length(big)) STORED, virt int GENERATED ALWAYS AS (doc + 1) VIRTUAL, code text UNIQUE,
                          n int)""",
                "ALTER TABLE g DROP COLUMN gone",
                "INSERT INTO g (doc, big, must, code, n) VALUES (1, " + text("g") + ", " + text("m") + ", 'c', 1)")) {
            pair.transaction("UPDATE g SET n = 2").assertEqual("g");
            pair.transaction("UPDATE g SET doc = 2").assertEqual("g");
            pair.transaction("UPDATE g SET n = 3", "UPDATE g SET code = 'd', n = 4", "UPDATE g SET big = 'x'")
                    .assertEqual("g");
            pair.transaction("UPDATE g SET n = 5, must = 'y'").assertEqual("g");
        }
    }

    @Test
    void rowsThatNoKeyNamesTravelWhole() throws Exception {
        try (Pair pair = new Pair("CREATE TABLE plain (reads int, body text)",
                "INSERT INTO plain VALUES (0, " + text("p") + ")")) {
            WriteSet writes = pair.session.commit("UPDATE plain SET reads = 1");
            assertTrue(size(writes) > LARGE, size(writes) + " bytes");
            pair.apply(List.of(writes)).assertEqual("plain");
        }
    }

    @Test
    void partitionsLeaveLargeValuesOutToo() throws Exception {
        try (Pair pair = new Pair("CREATE TABLE whole (id int PRIMARY KEY, n int, body text) PARTITION BY RANGE (id)",
                "CREATE TABLE low (body text, n int, id int NOT NULL)",
                "ALTER TABLE whole ATTACH PARTITION low FOR VALUES FROM (0) TO (10)",
                "CREATE TABLE high PARTITION OF whole FOR VALUES FROM (10) TO (20)",
                "INSERT INTO whole VALUES (1, 1, " + text("p") + ")")) {
            WriteSet writes = pair.session.commit("UPDATE whole SET n = n + 1");
            assertTrue(size(writes) < SMALL, size(writes) + " bytes");
            pair.apply(List.of(writes)).assertEqual("low");
            pair.transaction("UPDATE whole SET n = 3", "UPDATE whole SET id = 11", "UPDATE whole SET n = 4")
                    .assertEqual("high");
        }
    }

    @Test
    void theColumnsOfEachSideOfASchemaChangeAreItsOwn() throws Exception {
        try (Pair pair = documents()) {
            List<Change> first = Changes.read(pair.session.commit("UPDATE doc SET reads = 1 WHERE id = 1").changes());
            assertEquals(1, ((Change.Columns) first.getFirst()).columns().length);
        }
    }
}
