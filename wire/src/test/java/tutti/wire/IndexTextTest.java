package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.engine.postgres.IndexBuilder.Definition;

/** A CREATE INDEX is divided into what the same index under another name is made from. */
class IndexTextTest {
    private static Definition read(String sql) {
        IndexText text = IndexText.read(sql, true);
        assertNotNull(text, sql);
        return text.definition();
    }

    @Test
    void whatStandsBehindTheTableStaysAsItIs() {
        assertEquals(new Definition(false, "by_n", "item", " (n)"), read("create index by_n on item (n)"));
        assertEquals(new Definition(true, "by_n", "public . item", " USING btree (n, ';', (a || ' on x'))"),
                read("/* c */ CREATE UNIQUE INDEX    by_n ON ONLY public . item USING btree (n, ';', (a || ' on x')) ; -- end"));
        assertEquals("(a) WHERE b = $$ ; $$", read("CREATE INDEX i ON t(a) WHERE b = $$ ; $$;").rest());
    }

    @Test
    void namesAreWhatTheServerTakesThemFor() {
        assertEquals("by_n", read("CREATE INDEX By_N ON item (n)").name());
        assertEquals("By \"N\"", read("CREATE INDEX IF NOT EXISTS \"By \"\"N\"\"\" ON item (n)").name());
        assertEquals("\"Der Item\".\"x\"", read("CREATE INDEX i ON \"Der Item\".\"x\"(n)").table());
        assertEquals("on", read("CREATE INDEX \"on\" ON item (n)").name());
    }

    @Test
    void oneWithoutANameIsGivenOneWhereItStands() {
        IndexText text = IndexText.read("/* ä */ CREATE UNIQUE INDEX  ON ONLY item (n) -- end", true);
        assertNotNull(text);
        assertFalse(text.isNamed());
        assertEquals(new Definition(true, "", "item", " (n)"), text.definition());
        IndexText named = text.named("item_\"n\"_idx");
        assertTrue(named.isNamed());
        assertEquals("/* ä */ CREATE UNIQUE INDEX  \"item_\"\"n\"\"_idx\" ON ONLY item (n) -- end", named.sql());
        assertEquals(new Definition(true, "item_\"n\"_idx", "item", " (n)"), named.definition());
    }

    @ParameterizedTest
    @ValueSource(strings = {"CREATE INDEX IF NOT EXISTS ON item (n)", "CREATE INDEX U&\"x\" ON item (n)",
            "CREATE INDEX ä ON item (n)",
            "CREATE INDEX i ON U&\"item\" (n)", "CREATE INDEX i item (n)", "CREATE INDEX i ON item",
            "CREATE TABLE i ()",
            "DROP INDEX i", "CREATE INDEX i ON a. (n)", ""})
    void othersAreExecutedAsTheyAre(String sql) {
        assertNull(IndexText.read(sql, true));
    }

    @Test
    void nameThatIsTooLongIsForTheServerToShorten() {
        assertNull(IndexText.read("CREATE INDEX " + "i".repeat(64) + " ON item (n)", true));
    }
}
