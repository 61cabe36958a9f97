package tutti.engine.postgres.apply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import tutti.core.txn.WriteSet;
import tutti.engine.postgres.PostgresEngine;
import tutti.engine.postgres.TestServer;
import tutti.engine.postgres.capture.Promise;
import tutti.engine.postgres.capture.Statement;

/** What clients have prepared is kept by each replica until it ends. */
class PromisesTest {
    @Test
    void whatIsPreparedIsKeptWithItsKeysAndMadeWhenItIsCommitted() throws Exception {
        try (Pair pair = new Pair("CREATE TABLE account (id int PRIMARY KEY, balance int)",
                "INSERT INTO account VALUES (1, 10), (2, 20)")) {
            WriteSet writes = pair.session.commit("UPDATE account SET balance = 11 WHERE id = 1",
                    "INSERT INTO account VALUES (3, 30)");
            WriteSet other = pair.session.commit("UPDATE account SET balance = 21 WHERE id = 2");
            pair.apply(
                    List.of(Promise.prepare("transfer", "pg_monitor", "2026-11-23 12:00:00+00", "one", writes), other));
            assertEquals(List.of(List.of("(1,10)"), List.of("(2,21)")),
                    Pair.rows(pair.other, "SELECT t::text FROM account t ORDER BY 1"));
            assertEquals(List.of(List.of("transfer", "pg_monitor", "2026-11-23 12:00:00+00")),
                    Pair.rows(pair.other, "SELECT gid, owner, prepared FROM pg_prepared_xacts"));
            assertEquals("transfer", Objects.requireNonNull(pair.engine.promised(writes.keys())).to());
            assertNull(pair.engine.promised(other.keys()));
            assertEquals("42704", pair.finish("transfer", "another", true, "pg_monitor"));
            assertEquals("42501", pair.finish("transfer", "one", true, "pg_read_all_data"));
            assertEquals("55006", pair.execute(new Statement("CREATE TABLE no (a int)", "postgres", Map.of())));
            assertEquals("COMMIT PREPARED", pair.finish("transfer", "one", true, "pg_monitor"));
            pair.assertEqual("account");
            assertNull(pair.engine.promised(writes.keys()));
            assertEquals("42704", pair.finish("transfer", "one", true, "pg_monitor"));
            WriteSet given = pair.session.commit("DELETE FROM account WHERE id = 2");
            pair.apply(List.of(Promise.prepare("given up", "postgres", "2026-11-23", "two", given)));
            assertEquals("ROLLBACK PREPARED", pair.finish("given up", "two", false, "postgres"));
            assertEquals(List.of(List.of("3")), Pair.rows(pair.other, "SELECT count(*) FROM account"));
            assertNull(pair.engine.promised(given.keys()));
            assertEquals(pair.position, pair.appliedPosition());
            pair.apply(List.of(Promise.prepare("left", "postgres", "2026-11-23", "three", given)));
            pair.applier.close();
            pair.engine.close();
            try (PostgresEngine later = PostgresEngine.open(TestServer.loops(), TestServer.reach(pair.other),
                    TestServer.settings(1))) {
                assertEquals("left", Objects.requireNonNull(later.promised(given.keys())).to());
            }
        }
    }
}
