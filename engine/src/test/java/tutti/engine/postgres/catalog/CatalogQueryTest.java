package tutti.engine.postgres.catalog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tutti.engine.postgres.TestServer;
import tutti.pgwire.BackendConnection;

/** The catalog of real databases. */
@Timeout(60)
class CatalogQueryTest {
    private static TableCatalog read(BackendConnection connection) throws Exception {
        return CatalogQuery.read(TestServer.execute(connection, CatalogQuery.SQL));
    }

    /** While others make and drop tables with keys, each reading is of one moment. */
    @Tag("long")
    @Test
    void itIsOfOneMoment() throws Exception {
        String database = TestServer.database("CREATE TABLE stays (id int PRIMARY KEY)");
        AtomicBoolean over = new AtomicBoolean();
        List<CompletableFuture<Void>> others = new ArrayList<>();
        for (String name : List.of("a", "b")) {
            BackendConnection other = TestServer.connect(database);
            others.add(CompletableFuture.runAsync(() -> {
                try {
                    while (!over.get()) {
                        TestServer.execute(other, "CREATE TABLE " + name + " (id int PRIMARY KEY, u int UNIQUE,"
                                + " s int REFERENCES stays)");
                        TestServer.execute(other, "ALTER TABLE " + name + " ADD COLUMN more text UNIQUE");
                        TestServer.execute(other, "DROP TABLE " + name);
                    }
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                } finally {
                    other.close();
                }
            }));
        }
        BackendConnection reader = TestServer.connect(database);
        int seen = 0;
        try {
            for (int i = 0; i < 60; i++) {
                TableCatalog catalog = read(reader);
                assertNotNull(catalog.table("public", "stays"));
                for (Table table : catalog.tables()) {
                    assertFalse(table.uniqueKeys().isEmpty(), table.name());
                    seen += table.name().length() == 1 ? 1 : 0;
                }
            }
        } finally {
            over.set(true);
            reader.close();
        }
        others.forEach(CompletableFuture::join);
        assertTrue(seen > 0, "tables came and went meanwhile");
    }

    @Test
    void aTableWithoutColumnsMayHaveAKey() throws Exception {
        String database = TestServer.database("CREATE TABLE nothing ()", "CREATE UNIQUE INDEX ON nothing ((1))",
                "CREATE TABLE stays (id int PRIMARY KEY)");
        BackendConnection reader = TestServer.connect(database);
        assertEquals(List.of("stays"), read(reader).tables().stream().map(Table::name).toList());
        reader.close();
    }

    /** Whatever their names are. */
    @Test
    void tablesAndColumnsAreInOrder() throws Exception {
        String odd = "\"a,b(\"\"c\"\")\\d \u00e4\ud83c\udfbc\"";
        String database = TestServer.database("CREATE DOMAIN positive AS numeric CHECK (VALUE > 0)",
                "CREATE SCHEMA \"Z\"",
                "CREATE TABLE b (gone int, " + odd
                        + " text, twice int GENERATED ALWAYS AS (id * 2) STORED, id int PRIMARY KEY)",
                "ALTER TABLE b DROP COLUMN gone", "ALTER TABLE b ADD COLUMN list positive[]",
                "ALTER TABLE b ADD COLUMN told text COLLATE \"C\"", "CREATE TABLE " + odd + " (v positive)",
                "CREATE TABLE \"Z\".a (id int PRIMARY KEY)");
        BackendConnection connection = TestServer.connect(database);
        TableCatalog catalog = read(connection);
        connection.close();
        String name = "a,b(\"c\")\\d \u00e4\ud83c\udfbc";
        assertEquals(List.of("Z.a", "public." + name, "public.b"),
                catalog.tables().stream().map(table -> table.schema() + "." + table.name()).toList());
        Table table = catalog.table("public", "b");
        assertNotNull(table);
        assertEquals(List.of(name, "twice", "id", "list", "told"),
                table.columns().stream().map(Table.Column::name).toList());
        assertEquals(List.of("text", "int4", "int4", "numeric[]", "text"),
                table.columns().stream().map(Table.Column::type).toList());
        assertEquals(List.of(false, true, false, false, false),
                table.columns().stream().map(Table.Column::generated).toList());
    }
}
