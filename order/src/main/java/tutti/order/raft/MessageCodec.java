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
 * The messages between the nodes of a Raft order as {@link Frames}: a type, then the fields in the order of the code below,
 * big endian. MicroRaft's messages, and a few of our own. What is written is a finished frame; what is read is the bytes of one.
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
    /** Of an entry in an append: term, kind and length. */
    private static final int ENTRY_HEADER_BYTES = 9;

    private MessageCodec() {}

    /** What one node tells another. It keeps nothing of the bytes that it was read from. */
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

    static ByteBuffer submit(byte[] batch) {
        return Frames.finish(Frames.begin(1 + batch.length).put(SUBMIT).put(batch));
    }

    static ByteBuffer letter(byte[] payload) {
        return Frames.finish(Frames.begin(1 + payload.length).put(LETTER).put(payload));
    }

    static ByteBuffer truncated(long firstRetained) {
        return Frames.finish(Frames.begin(9).put(TRUNCATED).putLong(firstRetained));
    }

    /**
     * A Raft message as a frame.
     *
     * @param end where the sender's log ends
     * @param entryBytesMax of the entries of an append only the first ones up to this many bytes are sent, one at least
     * @throws IOException if the body of an entry cannot be read
     */
    static ByteBuffer encode(RaftMessage message, LogEnd end, int entryBytesMax) throws IOException {
        return Frames.finish(switch (message) {
            case AppendEntriesRequest m -> append(m, entryBytesMax);
            case AppendEntriesSuccessResponse m -> start(APPENDED, m, 24).putLong(m.getLastLogIndex())
                    .putLong(m.getQuerySequenceNumber()).putLong(m.getFlowControlSequenceNumber());
            case AppendEntriesFailureResponse m -> start(NOT_APPENDED, m, 44).putLong(m.getExpectedNextIndex())
                    .putLong(m.getQuerySequenceNumber()).putLong(m.getFlowControlSequenceNumber())
                    .putLong(end.lastIndex()).putInt(end.lastTerm()).putLong(end.applied());
            case VoteRequest m -> start(VOTE_REQUEST, m, 13).putInt(m.getLastLogTerm()).putLong(m.getLastLogIndex())
                    .put((byte) (m.isSticky() ? 1 : 0));
            case VoteResponse m -> start(VOTE_RESPONSE, m, 1).put((byte) (m.isGranted() ? 1 : 0));
            case PreVoteRequest m -> start(PRE_VOTE_REQUEST, m, 12).putInt(m.getLastLogTerm())
                    .putLong(m.getLastLogIndex());
            case PreVoteResponse m -> start(PRE_VOTE_RESPONSE, m, 1).put((byte) (m.isGranted() ? 1 : 0));
            case TriggerLeaderElectionRequest m -> start(LEAD, m, 12).putInt(m.getLastLogTerm())
                    .putLong(m.getLastLogIndex());
            default -> throw new IllegalArgumentException("no encoding for " + message.getClass().getName());
        });
    }

    private static ByteBuffer start(byte type, RaftMessage message, int moreBytes) {
        return Frames.begin(5 + moreBytes).put(type).putInt(message.getTerm());
    }

    private static ByteBuffer append(AppendEntriesRequest m, int entryBytesMax) throws IOException {
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
        ByteBuffer out = start(APPEND, m, 40 + ENTRY_HEADER_BYTES * bodies.size() + bytes);
        out.putInt(m.getPreviousLogTerm()).putLong(m.getPreviousLogIndex()).putLong(m.getCommitIndex());
        out.putLong(m.getQuerySequenceNumber()).putLong(m.getFlowControlSequenceNumber()).putInt(bodies.size());
        for (int i = 0; i < bodies.size(); i++) {
            io.microraft.model.log.LogEntry entry = m.getLogEntries().get(i);
            byte[] body = bodies.get(i);
            out.putInt(entry.getTerm()).put(((Operation) entry.getOperation()).kind).putInt(body.length).put(body);
        }
        return out;
    }

    /**
     * Reads what {@link #submit}, {@link #letter}, {@link #truncated} or {@link #encode} wrote.
     *
     * @throws IOException if no node would have written it
     */
    static Wire decode(int from, ByteBuffer in) throws IOException {
        try {
            return decodeChecked(new Node(from), in);
        } catch (RuntimeException e) {
            throw new IOException("a message that is no message", e);
        }
    }

    private static Wire decodeChecked(RaftEndpoint from, ByteBuffer in) throws IOException {
        byte type = in.get();
        if (type == SUBMIT) {
            return new Wire.Submit(batch(rest(in)));
        }
        if (type == LETTER) {
            return new Wire.Letter(ByteBuffer.wrap(rest(in)).asReadOnlyBuffer());
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
            default -> throw new IOException("a message of unknown type " + type);
        };
    }

    private static Wire raft(RaftMessage message) {
        return new Wire.Raft(message, null);
    }

    private static RaftMessage decodeAppend(RaftEndpoint from, int term, ByteBuffer in) throws IOException {
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
            int length = in.getInt();
            if (length < 0 || length > in.remaining()) {
                throw new IOException("an entry of " + length + " bytes in a message with " + in.remaining());
            }
            byte[] body = new byte[length];
            in.get(body);
            index++;
            entries.add(entry(index, entryTerm, Operation.of(kind, kind == LogEntry.BATCH ? batch(body) : body)));
        }
        return builder.setLogEntries(entries).build();
    }

    static io.microraft.model.log.LogEntry entry(long index, int term, Operation operation) {
        return MODELS.createLogEntryBuilder().setIndex(index).setTerm(term).setOperation(operation).build();
    }

    /** A batch that is whole: nothing else may come into the log. */
    private static byte[] batch(byte[] bytes) throws IOException {
        if (!Batch.isWhole(ByteBuffer.wrap(bytes))) {
            throw new IOException("a batch of " + bytes.length + " bytes that is none");
        }
        return bytes;
    }

    private static byte[] rest(ByteBuffer in) {
        byte[] bytes = new byte[in.remaining()];
        in.get(bytes);
        return bytes;
    }
}
