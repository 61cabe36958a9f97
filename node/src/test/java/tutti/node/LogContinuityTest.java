package tutti.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import org.junit.jupiter.api.Test;

class LogContinuityTest {
    private static final int DIGEST = LogContinuity.digest(1, message(7));

    private final LogContinuity continuity = new LogContinuity();

    private static ByteBuffer message(int content) {
        return ByteBuffer.wrap(new byte[]{1, 2, (byte) content});
    }

    private void refused(String expected, long position, int digest) {
        IllegalStateException refusal = assertThrows(IllegalStateException.class,
                () -> continuity.isNew(position, digest));
        assertTrue(refusal.getMessage().contains(expected), refusal.getMessage());
    }

    @Test
    void withoutASnapshotEveryPositionIsNew() {
        continuity.begin(0, 0);
        assertEquals(0, continuity.startAfter());
        assertTrue(continuity.isNew(1, 11));
        assertTrue(continuity.isNew(2, 12));
        assertEquals(12, continuity.lastDigest());
    }

    @Test
    void theMessageThatTheSnapshotKnowsComesFirst() {
        continuity.begin(5, DIGEST);
        assertEquals(4, continuity.startAfter());
        assertFalse(continuity.isNew(5, DIGEST));
        assertTrue(continuity.isNew(6, 3));
    }

    @Test
    void anotherMessageAtTheSnapshotsPositionIsRefused() {
        continuity.begin(5, DIGEST);
        refused("snapshot was taken after position 5", 5, DIGEST + 1);
    }

    @Test
    void anOrderThatBeginsElsewhereIsRefused() {
        continuity.begin(5, DIGEST);
        refused("the order begins with position 6", 6, DIGEST);
    }

    @Test
    void aGapAndARepetitionAreRefused() {
        assertTrue(continuity.isNew(1, 1));
        refused("position 3, expected 2", 3, 1);
        refused("position 1, expected 2", 1, 1);
    }

    @Test
    void theDigestIsOfTheSenderAndOfAllBytesAndLeavesThemUnread() {
        ByteBuffer message = message(7);
        assertEquals(DIGEST, LogContinuity.digest(1, message));
        assertEquals(3, message.remaining());
        assertNotEquals(DIGEST, LogContinuity.digest(2, message));
        assertNotEquals(DIGEST, LogContinuity.digest(1, message(8)));
    }
}
