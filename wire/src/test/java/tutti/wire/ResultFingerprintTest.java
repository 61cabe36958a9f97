package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What has been heard is compared to the last byte, whether it is kept or not, and in whatever pieces it comes again. */
class ResultFingerprintTest {
    private final ResultFingerprint heard = new ResultFingerprint();
    private final Random random = new Random(1);

    private ByteBuf bytes(int count) {
        byte[] bytes = new byte[count];
        random.nextBytes(bytes);
        return Unpooled.wrappedBuffer(bytes);
    }

    private void hears(ByteBuf bytes) {
        for (int at = 0; at < bytes.capacity(); at += 700) {
            heard.add(bytes, at, Math.min(700, bytes.capacity() - at));
        }
    }

    private boolean same(ByteBuf bytes, int from, int to, int piece) {
        boolean same = true;
        for (int at = from; at < to; at += piece) {
            same &= heard.same(bytes, at, Math.min(piece, to - at));
        }
        return same;
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 1_000, ResultFingerprint.KEPT_MAX, ResultFingerprint.KEPT_MAX + 1, 40_000})
    void everyByteCounts(int length) {
        ByteBuf bytes = bytes(length);
        hears(bytes);
        for (int at = 0; at < length; at += Math.max(1, length / 3)) {
            heard.again();
            assertEquals(length, heard.owed());
            assertTrue(same(bytes, 0, length, 500));
            assertEquals(0, heard.owed());
            ByteBuf other = bytes.copy();
            other.setByte(at, ~other.getByte(at));
            heard.again();
            assertFalse(same(other, 0, length, 900), "byte " + at);
            heard.clear();
            hears(bytes);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {2_000, ResultFingerprint.KEPT_MAX - 100, 40_000})
    void aRunThatIsLostInBetweenBeginsAgainAndWhatFollowsIsAddedToIt(int length) {
        ByteBuf bytes = bytes(length);
        ByteBuf more = bytes(500);
        hears(bytes);
        heard.again();
        assertTrue(same(bytes, 0, length / 2, 100));
        heard.again();
        assertTrue(same(bytes, 0, length, 1_000));
        hears(more);
        heard.again();
        assertTrue(same(bytes, 0, length, 1_000) && same(more, 0, 500, 500));
        more.setByte(499, ~more.getByte(499));
        heard.again();
        assertFalse(same(bytes, 0, length, 1_000) && same(more, 0, 500, 500));
    }
}
