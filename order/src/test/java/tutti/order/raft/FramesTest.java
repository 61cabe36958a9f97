package tutti.order.raft;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Frames arrive as they were sent, whatever the connection makes of them on the way, or not at all. */
@Timeout(30)
class FramesTest {
    private static final int MORE_THAN_A_SOCKET_HOLDS = 16 << 20;

    private SocketChannel out;
    private SocketChannel in;
    private final List<byte[]> taken = new ArrayList<>();
    private Frames.Reader reader;

    @BeforeEach
    void connect() throws IOException {
        try (ServerSocketChannel server = ServerSocketChannel.open()) {
            server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            out = SocketChannel.open(server.getLocalAddress());
            in = server.accept();
        }
        out.configureBlocking(false);
        reader = new Frames.Reader(in, frame -> {
            byte[] bytes = new byte[frame.remaining()];
            frame.get(bytes);
            taken.add(bytes);
        });
    }

    @AfterEach
    void disconnect() throws IOException {
        out.close();
        in.close();
    }

    private static byte[] random(Random random, int length) {
        byte[] bytes = new byte[length];
        random.nextBytes(bytes);
        return bytes;
    }

    @Test
    void framesOfAllLengthsArriveInOrder() throws IOException {
        Random random = new Random(7);
        List<byte[]> sent = new ArrayList<>();
        Frames.Writer writer = new Frames.Writer(out);
        for (int length : new int[]{1, 100, (1 << 16) - 9, (1 << 16) - 8, (1 << 16) - 7, 1 << 16, 1, 200_000, 3,
                MORE_THAN_A_SOCKET_HOLDS, 5}) {
            byte[] frame = random(random, length);
            sent.add(frame);
            writer.add(frame);
            writer.addAlive();
        }
        assertFalse(writer.write(), "the connection takes not all at once");
        assertTrue(writer.queuedFrames() > 0);
        while (taken.size() < sent.size()) {
            writer.write();
            reader.read();
        }
        assertTrue(writer.write());
        assertEquals(0, writer.queuedFrames());
        assertEquals(0, writer.queuedBytes());
        for (int i = 0; i < sent.size(); i++) {
            assertArrayEquals(sent.get(i), taken.get(i), "frame " + i);
        }
    }

    @Test
    void aFrameThatComesInPiecesIsTakenWhenItIsComplete() throws IOException {
        Frames.Writer writer = new Frames.Writer(out);
        writer.add(new byte[]{1, 2, 3});
        writer.write();
        ByteBuffer raw = ByteBuffer.allocate(11);
        while (raw.hasRemaining()) {
            in.read(raw);
        }
        for (byte b : raw.array()) {
            assertEquals(0, taken.size());
            out.write(ByteBuffer.wrap(new byte[]{b}));
            reader.read();
        }
        assertArrayEquals(new byte[]{1, 2, 3}, taken.getFirst());
    }

    @Test
    void whatCannotBeRightIsRefused() throws IOException {
        out.write(ByteBuffer.allocate(9).putInt(1).putInt(42).put((byte) 1).flip());
        assertTrue(assertThrows(IOException.class, reader::read).getMessage().contains("checksum"));
        assertEquals(0, taken.size());
    }

    @Test
    void anImpossibleLengthIsRefused() throws IOException {
        out.write(ByteBuffer.allocate(8).putInt(-1).putInt(0).flip());
        assertTrue(assertThrows(IOException.class, reader::read).getMessage().contains("-1 bytes"));
    }

    @Test
    void theEndOfTheConnectionIsNoticed() throws IOException {
        out.close();
        assertThrows(IOException.class, reader::read);
    }
}
