package tutti.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.jdbc.spi.Calls;

/** What of a session is taken along to another node. */
class SessionSettingsTest {
    private final SessionSettings settings = new SessionSettings();

    private List<String> applied() throws SQLException {
        List<String> executed = new ArrayList<>();
        Statement statement = Calls.proxy(Statement.class, (self, method, arguments) -> {
            if (method.getName().equals("execute")) {
                executed.add((String) arguments[0]);
                return true;
            }
            return null;
        });
        settings.apply(Calls.proxy(Connection.class, (self, method, arguments) -> {
            if (method.getName().equals("createStatement")) {
                return statement;
            }
            executed.add(method.getName() + " " + arguments[0]);
            return null;
        }));
        return executed;
    }

    @Test
    void theLastSettingOfEachName() throws Exception {
        settings.executed("SET search_path = a", false);
        settings.executed("set session TimeZone to 'UTC'", false);
        settings.executed("SET search_path = b", false);
        settings.executed("SET LOCAL work_mem = '1MB'", true);
        settings.executed("SET TRANSACTION READ ONLY", true);
        settings.executed("SELECT 1", true);
        settings.committed();
        settings.called(Connection.class.getMethod("setTransactionIsolation", int.class), new Object[]{2});
        assertEquals(List.of("setTransactionIsolation 2", "set session TimeZone to 'UTC'", "SET search_path = b"),
                applied());
        settings.executed("RESET ALL", false);
        assertEquals(List.of("setTransactionIsolation 2"), applied());
    }

    @Test
    void whatWasRolledBackIsNotTakenAlong() throws SQLException {
        settings.executed("SET search_path = a", true);
        settings.rolledBack();
        settings.executed("SET search_path = b", true);
        assertEquals(List.of(), applied());
        settings.committed();
        assertEquals(List.of("SET search_path = b"), applied());
    }

    @Test
    void whatStandsBesideASettingIsNotDoneAgain() throws SQLException {
        settings.executed("/* x */ SET search_path = a; INSERT INTO t VALUES (1)", false);
        settings.executed("INSERT INTO t VALUES (';'); SET \"tutti.note\" = 'a;b';", false);
        settings.executed("BEGIN; SET TimeZone = 'UTC'; COMMIT; BEGIN; SET search_path = b; ROLLBACK", false);
        assertEquals(List.of("SET search_path = a", "SET \"tutti.note\" = 'a;b'", "SET TimeZone = 'UTC'"),
                applied().stream().map(String::strip).toList());
    }

    @Test
    void aRollbackInWordsIsOne() throws SQLException {
        settings.executed("SET search_path = a", true);
        settings.executed("ROLLBACK TO SAVEPOINT s", true);
        settings.executed("COMMIT", false);
        settings.executed("SET search_path = b", true);
        settings.executed("ROLLBACK", false);
        assertEquals(List.of("SET search_path = a"), applied());
    }

    @ParameterizedTest
    @ValueSource(strings = {"CREATE TEMP TABLE a (id int)", "create temporary view v as select 1",
            "SELECT pg_advisory_lock(1)", "PREPARE a AS SELECT 1", "DECLARE c CURSOR WITH HOLD FOR SELECT 1",
            "SELECT * INTO TEMP t FROM a"})
    void whatNoOtherNodeHas(String sql) {
        settings.executed(sql, false);
        assertNotNull(settings.pinnedBy());
    }

    @ParameterizedTest
    @ValueSource(strings = {"SELECT 1", "CREATE TABLE temp (id int)", "SELECT pg_advisory_xact_lock(1)"})
    void whatEveryNodeHas(String sql) {
        settings.executed(sql, false);
        assertNull(settings.pinnedBy());
    }
}
