package tutti.grid.node;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.schema.DecodeException;
import tutti.grid.CommitProtocol;
import tutti.grid.GridConfig;
import tutti.grid.view.View;
import tutti.runtime.Network;
import tutti.runtime.PeerIdentity;

/**
 * Reliable channels to the other nodes, first in, first out, as long as both processes live. Every node keeps one connection to every other
 * for what it sends. Frames are counted; the receiver says now and then how many have come, and when a connection is made anew,
 * the sender repeats those that have not. A process has a number that no other has: a node that was started anew, or that was
 * excluded, is another process, which has lost what it had, and with which channels begin anew.
 *
 * <p>
 * <b>Who is a node.</b> With views, the process that the view names, and no other; for a node that is not in the view, the process that came last, except one that
 * was in an earlier view. Without views, the process that came last, except one that another one has come after, or that was given up. What was not received by the process before is dropped. Who connects is told
 * whether another process of its node has come before.
 *
 * <p>
 * Everything belongs to the network's loop.
 */
final class PeerLinks {
    private static final Logger LOGGER = LoggerFactory.getLogger(PeerLinks.class);
    private static final long RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
    private static final long CONNECT_NANOS = TimeUnit.SECONDS.toNanos(1);
    /** After so many frames the receiver says how many have come. */
    private static final int FRAMES_TOLD = 256;
    /** How large the first frame of a connection may be. */
    private static final int HELLO_BYTES_MAX = 1 << 18;

    /** What happens with frames. */
    interface Receiver {
        /**
         * A frame has come.
         *
         * @param frame valid during the call only
         * @throws IOException if no node would have sent it, or there is no room for it yet: the connection ends, and over the next one it comes again
         */
        void received(int from, ByteBuffer frame) throws IOException;

        /** Another node does not accept this one. */
        void refused(int by, LinkMessage.Refusal kind, String why);

        /** Another process comes as a node, than the one that is a member. */
        void superseded(int node);

        /** Without views: from now on a node is another process. */
        void begins(int node, long process);

        /** Without views: a node takes what this one sends, and says whether this is the first process of this node that it has heard, and whether the group of this node has changed. */
        void welcomed(int by, boolean isFirst, boolean hasChanged);

        /** Without views: whether the group of a node is known to have other members than it was founded with. */
        boolean hasChanged(int node);
    }

    private final GridConfig config;
    private long process;
    private final Network network;
    private final Receiver receiver;
    private final boolean byViews;
    /** With views: members. */
    private Map<Integer, View.Member> members = Map.of();
    /** Processes that were members, and are not any more. */
    private final Set<Long> excluded = new HashSet<>();
    private final Map<Integer, Outbound> outbound = new TreeMap<>();
    private final Map<Integer, Inbound> inbound = new HashMap<>();
    /** Without views: the process that was the first of each node, that which it is now, and where nodes are that have said so. */
    private final Map<Integer, Long> firsts = new HashMap<>();
    private final Map<Integer, Long> processes = new HashMap<>();
    private final Map<Integer, InetSocketAddress> addresses = new HashMap<>();
    /** Without views: nodes that were given up, until another process comes. */
    private final Set<Integer> givenUp = new HashSet<>();
    private final AutoCloseable listening;
    private boolean closed;

    PeerLinks(GridConfig config, long process, Network network, Receiver receiver) throws IOException {
        this.config = config;
        this.process = process;
        this.network = network;
        this.receiver = receiver;
        this.byViews = config.protocol() != CommitProtocol.GROUPS;
        PeerIdentity identity = network.identity();
        if (identity != null && identity.node() != config.self()) {
            throw new IOException("node " + config.self() + " has the certificate of " + identity
                    + ": give each node its own");
        }
        listening = network.listen(config.nodes().get(config.self()), Incoming::new);
    }

    /** Begins to connect to the nodes of the configuration. */
    void start() {
        new TreeMap<>(config.nodes()).forEach(this::connect);
    }

    /** Begins to connect to a node. Without effect if that has begun. */
    void connect(int node, InetSocketAddress address) {
        if (node != config.self() && !outbound.containsKey(node)) {
            Outbound link = new Outbound(node, address);
            outbound.put(node, link);
            link.connect();
        }
    }

    /** Goes on as another process, which knows nobody. */
    void restart(long as) {
        process = as;
        members = Map.of();
        if (!byViews) {
            excluded.clear();
            givenUp.clear();
            processes.clear();
        }
        List.copyOf(outbound.keySet()).forEach(this::forget);
        List.copyOf(inbound.keySet()).forEach(this::forget);
        start();
    }

    /** A process that applies is at this address. */
    void applied(int node, InetSocketAddress address) {
        addresses.put(node, address);
        Outbound link = outbound.get(node);
        if (link != null && (link.isAnother(knownProcess(node)) || !text(link.address).equals(text(address)))) {
            forgetOutbound(node);
        }
        connect(node, address);
    }

    /** Without views: a node that is not connected to is at this address. */
    void at(int node, InetSocketAddress address) {
        if (!outbound.containsKey(node)) {
            addresses.put(node, address);
            connect(node, address);
        }
    }

    /** Without views: a process is no member any more, and it is not tried to reach it. Another process may come. */
    void left(int node) {
        giveUp(node);
        forgetOutbound(node);
        // No process of it that comes is one to which something is missing.
        givenUp.remove(node);
    }

    /** Where a node is, as text; empty if that is not known. */
    String addressOf(int node) {
        InetSocketAddress known = addresses.getOrDefault(node, config.nodes().get(node));
        return known == null ? "" : text(known);
    }

    /** The process that comes as a node; 0 if none does. */
    long knownProcess(int node) {
        Inbound known = inbound.get(node);
        return known == null ? 0 : known.process;
    }

    /** From now on these are the members. */
    void members(Map<Integer, View.Member> now) {
        Map<Integer, View.Member> before = members;
        members = now;
        before.forEach((node, was) -> {
            View.Member is = now.get(node);
            if (node != config.self() && (is == null || is.id() != was.id())) {
                excluded.add(was.id());
                forgetOutbound(node);
                if (knownProcess(node) == was.id()) {
                    forget(node);
                }
            }
        });
        now.forEach((node, is) -> {
            if (node != config.self()) {
                Inbound known = inbound.get(node);
                if (known != null && known.process != is.id()) {
                    forget(node);
                }
                Outbound link = outbound.get(node);
                if (link != null && link.isAnother(is.id())) {
                    forgetOutbound(node);
                }
                if (!is.address().isEmpty()) {
                    connect(node, address(is.address()));
                }
            }
        });
    }

    /** As text: host, colon, port. */
    static String text(InetSocketAddress address) {
        return address.getHostString() + ':' + address.getPort();
    }

    /** From text. */
    static InetSocketAddress address(String text) {
        int colon = text.lastIndexOf(':');
        return InetSocketAddress.createUnresolved(text.substring(0, colon),
                Integer.parseInt(text.substring(colon + 1)));
    }

    private void forgetOutbound(int node) {
        Outbound link = outbound.remove(node);
        if (link != null) {
            link.giveUp();
        }
    }

    private void forget(int node) {
        forgetOutbound(node);
        Inbound known = inbound.remove(node);
        if (known != null && known.connection != null) {
            known.connection.stop();
        }
    }

    /** Sends a message, now or when there is a connection. */
    void send(int to, byte[] message) {
        Outbound link = outbound.get(to);
        if (link != null) {
            link.send(Framing.frame(message));
        }
    }

    /** Whether there is a connection to a node. */
    boolean isConnected(int node) {
        Outbound link = outbound.get(node);
        return link != null && link.welcome;
    }

    /** The nodes that are connected to, or tried. */
    List<Integer> nodes() {
        return List.copyOf(outbound.keySet());
    }

    /** Without views: nothing is sent to a process any more, and nothing is taken from it. It is told so, as soon as it can be; then another process may come. */
    void giveUp(int node) {
        givenUp.add(node);
        // Who comes later is not the first of which something was known.
        firsts.putIfAbsent(node, 0L);
        Long known = processes.get(node);
        if (known != null) {
            excluded.add(known);
        }
        Inbound from = inbound.remove(node);
        if (from != null && from.connection != null) {
            from.connection.stop();
        }
        Outbound link = outbound.get(node);
        if (link != null) {
            link.isMute = true;
            link.giveUp();
        }
    }

    /** Without views: a process has come as a node. */
    private void comes(int node, long now) {
        Long before = processes.put(node, now);
        firsts.putIfAbsent(node, now);
        boolean isFounder = before == null && config.founders().contains(node);
        if ((isFounder || (before != null && before == now)) && !givenUp.remove(node)) {
            return;
        }
        givenUp.remove(node);
        if (before != null) {
            excluded.add(before);
        }
        Inbound known = inbound.get(node);
        if (known != null && known.process != now) {
            inbound.remove(node);
            if (known.connection != null) {
                known.connection.stop();
            }
        }
        Outbound link = outbound.get(node);
        // What waits for a node of which no process was heard is for this one.
        boolean isForAnother = link != null
                && (link.isMute || link.isAnother(now) || (link.theirProcess == null && before != null));
        if (link == null || isForAnother) {
            forgetOutbound(node);
            InetSocketAddress address = addresses.getOrDefault(node, config.nodes().get(node));
            if (address != null) {
                connect(node, address);
                Outbound made = outbound.get(node);
                if (made != null) {
                    made.theirProcess = now;
                }
            }
        }
        receiver.begins(node, now);
    }

    /** Bytes that wait to be received by the node for which most do. */
    long unsentBytes(Iterable<Integer> nodes) {
        long most = 0;
        for (int node : nodes) {
            Outbound link = outbound.get(node);
            most = Math.max(most, link == null ? 0 : link.bytes);
        }
        return most;
    }

    /** Tells senders how much has come. */
    void acknowledge() {
        inbound.values().forEach(Inbound::acknowledge);
    }

    void close() {
        closed = true;
        try {
            listening.close();
        } catch (Exception failure) {
            LOGGER.debug("node {} has stopped to listen badly", config.self(), failure);
        }
    }

    private static ByteBuffer control(LinkMessage message) {
        return Framing.frame(message.bytes());
    }

    private boolean isPeer(Network.Stream stream, int node) {
        PeerIdentity own = network.identity();
        return own == null || new PeerIdentity(own.cluster(), node).equals(stream.peer());
    }

    /** The sending half. */
    private final class Outbound implements Network.StreamListener {
        private final int node;
        private final InetSocketAddress address;
        /** Sent and not known to have come, the first being number {@link #first}. */
        private final Deque<ByteBuffer> unacknowledged = new ArrayDeque<>();
        private long first;
        private long bytes;
        private Network.@Nullable Stream stream;
        private boolean welcome;
        /** Whether nothing is sent any more, but it is tried to hear what has become of the node. */
        private boolean isMute;
        private @Nullable Long theirProcess;
        private Framing.Reader reader = new Framing.Reader(this::control);

        Outbound(int node, InetSocketAddress address) {
            this.node = node;
            this.address = address;
        }

        void connect() {
            if (!closed && outbound.get(node) == this) {
                welcome = false;
                reader = new Framing.Reader(this::control);
                stream = network.connect(InetSocketAddress.createUnresolved(address.getHostString(), address.getPort()),
                        CONNECT_NANOS, this);
            }
        }

        /** Whether it is to another process than this; not if it does not know yet. */
        boolean isAnother(long than) {
            Long theirs = theirProcess;
            return theirs != null && theirs != than;
        }

        void giveUp() {
            unacknowledged.clear();
            bytes = 0;
            Network.Stream open = stream;
            if (open != null) {
                open.close();
            }
        }

        void send(ByteBuffer frame) {
            if (isMute) {
                return;
            }
            unacknowledged.add(frame);
            bytes += frame.remaining();
            Network.Stream open = stream;
            if (welcome && open != null) {
                open.send(frame.duplicate());
            }
        }

        @Override
        public void connected() {
            Network.Stream open = stream;
            if (open == null || !isPeer(open, node)) {
                end("it is another node");
            } else {
                open.send(PeerLinks.control(new LinkMessage.Hello(config.self(), process, config.agreement())));
            }
        }

        @Override
        public void received(ByteBuffer come) {
            try {
                reader.read(come);
            } catch (IOException | DecodeException wrong) {
                end(String.valueOf(wrong.getMessage()));
            }
        }

        private void control(ByteBuffer frame) throws IOException {
            switch (LinkMessage.set().decode(frame)) {
                case LinkMessage.Welcome come -> welcome(come);
                case LinkMessage.Received come -> received(come.frames());
                case LinkMessage.Refused come -> {
                    Network.Stream open = stream;
                    if (outbound.get(node) == this && open != null) {
                        open.close();
                        closed(come.why());
                        if (!byViews && come.kind() == LinkMessage.Refusal.EXCLUDED && givenUp.contains(node)
                                && config.self() < node) {
                            // Each has given up the other: the other begins anew.
                            return;
                        }
                        receiver.refused(node, come.kind(), come.why());
                    }
                }
                case LinkMessage.Hello _ -> throw new IOException("a hello from who accepts");
            }
        }

        private void welcome(LinkMessage.Welcome come) throws IOException {
            Network.Stream open = stream;
            if (open == null || outbound.get(node) != this) {
                return;
            }
            View.Member member = members.get(node);
            if (member != null && member.id() != come.process()) {
                throw new IOException("node " + node + " was started anew, or is not yet who it will be");
            }
            if (!byViews && excluded.contains(come.process())) {
                throw new IOException("node " + node + " was given up, or another process has come as that node");
            }
            if (theirProcess != null && theirProcess != come.process()) {
                unacknowledged.clear();
                bytes = 0;
                first = 0;
            }
            theirProcess = come.process();
            if (!byViews) {
                comes(node, come.process());
                if (outbound.get(node) != this) {
                    return;
                }
                receiver.welcomed(node, come.isFirst(), come.hasChanged());
            }
            received(come.received());
            welcome = true;
            unacknowledged.forEach(frame -> open.send(frame.duplicate()));
        }

        private void received(long count) throws IOException {
            if (count < first || count > first + unacknowledged.size()) {
                throw new IOException("node " + node + " says that " + count + " frames have come, of "
                        + (first + unacknowledged.size()));
            }
            while (first < count) {
                bytes -= unacknowledged.removeFirst().remaining();
                first++;
            }
        }

        @Override
        public void closed(String why) {
            LOGGER.debug("node {} has no connection to node {}: {}", config.self(), node, why);
            stream = null;
            welcome = false;
            var _ = network.loop().schedule(RETRY_NANOS, this::connect);
        }

        private void end(String why) {
            Network.Stream open = stream;
            if (open != null) {
                open.close();
                closed(why);
            }
        }
    }

    /** What has come from a process, over all of its connections. */
    private static final class Inbound {
        private final long process;
        private @Nullable Incoming connection;
        private long received;
        private long told;

        Inbound(long process) {
            this.process = process;
        }

        void acknowledge() {
            Incoming open = connection;
            if (open != null && told < received) {
                told = received;
                open.stream.send(control(new LinkMessage.Received(received)));
            }
        }
    }

    /** The receiving half of a connection. */
    private final class Incoming implements Network.StreamListener {
        private final Network.Stream stream;
        private final Framing.Reader reader = new Framing.Reader(this::take, this::bytesMax);
        private @Nullable Inbound from;
        private int node;
        private boolean over;

        Incoming(Network.Stream stream) {
            this.stream = stream;
        }

        @Override
        public void received(ByteBuffer bytes) {
            try {
                reader.read(bytes);
            } catch (IOException | DecodeException wrong) {
                LOGGER.warn("node {} drops a connection of {}: {}", config.self(), stream.remote(), wrong.getMessage());
                stream.close();
                closed("");
            }
        }

        private void take(ByteBuffer frame) throws IOException {
            if (over) {
                return;
            }
            Inbound known = from;
            if (known == null) {
                greeted(LinkMessage.set().decode(frame, LinkMessage.Hello.class));
            } else if (known.connection == this) {
                receiver.received(node, frame);
                // One that was refused comes again.
                known.received++;
                if (known.received - known.told >= FRAMES_TOLD) {
                    known.acknowledge();
                }
            }
        }

        /** A stranger says who it is, and no more. */
        private int bytesMax() {
            return from == null ? HELLO_BYTES_MAX : Integer.MAX_VALUE;
        }

        void stop() {
            over = true;
            stream.close();
        }

        private void greeted(LinkMessage.Hello hello) {
            Inbound known = inbound.get(hello.node());
            View.Member member = members.get(hello.node());
            LinkMessage.Refusal kind = LinkMessage.Refusal.FOREIGN;
            String why = "";
            if (!hello.agreement().equals(config.agreement())) {
                why = "node " + config.self() + " is of grid " + config.agreement() + ", node " + hello.node()
                        + " of grid " + hello.agreement() + ": give all nodes the same configuration";
            } else if (hello.node() == config.self() || !isPeer(stream, hello.node())) {
                why = "node " + config.self() + " does not expect node " + hello.node() + " there";
            } else if (!byViews && isGivenUpUnheard(hello.node())) {
                kind = LinkMessage.Refusal.EXCLUDED;
                excluded.add(hello.process());
                givenUp.remove(hello.node());
                processes.put(hello.node(), hello.process());
                why = "node " + hello.node() + " was not heard for too long";
            } else if (excluded.contains(hello.process())) {
                kind = LinkMessage.Refusal.EXCLUDED;
                why = "the others go on without node " + hello.node();
            } else if (byViews && member != null && member.id() != hello.process()) {
                kind = LinkMessage.Refusal.LATER;
                why = "another process is node " + hello.node();
                receiver.superseded(hello.node());
            }
            if (!why.isEmpty()) {
                stream.send(control(new LinkMessage.Refused(kind, why)));
                over = true;
                return;
            }
            if (!byViews) {
                comes(hello.node(), hello.process());
            }
            if (known == null || known.process != hello.process()) {
                if (known != null && known.connection != null) {
                    known.connection.stop();
                }
                known = new Inbound(hello.process());
                inbound.put(hello.node(), known);
            }
            Incoming before = known.connection;
            if (before != null) {
                before.stop();
            }
            known.connection = this;
            from = known;
            node = hello.node();
            known.told = known.received;
            stream.send(control(new LinkMessage.Welcome(process, known.received,
                    firsts.getOrDefault(hello.node(), hello.process()) == hello.process(),
                    receiver.hasChanged(hello.node()))));
        }

        /** Whether it was given up before any process of it was heard. */
        private boolean isGivenUpUnheard(int peer) {
            return givenUp.contains(peer) && !processes.containsKey(peer);
        }

        @Override
        public void closed(String why) {
            over = true;
            if (from != null && from.connection == this) {
                from.connection = null;
            }
        }
    }
}
