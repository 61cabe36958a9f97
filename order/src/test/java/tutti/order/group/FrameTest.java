package tutti.order.group;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import tutti.group.Packet;

class FrameTest {
    private static final long TAG = Frame.tag("a group");
    private static final List<Frame> FRAMES = List.of(new Frame.PacketFrame(new Packet.Progress(1, 2, 3)),
            new Frame.Letter(new Frame.Channel(1, 2), 3, 4, Frame.Completes.MESSAGE, ByteBuffer.wrap(new byte[]{5, 6})),
            new Frame.Receipt(new Frame.Channel(7, 8), 9), new Frame.Greeting(new Frame.Channel(10, 11), 12));

    @Test
    void everyFrameIsReadAsItWasWritten() {
        for (Frame frame : FRAMES) {
            assertEquals(new Frame.Received(3, frame), Frame.decode(TAG, Frame.datagram(TAG, 3, frame)));
        }
    }

    @Test
    void theLongestLetterFillsADatagram() {
        Frame longest = new Frame.Letter(new Frame.Channel(1, 2), 3, 4, Frame.Completes.NOTHING,
                ByteBuffer.allocate(Frame.LETTER_BYTES_MAX));
        ByteBuffer datagram = Frame.datagram(TAG, 3, longest);
        assertEquals(Frame.DATAGRAM_BYTES_MAX, datagram.remaining());
        assertEquals(new Frame.Received(3, longest), Frame.decode(TAG, datagram));
    }

    @Test
    void whatIsDamagedCutOrOfAnotherGroupIsNotRead() {
        SplittableRandom random = new SplittableRandom(1);
        for (Frame frame : FRAMES) {
            ByteBuffer whole = Frame.datagram(TAG, 3, frame);
            assertNotNull(Frame.decode(TAG, whole.duplicate()));
            assertNull(Frame.decode(Frame.tag("another"), whole.duplicate()));
            for (int length = 0; length < whole.limit(); length++) {
                assertNull(Frame.decode(TAG, whole.slice(0, length)));
            }
            for (int i = 0; i < 1000; i++) {
                ByteBuffer damaged = ByteBuffer.allocate(whole.limit()).put(whole.duplicate()).flip();
                int at = random.nextInt(damaged.limit());
                damaged.put(at, (byte) (damaged.get(at) ^ 1 << random.nextInt(8)));
                assertNull(Frame.decode(TAG, damaged));
            }
        }
    }
}
