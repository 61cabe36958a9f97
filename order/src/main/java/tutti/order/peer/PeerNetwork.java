package tutti.order.peer;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
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
import tutti.core.schema.Encoded;
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
 * {@link IncomingPeers#STRANGERS_MAX} of them are kept, each for the time after which a silent node is given up. What waits to be sent to
 * a node is at most {@link #UNSENT_BYTES_MAX} and one frame; the rest is dropped. Who sends what no node would send is
 * dropped and {@linkplain #refusedConnections counted}.
 *
 * <p>
 * Everything belongs to the network's loop, but for {@link #refusedConnections}.
 */
public final class PeerNetwork {
    private static final Logger LOGGER = LoggerFactory.getLogger(PeerNetwork.class);
    private static final long UNSENT_BYTES_MAX = 64 << 20;
    private static final long RETRY_NANOS_MIN = TimeUnit.MILLISECONDS.toNanos(10);
    private static final long RETRY_NANOS_MAX = TimeUnit.MILLISECONDS.toNanos(250);
    private static final long RETRY_REFUSED_NANOS = TimeUnit.SECONDS.toNanos(1);
    /** Of those who prove nothing, and of peers that are not trusted, the log tells no more often. */
    static final long TOLD_NANOS = TimeUnit.MINUTES.toNanos(1);

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
    private final IncomingPeers incoming;
    private final AtomicLong refusedConnections = new AtomicLong();
    private final SpokenVersions spoken;
    private boolean everAccepted;
    private long checkedNanos;
    /** Since when this node is turned away, if it is. */
    private @Nullable Long rejectedSinceNanos;

    /**
     * Listens at this node's own address. Whoever connects waits until {@link #start}.
     *
     * @param self number of this node
     * @param own where it listens
     * @param failureTimeout how long a node may be silent until the others do without it
     * @param others where the other members are
     * @param cluster id of the cluster, or nothing
     * @throws IOException if the port is taken, if the address is not of this machine, or if what the network proves is not this
     *             node
     */
    public PeerNetwork(int self, InetSocketAddress own, Duration failureTimeout, Map<Integer, InetSocketAddress> others,
            Clock clock, Network network, String cluster, PeerReceiver receiver) throws IOException {
        this.self = self;
        this.cluster = cluster;
        failureNanos = failureTimeout.toNanos();
        this.clock = clock;
        this.network = network;
        this.receiver = receiver;
        loop = network.loop();
        others.forEach((id, address) -> peers.put(id, new Peer(id, address)));
        unasked.addAll(peers.keySet());
        spoken = new SpokenVersions(Versions.SPOKEN, peers.keySet());
        incoming = new IncomingPeers(self, cluster, clock, network, receiver, spoken, refusedConnections, this::isPeer,
                this::silent);
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
            var _ = network.listen(own, incoming);
        } catch (IOException taken) {
            throw new IOException("node " + self + " " + taken.getMessage(), taken);
        }
    }

    /** Begins to listen to others and to connect. */
    public void start() {
        checkedNanos = clock.nanoTime();
        incoming.start();
        peers.values().forEach(Peer::connect);
        var _ = loop.schedule(aliveNanos(), this::checkAlive);
    }

    /** These are the others from now on, and there they are. Who is none of them any more is told so when it connects again. */
    public void others(Map<Integer, InetSocketAddress> now) {
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

    /** Sends a message to a node, if it can be reached and is not too far behind in reading. */
    public void send(int to, Encoded message) {
        send(Set.of(to), message);
    }

    /** The same to several nodes. */
    public void send(Set<Integer> to, Encoded message) {
        send(to, message, null);
    }

    /**
     * The same to those of several nodes that understand it.
     *
     * @param capability what a node must be able to do to understand it; null for what all understand
     */
    public void send(Set<Integer> to, Encoded message, @Nullable String capability) {
        Map<Integer, ByteBuffer> frames = new TreeMap<>();
        for (int node : to) {
            Peer peer = peers.get(node);
            Outbound connection = peer == null ? null : peer.connection;
            if (connection != null && connection.understands(capability)) {
                connection
                        .send(frames.computeIfAbsent(spoken.with(node), version -> Frames.of(message.bytes(version))));
            }
        }
    }

    /** In which version to write what all nodes read. Any thread. */
    public int wireVersion() {
        return spoken.common();
    }

    /** Whether all other nodes are known to be able to do something. Any thread. */
    public boolean allCan(String capability) {
        return spoken.allCan(capability);
    }

    /** As {@link tutti.core.spi.Group#can}. */
    public void can(Set<String> capabilities) {
        spoken.can(capabilities);
    }

    /** As {@link tutti.core.spi.Group#unable}. */
    public Set<Integer> unable(String capability) {
        return spoken.unable(capability);
    }

    /** Who listens to those who come for something else than the order ({@link CopiedOrder}). */
    public void visitors(Network.Acceptor acceptor) {
        incoming.visitors(acceptor);
    }

    /** Ends what comes from a node; it may greet again. */
    public void drop(int node) {
        incoming.drop(node);
    }

    /** Whether so many take another directory for this node's that those who may not are no majority. */
    private boolean disowned() {
        return 2 * peers.values().stream().filter(peer -> peer.disowns).count() >= peers.size() + 1;
    }

    private boolean isPeer(int node) {
        return peers.containsKey(node);
    }

    /** Nothing comes from there any more, so what is sent there will not arrive either. */
    private void silent(int node) {
        Peer peer = peers.get(node);
        if (peer != null) {
            peer.silent();
        }
    }

    /** Nodes to which there is a connection in both directions, without this one. */
    public Set<Integer> reachable() {
        Set<Integer> ids = new TreeSet<>();
        for (Peer peer : peers.values()) {
            if (peer.isConnected() && incoming.isWelcome(peer.id)) {
                ids.add(peer.id);
            }
        }
        return ids;
    }

    /** Connections that were turned away, or dropped for what came on them. Any thread. */
    public long refusedConnections() {
        return refusedConnections.get();
    }

    private long aliveNanos() {
        return Math.max(TimeUnit.MILLISECONDS.toNanos(20), failureNanos / 4);
    }

    /** A connection on which nothing comes for so long is given up: there are four signs of life in the failure timeout. */
    private long silenceNanos() {
        return Math.max(TimeUnit.SECONDS.toNanos(1), failureNanos * 5 / 4);
    }

    /**
     * For so long a node that is turned away tries again: another one may have taken its former life for alive, but for no longer than its silence,
     * and as long again if it stood still meanwhile; and it may hear late that this node begins anew.
     */
    private long patienceNanos() {
        return Math.max(TimeUnit.SECONDS.toNanos(4), failureNanos * 8);
    }

    /** Tells the others that this node lives, and gives up connections on which nothing has come for long. */
    private void checkAlive() {
        long now = clock.nanoTime();
        // If this loop was held up, what has come meanwhile has not been read yet.
        boolean late = now - checkedNanos > 2 * aliveNanos();
        checkedNanos = now;
        peers.values().forEach(peer -> peer.check(now));
        incoming.check(now, late ? Long.MAX_VALUE : silenceNanos());
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
        private String refusal = "";
        /** It has last answered that this node's directory is another one. */
        private boolean disowns;
        private long retryNanos = RETRY_NANOS_MIN;
        /** There was a connection, and it has not been tried again since it was lost. */
        private boolean lost;

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
        private final long begunNanos = clock.nanoTime();
        /** Somebody was there, or may have been. */
        private boolean met;
        /** Something was sent since the last sign of life was due. */
        private boolean sent;

        Outbound(Peer peer) {
            this.peer = peer;
        }

        @Override
        public void connected() {
            met = true;
            PeerIdentity there = stream().peer();
            if (network.identity() != null && !new PeerIdentity(cluster, peer.id).equals(there)) {
                refusedConnections.incrementAndGet();
                distrusted("it is " + there);
                end(RETRY_REFUSED_NANOS, "it is " + there);
                return;
            }
            greetedNanos = clock.nanoTime();
            stream().send(receiver.hello().of(spoken).framed());
        }

        @Override
        public void distrusted(String why) {
            met = true;
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

        boolean understands(@Nullable String capability) {
            return welcome && (capability == null || capabilities.contains(capability));
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
                    spoken.heard(peer.id, come.speaks(), come.capabilities());
                    everAccepted = true;
                    rejectedSinceNanos = null;
                    peer.refusal = "";
                    peer.disowns = false;
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
            if (!refusal.equals(peer.refusal)) {
                peer.refusal = refusal;
                LOGGER.error("node {} is turned away by node {} at {}: {}", self, peer.id, peer.address, refusal);
            }
            peer.disowns = lost;
            long now = clock.nanoTime();
            Long since = rejectedSinceNanos;
            if (outdated) {
                receiver.rejected(refusal, true, false);
            } else if (lost && receiver.hello().standing().lastIndex() == 0) {
                // An empty directory: what the others remember of another one does not change by waiting, and nothing is lost with it.
                receiver.rejected(refusal, false, true);
            } else if (since == null) {
                rejectedSinceNanos = now;
            } else if (now - since > patienceNanos() && (!everAccepted || disowned())) {
                // Whoever has welcomed it may not have heard yet that it begins anew with another directory.
                receiver.rejected(refusal, false, lost);
            }
            end(RETRY_REFUSED_NANOS, refusal);
        }

        @Override
        public void closed(String why) {
            lost(why);
        }

        @Override
        public void untried(String why) {
            met = true;
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
            // Whoever answers a connection at once that nobody takes it is there, and the node is not.
            boolean gone = peer.lost && !met && clock.nanoTime() - begunNanos < failureNanos / 2;
            peer.lost = welcome;
            if (gone) {
                receiver.gone(peer.id);
            }
        }
    }
}
