package tutti.grid.commit;

import java.util.List;
import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;
import tutti.core.txn.TransactionId;
import tutti.grid.multicast.LamportClock;
import tutti.grid.multicast.MulticastMessages;

/** What nodes tell each other about commits, besides what multicast does. */
public sealed interface CommitMessage extends Encoded {
    /** All of them. */
    static List<Schema<? extends CommitMessage>> schemas() {
        return List.of(Vote.SCHEMA, Outcome.SCHEMA, Prepare.SCHEMA, Refused.SCHEMA, Done.SCHEMA, Waits.SCHEMA,
                Orphan.SCHEMA, Inquire.SCHEMA, Known.SCHEMA);
    }

    /** The transaction that it is about. */
    TransactionId id();

    /**
     * An owner has applied a transaction, or is ready to.
     *
     * @param commit whether all that it owns of what was read is still so
     * @param stamp of the transaction
     */
    record Vote(TransactionId id, boolean commit, long stamp) implements CommitMessage {
        static final Schema<Vote> SCHEMA = Schema
                .message("vote", 30, Vote.class, "Whether all is as it was read, at an owner; or that it was applied.")
                .of(
                        Field.of("id", TransactionId.SCHEMA, Vote::id),
                        Field.of("commit", Types.BOOLEAN, Vote::commit),
                        Field.of("stamp", Types.POSITIVE, Vote::stamp), Vote::new);
    }

    /** Whether a transaction has committed. */
    record Outcome(TransactionId id, boolean commit, long stamp) implements CommitMessage {
        /** How it is written. */
        public static final Schema<Outcome> SCHEMA = Schema
                .message("outcome", 31, Outcome.class, "Whether a transaction has committed, and at which stamp.").of(
                        Field.of("id", TransactionId.SCHEMA, Outcome::id),
                        Field.of("commit", Types.BOOLEAN, Outcome::commit),
                        Field.of("stamp", Types.NATURAL, Outcome::stamp), Outcome::new);
    }

    /** Two-phase commit: asks an owner to lock and check what it owns. */
    record Prepare(TransactionId id, int[] destinations, byte[] payload) implements CommitMessage {
        static final Schema<Prepare> SCHEMA = Schema
                .message("prepare", 32, Prepare.class, "Two-phase commit: asks an owner to lock and to check.").of(
                        Field.of("id", TransactionId.SCHEMA, Prepare::id),
                        Field.of("destinations", Types.ints(LamportClock.NODES_MAX), Prepare::destinations),
                        Field.of("payload", Types.bytes(MulticastMessages.PAYLOAD_BYTES_MAX), Prepare::payload),
                        Prepare::new);
    }

    /** Two-phase commit: an owner cannot. */
    record Refused(TransactionId id, Result.Kind kind) implements CommitMessage {
        static final Schema<Refused> SCHEMA = Schema
                .message("refused", 33, Refused.class, "Two-phase commit: an owner votes against it, and why.").of(
                        Field.of("id", TransactionId.SCHEMA, Refused::id),
                        Field.of("kind", Types.oneOf(Result.Kind.class), Refused::kind), Refused::new);
    }

    /** Two-phase commit: an owner has applied it. */
    record Done(TransactionId id) implements CommitMessage {
        static final Schema<Done> SCHEMA = Schema
                .message("done", 34, Done.class, "Two-phase commit: an owner has applied it and released its locks.")
                .of(Field.of("id", TransactionId.SCHEMA, Done::id), Done::new);
    }

    /** Two-phase commit: one transaction waits for a lock of another one. */
    record Waits(TransactionId id, TransactionId holder) implements CommitMessage {
        static final Schema<Waits> SCHEMA = Schema
                .message("waits", 35, Waits.class, "Two-phase commit: a transaction waits for a lock of another one.")
                .of(Field.of("id", TransactionId.SCHEMA, Waits::id),
                        Field.of("holder", TransactionId.SCHEMA, Waits::holder), Waits::new);
    }

    /** Two-phase commit: the coordinator has crashed, and the receiver coordinates from now on. */
    record Orphan(TransactionId id, int[] destinations) implements CommitMessage {
        static final Schema<Orphan> SCHEMA = Schema
                .message("orphan", 36, Orphan.class, "Two-phase commit: the receiver is the coordinator now.").of(
                        Field.of("id", TransactionId.SCHEMA, Orphan::id),
                        Field.of("destinations", Types.ints(LamportClock.NODES_MAX), Orphan::destinations),
                        Orphan::new);
    }

    /** Two-phase commit: asks an owner what it knows of the outcome; by groups, any member. */
    record Inquire(TransactionId id, long view) implements CommitMessage {
        static final Schema<Inquire> SCHEMA = Schema
                .message("inquire", 37, Inquire.class, "What does an owner know of the outcome?").of(
                        Field.of("id", TransactionId.SCHEMA, Inquire::id),
                        Field.of("view", Types.NATURAL, Inquire::view), Inquire::new);
    }

    /**
     * The answer.
     *
     * @param stamp at which it has committed; 0 if the sender does not know that it has
     */
    record Known(TransactionId id, long view, long stamp) implements CommitMessage {
        static final Schema<Known> SCHEMA = Schema
                .message("known", 38, Known.class, "Answer to inquire: the stamp at which it has committed, or 0.").of(
                        Field.of("id", TransactionId.SCHEMA, Known::id),
                        Field.of("view", Types.NATURAL, Known::view),
                        Field.of("stamp", Types.NATURAL, Known::stamp), Known::new);
    }
}
