package tutti.sim.net;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import org.junit.jupiter.api.Test;

class PacketCaptureTest {
    @Test
    void aPacketHasItsHeadersAndItsTime() throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        PacketCapture capture = new PacketCapture(List.of("a", "b"), out);
        capture.sent(3_000_000_007L, Datagram.of(Address.of("b", 5), Address.of("a", 6), new byte[]{1, 2, 3}));
        capture.sent(4_000_000_000L, new Datagram(Address.of("a", 1), Address.group("g", 2), "not bytes", 100));
        ByteBuffer file = ByteBuffer.wrap(out.toByteArray());
        assertEquals(0xA1B2_3C4D, file.getInt(0));
        assertEquals(101, file.getInt(20));
        assertEquals(3, file.getInt(24));
        assertEquals(7, file.getInt(28));
        assertEquals(31, file.getInt(32), "captured");
        assertEquals(31, file.getInt(36), "sent");
        int ip = 40;
        assertEquals(0x0A00_0002, file.getInt(ip + 12));
        assertEquals(0x0A00_0001, file.getInt(ip + 16));
        int sum = 0;
        for (int i = 0; i < 20; i += 2) {
            sum += Short.toUnsignedInt(file.getShort(ip + i));
        }
        assertEquals(0xFFFF, (sum & 0xFFFF) + (sum >>> 16), "checksum of the header");
        assertEquals(3, file.get(ip + 30));
        int second = ip + 31;
        assertEquals(28, file.getInt(second + 8), "headers only");
        assertEquals(128, file.getInt(second + 12));
        assertEquals(0xE000_0101, file.getInt(second + 16 + 16));
        assertEquals(2, capture.packets());
    }
}
