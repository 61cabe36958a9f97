package tutti.order.raft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import io.microraft.RaftEndpoint;
import io.microraft.RaftNode;
import io.microraft.executor.RaftNodeExecutor;
import io.microraft.impl.RaftNodeImpl;
import io.microraft.model.log.LogEntry;
import io.microraft.model.message.AppendEntriesRequest;
import io.microraft.model.message.RaftMessage;
import io.microraft.persistence.RestoredRaftState;
import io.microraft.statemachine.StateMachine;
import io.microraft.transport.Transport;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** A follower whose snapshot covers ten entries of term 1, and whose log goes on with two. */
class SnapshotEdgeTest {
    private static final int SNAPSHOT = 10;
    private static final int TERM = 3;

    /** The follower as it is after a restart; it does not run. */
    private static RaftNodeImpl follower(int... termsBehindTheSnapshot) {
        var models = MessageCodec.MODELS;
        var nodes = GroupChange.nodes(Set.of(0, 1, 2));
        var members = models.createRaftGroupMembersViewBuilder().setLogIndex(0).setMembers(nodes)
                .setVotingMembers(nodes).build();
        var chunk = models.createSnapshotChunkBuilder().setIndex(SNAPSHOT).setTerm(1).setOperation(new byte[0])
                .setSnapshotChunkIndex(0).setSnapshotChunkCount(1).setGroupMembersView(members).build();
        var snapshot = models.createSnapshotEntryBuilder().setIndex(SNAPSHOT).setTerm(1)
                .setSnapshotChunks(List.of(chunk)).setGroupMembersView(members).build();
        var term = models.createRaftTermPersistentStateBuilder().setTerm(TERM).setVotedFor(null).build();
        var self = models.createRaftEndpointPersistentStateBuilder().setLocalEndpoint(new Node(1)).setVoting(true)
                .build();
        return (RaftNodeImpl) RaftNode.newBuilder().setGroupId(MessageCodec.GROUP).setModelFactory(models)
                .setExecutor(new Idle()).setTransport(new Idle()).setStateMachine(new Idle())
                .setRestoredState(new RestoredRaftState(self, members, term, snapshot,
                        entries(SNAPSHOT + 1, termsBehindTheSnapshot)))
                .build();
    }

    private static List<LogEntry> entries(int first, int... terms) {
        List<LogEntry> entries = new ArrayList<>();
        for (int term : terms) {
            entries.add(MessageCodec.entry(first + entries.size(), term,
                    Operation.of(tutti.order.raft.LogEntry.NEW_TERM, new byte[0])));
        }
        return entries;
    }

    private static AppendEntriesRequest append(int previous, int previousTerm, int... terms) {
        return MessageCodec.MODELS.createAppendEntriesRequestBuilder().setGroupId(MessageCodec.GROUP)
                .setSender(new Node(0)).setTerm(TERM).setPreviousLogIndex(previous).setPreviousLogTerm(previousTerm)
                .setCommitIndex(SNAPSHOT).setLogEntries(entries(previous + 1, terms)).setQuerySequenceNumber(0)
                .setFlowControlSequenceNumber(0).build();
    }

    private static String shown(AppendEntriesRequest request) {
        return "behind " + request.getPreviousLogIndex() + " of term " + request.getPreviousLogTerm() + ": "
                + request.getLogEntries().stream().map(entry -> entry.getIndex() + " of " + entry.getTerm()).toList();
    }

    @Test
    void anAppendRightBehindTheSnapshotBeginsBehindTheFirstEntryThatBothHave() {
        AppendEntriesRequest behind = SnapshotEdge.behind(follower(2, 2), append(SNAPSHOT, 1, 2, 2, 3));
        assertEquals("behind 11 of term 2: [12 of 2, 13 of 3]", shown(behind));
    }

    @Test
    void whatTheSnapshotCoversIsLeftOut() {
        AppendEntriesRequest behind = SnapshotEdge.behind(follower(2, 2), append(7, 1, 1, 1, 1, 2, 2));
        assertEquals("behind 11 of term 2: [12 of 2]", shown(behind));
    }

    @Test
    void entriesOfAnotherTermAreDeletedFirst() {
        RaftNodeImpl follower = follower(2, 2);
        AppendEntriesRequest behind = SnapshotEdge.behind(follower, append(SNAPSHOT, 1, 3));
        assertEquals("behind 10 of term 1: [11 of 3]", shown(behind));
        assertEquals(SNAPSHOT, follower.state().log().lastLogOrSnapshotIndex());
    }

    /** MicroRaft has no entry 1, so it refuses. Of what begins with that one it would answer nothing. */
    @Test
    void whatIsCoveredFromTheFirstEntryOnBeginsBehindThat() {
        AppendEntriesRequest behind = SnapshotEdge.behind(follower(2, 2), append(0, 0, 1, 1, 1));
        assertEquals("behind 1 of term 1: [2 of 1, 3 of 1]", shown(behind));
    }

    @Test
    void whatMicroRaftUnderstandsIsLeftAsItIs() {
        AppendEntriesRequest further = append(12, 2, 3);
        assertSame(further, SnapshotEdge.behind(follower(2, 2), further));
        AppendEntriesRequest rightBehind = append(SNAPSHOT, 1, 3);
        assertSame(rightBehind, SnapshotEdge.behind(follower(), rightBehind));
        AppendEntriesRequest covered = append(7, 1, 1, 1);
        assertSame(covered, SnapshotEdge.behind(follower(2, 2), covered));
    }

    /** Surroundings in which nothing happens. */
    private static final class Idle implements RaftNodeExecutor, Transport, StateMachine {
        @Override
        public void execute(Runnable task) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void submit(Runnable task) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void schedule(Runnable task, long delay, TimeUnit unit) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void send(RaftEndpoint target, RaftMessage message) {
            throw new UnsupportedOperationException();
        }

        @Override
        public boolean isReachable(RaftEndpoint endpoint) {
            return false;
        }

        @Override
        public @Nullable Object runOperation(long commitIndex, Object operation) {
            return null;
        }

        @Override
        public void takeSnapshot(long commitIndex, Consumer<Object> chunks) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void installSnapshot(long commitIndex, List<Object> chunks) {
            // Restored at the beginning.
        }

        @Override
        public @Nullable Object getNewTermOperation() {
            return null;
        }
    }
}
