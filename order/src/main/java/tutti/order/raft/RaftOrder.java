package tutti.order.raft;

import io.microraft.RaftEndpoint;
import io.microraft.impl.RaftNodeImpl;
import io.microraft.report.RaftNodeReport;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.schema.DecodeException;
import tutti.order.CopiedOrder;
import tutti.order.DeliveringOrder;
import tutti.order.DeliveryLoop;
import tutti.order.batch.Submissions;
import tutti.order.peer.Greeting;
import tutti.order.peer.PeerNetwork;
import tutti.order.peer.PeerReceiver;
import tutti.runtime.DamagedFileException;
import tutti.runtime.Directory;
import tutti.runtime.Loop;
import tutti.runtime.LostDirectoryException;
import tutti.runtime.Machine;
import tutti.runtime.Network;
import tutti.runtime.RemovedNodeException;
import tutti.runtime.TurnedAwayException;

/**
 * The durable total order: a Raft log on every node (Ongaro and Ousterhout, "In Search of an Understandable Consensus
 * Algorithm", 2014), run by MicroRaft, with our own log files, network and batching around it. What is delivered has
 * been flushed to the disks of a majority. See docs/decisions/0002-raft-library.md for why, and the comments there for
 * what of the library is used and what is not.
 *
 * <p>
 * Use: {@link #open}, {@link #join}, {@link #start}, {@link #append}..., {@link #close}. A node that was killed is opened
 * again with the same configuration and rejoins by itself.
 *
 * <p>
 * Raft, log and connections live on the loop of a {@link Network}; reader and listener are called on a loop of their own
 * ({@link DeliveryLoop}), which is run by Raft's if little is to be delivered.
 */
public final class RaftOrder extends DeliveringOrder implements CopiedOrder {
    private static final Logger LOGGER = LoggerFactory.getLogger(RaftOrder.class);
    /** What Raft's loop hands to reader or listener itself, at most: entries, and bytes. */
    private static final int HERE_ENTRIES_MAX = 4;
    private static final int HERE_BYTES_MAX = 1 << 16;
    /** A pause between tasks that hold Raft's loop up. */
    private static final long LATER_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    private enum State {
        OPEN,
        STARTED,
        CLOSED
    }

    private final RaftOrderConfig config;
    private final Machine machine;
    private final Network network;
    private final Loop loop;
    private final NodeDirectory directory;
    private final MetNodes met;
    /** Number of this process, which no other has. */
    private final long process;
    private final SegmentedLog log;
    private final Checkpoints checkpoints;
    private final PeerNetwork peers;
    private final RaftTime time;
    private final CommittedEntries committed;
    private final Submissions submissions;
    private final RaftTransport transport;
    private final Membership membership;
    private final KeptNotices kept;
    private final Set<Integer> founders;
    private final RaftNodeImpl raft;
    private final LeaderPreference preference;
    private final Elections elections;

    /* Of Raft's loop. */
    private int leader = -1;
    /** Whether it takes part: it has heard whether the others know its directory. */
    private boolean takesPart;
    private boolean tellsDelivery;
    private int untoldEntries;
    private long untoldBytes;

    private final AtomicReference<State> state = new AtomicReference<>(State.OPEN);
    private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    private final AtomicBoolean stopped = new AtomicBoolean();
    private volatile @Nullable Delivery delivery;

    private RaftOrder(RaftOrderConfig config, Machine machine, Directory files) throws IOException {
        super(config.self(), config.payloadBytesMax());
        this.config = config;
        this.machine = machine;
        List<AutoCloseable> opened = new ArrayList<>();
        try {
            MemberList members = MemberList.read(files, config);
            founders = members.founders();
            directory = new NodeDirectory(files, members.identity(config.self()), config.cluster(), machine.clock(),
                    machine.random("order directory " + config.self()).nextLong());
            opened.add(directory);
            Directory logFiles = files.directory("log");
            if (!directory.fresh() && !SegmentedLog.exists(logFiles)) {
                throw new DamagedFileException("the log in " + logFiles.location() + " is gone");
            }
            log = SegmentedLog.open(machine, logFiles, config.segmentBytes(), config.cacheBytes());
            opened.add(log);
            checkpoints = new Checkpoints(files, log);
            directory.check(log);
            directory.established(members.identity(config.self()));
            VotingGroups groups = new VotingGroups(files,
                    new VotingGroups.Group(0, founders, members.changed() ? founders : config.voters()));
            met = new MetNodes(config.self(), files);
            network = machine.network("order-" + config.self() + "-raft", this::fail);
            opened.add(network);
            loop = network.loop();
            process = machine.random("order process " + config.self()).nextLong();
            peers = new PeerNetwork(config.self(), config.members().get(config.self()), config.failureTimeout(),
                    members.others(config.self(), groups.last()), machine.clock(), network,
                    directory.cluster(), new FromNetwork());
            RaftSettings settings = new RaftSettings(config);
            time = new RaftTime(loop, machine.clock(), settings.speed());
            committed = new CommittedEntries(log, checkpoints, groups, config.segmentBytes(), new Committed());
            submissions = new Submissions(
                    new Submissions.Limits(config.self(), config.queueBytes(), config.batchBytes(),
                            config.batchWindow(), config.retransmitTimeout()),
                    directory.incarnation(), machine.clock(), peers::wireVersion,
                    this::toLeader);
            Host host = new Host();
            transport = new RaftTransport(config, loop, machine.clock(), log, checkpoints, committed, peers, host);
            raft = settings.build(directory, log, checkpoints.newest(),
                    groups.before(checkpoints.newest().index()), time,
                    machine.random("order elections " + config.self()), transport, committed, this::reported,
                    this::fail);
            membership = new Membership(config.self(), files, members, groups, peers, loop, raft, host);
            kept = new KeptNotices(config, machine.clock(), loop, directory, met, log, committed, peers, membership,
                    host);
            preference = new LeaderPreference(config, time, raft, peers);
            elections = new Elections(config, loop, machine.clock(), time, raft, this::publishView);
            transport.attach(raft, elections);
        } catch (IOException | RuntimeException e) {
            for (AutoCloseable closeable : opened.reversed()) {
                closeAfter(e, closeable);
            }
            throw e;
        }
    }

    private static void closeAfter(Exception cause, AutoCloseable closeable) {
        try {
            closeable.close();
        } catch (Exception e) {
            cause.addSuppressed(e);
        }
    }

    /**
     * Opens this node's log and its port. Nothing is sent or delivered before {@link #start}.
     *
     * @param directory of this node alone
     * @throws DamagedFileException if the log cannot be trusted
     * @throws IOException if the directory is in use or belongs to another node or cluster, if the port is taken, or if
     *             the disk fails
     */
    public static RaftOrder open(RaftOrderConfig config, Machine machine, Directory directory) throws IOException {
        try {
            return new RaftOrder(config, machine, directory);
        } catch (DamagedFileException damaged) {
            throw new DamagedFileException(damaged.getMessage() + ". The data in "
                    + directory.location()
                    + " cannot be trusted any more: look at its disk, and replace it by a copy of another node's"
                    + " (`tutti node --copy-from any`, docs/operations.md)", damaged);
        }
    }

    @Override
    public void start(long after, Reader reader) throws TruncatedException {
        if (state.get() != State.OPEN) {
            throw new IllegalStateException("an order is started once");
        }
        Checkpoints.Checkpoint from = checkpoints.before(after);
        if (from.positions() > after) {
            throw new TruncatedException(after, from.positions() + 1);
        }
        if (!state.compareAndSet(State.OPEN, State.STARTED)) {
            throw new IllegalStateException("an order is started once");
        }
        Delivery source = new Delivery(config, log, from, after, directory.incarnation(), submissions);
        delivery = source;
        deliver(machine, after, source, reader, this::fail);
        loop.execute(() -> {
            source.committed(committed.index());
            viewed(view());
            if (isLost(after)) {
                fail(new LostDirectoryException("node " + config.self() + " holds what was ordered up to position "
                        + after + ", but its order's directory is empty: put its directory back. If it is lost, "
                        + MetNodes.REMEDY));
            } else {
                begin();
            }
        });
    }

    /** Whether the log is gone in which it was, whatever the others know: some may have lost theirs. */
    private boolean isLost(long after) {
        return after > 0 && log.lastIndex() == 0;
    }

    /**
     * Connects, and takes part when all others have said whether they know this directory, or are away. Whoever takes longer is
     * not waited for: half of the time after which a node is given up is enough for a handshake.
     */
    private void begin() {
        peers.start();
        if (membership.all().size() == 1) {
            takePart();
        } else {
            var _ = loop.schedule(config.failureTimeout().toNanos() / 2, this::takePart);
        }
    }

    private void takePart() {
        if (takesPart || stopped.get()) {
            return;
        }
        takesPart = true;
        kept.tell();
        checkStalled();
        elections.watch();
        preference.watch();
        var _ = raft.start().whenComplete((_, e) -> {
            if (e != null) {
                fail(e);
            }
        });
    }

    @Override
    public void append(byte[] payload) throws OverflowException {
        checkLength(payload);
        if (stopped.get()) {
            throw new IllegalStateException("the order at node " + config.self() + " has stopped", failure.get());
        }
        if (submissions.submit(payload)) {
            loop.execute(submissions::pump);
        }
    }

    @Override
    public void multicast(byte[] payload, Set<Integer> nodes) {
        checkLength(payload);
        if (nodes.contains(config.self())) {
            received(config.self(), readOnly(payload), false);
        }
        Set<Integer> others = new TreeSet<>(nodes);
        loop.execute(() -> peers.send(others, new PeerMessage.Letter(payload), Greeting.Capability.LETTERS));
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

    @Override
    public Loop loop() {
        return loop;
    }

    @Override
    public void visitors(Network.Acceptor acceptor) {
        loop.execute(() -> peers.visitors(acceptor));
    }

    @Override
    public void copy(long after, Consumer<Copy> taken) {
        loop.execute(() -> {
            try {
                taken.accept(new OrderCopy(config, machine, log, checkpoints.from(after), membership.list(),
                        membership.groups(), met.copied(directory.number()), committed.index(), directory.term(),
                        directory.cluster()));
            } catch (IOException broken) {
                fail(broken);
            }
        });
    }

    @Override
    public void replaced(int node, long itsDirectory, long since, long position) {
        loop.execute(() -> {
            try {
                if (met.replaced(node, itsDirectory, since, position)) {
                    peers.drop(node);
                }
            } catch (IOException broken) {
                fail(broken);
            }
        });
    }

    /** Not with nodes that never vote, nor by a node alone, which no other could reach. */
    @Override
    public boolean changesMembers() {
        return config.voters().size() == config.members().size() && founders.size() > 1;
    }

    @Override
    public Set<Integer> founders(Set<Integer> configured) {
        return founders;
    }

    @Override
    public Members members() {
        return membership.list().now();
    }

    @Override
    public void members(Members now) {
        loop.execute(() -> heardOf(now));
    }

    private void heardOf(Members now) {
        if (membership.told(now)) {
            kept.again();
            publishView();
        }
    }

    private void received(int sender, ByteBuffer letter, boolean here) {
        withDeliveries(to -> to.received(sender, letter, here));
    }

    @Override
    public void prefer(Set<Integer> nodes) {
        preference.prefer(nodes);
    }

    /** Takes effect in steps of a file of the log. */
    @Override
    public void truncate(long position) {
        loop.execute(() -> {
            if (!stopped.get()) {
                committed.truncate(position);
            }
        });
    }

    @Override
    public Status status() {
        return new Status(lastDelivered(), committed.lastKnown(),
                checkpoints.oldest().positions() + 1, submissions.queuedBytes(), log.bytes());
    }

    @Override
    public long refused() {
        return peers.refusedConnections();
    }

    @Override
    public void close() {
        if (state.getAndSet(State.CLOSED) == State.CLOSED) {
            return;
        }
        stopped.set(true);
        for (AutoCloseable closeable : List.<AutoCloseable>of(network, () -> withDeliveries(DeliveryLoop::close), log,
                directory)) {
            try {
                closeable.close();
            } catch (Exception e) {
                LOGGER.warn("closing the order of node {}", config.self(), e);
            }
        }
    }

    /** Stops taking part, for good, and says why. Any thread; the first cause counts. */
    private void fail(Throwable cause) {
        if (failure.compareAndSet(null, cause)) {
            LOGGER.error("the order at node {} stops", config.self(), cause);
            stopped.set(true);
            // First: whatever comes of closing, the reader is told.
            withDeliveries(to -> to.fail(cause));
            if (loop.isCurrent()) {
                network.close();
            } else {
                loop.execute(network::close);
            }
        }
    }

    // ------------------------------------------------------------------------------------------ on Raft's loop

    private void toLeader(byte[] batch) {
        if (leader == config.self()) {
            replicate(Operation.of(LogEntry.BATCH, batch));
        } else if (leader >= 0) {
            peers.send(leader, new PeerMessage.Submit(batch));
        }
    }

    /** As the leader: has MicroRaft replicate a batch. If it will not, the sender repeats it later. */
    private void replicate(Operation batch) {
        var _ = raft.replicate(batch).exceptionally(e -> {
            LOGGER.debug("node {} could not replicate a batch: {}", config.self(), e.toString());
            return null;
        });
    }

    private void checkStalled() {
        if (submissions.stalled() && leader >= 0) {
            submissions.resend();
        }
        membership.ask();
        var _ = loop.schedule(config.retransmitTimeout().toNanos() / 2, this::checkStalled);
    }

    private void reported(RaftNodeReport report) {
        RaftEndpoint endpoint = report.getTerm().getLeaderEndpoint();
        int now = endpoint == null ? -1 : Node.id(endpoint);
        if (now != leader) {
            leader = now;
            if (now >= 0) {
                elections.led(report.getTerm().getTerm());
            }
            LOGGER.info("node {}: the leader is {} in term {}", config.self(), now < 0 ? "not known" : "node " + now,
                    report.getTerm().getTerm());
            if (now >= 0) {
                // After the report, so that MicroRaft has finished becoming what it reports.
                loop.execute(submissions::resend);
            }
        }
        // Or who takes part is another, and who can be reached is a majority of them, or no longer one.
        publishView();
    }

    private void publishView() {
        Set<Integer> members = peers.reachable();
        members.add(config.self());
        // Who is gone is replaced in a moment: nobody need be refused meanwhile.
        int shown = leader < 0 && elections.underWay(members) ? view().leader() : leader;
        View now = new View(members, shown >= 0 && membership.quorum(members), shown);
        if (!now.equals(view())) {
            viewed(now);
        }
    }

    private final class Host implements RaftTransport.Host {
        @Override
        public boolean isStopped() {
            return stopped.get();
        }

        @Override
        public boolean isLeader() {
            return leader == config.self();
        }

        @Override
        public void fail(Throwable cause) {
            RaftOrder.this.fail(cause);
        }
    }

    private final class FromNetwork implements PeerReceiver {
        @Override
        public void received(int from, ByteBuffer frame) throws IOException {
            if (stopped.get()) {
                return;
            }
            PeerMessage read;
            try {
                read = PeerMessage.SET.decode(frame);
            } catch (DecodeException wrong) {
                throw new IOException(wrong.getMessage(), wrong);
            }
            switch (read) {
                case PeerMessage.Letter(byte[] payload) -> RaftOrder.this.received(from,
                        readOnly(payload), payload.length <= HERE_BYTES_MAX);
                case PeerMessage.Submit(byte[] batch) -> submitted(from, Operation.of(LogEntry.BATCH, batch));
                case PeerMessage.Kept(int term, boolean voted, long index) -> {
                    promises(from);
                    met.heard(from, term, voted, index);
                }
                case PeerMessage.Replaced(int node, long itsDirectory, long position) ->
                    replaced(node, itsDirectory, position, position);
                case PeerMessage.Members(Members now) -> heardOf(now);
                case PeerMessage.Truncated truncated -> {
                    if (from == leader) {
                        transport.received(truncated);
                    }
                }
                case PeerMessage.Raft message -> {
                    if (takesPart) {
                        promises(from);
                        transport.received(from, message);
                        met.heard(from, message, leader == config.self() && message.term() == directory.term(),
                                committed.index());
                    }
                }
            }
        }

        /** One that names a later life of a third node would shut that one out. */
        private void submitted(int from, Operation batch) throws IOException {
            if (batch.sender != from) {
                throw new IOException("node " + from + " hands in " + batch);
            }
            if (leader == config.self()) {
                replicate(batch);
            }
        }

        /** Notes whose promise is about to count. */
        private void promises(int from) throws IOException {
            try {
                met.promises(from);
            } catch (IOException broken) {
                fail(broken);
                throw broken;
            }
        }

        @Override
        public Greeting.Hello hello() {
            String cluster = directory.cluster();
            return new Greeting.Hello(config.self(), process,
                    new Greeting.Standing(directory.number(), directory.life(), directory.term(),
                            directory.votedFor() != null, log.lastIndex()),
                    membership.list().words() + (cluster.isEmpty() ? "" : " of cluster " + cluster));
        }

        @Override
        public void asked() {
            loop.execute(RaftOrder.this::takePart);
        }

        @Override
        public void reachabilityChanged() {
            kept.again();
            loop.execute(RaftOrder.this::publishView);
        }

        @Override
        public void gone(int node) {
            if (takesPart) {
                elections.gone(node);
            }
        }

        @Override
        public Greeting.Answer admit(Greeting.Hello hello, String otherwise) throws IOException {
            try {
                return met.admit(hello, otherwise, membership.list().now().learners().contains(hello.node()));
            } catch (IOException broken) {
                fail(broken);
                throw broken;
            }
        }

        @Override
        public boolean needsCopy(Greeting.Hello hello, boolean proven) throws IOException {
            return (membership.list().now().learners().contains(hello.node()) && !met.hasMet(hello.node()))
                    || (proven && !met.knows(hello.node(), hello.standing().directory()));
        }

        @Override
        public Set<Integer> removed() {
            return membership.list().now().removed().keySet();
        }

        @Override
        public void wasRemoved(String reason) {
            directory.removed(reason);
            fail(new RemovedNodeException(reason));
        }

        @Override
        public void rejected(String reason, boolean outdated, boolean lost) {
            if (outdated) {
                directory.outdated(reason);
            }
            String refused = "node " + config.self() + " may not join: " + reason;
            fail(outdated || lost ? new LostDirectoryException(refused) : new TurnedAwayException(refused));
        }
    }

    private final class Committed implements CommittedEntries.Listener {
        @Override
        public void committed(long index, Operation operation, boolean counts) {
            if (counts) {
                transport.committed(operation.sender);
            }
            if (operation.change() != null) {
                loop.execute(membership::changed);
            }
            Delivery source = delivery;
            if (source != null) {
                source.committed(index);
            }
            untoldEntries++;
            untoldBytes += operation.bodyBytes();
            if (!tellsDelivery) {
                tellsDelivery = true;
                loop.execute(RaftOrder.this::tellDelivery);
            }
            if (counts && operation.sender == config.self() && operation.incarnation == directory.incarnation()) {
                submissions.ordered(operation.sequence);
            }
        }

        @Override
        public long read() {
            Delivery source = delivery;
            return source == null ? 0 : source.read();
        }

        @Override
        public void later(Runnable task) {
            var _ = loop.schedule(LATER_NANOS, task);
        }

        @Override
        public void failed(Throwable cause) {
            fail(cause);
        }
    }

    /** Once for all that was committed in a turn of the loop, and behind what it sends. */
    private void tellDelivery() {
        boolean here = untoldEntries <= HERE_ENTRIES_MAX && untoldBytes <= HERE_BYTES_MAX;
        tellsDelivery = false;
        untoldEntries = 0;
        untoldBytes = 0;
        withDeliveries(to -> to.more(here));
    }
}
