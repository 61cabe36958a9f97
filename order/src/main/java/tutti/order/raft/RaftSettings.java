package tutti.order.raft;

import io.microraft.RaftConfig;
import io.microraft.RaftNode;
import io.microraft.RaftNode.RaftNodeBuilder;
import io.microraft.impl.RaftNodeImpl;
import io.microraft.model.log.RaftGroupMembersView;
import io.microraft.model.log.SnapshotEntry;
import io.microraft.persistence.RestoredRaftState;
import io.microraft.report.RaftNodeReportListener;
import io.microraft.transport.Transport;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;

/** How MicroRaft is set up, and what it is given when a node starts again. */
final class RaftSettings {
    /** MicroRaft's seconds between heartbeats, and until a silent leader is given up. */
    static final int HEARTBEAT = 1;
    /** So many heartbeats may be missed. */
    static final int HEARTBEATS_MISSED = 5;
    /** Entries in one append. */
    static final int ENTRIES_PER_APPEND = 256;
    private static final int ELECTION_MILLIS = 1500;
    /** Elections are spread over ten times what MicroRaft asks for, 100 ms: its milliseconds are short here. */
    private static final int SPREAD = 10;
    /** What an election is given at most, in MicroRaft's milliseconds. */
    static final int ELECTION_MILLIS_MAX = ELECTION_MILLIS + SPREAD * 100;
    /** Log entries in MicroRaft's memory before it forgets; they are small, see {@link Operation}. */
    private static final int ENTRIES_IN_MEMORY = 16_384;
    private static final int UNCOMMITTED_ENTRIES_MAX = 4096;
    private static final int REPORT_SECONDS = 3600;

    private final RaftOrderConfig config;

    RaftSettings(RaftOrderConfig config) {
        this.config = config;
    }

    /** How many of MicroRaft's seconds pass in one second, so that a silent leader is given up in time. */
    double speed() {
        return HEARTBEATS_MISSED * 1000.0 / config.failureTimeout().toMillis();
    }

    /**
     * A node's Raft, not started.
     *
     * @param checkpoint what a node that has run before begins with
     * @param group who took part then
     * @param onFailure told when log or vote cannot be stored
     */
    RaftNodeImpl build(NodeDirectory directory, SegmentedLog log, Checkpoints.Checkpoint checkpoint,
            VotingGroups.Group group, RaftTime time, RandomGenerator random, Transport transport,
            CommittedEntries committed, RaftNodeReportListener reports,
            Consumer<Throwable> onFailure) throws IOException {
        RaftConfig raftConfig = RaftConfig.newBuilder().setLeaderHeartbeatPeriodSecs(HEARTBEAT)
                .setLeaderHeartbeatTimeoutSecs(HEARTBEATS_MISSED).setLeaderElectionTimeoutMillis(ELECTION_MILLIS)
                .setCommitCountToTakeSnapshot(ENTRIES_IN_MEMORY).setMaxPendingLogEntryCount(UNCOMMITTED_ENTRIES_MAX)
                .setAppendEntriesRequestBatchSize(ENTRIES_PER_APPEND).setTransferSnapshotsFromFollowersEnabled(false)
                .setRaftNodeReportPublishPeriodSecs(REPORT_SECONDS).build();
        RaftNodeBuilder builder = RaftNode.newBuilder().setGroupId(MessageCodec.GROUP).setConfig(raftConfig)
                .setExecutor(time).setClock(time.clock()).setTransport(transport)
                .setModelFactory(MessageCodec.MODELS).setStateMachine(committed)
                .setStore(new RaftStorage(log, directory, committed::index, onFailure))
                .setRaftNodeReportListener(reports)
                .setRandom(spread(random));
        if (directory.fresh()) {
            return (RaftNodeImpl) builder.setLocalEndpoint(new Node(config.self()))
                    .setInitialGroupMembers(GroupChange.nodes(group.members()), GroupChange.nodes(group.voters()))
                    .build();
        }
        return (RaftNodeImpl) builder.setRestoredState(restored(directory, log, checkpoint, group)).build();
    }

    private static RaftGroupMembersView view(VotingGroups.Group group, long index) {
        return MessageCodec.MODELS.createRaftGroupMembersViewBuilder().setLogIndex(index)
                .setMembers(GroupChange.nodes(group.members())).setVotingMembers(GroupChange.nodes(group.voters()))
                .build();
    }

    private RestoredRaftState restored(NodeDirectory directory, SegmentedLog log, Checkpoints.Checkpoint checkpoint,
            VotingGroups.Group group) throws IOException {
        var models = MessageCodec.MODELS;
        // What MicroRaft takes for those with which the cluster began are those as of the checkpoint: it would ask its store, which it
        // does not have yet, to note a difference.
        var first = view(group, 0);
        var then = view(group, group.index());
        SnapshotEntry snapshot = null;
        if (checkpoint.index() > 0) {
            var chunk = models.createSnapshotChunkBuilder().setIndex(checkpoint.index()).setTerm(checkpoint.term())
                    .setOperation(checkpoint.table()).setSnapshotChunkIndex(0).setSnapshotChunkCount(1)
                    .setGroupMembersView(then).build();
            snapshot = models.createSnapshotEntryBuilder().setIndex(checkpoint.index()).setTerm(checkpoint.term())
                    .setSnapshotChunks(List.of(chunk)).setGroupMembersView(then).build();
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
                .setVoting(group.voters().contains(config.self())).build();
        return new RestoredRaftState(self, first, term, snapshot, entries);
    }

    private static Random spread(RandomGenerator random) {
        return Random.from(new RandomGenerator() {
            @Override
            public long nextLong() {
                return random.nextLong();
            }

            @Override
            public int nextInt(int bound) {
                return random.nextInt(bound * SPREAD);
            }
        });
    }
}
