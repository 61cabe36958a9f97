package tutti.engine.postgres.capture;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.Map;
import org.junit.jupiter.api.Test;
import tutti.engine.postgres.LocalSession;
import tutti.engine.postgres.TestServer;

/** A transaction that makes many tables: each takes as many calls as the first one, however many there are. The server counts them. */
class ManyTablesTest {
    private static final int TABLES = 30;

    private static long asked(LocalSession session, String query) throws SQLException {
        try (java.sql.Statement statement = session.connection().createStatement();
                ResultSet rows = statement.executeQuery(query)) {
            rows.next();
            return rows.getLong(1);
        }
    }

    /** How often the transaction has called a function of this name. */
    private static long calls(LocalSession session, String function) throws SQLException {
        return asked(session,
                "SELECT coalesce(sum(calls), 0) FROM pg_stat_xact_user_functions WHERE schemaname = 'tutti'"
                        + " AND funcname = '" + function + "'");
    }

    private static void makeTable(LocalSession session, int number) throws SQLException {
        String statement = "CREATE TABLE t" + number + " (id serial PRIMARY KEY, before int REFERENCES t"
                + Math.max(0, number - 1) + ")";
        session.execute("SELECT tutti.allow_statement('" + TestServer.CLUSTER_SECRET + "', '"
                + new Statement(statement, TestServer.USER, Map.of()).toText() + "')", statement);
    }

    @Test
    void theLastTableTakesAsManyCallsAsTheFirst() throws Exception {
        String database = TestServer.database();
        TestServer.install(database, 0);
        try (LocalSession session = new LocalSession(database)) {
            session.execute("SET track_functions = 'all'");
            session.connection().commit();
            for (int i = 0; i < TABLES; i++) {
                makeTable(session, i);
            }
            // one when the statement is recorded, one before it is executed: none for our own triggers and functions
            assertEquals(2 * TABLES, calls(session, "flush"));
            assertEquals(2 * TABLES, calls(session, "waiting_constraints"));
            assertEquals(0, calls(session, "set_aside"), "no rows were changed, so no captures wait");
            // the state of a sequence is asked when it is new
            long states = calls(session, "state");
            assertTrue(states <= 2 * TABLES, () -> states + " states of sequences");
            session.gather();
            session.connection().commit();
        }
    }

    /** No index finds the foreign keys that name a table: all are read, but once for it, not for each of its columns. */
    @Test
    void aLookAtAllTablesDoesNotReadAllConstraintsForEachColumn() throws Exception {
        String[] tables = new String[TABLES];
        Arrays.setAll(tables, i -> "CREATE TABLE t" + i + " (id int PRIMARY KEY, a int, b int, c int)");
        String database = TestServer.database(tables);
        TestServer.install(database, 0);
        try (LocalSession session = new LocalSession(database)) {
            session.execute("SELECT tutti.adopt()");
            long read = asked(session,
                    "SELECT seq_tup_read FROM pg_stat_xact_sys_tables WHERE relname = 'pg_constraint'");
            long constraints = asked(session, "SELECT count(*) FROM pg_constraint");
            assertTrue(read < 2 * TABLES * constraints, () -> read + " rows, where there are " + constraints);
        }
    }

    @Test
    void constraintsAreThoseOfEverySchemaWithTables() throws Exception {
        String database = TestServer.database("CREATE TABLE a (id int PRIMARY KEY)", "CREATE SCHEMA \"Other\"",
                "CREATE TABLE \"Other\".b (id int PRIMARY KEY)", "CREATE SCHEMA apart",
                // a constraint of another kind, that has such a name
                "CREATE DOMAIN apart.d AS int CONSTRAINT tutti_insert CHECK (VALUE > 0)");
        TestServer.install(database, 0);
        try (LocalSession session = new LocalSession(database)) {
            assertEquals(1, asked(session, """
                    SELECT (tutti.constraints() = '"Other".tutti_delete, "Other".tutti_insert, "Other".tutti_update,'
                        ' public.tutti_delete, public.tutti_insert, public.tutti_update')::int"""));
        }
    }
}
