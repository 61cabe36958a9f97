package tutti.engine.postgres;

import static org.junit.jupiter.api.Assertions.assertNotNull;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The catalog is read while sessions change the schema, whose locks it may meet in another order than they take them. */
@Timeout(120)
class CatalogDeadlockTest {
    private static final String WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'relation'"
            + " AND relation = 'm'::regclass AND mode = 'AccessShareLock'";

    private static String table(String name) {
        return "CREATE TABLE " + name + " (id int PRIMARY KEY, v int); CREATE VIEW seen_" + name
                + " AS SELECT v FROM " + name;
    }

    @Test
    void aDeadlockWithASchemaChangeIsNoFailure() throws Exception {
        String database = TestServer.database(table("l"), table("m"), table("n"));
        try (PostgresEngine engine = PostgresEngine.open(TestServer.loops(), TestServer.reach(database),
                TestServer.settings(0));
                Connection session = TestServer.jdbc(database);
                Connection other = TestServer.jdbc(database);
                Statement locks = session.createStatement();
                Statement looks = other.createStatement()) {
            session.setAutoCommit(false);
            other.setAutoCommit(true);
            locks.execute("LOCK TABLE m IN ACCESS EXCLUSIVE MODE");
            CompletableFuture<Void> refreshed = engine.refreshCatalog();
            boolean waits = false;
            while (!waits) {
                try (ResultSet waiting = looks.executeQuery(WAITING)) {
                    waiting.next();
                    waits = waiting.getInt(1) > 0;
                }
            }
            // one of these it has passed; it has waited longer, so that it is the one who fails
            locks.execute("LOCK TABLE l, n IN ACCESS EXCLUSIVE MODE");
            session.commit();
            refreshed.get(60, TimeUnit.SECONDS);
            assertNotNull(engine.catalog());
        }
    }
}
