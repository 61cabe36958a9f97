package tutti.group;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.fail;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class PacketTest {
    private static final List<Packet> PACKETS = List.of(
            new Packet.Stream(7, 3, 12, new Packet.Data(5, List.of(new byte[]{1, 2}, new byte[0], new byte[]{3}))),
            new Packet.Stream(7, 4, 0,
                    new Packet.Order(9, List.of(new Packet.Run(0, 5, 2), new Packet.Run(2, 1, 1)))),
            new Packet.Missing(7, List.of(new Packet.Range(3, 4), new Packet.Range(9, 9))),
            new Packet.Progress(7, 8, 9),
            new Packet.Gossip(7, 8, 9, 10, new long[]{1, 2, 3}, 0b101, new long[]{4, 5, 6}),
            new Packet.Alive(1, 2, 3, 4, 5, true), new Packet.Prepare(8, new long[]{1, 0, 9}),
            new Packet.Flushed(8, 1, 7, 100, 6, false, new long[]{4, 5, 6}),
            new Packet.Install(8, new int[]{0, 2}, new long[]{1, 3}, 100, 6, 99), new Packet.Fetch(8, 90, 6),
            new Packet.Entries(8, 90, 6, 91,
                    List.of(new Ordered(91, 6, 0, 1, 17, new byte[]{9}), new Ordered(92, 7, 1, 2, 1, new byte[5]))),
            new Packet.Differs(8, 90, 80, 5), new Packet.Forgotten(8, 3, 50));

    private static byte[] bytes(Packet packet) {
        ByteBuffer encoded = TestNetwork.encoded(packet);
        byte[] bytes = new byte[encoded.remaining()];
        encoded.get(bytes);
        return bytes;
    }

    @Test
    void everyPacketIsReadAsItWasWrittenAndHasTheSizeThatItSays() {
        for (Packet packet : PACKETS) {
            byte[] bytes = bytes(packet);
            Packet read = Packet.SET.decode(ByteBuffer.wrap(bytes));
            assertEquals(packet.getClass(), read.getClass());
            assertArrayEquals(bytes, bytes(read));
        }
    }

    @Test
    void aPacketThatIsTooShortOrTooLongIsRefused() {
        for (Packet packet : PACKETS) {
            byte[] bytes = bytes(packet);
            for (int length = 0; length < bytes.length; length++) {
                ByteBuffer part = ByteBuffer.wrap(bytes, 0, length);
                assertThrows(IllegalArgumentException.class, () -> Packet.SET.decode(part), packet.toString());
            }
            ByteBuffer more = ByteBuffer.allocate(bytes.length + 1).put(0, bytes);
            assertThrows(IllegalArgumentException.class, () -> Packet.SET.decode(more), packet.toString());
        }
    }

    @Test
    void damagedBytesAreReadOrRefusedButNothingElse() {
        SplittableRandom random = new SplittableRandom(1);
        for (int i = 0; i < 100_000; i++) {
            byte[] bytes = bytes(PACKETS.get(random.nextInt(PACKETS.size())));
            for (int n = 1 + random.nextInt(3); n > 0; n--) {
                bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
            }
            try {
                assertEquals(bytes.length, Packet.SET.decode(ByteBuffer.wrap(bytes)).encodedSize());
            } catch (IllegalArgumentException refused) {
                if (refused.getMessage() == null) {
                    fail("refused without a word", refused);
                }
            }
        }
    }
}
