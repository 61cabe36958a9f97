package tutti.order.group;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
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
import java.util.TreeMap;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import tutti.core.schema.Encoded;
import tutti.core.schema.Versions;
import tutti.group.Packet;
import tutti.order.Recorder;
import tutti.runtime.Loop;
import tutti.runtime.real.PathDirectory;
import tutti.runtime.real.RealMachine;

/**
 * Fuzzing of the datagrams of a group: cut, damaged, repeated, with checksums that are right all the same, and letters of channels, lives and
 * numbers that nobody has. Whatever it is, it is read or dropped, and costs no more memory than it has bytes; nodes that are sent it go on with each
 * other. A seed is a run of datagrams; those that have found something are kept. {@code -Dtutti.fuzz.seconds=N} takes so long for new ones.
 */
@Timeout(900)
@Execution(ExecutionMode.CONCURRENT)
class DamagedDatagramsTest {
    private static final Duration TIME = Duration.ofSeconds(Integer.getInteger("tutti.fuzz.seconds", 15));
    /** Runs that have found something once. */
    private static final long[] KEPT = {};
    private static final int DATAGRAMS = 64;
    private static final int AWAY = 2;
    private static final int VERSION = Versions.SPOKEN.newest();
    private static final int CHECKSUM_BYTES = 4;
    private static final long[] NUMBERS = {0, 1, 2, 3, -1, 255, 256, 1 << 20, Integer.MAX_VALUE, Long.MAX_VALUE,
            Long.MIN_VALUE, Long.MAX_VALUE - 1};
    private static final int MESSAGE_BYTES_MAX = 1 << 16;
    private static final byte[] KEY = "one secret".getBytes(StandardCharsets.UTF_8);

    private final List<? extends Encoded> samples = Objects
            .requireNonNull(new GroupOrderGoldenTest().samples().get("group frames"));

    @TempDir
    private Path directory;

    private static <T> T any(SplittableRandom random, List<T> of) {
        return of.get(random.nextInt(of.size()));
    }

    private static long number(SplittableRandom random) {
        return NUMBERS[random.nextInt(NUMBERS.length)];
    }

    private static Frame.Channel channel(SplittableRandom random) {
        return new Frame.Channel(Math.max(0, number(random)), Math.max(1, number(random)));
    }

    /** A frame, in order as such; what it says need not make sense. */
    private Frame frame(SplittableRandom random) {
        byte[] piece = new byte[random.nextInt(3) == 0 ? 0 : random.nextInt(200)];
        random.nextBytes(piece);
        return switch (random.nextInt(5)) {
            case 0 -> (Frame) any(random, samples);
            case 1 -> new Frame.Receipt(channel(random), Math.max(1, number(random)));
            case 2 -> new Frame.Greeting(channel(random), Math.max(0, number(random)));
            default -> new Frame.Letter(random.nextBoolean() ? new Frame.Channel(7, 1) : channel(random),
                    random.nextInt(4) == 0 ? Math.max(0, number(random)) : 1, 1 + random.nextInt(9),
                    any(random, List.of(Frame.Completes.values())), ByteBuffer.wrap(piece));
        };
    }

    private static byte[] bytes(ByteBuffer of) {
        byte[] bytes = new byte[of.remaining()];
        of.duplicate().get(bytes);
        return bytes;
    }

    private static byte[] damaged(SplittableRandom random, byte[] of) {
        byte[] bytes = of.clone();
        int at = random.nextInt(bytes.length);
        switch (random.nextInt(5)) {
            case 0 -> bytes[at] ^= (byte) (1 << random.nextInt(8));
            case 1 -> bytes[at] = (byte) random.nextInt(256);
            case 2 -> bytes = Arrays.copyOf(bytes, at);
            case 3 -> bytes = Arrays.copyOf(bytes, bytes.length + random.nextInt(9));
            default -> {
                if (bytes.length >= Long.BYTES) {
                    ByteBuffer.wrap(bytes).putLong(random.nextInt(bytes.length - Long.BYTES + 1), number(random));
                }
            }
        }
        return bytes;
    }

    /** With a checksum that is right. */
    private static byte[] summed(byte[] datagram) {
        if (datagram.length >= CHECKSUM_BYTES) {
            CRC32C sum = new CRC32C();
            sum.update(datagram, CHECKSUM_BYTES, datagram.length - CHECKSUM_BYTES);
            ByteBuffer.wrap(datagram).putInt(0, (int) sum.getValue());
        }
        return datagram;
    }

    private static Envelopes envelopes(int self, List<byte[]> keys) {
        return new Envelopes(Frame.tag("a group"), self, 1, keys);
    }

    /** What it is read as; nothing if it is dropped. */
    private static String read(Envelopes by, byte[] datagram) {
        Envelopes.Received read = by.open(ByteBuffer.wrap(datagram).asReadOnlyBuffer());
        return read == null ? "" : read.from() + " " + HexFormat.of().formatHex(read.message().bytes(VERSION));
    }

    private void run(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        Envelopes plain = envelopes(AWAY, List.of());
        Envelopes proven = envelopes(AWAY, List.of(KEY));
        Envelopes hears = envelopes(0, List.of(KEY));
        try {
            for (int i = 0; i < DATAGRAMS; i++) {
                Frame frame = frame(random);
                byte[] datagram = bytes(plain.seal(0, frame, VERSION));
                for (int damages = random.nextInt(3); damages > 0 && datagram.length > 0; damages--) {
                    datagram = damaged(random, datagram);
                }
                datagram = random.nextInt(4) == 0 ? datagram : summed(datagram);
                assertEquals(read(envelopes(0, List.of()), datagram), read(envelopes(0, List.of()), datagram));
                byte[] sealed = bytes(proven.seal(0, frame, VERSION));
                byte[] wrong = damaged(random, sealed);
                assertTrue(Arrays.equals(sealed, wrong) || read(hears, wrong).isEmpty(), "damage has been taken");
                assertFalse(read(hears, sealed).isEmpty(), "the original is not taken any more");
                assertEquals("", read(hears, sealed), "twice");
            }
        } catch (RuntimeException | AssertionError wrong) {
            throw new AssertionError("seed " + seed, wrong);
        }
    }

    @Test
    @Tag("long")
    void whatComesIsReadOrDropped() {
        for (long seed : KEPT) {
            run(seed);
        }
        long end = System.nanoTime() + TIME.toNanos();
        long seed = System.nanoTime();
        while (System.nanoTime() < end) {
            run(seed++);
        }
    }

    /** Nothing is ever due. */
    private static final class NoTime implements Loop {
        @Override
        public void execute(Runnable task) {
            task.run();
        }

        @Override
        public Timer schedule(long delayNanos, Runnable task) {
            return () -> {
                // It never comes.
            };
        }

        @Override
        public boolean isCurrent() {
            return true;
        }

        @Override
        public void close() {
            // There is nothing.
        }
    }

    private static ReliableUnicast unicast(List<ByteBuffer> messages) {
        return new ReliableUnicast(0, 1, new NoTime(), MESSAGE_BYTES_MAX, new ReliableUnicast.Post() {
            @Override
            public void send(int to, Frame frame) {
                assertTrue(frame.encodedSize(VERSION) <= Frame.BYTES_MAX, "it fits a datagram");
            }

            @Override
            public void message(int from, ByteBuffer payload) {
                messages.add(payload);
            }

            @Override
            public void packet(int from, ByteBuffer packet) {
                messages.add(packet);
            }
        });
    }

    /** Pieces of a message that never ends may be empty; each would be kept. */
    @Test
    void aMessageIsNotMadeOfNothing() {
        List<ByteBuffer> messages = new ArrayList<>();
        ReliableUnicast unicast = unicast(messages);
        Frame.Letter empty = new Frame.Letter(new Frame.Channel(7, 1), 1, 1, Frame.Completes.NOTHING,
                ByteBuffer.allocate(0));
        assertFalse(unicast.received(AWAY, empty), "no node sends that");
        assertTrue(unicast.received(AWAY, new Frame.Letter(new Frame.Channel(7, 1), 1, 1, Frame.Completes.MESSAGE,
                ByteBuffer.allocate(0))), "a message may be empty");
        assertEquals(1, messages.size());
    }

    @Test
    @Tag("long")
    void lettersAreTakenOrRefused() {
        long end = System.nanoTime() + TIME.toNanos();
        long seed = System.nanoTime();
        while (System.nanoTime() < end) {
            SplittableRandom random = new SplittableRandom(++seed);
            List<ByteBuffer> messages = new ArrayList<>();
            ReliableUnicast unicast = unicast(messages);
            try {
                for (int i = 0; i < DATAGRAMS; i++) {
                    switch (frame(random)) {
                        case Frame.PacketFrame(Packet packet) -> assertTrue(packet.encodedSize(VERSION) > 0);
                        case Frame.Letter letter -> unicast.received(AWAY, letter);
                        case Frame.Receipt receipt -> unicast.received(AWAY, receipt);
                        case Frame.Greeting greeting -> unicast.received(AWAY, greeting);
                    }
                    if (random.nextInt(8) == 0) {
                        unicast.send(AWAY, new byte[random.nextInt(100)]);
                    }
                }
                assertTrue(messages.stream().allMatch(each -> each.remaining() <= MESSAGE_BYTES_MAX), "too long");
            } catch (RuntimeException | AssertionError wrong) {
                throw new AssertionError("seed " + seed, wrong);
            }
        }
    }

    private GroupOrder open(int node, Map<Integer, InetSocketAddress> members) throws IOException {
        return GroupOrder.open(GroupOrderConfig.of("test", node, members, 1 << 20, 1 << 16, Duration.ofMillis(500)),
                RealMachine.INSTANCE, PathDirectory.of(directory.resolve("node" + node)));
    }

    /** Two of three nodes, and whoever sends from the place of the third, in its name. */
    @Test
    @Tag("long")
    void nodesThatAreSentItGoOnWithEachOther() throws Exception {
        try (DatagramSocket third = new DatagramSocket(0, InetAddress.getLoopbackAddress())) {
            Map<Integer, InetSocketAddress> members = new TreeMap<>();
            for (int node = 0; node < AWAY; node++) {
                try (DatagramSocket free = new DatagramSocket(0, InetAddress.getLoopbackAddress())) {
                    members.put(node, new InetSocketAddress(InetAddress.getLoopbackAddress(), free.getLocalPort()));
                }
            }
            members.put(AWAY, new InetSocketAddress(InetAddress.getLoopbackAddress(), third.getLocalPort()));
            GroupOrderConfig config = GroupOrderConfig.of("test", AWAY, members, 1 << 20, 1 << 16,
                    Duration.ofMillis(500));
            Envelopes its = new Envelopes(Frame.tag(GroupOrder.words(config)), AWAY, 1, List.of());
            Recorder[] recorders = {new Recorder(), new Recorder()};
            try (GroupOrder first = open(0, members); GroupOrder second = open(1, members)) {
                first.join(recorders[0]);
                second.join(recorders[1]);
                first.start(0, recorders[0]);
                second.start(0, recorders[1]);
                recorders[0].awaitView(view -> view.majority() && view.members().size() == 2);
                long end = System.nanoTime() + TIME.toNanos();
                long seed = System.nanoTime();
                for (int ordered = 1; System.nanoTime() < end || ordered == 1; ordered++) {
                    SplittableRandom random = new SplittableRandom(++seed);
                    send(third, members.get(ordered & 1), bytes(its.seal(ordered & 1, new Announcement(1, true))));
                    for (int i = 0; i < DATAGRAMS; i++) {
                        Frame frame = frame(random);
                        byte[] datagram = bytes(its.seal(ordered & 1, frame, VERSION));
                        // What a packet says is believed: only such as cannot be read are sent.
                        if (frame instanceof Frame.PacketFrame || random.nextBoolean()) {
                            do {
                                datagram = summed(damaged(random, datagram));
                            } while (datagram.length > 0 && its.open(ByteBuffer.wrap(datagram)) != null);
                        }
                        send(third, members.get(ordered & 1), datagram);
                    }
                    second.append(("message " + ordered).getBytes(StandardCharsets.UTF_8));
                    assertEquals("message " + ordered, recorders[0].awaitCount(ordered).getLast().payload(),
                            "seed " + seed);
                }
                assertEquals(0, recorders[0].failures() + recorders[1].failures(), "failures");
                assertTrue(first.refused() + second.refused() > 0, "nothing was refused");
                assertNull(recorders[0].awaitView(view -> view.majority()).lost());
            }
        }
    }

    private static void send(DatagramSocket from, InetSocketAddress to, byte[] datagram) throws IOException {
        from.send(new DatagramPacket(datagram, datagram.length, to));
    }
}
