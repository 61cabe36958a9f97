package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import tutti.pgwire.TestServer;

/** A real server's catalog has the last word. */
class HarmlessFunctionsTest {
    /**
     * Functions that a query can call: no trigger's, none that takes or gives what only the server has, or checks a language, and
     * none that works in a server which is being upgraded only.
     */
    private static final String CALLABLE = """
            SELECT DISTINCT proname FROM pg_proc p
            WHERE pronamespace = 'pg_catalog'::regnamespace AND p.oid < 16384 AND prokind <> 'p'
            AND proname !~ '^binary_upgrade_|_validator$'
            AND NOT EXISTS (SELECT FROM pg_type t WHERE t.oid = ANY (proargtypes::oid[] || prorettype) AND typtype = 'p'
                AND typname IN ('internal', 'cstring', 'trigger', 'event_trigger') OR t.oid = prorettype
                AND typname ~ '_handler$')
            """;

    private static Set<String> words(String list) {
        return new TreeSet<>(Arrays.asList(list.strip().split("\\s+")));
    }

    private static Set<String> names(Connection connection, String sql) throws SQLException {
        Set<String> names = new TreeSet<>();
        try (ResultSet rows = connection.createStatement().executeQuery(sql)) {
            while (rows.next()) {
                names.add(rows.getString(1));
            }
        }
        return names;
    }

    private static Set<String> without(Set<String> all, Set<String> some) {
        Set<String> rest = new TreeSet<>(all);
        rest.removeAll(some);
        return rest;
    }

    @Test
    void theCatalogAgrees() throws Exception {
        try (TestServer server = TestServer.start();
                Connection connection = DriverManager.getConnection(
                        "jdbc:postgresql://127.0.0.1:" + server.address().getPort() + "/postgres", TestServer.SUPERUSER,
                        TestServer.PASSWORD)) {
            Set<String> callable = names(connection, CALLABLE);
            Set<String> changing = names(connection, CALLABLE + "AND provolatile = 'v'");
            Set<String> unchanging = words(HarmlessFunctions.UNCHANGING);
            assertEquals(Set.of(), without(unchanging, callable), "no function of PostgreSQL");
            unchanging.retainAll(changing);
            assertEquals(Set.of(), unchanging, "VOLATILE");

            Set<String> judged = words(HarmlessFunctions.VOLATILE);
            judged.addAll(words(HarmlessFunctions.VOLATILE_QUALIFIED));
            assertEquals(Set.of(), without(judged, changing), "not VOLATILE: the catalog says enough");
            Set<String> harmful = words(HarmlessFunctions.HARMFUL);
            assertEquals(Set.of(), without(harmful, callable), "no function of PostgreSQL");
            judged.addAll(harmful);
            changing.removeIf(name -> name.startsWith("pg_"));
            assertEquals(Set.of(), without(changing, judged), "VOLATILE, and nobody has said what it does");
            assertEquals(Set.of(), without(names(connection, CALLABLE + "AND proname ~ '_to_xml'"), harmful),
                    "reads what no statement names");
        }
    }
}
