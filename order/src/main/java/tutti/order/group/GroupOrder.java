package tutti.order.group;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.schema.DecodeException;
import tutti.core.schema.Encoded;
import tutti.core.schema.Versions;
import tutti.core.spi.DurableLog;
import tutti.group.GroupEffects;
import tutti.group.GroupMember;
import tutti.group.MessageLog;
import tutti.group.Ordered;
import tutti.group.Packet;
import tutti.group.StableRecord;
import tutti.order.DeliveringOrder;
import tutti.order.DeliveryLoop;
import tutti.order.NodeLives;
import tutti.order.SpokenVersions;
import tutti.runtime.Directory;
import tutti.runtime.Machine;
import tutti.runtime.Network;

/**
 * A total order by group communication ({@link GroupMember}, GORDA D5.1 section 2.3.3) over UDP. The log is in the memory of the
 * nodes. A message that is delivered anywhere is in the memory of a majority; it is on no disk.
 *
 * <p>
 * <b>What it promises.</b> The same as every order while a majority of the nodes <em>remembers</em>: has not been stopped since it
 * joined. A node that ends forgets. When it is started again it gets the messages from the others, from the position on that
 * its state needs, and remembers again. If it needs messages that the others have let go, it is told so by
 * {@link DurableLog.Reader#failed} and a {@link DurableLog.TruncatedException}, for no node knows at its start what others have.
 *
 * <p>
 * <b>What it does not promise.</b> When so many nodes have forgotten at the same time that those who remember are no majority, the
 * order is lost for good: nothing is ordered any more, and nodes say so in their log and in their {@link View#lost}. Nothing
 * is ever ordered twice or contradicted ({@code Membership} has the argument). A disk holds only the number of
 * the node's life and whether it ever joined ({@link NodeLives}).
 *
 * <p>
 * <b>What it speaks.</b> Nodes announce themselves ({@link Announcement}). To one node is written in the newest version that both
 * speak, to all in the newest that all do ({@link SpokenVersions}). A node with which there is none in common is turned away: nothing
 * but announcements is sent to it or taken from it, as if it were not there, and the log says which one to upgrade.
 *
 * <p>
 * Everything happens on the loop of the network; reader and listener are called on a loop of their own.
 */
public final class GroupOrder extends DeliveringOrder {
    private static final Logger LOG = LoggerFactory.getLogger(GroupOrder.class);
    /** So many bytes that are ordered at once are delivered without waking another thread. */
    private static final long HERE_BYTES_MAX = 64 << 10;
    /** What a user is told who cannot write any more. */
    private static final String LOST = "so many nodes have forgotten the order that no majority remembers it; a group keeps it in"
            + " memory only (order.durability: none). If nodes that remember are stopped or cut off, bring them back into reach."
            + " Otherwise begin a new cluster, in empty directories, with a copy of the database of the node whose position is"
            + " highest";
    private static final long REFUSED_TOLD_NANOS = 60_000_000_000L;
    private static final long ANNOUNCED_AGAIN_NANOS = 500_000_000;
    /** What an encoded packet may have beside payloads: never more than they, or this. */
    private static final long PACKET_EXTRA_BYTES = 1 << 20;

    private final GroupOrderConfig config;
    private final Machine machine;
    private final NodeLives directory;
    private final Network network;
    private final Network.Datagrams socket;
    private final Envelopes envelopes;
    private final long life;
    private final SpokenVersions spoken;
    private final ReliableUnicast unicast;
    private final AtomicBoolean started = new AtomicBoolean();
    private final AtomicLong queuedBytes = new AtomicLong();
    private final ConcurrentLinkedQueue<byte[]> toSubmit = new ConcurrentLinkedQueue<>();
    private final AtomicBoolean submitting = new AtomicBoolean();
    private final ConcurrentLinkedQueue<Ordered> ordered = new ConcurrentLinkedQueue<>();
    private final AtomicLong refused = new AtomicLong();
    private final AtomicLong untrue = new AtomicLong();
    private volatile long lastKnown;
    private volatile long firstRetained = 1;
    private volatile long logBytes;
    private volatile boolean closed;
    /* Of the network's loop. */
    private @Nullable GroupMember member;
    /** In which life each of the others has announced itself. */
    private final Map<Integer, Long> lives = new TreeMap<>();
    private long asked;
    private long persisted;
    private long orderedBytes;
    private boolean delivered;
    private boolean refusedTold;
    private boolean claimTold;
    private View reached = View.NONE;
    private boolean lost;

    private GroupOrder(GroupOrderConfig config, Machine machine, Directory files) throws IOException {
        super(config.self(), config.flow().payloadBytesMax());
        this.config = config;
        this.machine = machine;
        String group = words(config);
        directory = new NodeLives(files, "group", "node " + config.self() + " of " + group, machine.clock());
        life = directory.formerLife() + 1;
        spoken = new SpokenVersions(Versions.SPOKEN, config.members().keySet().stream()
                .filter(node -> node != config.self()).collect(Collectors.toSet()));
        envelopes = new Envelopes(Frame.tag(group), config.self(), life, config.datagramKeys());
        Network opened = machine.network("order-" + config.self(), this::fail);
        try {
            socket = opened.datagrams(config.members().get(config.self()), this::received);
        } catch (IOException | RuntimeException failed) {
            opened.close();
            directory.close();
            throw failed;
        }
        network = opened;
        unicast = new ReliableUnicast(config.self(), life, network.loop(),
                2L * config.flow().payloadBytesMax() + PACKET_EXTRA_BYTES, new LetterPost());
    }

    /**
     * Opens this node's port. Nothing is sent or delivered before {@link #start}.
     *
     * @param directory of this node alone
     * @throws IOException if the directory is in use or belongs to another node, group or kind of order, if the port is taken, or
     *             if the disk fails
     */
    public static GroupOrder open(GroupOrderConfig config, Machine machine, Directory directory) throws IOException {
        return new GroupOrder(config, machine, directory);
    }

    /** What names the group. */
    static String words(GroupOrderConfig config) {
        return "cluster " + config.cluster() + " of nodes " + config.members().entrySet().stream()
                .map(e -> e.getKey() + "=" + e.getValue().getHostString() + ":" + e.getValue().getPort())
                .collect(Collectors.joining(","));
    }

    // ------------------------------------------------------------------------------------------ Order

    @Override
    public void start(long after, Reader reader) {
        if (closed || !started.compareAndSet(false, true)) {
            throw new IllegalStateException("an order is started once");
        }
        deliver(machine, after, this::deliverSome, reader, _ -> closed = true);
        network.loop().execute(() -> begin(after));
    }

    private void begin(long after) {
        boolean isNew = after == 0 && !directory.hasPromised();
        LOG.info("node {}, life {}: {}", config.self(), life, isNew
                ? "it is new to its group"
                : "it has forgotten its group's messages and gets them from the others, behind position " + after);
        MessageLog log = isNew ? MessageLog.empty(life - 1) : MessageLog.forgotten(life - 1);
        try {
            GroupMember made = new GroupMember(config.parameters(), log, after, new Effects());
            member = made;
            made.start(now());
            settle(made);
            announce();
        } catch (TruncatedException impossible) {
            throw new IllegalStateException("an empty log is truncated", impossible);
        }
    }

    /** Tells all who have not announced themselves what this node speaks, until they have. */
    private void announce() {
        Set<Integer> unheard = spoken.unheard();
        unheard.forEach(to -> send(to, envelopes.seal(to, new Announcement(life, spoken, true))));
        if (!unheard.isEmpty()) {
            network.loop().schedule(ANNOUNCED_AGAIN_NANOS, this::announce);
        }
    }

    private void announced(int from, Announcement announcement) {
        if (announcement.asks()) {
            send(from, envelopes.seal(from, new Announcement(life, spoken, false)));
        }
        Long before = lives.get(from);
        if (before == null || before < announcement.life()) {
            lives.put(from, announcement.life());
            spoken.heard(from, announcement.speaks(), announcement.capabilities());
            String foreign = SpokenVersions.foreign(from, announcement.speaks(), Versions.SPOKEN);
            if (!foreign.isEmpty()) {
                LOG.error("node {} turns node {} away: {}", config.self(), from, foreign);
            }
        }
    }

    @Override
    public int wireVersion() {
        return spoken.common();
    }

    @Override
    public boolean allCan(String capability) {
        return spoken.allCan(capability);
    }

    @Override
    public void can(Set<String> capabilities) {
        spoken.can(capabilities);
    }

    @Override
    public Set<Integer> unable(String capability) {
        return spoken.unable(capability);
    }

    private long now() {
        return machine.clock().nanoTime();
    }

    @Override
    public void append(byte[] payload) throws OverflowException {
        checkLength(payload);
        if (closed) {
            throw new IllegalStateException("the order at node " + config.self() + " has stopped");
        }
        long now = queuedBytes.addAndGet(payload.length);
        if (now > config.queueBytes()) {
            queuedBytes.addAndGet(-payload.length);
            throw new OverflowException(now - payload.length, config.queueBytes());
        }
        toSubmit.add(payload);
        if (submitting.compareAndSet(false, true)) {
            network.loop().execute(this::submit);
        }
    }

    private void submit() {
        submitting.set(false);
        List<byte[]> all = new ArrayList<>();
        for (byte[] next = toSubmit.poll(); next != null; next = toSubmit.poll()) {
            all.add(next);
        }
        GroupMember to = member;
        if (to == null) {
            throw new IllegalStateException("a message was appended before the order was started");
        }
        if (!all.isEmpty()) {
            to.submit(now(), all);
            settle(to);
        }
    }

    @Override
    public void multicast(byte[] payload, Set<Integer> nodes) {
        checkLength(payload);
        Set<Integer> to = new TreeSet<>(nodes);
        network.loop().execute(() -> to.forEach(node -> unicast.send(node, payload)));
    }

    @Override
    public void truncate(long position) {
        network.loop().execute(() -> {
            GroupMember of = member;
            if (of != null) {
                of.truncate(position);
                settle(of);
            }
        });
    }

    @Override
    public Status status() {
        return new Status(lastDelivered(), lastKnown, firstRetained, queuedBytes.get(), logBytes);
    }

    @Override
    public long refused() {
        return refused.get();
    }

    /** How many packets were left out that came from members and that no correct one sends; they are among {@link #refused}. Any thread. */
    public long untrue() {
        return untrue.get();
    }

    @Override
    public void close() {
        closed = true;
        withDeliveries(DeliveryLoop::close);
        network.close();
        try {
            directory.close();
        } catch (IOException unclosed) {
            LOG.warn("node {}: its order's directory was not unlocked: {}", config.self(), unclosed.getMessage());
        }
    }

    private void fail(Throwable cause) {
        closed = true;
        LOG.error("the order at node {} cannot go on", config.self(), cause);
        withDeliveries(to -> to.fail(cause));
    }

    // ------------------------------------------------------------------------------------------ delivery

    private boolean deliverSome(DeliveryLoop to) {
        // The message is looked at before the view: none is delivered before a view is told that allowed it to be ordered.
        Ordered next = ordered.peek();
        while (next != null && to.mayDeliver()) {
            ordered.remove();
            to.deliver(next.position(), next.sender(), readOnly(next.payload()));
            next = ordered.peek();
        }
        return next != null;
    }

    // ------------------------------------------------------------------------------------------ on the network's loop

    private void received(InetSocketAddress address, ByteBuffer datagram) {
        Envelopes.Received read = closed ? null : envelopes.open(datagram);
        GroupMember to = member;
        if (to == null || closed) {
            return;
        }
        if (read == null || read.from() == config.self() || !config.members().containsKey(read.from())
                || !take(to, read.from(), read.message())) {
            refuse(address);
        }
    }

    private boolean take(GroupMember to, int from, Encoded message) {
        if (message instanceof Announcement announcement) {
            announced(from, announcement);
            return true;
        }
        if (spoken.with(from) == 0) {
            return false;
        }
        switch ((Frame) message) {
            case Frame.PacketFrame(Packet packet) -> {
                return take(to, from, packet);
            }
            case Frame.Letter letter -> {
                return unicast.received(from, letter);
            }
            case Frame.Receipt receipt -> unicast.received(from, receipt);
            case Frame.Greeting greeting -> unicast.received(from, greeting);
        }
        return true;
    }

    private boolean take(GroupMember to, int from, Packet packet) {
        boolean possible = to.received(now(), from, packet);
        if (!possible) {
            untrue.incrementAndGet();
            tellClaimed(to.claimedLife());
        }
        settle(to);
        return possible;
    }

    private void refuse(InetSocketAddress from) {
        refused.incrementAndGet();
        if (!refusedTold) {
            refusedTold = true;
            LOG.warn(
                    "node {}: a datagram from {} is dropped, and {} have been in all: damaged, doubled, of a release that speaks"
                            + " otherwise, untrue, or not of this group; see that all nodes have the same cluster and members, and that"
                            + " nobody else sends to this port",
                    config.self(),
                    from, refused);
            network.loop().schedule(REFUSED_TOLD_NANOS, () -> refusedTold = false);
        }
    }

    /** Once: what names a later life of this node is untrue, or comes from those who leave this node out for good. */
    private void tellClaimed(long claimed) {
        if (claimed > life && !claimTold) {
            claimTold = true;
            LOG.error(
                    "node {} is in its life {}, but another one names its life {}: if it was started twice, stop the other process; if its directory was"
                            + " lost while its clock went back, set the clock and start it again, since the others leave out what it says; else that message"
                            + " was untrue, and has changed nothing here",
                    config.self(), life, claimed);
        }
    }

    /** After each event: what the member asked to be recorded is so, and what was delivered is handed on. */
    private void settle(GroupMember of) {
        while (persisted < asked) {
            persisted = asked;
            of.persisted(now(), asked);
        }
        lastKnown = of.lastKnown();
        firstRetained = of.firstRetained();
        logBytes = of.logBytes();
        if (delivered) {
            boolean here = orderedBytes <= HERE_BYTES_MAX;
            delivered = false;
            orderedBytes = 0;
            withDeliveries(to -> to.more(here));
        }
    }

    private final class LetterPost implements ReliableUnicast.Post {
        @Override
        public void send(int to, Frame frame) {
            int version = spoken.with(to);
            if (version > 0) {
                GroupOrder.this.send(to, envelopes.seal(to, frame, version));
            }
        }

        @Override
        public void message(int from, ByteBuffer payload) {
            withDeliveries(to -> to.received(from, payload, payload.remaining() <= HERE_BYTES_MAX));
        }

        @Override
        public void packet(int from, ByteBuffer bytes) {
            Packet packet;
            try {
                packet = Packet.SET.decode(bytes);
            } catch (DecodeException malformed) {
                refuse(config.members().get(from));
                return;
            }
            GroupMember to = member;
            if (to != null && !take(to, from, packet)) {
                refuse(config.members().get(from));
            }
        }
    }

    private void send(int to, ByteBuffer frame) {
        InetSocketAddress address = config.members().get(to);
        if (address == null) {
            throw new IllegalArgumentException("node " + to + " is no member of " + config.members().keySet());
        }
        socket.send(address, frame);
    }

    private final class Effects implements GroupEffects {
        @Override
        public void send(int to, Packet packet) {
            Frame frame = new Frame.PacketFrame(packet);
            int version = spoken.with(to);
            if (version == 0) {
                return;
            }
            if (frame.encodedSize(version) <= Frame.BYTES_MAX) {
                GroupOrder.this.send(to, envelopes.seal(to, frame, version));
            } else {
                unicast.sendPacket(to, ByteBuffer.wrap(packet.bytes(version)));
            }
        }

        @Override
        public void multicast(Packet packet) {
            Frame frame = new Frame.PacketFrame(packet);
            int version = spoken.common();
            boolean fits = frame.encodedSize(version) <= Frame.BYTES_MAX;
            ByteBuffer bytes = fits
                    ? envelopes.seal(Envelopes.ALL, frame, version)
                    : ByteBuffer.wrap(packet.bytes(version));
            for (int to : config.members().keySet()) {
                if (to == config.self() || spoken.with(to) == 0) {
                    continue;
                }
                if (fits) {
                    GroupOrder.this.send(to, bytes.duplicate());
                } else {
                    unicast.sendPacket(to, bytes.duplicate());
                }
            }
        }

        @Override
        public void timer(long id, long delayNanos) {
            network.loop().schedule(delayNanos, () -> {
                GroupMember of = member;
                if (of != null) {
                    of.timer(now(), id);
                    settle(of);
                }
            });
        }

        @Override
        public void persist(long serial, StableRecord record) {
            if (record instanceof StableRecord.Promised) {
                try {
                    directory.promise();
                } catch (IOException failed) {
                    throw new UncheckedIOException("cannot note that node " + config.self() + " has joined: "
                            + failed.getMessage() + "; make room on its disk, or let the node write there", failed);
                }
            }
            asked = serial;
        }

        @Override
        public void deliver(Ordered message) {
            if (message.sender() == config.self() && message.incarnation() == life) {
                queuedBytes.addAndGet(-message.payload().length);
            }
            ordered.add(message);
            delivered = true;
            orderedBytes += message.payload().length;
        }

        @Override
        public void optimistic(int sender, long incarnation, long number, byte[] payload) {
            withDeliveries(to -> to.tentative(sender, readOnly(payload)));
        }

        @Override
        public void view(View now) {
            unicast.absent(config.members().keySet().stream().filter(node -> !now.members().contains(node))
                    .collect(Collectors.toSet()));
            reached = now;
            tellView();
        }

        @Override
        public void blocked(Blocked why) {
            lost(why == Blocked.FORGOTTEN);
            if (lost) {
                LOG.error("node {}: {}", config.self(), LOST);
            } else {
                LOG.debug("node {}: nothing is ordered: {}", config.self(), why);
            }
        }

        @Override
        public void unblocked() {
            lost(false);
        }

        private void lost(boolean now) {
            if (lost != now) {
                lost = now;
                tellView();
            }
        }

        private void tellView() {
            viewed(new View(reached.members(), reached.majority(), reached.leader(),
                    lost && !reached.majority() ? LOST : null));
        }

        @Override
        public void stateNeeded(long retained) {
            closed = true;
            withDeliveries(to -> to.fail(new TruncatedException(to.lastDelivered(), retained)));
        }
    }
}
