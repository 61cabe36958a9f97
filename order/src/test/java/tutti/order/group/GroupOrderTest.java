package tutti.order.group;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tutti.core.schema.Versions;
import tutti.core.spi.Order;
import tutti.order.OrderContract;
import tutti.order.Recorder;
import tutti.runtime.real.PathDirectory;
import tutti.runtime.real.RealMachine;

class GroupOrderTest extends OrderContract {
    private static final int PAYLOAD_BYTES_MAX = 1 << 16;

    @TempDir
    private Path directory;

    private static Map<Integer, InetSocketAddress> members(int nodes) throws IOException {
        Map<Integer, InetSocketAddress> members = new TreeMap<>();
        List<DatagramSocket> held = new ArrayList<>();
        for (int node = 0; node < nodes; node++) {
            DatagramSocket socket = new DatagramSocket(0, InetAddress.getLoopbackAddress());
            held.add(socket);
            members.put(node, new InetSocketAddress(InetAddress.getLoopbackAddress(), socket.getLocalPort()));
        }
        held.forEach(DatagramSocket::close);
        return members;
    }

    /** Secrets of the nodes; none if they believe each other. */
    protected List<byte[]> datagramKeys() {
        return List.of();
    }

    private GroupOrder open(int node, Map<Integer, InetSocketAddress> members, long queueBytes, int payloadBytesMax)
            throws IOException {
        return GroupOrder.open(GroupOrderConfig.of("test", node, members, queueBytes, payloadBytesMax,
                Duration.ofMillis(500)).withDatagramKeys(datagramKeys()), RealMachine.INSTANCE,
                PathDirectory.of(directory.resolve("node" + node)));
    }

    @Override
    protected Cluster cluster(int nodes, long queueBytes) throws Exception {
        Map<Integer, InetSocketAddress> members = members(nodes);
        return new Cluster() {
            @Override
            public Order open(int node) throws Exception {
                return GroupOrderTest.this.open(node, members, queueBytes, PAYLOAD_BYTES_MAX);
            }

            @Override
            public boolean remembersStops() {
                return false;
            }
        };
    }

    @Test
    void messagesThatTakeManyDatagramsAreOrderedAndFetched() throws Exception {
        Map<Integer, InetSocketAddress> members = members(3);
        List<GroupOrder> orders = new ArrayList<>();
        List<Recorder> recorders = new ArrayList<>();
        for (int node = 0; node < 3; node++) {
            GroupOrder order = open(node, members, 64 << 20, 4 << 20);
            Recorder recorder = new Recorder();
            orders.add(order);
            recorders.add(recorder);
            order.join(recorder);
            order.start(0, recorder);
        }
        try {
            recorders.get(0).awaitView(view -> view.majority() && view.members().size() == 3);
            List<String> sent = new ArrayList<>();
            for (int i = 0; i < 6; i++) {
                String text = Character.toString('a' + i).repeat(i % 2 == 0 ? 3 << 20 : 10);
                sent.add(text);
                orders.get(0).append(text.getBytes(StandardCharsets.UTF_8));
            }
            for (Recorder recorder : recorders) {
                assertEquals(sent, recorder.awaitCount(6).stream().map(Recorder.Delivered::payload).toList());
            }
            orders.get(2).close();
            orders.set(2, open(2, members, 64 << 20, 4 << 20));
            Recorder again = new Recorder();
            orders.get(2).start(0, again);
            assertEquals(sent, again.awaitCount(6).stream().map(Recorder.Delivered::payload).toList());
        } finally {
            orders.forEach(GroupOrder::close);
        }
    }

    @Test
    void whenNoMajorityRemembersAllSaySo() throws Exception {
        Map<Integer, InetSocketAddress> members = members(3);
        List<GroupOrder> orders = new ArrayList<>();
        List<Recorder> recorders = new ArrayList<>();
        for (int node = 0; node < 3; node++) {
            recorders.add(started(orders, node, members));
        }
        try {
            for (Recorder recorder : recorders) {
                recorder.awaitView(view -> view.majority() && view.members().size() == 3 && view.lost() == null);
            }
            orders.get(1).close();
            orders.get(2).close();
            recorders.set(1, started(orders, 1, members));
            recorders.set(2, started(orders, 2, members));
            for (Recorder recorder : recorders) {
                recorder.awaitView(view -> !view.majority() && view.members().size() == 3
                        && String.valueOf(view.lost()).contains("no majority remembers it"));
            }
        } finally {
            orders.forEach(GroupOrder::close);
        }
    }

    private Recorder started(List<GroupOrder> orders, int node, Map<Integer, InetSocketAddress> members)
            throws Exception {
        GroupOrder order = open(node, members, 1 << 20, PAYLOAD_BYTES_MAX);
        if (node < orders.size()) {
            orders.set(node, order);
        } else {
            orders.add(order);
        }
        Recorder recorder = new Recorder();
        order.join(recorder);
        order.start(0, recorder);
        return recorder;
    }

    @Test
    void datagramsOfStrangersAndDamagedOnesAreDroppedAndCounted() throws Exception {
        Map<Integer, InetSocketAddress> members = members(1);
        try (GroupOrder order = open(0, members, 1 << 20, PAYLOAD_BYTES_MAX);
                DatagramSocket stranger = new DatagramSocket(0, InetAddress.getLoopbackAddress())) {
            Recorder recorder = new Recorder();
            order.join(recorder);
            order.start(0, recorder);
            recorder.awaitView(view -> view.majority());
            Random random = new Random(1);
            int sent = 0;
            for (int length : new int[]{1, 3, 17, 100, 9000, Frame.DATAGRAM_BYTES_MAX + 1}) {
                byte[] noise = new byte[length];
                random.nextBytes(noise);
                stranger.send(new DatagramPacket(noise, length, members.get(0)));
                sent++;
            }
            long expected = sent;
            Recorder.THREADS.await(this, () -> order.refused() == expected,
                    () -> order.refused() + " refused");
            order.append("goes on".getBytes(StandardCharsets.UTF_8));
            assertEquals("goes on", recorder.awaitCount(1).getFirst().payload());
        }
    }

    @Test
    void nodesAnnounceWhatTheySpeakAndOneWithNothingInCommonIsTurnedAway() throws Exception {
        Map<Integer, InetSocketAddress> members = members(2);
        long tag = Frame.tag(GroupOrder.words(GroupOrderConfig.of("test", 0, members, 1 << 20, PAYLOAD_BYTES_MAX,
                Duration.ofMillis(500))));
        Envelopes envelopes = new Envelopes(tag, 1, 5, datagramKeys());
        try (DatagramSocket other = new DatagramSocket(members.get(1));
                GroupOrder order = open(0, members, 1 << 20, PAYLOAD_BYTES_MAX)) {
            order.start(0, new Recorder());
            Announcement first = announcement(other, envelopes, true);
            assertEquals(Versions.SPOKEN, first.speaks());
            assertEquals(Versions.SPOKEN.oldest(), order.wireVersion());

            Frame frame = new Frame.Receipt(new Frame.Channel(1, 1), 1);
            send(other, members.get(0),
                    envelopes.seal(0, new Announcement(5, new Versions(1, 9), Set.of("wings"), true)));
            assertEquals(first.life(), announcement(other, envelopes, false).life(), "it answers who asks");
            send(other, members.get(0), envelopes.seal(0, frame, 1));

            int foreign = Versions.SPOKEN.newest() + 1;
            send(other, members.get(0),
                    envelopes.seal(0, new Announcement(6, new Versions(foreign, 9), Set.of(), true)));
            announcement(other, envelopes, false);
            assertEquals(0, order.refused());
            send(other, members.get(0), envelopes.seal(0, frame, 1));
            Recorder.THREADS.await(this, () -> order.refused() == 1, () -> order.refused() + " refused");

            send(other, members.get(0), envelopes.seal(0, new Announcement(5, Versions.SPOKEN, Set.of(), true)));
            announcement(other, envelopes, false);
            send(other, members.get(0), envelopes.seal(0, frame, 1));
            Recorder.THREADS.await(this, () -> order.refused() == 2, () -> "what an earlier life said does not count");

            send(other, members.get(0), envelopes.seal(0, new Announcement(7, Versions.SPOKEN, Set.of(), true)));
            announcement(other, envelopes, false);
            send(other, members.get(0), envelopes.seal(0, frame, 1));
            send(other, members.get(0), envelopes.seal(0, new Announcement(7, Versions.SPOKEN, Set.of(), true)));
            announcement(other, envelopes, false);
            assertEquals(2, order.refused(), "it was put back to a release that is understood");
        }
    }

    private static void send(DatagramSocket from, InetSocketAddress to, ByteBuffer datagram) throws IOException {
        byte[] bytes = new byte[datagram.remaining()];
        datagram.get(bytes);
        from.send(new DatagramPacket(bytes, bytes.length, to));
    }

    /** The next announcement that comes, and asks or not; other datagrams are passed over. */
    private static Announcement announcement(DatagramSocket at, Envelopes envelopes, boolean asks) throws IOException {
        DatagramPacket come = new DatagramPacket(new byte[Frame.DATAGRAM_BYTES_MAX], Frame.DATAGRAM_BYTES_MAX);
        while (true) {
            at.receive(come);
            Envelopes.Received read = envelopes.open(ByteBuffer.wrap(come.getData(), 0, come.getLength()));
            if (read != null && read.message() instanceof Announcement announcement && announcement.asks() == asks) {
                return announcement;
            }
        }
    }

    @Test
    void aDirectoryOfAnotherGroupOrKindIsRefused() throws Exception {
        Map<Integer, InetSocketAddress> members = members(2);
        open(0, members, 1 << 20, PAYLOAD_BYTES_MAX).close();
        IOException other = assertThrows(IOException.class,
                () -> open(0, Map.of(0, members.get(0)), 1 << 20, PAYLOAD_BYTES_MAX));
        assertTrue(String.valueOf(other.getMessage()).contains("use the same members as before"), other.getMessage());
        Path files = Files.createDirectories(directory.resolve("node1"));
        Files.writeString(files.resolve("log.1"), "raft");
        IOException kind = assertThrows(IOException.class, () -> open(1, members, 1 << 20, PAYLOAD_BYTES_MAX));
        assertTrue(String.valueOf(kind.getMessage()).contains("order of another kind"), kind.getMessage());
    }
}
