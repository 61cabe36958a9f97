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
}
