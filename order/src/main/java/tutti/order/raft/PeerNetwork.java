package tutti.order.raft;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.zip.CRC32C;
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
 * frame: length 4 | CRC32C of the bytes 4 | bytes ; length 0 says only that the sender lives
 * </pre>
 *
 * Thread safe.
 */
final class PeerNetwork implements AutoCloseable {
    private static final Logger LOGGER = LoggerFactory.getLogger(PeerNetwork.class);
    private static final long MAGIC = 0x5475_7474_694f_7231L;
    private static final int QUEUE_FRAMES = 4096;
    private static final long QUEUE_BYTES = 64 << 20;
    private static final int FRAME_BYTES_MAX = 1 << 29;

    /** What happens with frames and connections; called from threads of the network. */
    interface Receiver {
        void received(int from, ByteBuffer frame) throws IOException, InterruptedException;

        /** The set of {@link #reachable} nodes is another now. */
        void reachabilityChanged();

        /** No other node accepts this one, for this reason. */
        void rejected(String reason);
    }

    private final int self;
    private final String cluster;
    private final long process = ThreadLocalRandom.current().nextLong();
    private final long failureMillis;
    private final Receiver receiver;
    private final ServerSocket server;
    private final Map<Integer, Peer> peers = new TreeMap<>();
    private final Map<Integer, Inbound> inbound = new ConcurrentHashMap<>();
    private final CountDownLatch closing = new CountDownLatch(1);
    private volatile boolean everAccepted;
    private volatile long rejectedSinceNanos;

    private record Inbound(Socket socket, long process) {}

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
        server = new ServerSocket();
        try {
            server.setReuseAddress(true);
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

    void start() {
        thread("accept", this::acceptAll);
        peers.values().forEach(p -> thread("to-" + p.id, p));
    }

    private void thread(String name, Runnable body) {
        Thread.ofPlatform().daemon().name("order-" + self + "-" + name).start(body);
    }

    private boolean closed() {
        return closing.getCount() == 0;
    }

    /** Sends a frame if the node can be reached and is not too far behind in reading. */
    void send(int to, byte[] frame) {
        Peer peer = peers.get(to);
        if (peer != null && peer.connected && !peer.offer(frame)) {
            LOGGER.debug("node {} does not keep up, a message to it is dropped", to);
        }
    }

    /** Nodes to which there is a connection in both directions, without this one. */
    Set<Integer> reachable() {
        Set<Integer> ids = new TreeSet<>();
        for (Peer peer : peers.values()) {
            if (peer.connected && inbound.containsKey(peer.id)) {
                ids.add(peer.id);
            }
        }
        return ids;
    }

    @Override
    public void close() {
        closing.countDown();
        closeQuietly(server);
        inbound.values().forEach(i -> closeQuietly(i.socket()));
        for (Peer peer : peers.values()) {
            Socket socket = peer.socket;
            if (socket != null) {
                closeQuietly(socket);
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

    private void prepare(Socket socket) throws IOException {
        socket.setTcpNoDelay(true);
        socket.setSoTimeout((int) Math.max(1000, failureMillis * 2));
    }

    /** The sending half: connects, and connects again, for as long as the node runs. */
    private final class Peer implements Runnable {
        final int id;
        private final InetSocketAddress address;
        private final ArrayBlockingQueue<byte[]> queue = new ArrayBlockingQueue<>(QUEUE_FRAMES);
        private final AtomicLong queuedBytes = new AtomicLong();
        volatile boolean connected;
        volatile @Nullable Socket socket;

        Peer(int id, InetSocketAddress address) {
            this.id = id;
            this.address = address;
        }

        boolean offer(byte[] frame) {
            // A single frame is always taken, however long.
            if (queuedBytes.get() > QUEUE_BYTES || !queue.offer(frame)) {
                return false;
            }
            queuedBytes.addAndGet(frame.length);
            return true;
        }

        @Override
        public void run() {
            long waitMillis = 10;
            while (!closed()) {
                try (Socket s = new Socket()) {
                    socket = s;
                    prepare(s);
                    s.connect(new InetSocketAddress(address.getHostString(), address.getPort()),
                            (int) Math.max(1000, failureMillis));
                    DataOutputStream out = new DataOutputStream(new BufferedOutputStream(s.getOutputStream(), 1 << 16));
                    if (greet(s, out)) {
                        waitMillis = 10;
                        connected = true;
                        receiver.reachabilityChanged();
                        sendAll(out);
                    } else {
                        waitMillis = 1000;
                    }
                } catch (IOException e) {
                    LOGGER.debug("node {} to node {}: {}", self, id, e.toString());
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    return;
                } finally {
                    socket = null;
                    if (connected) {
                        connected = false;
                        receiver.reachabilityChanged();
                    }
                    for (byte[] lost = queue.poll(); lost != null; lost = queue.poll()) {
                        queuedBytes.addAndGet(-lost.length);
                    }
                }
                if (pause(waitMillis)) {
                    return;
                }
                waitMillis = waitMillis >= 1000 ? 10 : Math.min(waitMillis * 2, 250);
            }
        }

        private boolean greet(Socket s, DataOutputStream out) throws IOException {
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

        private void sendAll(DataOutputStream out) throws IOException, InterruptedException {
            CRC32C crc = new CRC32C();
            while (!closed()) {
                byte[] frame = queue.poll();
                if (frame == null) {
                    out.flush();
                    frame = queue.poll(aliveMillis(), TimeUnit.MILLISECONDS);
                    if (frame == null) {
                        out.writeLong(0);
                        out.flush();
                        continue;
                    }
                }
                queuedBytes.addAndGet(-frame.length);
                crc.reset();
                crc.update(frame);
                out.writeInt(frame.length);
                out.writeInt((int) crc.getValue());
                out.write(frame);
            }
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
                Socket socket = server.accept();
                thread("from", () -> receive(socket));
            } catch (IOException e) {
                if (!closed()) {
                    LOGGER.warn("node {} could not accept a connection: {}", self, e.toString());
                    pause(100);
                }
            }
        }
    }

    private void receive(Socket socket) {
        Inbound mine = null;
        int from = -1;
        try (socket) {
            prepare(socket);
            DataInputStream in = new DataInputStream(new BufferedInputStream(socket.getInputStream(), 1 << 16));
            if (in.readLong() != MAGIC) {
                LOGGER.warn("{} connected to the order port of node {} and is no node", socket.getRemoteSocketAddress(),
                        self);
                return;
            }
            from = in.readInt();
            mine = new Inbound(socket, in.readLong());
            String refusal = admit(from, mine, in.readUTF());
            DataOutputStream out = new DataOutputStream(socket.getOutputStream());
            out.writeUTF(refusal);
            out.flush();
            if (!refusal.isEmpty()) {
                LOGGER.error("node {} turns {} away: {}", self, socket.getRemoteSocketAddress(), refusal);
                mine = null;
                return;
            }
            receiver.reachabilityChanged();
            readFrames(from, in);
        } catch (IOException e) {
            LOGGER.debug("connection from node {} to node {}: {}", from, self, e.toString());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            if (mine != null && inbound.remove(from, mine)) {
                receiver.reachabilityChanged();
            }
        }
    }

    /** Why this connection must not be, or nothing. */
    private synchronized String admit(int from, Inbound connection, String theirCluster) throws IOException {
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
        if (present != null && present.process() != connection.process()) {
            return "another process runs as node " + from + " and is connected from "
                    + present.socket().getRemoteSocketAddress() + ": give each node an id of its own";
        }
        Inbound replaced = inbound.put(from, connection);
        if (replaced != null) {
            closeQuietly(replaced.socket());
        }
        return "";
    }

    private void readFrames(int from, DataInputStream in) throws IOException, InterruptedException {
        CRC32C crc = new CRC32C();
        while (!closed()) {
            int length = in.readInt();
            int expected = in.readInt();
            if (length < 0 || length > FRAME_BYTES_MAX) {
                throw new IOException("frame of " + length + " bytes");
            }
            if (length > 0) {
                byte[] frame = new byte[length];
                in.readFully(frame);
                crc.reset();
                crc.update(frame);
                if ((int) crc.getValue() != expected) {
                    throw new IOException("bad checksum of a frame");
                }
                receiver.received(from, ByteBuffer.wrap(frame));
            }
        }
    }
}
