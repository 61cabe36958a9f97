package tutti.engine.postgres;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.pgwire.PostgresException;

/** The catalog is read while sessions change the schema, whose locks it may meet in another order than they take them. */
@Timeout(120)
class CatalogDeadlockTest {
    private static final String WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'relation'"
            + " AND relation IN ('m'::regclass, 'seen_m'::regclass) AND mode = 'AccessShareLock'";

    private static String table(String name) {
        return "CREATE TABLE " + name + " (id int PRIMARY KEY, v int); CREATE VIEW seen_" + name
                + " AS SELECT v FROM " + name;
    }

    /** What meets the catalog's reading: a session that changes the schema, and another one that looks. */
    private static final class Met implements AutoCloseable {
        final PostgresEngine engine;
        final Connection session;
        final Connection other;
        final Statement locks;
        final Statement looks;

        Met(String... tables) throws Exception {
            String[] statements = new String[tables.length];
            for (int i = 0; i < tables.length; i++) {
                statements[i] = table(tables[i]);
            }
            String database = TestServer.database(statements);
            engine = PostgresEngine.open(TestServer.loops(), TestServer.reach(database), TestServer.settings(0));
            session = TestServer.jdbc(database);
            other = TestServer.jdbc(database);
            locks = session.createStatement();
            looks = other.createStatement();
            session.setAutoCommit(false);
            other.setAutoCommit(true);
            locks.execute("LOCK TABLE m IN ACCESS EXCLUSIVE MODE");
        }

        /** Begins to read the catalog, and returns when it waits for the session's lock. */
        CompletableFuture<Void> refreshing() throws Exception {
            CompletableFuture<Void> refreshed = engine.refreshCatalog();
            boolean waits = false;
            while (!waits) {
                try (ResultSet waiting = looks.executeQuery(WAITING)) {
                    waiting.next();
                    waits = waiting.getInt(1) > 0;
                }
            }
            return refreshed;
        }

        @Override
        public void close() throws SQLException {
            session.close();
            other.close();
            engine.close();
        }
    }

    @Test
    void theSessionGoesOnAndTheCatalogIsReadAgain() throws Exception {
        try (Met met = new Met("l", "m", "n")) {
            CompletableFuture<Void> refreshed = met.refreshing();
            // one of these it has passed; if it looked for the deadlock after a second, the session would be the one to fail
            met.locks.execute("SET deadlock_timeout = '900ms'; LOCK TABLE l, n IN ACCESS EXCLUSIVE MODE");
            met.session.commit();
            refreshed.get(60, TimeUnit.SECONDS);
            assertNotNull(met.engine.catalog());
        }
    }

    /** What it had begun to read is not there any more when its lock is free. */
    @Test
    void whatIsDroppedMeanwhileIsReadAgain() throws Exception {
        try (Met met = new Met("l", "m", "n")) {
            met.locks.execute("SET event_triggers = off; DROP TABLE m CASCADE");
            CompletableFuture<Void> refreshed = met.refreshing();
            met.session.commit();
            refreshed.get(60, TimeUnit.SECONDS);
            assertNotNull(met.engine.catalog());
        }
    }

    @Test
    void whoOnlyKeepsALockHoldsUpNoOtherQuestion() throws Exception {
        try (Met met = new Met("m")) {
            CompletableFuture<Void> refreshed = met.refreshing();
            CompletableFuture<Long> position = new CompletableFuture<>();
            met.engine.appliedPosition(new Completion<>() {
                @Override
                public void succeeded(Long value) {
                    position.complete(value);
                }

                @Override
                public void failed(EngineFailure failure) {
                    position.completeExceptionally(new IllegalStateException(failure.message()));
                }
            });
            assertEquals(0, position.get(60, TimeUnit.SECONDS));
            assertFalse(refreshed.isDone());
            met.session.commit();
            refreshed.get(60, TimeUnit.SECONDS);
        }
    }

    @Test
    void deadlocksWithoutEndAreTold() throws Exception {
        String database = TestServer.database();
        AdminConnection admin = new AdminConnection(TestServer.loops(), TestServer.reach(database), () -> {});
        try {
            AtomicInteger asked = new AtomicInteger();
            ExecutionException told = assertThrows(ExecutionException.class, () -> admin.ask(connection -> {
                asked.incrementAndGet();
                return connection.query("DO 'BEGIN RAISE deadlock_detected; END'");
            }).get(60, TimeUnit.SECONDS));
            assertEquals("40P01", ((PostgresException) told.getCause()).sqlState());
            assertEquals(1 + AdminConnection.REPETITIONS_MAX, asked.get());
        } finally {
            admin.close();
        }
    }
}
