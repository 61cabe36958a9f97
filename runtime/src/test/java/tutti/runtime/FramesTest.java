package tutti.runtime;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Frames arrive as they were sent, whatever the connection makes of them on the way, or not at all. */
class FramesTest {
    private final List<byte[]> taken = new ArrayList<>();
    private final Frames.Reader reader = new Frames.Reader(frame -> taken.add(bytes(frame)));

    private static byte[] bytes(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        return bytes;
    }

    private static ByteBuffer frame(byte[] bytes) {
        return Frames.of(bytes);
    }

    /** Frames of all lengths, and a sign of life after each; they come in pieces of up to so many bytes. */
    @ParameterizedTest
    @ValueSource(ints = {1, 7, 8, 9, 100, 65_536, 3_000_000, 8_000_000})
    void framesArriveInOrderHoweverTheyAreCut(int pieceBytesMax) throws IOException {
        Random random = new Random(7);
        List<byte[]> sent = new ArrayList<>();
        ByteBuffer stream = ByteBuffer.allocate(6_000_000);
        for (int length : new int[]{1, 100, (1 << 16) - 9, (1 << 16) - 8, (1 << 16) - 7, 1 << 16, 1, 200_000, 3,
                4_000_000, 5}) {
            byte[] bytes = new byte[length];
            random.nextBytes(bytes);
            sent.add(bytes);
            stream.put(frame(bytes)).put(Frames.alive());
        }
        stream.flip();
        while (stream.hasRemaining()) {
            int piece = Math.min(1 + random.nextInt(pieceBytesMax), stream.remaining());
            reader.read(stream.slice(stream.position(), piece));
            stream.position(stream.position() + piece);
        }
        assertEquals(sent.size(), taken.size());
        for (int i = 0; i < sent.size(); i++) {
            assertArrayEquals(sent.get(i), taken.get(i), "frame " + i);
        }
    }

    private String refusal(ByteBuffer bytes) {
        return String.valueOf(assertThrows(IOException.class, () -> reader.read(bytes)).getMessage());
    }

    @Test
    void aBadChecksumIsRefused() {
        String why = refusal(ByteBuffer.allocate(9).putInt(1).putInt(42).put((byte) 1).flip());
        assertTrue(why.contains("checksum"), why);
        assertEquals(0, taken.size());
    }

    @Test
    void anImpossibleLengthIsRefused() {
        String why = refusal(ByteBuffer.allocate(8).putInt(-1).putInt(0).flip());
        assertTrue(why.contains("-1 bytes"), why);
        why = refusal(ByteBuffer.allocate(8).putInt(Frames.FRAME_BYTES_MAX + 1).putInt(0).flip());
        assertTrue(why.contains(Frames.FRAME_BYTES_MAX + 1 + " bytes"), why);
    }

    /** As many connections keep theirs: 100 of 512 MiB each would not fit into memory. */
    @Test
    void aLengthThatIsOnlyClaimedCostsNothing() throws IOException {
        List<Frames.Reader> readers = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            Frames.Reader another = new Frames.Reader(frame -> taken.add(bytes(frame)));
            another.read(ByteBuffer.allocate(9).putInt(Frames.FRAME_BYTES_MAX).putInt(0).put((byte) 1).flip());
            readers.add(another);
        }
        assertEquals(100, readers.size());
    }
}
