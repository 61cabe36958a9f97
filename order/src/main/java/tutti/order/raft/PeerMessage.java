package tutti.order.raft;

import java.util.List;
import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.MessageSet;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;
import tutti.core.spi.Group;
import tutti.order.batch.Batch;
import tutti.runtime.Frames;

/** What the nodes of a Raft order tell each other, each in one of {@link Frames}: messages of their own, and Raft's. */
sealed interface PeerMessage extends Encoded {
    /**
     * A batch for the leader to put into the log.
     *
     * @param batch bytes of a {@link Batch}
     */
    record Submit(byte[] batch) implements PeerMessage {
        static final Schema<Submit> SCHEMA = Schema
                .message("submit", 1, Submit.class, "A batch for the leader to put into the log.").of(
                        Field.of("batch", Types.bytes(Types.BYTES_MAX), Submit::batch), Submit::read);

        private static Submit read(byte[] batch) {
            Batch.of(batch);
            return new Submit(batch);
        }
    }

    /**
     * The leader's log begins after what the receiver needs.
     *
     * @param firstRetained a position
     */
    record Truncated(long firstRetained) implements PeerMessage {
        static final Schema<Truncated> SCHEMA = Schema
                .message("truncated", 2, Truncated.class, "The leader's log begins after what the receiver needs.").of(
                        Field.of("firstRetained", Types.NATURAL, Truncated::firstRetained), Truncated::new);
    }

    /** What the sender's caller told this node outside of the order. */
    record Letter(byte[] payload) implements PeerMessage {
        static final Schema<Letter> SCHEMA = Schema
                .message("letter", 10, Letter.class, "What the sender's node tells this one outside of the order.").of(
                        Field.of("payload", Types.bytes(Types.BYTES_MAX), Letter::payload), Letter::new);
    }

    /**
     * How far the sender has got, so that the receiver knows the sender's directory again.
     *
     * @param term the highest that it has told
     * @param voted whether it has voted in it
     * @param index the last entry that it has for good: committed, and on its disk
     */
    record Kept(int term, boolean voted, long index) implements PeerMessage {
        static final Schema<Kept> SCHEMA = Schema
                .message("kept", 12, Kept.class, "How far the sender has got, which its disk holds.").of(
                        Field.of("term", Types.COUNT, Kept::term), Field.of("voted", Types.BOOLEAN, Kept::voted),
                        Field.of("index", Types.NATURAL, Kept::index), Kept::new);
    }

    /** What Raft says; {@link MessageCodec} knows it in MicroRaft's form. */
    sealed interface Raft extends PeerMessage {
        /** The sender's term. */
        int term();
    }

    /**
     * An entry of the log.
     *
     * @param kind as in {@link LogEntry}
     * @param body of a batch, or nothing
     */
    record Entry(int term, int kind, byte[] body) {
        static final Schema<Entry> SCHEMA = Schema.part("entry", Entry.class).of(
                Field.of("term", Types.COUNT, Entry::term), Field.of("kind", Types.u8(0, 127), Entry::kind),
                Field.of("body", Types.bytes(Types.BYTES_MAX), Entry::body), Entry::new);
    }

    /** Entries behind one that sender and receiver should have in common. */
    record Append(int term, int previousTerm, long previousIndex, long commitIndex, long query, long flow,
            List<Entry> entries) implements Raft {
        static final Schema<Append> SCHEMA = Schema.message("append", 3, Append.class,
                "Entries behind one that sender and receiver should have in common.").of(
                        Field.of("term", Types.COUNT, Append::term),
                        Field.of("previousTerm", Types.COUNT, Append::previousTerm),
                        Field.of("previousIndex", Types.NATURAL, Append::previousIndex),
                        Field.of("commitIndex", Types.NATURAL, Append::commitIndex),
                        Field.of("query", Types.NATURAL, Append::query),
                        Field.of("flow", Types.NATURAL, Append::flow),
                        Field.of("entries", Types.list(Entry.SCHEMA, 1 << 20), Append::entries), Append::new);
    }

    /** The receiver of an append has the entries. */
    record Appended(int term, long lastIndex, long query, long flow) implements Raft {
        static final Schema<Appended> SCHEMA = Schema
                .message("appended", 4, Appended.class, "Its receiver has the entries.").of(
                        Field.of("term", Types.COUNT, Appended::term),
                        Field.of("lastIndex", Types.NATURAL, Appended::lastIndex),
                        Field.of("query", Types.NATURAL, Appended::query),
                        Field.of("flow", Types.NATURAL, Appended::flow), Appended::new);
    }

    /**
     * Where a node's log ends, so that a leader finds at once what the node lacks.
     *
     * @param lastIndex of its last entry, 0 if it has none
     * @param lastTerm of the same
     * @param applied up to here its log is committed
     */
    record LogEnd(long lastIndex, int lastTerm, long applied) {
        static final Schema<LogEnd> SCHEMA = Schema.part("log end", LogEnd.class).of(
                Field.of("lastIndex", Types.NATURAL, LogEnd::lastIndex),
                Field.of("lastTerm", Types.COUNT, LogEnd::lastTerm),
                Field.of("applied", Types.NATURAL, LogEnd::applied), LogEnd::new);
    }

    /** The receiver of an append lacks what comes before the entries. */
    record NotAppended(int term, long expectedIndex, long query, long flow, LogEnd end) implements Raft {
        static final Schema<NotAppended> SCHEMA = Schema
                .message("not-appended", 5, NotAppended.class, "Its receiver lacks what comes before the entries.").of(
                        Field.of("term", Types.COUNT, NotAppended::term),
                        Field.of("expectedIndex", Types.NATURAL, NotAppended::expectedIndex),
                        Field.of("query", Types.NATURAL, NotAppended::query),
                        Field.of("flow", Types.NATURAL, NotAppended::flow),
                        Field.of("end", LogEnd.SCHEMA, NotAppended::end), NotAppended::new);
    }

    /** Asks for a vote. */
    record VoteRequest(int term, int lastTerm, long lastIndex, boolean sticky) implements Raft {
        static final Schema<VoteRequest> SCHEMA = Schema
                .message("vote-request", 6, VoteRequest.class, "Asks for a vote.").of(
                        Field.of("term", Types.COUNT, VoteRequest::term),
                        Field.of("lastTerm", Types.COUNT, VoteRequest::lastTerm),
                        Field.of("lastIndex", Types.NATURAL, VoteRequest::lastIndex),
                        Field.of("sticky", Types.BOOLEAN, VoteRequest::sticky), VoteRequest::new);
    }

    /** Answers it. */
    record VoteResponse(int term, boolean granted) implements Raft {
        static final Schema<VoteResponse> SCHEMA = Schema.message("vote-response", 7, VoteResponse.class, "Answers it.")
                .of(
                        Field.of("term", Types.COUNT, VoteResponse::term),
                        Field.of("granted", Types.BOOLEAN, VoteResponse::granted), VoteResponse::new);
    }

    /** Asks whether there would be a vote. */
    record PreVoteRequest(int term, int lastTerm, long lastIndex) implements Raft {
        static final Schema<PreVoteRequest> SCHEMA = Schema
                .message("pre-vote-request", 8, PreVoteRequest.class, "Asks whether there would be a vote.").of(
                        Field.of("term", Types.COUNT, PreVoteRequest::term),
                        Field.of("lastTerm", Types.COUNT, PreVoteRequest::lastTerm),
                        Field.of("lastIndex", Types.NATURAL, PreVoteRequest::lastIndex), PreVoteRequest::new);
    }

    /** Answers it. */
    record PreVoteResponse(int term, boolean granted) implements Raft {
        static final Schema<PreVoteResponse> SCHEMA = Schema
                .message("pre-vote-response", 9, PreVoteResponse.class, "Answers it.").of(
                        Field.of("term", Types.COUNT, PreVoteResponse::term),
                        Field.of("granted", Types.BOOLEAN, PreVoteResponse::granted), PreVoteResponse::new);
    }

    /** The leader hands over. */
    record Lead(int term, int lastTerm, long lastIndex) implements Raft {
        static final Schema<Lead> SCHEMA = Schema
                .message("lead", 11, Lead.class, "The leader would have the receiver lead.").of(
                        Field.of("term", Types.COUNT, Lead::term),
                        Field.of("lastTerm", Types.COUNT, Lead::lastTerm),
                        Field.of("lastIndex", Types.NATURAL, Lead::lastIndex), Lead::new);
    }

    /**
     * A node was given a copy to begin anew with, as a message in the order has said.
     *
     * @param directory number of that
     * @param position of the message
     */
    record Replaced(int node, long directory, long position) implements PeerMessage {
        static final Schema<Replaced> SCHEMA = Schema
                .message("replaced", 13, Replaced.class, "A node was given a copy to begin anew with.").of(
                        Field.of("node", Types.INT, Replaced::node),
                        Field.of("directory", Types.LONG, Replaced::directory),
                        Field.of("position", Types.NATURAL, Replaced::position), Replaced::new);
    }

    /** The members of the cluster, once they have changed: whoever was away meanwhile might not find those that came. */
    record Members(Group.Members now) implements PeerMessage {
        static final Schema<Members> SCHEMA = Schema
                .message("members", 14, Members.class, "The members of the cluster, once they have changed.")
                .of(Field.of("now", Group.Members.SCHEMA, Members::now), Members::new);
    }

    /** All of them. */
    MessageSet<PeerMessage> SET = new MessageSet<>("raft messages",
            "Between the nodes of a Raft order, behind the greeting, each in a frame: its length of 4 bytes, a CRC-32C of 4"
                    + " bytes, and the message.",
            List.of(Submit.SCHEMA, Truncated.SCHEMA, Letter.SCHEMA, Append.SCHEMA, Appended.SCHEMA, NotAppended.SCHEMA,
                    VoteRequest.SCHEMA, VoteResponse.SCHEMA, PreVoteRequest.SCHEMA, PreVoteResponse.SCHEMA,
                    Lead.SCHEMA, Kept.SCHEMA, Replaced.SCHEMA, Members.SCHEMA));
}
