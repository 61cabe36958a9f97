package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import tutti.engine.postgres.catalog.HiddenCalls;
import tutti.engine.postgres.catalog.InBandTables;
import tutti.engine.postgres.catalog.InBandTables.Lockables;
import tutti.engine.postgres.catalog.TableCatalog;

/** A text is proven once, and again whenever anything is another that its proof looks at. */
class ProvenTextsTest {
    private static final String TEXT = "UPDATE account SET balance = 1 WHERE id = 1";

    private final ProvenTexts texts = new ProvenTexts();
    private int proofs;

    private static ProvenTexts.Ground ground() {
        return new ProvenTexts.Ground(InBandTables.NONE, TableCatalog.EMPTY, true, 0);
    }

    /** Another one each time, unless it is remembered. */
    private @Nullable InBandStatement prove(ProvenTexts.Ground ground, String sql, boolean standardStrings,
            String role) {
        // A session's buffer is longer than the text.
        byte[] buffer = (sql + ", and what was there before").getBytes(StandardCharsets.UTF_8);
        return texts.of(ground, buffer, sql.getBytes(StandardCharsets.UTF_8).length, standardStrings, role,
                () -> new InBandStatement(++proofs, buffer, buffer, 0, false, 0, false, "now"));
    }

    private @Nullable InBandStatement prove(ProvenTexts.Ground ground) {
        return prove(ground, TEXT, true, "alice");
    }

    @Test
    void aTextIsProvenOnce() {
        InBandStatement first = prove(ground());
        assertSame(first, prove(ground()));
        assertEquals(1, proofs);
    }

    @Test
    void whatAProofLooksAtIsPartOfIt() {
        prove(ground(), TEXT, true, "alice");
        prove(ground(), TEXT, true, "bob");
        prove(ground(), TEXT, false, "alice");
        prove(ground(), TEXT + " ", true, "alice");
        prove(ground(), TEXT.substring(1), true, "alice");
        assertEquals(5, proofs);
        prove(ground(), TEXT, true, "bob");
        assertEquals(5, proofs);
    }

    @Test
    void whatIsKnownOfTheSchemaIsPartOfItEvenIfItIsEqual() {
        prove(ground());
        InBandTables equal = new InBandTables(Set.of(), Map.of(), Map.of(), 0, Lockables.NONE, HiddenCalls.NONE);
        assertEquals(InBandTables.NONE, equal);
        prove(new ProvenTexts.Ground(equal, TableCatalog.EMPTY, true, 0));
        prove(new ProvenTexts.Ground(equal, TableCatalog.EMPTY, false, 0));
        prove(new ProvenTexts.Ground(equal, TableCatalog.EMPTY, false, 1));
        assertEquals(4, proofs);
        // What was found before is forgotten.
        prove(ground());
        assertEquals(5, proofs);
    }

    @Test
    void whatCannotBeProvenIsRememberedAsWell() {
        byte[] sql = TEXT.getBytes(StandardCharsets.UTF_8);
        for (int i = 0; i < 2; i++) {
            assertNull(texts.of(ground(), sql, sql.length, true, "alice", () -> {
                proofs++;
                return null;
            }));
        }
        assertEquals(1, proofs);
    }

    @Test
    void itIsBounded() {
        String longOne = TEXT + " ".repeat(ProvenTexts.BYTES_MAX);
        prove(ground(), longOne, true, "alice");
        prove(ground(), longOne, true, "alice");
        assertEquals(2, proofs);
        for (int i = 0; i < ProvenTexts.TEXTS_MAX; i++) {
            prove(ground(), TEXT + i, true, "alice");
        }
        assertEquals(2 + ProvenTexts.TEXTS_MAX, proofs);
        prove(ground(), TEXT, true, "alice");
        prove(ground(), TEXT + 1, true, "alice");
        assertEquals(4 + ProvenTexts.TEXTS_MAX, proofs, "all others have been forgotten");
    }
}
