package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
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

    private static final StatementContext ALICE = new StatementContext(true, "alice", false);

    private final ProvenTexts texts = new ProvenTexts();
    private int proofs;

    private static ProvenTexts.Ground ground() {
        return new ProvenTexts.Ground(InBandTables.NONE, TableCatalog.EMPTY, true, 0);
    }

    /** Another one each time, unless it is remembered; the session's buffer, longer than the text, is used for something else then. */
    private @Nullable InBandStatement prove(ProvenTexts.Ground ground, String sql, StatementContext speaker) {
        byte[] text = sql.getBytes(StandardCharsets.UTF_8);
        byte[] buffer = (sql + ", and what was there before").getBytes(StandardCharsets.UTF_8);
        InBandStatement found = texts.of(ground, buffer, text.length, speaker,
                () -> new InBandStatement(++proofs, text, text, 0, false, 0, false, "now"));
        Arrays.fill(buffer, (byte) 'x');
        return found;
    }

    private @Nullable InBandStatement prove(ProvenTexts.Ground ground) {
        return prove(ground, TEXT, ALICE);
    }

    /** Of which nothing can be proven. */
    private void vain(String sql) {
        byte[] buffer = sql.getBytes(StandardCharsets.UTF_8);
        assertNull(texts.of(ground(), buffer, buffer.length, ALICE, () -> {
            proofs++;
            return null;
        }));
        Arrays.fill(buffer, (byte) 'x');
    }

    @Test
    void aTextIsProvenOnce() {
        InBandStatement first = prove(ground());
        assertSame(first, prove(ground()));
        assertEquals(1, proofs);
    }

    @Test
    void whatAProofLooksAtIsPartOfIt() {
        prove(ground(), TEXT, ALICE);
        prove(ground(), TEXT, new StatementContext(true, "bob", false));
        prove(ground(), TEXT, new StatementContext(false, "alice", false));
        prove(ground(), TEXT, new StatementContext(true, "alice", true));
        prove(ground(), TEXT + " ", ALICE);
        prove(ground(), TEXT.substring(1), ALICE);
        assertEquals(6, proofs);
        prove(ground(), TEXT, new StatementContext(true, "bob", false));
        assertEquals(6, proofs);
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
        vain(TEXT);
        vain(TEXT);
        assertEquals(1, proofs);
    }

    @Test
    void textsThatComeOnceAreForgottenAndThoseThatComeOftenAreNot() {
        prove(ground());
        for (int i = 0; i < 10 * ProvenTexts.TEXTS_MAX; i++) {
            vain(TEXT + i);
            if (i % (ProvenTexts.TEXTS_MAX / 2) == 0) {
                prove(ground());
            }
        }
        assertEquals(1 + 10 * ProvenTexts.TEXTS_MAX, proofs);
        vain(TEXT + 0);
        assertEquals(2 + 10 * ProvenTexts.TEXTS_MAX, proofs, "it is known no more");
    }

    @Test
    void aLongTextIsNotKept() {
        String longOne = TEXT + " ".repeat(ProvenTexts.BYTES_MAX);
        prove(ground(), longOne, ALICE);
        prove(ground(), longOne, ALICE);
        assertEquals(2, proofs);
    }
}
