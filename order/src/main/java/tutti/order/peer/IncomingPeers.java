package tutti.order.peer;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntConsumer;
import java.util.function.IntPredicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.order.SpokenVersions;
import tutti.runtime.Clock;
import tutti.runtime.Frames;
import tutti.runtime.Network;
import tutti.runtime.PeerIdentity;

/**
 * The receiving half of {@link PeerNetwork}: whoever connects, until it has said who it is, and what members send then. Everything
 * belongs to the network's loop.
 */
final class IncomingPeers implements Network.Acceptor {
    private static final Logger LOGGER = LoggerFactory.getLogger(IncomingPeers.class);
    /** Connections that have not been welcomed, at most. */
    static final int STRANGERS_MAX = 64;

    private final int self;
    /** Id of the cluster, or nothing. */
    private final String cluster;
    private final Clock clock;
    private final Network network;
    private final PeerReceiver receiver;
    private final SpokenVersions spoken;
    private final AtomicLong refusedConnections;
    private final IntPredicate members;
    private final IntConsumer silent;
    private final Map<Integer, Inbound> inbound = new TreeMap<>();
    /** Connections that have not been welcomed, the oldest first. */
    private final List<Inbound> strangers = new ArrayList<>();
    /** Why members were turned away that come again and again; the log says it once. */
    private final Map<Integer, String> refusals = new HashMap<>();
    private Network.@Nullable Acceptor visitors;
    private boolean started;
    private @Nullable Long strangerToldNanos;

    /**
     * Keeps who connects waiting until {@link #start}.
     *
     * @param refused counts connections that were turned away, or dropped for what came on them
     * @param members whether a node is another member
     * @param silent is told of a member from which nothing comes any more
     */
    IncomingPeers(int self, String cluster, Clock clock, Network network, PeerReceiver receiver, SpokenVersions spoken,
            AtomicLong refused, IntPredicate members, IntConsumer silent) {
        this.self = self;
        this.cluster = cluster;
        this.clock = clock;
        this.network = network;
        this.receiver = receiver;
        this.spoken = spoken;
        refusedConnections = refused;
        this.members = members;
        this.silent = silent;
    }

    /** Begins to listen. */
    void start() {
        started = true;
        for (Inbound early : strangers) {
            early.heardNanos = clock.nanoTime();
            early.stream.read(true);
        }
    }

    /** Who listens to those who come for something else than the order. */
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

    /** Whether a node has connected and was welcomed. */
    boolean isWelcome(int node) {
        return inbound.containsKey(node);
    }

    /**
     * Gives up connections on which nothing has come for long.
     *
     * @param silenceNanos for how long; the greatest number if this loop was held up, so that what has come has not been read yet
     */
    void check(long now, long silenceNanos) {
        List<Inbound> all = new ArrayList<>(inbound.values());
        all.addAll(strangers);
        for (Inbound connection : all) {
            if (silenceNanos == Long.MAX_VALUE) {
                connection.heardNanos = now;
            } else if (now - connection.heardNanos > silenceNanos) {
                connection.silent();
            }
        }
    }

    @Override
    public void refused(String remote, String why) {
        refusedConnections.incrementAndGet();
        long now = clock.nanoTime();
        if (strangerToldNanos == null || now - strangerToldNanos > PeerNetwork.TOLD_NANOS) {
            strangerToldNanos = now;
            LOGGER.warn("node {} has dropped {} connections so far, the last one of {}: {}", self, refusedConnections,
                    remote, why);
        }
    }

    @Override
    public Network.StreamListener accepted(Network.Stream stream) {
        PeerIdentity peer = stream.peer();
        if (network.identity() != null
                && (peer == null || !peer.cluster().equals(cluster)
                        || !(members.test(peer.node()) || receiver.removed().contains(peer.node())))) {
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
        if (receiver.removed().contains(hello.node()) && !members.test(hello.node())
                && (proven == null || proven.node() == hello.node())) {
            return Greeting.Answer.removed(hello.node());
        }
        // Whoever is new has another list before it has a copy, and is told to get one. So may a member have that has lost its directory: its
        // configuration says where the others are now.
        String foreign = hello.foreign(self, members,
                receiver.needsCopy(hello, proven != null) ? hello.cluster() : receiver.hello().cluster(), proven);
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
            stream.send(answer.of(spoken).framed());
            if (!answer.refusal().isEmpty()) {
                refusedConnections.incrementAndGet();
                if (!members.test(come.node())
                        || !answer.refusal().equals(refusals.put(come.node(), answer.refusal()))) {
                    LOGGER.error("node {} turns {} away: {}", self, stream.remote(), answer.refusal());
                }
                state = State.REFUSED;
                return;
            }
            from = come.node();
            refusals.remove(from);
            process = come.process();
            spoken.heard(from, come.speaks(), come.capabilities());
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
            LOGGER.debug("connection of {} to node {}: nothing has come for long", stream.remote(), self);
            boolean wasWelcome = state == State.WELCOME;
            lost();
            if (wasWelcome) {
                silent.accept(from);
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
