package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.engine.postgres.capture.Statement.DatabaseChange;

class DatabaseStatementTest {
    private static final String MADE = " TEMPLATE template0 ENCODING 'UTF8'";

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '~', value = {
            "create database Shop | CREATE DATABASE \"shop\"%",
            "CREATE /* a */ DATABASE \"Shop \"\"1\" ; | CREATE DATABASE \"Shop \"\"1\"%",
            "CREATE DATABASE a WITH TEMPLATE = template1 ENCODING = 'unicode' CONNECTION LIMIT = -1 IS_TEMPLATE = False | CREATE DATABASE \"a\"%",
            "CREATE DATABASE a OWNER \"Me\" LC_COLLATE 'C' LC_CTYPE = 'C' tablespace default | CREATE DATABASE \"a\"% owner = \"Me\" lc_collate = 'C' lc_ctype = 'C'"})
    void whatEveryNodeExecutes(String written, String executed) {
        DatabaseStatement statement = DatabaseStatement.of(written, true);
        assertNull(statement.refusal());
        assertEquals(executed.replace("%", MADE), statement.change().sql());
    }

    @ParameterizedTest
    @ValueSource(strings = {"CREATE DATABASE a TEMPLATE b", "CREATE DATABASE a ENCODING 'LATIN1'",
            "CREATE DATABASE a CONNECTION LIMIT 3", "CREATE DATABASE a TABLESPACE fast",
            "CREATE DATABASE a IS_TEMPLATE true",
            "CREATE DATABASE a ALLOW_CONNECTIONS = false", "CREATE DATABASE", "CREATE DATABASE a OID 5",
            "DROP DATABASE 'a'", "DROP DATABASE U&\"a\"", "CREATE DATABASE u&\"a\""})
    void whatIsRefused(String written) {
        assertNotNull(DatabaseStatement.of(written, true).refusal());
    }

    /** Nodes read strings in the standard's way; a client may read them in another, in which this one goes on behind the backslash. */
    @ParameterizedTest
    @ValueSource(strings = {"COLLATION_VERSION = 'x\\' ALLOW_CONNECTIONS false --'", "OWNER U&\"\\0061\"",
            "LOCALE E'\\x43'"})
    void noOptionIsHiddenInAString(String options) {
        for (boolean standardStrings : new boolean[]{true, false}) {
            assertNotNull(DatabaseStatement.of("CREATE DATABASE a " + options, standardStrings).refusal());
        }
    }

    @Test
    void aLongNameIsCutAsPostgresDoes() {
        assertEquals("a".repeat(61), DatabaseStatement.of("DROP DATABASE " + "a".repeat(61) + "\u20acb", true).change()
                .name(), "not within a character");
        assertEquals("a".repeat(63), DatabaseStatement.of("CREATE DATABASE " + "a".repeat(70), true).change().name());
    }

    @Test
    void whatIsDropped() {
        DatabaseStatement plain = DatabaseStatement.of("drop database \"A\"", true);
        assertEquals("A", plain.change().name());
        DatabaseStatement forced = DatabaseStatement.of("DROP DATABASE IF EXISTS a WITH (FORCE)", true);
        assertTrue(forced.forced() && forced.change().lenient());
        assertEquals("a", forced.change().name());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '~', value = {"LOCALE 'C' | false", "LC_COLLATE = 'POSIX' | false",
            "LOCALE = DEFAULT | false", "LOCALE_PROVIDER icu ICU_LOCALE 'de' | false",
            "LOCALE_PROVIDER builtin BUILTIN_LOCALE 'C.UTF-8' | false", "LOCALE 'de_DE.utf8' | true",
            "LC_COLLATE 'C' LC_CTYPE 'en_US.UTF-8' | true", "LOCALE 'C.UTF-8' LC_COLLATE 'C' LC_CTYPE 'C' | true"})
    void whatNeedsALocaleOfTheOperatingSystem(String options, boolean ofSystem) {
        assertEquals(ofSystem, DatabaseStatement.of("CREATE DATABASE a " + options, true).ofSystem());
    }

    @Test
    void whatIsAltered() {
        DatabaseStatement renamed = DatabaseStatement.of("alter database A rename to \"B\" ;", true);
        assertEquals(new DatabaseChange(DatabaseChange.Kind.RENAME, "a", false, "B"), renamed.change());
        assertEquals("ALTER DATABASE", renamed.command());
        DatabaseStatement set = DatabaseStatement.of("ALTER DATABASE \"A\" SET search_path = 'x;y' ; -- done", true);
        assertEquals(new DatabaseChange(DatabaseChange.Kind.ALTER, "A", false,
                "ALTER DATABASE \"A\" SET search_path = 'x;y' \n"), set.change());
        assertNotNull(DatabaseStatement.of("ALTER DATABASE a RENAME TO", true).refusal());
        assertNotNull(DatabaseStatement.of("ALTER DATABASE a RENAME TO b c", true).refusal());
        assertNotNull(DatabaseStatement.of("ALTER DATABASE a SET b = 'c\\'", false).refusal(),
                "it ends elsewhere in a session with other settings");
    }
}
