package tutti.order.raft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import tutti.core.schema.DecodeException;
import tutti.core.schema.Encoded;
import tutti.order.Recorder;
import tutti.order.peer.Greeting;
import tutti.runtime.Frames;

/**
 * Fuzzing of the order's port: greetings and frames, cut, damaged, repeated, with checksums that are right all the same. Whatever it is, it is read or
 * refused, however the network cuts it, and nodes that are told it go on with each other. A seed is a whole connection; those that have found something are
 * kept. {@code -Dtutti.fuzz.seconds=N} takes so long for new ones.
 */
@Tag("long")
@Timeout(900)
@Execution(ExecutionMode.CONCURRENT)
class DamagedFramesTest {
    private static final Duration TIME = Duration.ofSeconds(Integer.getInteger("tutti.fuzz.seconds", 15));
    /** Connections that have found something once. */
    private static final long[] KEPT = {};
    private static final int FRAMES_MAX = 6;
    private static final int PATIENCE_MILLIS = 20_000;
    private static final int CONNECTIONS_PER_MESSAGE = 16;
    private static final int AWAY = 2;
    private static final int[] NUMBERS = {0, -1, 1, 2, 7, Integer.MAX_VALUE, Integer.MIN_VALUE, 1 << 20, 1 << 29,
            (1 << 29) + 1, 65535};

    private final Map<String, List<? extends Encoded>> samples = new RaftGoldenTest().samples();

    @TempDir
    private Path directory;

    private static <T> T any(SplittableRandom random, List<T> of) {
        return of.get(random.nextInt(of.size()));
    }

    private List<? extends Encoded> samples(String set) {
        return Objects.requireNonNull(samples.get(set));
    }

    private static byte[] damaged(SplittableRandom random, byte[] of) {
        byte[] bytes = of.clone();
        if (bytes.length == 0) {
            return bytes;
        }
        int at = random.nextInt(bytes.length);
        switch (random.nextInt(5)) {
            case 0 -> bytes[at] ^= (byte) (1 << random.nextInt(8));
            case 1 -> bytes[at] = (byte) random.nextInt(256);
            case 2 -> bytes = Arrays.copyOf(bytes, at);
            case 3 -> bytes = Arrays.copyOf(bytes, bytes.length + random.nextInt(9));
            default -> {
                if (bytes.length >= Integer.BYTES) {
                    ByteBuffer.wrap(bytes).putInt(random.nextInt(bytes.length - Integer.BYTES + 1),
                            NUMBERS[random.nextInt(NUMBERS.length)]);
                }
            }
        }
        return bytes;
    }

    /** A frame; the damage is done to the message, or to what is around it. */
    private byte[] frame(SplittableRandom random) {
        byte[] message = any(random, samples("raft messages")).bytes(1);
        for (int i = random.nextInt(3); i > 0; i--) {
            message = damaged(random, message);
        }
        byte[] frame = random.nextInt(8) == 0 ? Frames.alive().array() : Frames.of(message).array();
        return random.nextInt(6) == 0 ? damaged(random, frame) : frame;
    }

    private static byte[] joined(List<byte[]> parts) {
        ByteBuffer all = ByteBuffer.allocate(parts.stream().mapToInt(part -> part.length).sum());
        parts.forEach(all::put);
        return all.array();
    }

    /** What a node takes from bytes that come in such pieces, and how it ends; as {@link RaftOrder} does it. */
    private static List<String> taken(byte[] bytes, SplittableRandom cuts, int pieceBytesMax) {
        List<String> taken = new ArrayList<>();
        Frames.Reader reader = new Frames.Reader(frame -> {
            try {
                PeerMessage read = PeerMessage.SET.decode(frame);
                if (read instanceof PeerMessage.Raft message) {
                    MessageCodec.decode(AWAY, message);
                }
                taken.add(HexFormat.of().formatHex(read.bytes(1)));
            } catch (DecodeException wrong) {
                throw new IOException(wrong.getMessage(), wrong);
            }
        });
        try {
            for (int at = 0; at < bytes.length;) {
                int piece = Math.min(1 + cuts.nextInt(pieceBytesMax), bytes.length - at);
                reader.read(ByteBuffer.wrap(bytes, at, piece));
                at += piece;
            }
        } catch (IOException refused) {
            taken.add("refused: " + refused.getMessage());
        }
        return taken;
    }

    private void read(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        List<byte[]> frames = new ArrayList<>();
        for (int i = random.nextInt(FRAMES_MAX); i >= 0; i--) {
            frames.add(frame(random));
        }
        byte[] stream = joined(frames);
        try {
            List<String> whole = taken(stream, random, Math.max(1, stream.length));
            assertEquals(whole, taken(stream, random, 1 + random.nextInt(20)), "however it is cut");
            greeted(damaged(random, any(random, List.of(hello(""), answer()))), random);
        } catch (RuntimeException | AssertionError wrong) {
            throw new AssertionError("seed " + seed, wrong);
        }
    }

    private byte[] hello(String cluster) {
        return new Greeting.Hello(AWAY, 42, new Greeting.Standing(7, 1, 0, false, 0), cluster).framed().array();
    }

    private byte[] answer() {
        return new Greeting.Answer("no", true).framed().array();
    }

    /** Reads a greeting as both ends would; it may be none. */
    private static void greeted(byte[] bytes, SplittableRandom cuts) {
        Greeting.HelloReader hello = new Greeting.HelloReader();
        Greeting.AnswerReader answer = new Greeting.AnswerReader();
        for (int at = 0; at < bytes.length;) {
            int piece = Math.min(1 + cuts.nextInt(bytes.length), bytes.length - at);
            try {
                if (hello.read(ByteBuffer.wrap(bytes, at, piece)) != null) {
                    return;
                }
                at += piece;
            } catch (IOException refused) {
                break;
            }
        }
        try {
            answer.read(ByteBuffer.wrap(bytes));
        } catch (IOException refused) {
            assertTrue(refused.getMessage() != null, "it says why");
        }
    }

    /** Bytes are read or refused, the same however they come. */
    @Test
    void whatComesIsReadOrRefused() {
        for (long seed : KEPT) {
            read(seed);
        }
        long end = System.nanoTime() + TIME.toNanos();
        long seed = System.nanoTime();
        while (System.nanoTime() < end) {
            read(seed++);
        }
    }

    /** What a node refuses at once, as far as it is read. */
    private byte[] refusedFrame(SplittableRandom random) {
        while (true) {
            byte[] frame = frame(random);
            List<String> taken = taken(frame, random, Math.max(1, frame.length));
            if (taken.size() == 1 && taken.getFirst().startsWith("refused: ")) {
                return frame;
            }
        }
    }

    private void connect(long seed, InetSocketAddress to, String cluster) throws IOException {
        SplittableRandom random = new SplittableRandom(seed);
        try (Socket socket = new Socket(to.getAddress(), to.getPort())) {
            socket.setSoTimeout(PATIENCE_MILLIS);
            boolean welcome = random.nextBoolean();
            byte[] hello = hello(cluster);
            socket.getOutputStream().write(welcome ? hello : damaged(random, hello));
            if (welcome) {
                DataInputStream in = new DataInputStream(socket.getInputStream());
                in.readFully(new byte[in.readUnsignedShort()]);
                socket.getOutputStream().write(Frames.alive().array());
                socket.getOutputStream().write(refusedFrame(random));
                assertEquals(-1, in.read(), "it hangs up");
            } else if (random.nextBoolean()) {
                socket.shutdownOutput();
                socket.getInputStream().readAllBytes();
            }
        } catch (SocketTimeoutException silent) {
            throw new AssertionError("seed " + seed + ": it does not hang up", silent);
        } catch (IOException refused) {
            assertTrue(refused.getMessage() != null || refused instanceof EOFException, "it may hang up");
        }
    }

    /** Two of three nodes, and whoever says that it is the third. */
    @Test
    void nodesThatAreToldItGoOnWithEachOther() throws Exception {
        Map<Integer, InetSocketAddress> members = RaftNodes.members(3);
        String cluster = RaftNodes.config(0, members).membership();
        Recorder[] recorders = {new Recorder(), new Recorder()};
        try (RaftOrder first = RaftNodes.open(RaftNodes.config(0, members), directory);
                RaftOrder second = RaftNodes.open(RaftNodes.config(1, members), directory)) {
            first.join(recorders[0]);
            second.join(recorders[1]);
            first.start(0, recorders[0]);
            second.start(0, recorders[1]);
            recorders[0].awaitView(view -> view.majority() && view.members().size() == 2);
            long end = System.nanoTime() + TIME.toNanos();
            long seed = System.nanoTime();
            int ordered = 0;
            while (System.nanoTime() < end || ordered == 0) {
                for (int i = 0; i < CONNECTIONS_PER_MESSAGE; i++) {
                    connect(seed, Objects.requireNonNull(members.get((int) (seed & 1))), cluster);
                    seed++;
                }
                second.append(("message " + ordered).getBytes(StandardCharsets.UTF_8));
                ordered++;
                assertEquals("message " + (ordered - 1), recorders[0].awaitCount(ordered).getLast().payload(),
                        "before seed " + seed);
            }
            assertEquals(0, recorders[0].failures() + recorders[1].failures(), "failures");
            assertTrue(first.refused() + second.refused() >= ordered, "nothing was refused");
        }
    }
}
