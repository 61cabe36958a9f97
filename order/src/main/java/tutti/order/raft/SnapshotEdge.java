package tutti.order.raft;

import io.microraft.RaftNodeStatus;
import io.microraft.impl.RaftNodeImpl;
import io.microraft.impl.log.RaftLog;
import io.microraft.impl.state.RaftState;
import io.microraft.model.groupop.RaftGroupOp;
import io.microraft.model.log.LogEntry;
import io.microraft.model.message.AppendEntriesRequest;
import java.util.List;

/**
 * Makes an append that begins at or before a follower's snapshot one that MicroRaft 0.7 understands.
 *
 * <p>
 * After a restart a node's snapshot is its newest checkpoint, and its log goes on behind it. A leader whose log differs
 * from that tail sends entries from the checkpoint on, the last point where both are sure to agree. But MicroRaft 0.7
 * looks for the entry before the new ones among its entries only, and not at the snapshot, unless the log ends there: it
 * would refuse such an append for ever, and the node would never hear of anything again. (Its authors corrected that
 * after 0.7; no later version has been published.)
 *
 * <p>
 * A leader that knows nothing of a follower begins with the first entry. If all that it sends is covered, MicroRaft 0.7 looks for the first of them in
 * vain and answers nothing, so it is sent the same for ever. Behind the first of them the append is refused, as any that is covered, and the refusal tells the leader
 * where this log ends.
 *
 * <p>
 * <b>Why the change is right.</b> What the snapshot covers was committed, so the leader's log has the same entries
 * (leader completeness) and they may be left out. If the first entry behind the snapshot has the same term in both logs,
 * both logs agree up to it (log matching), and the append may as well begin after it. If the terms differ, that entry and
 * all that follow it are to be deleted anyway (section 5.3 of the Raft paper), which here is done before MicroRaft sees
 * the request, so that its log ends with the snapshot.
 */
final class SnapshotEdge {
    private SnapshotEdge() {}

    /** The same request, or one that asks for the same and begins behind the snapshot. On Raft's loop. */
    static AppendEntriesRequest behind(RaftNodeImpl raft, AppendEntriesRequest request) {
        RaftState state = raft.state();
        RaftLog log = state.log();
        long snapshot = log.snapshotIndex();
        long covered = snapshot - request.getPreviousLogIndex();
        List<LogEntry> entries = request.getLogEntries();
        if (request.getPreviousLogIndex() == 0 && !entries.isEmpty() && covered >= entries.size()) {
            return from(request, 1, entries.getFirst().getTerm(), entries.subList(1, entries.size()));
        }
        boolean needless = log.lastLogOrSnapshotIndex() == snapshot && covered == 0;
        if (snapshot == 0 || needless || covered < 0 || covered >= entries.size()
                || request.getTerm() < state.term()) {
            return request;
        }
        LogEntry first = entries.get((int) covered);
        LogEntry own = log.getLogEntry(snapshot + 1);
        if (own != null && own.getTerm() == first.getTerm()) {
            return from(request, snapshot + 1, own.getTerm(), entries.subList((int) covered + 1, entries.size()));
        }
        if (own != null) {
            revert(raft, log.truncateEntriesFrom(snapshot + 1));
            state.invalidateFuturesFrom(snapshot + 1, raft.newNotLeaderException());
        }
        return from(request, snapshot, log.snapshotEntry().getTerm(), entries.subList((int) covered, entries.size()));
    }

    /** One change of the group at most is not committed; it is not in the log any more. */
    private static void revert(RaftNodeImpl raft, List<LogEntry> truncated) {
        if (truncated.stream().anyMatch(entry -> entry.getOperation() instanceof RaftGroupOp)) {
            raft.setStatus(RaftNodeStatus.ACTIVE);
            raft.revertGroupMembers();
        }
    }

    private static AppendEntriesRequest from(AppendEntriesRequest request, long previous, int previousTerm,
            List<LogEntry> entries) {
        return MessageCodec.MODELS.createAppendEntriesRequestBuilder().setGroupId(request.getGroupId())
                .setSender(request.getSender()).setTerm(request.getTerm()).setPreviousLogIndex(previous)
                .setPreviousLogTerm(previousTerm).setCommitIndex(request.getCommitIndex()).setLogEntries(entries)
                .setQuerySequenceNumber(request.getQuerySequenceNumber())
                .setFlowControlSequenceNumber(request.getFlowControlSequenceNumber()).build();
    }
}
