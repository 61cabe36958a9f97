package tutti.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Set;
import org.junit.jupiter.api.Test;
import tutti.core.spi.Group;
import tutti.engine.procedure.Procedures;

class ServerLocalesTest {
    @Test
    void aDatabaseIsMadeOnlyAsAllNodesMakeItAlike() throws Exception {
        ServerLocales locales = ServerLocales.of(sql -> sql.contains("template0") ? "a" : "b");
        assertEquals(Set.of("template0 a", "locales b"), locales.abilities());
        assertNull(locales.refusal(true, _ -> true));
        assertNull(locales.refusal(false, "template0 a"::equals), "it needs nothing of the operating system");
        assertTrue(String.valueOf(locales.refusal(true, "template0 a"::equals)).contains("LOCALE_PROVIDER icu"));
        assertNotNull(locales.refusal(false, "locales b"::equals));
    }

    @Test
    void thereIsRoomToTellThemBesideAllProcedures() {
        assertTrue(Procedures.COUNT_MAX + new ServerLocales("a", "b").abilities().size() <= Group.OWN_CAPABILITIES_MAX);
    }
}
