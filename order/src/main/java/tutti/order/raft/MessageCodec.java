package tutti.order.raft;

import io.microraft.RaftEndpoint;
import io.microraft.model.RaftModelFactory;
import io.microraft.model.groupop.UpdateRaftGroupMembersOp;
import io.microraft.model.impl.DefaultRaftModelFactory;
import io.microraft.model.message.AppendEntriesFailureResponse;
import io.microraft.model.message.AppendEntriesRequest;
import io.microraft.model.message.AppendEntriesSuccessResponse;
import io.microraft.model.message.PreVoteRequest;
import io.microraft.model.message.PreVoteResponse;
import io.microraft.model.message.RaftMessage;
import io.microraft.model.message.TriggerLeaderElectionRequest;
import io.microraft.model.message.VoteRequest;
import io.microraft.model.message.VoteResponse;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** MicroRaft's messages as {@link PeerMessage}s, and back. */
final class MessageCodec {
    /** MicroRaft's models; stateless. */
    static final RaftModelFactory MODELS = new DefaultRaftModelFactory();
    /** The name of the one Raft group that there is. */
    static final String GROUP = "tutti";

    private MessageCodec() {}

    /**
     * What a Raft message says.
     *
     * @param end where the sender's log ends
     * @param entryBytesMax of the entries of an append only the first ones up to this many bytes are sent, one at least
     * @throws IOException if the body of an entry cannot be read
     */
    static PeerMessage.Raft encode(RaftMessage message, PeerMessage.LogEnd end, int entryBytesMax) throws IOException {
        int term = message.getTerm();
        return switch (message) {
            case AppendEntriesRequest m -> new PeerMessage.Append(term, m.getPreviousLogTerm(),
                    m.getPreviousLogIndex(), m.getCommitIndex(), m.getQuerySequenceNumber(),
                    m.getFlowControlSequenceNumber(), entries(m, entryBytesMax));
            case AppendEntriesSuccessResponse m -> new PeerMessage.Appended(term, m.getLastLogIndex(),
                    m.getQuerySequenceNumber(), m.getFlowControlSequenceNumber());
            case AppendEntriesFailureResponse m -> new PeerMessage.NotAppended(term, m.getExpectedNextIndex(),
                    m.getQuerySequenceNumber(), m.getFlowControlSequenceNumber(), end);
            case VoteRequest m -> new PeerMessage.VoteRequest(term, m.getLastLogTerm(), m.getLastLogIndex(),
                    m.isSticky());
            case VoteResponse m -> new PeerMessage.VoteResponse(term, m.isGranted());
            case PreVoteRequest m -> new PeerMessage.PreVoteRequest(term, m.getLastLogTerm(), m.getLastLogIndex());
            case PreVoteResponse m -> new PeerMessage.PreVoteResponse(term, m.isGranted());
            case TriggerLeaderElectionRequest m -> new PeerMessage.Lead(term, m.getLastLogTerm(), m.getLastLogIndex());
            default -> throw new IllegalArgumentException("no encoding for " + message.getClass().getName());
        };
    }

    private static List<PeerMessage.Entry> entries(AppendEntriesRequest m, int entryBytesMax) throws IOException {
        List<PeerMessage.Entry> entries = new ArrayList<>();
        int bytes = 0;
        for (io.microraft.model.log.LogEntry entry : m.getLogEntries()) {
            Operation operation = operation(entry);
            if (!entries.isEmpty() && bytes + operation.bodyBytes() > entryBytesMax) {
                break;
            }
            entries.add(new PeerMessage.Entry(entry.getTerm(), operation.kind, operation.body()));
            bytes += operation.bodyBytes();
        }
        return entries;
    }

    /**
     * What somebody has said, in MicroRaft's form.
     *
     * @throws tutti.core.schema.DecodeException if an entry holds what may not come into the log
     */
    static RaftMessage decode(int sender, PeerMessage.Raft read) {
        RaftEndpoint from = new Node(sender);
        int term = read.term();
        return switch (read) {
            case PeerMessage.Append m -> MODELS.createAppendEntriesRequestBuilder().setGroupId(GROUP).setSender(from)
                    .setTerm(term).setPreviousLogTerm(m.previousTerm()).setPreviousLogIndex(m.previousIndex())
                    .setCommitIndex(m.commitIndex()).setQuerySequenceNumber(m.query())
                    .setFlowControlSequenceNumber(m.flow()).setLogEntries(entries(m)).build();
            case PeerMessage.Appended m -> MODELS.createAppendEntriesSuccessResponseBuilder().setGroupId(GROUP)
                    .setSender(from).setTerm(term).setLastLogIndex(m.lastIndex()).setQuerySequenceNumber(m.query())
                    .setFlowControlSequenceNumber(m.flow()).build();
            case PeerMessage.NotAppended m -> MODELS.createAppendEntriesFailureResponseBuilder().setGroupId(GROUP)
                    .setSender(from).setTerm(term).setExpectedNextIndex(m.expectedIndex())
                    .setQuerySequenceNumber(m.query()).setFlowControlSequenceNumber(m.flow()).build();
            case PeerMessage.VoteRequest m -> MODELS.createVoteRequestBuilder().setGroupId(GROUP).setSender(from)
                    .setTerm(term).setLastLogTerm(m.lastTerm()).setLastLogIndex(m.lastIndex()).setSticky(m.sticky())
                    .build();
            case PeerMessage.VoteResponse m -> MODELS.createVoteResponseBuilder().setGroupId(GROUP).setSender(from)
                    .setTerm(term).setGranted(m.granted()).build();
            case PeerMessage.PreVoteRequest m -> MODELS.createPreVoteRequestBuilder().setGroupId(GROUP)
                    .setSender(from).setTerm(term).setLastLogTerm(m.lastTerm()).setLastLogIndex(m.lastIndex()).build();
            case PeerMessage.PreVoteResponse m -> MODELS.createPreVoteResponseBuilder().setGroupId(GROUP)
                    .setSender(from).setTerm(term).setGranted(m.granted()).build();
            case PeerMessage.Lead m -> MODELS.createTriggerLeaderElectionRequestBuilder().setGroupId(GROUP)
                    .setSender(from).setTerm(term).setLastLogTerm(m.lastTerm()).setLastLogIndex(m.lastIndex()).build();
        };
    }

    private static List<io.microraft.model.log.LogEntry> entries(PeerMessage.Append m) {
        List<io.microraft.model.log.LogEntry> entries = new ArrayList<>(m.entries().size());
        long index = m.previousIndex();
        for (PeerMessage.Entry entry : m.entries()) {
            index++;
            entries.add(entry(index, entry.term(), Operation.of((byte) entry.kind(), entry.body())));
        }
        return entries;
    }

    /** An entry as MicroRaft has it: it looks into those only that change who takes part. */
    static io.microraft.model.log.LogEntry entry(long index, int term, Operation operation) {
        return MODELS.createLogEntryBuilder().setIndex(index).setTerm(term)
                .setOperation(operation.change() == null ? operation : operation.change().operation()).build();
    }

    /** What an entry of MicroRaft's log holds. */
    static Operation operation(io.microraft.model.log.LogEntry entry) {
        return entry.getOperation() instanceof UpdateRaftGroupMembersOp change
                ? Operation.of(LogEntry.GROUP, GroupChange.of(change).bytes())
                : (Operation) entry.getOperation();
    }
}
