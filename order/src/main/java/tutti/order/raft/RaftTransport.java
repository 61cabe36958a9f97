package tutti.order.raft;

import io.microraft.RaftEndpoint;
import io.microraft.RaftRole;
import io.microraft.impl.RaftNodeImpl;
import io.microraft.impl.state.LeaderState;
import io.microraft.impl.state.RaftState;
import io.microraft.model.message.AppendEntriesRequest;
import io.microraft.model.message.AppendEntriesSuccessResponse;
import io.microraft.model.message.InstallSnapshotRequest;
import io.microraft.model.message.PreVoteRequest;
import io.microraft.model.message.RaftMessage;
import io.microraft.model.message.VoteResponse;
import io.microraft.transport.Transport;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.schema.DecodeException;
import tutti.core.spi.DurableLog;
import tutti.order.peer.PeerNetwork;
import tutti.runtime.Clock;
import tutti.runtime.Loop;

/**
 * MicroRaft's way to the other nodes and back. On the way it is spared what it lacks (docs/decisions/0002-raft-library.md): a
 * follower that lags is served from the log on disk and never sent a snapshot, and messages that say nothing new are left
 * out. On Raft's loop.
 */
final class RaftTransport implements Transport {
    private static final Logger LOGGER = LoggerFactory.getLogger(RaftTransport.class);
    private static final int BYTES_PER_APPEND = 4 << 20;
    /** Further than any term comes by elections, and as far from the last number there is. */
    private static final int TERM_FAR = 1 << 30;
    /** More elections than a node can have missed that has come so far. */
    private static final int TERMS_MISSED_MAX = 1 << 20;

    /** What it must know of the node. */
    interface Host {
        /** Whether the node takes no part any more. */
        boolean isStopped();

        /** Whether this node leads, as far as it knows. */
        boolean isLeader();

        /** The node cannot go on. */
        void fail(Throwable cause);
    }

    private final RaftOrderConfig config;
    private final Clock clock;
    private final SegmentedLog log;
    private final Checkpoints checkpoints;
    private final CommittedEntries committed;
    private final PeerNetwork network;
    private final CommitNotices notices;
    private final Host host;
    private @Nullable RaftNodeImpl attached;
    private @Nullable Elections elections;

    /* The last answer to an append: to whom, in which term, how far the log was the leader's, when. */
    private int answeredTo = -1;
    private int answeredTerm;
    private long answeredIndex;
    private long answeredNanos;

    RaftTransport(RaftOrderConfig config, Loop loop, Clock clock, SegmentedLog log, Checkpoints checkpoints,
            CommittedEntries committed, PeerNetwork network, Host host) {
        this.config = config;
        this.clock = clock;
        this.log = log;
        this.checkpoints = checkpoints;
        this.committed = committed;
        this.network = network;
        this.host = host;
        notices = new CommitNotices(loop, clock, this::sendNotice);
    }

    /** Names whose messages these are, and who is told of the votes among them. */
    void attach(RaftNodeImpl raft, Elections ofRaft) {
        attached = raft;
        elections = ofRaft;
    }

    private RaftNodeImpl raft() {
        RaftNodeImpl present = attached;
        if (present == null) {
            throw new IllegalStateException("nothing is sent or received before Raft runs");
        }
        return present;
    }

    /** An entry was committed that that node has asked for. */
    void committed(int by) {
        notices.committed(by, clock.nanoTime());
    }

    // ------------------------------------------------------------------------------------------ out

    @Override
    public boolean isReachable(RaftEndpoint endpoint) {
        return network.reachable().contains(Node.id(endpoint));
    }

    @Override
    public void send(RaftEndpoint target, RaftMessage message) {
        if (host.isStopped()) {
            return;
        }
        int to = Node.id(target);
        try {
            switch (message) {
                case InstallSnapshotRequest m -> ask(to, m.getFlowControlSequenceNumber());
                case AppendEntriesSuccessResponse m when needless(to, m) -> LOGGER.trace("nothing new for node {}", to);
                case AppendEntriesRequest m when notices.keeps(to, m) ->
                    LOGGER.trace("node {} is told with the next entries", to);
                // MicroRaft's notion of what the follower lacks may be older than what catchUp has sent it since.
                case AppendEntriesRequest m when m.getPreviousLogIndex() + 1 < log.firstIndex() ->
                    ask(to, m.getFlowControlSequenceNumber());
                case PreVoteRequest _ when elections != null && elections.waitsForAnother() ->
                    LOGGER.trace("node {} may be asked later", to);
                case VoteResponse m when elections != null && m.isGranted() -> {
                    elections.voted();
                    write(to, m);
                }
                default -> write(to, message);
            }
        } catch (IOException e) {
            host.fail(e);
        }
    }

    /** Asks where a follower's log ends; its refusal leads to {@link #catchUp}. */
    private void ask(int follower, long flow) throws IOException {
        write(follower, append(log.lastIndex(), committed.termAt(log.lastIndex()), List.of(), flow));
    }

    /**
     * Whether the leader learns nothing from an answer: it only told how far the log is committed, waits for no answer to
     * that, and has had one that says as much a moment ago. (It must hear from a majority from time to time, or resigns.)
     */
    private boolean needless(int to, AppendEntriesSuccessResponse m) {
        long now = clock.nanoTime();
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

    private void write(int to, RaftMessage message) throws IOException {
        long last = log.lastIndex();
        int lastTerm = last == 0 ? 0 : Math.max(committed.termAt(last), 0);
        network.send(to, MessageCodec.encode(message, new PeerMessage.LogEnd(last, lastTerm, committed.index()),
                BYTES_PER_APPEND));
    }

    private void sendNotice(int to, AppendEntriesRequest notice) {
        if (host.isStopped() || !host.isLeader() || notice.getTerm() != raft().getTerm().getTerm()) {
            return;
        }
        try {
            write(to, notice);
        } catch (IOException e) {
            host.fail(e);
        }
    }

    private AppendEntriesRequest append(long previous, int previousTerm,
            List<io.microraft.model.log.LogEntry> entries, long flow) {
        return MessageCodec.MODELS.createAppendEntriesRequestBuilder().setGroupId(MessageCodec.GROUP)
                .setSender(new Node(config.self())).setTerm(raft().getTerm().getTerm()).setPreviousLogIndex(previous)
                .setPreviousLogTerm(previousTerm).setCommitIndex(committed.index()).setLogEntries(entries)
                .setQuerySequenceNumber(0).setFlowControlSequenceNumber(flow).build();
    }

    private long firstRetainedPosition() {
        return checkpoints.oldest().positions() + 1;
    }

    // ------------------------------------------------------------------------------------------ in

    /**
     * MicroRaft's part of what has come.
     *
     * @throws IOException if no node would have sent it
     */
    void received(int from, PeerMessage.Raft come) throws IOException {
        believable(come.term());
        RaftMessage message;
        try {
            message = MessageCodec.decode(from, come);
        } catch (DecodeException wrong) {
            throw new IOException(wrong.getMessage(), wrong);
        }
        if (come instanceof PeerMessage.NotAppended refusal && host.isLeader()
                && refusal.term() == raft().getTerm().getTerm()) {
            PeerMessage.LogEnd end = refusal.end();
            boolean same = end.lastIndex() <= log.lastIndex() && committed.termAt(end.lastIndex()) == end.lastTerm();
            catchUp(from, same ? end.lastIndex() : end.applied(), refusal.flow());
        } else if (message instanceof AppendEntriesRequest append) {
            raft().handle(SnapshotEdge.behind(raft(), append));
        } else {
            if (come instanceof PeerMessage.PreVoteResponse(int term, boolean granted)) {
                if (!granted) {
                    adopt(term);
                } else if (term != raft().state().term() + 1) {
                    // To a question of an earlier term. MicroRaft 0.7 would count it for the present one.
                    return;
                }
            }
            raft().handle(message);
        }
    }

    /**
     * MicroRaft 0.7 takes no higher term from the refusal of a pre-vote. A node that has the longest log, in a term below that of others,
     * would be refused by those for its term, and refuse them for their logs, for ever. A term may be taken from whoever tells it
     * (Raft, section 5.1); who hears its leader need not.
     *
     * <p>
     * Only those are refused for their term who are two behind: they ask about the next one. A refusal for the log tells that one back, and in it
     * nobody need be. Whoever took it would come one further with each question, without any election, and depose a leader as soon as it can be
     * heard; from which the question was to keep it.
     */
    private void adopt(int term) {
        RaftState now = raft().state();
        if (term > now.term() + 1 && now.role() == RaftRole.FOLLOWER
                && (now.leader() == null || raft().isLeaderHeartbeatTimeoutElapsed())) {
            raft().toFollower(term);
        }
    }

    /**
     * Whoever hears of a higher term takes it over, for good; so one wrong number, of one member, could take all there are. One that no elections come to is not believed. Below that
     * every number is, since a node that were out of reach of the others' would be so for ever.
     */
    private void believable(int term) throws IOException {
        if (term > (long) Math.max(TERM_FAR, raft().state().term()) + TERMS_MISSED_MAX) {
            throw new IOException("term " + term + ", to which no elections can have come");
        }
    }

    /** The leader's log begins behind what this node needs, with this position. */
    void received(PeerMessage.Truncated truncated) {
        if (truncated.firstRetained() > committed.lastKnown() + 1) {
            host.fail(new DurableLog.TruncatedException(committed.lastKnown(), truncated.firstRetained()));
        }
    }

    /**
     * Sends a follower what it lacks, from the log on disk. MicroRaft would find out what it lacks by going back one
     * entry per round trip, and would send a snapshot when its memory does not go back far enough.
     *
     * @param matched the follower's log is the same as this leader's up to here
     * @param flow MicroRaft's number of the request that this one stands for
     */
    private void catchUp(int follower, long matched, long flow) {
        int previousTerm = committed.termAt(matched);
        if (previousTerm < 0 || matched + 1 < log.firstIndex()) {
            LOGGER.error("node {} needs the log after entry {}, which was truncated", follower, matched);
            network.send(follower, new PeerMessage.Truncated(firstRetainedPosition()));
            return;
        }
        try {
            List<io.microraft.model.log.LogEntry> entries = new ArrayList<>();
            long bytes = 0;
            for (long i = matched + 1; i <= log.lastIndex() && entries.size() < RaftSettings.ENTRIES_PER_APPEND
                    && bytes < BYTES_PER_APPEND; i++) {
                LogEntry entry = log.read(i);
                bytes += entry.body().length;
                entries.add(MessageCodec.entry(i, entry.term(), Operation.stored(entry, log)));
            }
            write(follower, append(matched, previousTerm, entries, flow));
            // MicroRaft flushes the leader's log when it sends entries itself. These may be the same ones.
            LeaderState state = raft().state().leaderState();
            if (state != null) {
                raft().submitLeaderFlushTask(state);
            }
        } catch (IOException e) {
            host.fail(e);
        }
    }
}
