package tutti.bookkeeper;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.schema.DecodeException;
import tutti.order.DeliveringOrder;
import tutti.order.DeliveryLoop;
import tutti.order.NodeLives;
import tutti.order.OrderSettings;
import tutti.order.batch.Batch;
import tutti.order.batch.Submissions;
import tutti.order.peer.Greeting;
import tutti.order.peer.PeerNetwork;
import tutti.order.peer.PeerReceiver;
import tutti.runtime.Directory;
import tutti.runtime.Machine;
import tutti.runtime.Network;
import tutti.runtime.RemovedNodeException;
import tutti.runtime.TurnedAwayException;

/**
 * A durable total order whose log is in Apache BookKeeper: ledgers, one after the other, which ZooKeeper lists. One node at a time, the
 * owner, writes; the others send it their batches and are told how far the log is written; all read it from the bookies.
 * {@link LogWriter} says why one at a time writes and why all deliver the same; docs/decisions/0078-bookkeeper.md why it is made so.
 *
 * <p>
 * <b>When messages are ordered.</b> At a node that reaches ZooKeeper, and the owner, which reaches ZooKeeper and as many bookies as a
 * ledger needs. How many nodes there are does not matter: one alone goes on. A node that is cut off from one of these is told that
 * there is no majority ({@link View#majority}), keeps what it is given, and goes on when it is back.
 *
 * <p>
 * <b>What a node keeps.</b> Its directory holds the number of its life only. Deliveries begin again from the bookies, behind the position
 * that the node has applied. If they do not hold that any more, the reader is told so by a {@link TruncatedException} in
 * {@link tutti.core.spi.DurableLog.Reader#failed}, since no node knows at its start what there is.
 *
 * <p>
 * Everything happens on the loop of the network; reader and listener are called on a loop of their own. BookKeeper's and ZooKeeper's
 * clients have threads, whose answers come to the loop.
 */
public final class BookKeeperOrder extends DeliveringOrder {
    private static final Logger LOG = LoggerFactory.getLogger(BookKeeperOrder.class);
    private static final int BATCHES_UNDER_WAY = 4;
    /** What the loop hands to reader or listener itself, at most, in bytes. */
    private static final int HERE_BYTES_MAX = 1 << 16;
    /** A node that cannot have anything written for so many times of the failure timeout leaves the log to others. */
    private static final int STUCK_TIMEOUTS = 8;
    /** A writer of which nothing was heard for so many times of the failure timeout is not counted upon. */
    private static final int SILENT_TIMEOUTS = 3;

    private final OrderSettings settings;
    private final Machine machine;
    private final NodeLives directory;
    private final String identity;
    private final String zookeeper;
    private final long life;
    private final long process;
    private final Network network;
    private final PeerNetwork peers;
    private final LogRegistry registry;
    private final LedgerStore store;
    private final Submissions submissions;
    private final AtomicBoolean started = new AtomicBoolean();
    private final AtomicBoolean closed = new AtomicBoolean();
    private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    private volatile long lastKnown;
    private volatile long firstRetained = 1;
    private volatile long logBytes;
    /* Of the network's loop. */
    private long after;
    private @Nullable LogReader reader;
    private @Nullable LogWriter writer;
    private boolean owns;
    private LedgerList list;
    private long truncate;
    private int leader = -1;
    /** What the leader has said last, and when. */
    private LedgerMessage.@Nullable Written said;
    private long saidNanos;
    /** What this node would say as the leader, and whether that is new. */
    private LedgerMessage.@Nullable Written own;
    private boolean tells;
    private boolean readable;

    private BookKeeperOrder(OrderSettings settings, Machine machine, Directory files) throws IOException {
        super(settings.self(), settings.payloadBytesMax());
        this.settings = settings;
        this.machine = machine;
        BookKeeperParameters parameters = BookKeeperParameters.of(settings.parameters(), settings.cluster());
        identity = "cluster " + settings.cluster() + (settings.clusterId().isEmpty() ? "" : " " + settings.clusterId())
                + " of nodes " + settings.members().entrySet().stream()
                        .map(e -> e.getKey() + "=" + e.getValue().getHostString() + ":" + e.getValue().getPort())
                        .collect(Collectors.joining(","))
                + " with its log at " + parameters.path();
        zookeeper = parameters.zookeeper();
        list = LedgerList.empty(identity);
        directory = new NodeLives(files, "ledgers", "node " + settings.self() + " of " + identity, machine.clock());
        life = directory.formerLife() + 1;
        process = machine.random("order process " + settings.self()).nextLong();
        Network opened = machine.network("order-" + settings.self(), this::fail);
        try {
            Map<Integer, InetSocketAddress> others = new TreeMap<>(settings.members());
            InetSocketAddress here = others.remove(settings.self());
            if (here == null) {
                throw new IllegalArgumentException("node " + settings.self() + " is none of " + settings.members());
            }
            peers = new PeerNetwork(settings.self(), here, settings.failureTimeout(), others, machine.clock(), opened,
                    settings.clusterId(), new Peers());
        } catch (IOException | RuntimeException failed) {
            opened.close();
            directory.close();
            throw failed;
        }
        network = opened;
        int millis = Math.toIntExact(settings.failureTimeout().toMillis());
        registry = new LogRegistry(parameters, settings.self(), identity, millis, network.loop(), machine,
                new Registered());
        store = new LedgerStore(parameters, settings.self(), Math.max(2, 2 * millis / 1000), machine, network.loop(),
                this::storeOpened);
        submissions = new Submissions(new Submissions.Limits(settings.self(), settings.queueBytes(),
                settings.batchBytes(), BATCHES_UNDER_WAY, settings.failureTimeout()), life, machine.clock(),
                peers::wireVersion, this::toLeader);
    }

    /**
     * Opens this node's port. ZooKeeper and bookies are not asked before {@link #start}, and then until they answer.
     *
     * @param directory of this node alone
     * @throws IOException if the directory is in use or belongs to another node, cluster or kind of order, if the port is taken, or
     *             if the disk fails
     * @throws IllegalArgumentException if a parameter is missing or impossible; it says which
     */
    public static BookKeeperOrder open(OrderSettings settings, Machine machine, Directory directory)
            throws IOException {
        return new BookKeeperOrder(settings, machine, directory);
    }

    // ------------------------------------------------------------------------------------------ Order

    @Override
    public void start(long behind, Reader to) {
        if (closed.get() || !started.compareAndSet(false, true)) {
            throw new IllegalStateException("an order is started once");
        }
        LogReader source = new LogReader(store, settings.self(), identity, behind, network.loop(),
                () -> registry.read(read -> {
                    if (read != null) {
                        listed(read.list());
                    }
                }), new Reading());
        deliver(machine, behind, source, to, this::fail);
        network.loop().execute(() -> {
            after = behind;
            reader = source;
            viewed(view());
            peers.start();
            registry.start();
            store.start();
            tick();
        });
    }

    @Override
    public void append(byte[] payload) throws OverflowException {
        checkLength(payload);
        if (closed.get()) {
            throw new IllegalStateException("the order at node " + settings.self() + " has stopped", failure.get());
        }
        if (submissions.submit(payload)) {
            network.loop().execute(submissions::pump);
        }
    }

    @Override
    public void multicast(byte[] payload, Set<Integer> nodes) {
        checkLength(payload);
        if (nodes.contains(settings.self())) {
            withDeliveries(to -> to.received(settings.self(), readOnly(payload), false));
        }
        Set<Integer> others = new TreeSet<>(nodes);
        network.loop().execute(() -> peers.send(others, new LedgerMessage.Letter(payload)));
    }

    @Override
    public int wireVersion() {
        return peers.wireVersion();
    }

    @Override
    public boolean allCan(String capability) {
        return peers.allCan(capability);
    }

    @Override
    public void can(Set<String> capabilities) {
        peers.can(capabilities);
    }

    @Override
    public Set<Integer> unable(String capability) {
        return peers.unable(capability);
    }

    /** Takes effect in steps of a ledger, at the owner. */
    @Override
    public void truncate(long position) {
        network.loop().execute(() -> {
            truncate = Math.max(truncate, position);
            if (writer != null) {
                writer.truncate(truncate);
            }
        });
    }

    @Override
    public Status status() {
        return new Status(lastDelivered(), Math.max(lastDelivered(), lastKnown), firstRetained,
                submissions.queuedBytes(), logBytes);
    }

    @Override
    public long refused() {
        return peers.refusedConnections();
    }

    @Override
    public void close() {
        if (!closed.getAndSet(true) || failure.get() != null) {
            stop();
        }
    }

    private void stop() {
        // What is left of them does nothing: their answers come to a loop that is closed.
        network.close();
        withDeliveries(DeliveryLoop::close);
        registry.close();
        store.close();
        try {
            directory.close();
        } catch (IOException unclosed) {
            LOG.warn("node {}: its order's directory was not unlocked: {}", settings.self(), unclosed.getMessage());
        }
    }

    /** Stops taking part, for good, and says why. Any thread; the first cause counts. */
    private void fail(Throwable cause) {
        if (failure.compareAndSet(null, cause)) {
            closed.set(true);
            LOG.error("the order at node {} stops", settings.self(), cause);
            withDeliveries(to -> to.fail(cause));
            network.loop().execute(() -> {
                registry.close();
                store.close();
                network.close();
            });
        }
    }

    // ------------------------------------------------------------------------------------------ who writes

    private void storeOpened() {
        own();
        LogReader source = reader;
        if (source != null) {
            source.pump();
        }
    }

    /** Takes the log over if this node owns it, and can. */
    private void own() {
        if (owns && store.isOpen() && writer == null) {
            writer = new LogWriter(store, registry, settings.self(), identity, settings.segmentBytes(), after == 0,
                    truncate, peers::wireVersion, machine.clock(), new Writing());
        }
    }

    private void toLeader(byte[] batch) {
        if (leader == settings.self()) {
            submit(batch);
        } else if (leader >= 0) {
            peers.send(leader, new LedgerMessage.Submit(batch));
        }
    }

    /** Nothing more is written while ZooKeeper is out of reach: others may have taken the log over. */
    private void submit(byte[] batch) {
        LogWriter to = writer;
        if (to != null && to.isWriting() && registry.isConnected()) {
            to.submit(batch);
        }
    }

    /** Something was heard of how far the log is written. */
    private void written(int by, LedgerMessage.Written now) {
        LogReader source = reader;
        LedgerList.Segment last = list.last();
        if (source == null) {
            return;
        }
        if (list.find(now.ledger()) != null) {
            source.written(now.ledger(), now.entry());
            lastKnown = Math.max(lastKnown, now.positions());
        } else if (last == null || by == settings.self() || now.ledger() > last.ledger()) {
            // It comes to be known soon; what is said is said again.
            registry.read(read -> {
                if (read != null) {
                    listed(read.list());
                }
            });
        }
        if (last != null && last.ledger() == now.ledger()) {
            if (now.positions() < after) {
                fail(new IOException("the log of this cluster ends with position " + now.positions()
                        + ", but this node has applied " + after
                        + ": part of it was lost, or it is another one. Give the bookies their disks back, or begin a new"
                        + " cluster with the database of the node whose position is highest"));
                return;
            }
            said = now;
            saidNanos = machine.clock().nanoTime();
            lead(by);
        }
    }

    private void lead(int now) {
        boolean other = now != leader;
        leader = now;
        publishView();
        if (other) {
            LOG.info("node {}: the log is written by {}", settings.self(), now < 0 ? "nobody" : "node " + now);
            if (now >= 0) {
                submissions.resend();
            }
        }
    }

    private void listed(LedgerList now) {
        LedgerList.Segment last = now.last();
        boolean another = last != null && (list.last() == null || list.last().ledger() != last.ledger());
        list = now;
        firstRetained = now.firstRetained();
        if (last != null) {
            lastKnown = Math.max(lastKnown, last.before());
        }
        if (writer != null) {
            writer.heard(now);
        }
        LogReader source = reader;
        if (source != null) {
            source.listed(now);
            count(source);
        }
        if (another) {
            LedgerMessage.Written mine = own;
            if (mine != null && last.ledger() == mine.ledger()) {
                written(settings.self(), mine);
            } else if (said == null || said.ledger() != last.ledger()) {
                // Whoever writes it says so.
                lead(-1);
            }
        }
    }

    private void count(LogReader source) {
        logBytes = list.closedBytes() + source.readBytes();
    }

    private void publishView() {
        Set<Integer> members = peers.reachable();
        members.add(settings.self());
        int known = leader >= 0 && registry.isConnected() && members.contains(leader) ? leader : -1;
        View now = new View(members, known >= 0, known, known >= 0 ? null : why());
        if (!now.equals(view())) {
            viewed(now);
        }
    }

    /** Why nothing that this node is given is ordered now, and what to do. */
    private String why() {
        if (!registry.isConnected()) {
            return "the node cannot reach ZooKeeper at " + zookeeper
                    + ", which the log in BookKeeper needs: writes wait until it does; see that a majority of its servers runs, or use"
                    + " a node that reaches them";
        }
        return leader >= 0
                ? "the node cannot reach node " + leader
                        + ", which writes the log in BookKeeper: writes wait until it does, or another one takes over;"
                        + " use a node that can"
                : "no node writes the log in BookKeeper at the moment: writes wait until another one has taken it over, which takes"
                        + " seconds, and enough bookies answer; see that they run";
    }

    /** Tells the others how far the log is written, once for all that was told in a turn of the loop. */
    private void tell() {
        tells = false;
        LedgerMessage.Written now = own;
        LogWriter by = writer;
        if (now == null || by == null || !by.isWriting() || !registry.isConnected()) {
            return;
        }
        Set<Integer> others = new TreeSet<>(settings.members().keySet());
        others.remove(settings.self());
        peers.send(others, now);
        written(settings.self(), now);
    }

    private void tellSoon() {
        if (!tells) {
            tells = true;
            network.loop().execute(this::tell);
        }
    }

    /** This node writes no more, or not now. */
    private void stopped() {
        LedgerMessage.Written last = own;
        if (last != null) {
            Set<Integer> others = new TreeSet<>(settings.members().keySet());
            others.remove(settings.self());
            peers.send(others, new LedgerMessage.Stopped(last.ledger()));
        }
        if (leader == settings.self()) {
            lead(-1);
        }
    }

    /** Now and then: says again what may have been lost, and gives up what does not move. */
    private void tick() {
        long failureNanos = settings.failureTimeout().toNanos();
        LogWriter mine = writer;
        if (mine != null && mine.waitsNanos() > STUCK_TIMEOUTS * failureNanos) {
            mine.end("bookies have not answered for " + mine.waitsNanos() / 1_000_000 + " ms");
        } else if (mine != null && mine.waitsNanos() > SILENT_TIMEOUTS * failureNanos) {
            stopped();
        } else {
            tell();
        }
        if (leader >= 0 && machine.clock().nanoTime() - saidNanos > SILENT_TIMEOUTS * failureNanos) {
            lead(-1);
        }
        if (submissions.stalled() && leader >= 0) {
            submissions.resend();
        }
        var _ = network.loop().schedule(failureNanos / 4, this::tick);
    }

    private final class Writing implements LogWriter.Owner {
        @Override
        public void written(long ledger, long entry, long positions) {
            own = new LedgerMessage.Written(ledger, entry, positions);
            tellSoon();
        }

        @Override
        public void stopped(String why) {
            LOG.info("node {} does not write the log any more: {}", settings.self(), why);
            BookKeeperOrder.this.stopped();
            own = null;
            writer = null;
            // Another node may be able to.
            registry.resign();
        }

        @Override
        public void broken(IOException cause) {
            fail(cause);
        }
    }

    private final class Registered implements LogRegistry.Listener {
        @Override
        public void reachable(boolean now) {
            if (now) {
                tellSoon();
            } else if (owns) {
                stopped();
            }
            publishView();
        }

        @Override
        public void listed(LedgerList now) {
            BookKeeperOrder.this.listed(now);
        }

        @Override
        public void owns() {
            owns = true;
            own();
        }

        @Override
        public void ownsNot() {
            owns = false;
            LogWriter present = writer;
            if (present != null) {
                present.end("its session with ZooKeeper has ended");
            }
        }

        @Override
        public void failed(IOException cause) {
            fail(cause);
        }
    }

    private final class Reading implements LogReader.Owner {
        @Override
        public void read(Batch batch) {
            if (batch.sender() == settings.self() && batch.incarnation() == life) {
                submissions.ordered(batch.sequence());
            }
        }

        @Override
        public void readable() {
            LogReader source = reader;
            if (source != null) {
                count(source);
            }
            if (!readable) {
                readable = true;
                network.loop().execute(() -> {
                    readable = false;
                    withDeliveries(to -> to.more(true));
                });
            }
        }

        @Override
        public void delivered(Batch batch) {
            if (batch.sender() == settings.self() && batch.incarnation() == life) {
                submissions.delivered(batch.messages().bytes());
            }
        }

        @Override
        public void failed(Throwable cause) {
            fail(cause);
        }
    }

    private final class Peers implements PeerReceiver {
        @Override
        public void received(int from, ByteBuffer frame) throws IOException {
            if (closed.get()) {
                return;
            }
            LedgerMessage read;
            try {
                read = LedgerMessage.SET.decode(frame);
            } catch (DecodeException wrong) {
                throw new IOException(wrong.getMessage(), wrong);
            }
            switch (read) {
                case LedgerMessage.Submit(byte[] batch) -> {
                    // One that names a later life of a third node would shut that one out.
                    if (Batch.of(batch).sender() != from) {
                        throw new IOException("node " + from + " hands in a batch of node " + Batch.of(batch).sender());
                    }
                    submit(batch);
                }
                case LedgerMessage.Letter(byte[] payload) -> withDeliveries(
                        to -> to.received(from, readOnly(payload), payload.length <= HERE_BYTES_MAX));
                case LedgerMessage.Written now -> written(from, now);
                case LedgerMessage.Stopped(long ledger) -> {
                    LedgerMessage.Written last = said;
                    if (leader == from && last != null && last.ledger() <= ledger) {
                        lead(-1);
                    }
                }
            }
        }

        @Override
        public void reachabilityChanged() {
            publishView();
            tellSoon();
        }

        @Override
        public void gone(int node) {
            // Who writes next is ZooKeeper's to say.
        }

        @Override
        public Greeting.Hello hello() {
            return new Greeting.Hello(settings.self(), process, new Greeting.Standing(0, life, 0, false, 0), identity);
        }

        @Override
        public Greeting.Answer admit(Greeting.Hello hello, String otherwise) {
            return new Greeting.Answer(otherwise, false);
        }

        @Override
        public boolean needsCopy(Greeting.Hello hello, boolean proven) {
            return false;
        }

        @Override
        public Set<Integer> removed() {
            return Set.of();
        }

        @Override
        public void asked() {
            // Nothing waits for them.
        }

        @Override
        public void rejected(String reason, boolean outdated, boolean lost) {
            fail(new TurnedAwayException("node " + settings.self() + " may not join: " + reason));
        }

        @Override
        public void wasRemoved(String reason) {
            fail(new RemovedNodeException(reason));
        }
    }
}
