package tutti.order.raft;

import io.microraft.RaftEndpoint;
import io.microraft.model.RaftModelFactory;
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
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The messages between the nodes of a Raft order as bytes: a type, then the fields in the order of the code below, big
 * endian. MicroRaft's messages, and a few of our own.
 */
final class MessageCodec {
    /** MicroRaft's models; stateless. */
    static final RaftModelFactory MODELS = new DefaultRaftModelFactory();
    /** The name of the one Raft group that there is. */
    static final String GROUP = "tutti";

    private static final byte SUBMIT = 1;
    private static final byte TRUNCATED = 2;
    private static final byte APPEND = 3;
    private static final byte APPENDED = 4;
    private static final byte NOT_APPENDED = 5;
    private static final byte VOTE_REQUEST = 6;
    private static final byte VOTE_RESPONSE = 7;
    private static final byte PRE_VOTE_REQUEST = 8;
    private static final byte PRE_VOTE_RESPONSE = 9;
    private static final byte LETTER = 10;
    private static final byte LEAD = 11;

    private MessageCodec() {}

    /** What one node tells another. */
    sealed interface Wire {
        /** A batch for the leader to put into the log. */
        record Submit(byte[] batch) implements Wire {}

        /** The leader's log begins after what the receiver needs; {@code firstRetained} is a position. */
        record Truncated(long firstRetained) implements Wire {}

        /** What the sender's caller told this node outside of the order. */
        record Letter(ByteBuffer payload) implements Wire {}

        /** A message of MicroRaft; with where the sender's log ends if it refuses an append. */
        record Raft(RaftMessage message, @Nullable LogEnd end) implements Wire {}
    }

    /**
     * Where a node's log ends, so that a leader finds at once what the node lacks.
     *
     * @param lastIndex of its last entry, 0 if it has none
     * @param lastTerm of the same
     * @param applied up to here its log is committed
     */
    record LogEnd(long lastIndex, int lastTerm, long applied) {}

    static byte[] submit(byte[] batch) {
        return ByteBuffer.allocate(1 + batch.length).put(SUBMIT).put(batch).array();
    }

    static byte[] letter(byte[] payload) {
        return ByteBuffer.allocate(1 + payload.length).put(LETTER).put(payload).array();
    }

    static byte[] truncated(long firstRetained) {
        return ByteBuffer.allocate(9).put(TRUNCATED).putLong(firstRetained).array();
    }

    /**
     * A Raft message as bytes.
     *
     * @param end where the sender's log ends
     * @param entryBytesMax of the entries of an append only the first ones up to this many bytes are sent, one at least
     * @throws IOException if the body of an entry cannot be read
     */
    static byte[] encode(RaftMessage message, LogEnd end, int entryBytesMax) throws IOException {
        return switch (message) {
            case AppendEntriesRequest m -> append(m, entryBytesMax);
            case AppendEntriesSuccessResponse m -> start(APPENDED, m, 24).putLong(m.getLastLogIndex())
                    .putLong(m.getQuerySequenceNumber()).putLong(m.getFlowControlSequenceNumber()).array();
            case AppendEntriesFailureResponse m -> start(NOT_APPENDED, m, 44).putLong(m.getExpectedNextIndex())
                    .putLong(m.getQuerySequenceNumber()).putLong(m.getFlowControlSequenceNumber())
                    .putLong(end.lastIndex()).putInt(end.lastTerm()).putLong(end.applied()).array();
            case VoteRequest m -> start(VOTE_REQUEST, m, 13).putInt(m.getLastLogTerm()).putLong(m.getLastLogIndex())
                    .put((byte) (m.isSticky() ? 1 : 0)).array();
            case VoteResponse m -> start(VOTE_RESPONSE, m, 1).put((byte) (m.isGranted() ? 1 : 0)).array();
            case PreVoteRequest m -> start(PRE_VOTE_REQUEST, m, 12).putInt(m.getLastLogTerm())
                    .putLong(m.getLastLogIndex()).array();
            case PreVoteResponse m -> start(PRE_VOTE_RESPONSE, m, 1).put((byte) (m.isGranted() ? 1 : 0)).array();
            case TriggerLeaderElectionRequest m -> start(LEAD, m, 12).putInt(m.getLastLogTerm())
                    .putLong(m.getLastLogIndex()).array();
            default -> throw new IllegalArgumentException("no encoding for " + message.getClass().getName());
        };
    }

    private static ByteBuffer start(byte type, RaftMessage message, int moreBytes) {
        return ByteBuffer.allocate(5 + moreBytes).put(type).putInt(message.getTerm());
    }

    private static byte[] append(AppendEntriesRequest m, int entryBytesMax) throws IOException {
        List<byte[]> bodies = new ArrayList<>();
        int bytes = 0;
        for (io.microraft.model.log.LogEntry entry : m.getLogEntries()) {
            Operation operation = (Operation) entry.getOperation();
            if (!bodies.isEmpty() && bytes + operation.bodyBytes() > entryBytesMax) {
                break;
            }
            bodies.add(operation.body());
            bytes += operation.bodyBytes();
        }
        ByteBuffer out = ByteBuffer.allocate(45 + 9 * bodies.size() + bytes).put(APPEND).putInt(m.getTerm());
        out.putInt(m.getPreviousLogTerm()).putLong(m.getPreviousLogIndex()).putLong(m.getCommitIndex());
        out.putLong(m.getQuerySequenceNumber()).putLong(m.getFlowControlSequenceNumber()).putInt(bodies.size());
        for (int i = 0; i < bodies.size(); i++) {
            io.microraft.model.log.LogEntry entry = m.getLogEntries().get(i);
            byte[] body = bodies.get(i);
            out.putInt(entry.getTerm()).put(((Operation) entry.getOperation()).kind).putInt(body.length).put(body);
        }
        return out.array();
    }

    /** Reads what {@link #submit}, {@link #letter}, {@link #truncated} or {@link #encode} wrote. */
    static Wire decode(int from, ByteBuffer in) throws IOException {
        try {
            return decodeChecked(new Node(from), in);
        } catch (RuntimeException e) {
            throw new IOException("malformed message from node " + from, e);
        }
    }

    private static Wire decodeChecked(RaftEndpoint from, ByteBuffer in) throws IOException {
        byte type = in.get();
        if (type == SUBMIT) {
            return new Wire.Submit(rest(in));
        }
        if (type == LETTER) {
            return new Wire.Letter(in.slice());
        }
        if (type == TRUNCATED) {
            return new Wire.Truncated(in.getLong());
        }
        int term = in.getInt();
        return switch (type) {
            case APPEND -> raft(decodeAppend(from, term, in));
            case APPENDED -> raft(MODELS.createAppendEntriesSuccessResponseBuilder().setGroupId(GROUP).setSender(from)
                    .setTerm(term).setLastLogIndex(in.getLong()).setQuerySequenceNumber(in.getLong())
                    .setFlowControlSequenceNumber(in.getLong()).build());
            case NOT_APPENDED -> new Wire.Raft(MODELS.createAppendEntriesFailureResponseBuilder().setGroupId(GROUP)
                    .setSender(from).setTerm(term).setExpectedNextIndex(in.getLong())
                    .setQuerySequenceNumber(in.getLong()).setFlowControlSequenceNumber(in.getLong()).build(),
                    new LogEnd(in.getLong(), in.getInt(), in.getLong()));
            case VOTE_REQUEST -> raft(MODELS.createVoteRequestBuilder().setGroupId(GROUP).setSender(from).setTerm(term)
                    .setLastLogTerm(in.getInt()).setLastLogIndex(in.getLong()).setSticky(in.get() != 0).build());
            case VOTE_RESPONSE -> raft(MODELS.createVoteResponseBuilder().setGroupId(GROUP).setSender(from)
                    .setTerm(term).setGranted(in.get() != 0).build());
            case PRE_VOTE_REQUEST -> raft(MODELS.createPreVoteRequestBuilder().setGroupId(GROUP).setSender(from)
                    .setTerm(term).setLastLogTerm(in.getInt()).setLastLogIndex(in.getLong()).build());
            case PRE_VOTE_RESPONSE -> raft(MODELS.createPreVoteResponseBuilder().setGroupId(GROUP).setSender(from)
                    .setTerm(term).setGranted(in.get() != 0).build());
            case LEAD -> raft(MODELS.createTriggerLeaderElectionRequestBuilder().setGroupId(GROUP).setSender(from)
                    .setTerm(term).setLastLogTerm(in.getInt()).setLastLogIndex(in.getLong()).build());
            default -> throw new IOException("unknown message type " + type);
        };
    }

    private static Wire raft(RaftMessage message) {
        return new Wire.Raft(message, null);
    }

    private static RaftMessage decodeAppend(RaftEndpoint from, int term, ByteBuffer in) {
        var builder = MODELS.createAppendEntriesRequestBuilder().setGroupId(GROUP).setSender(from).setTerm(term);
        builder.setPreviousLogTerm(in.getInt());
        long index = in.getLong();
        builder.setPreviousLogIndex(index).setCommitIndex(in.getLong()).setQuerySequenceNumber(in.getLong())
                .setFlowControlSequenceNumber(in.getLong());
        int count = in.getInt();
        List<io.microraft.model.log.LogEntry> entries = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            int entryTerm = in.getInt();
            byte kind = in.get();
            byte[] body = new byte[in.getInt()];
            in.get(body);
            index++;
            entries.add(entry(index, entryTerm, Operation.of(kind, body)));
        }
        return builder.setLogEntries(entries).build();
    }

    static io.microraft.model.log.LogEntry entry(long index, int term, Operation operation) {
        return MODELS.createLogEntryBuilder().setIndex(index).setTerm(term).setOperation(operation).build();
    }

    private static byte[] rest(ByteBuffer in) {
        byte[] bytes = new byte[in.remaining()];
        in.get(bytes);
        return bytes;
    }
}
