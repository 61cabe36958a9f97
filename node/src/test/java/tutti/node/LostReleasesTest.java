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

class LostReleasesTest {
    private static final TransactionId ORIGIN = new TransactionId(0, 1L << 32 | 5);
    private static final TransactionId ITS_LATER = new TransactionId(0, 1L << 32 | 9);
    private static final TransactionId ANOTHER = new TransactionId(1, 1L << 32 | 5);
    private static final long PARENT = 7;
    private static final long ROW = 20;
    private static final KeySet PARENT_GONE = keys(PARENT, KeyKind.GONE);

    private final LostReleases lost = new LostReleases();

    /** Hashes and kinds in turn. */
    private static KeySet keys(Object... keys) {
        KeySet.Builder built = new KeySet.Builder();
        for (int i = 0; i < keys.length; i += 2) {
            built.add(((Number) keys[i]).longValue(), (KeyKind) keys[i + 1]);
        }
        return built.build();
    }

    /** The row names another parent. */
    private static KeySet moved(long row, long from, long to) {
        return keys(row, KeyKind.UPDATE, to, KeyKind.REFERENCE, from, KeyKind.RELEASED, row, KeyKind.RELEASED);
    }

    private boolean refused(long position, TransactionId transaction, KeySet keys) {
        return lost.named(position, transaction, keys) != null;
    }

    @Test
    void whoTakesAParentAwayThatARowStillNamesIsRefused() {
        assertFalse(refused(10, ITS_LATER, PARENT_GONE));
        lost.leftOut(10, ORIGIN, moved(ROW, PARENT, 8));
        assertTrue(refused(11, ITS_LATER, PARENT_GONE));
        assertTrue(refused(11, ANOTHER, PARENT_GONE));
        assertFalse(refused(9, ITS_LATER, PARENT_GONE));
        assertFalse(refused(11, ITS_LATER, keys(8, KeyKind.GONE)), "no row here names it");
        assertFalse(refused(11, ITS_LATER, keys(PARENT, KeyKind.EXCLUSIVE)), "it locks it");
        assertFalse(refused(11, ITS_LATER, keys(PARENT, KeyKind.GONE, PARENT, KeyKind.CREATED)),
                "it is there afterwards");
        assertFalse(refused(11, ANOTHER, keys(PARENT, KeyKind.GONE, ROW, KeyKind.GONE)), "the row goes as well");
    }

    @Test
    void soItIsIfTheRowWouldHaveGone() {
        lost.leftOut(10, ORIGIN, keys(ROW, KeyKind.GONE, PARENT, KeyKind.RELEASED, ROW, KeyKind.RELEASED));
        assertTrue(refused(11, ITS_LATER, PARENT_GONE));
    }

    @Test
    void onceTheRowIsChangedItNamesWhatThatSays() {
        lost.leftOut(10, ORIGIN, moved(ROW, PARENT, 8));
        lost.leftOut(11, ORIGIN, moved(ROW + 1, PARENT, 8));
        lost.made(keys(ROW, KeyKind.UPDATE));
        assertTrue(refused(13, ITS_LATER, PARENT_GONE), "of the other row");
        lost.made(keys(PARENT, KeyKind.UPDATE, 99, KeyKind.GONE));
        assertTrue(refused(13, ITS_LATER, PARENT_GONE));
        lost.made(keys(ROW + 1, KeyKind.GONE));
        assertFalse(refused(13, ITS_LATER, PARENT_GONE));
        assertTrue(lost.isEmpty());
    }

    /** Whoever refused too much would have those excluded who are right. */
    @Test
    void aRowThatNeverNamedTheParentHereDoesNotCount() {
        lost.leftOut(10, ORIGIN, keys(ROW, KeyKind.CREATED, PARENT, KeyKind.REFERENCE));
        lost.leftOut(11, ORIGIN, moved(ROW, PARENT, 8));
        assertFalse(refused(12, ANOTHER, PARENT_GONE), "it was made by what is left out");
        lost.leftOut(13, ORIGIN, moved(ROW + 1, 9, PARENT));
        lost.leftOut(14, ORIGIN, moved(ROW + 1, PARENT, 8));
        assertFalse(refused(15, ANOTHER, PARENT_GONE), "it named another one");
        assertTrue(refused(15, ITS_LATER, keys(9, KeyKind.GONE)));
        lost.leftOut(16, ORIGIN, keys(ROW + 2, KeyKind.CREATED, 30, KeyKind.REFERENCE, ROW + 2, KeyKind.GONE,
                30, KeyKind.RELEASED, ROW + 2, KeyKind.RELEASED));
        assertFalse(refused(17, ANOTHER, keys(30, KeyKind.GONE)), "it came and went");
    }

    @Test
    void behindWhatEachNodeExecutesOnlyTheSameLifeCounts() {
        lost.leftOut(10, ORIGIN, moved(ROW, PARENT, 8));
        lost.executed(12);
        assertTrue(refused(11, ANOTHER, PARENT_GONE));
        assertFalse(refused(13, ANOTHER, PARENT_GONE));
        assertTrue(refused(13, ITS_LATER, PARENT_GONE));
    }

    @Test
    void aSnapshotHasThemAllAndWhatComesAgainAddsNothing() {
        lost.leftOut(10, ORIGIN, moved(ROW, PARENT, 8));
        lost.executed(12);
        lost.leftOut(14, ANOTHER, moved(ROW + 1, 9, 8));
        LostReleasesSnapshot read = NodeFiles.SET.decode(
                ByteBuffer.wrap(new LostReleasesSnapshot(new byte[]{1}, lost.image()).bytes()),
                LostReleasesSnapshot.class);
        LostReleases restored = new LostReleases();
        restored.restore(read.lost());
        assertEquals(lost.image(), restored.image());
        restored.leftOut(14, ANOTHER, moved(ROW + 1, 9, 8));
        assertEquals(lost.image(), restored.image());
        restored.made(keys(ROW, KeyKind.UPDATE, ROW + 1, KeyKind.UPDATE));
        assertTrue(restored.isEmpty());
        assertTrue(refused(15, ITS_LATER, PARENT_GONE));
    }

    /** However much is left out, little is kept. */
    @Test
    void theOldestAreForgotten() {
        lost.leftOut(10, ORIGIN, moved(ROW, PARENT, 8));
        KeySet.Builder many = new KeySet.Builder();
        for (int i = 0; i < WriteSet.KEYS_MAX; i++) {
            many.add(1000 + i, KeyKind.UPDATE);
        }
        lost.leftOut(11, ORIGIN, many.add(3, KeyKind.RELEASED).add(1000, KeyKind.RELEASED).build());
        assertFalse(refused(12, ITS_LATER, PARENT_GONE));
        assertTrue(refused(12, ITS_LATER, keys(3, KeyKind.GONE)));
    }

    /** If both are being applied when the first turns out to be refused, it is too late to look at the second. */
    @Test
    void whoTakesAParentAwayIsAppliedBehindWhoReleasesIt() {
        BusyKeys busy = new BusyKeys();
        busy.enter(Slot.remote(10, ORIGIN, new WriteSet(moved(ROW, PARENT, 8), new byte[]{1})));
        assertTrue(busy.meet(PARENT_GONE));
        assertFalse(busy.meet(keys(PARENT, KeyKind.UPDATE)));
        assertFalse(busy.meet(keys(PARENT, KeyKind.RELEASED, ROW + 1, KeyKind.RELEASED)));
    }
}
