package tutti.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

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
        settings.called(Connection.class.getMethod("setTransactionIsolation", int.class), new Object[]{2}, false);
        assertEquals(List.of("set session TimeZone to 'UTC'", "SET search_path = b", "setTransactionIsolation 2"),
                applied());
        setSchema("c", false);
        settings.executed("set session TimeZone to 'CET'", false);
        assertEquals(List.of("SET search_path = b", "setTransactionIsolation 2", "setSchema c",
                "set session TimeZone to 'CET'"), applied());
    }

    private void setSchema(String name, boolean inTransaction) throws Exception {
        settings.called(Connection.class.getMethod("setSchema", String.class), new Object[]{name}, inTransaction);
    }

    @Test
    void whatResetAllForgets() throws Exception {
        settings.called(Connection.class.getMethod("setHoldability", int.class), new Object[]{1}, false);
        settings.executed("SET ROLE a", false);
        setSchema("b", false);
        settings.executed("SET TimeZone = 'UTC'; RESET ALL; SET search_path = c", false);
        assertEquals(List.of("setHoldability 1", "SET ROLE a", "RESET ALL", "SET search_path = c"), applied());
        settings.executed("DISCARD ALL", false);
        assertEquals(List.of("setHoldability 1", "DISCARD ALL"), applied());
    }

    @Test
    void whatIsSetForAllTransactions() throws SQLException {
        settings.executed("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE", false);
        settings.executed("SET SESSION AUTHORIZATION a", false);
        settings.executed("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY", false);
        assertEquals(3, applied().size(), applied()::toString);
    }

    @Test
    void whatAMethodSetsInATransactionIsRolledBackWithIt() throws Exception {
        setSchema("a", true);
        settings.rolledBack();
        assertEquals(List.of(), applied());
        setSchema("a", true);
        settings.committed();
        assertEquals(List.of("setSchema a"), applied());
    }

    @Test
    void whoListensStays() throws SQLException {
        settings.executed("LISTEN a; LISTEN \"B\"", false);
        settings.executed("UNLISTEN A", false);
        assertEquals("LISTEN \"B\"", settings.pinnedBy());
        settings.executed("UNLISTEN *", true);
        assertNotNull(settings.pinnedBy());
        settings.committed();
        assertNull(settings.pinnedBy());
    }

    /** Who has not had it yet is given all. */
    @Test
    void theVersionGrowsWithEachChange() throws Exception {
        assertEquals(0, settings.version());
        settings.executed("SELECT 1", false);
        settings.executed("SET search_path = a", true);
        assertEquals(0, settings.version());
        settings.committed();
        long first = settings.version();
        setSchema("b", false);
        assertTrue(settings.version() > first && first > 0);
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
            "SELECT * INTO TEMP t FROM a", "CREATE OR REPLACE TEMP VIEW v AS SELECT 1", "LISTEN a"})
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
