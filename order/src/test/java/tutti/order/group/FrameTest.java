package tutti.order.group;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import tutti.core.schema.Versions;
import tutti.group.Packet;

class FrameTest {
    private static final long TAG = Frame.tag("a group");
    private static final List<Frame> FRAMES = List.of(new Frame.PacketFrame(new Packet.Progress(1, 2, 3)),
            new Frame.Letter(new Frame.Channel(1, 2), 3, 4, Frame.Completes.MESSAGE, ByteBuffer.wrap(new byte[]{5, 6})),
            new Frame.Receipt(new Frame.Channel(7, 8), 9), new Frame.Greeting(new Frame.Channel(10, 11), 12));
    private static final int VERSION = Versions.SPOKEN.newest();
    private static final byte[] KEY = "one secret".getBytes(StandardCharsets.UTF_8);
    private static final byte[] OTHER = "another secret".getBytes(StandardCharsets.UTF_8);
    private static final List<List<byte[]>> KEYS = List.of(List.of(), List.of(KEY), List.of(OTHER, KEY));

    private static Envelopes envelopes(int self, List<byte[]> keys) {
        return new Envelopes(TAG, self, 100, keys);
    }

    @Test
    void everyFrameIsReadAsItWasWritten() {
        for (List<byte[]> keys : KEYS) {
            Envelopes from = envelopes(3, keys);
            Envelopes to = envelopes(4, keys);
            for (Frame frame : FRAMES) {
                assertEquals(new Envelopes.Received(3, frame), to.open(from.seal(4, frame, VERSION)));
                assertEquals(new Envelopes.Received(3, frame), to.open(from.seal(Envelopes.ALL, frame, VERSION)));
            }
            Announcement announcement = new Announcement(100, true);
            assertEquals(new Envelopes.Received(3, announcement), to.open(from.seal(4, announcement)));
        }
    }

    @Test
    void theLongestLetterFitsADatagram() {
        Frame longest = new Frame.Letter(new Frame.Channel(1, 2), 3, 4, Frame.Completes.NOTHING,
                ByteBuffer.allocate(Frame.LETTER_BYTES_MAX));
        ByteBuffer datagram = envelopes(3, List.of(KEY)).seal(4, longest, VERSION);
        assertEquals(Frame.DATAGRAM_BYTES_MAX, datagram.remaining());
        assertEquals(new Envelopes.Received(3, longest), envelopes(4, List.of(KEY)).open(datagram));
    }

    @Test
    void whatIsDamagedCutOrOfAnotherGroupIsNotRead() {
        SplittableRandom random = new SplittableRandom(1);
        for (List<byte[]> keys : KEYS) {
            Envelopes from = envelopes(3, keys);
            Envelopes to = envelopes(4, keys);
            for (Frame frame : FRAMES) {
                ByteBuffer whole = from.seal(4, frame, VERSION);
                assertNull(new Envelopes(Frame.tag("another"), 4, 100, keys).open(whole.duplicate()));
                for (int length = 0; length < whole.limit(); length++) {
                    assertNull(to.open(whole.slice(0, length)));
                }
                for (int i = 0; i < 1000; i++) {
                    ByteBuffer damaged = ByteBuffer.allocate(whole.limit()).put(whole.duplicate()).flip();
                    int at = random.nextInt(damaged.limit());
                    damaged.put(at, (byte) (damaged.get(at) ^ 1 << random.nextInt(8)));
                    assertNull(to.open(damaged));
                }
                assertNotNull(to.open(whole.duplicate()));
            }
        }
    }

    @Test
    void whoDoesNotKnowTheSecretIsNotHeard() {
        Frame frame = FRAMES.getFirst();
        Envelopes to = envelopes(4, List.of(KEY));
        assertNull(to.open(envelopes(3, List.of()).seal(4, frame, VERSION)));
        assertNull(to.open(envelopes(3, List.of(OTHER)).seal(4, frame, VERSION)));
        assertNotNull(to.open(envelopes(3, List.of(KEY, OTHER)).seal(4, frame, VERSION)));
        assertNotNull(envelopes(4, List.of(OTHER, KEY)).open(envelopes(3, List.of(KEY)).seal(4, frame, VERSION)),
                "while the secret is changed, both are taken");
    }

    @Test
    void whatWasSentToOneIsNotHeardByAnother() {
        assertNull(envelopes(5, List.of(KEY)).open(envelopes(3, List.of(KEY)).seal(4, FRAMES.getFirst(), VERSION)));
    }

    @Test
    void aDatagramIsTakenOnceInWhateverOrderTheyCome() {
        Envelopes from = envelopes(3, List.of(KEY));
        List<ByteBuffer> sent = new ArrayList<>();
        for (int i = 0; i < 10_000; i++) {
            sent.add(from.seal(Envelopes.ALL, FRAMES.get(2), VERSION));
        }
        Envelopes to = envelopes(4, List.of(KEY));
        SplittableRandom random = new SplittableRandom(7);
        boolean[] taken = new boolean[sent.size()];
        int highest = 0;
        for (int i = 0; i < 30_000; i++) {
            int number = Math.clamp(highest - 5000 + random.nextInt(5100), 0, sent.size() - 1);
            boolean fresh = !taken[number] && number > highest - 4096;
            assertEquals(fresh, to.open(sent.get(number).duplicate()) != null, "number " + number + " of " + highest);
            taken[number] |= fresh;
            highest = Math.max(highest, number);
        }
    }

    @Test
    void nothingOfAnEarlierLifeIsTakenOnceTheNewOneIsKnown() {
        Envelopes to = envelopes(4, List.of(KEY));
        ByteBuffer early = new Envelopes(TAG, 3, 100, List.of(KEY)).seal(4, FRAMES.getFirst(), VERSION);
        ByteBuffer old = new Envelopes(TAG, 3, 100, List.of(KEY)).seal(Envelopes.ALL, FRAMES.getFirst(), VERSION);
        Envelopes next = new Envelopes(TAG, 3, 101, List.of(KEY));
        assertNotNull(to.open(early));
        assertNotNull(to.open(next.seal(4, FRAMES.getFirst(), VERSION)));
        assertNull(to.open(old));
        assertNotNull(to.open(next.seal(4, FRAMES.getFirst(), VERSION)));
    }
}
