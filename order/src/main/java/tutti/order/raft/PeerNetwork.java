package tutti.order.raft;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.schema.Versions;
import tutti.order.CopiedOrder;
import tutti.order.SpokenVersions;
import tutti.runtime.Clock;
import tutti.runtime.Frames;
import tutti.runtime.Loop;
import tutti.runtime.Network;
import tutti.runtime.PeerIdentity;

/**
 * Carries frames between the nodes of one cluster: in order, each at most once, dropped when the other cannot be reached.
 * Every node keeps one connection to every other for what it sends. A connection begins with a {@link Greeting}; a wrong or a
 * second one is turned away with the reason. {@link Frames} follow.
 *
 * <p>
 * <b>Who is there.</b> On a network with identities, a connection belongs to the member that its other end has proven to be:
 * a greeting in another one's name is turned away, and so is, before its greeting is read, whoever is no member of this cluster. On
 * a network without, a greeting is believed.
 *
 * <p>
 * <b>Bounds.</b> Before it has been welcomed, a connection costs the bytes of one greeting, and at most
 * {@link #STRANGERS_MAX} of them are kept, each for the time after which a silent node is given up. What waits to be sent to
 * a node is at most {@link #UNSENT_BYTES_MAX} and one frame; the rest is dropped. Who sends what no node would send is
 * dropped and {@linkplain #refusedConnections counted}.
 *
 * <p>
 * Everything belongs to the network's loop, but for {@link #refusedConnections}.
 */
final class PeerNetwork {
    private static final Logger LOGGER = LoggerFactory.getLogger(PeerNetwork.class);
    private static final int STRANGERS_MAX = 64;
    private static final long UNSENT_BYTES_MAX = 64 << 20;
    private static final long RETRY_NANOS_MIN = TimeUnit.MILLISECONDS.toNanos(10);
    private static final long RETRY_NANOS_MAX = TimeUnit.MILLISECONDS.toNanos(250);
    private static final long RETRY_REFUSED_NANOS = TimeUnit.SECONDS.toNanos(1);
    /** Of those who prove nothing, and of peers that are not trusted, the log tells no more often. */
    private static final long TOLD_NANOS = TimeUnit.MINUTES.toNanos(1);

    private final int self;
    /** Id of the cluster, or nothing. */
    private final String cluster;
    private final long failureNanos;
    private final Clock clock;
    private final Network network;
    private final Loop loop;
    private final PeerReceiver receiver;
    private final Map<Integer, Peer> peers = new TreeMap<>();
    /** Those that have neither answered yet nor proven to be away. */
    private final Set<Integer> unasked = new TreeSet<>();
    private final Map<Integer, Inbound> inbound = new TreeMap<>();
    /** Connections that have not been welcomed, the oldest first. */
    private final List<Inbound> strangers = new ArrayList<>();
    private final AtomicLong refusedConnections = new AtomicLong();
    private final SpokenVersions spoken;
    private Network.@Nullable Acceptor visitors;
    private boolean started;
    private boolean everAccepted;
    private @Nullable Long strangerToldNanos;
    private long checkedNanos;
    /** Since when this node is turned away, if it is. */
    private @Nullable Long rejectedSinceNanos;

    /**
     * Listens at this node's own address. Whoever connects waits until {@link #start}.
     *
     * @param others where the other members are
     * @param cluster id of the cluster, or nothing
     * @throws IOException if the port is taken, if the address is not of this machine, or if what the network proves is not this
     *             node
     */
    PeerNetwork(RaftOrderConfig config, Map<Integer, InetSocketAddress> others, Clock clock, Network network,
            String cluster, PeerReceiver receiver) throws IOException {
        self = config.self();
        this.cluster = cluster;
        failureNanos = config.failureTimeout().toNanos();
        this.clock = clock;
        this.network = network;
        this.receiver = receiver;
        loop = network.loop();
        others.forEach((id, address) -> peers.put(id, new Peer(id, address)));
        unasked.addAll(peers.keySet());
        spoken = new SpokenVersions(Versions.SPOKEN, peers.keySet());
        PeerIdentity proven = network.identity();
        if (proven != null && !proven.equals(new PeerIdentity(cluster, self))) {
            throw new IOException("this node is configured as node " + self + " of cluster " + cluster
                    + ", but its certificate is that of " + proven + ": give each node its own");
        }
        if (peers.isEmpty()) {
            // Nobody has a reason to connect.
            return;
        }
        try {
            // It is closed with the network.
            var _ = network.listen(config.members().get(self), new Acceptor());
        } catch (IOException taken) {
            throw new IOException("node " + self + " " + taken.getMessage(), taken);
        }
    }

    /** Begins to listen to others and to connect. */
    void start() {
        started = true;
        checkedNanos = clock.nanoTime();
        for (Inbound early : strangers) {
            early.heardNanos = checkedNanos;
            early.stream.read(true);
        }
        peers.values().forEach(Peer::connect);
        var _ = loop.schedule(aliveNanos(), this::checkAlive);
    }

    /** These are the others from now on, and there they are. Who is none of them any more is told so when it connects again. */
    void others(Map<Integer, InetSocketAddress> now) {
        for (int gone : List.copyOf(peers.keySet())) {
            if (!now.containsKey(gone)) {
                peers.remove(gone).leave();
                drop(gone);
                asked(gone);
            }
        }
        now.forEach((id, address) -> {
            Peer known = peers.get(id);
            if (known == null) {
                Peer added = new Peer(id, address);
                peers.put(id, added);
                added.connect();
            } else {
                known.moved(address);
            }
        });
        spoken.others(peers.keySet());
    }

    private void asked(int node) {
        if (unasked.remove(node) && unasked.isEmpty()) {
            receiver.asked();
        }
    }

    /** Sends a message to a node, if it can be reached, understands it, and is not too far behind in reading. */
    void send(int to, PeerMessage message) {
        send(Set.of(to), message);
    }

    /** The same to several nodes. */
    void send(Set<Integer> to, PeerMessage message) {
        Map<Integer, ByteBuffer> frames = new TreeMap<>();
        for (int node : to) {
            Peer peer = peers.get(node);
            Outbound connection = peer == null ? null : peer.connection;
            if (connection != null && connection.understands(message)) {
                connection
                        .send(frames.computeIfAbsent(spoken.with(node), version -> Frames.of(message.bytes(version))));
            }
        }
    }

    /** In which version to write what all nodes read. Any thread. */
    int wireVersion() {
        return spoken.common();
    }

    /** Who listens to those who come for something else than the order ({@link CopiedOrder}). */
    void visitors(Network.Acceptor acceptor) {
        visitors = acceptor;
    }

    /** Ends what comes from a node; it may greet again. */
    void drop(int node) {
        Inbound present = inbound.get(node);
        if (present != null) {
            present.lost();
        }
    }

    /** Nodes to which there is a connection in both directions, without this one. */
    Set<Integer> reachable() {
        Set<Integer> ids = new TreeSet<>();
        for (Peer peer : peers.values()) {
            if (peer.isConnected() && inbound.containsKey(peer.id)) {
                ids.add(peer.id);
            }
        }
        return ids;
    }

    /** Connections that were turned away, or dropped for what came on them. Any thread. */
    long refusedConnections() {
        return refusedConnections.get();
    }

    private long aliveNanos() {
        return Math.max(TimeUnit.MILLISECONDS.toNanos(20), failureNanos / 4);
    }

    /** A connection on which nothing comes for so long is given up. */
    private long silenceNanos() {
        return Math.max(TimeUnit.SECONDS.toNanos(1), failureNanos * 2);
    }

    /** Tells the others that this node lives, and gives up connections on which nothing has come for long. */
    private void checkAlive() {
        long now = clock.nanoTime();
        // If this loop was held up, what has come meanwhile has not been read yet.
        boolean late = now - checkedNanos > 2 * aliveNanos();
        checkedNanos = now;
        peers.values().forEach(peer -> peer.check(now));
        List<Inbound> all = new ArrayList<>(inbound.values());
        all.addAll(strangers);
        for (Inbound connection : all) {
            if (late) {
                connection.heardNanos = now;
            } else if (now - connection.heardNanos > silenceNanos()) {
                connection.silent();
            }
        }
        var _ = loop.schedule(aliveNanos(), this::checkAlive);
    }

    // ------------------------------------------------------------------------------------------ sending

    /** The sending half: connects, and connects again, for as long as the node runs. */
    private final class Peer {
        final int id;
        private InetSocketAddress address;
        private boolean gone;
        private @Nullable Outbound connection;
        private @Nullable Long distrustToldNanos;
        private long retryNanos = RETRY_NANOS_MIN;

        Peer(int id, InetSocketAddress address) {
            this.id = id;
            this.address = address;
        }

        void connect() {
            if (gone) {
                return;
            }
            Outbound next = new Outbound(this);
            connection = next;
            // The name is looked up anew each time.
            next.stream = network.connect(
                    InetSocketAddress.createUnresolved(address.getHostString(), address.getPort()),
                    Math.max(TimeUnit.SECONDS.toNanos(1), failureNanos), next);
        }

        void connectLater(long nanos) {
            connection = null;
            retryNanos = Math.min(2 * retryNanos, RETRY_NANOS_MAX);
            var _ = loop.schedule(nanos, this::connect);
        }

        void moved(InetSocketAddress to) {
            boolean elsewhere = !to.equals(address);
            address = to;
            if (elsewhere && connection != null) {
                connection.lost("the node has moved to " + to);
            }
        }

        void leave() {
            gone = true;
            if (connection != null) {
                connection.lost("the node is no member any more");
            }
        }

        boolean isConnected() {
            Outbound present = connection;
            return present != null && present.welcome;
        }

        void check(long now) {
            Outbound present = connection;
            if (present != null) {
                present.check(now);
            }
        }

        /** Nothing comes from there any more, so what is sent there will not arrive either. */
        void silent() {
            Outbound present = connection;
            if (present != null && present.welcome) {
                present.lost("the node is silent");
            }
        }
    }

    /** One connection to another node. */
    private final class Outbound implements Network.StreamListener {
        private final Peer peer;
        private final Greeting.AnswerReader answer = new Greeting.AnswerReader();
        private Network.@Nullable Stream stream;
        /** When the hello was sent, if it was. */
        private @Nullable Long greetedNanos;
        private boolean welcome;
        /** What the other is able to do, once it is welcome. */
        private Set<String> capabilities = Set.of();
        private boolean over;
        /** Something was sent since the last sign of life was due. */
        private boolean sent;

        Outbound(Peer peer) {
            this.peer = peer;
        }

        @Override
        public void connected() {
            PeerIdentity there = stream().peer();
            if (network.identity() != null && !new PeerIdentity(cluster, peer.id).equals(there)) {
                refusedConnections.incrementAndGet();
                distrusted("it is " + there);
                end(RETRY_REFUSED_NANOS, "it is " + there);
                return;
            }
            greetedNanos = clock.nanoTime();
            stream().send(receiver.hello().framed());
        }

        @Override
        public void distrusted(String why) {
            long now = clock.nanoTime();
            if (peer.distrustToldNanos == null || now - peer.distrustToldNanos > TOLD_NANOS) {
                peer.distrustToldNanos = now;
                LOGGER.warn(
                        "node {} and what is at {}, which should be node {}, do not accept each other's proof of who"
                                + " they are: {}. Look at the certificates of both, and at the authorities that each trusts",
                        self, peer.address, peer.id, why);
            }
        }

        private Network.Stream stream() {
            Network.Stream present = stream;
            if (present == null) {
                throw new IllegalStateException("there is no connection to node " + peer.id + " yet");
            }
            return present;
        }

        boolean understands(PeerMessage message) {
            return welcome && (!(message instanceof PeerMessage.Letter)
                    || capabilities.contains(Greeting.Capability.LETTERS));
        }

        void send(ByteBuffer frame) {
            // A single frame is always taken, however long.
            if (stream().unsentBytes() > UNSENT_BYTES_MAX) {
                LOGGER.debug("node {} does not keep up, a message to it is dropped", peer.id);
            } else {
                stream().send(frame.duplicate());
                sent = true;
            }
        }

        void check(long now) {
            if (welcome) {
                if (!sent && stream().unsentBytes() == 0) {
                    stream().send(Frames.alive());
                }
                sent = false;
            } else if (greetedNanos != null && now - greetedNanos > silenceNanos()) {
                lost("it does not answer a greeting");
            }
        }

        @Override
        public void received(ByteBuffer bytes) {
            try {
                if (welcome) {
                    throw new IOException("bytes where none were expected");
                }
                Greeting.Answer come = answer.read(bytes);
                if (come == null) {
                    return;
                }
                capabilities = come.capabilities();
                String refusal = come.refusal().isEmpty()
                        ? SpokenVersions.foreign(peer.id, come.speaks(), Versions.SPOKEN)
                        : come.refusal();
                if (refusal.isEmpty()) {
                    welcome = true;
                    spoken.heard(peer.id, come.speaks());
                    everAccepted = true;
                    peer.retryNanos = RETRY_NANOS_MIN;
                    receiver.reachabilityChanged();
                } else {
                    refused(refusal, come.lasting(), come.capabilities().contains(Greeting.Capability.LOST));
                    if (come.capabilities().contains(Greeting.Capability.REMOVED)) {
                        receiver.wasRemoved(refusal);
                    }
                }
                asked(peer.id);
            } catch (IOException wrong) {
                refusedConnections.incrementAndGet();
                lost("it sent " + wrong.getMessage());
            }
        }

        private void refused(String refusal, boolean outdated, boolean lost) {
            LOGGER.error("node {} is turned away by node {} at {}: {}", self, peer.id, peer.address, refusal);
            long now = clock.nanoTime();
            Long since = rejectedSinceNanos;
            if (outdated) {
                receiver.rejected(refusal, true, false);
            } else if (since == null) {
                rejectedSinceNanos = now;
            } else if (!everAccepted && now - since > 4 * silenceNanos()) {
                // The other may have taken this node's former life for alive, but for no longer than its silence, and as long again
                // if it stood still meanwhile.
                receiver.rejected(refusal, false, lost);
            }
            end(RETRY_REFUSED_NANOS, refusal);
        }

        @Override
        public void closed(String why) {
            lost(why);
        }

        void lost(String why) {
            end(peer.retryNanos, why);
        }

        private void end(long retryNanos, String why) {
            if (over) {
                return;
            }
            over = true;
            LOGGER.debug("node {} to node {}: {}", self, peer.id, why);
            Network.Stream present = stream;
            if (present != null) {
                present.close();
            }
            peer.connectLater(retryNanos);
            asked(peer.id);
            if (welcome) {
                receiver.reachabilityChanged();
            }
        }
    }

    // ------------------------------------------------------------------------------------------ receiving

    private final class Acceptor implements Network.Acceptor {
        @Override
        public Network.StreamListener accepted(Network.Stream stream) {
            return PeerNetwork.this.accepted(stream);
        }

        @Override
        public void refused(String remote, String why) {
            refusedConnections.incrementAndGet();
            long now = clock.nanoTime();
            if (strangerToldNanos == null || now - strangerToldNanos > TOLD_NANOS) {
                strangerToldNanos = now;
                LOGGER.warn("node {} has dropped {} connections so far, the last one of {}: {}", self,
                        refusedConnections, remote, why);
            }
        }
    }

    private Network.StreamListener accepted(Network.Stream stream) {
        PeerIdentity peer = stream.peer();
        if (network.identity() != null
                && (peer == null || !peer.cluster().equals(cluster)
                        || !(peers.containsKey(peer.node()) || receiver.removed().contains(peer.node())))) {
            refusedConnections.incrementAndGet();
            LOGGER.error("node {} turns {} away, which is {}: only other members of its own cluster may connect", self,
                    stream.remote(), peer);
            Inbound turnedAway = new Inbound(stream);
            turnedAway.lost();
            return turnedAway;
        }
        if (strangers.size() >= STRANGERS_MAX) {
            Inbound oldest = strangers.getFirst();
            refusedConnections.incrementAndGet();
            LOGGER.debug("node {} drops the connection of {}, which has not said who it is, for a newer one", self,
                    oldest.stream.remote());
            oldest.lost();
        }
        Inbound connection = new Inbound(stream);
        strangers.add(connection);
        if (!started) {
            stream.read(false);
        }
        return new Arrival(stream, connection, () -> {
            strangers.remove(connection);
            return visitors;
        });
    }

    /** Whether a node that connects is welcome. */
    private Greeting.Answer admit(Greeting.Hello hello, @Nullable PeerIdentity proven) throws IOException {
        if (receiver.removed().contains(hello.node()) && !peers.containsKey(hello.node())
                && (proven == null || proven.node() == hello.node())) {
            return Greeting.Answer.removed(hello.node());
        }
        // Whoever is new has another list before it has a copy, and is told to get one.
        String foreign = hello.foreign(self, peers.keySet(),
                receiver.isNew(hello.node()) ? hello.cluster() : receiver.hello().cluster(), proven);
        if (!foreign.isEmpty()) {
            return new Greeting.Answer(foreign, false);
        }
        Inbound present = inbound.get(hello.node());
        return receiver.admit(hello, present == null || present.process == hello.process()
                ? ""
                : "another process runs as node " + hello.node() + " and is connected from " + present.stream.remote()
                        + ": give each node an id of its own");
    }

    /** The receiving half: what another node sends. */
    private final class Inbound implements Network.StreamListener {
        /** From top to bottom; {@code REFUSED} waits until the other end has read why. */
        private enum State {
            GREETING,
            REFUSED,
            WELCOME,
            OVER
        }

        private final Network.Stream stream;
        private final Greeting.HelloReader hello = new Greeting.HelloReader();
        private final Frames.Reader frames = new Frames.Reader(this::take);
        private State state = State.GREETING;
        private int from;
        private long process;
        private long heardNanos = clock.nanoTime();

        Inbound(Network.Stream stream) {
            this.stream = stream;
        }

        @Override
        public void received(ByteBuffer bytes) {
            try {
                switch (state) {
                    case GREETING -> {
                        Greeting.Hello come = hello.read(bytes);
                        if (come != null) {
                            introduced(come);
                        }
                    }
                    case WELCOME -> {
                        heardNanos = clock.nanoTime();
                        frames.read(bytes);
                    }
                    case REFUSED, OVER -> {
                        // Whatever comes, nobody reads it.
                    }
                }
            } catch (IOException wrong) {
                refusedConnections.incrementAndGet();
                LOGGER.warn("node {} drops the connection of {}{}: {}", self, stream.remote(),
                        state == State.WELCOME ? ", which is node " + from : "", wrong.getMessage());
                lost();
            }
        }

        private void take(ByteBuffer frame) throws IOException {
            if (state == State.WELCOME) {
                receiver.received(from, frame);
            }
        }

        private void introduced(Greeting.Hello come) throws IOException {
            Greeting.Answer answer = admit(come, stream.peer());
            stream.send(answer.framed());
            if (!answer.refusal().isEmpty()) {
                refusedConnections.incrementAndGet();
                LOGGER.error("node {} turns {} away: {}", self, stream.remote(), answer.refusal());
                state = State.REFUSED;
                return;
            }
            from = come.node();
            process = come.process();
            spoken.heard(from, come.speaks());
            state = State.WELCOME;
            heardNanos = clock.nanoTime();
            strangers.remove(this);
            Inbound replaced = inbound.put(from, this);
            if (replaced != null) {
                replaced.lost();
            }
            receiver.reachabilityChanged();
        }

        @Override
        public void closed(String why) {
            LOGGER.debug("connection of {} to node {}: {}", stream.remote(), self, why);
            lost();
        }

        void silent() {
            LOGGER.debug("connection of {} to node {}: nothing has come for {} ms", stream.remote(), self,
                    TimeUnit.NANOSECONDS.toMillis(silenceNanos()));
            boolean wasWelcome = state == State.WELCOME;
            lost();
            Peer peer = peers.get(from);
            if (wasWelcome && peer != null) {
                peer.silent();
            }
        }

        private void lost() {
            state = State.OVER;
            stream.close();
            strangers.remove(this);
            if (inbound.remove(from, this)) {
                receiver.reachabilityChanged();
            }
        }
    }
}
