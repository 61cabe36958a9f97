package tutti.engine.postgres;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.Statement;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.engine.EngineContract;
import tutti.engine.ExecutorContract;

class PostgresExecutorContractTest extends ExecutorContract {
    @Override
    protected EngineContract.Harness open() throws Exception {
        return PostgresEngineContractTest.harness();
    }

    private static boolean together(String... schema) throws Exception {
        String database = TestServer.database(schema);
        TestServer.install(database, 0);
        try (Connection connection = TestServer.jdbc(database);
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(CatalogReading.TOGETHER)) {
            assertTrue(row.next());
            return row.getBoolean(1);
        }
    }

    @Test
    void requestsAreExecutedTogetherWhereNothingIsLeftBehind() throws Exception {
        assertTrue(together("create table parent (id int primary key, n int)",
                "create table child (id int primary key, parent int references parent)",
                "create function grow(k int) returns void language sql as 'update parent set n = n + 1 where id = k'",
                "create function shrink(k int) returns void language plpgsql as"
                        + " 'begin update parent set n = n - 1 where id = k; end'"));
    }

    @ParameterizedTest
    @ValueSource(strings = {
            "create function f() returns text language sql as $$ select set_config('a.b', 'c', true) $$",
            "create function f() returns void language plpgsql as $$ begin set a.b = 'c'; end $$",
            "create function f() returns void language plpgsql as $$ begin execute 'set a.b = 1'; end $$",
            "create function f() returns void language plpgsql as $$ begin /* */ set local a.b = 'c'; end $$",
            "create function f() returns void language plpgsql as $$ begin create temp table t (i int); end $$",
            "create table t (id int primary key, up int references t deferrable initially deferred)"})
    void requestsAreExecutedAloneWhereSomethingMayBeLeftBehind(String schema) throws Exception {
        assertFalse(together(schema), schema);
    }
}
