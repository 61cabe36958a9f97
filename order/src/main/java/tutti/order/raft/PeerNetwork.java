package tutti.order.raft;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Carries frames between the nodes of one cluster: over TCP, in order, each at most once, dropped when the other cannot
 * be reached. Every node keeps one connection to every other for what it sends. A connection begins with who the node is
 * and which cluster it means; a wrong or a second one is turned away with the reason.
 *
 * <pre>
 * hello: magic 8 | id 4 | number of this process 8 | member list (UTF) ; answer: "" or why not (UTF)
 * then {@link Frames}
 * </pre>
 *
 * Connections are made by threads of their own, which wait for the answer; then the Raft thread reads and writes them.
 * {@link #send} and {@link #flush} belong to the Raft thread, all else to any.
 */
final class PeerNetwork implements AutoCloseable {
    private static final Logger LOGGER = LoggerFactory.getLogger(PeerNetwork.class);
    private static final long MAGIC = 0x5475_7474_694f_7231L;
    private static final int QUEUE_FRAMES = 4096;
    private static final long QUEUE_BYTES = 64 << 20;

    /** What happens with frames and connections. */
    interface Receiver {
        /** A frame has come; on the Raft thread. */
        void received(int from, ByteBuffer frame) throws IOException;

        /** The set of {@link #reachable} nodes is another now; any thread. */
        void reachabilityChanged();

        /** No other node accepts this one, for this reason; any thread. */
        void rejected(String reason);
    }

    private final int self;
    private final String cluster;
    private final long process = ThreadLocalRandom.current().nextLong();
    private final long failureMillis;
    private final Receiver receiver;
    private final ServerSocketChannel server;
    private final Map<Integer, Peer> peers = new TreeMap<>();
    private final Map<Integer, Inbound> inbound = new ConcurrentHashMap<>();
    /** Connections with something to send. Of the Raft thread. */
    private final List<Outbound> unsent = new ArrayList<>();
    private long checkedNanos = System.nanoTime();
    private final CountDownLatch closing = new CountDownLatch(1);
    private volatile @Nullable RaftThread thread;
    private volatile @Nullable Thread accepting;
    private volatile boolean everAccepted;
    private volatile long rejectedSinceNanos;

    /**
     * Listens at this node's own address.
     *
     * @throws IOException if the port is taken or the address is not of this machine
     */
    PeerNetwork(RaftOrderConfig config, Receiver receiver) throws IOException {
        self = config.self();
        cluster = config.cluster();
        failureMillis = config.failureTimeout().toMillis();
        this.receiver = receiver;
        InetSocketAddress own = config.members().get(self);
        if (own.isUnresolved()) {
            throw new IOException("the host name " + own.getHostString() + " of node " + self + " is not known");
        }
        server = ServerSocketChannel.open();
        try {
            server.setOption(StandardSocketOptions.SO_REUSEADDR, true);
            server.bind(own);
        } catch (BindException e) {
            server.close();
            throw new IOException("node " + self + " cannot listen at " + own.getHostString() + ":" + own.getPort()
                    + " (" + e.getMessage()
                    + "): another process uses the port, perhaps this node already runs, or the "
                    + "address is not of this machine", e);
        }
        config.members().forEach((id, address) -> {
            if (id != self) {
                peers.put(id, new Peer(id, address));
            }
        });
    }

    /** Begins to accept and to connect. */
    void start(RaftThread on) {
        thread = on;
        accepting = thread("accept", this::acceptAll);
        for (Peer peer : peers.values()) {
            Thread _ = thread("to-" + peer.id, peer);
        }
        on.scheduleReal(this::checkAlive, TimeUnit.MILLISECONDS.toNanos(aliveMillis()));
    }

    private Thread thread(String name, Runnable body) {
        return Thread.ofPlatform().daemon().name("order-" + self + "-" + name).start(body);
    }

    private boolean closed() {
        return closing.getCount() == 0;
    }

    /** Sends a frame, at the next {@link #flush}, if the node can be reached and is not too far behind in reading. */
    void send(int to, byte[] frame) {
        Peer peer = peers.get(to);
        if (peer != null && !peer.add(frame)) {
            LOGGER.debug("node {} does not keep up, a message to it is dropped", to);
        }
    }

    /** Hands to the operating system what has been sent. */
    void flush() {
        for (Outbound connection : unsent) {
            connection.write();
        }
        unsent.clear();
    }

    /** Tells the others that this node lives, and gives up connections on which nothing has come for long. */
    private void checkAlive() {
        RaftThread on = thread;
        if (closed() || on == null) {
            return;
        }
        long now = System.nanoTime();
        // If this thread was held up, what has come meanwhile has not been read yet.
        boolean late = now - checkedNanos > TimeUnit.MILLISECONDS.toNanos(2L * aliveMillis());
        checkedNanos = now;
        for (Peer peer : peers.values()) {
            peer.tellAlive(now);
        }
        for (Inbound connection : inbound.values()) {
            if (late) {
                connection.readNanos = now;
            } else if (now - connection.readNanos > TimeUnit.MILLISECONDS.toNanos(silenceMillis())) {
                connection.lost(new IOException("nothing has come for " + silenceMillis() + " ms"));
            }
        }
        on.scheduleReal(this::checkAlive, TimeUnit.MILLISECONDS.toNanos(aliveMillis()));
    }

    /** Nodes to which there is a connection in both directions, without this one. */
    Set<Integer> reachable() {
        Set<Integer> ids = new TreeSet<>();
        for (Peer peer : peers.values()) {
            if (peer.connected() && inbound.containsKey(peer.id)) {
                ids.add(peer.id);
            }
        }
        return ids;
    }

    @Override
    public void close() {
        closing.countDown();
        closeQuietly(server);
        inbound.values().forEach(i -> closeQuietly(i.channel));
        peers.values().forEach(Peer::close);
        RaftThread on = thread;
        if (on != null) {
            on.wakeUp();
        }
        Thread inAccept = accepting;
        if (inAccept != null) {
            try {
                // The operating system keeps the port for as long as somebody is in accept().
                inAccept.join();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private static void closeQuietly(AutoCloseable closeable) {
        try {
            closeable.close();
        } catch (Exception e) {
            LOGGER.debug("closing a connection", e);
        }
    }

    private int aliveMillis() {
        return (int) Math.max(20, failureMillis / 4);
    }

    private int silenceMillis() {
        return (int) Math.max(1000, failureMillis * 2);
    }

    private void prepare(Socket socket) throws IOException {
        socket.setTcpNoDelay(true);
        socket.setSoTimeout(silenceMillis());
    }

    /** The sending half: connects, and connects again, for as long as the node runs. */
    private final class Peer implements Runnable {
        final int id;
        private final InetSocketAddress address;
        /** The connection that is being made or used; of the thread that makes it, and of whoever closes all. */
        private volatile @Nullable Outbound latest;
        /** The connection that frames go to; set by the Raft thread. */
        private volatile @Nullable Outbound current;

        Peer(int id, InetSocketAddress address) {
            this.id = id;
            this.address = address;
        }

        boolean connected() {
            return current != null;
        }

        /** False if it is dropped although there is a connection. */
        boolean add(byte[] frame) {
            Outbound to = current;
            return to == null || to.add(frame);
        }

        void tellAlive(long now) {
            Outbound to = current;
            if (to != null) {
                to.tellAlive(now);
            }
        }

        @Override
        public void run() {
            long waitMillis = 10;
            while (!closed()) {
                try (SocketChannel channel = SocketChannel.open()) {
                    Outbound connection = new Outbound(this, channel);
                    latest = connection;
                    prepare(channel.socket());
                    channel.socket().connect(new InetSocketAddress(address.getHostString(), address.getPort()),
                            (int) Math.max(1000, failureMillis));
                    if (greet(channel.socket())) {
                        waitMillis = 10;
                        connection.serve();
                    } else {
                        waitMillis = 1000;
                    }
                } catch (IOException e) {
                    LOGGER.debug("node {} to node {}: {}", self, id, e.toString());
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    return;
                }
                if (pause(waitMillis)) {
                    return;
                }
                waitMillis = waitMillis >= 1000 ? 10 : Math.min(waitMillis * 2, 250);
            }
        }

        void close() {
            Outbound connection = latest;
            if (connection != null) {
                connection.close();
            }
        }

        private boolean greet(Socket s) throws IOException {
            DataOutputStream out = new DataOutputStream(s.getOutputStream());
            out.writeLong(MAGIC);
            out.writeInt(self);
            out.writeLong(process);
            out.writeUTF(cluster);
            out.flush();
            String refusal = new DataInputStream(s.getInputStream()).readUTF();
            if (refusal.isEmpty()) {
                everAccepted = true;
                return true;
            }
            LOGGER.error("node {} is turned away by node {} at {}: {}", self, id, address, refusal);
            long now = System.nanoTime();
            if (rejectedSinceNanos == 0) {
                rejectedSinceNanos = now;
            } else if (!everAccepted && now - rejectedSinceNanos > TimeUnit.MILLISECONDS.toNanos(3 * failureMillis)) {
                receiver.rejected(refusal);
            }
            return false;
        }
    }

    /** One connection to another node. Of the Raft thread, but for {@link #serve} and {@link #close}. */
    private final class Outbound {
        private final Peer peer;
        private final SocketChannel channel;
        private final CountDownLatch gone = new CountDownLatch(1);
        private final Frames.Writer writer;
        private @Nullable SelectionKey key;
        private boolean waiting;
        private long wroteNanos = System.nanoTime();

        Outbound(Peer peer, SocketChannel channel) {
            this.peer = peer;
            this.channel = channel;
            writer = new Frames.Writer(channel);
        }

        /** Hands the connection, which has been accepted, to the Raft thread, and returns when it is lost. */
        void serve() throws IOException, InterruptedException {
            RaftThread on = thread;
            if (on == null) {
                return;
            }
            channel.configureBlocking(false);
            on.execute(() -> begin(on));
            if (!closed()) {
                gone.await();
            }
        }

        private void begin(RaftThread on) {
            try {
                key = on.register(channel, SelectionKey.OP_READ, this::ready);
                peer.current = this;
                receiver.reachabilityChanged();
            } catch (IOException | RuntimeException e) {
                lost(e);
            }
        }

        boolean add(byte[] frame) {
            // A single frame is always taken, however long.
            if (writer.queuedBytes() > QUEUE_BYTES || writer.queuedFrames() >= QUEUE_FRAMES) {
                return false;
            }
            writer.add(frame);
            if (!waiting) {
                waiting = true;
                unsent.add(this);
            }
            return true;
        }

        void tellAlive(long now) {
            if (!waiting && now - wroteNanos >= TimeUnit.MILLISECONDS.toNanos(aliveMillis())) {
                writer.addAlive();
                waiting = true;
                write();
            }
        }

        /** Sends what waits; what the connection does not take now goes when it can. */
        void write() {
            SelectionKey registered = key;
            if (registered == null) {
                return;
            }
            try {
                boolean all = writer.write();
                wroteNanos = System.nanoTime();
                if (all == ((registered.interestOps() & SelectionKey.OP_WRITE) != 0)) {
                    registered.interestOps(all ? SelectionKey.OP_READ : SelectionKey.OP_READ | SelectionKey.OP_WRITE);
                }
                waiting = !all;
            } catch (IOException | RuntimeException e) {
                lost(e);
            }
        }

        /** The other node sends nothing here, so there is something to read only when it has closed the connection. */
        private void ready(SelectionKey at) {
            if (at.isValid() && at.isWritable()) {
                write();
            }
            if (at.isValid() && at.isReadable()) {
                lost(new IOException("the other end has closed the connection"));
            }
        }

        private void lost(Exception cause) {
            LOGGER.debug("node {} to node {}: {}", self, peer.id, cause.toString());
            key = null;
            if (equals(peer.current)) {
                peer.current = null;
                receiver.reachabilityChanged();
            }
            close();
        }

        /** Any thread. */
        void close() {
            closeQuietly(channel);
            gone.countDown();
        }
    }

    /** Waits, but not when the network closes; tells whether it does. */
    private boolean pause(long millis) {
        try {
            return closing.await(millis, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return true;
        }
    }

    private void acceptAll() {
        while (!closed()) {
            try {
                SocketChannel channel = server.accept();
                Thread _ = thread("from", () -> welcome(channel));
            } catch (IOException e) {
                if (!closed()) {
                    LOGGER.warn("node {} could not accept a connection: {}", self, e.toString());
                    pause(100);
                }
            }
        }
    }

    /** Finds out who has connected, answers, and hands the connection to the Raft thread. */
    private void welcome(SocketChannel channel) {
        Inbound mine = null;
        boolean handedOver = false;
        try {
            SocketAddress remote = channel.getRemoteAddress();
            prepare(channel.socket());
            // Whoever belongs here sends nothing more before the answer, so the buffer cannot swallow a frame.
            DataInputStream in = new DataInputStream(new BufferedInputStream(channel.socket().getInputStream()));
            if (in.readLong() != MAGIC) {
                LOGGER.warn("{} connected to the order port of node {} and is no node", remote, self);
                return;
            }
            int from = in.readInt();
            Inbound connection = new Inbound(channel, from, in.readLong());
            String refusal = admit(connection, in.readUTF());
            if (refusal.isEmpty()) {
                mine = connection;
            } else {
                LOGGER.error("node {} turns {} away: {}", self, remote, refusal);
            }
            DataOutputStream out = new DataOutputStream(channel.socket().getOutputStream());
            out.writeUTF(refusal);
            out.flush();
            RaftThread on = thread;
            if (mine != null && on != null) {
                receiver.reachabilityChanged();
                channel.configureBlocking(false);
                on.execute(() -> connection.begin(on));
                handedOver = true;
            }
        } catch (IOException e) {
            LOGGER.debug("a connection to node {}: {}", self, e.toString());
        } finally {
            if (!handedOver) {
                if (mine != null) {
                    mine.forget();
                }
                closeQuietly(channel);
            }
        }
    }

    /** Why this connection must not be, or nothing. */
    private synchronized String admit(Inbound connection, String theirCluster) throws IOException {
        int from = connection.from;
        if (!theirCluster.equals(cluster)) {
            return "node " + self + " has the members " + cluster + ", but you have " + theirCluster
                    + ": all nodes must be given the same list";
        }
        if (!peers.containsKey(from)) {
            return "node " + from + " is not another member of " + cluster + ": two nodes were given the id " + from;
        }
        if (closed()) {
            throw new IOException("node " + self + " is stopping");
        }
        Inbound present = inbound.get(from);
        if (present != null && present.process != connection.process) {
            return "another process runs as node " + from + " and is connected from "
                    + present.channel.socket().getRemoteSocketAddress() + ": give each node an id of its own";
        }
        Inbound replaced = inbound.put(from, connection);
        if (replaced != null) {
            closeQuietly(replaced.channel);
        }
        return "";
    }

    /** The receiving half: what another node sends. */
    private final class Inbound {
        final SocketChannel channel;
        final int from;
        final long process;
        private final Frames.Reader reader;
        private volatile long readNanos = System.nanoTime();

        Inbound(SocketChannel channel, int from, long process) {
            this.channel = channel;
            this.from = from;
            this.process = process;
            reader = new Frames.Reader(channel, frame -> receiver.received(from, frame));
        }

        private void begin(RaftThread on) {
            try {
                on.register(channel, SelectionKey.OP_READ, this::ready);
            } catch (IOException | RuntimeException e) {
                lost(e);
            }
        }

        private void ready(SelectionKey key) {
            try {
                reader.read();
                readNanos = System.nanoTime();
            } catch (IOException e) {
                lost(e);
            }
        }

        private void lost(Exception cause) {
            LOGGER.debug("connection from node {} to node {}: {}", from, self, cause.toString());
            closeQuietly(channel);
            forget();
        }

        private void forget() {
            if (inbound.remove(from, this)) {
                receiver.reachabilityChanged();
            }
        }
    }
}
