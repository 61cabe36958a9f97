package tutti.order.raft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.RandomAccessFile;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tutti.core.schema.Versions;
import tutti.core.spi.DurableLog;
import tutti.core.spi.Group;
import tutti.core.spi.Order;
import tutti.order.Recorder;
import tutti.order.peer.Greeting;
import tutti.runtime.DamagedFileException;
import tutti.runtime.Directory;
import tutti.runtime.Frames;
import tutti.runtime.real.PathDirectory;
import tutti.runtime.real.RealMachine;

/** What can go wrong around a Raft order, and what it says and does then. */
@Timeout(60)
class RaftFaultsTest {
    @TempDir
    private Path directory;

    private final Map<Integer, Order> orders = new HashMap<>();
    private final Map<Integer, Recorder> recorders = new HashMap<>();
    private Map<Integer, InetSocketAddress> members = Map.of();

    @AfterEach
    void closeAll() {
        orders.values().forEach(Order::close);
    }

    private RaftOrderConfig config(int node) {
        return RaftNodes.config(node, members);
    }

    private Path files(int node) {
        return RaftNodes.files(directory, node);
    }

    private void start(RaftOrderConfig config, long after) throws Exception {
        start(config, after, PathDirectory.of(files(config.self())));
    }

    private void start(RaftOrderConfig config, long after, Directory files) throws Exception {
        Order order = RaftOrder.open(config, RealMachine.INSTANCE, files);
        orders.put(config.self(), order);
        Recorder recorder = new Recorder();
        recorders.put(config.self(), recorder);
        order.group().join(recorder);
        order.log().start(after, recorder);
    }

    private void startAll(int nodes) throws Exception {
        members = RaftNodes.members(nodes);
        for (int node = 0; node < nodes; node++) {
            start(config(node), 0);
        }
        awaitAll();
    }

    private void awaitAll() throws InterruptedException {
        for (Recorder recorder : recorders.values()) {
            recorder.awaitView(v -> v.majority() && v.members().size() == members.size());
        }
    }

    private void stop(int node) {
        orders.remove(node).close();
        recorders.remove(node);
    }

    private static String message(Throwable e) {
        return String.valueOf(e.getMessage());
    }

    private void submit(int node, int count) throws Exception {
        for (int i = 0; i < count; i++) {
            orders.get(node).log()
                    .append(("message " + i + " of " + node).getBytes(java.nio.charset.StandardCharsets.UTF_8));
        }
    }

    private void aFailingDisk(Consumer<FaultyDirectory.Faults> fault, String expected) throws Exception {
        members = RaftNodes.members(3);
        FaultyDirectory.Faults faults = new FaultyDirectory.Faults();
        start(config(0), 0, new FaultyDirectory(PathDirectory.of(files(0)), faults));
        start(config(1), 0);
        start(config(2), 0);
        awaitAll();
        submit(0, 100);
        recorders.get(1).awaitCount(100);
        fault.accept(faults);
        submit(1, 100);
        Throwable cause = recorders.get(0).awaitFailure();
        assertTrue(message(cause).contains(expected), message(cause));
        assertTrue(message(cause).contains("order's log"), message(cause));
        assertThrows(IllegalStateException.class, () -> orders.get(0).log().append(new byte[1]));
        List<Recorder.Delivered> all = recorders.get(1).awaitCount(200);
        assertEquals(all, recorders.get(2).awaitCount(200));
        assertEquals(1, recorders.get(0).failures());
        stop(0);
        start(config(0), 0);
        assertEquals(all, recorders.get(0).awaitCount(200));
    }

    /** A process that has ended closes its connections and its port, which silence does not. */
    @Test
    void aLeaderThatHasEndedIsReplacedLongBeforeItsSilenceWouldBeMissed() throws Exception {
        members = RaftNodes.members(3);
        Duration failure = Duration.ofSeconds(10);
        for (int node = 0; node < 3; node++) {
            start(config(node).withTimeouts(failure, failure), 0);
        }
        awaitAll();
        int leader = orders.get(0).group().view().leader();
        int survivor = (leader + 1) % 3;
        int before = recorders.get(survivor).views().size();
        stop(leader);
        long begun = System.nanoTime();
        recorders.get(survivor)
                .awaitView(v -> v.majority() && !v.members().contains(leader) && v.leader() != leader);
        assertTrue(System.nanoTime() - begun < failure.toNanos() / 2, "it took as long as silence");
        submit(survivor, 1);
        recorders.get((leader + 2) % 3).awaitCount(1);
        List<Group.View> since = recorders.get(survivor).views().subList(before,
                recorders.get(survivor).views().size());
        assertTrue(since.stream().allMatch(Group.View::majority), "its clients were refused meanwhile: " + since);
    }

    @Test
    void onlyVotersAreWaitedForAndOnlyTheyLead() throws Exception {
        members = RaftNodes.members(5);
        Set<Integer> voters = Set.of(1, 2, 3);
        for (int node = 0; node < 5; node++) {
            start(config(node).withVoters(voters), 0);
        }
        awaitAll();
        submit(0, 50);
        submit(2, 50);
        for (int node = 0; node < 5; node++) {
            assertEquals(recorders.get(1).awaitCount(100), recorders.get(node).awaitCount(100));
            assertTrue(voters.contains(orders.get(node).group().view().leader()));
        }
        stop(0);
        stop(4);
        submit(3, 50);
        recorders.get(2).awaitCount(150);
        stop(1);
        recorders.get(2).awaitView(v -> v.majority() && Set.of(2, 3).contains(v.leader()) && v.members().size() == 2);
        submit(3, 50);
        List<Recorder.Delivered> all = recorders.get(2).awaitCount(200);
        start(config(4).withVoters(voters), 0);
        assertEquals(all, recorders.get(4).awaitCount(200));
        submit(4, 1);
        assertEquals(recorders.get(2).awaitCount(201), recorders.get(4).awaitCount(201));
        stop(2);
        recorders.get(3).awaitView(v -> !v.majority());
        recorders.get(4).awaitView(v -> !v.majority());
    }

    @Test
    void theLeaderGoesWhereItIsPreferred() throws Exception {
        startAll(3);
        int leader = orders.get(0).group().view().leader();
        int wanted = (leader + 1) % 3;
        submit(0, 50);
        orders.values().forEach(order -> order.group().prefer(Set.of(wanted)));
        for (Recorder recorder : recorders.values()) {
            recorder.awaitView(v -> v.leader() == wanted);
        }
        submit(leader, 50);
        assertEquals(recorders.get(leader).awaitCount(100), recorders.get(wanted).awaitCount(100));
    }

    @Test
    void aNodeWhoseDiskCannotFlushStopsAndTheOthersGoOn() throws Exception {
        aFailingDisk(f -> f.forceFails = true, "Input/output error");
    }

    @Test
    void aNodeWhoseDiskIsFullStopsAndTheOthersGoOn() throws Exception {
        aFailingDisk(f -> f.full = true, "No space left on device");
    }

    @Test
    void theVoteIsOnDiskBeforeItCounts() throws Exception {
        FaultyDirectory.Faults faults = new FaultyDirectory.Faults();
        Path at = directory.resolve("n");
        Directory files = new FaultyDirectory(PathDirectory.of(at), faults);
        try (NodeDirectory node = new NodeDirectory(files, "node 1 of test", "", RealMachine.INSTANCE, 7)) {
            assertTrue(node.fresh());
            node.established("node 1 of test");
            int before = faults.forced.get();
            node.vote(7, 3);
            assertTrue(faults.forced.get() > before);
        }
        try (NodeDirectory node = new NodeDirectory(files, "node 1 of test", "", RealMachine.INSTANCE, 7)) {
            assertFalse(node.fresh());
            assertEquals(7, node.term());
            assertEquals(3, node.votedFor());
            node.vote(8, null);
            faults.forceFails = true;
            assertThrows(IOException.class, () -> node.vote(9, 1));
        }
        faults.forceFails = false;
        try (NodeDirectory node = new NodeDirectory(files, "node 1 of test", "", RealMachine.INSTANCE, 7)) {
            assertEquals(8, node.term());
            assertNull(node.votedFor());
        }
        try (RandomAccessFile f = new RandomAccessFile(at.resolve("vote").toFile(), "rw")) {
            f.seek(6);
            f.write(99);
        }
        assertThrows(DamagedFileException.class,
                () -> new NodeDirectory(files, "node 1 of test", "", RealMachine.INSTANCE, 7));
    }

    @Test
    void incarnationsGrow() throws Exception {
        long last = 0;
        for (int i = 0; i < 5; i++) {
            try (NodeDirectory node = new NodeDirectory(PathDirectory.of(files(0)), "x", "", RealMachine.INSTANCE, 7)) {
                assertTrue(node.incarnation() > last);
                last = node.incarnation();
            }
        }
    }

    @Test
    void aDamagedLogIsRefused() throws Exception {
        startAll(1);
        for (int i = 0; i < 5; i++) {
            submit(0, 100);
            recorders.get(0).awaitCount(100 * (i + 1));
        }
        stop(0);
        Path log;
        try (Stream<Path> list = Files.list(files(0).resolve("log"))) {
            log = list.filter(p -> p.toString().endsWith(".log")).sorted().findFirst().orElseThrow();
        }
        try (RandomAccessFile f = new RandomAccessFile(log.toFile(), "rw")) {
            f.seek(300);
            int b = f.read();
            f.seek(300);
            f.write(b ^ 1);
        }
        DamagedFileException e = assertThrows(DamagedFileException.class, () -> RaftNodes.open(config(0), directory));
        assertTrue(message(e).contains(log.toString()), message(e));
        try (Stream<Path> list = Files.list(log.getParent())) {
            for (Path file : list.toList()) {
                Files.delete(file);
            }
        }
        e = assertThrows(DamagedFileException.class, () -> RaftNodes.open(config(0), directory));
        assertTrue(message(e).contains("is gone"), message(e));
    }

    @Test
    void aTakenPortATakenDirectoryAndAnotherClustersDirectoryAreRefused() throws Exception {
        startAll(2);
        IOException used = assertThrows(IOException.class, () -> RaftNodes.open(config(0), directory));
        assertTrue(message(used).contains("is in use by this very process"), message(used));
        IOException taken = assertThrows(IOException.class,
                () -> RaftNodes.open(config(0), directory.resolve("elsewhere")));
        assertTrue(message(taken).contains(":" + members.get(0).getPort()), message(taken));
        assertTrue(message(taken).contains("another process uses the port"), message(taken));
        stop(0);
        members = RaftNodes.members(3);
        IOException other = assertThrows(IOException.class, () -> RaftNodes.open(config(0), directory));
        assertTrue(message(other).contains("belongs to node 0 of"), message(other));
    }

    @Tag("long")
    @Test
    void aNodeWithAnotherMemberListIsTurnedAwayAndSaysWhy() throws Exception {
        startAll(3);
        stop(2);
        Map<Integer, InetSocketAddress> wrong = new HashMap<>(members);
        wrong.put(3, new InetSocketAddress(members.get(0).getAddress(), 1));
        start(RaftNodes.config(2, wrong), 0, PathDirectory.of(directory.resolve("other")));
        Throwable cause = recorders.get(2).awaitFailure();
        assertTrue(message(cause).contains("all nodes must be given the same list"), message(cause));
        submit(0, 10);
        recorders.get(1).awaitCount(10);
        assertEquals(0, recorders.get(0).failures() + recorders.get(1).failures());
    }

    @Test
    void aSecondNodeWithTheSameIdIsTurnedAway() throws Exception {
        startAll(3);
        try (Socket second = new Socket(members.get(0).getAddress(), members.get(0).getPort())) {
            second.getOutputStream()
                    .write(new Greeting.Hello(1, 42, new Greeting.Standing(7, 1, 0, false, 0), config(0).membership())
                            .framed().array());
            String answer = answer(second).refusal();
            assertTrue(answer.contains("another process runs as node 1"), answer);
        }
        try (Socket second = new Socket(members.get(0).getAddress(), members.get(0).getPort())) {
            second.getOutputStream()
                    .write(new Greeting.Hello(0, 42, new Greeting.Standing(7, 1, 0, false, 0), config(0).membership())
                            .framed().array());
            String answer = answer(second).refusal();
            assertTrue(answer.contains("two nodes were given the id 0"), answer);
        }
        try (Socket noise = new Socket(members.get(0).getAddress(), members.get(0).getPort())) {
            noise.getOutputStream()
                    .write("GET / HTTP/1.1\r\n\r\n".getBytes(java.nio.charset.StandardCharsets.US_ASCII));
            assertEquals(-1, noise.getInputStream().read());
        }
        submit(0, 10);
        recorders.get(1).awaitCount(10);
    }

    private Socket connected(int to) throws IOException {
        return new Socket(members.get(to).getAddress(), members.get(to).getPort());
    }

    /** Until the other end closes the connection; what it sends before is not looked at. */
    private static void awaitEnd(Socket socket) throws IOException {
        try {
            socket.getInputStream().transferTo(OutputStream.nullOutputStream());
        } catch (SocketException reset) {
            // It was closed while there was something unread.
            assertTrue(message(reset).contains("reset"), message(reset));
        }
    }

    private long refused(int node) {
        return ((RaftOrder) orders.get(node)).refused();
    }

    @Test
    void whoSendsWhatNoNodeSendsIsDroppedAndCounted() throws Exception {
        members = RaftNodes.members(3);
        start(config(0), 0);
        long before = refused(0);
        try (Socket endless = connected(0)) {
            byte[] noise = new Greeting.Hello(2, 42, new Greeting.Standing(7, 1, 0, false, 0),
                    "x".repeat(Greeting.BYTES_MAX)).framed().array();
            endless.getOutputStream().write(noise);
            endless.getOutputStream().write(noise);
            awaitEnd(endless);
        }
        byte[] letterOfNoType = frame(new byte[]{1, 99});
        byte[] noBatch = frame(new PeerMessage.Submit(new byte[30]).bytes());
        byte[] badChecksum = new byte[]{0, 0, 0, 1, 0, 0, 0, 0, 1};
        byte[] endlessFrame = new byte[]{Byte.MAX_VALUE, 0, 0, 0, 0, 0, 0, 0};
        for (byte[] wrong : List.of(letterOfNoType, noBatch, badChecksum, endlessFrame)) {
            try (Socket peer = connected(0)) {
                peer.getOutputStream().write(
                        new Greeting.Hello(2, 42, new Greeting.Standing(7, 1, 0, false, 0), config(0).membership())
                                .framed().array());
                assertEquals("", answer(peer).refusal());
                peer.getOutputStream().write(Frames.alive().array());
                peer.getOutputStream().write(wrong);
                awaitEnd(peer);
            }
        }
        assertEquals(before + 5, refused(0));
        start(config(1), 0);
        submit(0, 10);
        recorders.get(1).awaitCount(10);
    }

    private static byte[] frame(byte[] content) {
        return Frames.of(content).array();
    }

    private static Greeting.Answer answer(Socket from) throws IOException {
        DataInputStream in = new DataInputStream(from.getInputStream());
        byte[] answer = new byte[in.readUnsignedShort()];
        in.readFully(answer);
        return Greeting.SET.decode(ByteBuffer.wrap(answer), Greeting.Answer.class);
    }

    @Test
    void whoSpeaksNoCommonVersionIsTurnedAwayWithBothRangesAndTheRemedy() throws Exception {
        members = RaftNodes.members(2);
        start(config(0), 0);
        try (Socket peer = connected(0)) {
            peer.getOutputStream()
                    .write(new Greeting.Hello(1, 42, new Greeting.Standing(7, 1, 0, false, 0), new Versions(200, 201),
                            Set.of(),
                            config(0).membership()).framed().array());
            Greeting.Answer answer = answer(peer);
            assertEquals(Versions.SPOKEN, answer.speaks());
            assertEquals(
                    "node 0 speaks " + Versions.SPOKEN + ", but you speak wire versions 200 to 201: upgrade node 0 to"
                            + " a release that speaks a version of the other, one node after the other",
                    answer.refusal());
        }
    }

    @Test
    void thoseWhoSayNothingCannotKeepANodeFromJoining() throws Exception {
        members = RaftNodes.members(2);
        start(config(0), 0);
        List<Socket> silent = new ArrayList<>();
        try {
            for (int i = 0; i < 200; i++) {
                silent.add(connected(0));
            }
            start(config(1), 0);
            awaitAll();
            assertTrue(refused(0) > 0);
            awaitEnd(silent.getFirst());
        } finally {
            for (Socket socket : silent) {
                socket.close();
            }
        }
    }

    @Tag("long")
    @Test
    void aNodeFarBehindIsServedFromTheLeadersDisk() throws Exception {
        members = RaftNodes.members(3);
        int messages = 40_000;
        for (int node = 0; node < 2; node++) {
            start(config(node).withBatches(1, 64).withQueue(1 << 24, 1 << 16), 0);
        }
        recorders.get(0).awaitView(Group.View::majority);
        submit(0, messages / 2);
        submit(1, messages / 2);
        List<Recorder.Delivered> all = recorders.get(0).awaitCount(messages);
        start(config(2), 0);
        assertEquals(all, recorders.get(2).awaitCount(messages));
        submit(2, 1);
        assertEquals(messages + 1L, recorders.get(1).awaitCount(messages + 1).getLast().position());
    }

    /** What is behind a node's checkpoint was never committed, and the others have gone on without it. */
    @Test
    void aNodeWhoseLogDiffersBehindItsCheckpointTakesOverTheLeadersLog() throws Exception {
        startAll(3);
        byte[] message = new byte[1000];
        for (int i = 0; i < 300; i++) {
            orders.get(0).log().append(message);
        }
        for (int node = 0; node < 3; node++) {
            recorders.get(node).awaitCount(300);
        }
        for (int node = 0; node < 3; node++) {
            stop(node);
        }
        try (SegmentedLog log = SegmentedLog.open(RealMachine.INSTANCE, PathDirectory.of(files(2).resolve("log")),
                1 << 16, 0)) {
            int term = log.term(log.lastIndex());
            for (int i = 0; i < 20; i++) {
                log.append(new LogEntry(log.lastIndex() + 1, term, LogEntry.NEW_TERM, new byte[0]));
            }
            log.flush();
        }
        for (int node = 0; node < 2; node++) {
            start(config(node), 0);
        }
        recorders.get(0).awaitView(Group.View::majority);
        submit(0, 50);
        recorders.get(0).awaitCount(350);
        stop(0);
        stop(1);
        for (int node = 0; node < 3; node++) {
            start(config(node), 0);
        }
        submit(1, 50);
        List<Recorder.Delivered> all = recorders.get(0).awaitCount(400);
        assertEquals(all, recorders.get(2).awaitCount(400));
        submit(2, 1);
        recorders.get(1).awaitCount(401);
    }

    @Test
    void aNodeThatNeedsWhatEveryoneForgotSaysSo() throws Exception {
        members = RaftNodes.members(3);
        for (int node = 0; node < 2; node++) {
            start(config(node).withCacheBytes(0), 0);
        }
        byte[] message = new byte[1000];
        for (int i = 0; i < 500; i++) {
            orders.get(0).log().append(message);
        }
        recorders.get(0).awaitCount(500);
        recorders.get(1).awaitCount(500);
        orders.get(0).log().truncate(400);
        orders.get(1).log().truncate(400);
        submit(0, 1);
        recorders.get(1).awaitCount(501);
        assertTrue(orders.get(0).log().status().firstRetained() > 1);
        start(config(2), 0);
        Throwable cause = recorders.get(2).awaitFailure();
        assertInstanceOf(DurableLog.TruncatedException.class, cause);
        assertTrue(message(cause).contains("needs position 1:"), message(cause));
        List<Long> delivered = new ArrayList<>();
        recorders.get(2).deliveries().forEach(d -> delivered.add(d.position()));
        assertEquals(List.of(), delivered);
    }

    @Test
    void aSingleNodeResumesFromItsCheckpoint() throws Exception {
        startAll(1);
        byte[] message = new byte[1000];
        for (int round = 0; round < 4; round++) {
            for (int i = 0; i < 300; i++) {
                orders.get(0).log().append(message);
            }
            recorders.get(0).awaitCount(300);
            assertEquals(301L * round + 1, recorders.get(0).deliveries().getFirst().position());
            orders.get(0).log().truncate(301L * round + 300);
            // The order looks at these in turn, so the truncation has been looked at when this is delivered.
            submit(0, 1);
            recorders.get(0).awaitCount(301);
            stop(0);
            start(config(0), 301L * (round + 1));
        }
        assertTrue(orders.get(0).log().status().firstRetained() > 1);
    }

    @Test
    void aFreePortIsFreeAgainAfterClose() throws Exception {
        startAll(3);
        stop(1);
        try (ServerSocket socket = new ServerSocket()) {
            socket.setReuseAddress(true);
            socket.bind(members.get(1));
            assertTrue(socket.isBound());
        }
    }
}
