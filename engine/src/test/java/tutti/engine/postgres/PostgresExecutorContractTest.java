package tutti.engine.postgres;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import tutti.core.protocol.Response;
import tutti.core.spi.Engine.Executed;
import tutti.engine.EngineContract;
import tutti.engine.ExecutorContract;
import tutti.engine.postgres.capture.Changes;

class PostgresExecutorContractTest extends ExecutorContract {
    @Override
    protected EngineContract.Harness open() throws Exception {
        return PostgresEngineContractTest.harness();
    }

    /** What is prepared once for several is read by the settings of each. */
    @Test
    void theSameTextMeansWhatTheSettingsOfEachRequestSay() throws Exception {
        String put = "INSERT INTO kv SELECT extract(month FROM date '02/01/2026'), interval '1-1'::text";
        Executed executed = together(under(put, "ISO, MDY", "postgres"), under(put, "ISO, DMY", "postgres"),
                under(put.replace("02/01", "03/04"), "ISO, DMY", "postgres"),
                under(put.replace("02/01", "03/04"), "ISO, MDY", "sql_standard"));
        assertEquals(4, executed.responses().size());
        commit(5);
        assertEquals(Map.of(2, "1 year 1 mon", 1, "1 year 1 mon", 4, "1 year 1 mon", 3, "1-1"),
                replica().contents());
    }

    /** In one transaction, and others apply just the rest. */
    @Test
    void whatIsRefusedIsUndoneAlone() throws Exception {
        String put = "INSERT INTO kv VALUES (%d, '%s')";
        for (int i = 0; i < 2; i++) {
            int from = 10 * i;
            Executed executed = together(plain(put.formatted(from + 1, "a")),
                    // it has changed something before it is refused
                    plain("INSERT INTO kv SELECT %d + g, 1 / (1 - g) FROM generate_series(0, 1) g".formatted(from + 2)),
                    plain(put.formatted(from + 1, "twice")), plain(put.formatted(from + 2, "b")),
                    plain(put.formatted(from + 2, "twice")));
            assertEquals(List.of("00000", "22012", "23505", "00000", "23505"),
                    executed.responses().stream().map(Response::sqlState).toList());
            List<Changes.Change> changes = new ArrayList<>();
            new Changes.Reader(executed.writes().changes()).forEachRemaining(changes::add);
            assertEquals(2, changes.size());
            commit(5 + i);
        }
        assertEquals(Map.of(1, "a", 2, "b", 11, "a", 12, "b"), replica().contents());
    }

    private byte[] plain(String sql) {
        return under(sql, "ISO, MDY", "postgres");
    }

    @Test
    void eachFindsItsSettingsWhateverTheOneBeforeHasMadeOfThem() throws Exception {
        Executed executed = together(
                under("UPDATE pg_settings SET setting = 'SQL, DMY' WHERE name = 'DateStyle'", "ISO, MDY", "postgres"),
                plain("INSERT INTO kv SELECT 1, current_setting('DateStyle') || current_setting('search_path')"));
        assertEquals(2, executed.responses().size());
        commit(5);
        assertEquals(Map.of(1, "ISO, MDYpublic"), replica().contents());
    }

    @Test
    void aCommitDoesNotExecuteCursorsThatNobodyCanRead() throws Exception {
        String declare = "DO $$ BEGIN EXECUTE 'DECLARE c CURSOR WITH HOLD FOR SELECT pg_sleep(3600)'; %s END $$";
        together(under(declare.formatted(""), "ISO, MDY", "postgres"));
        together(under(declare.formatted("INSERT INTO kv VALUES (1, 'a');"), "ISO, MDY", "postgres"));
        commit(5);
        assertEquals(Map.of(1, "a"), replica().contents());
    }

    private byte[] under(String sql, String dateStyle, String intervalStyle) {
        return PostgresEngineContractTest.request(replica(), sql,
                Map.of("search_path", "public", "DateStyle", dateStyle, "IntervalStyle", intervalStyle));
    }

    private static boolean together(Statement statement) throws SQLException {
        try (ResultSet row = statement.executeQuery(CatalogReading.TOGETHER)) {
            assertTrue(row.next());
            return row.getBoolean(1);
        }
    }

    @Test
    void requestsAreExecutedTogetherWhereNothingIsLeftBehind() throws Exception {
        String database = TestServer.database("create table parent (id int primary key, n int)",
                "create table child (id int primary key, parent int references parent)",
                "create function grow(k int) returns void language sql as 'update parent set n = n + 1 where id = k'",
                "create function shrink(k int) returns void language plpgsql as"
                        + " 'begin update parent set n = n - 1 where id = k; end'");
        TestServer.install(database, 0);
        try (Connection connection = TestServer.jdbc(database); Statement statement = connection.createStatement()) {
            assertTrue(together(statement));
            // What capture does about it makes no difference.
            statement.execute("SET event_triggers = off");
            connection.commit();
            for (String schema : List.of(
                    "create function f() returns text language sql as $$ select set_config('a.b', 'c', true) $$",
                    "create function f() returns void language plpgsql as $$ begin set a.b = 'c'; end $$",
                    "create function f() returns void language plpgsql as $$ begin execute 'set a.b = 1'; end $$",
                    "create function f() returns void language plpgsql as $$ begin /* */ set local a.b = 'c'; end $$",
                    "create function f() returns void language plpgsql as $$ begin create temp table t (i int); end $$",
                    "create table t (id int primary key, up int references t deferrable initially deferred)")) {
                statement.execute(schema);
                assertFalse(together(statement), schema);
                connection.rollback();
            }
            assertTrue(together(statement));
        }
    }
}
