package tutti.runtime.real;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tutti.keys.ClusterAuthority;
import tutti.runtime.Network;
import tutti.runtime.Network.Stream;
import tutti.runtime.Network.StreamListener;

/** What becomes of those who connect to a node and are not of its cluster, and how files are renewed under a node that runs. */
@Timeout(120)
class StrangersTest {
    private static final long SECOND = 1_000_000_000;

    @TempDir
    private Path directory;

    private final ClusterAuthority authority = ClusterAuthority.create(Instant.now());
    private final List<String> log = new CopyOnWriteArrayList<>();
    private final List<String> refused = new CopyOnWriteArrayList<>();
    private final List<Stream> accepted = new CopyOnWriteArrayList<>();
    private final List<String> told = new CopyOnWriteArrayList<>();
    private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    private final List<Network> networks = new ArrayList<>();
    private RealWorld world;
    private InetSocketAddress address;

    @BeforeEach
    void listen() throws Exception {
        world = new RealWorld(directory);
        address = world.freeAddress(0);
        network(keys("node0", authority, 0)).listen(address, new Network.Acceptor() {
            @Override
            public StreamListener accepted(Stream stream) {
                accepted.add(stream);
                return new Hearing("node 0");
            }

            @Override
            public void refused(String remote, String why) {
                refused.add(why);
            }
        });
    }

    @AfterEach
    void close() {
        networks.forEach(Network::close);
        assertEquals(null, failure.get());
    }

    private PeerKeys keys(String name, ClusterAuthority of, int node) throws IOException {
        return TestKeys.of(directory.resolve(name), of, node);
    }

    private Network network(@Nullable PeerKeys keys) {
        RealMachine machine = keys == null ? RealMachine.INSTANCE : RealMachine.INSTANCE.proving(keys);
        Network network = machine.network("network" + networks.size(), failure::set);
        networks.add(network);
        return network;
    }

    private final class Hearing implements StreamListener {
        private final String name;

        Hearing(String name) {
            this.name = name;
        }

        @Override
        public void connected() {
            log.add(name + " connected");
        }

        @Override
        public void received(ByteBuffer bytes) {
            log.add(name + " hears " + StandardCharsets.UTF_8.decode(bytes));
        }

        @Override
        public void distrusted(String why) {
            log.add(name + " distrusts");
        }

        @Override
        public void closed(String why) {
            log.add(name + " closed");
        }
    }

    private Stream connect(Network from, String name) {
        AtomicReference<@Nullable Stream> made = new AtomicReference<>();
        from.loop().execute(() -> made.set(from.connect(address, 10 * SECOND, new Hearing(name))));
        world.await("a connection", () -> made.get() != null);
        return made.get();
    }

    private void await(String line) {
        world.await(line + " in " + log, () -> log.contains(line));
    }

    private void awaitRefused(int count) {
        world.await(count + " refused, " + refused, () -> refused.size() == count);
    }

    /** The door still opens to those who may come. */
    private void nodesStillConnect(String name) throws Exception {
        int before = accepted.size();
        connect(network(keys(name, authority, 1)), name);
        await(name + " connected");
        world.await("accepted", () -> accepted.size() == before + 1);
        assertEquals(1, accepted.getLast().peer().node());
    }

    private static void awaitEnd(Socket socket) throws IOException {
        try {
            socket.getInputStream().transferTo(OutputStream.nullOutputStream());
        } catch (SocketException reset) {
            assertTrue(String.valueOf(reset.getMessage()).contains("reset"), reset.getMessage());
        }
    }

    @Test
    void whoSpeaksPlainlyOrNonsenseIsDroppedAndCounted() throws Exception {
        byte[] endlessRecord = new byte[1 << 16];
        endlessRecord[0] = 22;
        endlessRecord[1] = 3;
        endlessRecord[2] = 3;
        endlessRecord[3] = (byte) 0xff;
        endlessRecord[4] = (byte) 0xff;
        int count = 0;
        for (byte[] noise : List.of("TuttiOrd, let me in".getBytes(StandardCharsets.US_ASCII), endlessRecord,
                new byte[1 << 20])) {
            try (Socket stranger = new Socket(address.getAddress(), address.getPort())) {
                try {
                    stranger.getOutputStream().write(noise);
                } catch (SocketException closedMeanwhile) {
                    assertFalse(stranger.isInputShutdown());
                }
                awaitEnd(stranger);
            }
            awaitRefused(++count);
        }
        connect(network(null), "plain").send(ByteBuffer.wrap("hello".getBytes(StandardCharsets.US_ASCII)));
        await("plain connected");
        nodesStillConnect("friend");
        assertEquals(1, accepted.size());
    }

    @Test
    void theCertificateOfAnotherClusterIsNoneHere() throws Exception {
        connect(network(keys("foreign", ClusterAuthority.create(Instant.now()), 1)), "foreign");
        await("foreign closed");
        assertTrue(log.contains("foreign distrusts"), log.toString());
        awaitRefused(1);
        nodesStillConnect("friend");
    }

    @Test
    void whoTrustsThisClusterAndIsOfAnotherIsRefused() throws Exception {
        ClusterAuthority other = ClusterAuthority.create(Instant.now());
        PeerKeys keys = PeerKeys.open(TestKeys.write(directory.resolve("spy"), other.issue(1, Instant.now()),
                other.certificate() + authority.certificate()), told::add);
        connect(network(keys), "spy");
        awaitRefused(1);
        await("spy closed");
        assertEquals(List.of(), accepted);
    }

    @Test
    void aCertificateThatHasExpiredIsNoneAnyMore() throws Exception {
        PeerKeys.Source source = TestKeys.ofThePast(directory.resolve("old"), authority, 1);
        String why = String
                .valueOf(assertThrows(IOException.class, () -> PeerKeys.open(source, told::add)).getMessage());
        assertTrue(why.contains("node.crt") && why.contains("expired"), why);
        // Who has no such scruples as this program gets no further.
        try (Socket dishonest = Tls.socket(source, address)) {
            Tls.tryToSpeak(dishonest);
        }
        awaitRefused(1);
        assertTrue(refused.getFirst().toLowerCase(Locale.ROOT).contains("expired"), refused.toString());
        assertEquals(List.of(), accepted);
    }

    @Test
    void whoShowsNoCertificateIsRefused() throws Exception {
        try (Socket nobody = Tls.socket(null, address)) {
            Tls.tryToSpeak(nobody);
        }
        awaitRefused(1);
        assertEquals(List.of(), accepted);
    }

    @Tag("long")
    @Test
    void thoseWhoSayNothingTakeABoundedNumberOfPlacesAndKeepNobodyOut() throws Exception {
        List<Socket> silent = new ArrayList<>();
        try {
            for (int i = 0; i < 200; i++) {
                Socket socket = new Socket(address.getAddress(), address.getPort());
                silent.add(socket);
                // The beginning of a record that never comes.
                socket.getOutputStream().write(new byte[]{22, 3, 1, 2, 0});
            }
            world.await("places are bounded", () -> refused.stream()
                    .filter(why -> why.contains("others have come since")).count() >= 200 - 64);
            nodesStillConnect("friend");
            awaitEnd(silent.getFirst());
            awaitEnd(silent.getLast());
            world.await("nobody stays for long", () -> refused.size() == 200);
        } finally {
            for (Socket socket : silent) {
                socket.close();
            }
        }
    }

    @Tag("long")
    @Test
    void keysAreRenewedUnderANodeThatRuns() throws Exception {
        Path files = directory.resolve("renewed");
        PeerKeys keys = PeerKeys.open(TestKeys.write(files, authority.issue(1, Instant.now()),
                authority.certificate()), told::add);
        Instant before = keys.until();
        told.clear();
        Network network = network(keys);
        connect(network, "first");
        await("first connected");
        TestKeys.write(files, authority.issue(1, Instant.now(), Duration.ofDays(7)),
                authority.certificate());
        touch(files);
        int[] attempts = new int[1];
        world.await("what is new is read", () -> {
            connect(network, "further " + attempts[0]++);
            await("further " + (attempts[0] - 1) + " connected");
            return !keys.until().equals(before);
        });
        assertTrue(told.getFirst().contains("read again"), told.toString());
        TestKeys.write(files, authority.issue(2, Instant.now()), authority.certificate());
        touch(files);
        world.await("what is another node's is not", () -> {
            connect(network, "later " + attempts[0]++);
            await("later " + (attempts[0] - 1) + " connected");
            return told.size() > 1;
        });
        assertTrue(told.get(1).contains("stay in force"), told.toString());
        assertEquals(1, keys.identity().node());
    }

    /** The files of another time, so that it does not matter how fine the file system's clock is. */
    private static void touch(Path files) throws IOException {
        for (String name : List.of("node.crt", "node.key", "authorities.crt")) {
            Files.setLastModifiedTime(files.resolve(name), FileTime.from(Instant.now().plusSeconds(60)));
        }
    }

    @Test
    void anAuthorityIsChangedInThreeSteps() throws Exception {
        ClusterAuthority next = ClusterAuthority.create(authority.cluster(), Instant.now());
        Path door = directory.resolve("node0");
        // Node 0 trusts both, then node 1 proves itself by the new one, to a node that still proves itself by the old one.
        Files.writeString(door.resolve("authorities.crt"), authority.certificate() + next.certificate());
        touch(door);
        PeerKeys keys = PeerKeys.open(TestKeys.write(directory.resolve("node1"), next.issue(1, Instant.now()),
                next.certificate() + authority.certificate()), told::add);
        Network network = network(keys);
        int[] attempts = new int[1];
        world.await("both are trusted", () -> {
            connect(network, "attempt " + attempts[0]++);
            await("attempt " + (attempts[0] - 1) + " connected");
            world.await("an end", () -> refused.size() + accepted.size() == attempts[0]);
            return !accepted.isEmpty();
        });
        assertEquals(1, accepted.getLast().peer().node());
    }

    @Test
    void filesThatProveNothingAreRefusedWithTheRemedy() throws Exception {
        PeerKeys.Source good = TestKeys.write(directory.resolve("a"), authority.issue(1, Instant.now()),
                authority.certificate());
        PeerKeys.Source other = TestKeys.write(directory.resolve("b"), authority.issue(1, Instant.now()),
                ClusterAuthority.create(Instant.now()).certificate());
        Path nothing = Files.writeString(directory.resolve("nothing"), "");
        assertRefusal(new PeerKeys.Source(directory.resolve("none"), good.key(), good.authorities()),
                "is not there: `tutti keys issue`");
        assertRefusal(new PeerKeys.Source(nothing, good.key(), good.authorities()), "holds no certificate");
        assertRefusal(new PeerKeys.Source(good.certificate(), other.key(), good.authorities()), "is not the key");
        Path noKey = PrivateFiles.write(directory.resolve("no.key"), authority.certificate());
        assertRefusal(new PeerKeys.Source(good.certificate(), noKey, good.authorities()), "no private key");
        assertRefusal(new PeerKeys.Source(good.certificate(), good.key(), other.authorities()),
                "proves nothing to others");
        Files.setPosixFilePermissions(good.key(), PosixFilePermissions.fromString("rw-r--r--"));
        assertRefusal(good, "chmod 600");
    }

    private void assertRefusal(PeerKeys.Source source, String expected) {
        String why = String
                .valueOf(assertThrows(IOException.class, () -> PeerKeys.open(source, told::add)).getMessage());
        assertTrue(why.contains(expected), why);
    }
}
