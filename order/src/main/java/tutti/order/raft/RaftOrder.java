package tutti.order.raft;

import io.microraft.RaftConfig;
import io.microraft.RaftEndpoint;
import io.microraft.RaftNode;
import io.microraft.RaftNode.RaftNodeBuilder;
import io.microraft.impl.RaftNodeImpl;
import io.microraft.RaftRole;
import io.microraft.impl.state.LeaderState;
import io.microraft.impl.state.RaftState;
import io.microraft.model.log.SnapshotEntry;
import io.microraft.model.message.AppendEntriesFailureResponse;
import io.microraft.model.message.AppendEntriesRequest;
import io.microraft.model.message.AppendEntriesSuccessResponse;
import io.microraft.model.message.InstallSnapshotRequest;
import io.microraft.model.message.RaftMessage;
import io.microraft.persistence.RestoredRaftState;
import io.microraft.report.RaftNodeReport;
import io.microraft.statemachine.StateMachine;
import io.microraft.transport.Transport;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.spi.DurableLog;
import tutti.core.spi.Group;
import tutti.core.spi.Order;
import tutti.order.DeliveryLoop;
import tutti.runtime.real.RealMachine;

/**
 * The durable total order: a Raft log on every node (Ongaro and Ousterhout, "In Search of an Understandable Consensus
 * Algorithm", 2014), run by MicroRaft, with our own log files, network and batching around it. What is delivered has
 * been flushed to the disks of a majority. See docs/decisions/0002-raft-library.md for why, and the comments there for
 * what of the library is used and what is not.
 *
 * <p>
 * Use: {@link #open}, {@link #join}, {@link #start}, {@link #append}..., {@link #close}. A node that was killed is opened again with the
 * same configuration and rejoins by itself.
 */
public final class RaftOrder implements Order, DurableLog, Group {
    private static final Logger LOGGER = LoggerFactory.getLogger(RaftOrder.class);

    /** MicroRaft's seconds between heartbeats, and until a silent leader is given up. */
    private static final int HEARTBEAT = 1;
    private static final int HEARTBEATS_MISSED = 5;
    private static final int ELECTION_MILLIS = 1500;
    /** Log entries in MicroRaft's memory before it forgets; they are small, see {@link Operation}. */
    private static final int ENTRIES_IN_MEMORY = 16_384;
    private static final int UNCOMMITTED_ENTRIES_MAX = 4096;
    private static final int ENTRIES_PER_APPEND = 256;
    private static final int BYTES_PER_APPEND = 4 << 20;
    private static final int CHECKPOINT_ENTRIES = 4096;

    private final RaftOrderConfig config;
    private final NodeDirectory directory;
    private final SegmentedLog log;
    private final Checkpoints checkpoints;
    private final RaftThread thread;
    private final PeerNetwork network;
    private final RaftNodeImpl raft;
    private final Submissions submissions;
    private final Preference preference;
    private final CommitNotices notices;

    /** After the entry {@link #applied}; of the Raft thread, like the following. */
    private final SenderTable table;
    private long applied;
    private int appliedTerm;
    private long appliedSinceCheckpointBytes;
    private long checkpointIndex;
    private int leader = -1;
    /** The caller allowed to forget positions up to here. */
    private long forgettable;

    private volatile long lastKnown;
    private volatile View view;
    private volatile boolean stopped;
    private volatile @Nullable Listener listener;
    private volatile @Nullable Delivery delivery;
    private volatile @Nullable DeliveryLoop deliveries;
    private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    private boolean started;

    private RaftOrder(RaftOrderConfig config, FileOpener files) throws IOException {
        this.config = config;
        List<AutoCloseable> opened = new ArrayList<>();
        try {
            directory = new NodeDirectory(config.directory(), config.identity(), files);
            opened.add(directory);
            Path logDirectory = config.directory().resolve("log");
            if (!directory.fresh() && !SegmentedLog.exists(logDirectory)) {
                throw new DamagedLogException("the log in " + logDirectory + " is gone");
            }
            log = SegmentedLog.open(logDirectory, config.segmentBytes(), config.cacheBytes(), files);
            opened.add(log);
            if (directory.fresh() && log.lastIndex() > 0) {
                throw new DamagedLogException(config.directory() + " has a log but no vote");
            }
            checkpoints = new Checkpoints(config.directory(), files, log);
            directory.established(config.identity());
            network = new PeerNetwork(config, new FromNetwork());
            opened.add(network);
            double speed = HEARTBEATS_MISSED * 1000.0 / config.failureTimeout().toMillis();
            thread = new RaftThread("order-" + config.self() + "-raft", speed, network::flush, this::fail);
        } catch (IOException | RuntimeException e) {
            for (AutoCloseable closeable : opened.reversed()) {
                closeAfter(e, closeable);
            }
            throw e;
        }
        Checkpoints.Checkpoint checkpoint = checkpoints.newest();
        table = checkpoint.table();
        applied = checkpoint.index();
        appliedTerm = checkpoint.term();
        checkpointIndex = applied;
        lastKnown = table.positions();
        view = new View(Set.of(config.self()), false, -1);
        submissions = new Submissions(config, directory.incarnation(), this::toLeader);
        raft = build(checkpoint);
        preference = new Preference(config, thread, raft, network);
        notices = new CommitNotices(thread, this::sendNotice);
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
     * @throws DamagedLogException if the log cannot be trusted
     * @throws IOException if the directory is in use or belongs to another node or cluster, if the port is taken, or if
     *             the disk fails
     */
    public static RaftOrder open(RaftOrderConfig config) throws IOException {
        return open(config, FileChannel::open);
    }

    static RaftOrder open(RaftOrderConfig config, FileOpener files) throws IOException {
        return new RaftOrder(config, files);
    }

    private RaftNodeImpl build(Checkpoints.Checkpoint checkpoint) throws IOException {
        RaftConfig raftConfig = RaftConfig.newBuilder().setLeaderHeartbeatPeriodSecs(HEARTBEAT)
                .setLeaderHeartbeatTimeoutSecs(HEARTBEATS_MISSED).setLeaderElectionTimeoutMillis(ELECTION_MILLIS)
                .setCommitCountToTakeSnapshot(ENTRIES_IN_MEMORY).setMaxPendingLogEntryCount(UNCOMMITTED_ENTRIES_MAX)
                .setAppendEntriesRequestBatchSize(ENTRIES_PER_APPEND).setTransferSnapshotsFromFollowersEnabled(false)
                .setRaftNodeReportPublishPeriodSecs(3600).build();
        RaftNodeBuilder builder = RaftNode.newBuilder().setGroupId(MessageCodec.GROUP).setConfig(raftConfig)
                .setExecutor(thread).setClock(thread.clock()).setTransport(new ToNetwork())
                .setModelFactory(MessageCodec.MODELS).setStateMachine(new Applied())
                .setStore(new RaftStorage(log, directory, this::fail)).setRaftNodeReportListener(this::reported)
                .setRandom(new WideRandom());
        List<RaftEndpoint> members = new ArrayList<>();
        config.members().keySet().forEach(id -> members.add(new Node(id)));
        if (directory.fresh()) {
            return (RaftNodeImpl) builder.setLocalEndpoint(new Node(config.self()))
                    .setInitialGroupMembers(members, voters()).build();
        }
        return (RaftNodeImpl) builder.setRestoredState(restored(checkpoint, members)).build();
    }

    private List<RaftEndpoint> voters() {
        List<RaftEndpoint> voters = new ArrayList<>();
        config.voters().forEach(id -> voters.add(new Node(id)));
        return voters;
    }

    private RestoredRaftState restored(Checkpoints.Checkpoint checkpoint, List<RaftEndpoint> members)
            throws IOException {
        var models = MessageCodec.MODELS;
        var group = models.createRaftGroupMembersViewBuilder().setLogIndex(0).setMembers(members)
                .setVotingMembers(voters()).build();
        SnapshotEntry snapshot = null;
        if (checkpoint.index() > 0) {
            var chunk = models.createSnapshotChunkBuilder().setIndex(checkpoint.index()).setTerm(checkpoint.term())
                    .setOperation(checkpoint.encodedTable()).setSnapshotChunkIndex(0).setSnapshotChunkCount(1)
                    .setGroupMembersView(group).build();
            snapshot = models.createSnapshotEntryBuilder().setIndex(checkpoint.index()).setTerm(checkpoint.term())
                    .setSnapshotChunks(List.of(chunk)).setGroupMembersView(group).build();
        }
        List<io.microraft.model.log.LogEntry> entries = new ArrayList<>();
        for (long index = checkpoint.index() + 1; index <= log.lastIndex(); index++) {
            LogEntry entry = log.read(index);
            entries.add(MessageCodec.entry(index, entry.term(), Operation.stored(entry, log)));
        }
        Integer vote = directory.votedFor();
        var term = models.createRaftTermPersistentStateBuilder().setTerm(directory.term())
                .setVotedFor(vote == null ? null : new Node(vote)).build();
        var self = models.createRaftEndpointPersistentStateBuilder().setLocalEndpoint(new Node(config.self()))
                .setVoting(config.voters().contains(config.self())).build();
        return new RestoredRaftState(self, group, term, snapshot, entries);
    }

    @Override
    public DurableLog log() {
        return this;
    }

    @Override
    public Group group() {
        return this;
    }

    @Override
    public void join(Listener hears) {
        listener = hears;
    }

    @Override
    public synchronized void start(long after, Reader reader) throws TruncatedException {
        if (started || stopped) {
            throw new IllegalStateException("an order is started once");
        }
        Checkpoints.Checkpoint from = checkpoints.before(after);
        if (from.positions() > after) {
            throw new TruncatedException(after, from.positions() + 1);
        }
        started = true;
        Delivery source = new Delivery(config, log, from, after, directory.incarnation(), submissions);
        source.committed(applied);
        delivery = source;
        DeliveryLoop to = new DeliveryLoop(RealMachine.INSTANCE, "order-" + config.self() + "-deliver", after, source,
                reader, listener, this::fail);
        deliveries = to;
        to.viewed(view, false);
        thread.start();
        network.start(thread);
        thread.execute(this::checkStalled);
        thread.execute(this::checkForgottenPreVote);
        preference.watch();
        var _ = raft.start().whenComplete((ok, e) -> {
            if (e != null) {
                fail(e);
            }
        });
    }

    @Override
    public void append(byte[] payload) throws OverflowException {
        checkLength(payload);
        if (stopped) {
            throw new IllegalStateException("the order at node " + config.self() + " has stopped", failure.get());
        }
        if (submissions.submit(payload)) {
            thread.execute(submissions::pump);
        }
    }

    private void checkLength(byte[] payload) {
        if (payload.length > config.payloadBytesMax()) {
            throw new IllegalArgumentException(
                    "a message of " + payload.length + " bytes, the limit is " + config.payloadBytesMax());
        }
    }

    @Override
    public void multicast(byte[] payload, Set<Integer> nodes) {
        checkLength(payload);
        if (nodes.contains(config.self())) {
            received(config.self(), ByteBuffer.wrap(payload));
        }
        byte[] frame = MessageCodec.letter(payload);
        Set<Integer> others = Set.copyOf(nodes);
        thread.execute(() -> {
            for (int to : others) {
                network.send(to, frame);
            }
        });
    }

    @Override
    public void prefer(Set<Integer> nodes) {
        preference.prefer(nodes);
    }

    private void received(int sender, ByteBuffer letter) {
        DeliveryLoop to = deliveries;
        if (to != null) {
            to.received(sender, letter.asReadOnlyBuffer(), false);
        }
    }

    @Override
    public View view() {
        return view;
    }

    @Override
    public void suspend() {
        DeliveryLoop to = deliveries;
        if (to != null) {
            to.suspend();
        }
    }

    @Override
    public void resume() {
        DeliveryLoop to = deliveries;
        if (to != null) {
            to.resume();
        }
    }

    @Override
    public int maxPayloadBytes() {
        return config.payloadBytesMax();
    }

    /** Takes effect in steps of a file of the log. */
    @Override
    public void truncate(long position) {
        thread.execute(() -> {
            try {
                if (!stopped) {
                    forgettable = Math.max(forgettable, position);
                    forget();
                }
            } catch (IOException e) {
                fail(e);
            }
        });
    }

    private void forget() throws IOException {
        Checkpoints.Checkpoint keep = checkpoints.before(forgettable);
        if (keep.index() > checkpoints.oldest().index() && keep.positions() <= forgettable) {
            log.truncateUntil(keep.index());
            checkpoints.removeBefore(keep.index());
        }
    }

    private void checkpoint() throws IOException {
        checkpoints.add(applied, appliedTerm, table);
        checkpointIndex = applied;
        appliedSinceCheckpointBytes = 0;
        forget();
    }

    @Override
    public Status status() {
        DeliveryLoop to = deliveries;
        return new Status(to == null ? 0 : to.lastDelivered(), lastKnown, checkpoints.oldest().positions() + 1,
                submissions.queuedBytes(), log.bytes());
    }

    @Override
    public void close() {
        synchronized (this) {
            if (stopped && !started) {
                return;
            }
            stopped = true;
        }
        network.close();
        try {
            thread.stop();
            DeliveryLoop to = deliveries;
            if (to != null) {
                to.close();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (IOException e) {
            LOGGER.warn("closing the connections of node {}", config.self(), e);
        }
        for (AutoCloseable closeable : List.of(log, directory)) {
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
            stopped = true;
            network.close();
            DeliveryLoop to = deliveries;
            if (to != null) {
                to.fail(cause);
            }
        }
    }

    private void toLeader(byte[] batch) {
        if (leader == config.self()) {
            replicate(batch);
        } else if (leader >= 0) {
            network.send(leader, MessageCodec.submit(batch));
        }
    }

    /** As the leader: has MicroRaft replicate a batch. If it will not, the sender repeats it later. */
    private void replicate(byte[] batch) {
        var _ = raft.replicate(Operation.of(LogEntry.BATCH, batch)).exceptionally(e -> {
            LOGGER.debug("node {} could not replicate a batch: {}", config.self(), e.toString());
            return null;
        });
    }

    private void checkStalled() {
        if (submissions.stalled() && leader >= 0) {
            submissions.resend();
        }
        thread.scheduleReal(this::checkStalled, config.retransmitTimeout().toNanos() / 2);
    }

    /**
     * MicroRaft 0.7 does not look for a silent leader while it has a pre-vote open, and never closes a pre-vote that was
     * open when it learned of a leader in the same term: that follower would never miss its leader. Becoming a follower
     * of the same term again closes it, keeps the vote and forgets the leader.
     */
    private void checkForgottenPreVote() {
        RaftState state = raft.state();
        if (state.role() == RaftRole.FOLLOWER && state.leader() != null && state.preCandidateState() != null
                && raft.isLeaderHeartbeatTimeoutElapsed()) {
            raft.toFollower(state.term());
            raft.runPreVote();
        }
        thread.schedule(this::checkForgottenPreVote, HEARTBEAT, TimeUnit.SECONDS);
    }

    private void reported(RaftNodeReport report) {
        RaftEndpoint endpoint = report.getTerm().getLeaderEndpoint();
        int now = endpoint == null ? -1 : Node.id(endpoint);
        if (now != leader) {
            leader = now;
            LOGGER.info("node {}: the leader is {} in term {}", config.self(), now < 0 ? "not known" : "node " + now,
                    report.getTerm().getTerm());
            publishView();
            if (now >= 0) {
                // After the report, so that MicroRaft has finished becoming what it reports.
                thread.execute(submissions::resend);
            }
        }
    }

    private void publishView() {
        Set<Integer> members = new TreeSet<>(network.reachable());
        members.add(config.self());
        View now = new View(Set.copyOf(members), leader >= 0 && quorum(members), leader);
        if (!now.equals(view)) {
            view = now;
            DeliveryLoop to = deliveries;
            if (to != null) {
                to.viewed(now, false);
            }
        }
    }

    /**
     * Whether a majority of the voters can be reached, where others could hide its loss: MicroRaft's leader takes what those
     * answer for a sign that it still leads.
     */
    private boolean quorum(Set<Integer> reachable) {
        Set<Integer> voters = config.voters();
        return voters.size() == config.members().size()
                || voters.stream().filter(reachable::contains).count() > voters.size() / 2;
    }

    private long firstRetainedPosition() {
        return checkpoints.oldest().positions() + 1;
    }

    /** Term of an entry, or -1 if that is not known any more. */
    private int termAt(long index) {
        if (index >= log.firstIndex() && index <= log.lastIndex()) {
            return log.term(index);
        }
        Checkpoints.Checkpoint oldest = checkpoints.oldest();
        return index == oldest.index() ? oldest.term() : -1;
    }

    /**
     * Sends a follower what it lacks, from the log on disk. MicroRaft would find out what it lacks by going back one
     * entry per round trip, and would send a snapshot when its memory does not go back far enough.
     *
     * @param matched the follower's log is the same as this leader's up to here
     * @param flow MicroRaft's number of the request that this one stands for
     */
    private void catchUp(int follower, long matched, long flow) {
        int previousTerm = termAt(matched);
        if (previousTerm < 0 || matched + 1 < log.firstIndex()) {
            LOGGER.error("node {} needs the log after entry {}, which was truncated", follower, matched);
            network.send(follower, MessageCodec.truncated(firstRetainedPosition()));
            return;
        }
        try {
            List<io.microraft.model.log.LogEntry> entries = new ArrayList<>();
            long bytes = 0;
            for (long i = matched + 1; i <= log.lastIndex() && entries.size() < ENTRIES_PER_APPEND
                    && bytes < BYTES_PER_APPEND; i++) {
                LogEntry entry = log.read(i);
                bytes += entry.body().length;
                entries.add(MessageCodec.entry(i, entry.term(), Operation.stored(entry, log)));
            }
            send(follower, append(matched, previousTerm, entries, flow));
            // MicroRaft flushes the leader's log when it sends entries itself. These may be the same ones.
            LeaderState state = raft.state().leaderState();
            if (state != null) {
                raft.submitLeaderFlushTask(state);
            }
        } catch (IOException e) {
            fail(e);
        }
    }

    private AppendEntriesRequest append(long previous, int previousTerm,
            List<io.microraft.model.log.LogEntry> entries, long flow) {
        return MessageCodec.MODELS.createAppendEntriesRequestBuilder().setGroupId(MessageCodec.GROUP)
                .setSender(new Node(config.self())).setTerm(raft.getTerm().getTerm()).setPreviousLogIndex(previous)
                .setPreviousLogTerm(previousTerm).setCommitIndex(applied).setLogEntries(entries)
                .setQuerySequenceNumber(0).setFlowControlSequenceNumber(flow).build();
    }

    private void send(int to, RaftMessage message) throws IOException {
        long last = log.lastIndex();
        int lastTerm = last == 0 ? 0 : Math.max(termAt(last), 0);
        network.send(to, MessageCodec.encode(message, new MessageCodec.LogEnd(last, lastTerm, applied),
                BYTES_PER_APPEND));
    }

    private void sendNotice(int to, AppendEntriesRequest notice) {
        if (stopped || leader != config.self() || notice.getTerm() != raft.getTerm().getTerm()) {
            return;
        }
        try {
            send(to, notice);
        } catch (IOException e) {
            fail(e);
        }
    }

    /** What MicroRaft sends. On the Raft thread. */
    private final class ToNetwork implements Transport {
        /** The last answer to an append: to whom, in which term, how far the log was the leader's, when. */
        private int answeredTo = -1;
        private int answeredTerm;
        private long answeredIndex;
        private long answeredNanos;

        @Override
        public void send(RaftEndpoint target, RaftMessage message) {
            if (stopped) {
                return;
            }
            int to = Node.id(target);
            try {
                if (message instanceof InstallSnapshotRequest m) {
                    // Ask where the follower's log ends; its refusal leads to catchUp.
                    long last = log.lastIndex();
                    RaftOrder.this.send(to, append(last, termAt(last), List.of(), m.getFlowControlSequenceNumber()));
                } else if (message instanceof AppendEntriesSuccessResponse m && needless(to, m)) {
                    LOGGER.trace("nothing new for node {}", to);
                } else if (message instanceof AppendEntriesRequest m && notices.keeps(to, m)) {
                    LOGGER.trace("node {} is told with the next entries", to);
                } else {
                    RaftOrder.this.send(to, message);
                }
            } catch (IllegalArgumentException e) {
                LOGGER.error("node {} needs entries that were truncated", to, e);
                network.send(to, MessageCodec.truncated(firstRetainedPosition()));
            } catch (IOException e) {
                fail(e);
            }
        }

        /**
         * Whether the leader learns nothing from an answer: it only told how far the log is committed, waits for no answer to
         * that, and has had one that says as much a moment ago. (It must hear from a majority from time to time, or resigns.)
         */
        private boolean needless(int to, AppendEntriesSuccessResponse m) {
            long now = System.nanoTime();
            if (m.getFlowControlSequenceNumber() == 0 && m.getQuerySequenceNumber() == 0 && to == answeredTo
                    && m.getTerm() == answeredTerm && m.getLastLogIndex() <= answeredIndex
                    && now - answeredNanos < config.failureTimeout().toNanos() / 10) {
                return true;
            }
            answeredTo = to;
            answeredTerm = m.getTerm();
            answeredIndex = m.getLastLogIndex();
            answeredNanos = now;
            return false;
        }

        @Override
        public boolean isReachable(RaftEndpoint endpoint) {
            return network.reachable().contains(Node.id(endpoint));
        }
    }

    private final class FromNetwork implements PeerNetwork.Receiver {
        @Override
        public void received(int from, ByteBuffer frame) throws IOException {
            MessageCodec.Wire wire = MessageCodec.decode(from, frame);
            if (wire instanceof MessageCodec.Wire.Letter(ByteBuffer payload)) {
                RaftOrder.this.received(from, payload);
                return;
            }
            handle(from, wire);
        }

        @Override
        public void reachabilityChanged() {
            thread.execute(RaftOrder.this::publishView);
        }

        @Override
        public void rejected(String reason) {
            fail(new IOException("node " + config.self() + " may not join: " + reason));
        }
    }

    private void handle(int from, MessageCodec.Wire wire) {
        if (stopped) {
            return;
        }
        switch (wire) {
            case MessageCodec.Wire.Submit(byte[] batch) -> {
                if (leader == config.self()) {
                    replicate(batch);
                }
            }
            case MessageCodec.Wire.Letter _ ->
                throw new IllegalStateException("a message outside of the order is no business of this thread");
            case MessageCodec.Wire.Truncated(long firstRetained) -> {
                if (firstRetained > lastKnown + 1) {
                    fail(new TruncatedException(lastKnown, firstRetained));
                }
            }
            case MessageCodec.Wire.Raft(RaftMessage message, MessageCodec.@Nullable LogEnd end) -> {
                if (message instanceof AppendEntriesFailureResponse refusal && end != null
                        && leader == config.self() && refusal.getTerm() == raft.getTerm().getTerm()) {
                    boolean same = end.lastIndex() <= log.lastIndex() && termAt(end.lastIndex()) == end.lastTerm();
                    catchUp(from, same ? end.lastIndex() : end.applied(), refusal.getFlowControlSequenceNumber());
                } else if (message instanceof AppendEntriesRequest append) {
                    raft.handle(SnapshotEdge.behind(raft, append));
                } else {
                    raft.handle(message);
                }
            }
        }
    }

    /** What MicroRaft tells about committed entries. On the Raft thread. */
    private final class Applied implements StateMachine {
        @Override
        public Object runOperation(long index, Object committed) {
            try {
                apply(index, (Operation) committed);
            } catch (IOException | RuntimeException e) {
                // MicroRaft would only log it and go on.
                fail(e);
            }
            return index;
        }

        @Override
        public void takeSnapshot(long index, Consumer<Object> chunks) {
            chunks.accept(table.encode());
        }

        @Override
        public void installSnapshot(long index, List<Object> chunks) {
            if (index != applied) {
                throw new IllegalStateException("a snapshot of entry " + index + " at entry " + applied);
            }
        }

        @Override
        public Object getNewTermOperation() {
            return Operation.of(LogEntry.NEW_TERM, new byte[0]);
        }
    }

    private void apply(long index, Operation operation) throws IOException {
        if (stopped) {
            return;
        }
        if (index != applied + 1) {
            throw new IllegalStateException("entry " + index + " was committed after " + applied);
        }
        long first = operation.kind == LogEntry.BATCH
                ? table.accept(operation.sender, operation.incarnation, operation.sequence, operation.messages)
                : 0;
        applied = index;
        appliedTerm = termAt(index);
        if (first > 0) {
            lastKnown = table.positions();
            notices.committed(operation.sender, System.nanoTime());
        }
        Delivery source = delivery;
        DeliveryLoop to = deliveries;
        if (source != null && to != null) {
            source.committed(index);
            to.more(false);
        }
        if (first > 0 && operation.sender == config.self() && operation.incarnation == directory.incarnation()) {
            submissions.ordered(operation.sequence);
        }
        appliedSinceCheckpointBytes += operation.bodyBytes();
        if (applied - checkpointIndex >= CHECKPOINT_ENTRIES || appliedSinceCheckpointBytes >= config.segmentBytes()) {
            checkpoint();
        }
    }

    /** Spreads elections: MicroRaft asks for a random part of 100 of its milliseconds, which are short here. */
    private static final class WideRandom extends Random {
        private static final long serialVersionUID = 1;

        @Override
        public int nextInt(int bound) {
            return super.nextInt(bound * 10);
        }
    }
}
