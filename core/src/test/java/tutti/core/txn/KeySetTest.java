package tutti.core.txn;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Set;
import org.junit.jupiter.api.Test;

class KeySetTest {
    private static final long KEY = 7;

    private static KeySet touched(KeyKind... kinds) {
        KeySet.Builder keys = new KeySet.Builder().add(8, KeyKind.UPDATE);
        for (KeyKind kind : kinds) {
            keys.add(KEY, kind);
        }
        return keys.build();
    }

    @Test
    void aKeyHasComeIfItHasComeMoreOftenThanItHasGone() {
        assertEquals(Set.of(KEY), touched(KeyKind.CREATED).came());
        assertEquals(Set.of(KEY), touched(KeyKind.CREATED, KeyKind.GONE, KeyKind.CREATED).came());
        assertEquals(Set.of(), touched(KeyKind.GONE, KeyKind.CREATED).came());
        assertEquals(Set.of(), touched(KeyKind.GONE).came());
        assertEquals(Set.of(), touched(KeyKind.EXCLUSIVE, KeyKind.UPDATE, KeyKind.REFERENCE).came());
    }

    @Test
    void andHasGoneIfItHasGoneMoreOften() {
        assertEquals(Set.of(KEY), touched(KeyKind.GONE).gone());
        assertEquals(Set.of(KEY), touched(KeyKind.GONE, KeyKind.CREATED, KeyKind.GONE).gone());
        assertEquals(Set.of(), touched(KeyKind.CREATED, KeyKind.GONE).gone());
    }

    /** A transaction may lock what it has inserted. */
    @Test
    void locksMakeNoDifferenceToWhatHasComeAndGone() {
        assertEquals(Set.of(KEY), touched(KeyKind.CREATED, KeyKind.EXCLUSIVE).came());
        assertEquals(Set.of(), touched(KeyKind.EXCLUSIVE).gone());
    }

    @Test
    void keysOfAKindAreFound() {
        assertEquals(Set.of(8L), touched(KeyKind.GONE).of(KeyKind.UPDATE));
    }
}
