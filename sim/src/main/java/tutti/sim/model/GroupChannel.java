package tutti.sim.model;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.core.group.GroupEffects;
import tutti.core.group.GroupMember;
import tutti.core.group.GroupParameters;
import tutti.core.group.MessageLog;
import tutti.core.group.Ordered;
import tutti.core.group.Packet;
import tutti.core.group.StableRecord;
import tutti.core.protocol.Message;
import tutti.core.spi.Order;
import tutti.sim.host.Host;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Label;
import tutti.sim.net.Address;
import tutti.sim.net.Datagram;
import tutti.sim.net.Network;
import tutti.sim.net.Segment;

/**
 * A total order made of real group communication ({@link GroupMember}, D5.1 section 2.3.3) on a simulated network of
 * packets: IP multicast in a local network, unicast between them. Its stable storage is memory, as that of the prototype in
 * D5.1 was, so a site that has crashed does not come back. Every packet costs processor time where it is sent and received.
 *
 * <p>
 * What is ordered is as many bytes as the encoded message, of which the first eight say which message it is.
 */
final class GroupChannel implements Channel {
    private static final Label TIMER = Label.of("group", "timer");
    private static final String GROUP = "group";
    private static final int PORT = 1;
    /** After how many deliveries members forget what all have been delivered. */
    private static final long FORGET_EVERY = 512;

    private final List<Host> hosts;
    private final Network network;
    private final Topology topology;
    private final long packetNanos;
    private final List<Member> members = new ArrayList<>();
    private final Map<String, Integer> nodes = new HashMap<>();
    /** What was ordered and has not been delivered everywhere, by number. */
    private final LongMap<Message> messages = new LongMap<>();
    private final LongMap<int[]> undelivered = new LongMap<>();
    private long number;
    private long wideBytes;

    GroupChannel(Kernel kernel, Topology topology, List<Host> hosts, ModelConfig.GroupTuning tuning,
            long packetNanos) {
        this.hosts = hosts;
        this.topology = topology;
        this.packetNanos = packetNanos;
        this.network = new Network(kernel);
        Segment backbone = network.segment("backbone", topology.local());
        List<Segment> segments = new ArrayList<>();
        for (Topology.Cluster cluster : topology.clusters()) {
            Segment segment = network.segment(cluster.name(), topology.local());
            network.link(segment, backbone, topology.wide());
            segments.add(segment);
        }
        List<Integer> all = List.copyOf(topology.all());
        for (int node : all) {
            network.attach(hosts.get(node), segments.get(topology.clusterOf(node)));
            network.join(hosts.get(node), GROUP);
            nodes.put(hosts.get(node).name(), node);
        }
        for (int node : all) {
            members.add(new Member(node, new GroupParameters(node, all, tuning.flow(), tuning.timing())));
        }
    }

    Network network() {
        return network;
    }

    @Override
    public void start(int node, Receiver receiver) {
        members.get(node).start(receiver);
    }

    @Override
    public void order(int from, Message message) {
        long named = ++number;
        messages.put(named, message);
        undelivered.put(named, new int[]{members.size()});
        byte[] payload = new byte[Math.max(Long.BYTES, message.encodedSize())];
        ByteBuffer.wrap(payload).putLong(named);
        members.get(from).submit(payload);
    }

    @Override
    public void multicast(int from, Message message, Set<Integer> to) {
        throw new UnsupportedOperationException(
                "real group communication carries only what it orders here: protocols that also send messages outside of"
                        + " the order need the modelled sequencer (order: sequencer)");
    }

    @Override
    public Traffic traffic() {
        Network.Counts counts = network.counts();
        return new Traffic(counts.wireBytes() - wideBytes, wideBytes, counts.sent(), counts.dropped());
    }

    /** A member's part. What it asks for while it is told an event is done when it has returned. */
    private final class Member implements GroupEffects {
        private final int node;
        private final Host host;
        private final Address own;
        private final GroupMember member;
        private final ArrayDeque<Runnable> asked = new ArrayDeque<>();
        private final ArrayDeque<byte[]> unsent = new ArrayDeque<>();
        private @Nullable Receiver receiver;
        private boolean telling;
        private long forgotten;

        Member(int node, GroupParameters parameters) {
            this.node = node;
            this.host = hosts.get(node);
            this.own = Address.of(host.name(), PORT);
            try {
                this.member = new GroupMember(parameters, new MessageLog(), 0, this);
            } catch (Order.TruncatedException impossible) {
                throw new IllegalStateException("an empty log is truncated", impossible);
            }
        }

        private Receiver receiver() {
            if (receiver == null) {
                throw new IllegalStateException("site " + node + " has not been started");
            }
            return receiver;
        }

        void start(Receiver to) {
            receiver = to;
            network.bind(host, PORT, this::arrived);
            member.start(host.now());
            carryOut();
        }

        private boolean isUp() {
            return host.state() == Host.State.UP;
        }

        private void arrived(Datagram datagram) {
            int from = nodes.getOrDefault(datagram.from().host(), node);
            if (from == node) {
                return;
            }
            Packet packet = (Packet) datagram.payload();
            work(() -> {
                member.received(host.now(), from, packet);
                carryOut();
            });
        }

        /** Does something after the processor time of a packet. */
        private void work(Runnable action) {
            if (packetNanos == 0) {
                action.run();
            } else {
                host.cpu().execute(packetNanos, true, action);
            }
        }

        void submit(byte[] payload) {
            unsent.add(payload);
            sendQueued();
            carryOut();
        }

        /** What does not fit into the member's queue waits here. */
        private void sendQueued() {
            while (!unsent.isEmpty() && isUp() && member.submit(host.now(), unsent.element())) {
                unsent.remove();
            }
        }

        private void carryOut() {
            if (telling) {
                return;
            }
            telling = true;
            for (Runnable next = asked.poll(); next != null && isUp(); next = asked.poll()) {
                next.run();
            }
            telling = false;
        }

        private void post(Address to, Packet packet) {
            work(() -> network.send(new Datagram(own, to, packet, packet.encodedSize())));
        }

        @Override
        public void send(int to, Packet packet) {
            countWide(to, packet);
            post(Address.of(hosts.get(to).name(), PORT), packet);
        }

        private void countWide(int to, Packet packet) {
            if (topology.clusterOf(to) != topology.clusterOf(node)) {
                wideBytes += 2L * packet.encodedSize();
            }
        }

        @Override
        public void multicast(Packet packet) {
            post(Address.group(GROUP, PORT), packet);
            for (int to = 0; to < members.size(); to++) {
                if (topology.clusterOf(to) != topology.clusterOf(node)) {
                    send(to, packet);
                }
            }
        }

        @Override
        public void timer(long id, long delayNanos) {
            host.after(delayNanos, TIMER, () -> {
                member.timer(host.now(), id);
                carryOut();
            });
        }

        @Override
        public void persist(long serial, StableRecord record) {
            asked.add(() -> member.persisted(host.now(), serial));
        }

        @Override
        public void deliver(Ordered message) {
            asked.add(() -> {
                long named = ByteBuffer.wrap(message.payload()).getLong();
                Message carried = messages.get(named);
                int[] left = undelivered.get(named);
                if (carried == null || left == null) {
                    throw new IllegalStateException("message " + named + " is delivered once more");
                }
                if (--left[0] == 0) {
                    messages.remove(named);
                    undelivered.remove(named);
                }
                receiver().delivered(message.position(), message.sender(), carried);
                sendQueued();
                if (message.position() % FORGET_EVERY == 0) {
                    forget();
                }
            });
        }

        /** What all have been delivered, everybody that lives may forget. */
        private void forget() {
            long all = members.stream().filter(Member::isUp).mapToLong(one -> one.member.lastDelivered()).min()
                    .orElse(0);
            if (all > forgotten) {
                forgotten = all;
                member.truncate(all);
            }
        }

        @Override
        public void view(Order.View view) {
            asked.add(() -> receiver().view(view.members()));
        }
    }
}
