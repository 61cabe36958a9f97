package tutti.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tutti.runtime.Network.Datagrams;
import tutti.runtime.Network.Stream;
import tutti.runtime.Network.StreamListener;

/** What every network must do. */
@Timeout(120)
public abstract class NetworkContract {
    private static final long SECOND = 1_000_000_000;
    private static final int CHUNK = 10_000;
    /** Of a network that documents speak of, and nobody has (RFC 5737). */
    private static final InetSocketAddress ELSEWHERE = InetSocketAddress.createUnresolved("192.0.2.1", 7000);

    private final List<String> log = new CopyOnWriteArrayList<>();
    private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    private final List<Network> networks = new ArrayList<>();
    private TestWorld world;
    private Network left;
    private Network right;

    /** Two machines. */
    protected abstract TestWorld world() throws Exception;

    @BeforeEach
    void open() throws Exception {
        world = world();
        left = network(0);
        right = network(1);
    }

    private Network network(int machine) {
        Network network = world.machine(machine).network("network" + machine, failure::set);
        networks.add(network);
        return network;
    }

    @AfterEach
    void close() throws Exception {
        networks.forEach(Network::close);
        world.close();
        assertEquals(null, failure.get());
    }

    private void await(String... lines) {
        world.await(String.join(" and ", lines), () -> log.containsAll(List.of(lines)));
    }

    /** Logs what it hears. */
    private class Hearing implements StreamListener {
        private final String name;
        private final StringBuilder heard = new StringBuilder();

        Hearing(String name) {
            this.name = name;
        }

        @Override
        public void connected() {
            log.add(name + " connected");
        }

        @Override
        public void received(ByteBuffer bytes) {
            heard.append(StandardCharsets.UTF_8.decode(bytes));
            while (heard.indexOf("\n") >= 0) {
                log.add(name + " hears " + heard.substring(0, heard.indexOf("\n")));
                heard.delete(0, heard.indexOf("\n") + 1);
            }
        }

        @Override
        public void closed(String why) {
            assertTrue(!why.isEmpty());
            log.add(name + " closed");
        }
    }

    private static ByteBuffer line(String text) {
        return ByteBuffer.wrap((text + "\n").getBytes(StandardCharsets.UTF_8));
    }

    /** A connection from the left to the right, and what to do with its ends when it stands. */
    private void connect(StreamListener connecting, StreamListener accepted, Consumer<Stream> onRight,
            Consumer<Stream> onLeft) throws Exception {
        InetSocketAddress address = world.freeAddress(1);
        right.listen(address, stream -> {
            onRight.accept(stream);
            log.add("accepted");
            return accepted;
        });
        left.loop().execute(() -> onLeft.accept(left.connect(address, 10 * SECOND, connecting)));
    }

    private AtomicReference<@Nullable Stream> connected(StreamListener connecting, StreamListener accepted,
            Consumer<Stream> onRight) throws Exception {
        AtomicReference<@Nullable Stream> stream = new AtomicReference<>();
        connect(connecting, accepted, onRight, stream::set);
        await("left connected", "accepted");
        return stream;
    }

    @Test
    void bytesGoBothWaysInOrder() throws Exception {
        AtomicReference<@Nullable Stream> rightEnd = new AtomicReference<>();
        AtomicReference<@Nullable Stream> leftEnd = connected(new Hearing("left"), new Hearing("right"),
                rightEnd::set);
        for (int i = 0; i < 100; i++) {
            int number = i;
            left.loop().execute(() -> leftEnd.get().send(line("question " + number)));
            right.loop().execute(() -> rightEnd.get().send(line("answer " + number)));
        }
        await("right hears question 99", "left hears answer 99");
        for (String side : List.of("right hears question ", "left hears answer ")) {
            List<String> expected = new ArrayList<>();
            for (int i = 0; i < 100; i++) {
                expected.add(side + i);
            }
            assertEquals(expected, log.stream().filter(line -> line.startsWith(side)).toList());
        }
        assertTrue(!leftEnd.get().remote().isEmpty() && !rightEnd.get().remote().isEmpty());
    }

    @Test
    void eachEndKnowsWhoHasProvenToBeAtTheOther() throws Exception {
        AtomicReference<@Nullable PeerIdentity> seenOnAccepting = new AtomicReference<>();
        AtomicReference<@Nullable Stream> rightEnd = new AtomicReference<>();
        AtomicReference<@Nullable Stream> leftEnd = connected(new Hearing("left"), new Hearing("right"), stream -> {
            seenOnAccepting.set(stream.peer());
            rightEnd.set(stream);
        });
        assertEquals(world.identity(0), left.identity());
        assertEquals(world.identity(1), right.identity());
        assertEquals(world.identity(0), seenOnAccepting.get());
        assertEquals(world.identity(0), rightEnd.get().peer());
        assertEquals(world.identity(1), leftEnd.get().peer());
    }

    @Test
    void whatIsAcceptedMaySpeakFirst() throws Exception {
        connect(new Hearing("left"), new Hearing("right"), stream -> stream.send(line("welcome")), stream -> {});
        await("left hears welcome");
    }

    @Test
    void partsOfBuffersAreSentAsTheyAre() throws Exception {
        AtomicReference<@Nullable Stream> end = connected(new Hearing("left"), new Hearing("right"), stream -> {});
        left.loop().execute(() -> {
            ByteBuffer bytes = ByteBuffer.allocateDirect(20).put("__one two\n__".getBytes(StandardCharsets.UTF_8))
                    .flip().position(2).limit(10);
            end.get().send(bytes.asReadOnlyBuffer());
            end.get().send(ByteBuffer.allocate(0));
            end.get().send(line("three").slice(0, 6));
        });
        await("right hears one two", "right hears three");
    }

    @Test
    void whoeverDoesNotReadSlowsTheSenderDown() throws Exception {
        long total = 40_000_000;
        AtomicLong count = new AtomicLong();
        Hearing hearing = new Hearing("right") {
            @Override
            public void received(ByteBuffer bytes) {
                count.addAndGet(bytes.remaining());
            }
        };
        AtomicReference<@Nullable Stream> rightEnd = new AtomicReference<>();
        AtomicLong unsent = new AtomicLong();
        AtomicReference<@Nullable Stream> leftEnd = connected(new Hearing("left"), hearing, stream -> {
            stream.read(false);
            rightEnd.set(stream);
        });
        left.loop().execute(() -> {
            for (int i = 0; i < total / CHUNK; i++) {
                leftEnd.get().send(ByteBuffer.allocate(CHUNK));
            }
            look(leftEnd.get(), unsent);
        });
        left.loop().schedule(SECOND / 4, () -> log.add("a while has passed"));
        await("a while has passed");
        assertEquals(0, count.get(), "nothing is read that was not asked for");
        assertTrue(unsent.get() > total / 2, "unsent are " + unsent);
        right.loop().execute(() -> rightEnd.get().read(true));
        world.await("all has come", () -> count.get() == total);
        world.await("nothing is unsent", () -> unsent.get() == 0);
    }

    /** Looks again and again how much is unsent. */
    private void look(Stream stream, AtomicLong unsent) {
        unsent.set(stream.unsentBytes());
        left.loop().schedule(SECOND / 100, () -> look(stream, unsent));
    }

    @Test
    void theOtherEndHearsOfACloseAfterWhatWasSent() throws Exception {
        AtomicReference<@Nullable Stream> end = connected(new Hearing("left"), new Hearing("right"), stream -> {});
        left.loop().execute(() -> end.get().send(line("last words")));
        await("right hears last words");
        left.loop().execute(() -> {
            end.get().close();
            end.get().close();
            end.get().send(line("too late"));
        });
        await("right closed");
        assertEquals(List.of("right hears last words", "right closed"),
                log.stream().filter(line -> line.startsWith("right ")).toList());
        assertTrue(!log.contains("left closed"), "who closes is not told");
        assertEquals(0, end.get().unsentBytes());
    }

    @Test
    void anAcceptedConnectionThatIsClosedAtOnceIsOver() throws Exception {
        connect(new Hearing("left"), new Hearing("right"), Stream::close, stream -> {});
        await("left closed");
        assertTrue(!log.contains("right closed"), log.toString());
    }

    @Test
    void nobodyThereIsToldSoon() throws Exception {
        InetSocketAddress nobody = world.freeAddress(1);
        left.loop().execute(() -> left.connect(nobody, 10 * SECOND, new Hearing("left")));
        await("left closed");
        assertEquals(List.of("left closed"), log);
    }

    @Test
    void aNameThatNobodyKnowsIsToldSoon() {
        left.loop().execute(() -> left.connect(InetSocketAddress.createUnresolved("no-such-host.invalid", 1),
                10 * SECOND, new Hearing("left")));
        await("left closed");
        assertEquals(List.of("left closed"), log);
    }

    @Test
    void whatConnectsInVainMayBeClosed() throws Exception {
        InetSocketAddress nobody = world.freeAddress(1);
        left.loop().execute(() -> {
            left.connect(nobody, 10 * SECOND, new Hearing("closed one")).close();
            left.connect(nobody, 10 * SECOND, new Hearing("left"));
        });
        await("left closed");
        assertEquals(List.of("left closed"), log);
    }

    @Test
    void addressesAreTakenOnceAndFreeAgain() throws Exception {
        InetSocketAddress address = world.freeAddress(1);
        AutoCloseable listening = right.listen(address, stream -> new Hearing("first"));
        Network other = network(1);
        IOException taken = assertThrows(IOException.class,
                () -> other.listen(address, stream -> new Hearing("second")));
        assertTrue(String.valueOf(taken.getMessage()).contains(address.getHostString() + ":" + address.getPort()),
                taken.getMessage());
        listening.close();
        listening.close();
        other.listen(address, stream -> {
            log.add("second");
            return new Hearing("right");
        });
        left.loop().execute(() -> left.connect(address, 10 * SECOND, new Hearing("left")));
        await("left connected", "second");
        other.close();
        await("left closed");
        right.listen(address, stream -> new Hearing("third"));
    }

    @Test
    void anAddressOfAnotherMachineIsRefused() {
        assertThrows(IOException.class,
                () -> right.listen(ELSEWHERE, stream -> new Hearing("right")));
        assertThrows(IOException.class,
                () -> right.datagrams(ELSEWHERE, (from, bytes) -> {}));
    }

    @Test
    void connectionsOutliveWhatAcceptedThem() throws Exception {
        InetSocketAddress address = world.freeAddress(1);
        AutoCloseable listening = right.listen(address, stream -> {
            log.add("accepted");
            return new Hearing("right");
        });
        AtomicReference<@Nullable Stream> end = new AtomicReference<>();
        left.loop().execute(() -> end.set(left.connect(address, 10 * SECOND, new Hearing("left"))));
        await("left connected", "accepted");
        listening.close();
        left.loop().execute(() -> end.get().send(line("still there")));
        await("right hears still there");
        left.loop().execute(() -> left.connect(address, 10 * SECOND, new Hearing("late")));
        await("late closed");
    }

    @Test
    void aListenerThatThrowsClosesTheLoopAndIsTold() throws Exception {
        StreamListener broken = new Hearing("right") {
            @Override
            public void received(ByteBuffer bytes) {
                throw new IllegalStateException("on purpose");
            }
        };
        AtomicReference<@Nullable Stream> end = connected(new Hearing("left"), broken, stream -> {});
        left.loop().execute(() -> end.get().send(line("anything")));
        world.await("the failure is told", () -> failure.get() != null);
        assertTrue(String.valueOf(failure.getAndSet(null)).contains("on purpose"));
    }

    @Test
    void datagramsComeWholeAndSayFromWhere() throws Exception {
        InetSocketAddress leftAddress = world.freeAddress(0);
        InetSocketAddress rightAddress = world.freeAddress(1);
        AtomicReference<@Nullable Datagrams> back = new AtomicReference<>();
        back.set(right.datagrams(rightAddress, (from, bytes) -> {
            byte[] echo = new byte[bytes.remaining()];
            bytes.get(echo);
            back.get().send(from, ByteBuffer.wrap(echo));
        }));
        Datagrams socket = left.datagrams(leftAddress,
                (from, bytes) -> log.add(from.getPort() + " sends " + bytes.remaining()));
        left.loop().execute(() -> {
            socket.send(rightAddress, ByteBuffer.allocate(3));
            socket.send(rightAddress, ByteBuffer.allocate(0));
            socket.send(rightAddress, ByteBuffer.allocate(30_000).position(10_000));
            socket.send(InetSocketAddress.createUnresolved("no-such-host.invalid", 7000), ByteBuffer.allocate(1));
            socket.send(rightAddress, ByteBuffer.allocate(socket.maxBytes() + 1));
        });
        await(rightAddress.getPort() + " sends 3", rightAddress.getPort() + " sends 20000");
        assertEquals(2, log.size(), log.toString());
        assertTrue(socket.maxBytes() >= 60_000);
        assertThrows(IOException.class, () -> network(1).datagrams(rightAddress, (from, bytes) -> {}));
        back.get().close();
        back.get().close();
        right.datagrams(rightAddress, (from, bytes) -> {});
    }

    /** However much else the loop has to do. */
    @Test
    void aPortIsGivenBackWithItsDatagrams() throws Exception {
        InetSocketAddress address = world.freeAddress(0);
        for (int i = 0; i < 1000; i++) {
            for (int each = 0; each < 10; each++) {
                left.loop().execute(() -> {});
            }
            left.datagrams(address, (from, bytes) -> {}).close();
        }
    }

    @Test
    void nothingHappensAfterTheClose() throws Exception {
        InetSocketAddress address = world.freeAddress(1);
        AtomicReference<@Nullable Stream> end = connected(new Hearing("left"), new Hearing("right"), stream -> {});
        left.close();
        await("right closed");
        left.close();
        left.loop().execute(() -> log.add("later"));
        end.get().close();
        assertThrows(IOException.class, () -> {
            right.close();
            right.listen(address, stream -> new Hearing("right"));
        });
        assertTrue(!log.contains("later") && !log.contains("left closed"), log.toString());
    }
}
