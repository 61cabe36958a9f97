package tutti.sim.raft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tutti.core.spi.DurableLog;
import tutti.order.raft.RaftOrder;
import tutti.order.raft.RaftOrderConfig;
import tutti.runtime.Network;
import tutti.runtime.PeerIdentity;
import tutti.sim.host.Host;
import tutti.sim.host.HostConfig;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Nanos;
import tutti.sim.machine.SimMachine;
import tutti.sim.net.LinkConfig;
import tutti.sim.net.Segment;
import tutti.sim.thread.Threads;

/**
 * A stranger takes the place of a member that is away, at its address, with a greeting that it has seen: the nodes, from the same
 * class files as real ones, let it in only if they are told that nobody proves anything.
 */
class RaftStrangersSimTest {
    private static final String CLUSTER = "simulated";
    private static final int PORT = 7000;
    /** Where a greeting says which node it is of: behind magic, length, version and kind. */
    private static final int NODE_AT = 8 + 2 + 1 + 1;

    private final Kernel kernel = new Kernel(17);
    private final tutti.sim.net.Network lines = new tutti.sim.net.Network(kernel);
    private final List<Host> hosts = new ArrayList<>();
    private final Map<Integer, InetSocketAddress> members = new TreeMap<>();
    private final Map<Integer, RaftOrder> orders = new HashMap<>();
    private final List<String> delivered = new ArrayList<>();
    private final List<String> failures = new ArrayList<>();
    private final List<byte[]> heard = new ArrayList<>();

    @BeforeEach
    void hosts() {
        Threads threads = new Threads(kernel);
        Segment lan = lines.segment("lan", LinkConfig.LAN);
        for (int i = 0; i < 3; i++) {
            Host host = new Host(kernel, threads, "n" + i, HostConfig.DEFAULT);
            lines.attach(host, lan);
            hosts.add(host);
            members.put(i, InetSocketAddress.createUnresolved(host.name(), PORT));
        }
    }

    private void await(String what, BooleanSupplier condition) {
        long end = kernel.now() + 60 * Nanos.SECOND;
        while (!condition.getAsBoolean()) {
            assertTrue(kernel.now() < end, () -> "not within a minute: " + what + "; " + failures);
            kernel.runUntil(kernel.now() + 10 * Nanos.MILLI);
        }
    }

    private SimMachine boot(int host, @Nullable PeerIdentity as) {
        hosts.get(host).identify(as);
        if (hosts.get(host).state() != Host.State.DOWN) {
            hosts.get(host).crash();
        }
        hosts.get(host).boot();
        return new SimMachine(hosts.get(host), lines);
    }

    /** Begins a node's order. */
    private void start(int node, boolean proving) {
        SimMachine machine = boot(node, proving ? new PeerIdentity(CLUSTER, node) : null);
        machine.background("main", () -> {
            RaftOrder order = RaftOrder.open(RaftOrderConfig.of(node, members).withCluster(CLUSTER), machine,
                    machine.directory("order"));
            orders.put(node, order);
            order.start(0, new DurableLog.Reader() {
                @Override
                public void delivered(long position, int sender, ByteBuffer payload) {
                    if (node == 0) {
                        delivered.add(StandardCharsets.UTF_8.decode(payload).toString());
                    }
                }

                @Override
                public void failed(Throwable cause) {
                    failures.add("node " + node + ": " + cause);
                }
            });
        });
    }

    private void startTwo(boolean proving) {
        start(0, proving);
        start(1, proving);
        await("a majority of two", () -> orders.size() == 2
                && orders.values().stream().allMatch(order -> order.view().majority()));
    }

    /** What node 0 says to who is node 2. */
    private byte[] greetingOfNodeZero(boolean proving) throws Exception {
        heard.clear();
        Network third = boot(2, proving ? new PeerIdentity(CLUSTER, 2) : null).network("third",
                cause -> failures.add(cause.toString()));
        third.listen(members.get(2), stream -> new Listening());
        await("a greeting", () -> heard.stream().anyMatch(greeting -> greeting[NODE_AT + 3] == 0));
        return heard.stream().filter(greeting -> greeting[NODE_AT + 3] == 0).findFirst().orElseThrow();
    }

    private final class Listening implements Network.StreamListener {
        private final byte @Nullable [] sends;
        private Network.@Nullable Stream stream;

        Listening() {
            this(null);
        }

        Listening(byte @Nullable [] sends) {
            this.sends = sends;
        }

        @Override
        public void connected() {
            Objects.requireNonNull(stream).send(ByteBuffer.wrap(Objects.requireNonNull(sends)));
        }

        @Override
        public void received(ByteBuffer bytes) {
            byte[] come = new byte[bytes.remaining()];
            bytes.get(come);
            heard.add(come);
        }

        @Override
        public void closed(String why) {
            heard.add(new byte[0]);
        }
    }

    /** Says to node 0, from the place of node 2, what node 2 would say; returns what comes back, nothing if it is cut off. */
    private byte[] pretends(@Nullable PeerIdentity really, byte[] greetingSeen) {
        byte[] greeting = greetingSeen.clone();
        greeting[NODE_AT + 3] = 2;
        heard.clear();
        Network network = boot(2, really).network("stranger", cause -> failures.add(cause.toString()));
        network.loop().execute(() -> {
            Listening listening = new Listening(greeting);
            listening.stream = network.connect(members.get(0), Nanos.SECOND, listening);
        });
        await("an answer", () -> !heard.isEmpty());
        return heard.getFirst();
    }

    private static boolean isWelcome(byte[] answer) {
        // Length, version, kind, and the length of a refusal, which is empty.
        return answer.length > 8 && ByteBuffer.wrap(answer).getInt(4) == 0;
    }

    @Test
    void whoProvesToBeAnotherOrNobodyIsNotAdmittedAsTheMemberThatIsAway() throws Exception {
        startTwo(true);
        byte[] seen = greetingOfNodeZero(true);
        assertEquals(0, pretends(null, seen).length);
        assertEquals(0, pretends(new PeerIdentity("another cluster", 2), seen).length);
        assertEquals(0, pretends(new PeerIdentity(CLUSTER, 7), seen).length);
        byte[] refusal = pretends(new PeerIdentity(CLUSTER, 1), seen);
        assertFalse(isWelcome(refusal));
        assertTrue(new String(refusal, StandardCharsets.UTF_8).contains("in the name of node 2"));
        assertEquals(4, orders.get(0).refused());
        start(2, true);
        await("all three", () -> orders.containsKey(2) && orders.get(2).view().members().size() == 3);
        orders.get(2).append("all is well".getBytes(StandardCharsets.UTF_8));
        await("it is ordered", () -> delivered.contains("all is well"));
        assertEquals(List.of(), failures);
    }

    @Test
    void whereNobodyProvesAnythingTheStrangerIsAdmitted() throws Exception {
        startTwo(false);
        assertTrue(isWelcome(pretends(null, greetingOfNodeZero(false))));
    }
}
