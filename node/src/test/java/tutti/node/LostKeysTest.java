package tutti.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import org.junit.jupiter.api.Test;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

class LostKeysTest {
    private static final TransactionId ORIGIN = new TransactionId(0, 1L << 32 | 5);
    private static final TransactionId ITS_LATER = new TransactionId(0, 1L << 32 | 9);
    private static final TransactionId ITS_NEXT_LIFE = new TransactionId(0, 2L << 32 | 1);
    private static final TransactionId ANOTHER = new TransactionId(1, 1L << 32 | 5);
    private static final KeySet CHILD = of(7, KeyKind.REFERENCE);

    private final LostKeys lost = new LostKeys();

    private static KeySet of(long key, KeyKind... kinds) {
        KeySet.Builder keys = new KeySet.Builder();
        for (KeyKind kind : kinds) {
            keys.add(key, kind);
        }
        return keys.build();
    }

    private boolean misses(long position, TransactionId transaction, KeySet keys) {
        return lost.missing(position, transaction, keys) != null;
    }

    @Test
    void whoRefersToARowThatWouldHaveComeIntoBeingMissesIt() {
        assertFalse(misses(10, ITS_LATER, CHILD));
        lost.leftOut(10, ORIGIN, of(7, KeyKind.CREATED));
        assertTrue(misses(11, ITS_LATER, CHILD));
        assertTrue(misses(11, ANOTHER, CHILD));
        assertFalse(misses(11, ITS_LATER, of(8, KeyKind.REFERENCE)));
        assertFalse(misses(11, ITS_LATER, of(7, KeyKind.UPDATE)), "the engine finds that itself");
        assertFalse(misses(11, ITS_LATER, of(7, KeyKind.REFERENCE, KeyKind.CREATED)), "it makes the row");
    }

    @Test
    void aRowThatWasThereBeforeIsThere() {
        lost.leftOut(10, ORIGIN, of(7, KeyKind.EXCLUSIVE));
        lost.leftOut(11, ORIGIN, of(7, KeyKind.UPDATE));
        lost.leftOut(12, ORIGIN, of(7, KeyKind.GONE, KeyKind.CREATED));
        assertFalse(misses(13, ITS_LATER, CHILD));
        assertTrue(lost.isEmpty());
    }

    /** Whoever locks a row that it has made has made it all the same. */
    @Test
    void whatElseIsDoneToARowThatWouldHaveComeIntoBeingDoesNotMatter() {
        lost.leftOut(10, ORIGIN, of(7, KeyKind.CREATED, KeyKind.EXCLUSIVE));
        assertTrue(misses(11, ITS_LATER, CHILD));
        lost.made(of(7, KeyKind.CREATED, KeyKind.GONE));
        assertTrue(misses(11, ITS_LATER, CHILD), "it came and went");
        lost.leftOut(12, ORIGIN, of(8, KeyKind.CREATED, KeyKind.GONE, KeyKind.CREATED));
        assertTrue(misses(13, ITS_LATER, of(8, KeyKind.REFERENCE)));
    }

    @Test
    void itCountsForWhatComesBehindIt() {
        lost.leftOut(10, ORIGIN, of(7, KeyKind.CREATED));
        assertFalse(misses(9, ITS_LATER, CHILD));
    }

    @Test
    void whatIsCreatedAgainIsThere() {
        lost.leftOut(10, ORIGIN, of(7, KeyKind.CREATED));
        lost.made(of(7, KeyKind.UPDATE, KeyKind.GONE));
        assertTrue(misses(11, ANOTHER, CHILD));
        lost.made(of(7, KeyKind.CREATED));
        assertFalse(misses(12, ANOTHER, CHILD));
        assertTrue(lost.isEmpty());
    }

    @Test
    void behindWhatEachNodeExecutesOnlyTheSameLifeCounts() {
        lost.leftOut(10, ORIGIN, of(7, KeyKind.CREATED));
        lost.executed(12);
        assertTrue(misses(11, ANOTHER, CHILD));
        assertFalse(misses(13, ANOTHER, CHILD));
        assertFalse(misses(13, ITS_NEXT_LIFE, CHILD));
        assertTrue(misses(13, ITS_LATER, CHILD));
        lost.executed(14);
        assertFalse(misses(13, ANOTHER, CHILD));
    }

    @Test
    void aSnapshotHasThemAll() {
        lost.leftOut(10, ORIGIN, of(7, KeyKind.CREATED));
        lost.executed(12);
        lost.leftOut(14, ANOTHER, of(8, KeyKind.CREATED));
        LostKeysSnapshot read = NodeFiles.SET.decode(
                ByteBuffer.wrap(new LostKeysSnapshot(new byte[]{1}, lost.image()).bytes()), LostKeysSnapshot.class);
        LostKeys restored = new LostKeys();
        restored.restore(read.lost());
        assertEquals(lost.image(), restored.image());
        restored.made(of(7, KeyKind.CREATED));
        restored.made(of(8, KeyKind.CREATED));
        assertTrue(restored.isEmpty());
        assertTrue(misses(15, ITS_LATER, CHILD));
    }

    /** However much is left out, little is kept. */
    @Test
    void theOldestAreForgotten() {
        lost.leftOut(10, ORIGIN, of(7, KeyKind.CREATED));
        KeySet.Builder many = new KeySet.Builder();
        for (int i = 0; i < WriteSet.KEYS_MAX; i++) {
            many.add(1000 + i, KeyKind.CREATED);
        }
        lost.leftOut(11, ORIGIN, many.build());
        assertFalse(misses(12, ITS_LATER, CHILD));
        assertTrue(misses(12, ITS_LATER, of(1000, KeyKind.REFERENCE)));
    }
}
