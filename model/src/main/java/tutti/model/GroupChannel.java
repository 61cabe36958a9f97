package tutti.model;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.Message;
import tutti.core.spi.DurableLog;
import tutti.core.spi.Group;
import tutti.group.GroupEffects;
import tutti.group.GroupMember;
import tutti.group.GroupParameters;
import tutti.group.MessageLog;
import tutti.group.Ordered;
import tutti.group.Packet;
import tutti.group.StableRecord;
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
 * D5.1 was, so a site that has crashed does not come back. Every packet costs processor time where it is sent and received; or,
 * if real code is charged what it takes, {@link TimedCode} encodes, decodes and handles what has to do with the order.
 *
 * <p>
 * What is ordered is as many bytes as the encoded message, of which the first eight say which message it is. What is sent
 * outside of the order goes by {@link Streams}.
 *
 * <p>
 * Sites that take no part in the order know nothing of the group's views, nor the group of theirs. That one of them has
 * crashed, or that anybody has as far as they are concerned, is known when the group's failure timeout has passed.
 */
final class GroupChannel implements Channel {
    private static final Label TIMER = Label.of("group", "timer");
    private static final Label FOUND_OUT = Label.of("group", "crash is found out");
    private static final String GROUP = "group";
    private static final int PORT = 1;
    /** After how many deliveries members forget what all have been delivered. */
    private static final long FORGET_EVERY = 512;

    private final Kernel kernel;
    private final List<Host> hosts;
    private final Network network;
    private final Topology topology;
    private final GroupParameters.Timing timing;
    private final long packetNanos;
    /** Who takes part in the order, ascending. */
    private final List<Integer> members;
    private final boolean tentative;
    private final List<Place> places = new ArrayList<>();
    private final Map<String, Integer> nodes = new HashMap<>();
    /** Who has crashed, and has been found out. */
    private final Set<Integer> gone = new TreeSet<>();
    /** What was ordered and has not been delivered everywhere, by number. */
    private final LongMap<Message> messages = new LongMap<>();
    private final LongMap<int[]> undelivered = new LongMap<>();
    private long number;
    private long wideBytes;

    /**
     * An order that nobody has joined.
     *
     * @param order who takes part in it, others send and receive outside of it only; and the group's parameters
     * @param packetNanos processor time of sending or receiving a packet
     * @param measured how the group communication of a site is charged, if not by packets
     */
    GroupChannel(Kernel kernel, Topology topology, List<Host> hosts, ModelConfig.OrderChoice order, long packetNanos,
            @Nullable IntFunction<CodeCharge> measured) {
        ModelConfig.GroupTuning tuning = order.group();
        this.kernel = kernel;
        this.hosts = hosts;
        this.topology = topology;
        this.timing = tuning.timing();
        this.packetNanos = packetNanos;
        this.members = List.copyOf(new TreeSet<>(order.members(topology)));
        this.tentative = order.tentative();
        this.network = new Network(kernel);
        Segment backbone = network.segment("backbone", topology.local());
        List<Segment> segments = new ArrayList<>();
        for (Topology.Cluster cluster : topology.clusters()) {
            Segment segment = network.segment(cluster.name(), topology.local());
            network.link(segment, backbone, topology.wide());
            segments.add(segment);
        }
        for (int node : topology.all()) {
            network.attach(hosts.get(node), segments.get(topology.clusterOf(node)));
            nodes.put(hosts.get(node).name(), node);
            if (members.contains(node)) {
                network.join(hosts.get(node), GROUP);
            }
        }
        for (int node : topology.all()) {
            places.add(members.contains(node)
                    ? new Member(node, new GroupParameters(node, this.members, tuning.flow(), tuning.timing()),
                            measured == null ? null : measured.apply(node))
                    : new Place(node));
        }
    }

    @Override
    public Network network() {
        return network;
    }

    @Override
    public void start(int node, Receiver receiver) {
        places.get(node).start(receiver);
    }

    private Member member(int node) {
        if (places.get(node) instanceof Member member) {
            return member;
        }
        throw new IllegalStateException("site " + node + " takes no part in the order");
    }

    @Override
    public void order(int from, Message message) {
        Member sender = member(from);
        long named = ++number;
        messages.put(named, message);
        undelivered.put(named, new int[]{members.size()});
        byte[] payload = new byte[Math.max(Long.BYTES, message.encodedSize())];
        ByteBuffer.wrap(payload).putLong(named);
        sender.submit(payload);
    }

    @Override
    public void multicast(int from, Message message, Set<Integer> to) {
        new TreeSet<>(to).forEach(node -> places.get(from).write(node, message));
    }

    @Override
    public void crashed(int node) {
        kernel.schedule(timing.failureTimeoutNanos(), FOUND_OUT, () -> {
            gone.add(node);
            places.stream().filter(Place::isUp).forEach(place -> place.foundOut(node));
        });
    }

    @Override
    public Traffic traffic() {
        Network.Counts counts = network.counts();
        return new Traffic(counts.wireBytes() - wideBytes, wideBytes, counts.sent(), counts.dropped());
    }

    /** A site's part, as far as it has nothing to do with the order. */
    private class Place implements Streams.Site {
        final int node;
        final Host host;
        private final Streams streams;
        private @Nullable Receiver receiver;

        Place(int node) {
            this.node = node;
            this.host = hosts.get(node);
            this.streams = new Streams(host, this, timing.missingDelayNanos());
        }

        void start(Receiver to) {
            receiver = to;
            network.bind(host, Streams.PORT, datagram -> {
                int from = nodes.getOrDefault(datagram.from().host(), node);
                work(() -> streams.arrived(from, datagram));
            });
        }

        final Receiver receiver() {
            if (receiver == null) {
                throw new IllegalStateException("site " + node + " has not been started");
            }
            return receiver;
        }

        final boolean isUp() {
            return host.state() == Host.State.UP;
        }

        /** Does something after the processor time of a packet. */
        final void work(Runnable action) {
            if (packetNanos == 0) {
                action.run();
            } else {
                host.cpu().execute(packetNanos, true, action);
            }
        }

        final void write(int to, Message message) {
            if (to == node) {
                streams.sendHome(node, message);
            } else if (!gone.contains(to)) {
                streams.send(to, hosts.get(to).name(), message);
            }
        }

        @Override
        public void post(int to, Datagram datagram) {
            countWide(to, datagram.bytes());
            work(() -> network.send(datagram));
        }

        final void countWide(int to, int bytes) {
            if (topology.clusterOf(to) != topology.clusterOf(node)) {
                wideBytes += 2L * bytes;
            }
        }

        @Override
        public void received(int from, Message message) {
            receiver().received(from, message);
        }

        final void foundOut(int crashed) {
            streams.forget(crashed);
            tellView();
        }

        /** Tells who is there. */
        void tellView() {
            Set<Integer> left = new TreeSet<>(topology.all());
            left.removeAll(gone);
            receiver().view(left);
        }
    }

    /** A member's part. What it asks for while it is told an event is done when it has returned. */
    private final class Member extends Place implements GroupEffects {
        private final Address own;
        private final GroupMember member;
        private final ArrayDeque<Runnable> asked = new ArrayDeque<>();
        private final ArrayDeque<byte[]> unsent = new ArrayDeque<>();
        private Set<Integer> inView;
        private final @Nullable TimedCode timed;
        private boolean telling;
        private long forgotten;

        Member(int node, GroupParameters parameters, @Nullable CodeCharge measured) {
            super(node);
            this.timed = measured == null ? null : new TimedCode(host.cpu(), measured, this::carryOut);
            this.own = Address.of(host.name(), PORT);
            this.inView = Set.copyOf(parameters.members());
            try {
                this.member = new GroupMember(parameters, new MessageLog(), 0, this);
            } catch (DurableLog.TruncatedException impossible) {
                throw new IllegalStateException("an empty log is truncated", impossible);
            }
        }

        @Override
        void start(Receiver to) {
            super.start(to);
            network.bind(host, PORT, this::arrived);
            tell(() -> member.start(host.now()));
        }

        /** Real code is told something. */
        private void tell(Runnable event) {
            if (timed == null) {
                event.run();
                carryOut();
            } else {
                timed.tell(event);
            }
        }

        /** What real code asks for while it is told something, and needs no answer to. */
        private void effect(Runnable effect) {
            if (timed == null) {
                effect.run();
            } else {
                timed.effect(effect);
            }
        }

        private void arrived(Datagram datagram) {
            int from = nodes.getOrDefault(datagram.from().host(), node);
            if (from == node) {
                return;
            }
            Packet packet = (Packet) datagram.payload();
            if (timed == null) {
                work(() -> tell(() -> member.received(host.now(), from, packet)));
            } else {
                byte[] bytes = packet.bytes();
                tell(() -> member.received(host.now(), from, Packet.SET.decode(ByteBuffer.wrap(bytes))));
            }
        }

        void submit(byte[] payload) {
            unsent.add(payload);
            tell(this::sendQueued);
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

        private void carry(Address to, Packet packet) {
            Datagram datagram = new Datagram(own, to, packet, packet.encodedSize());
            if (timed == null) {
                work(() -> network.send(datagram));
            } else {
                packet.encode(ByteBuffer.allocate(datagram.bytes()));
                effect(() -> network.send(datagram));
            }
        }

        @Override
        public void send(int to, Packet packet) {
            countWide(to, packet.encodedSize());
            carry(Address.of(hosts.get(to).name(), PORT), packet);
        }

        @Override
        public void multicast(Packet packet) {
            carry(Address.group(GROUP, PORT), packet);
            for (int to : members) {
                if (topology.clusterOf(to) != topology.clusterOf(node)) {
                    send(to, packet);
                }
            }
        }

        @Override
        public void timer(long id, long delayNanos) {
            effect(() -> host.after(delayNanos, TIMER, () -> tell(() -> member.timer(host.now(), id))));
        }

        @Override
        public void persist(long serial, StableRecord record) {
            asked.add(() -> tell(() -> member.persisted(host.now(), serial)));
        }

        @Override
        public void optimistic(int sender, long incarnation, long named, byte[] payload) {
            if (tentative) {
                asked.add(() -> {
                    Message carried = messages.get(ByteBuffer.wrap(payload).getLong());
                    if (carried != null) {
                        receiver().tentative(sender, carried);
                    }
                });
            }
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
                if (!unsent.isEmpty()) {
                    tell(this::sendQueued);
                }
                if (message.position() % FORGET_EVERY == 0) {
                    forget();
                }
            });
        }

        /** What all have been delivered, everybody that lives may forget. */
        private void forget() {
            long all = members.stream().map(GroupChannel.this::member).filter(Place::isUp)
                    .mapToLong(one -> one.member.lastDelivered()).min().orElse(0);
            if (all > forgotten) {
                forgotten = all;
                member.truncate(all);
            }
        }

        @Override
        public void view(Group.View view) {
            asked.add(() -> {
                inView = view.members();
                tellView();
            });
        }

        /** The group says who of its members is there. */
        @Override
        void tellView() {
            Set<Integer> left = new TreeSet<>(topology.all());
            left.removeAll(gone);
            members.forEach(left::remove);
            left.addAll(inView);
            receiver().view(left);
        }
    }
}
