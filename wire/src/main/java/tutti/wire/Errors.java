package tutti.wire;

import java.util.concurrent.CompletableFuture;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.AbortReason;
import tutti.core.txn.Outcome;
import tutti.core.txn.TransactionId;
import tutti.node.TransactionNames;
import tutti.pgwire.ErrorFields;

/** What a client is told when something goes wrong. */
final class Errors {
    /** SQLSTATE of what is not supported. */
    static final String NOT_SUPPORTED = "0A000";
    /** SQLSTATE of what cannot be done at the moment. */
    static final String CANNOT_CONNECT_NOW = "57P03";

    /** SQLSTATE of an access outside of the conflict classes that a transaction was ordered by. */
    static final String OUTSIDE_OF_CLASSES = "2F003";
    /** SQLSTATE of a change in a transaction, or at a node, that may only read. */
    static final String READ_ONLY = "25006";

    /** SQLSTATE of a COMMIT or ROLLBACK where the transaction is not the code's to end. */
    private static final String TERMINATION = "2D000";
    /** SQLSTATE of a name that is not for clients. */
    private static final String RESERVED_NAME = "42939";

    /** What a client hears that has cancelled what it waited for. */
    static final ErrorFields CANCELLED = ErrorFields.of("ERROR", "57014", "canceling statement due to user request");
    /** Why a transaction is over whose client has cancelled it before its turn had come. */
    static final Outcome.Aborted CANCELLED_BEFORE_ITS_TURN = new Outcome.Aborted(
            new AbortReason.Failed("cancelled"));

    /** What a client hears that ends a transaction block where there is none. */
    static final ErrorFields NO_TRANSACTION = ErrorFields.of("WARNING", "25P01", "there is no transaction in progress");

    /** What a client hears that sets constraints where there is no transaction block. */
    static final ErrorFields CONSTRAINTS_OUTSIDE = ErrorFields.of("WARNING", "25P01",
            "SET CONSTRAINTS can only be used in transaction blocks");

    private Errors() {}

    /** Of a COMMIT or ROLLBACK AND CHAIN where there is no transaction block. */
    static ErrorFields noBlockToChain(StatementKind kind) {
        return error("25P01", (kind.commits() ? "COMMIT" : "ROLLBACK")
                + " AND CHAIN can only be used in transaction blocks");
    }

    static ErrorFields error(String sqlState, String message) {
        return ErrorFields.of("ERROR", sqlState, message);
    }

    static ErrorFields fatal(String sqlState, String message) {
        return ErrorFields.of("FATAL", sqlState, message);
    }

    static ErrorFields notSupported(String reason) {
        return error(NOT_SUPPORTED, reason);
    }

    /** The error for a statement that the {@link Classifier} refuses. */
    static ErrorFields statementRefused(String reason) {
        return error(switch (reason) {
            case Classifier.RESERVED, Classifier.RESERVED_SCHEMA, Classifier.RESERVED_TRIGGER -> RESERVED_NAME;
            case CatalogWrites.REFUSAL -> "42501";
            default -> NOT_SUPPORTED;
        }, reason);
    }

    /** The error for something that the node has asked its engine about in vain. */
    static ErrorFields unreadable(String what, CompletableFuture<?> failed) {
        return error("XX000", what + " could not be read: " + failed.exceptionNow().getMessage());
    }

    static ErrorFields refused(String reason) {
        return error(CANNOT_CONNECT_NOW, "writes are not accepted at the moment: " + reason)
                .with('H', "Reads go on. Try again later, or on another node.");
    }

    /** The end of a session whose commit nobody can decide at the moment. */
    static ErrorFields inDoubt(TransactionNames names, TransactionId name) {
        return fatal(TransactionNames.IN_DOUBT, names.inDoubt(name))
                .with('D', "It has asked to commit, and commits, or does not, when a majority is reached again.")
                .with('H', names.howToAsk(name));
    }

    /**
     * The end of a session whose node, or whose server process, has ended before the outcome was known of what the client had asked for.
     *
     * @param name by which the client can ask; null if it knows none
     */
    static ErrorFields unheard(TransactionNames names, @Nullable TransactionId name) {
        ErrorFields doubt = fatal(TransactionNames.IN_DOUBT, "whether "
                + (name == null
                        ? "the statement has been executed"
                        : "transaction " + names.of(name) + " has been committed")
                + " is in doubt: its session has ended before that was known");
        return name == null
                ? doubt.with('H', "Look whether it has, before it is executed again.")
                : doubt.with('H', names.howToAsk(name));
    }

    /** The end of a session whose transaction waits for its turn, which does not come without a majority. */
    static ErrorFields awaitsNoTurn() {
        return fatal(CANNOT_CONNECT_NOW, "the transaction was rolled back: this node cannot reach a majority of the"
                + " cluster, so that its turn does not come")
                .with('H', "Connect to a node that reaches a majority, and run it again.");
    }

    /** An engine's error with what to do about it, where that is the node's fault. */
    static ErrorFields explained(ErrorFields error) {
        return error.sqlState().equals(TERMINATION) && error.get('H') == null
                ? error.with('H',
                        "COMMIT and ROLLBACK in procedures and DO blocks do not reach other nodes: let the client commit,"
                                + " with a call for each transaction.")
                : error;
    }

    /** The error for an outcome, null for success. */
    static @Nullable ErrorFields of(Outcome outcome, IntFunction<String> describe) {
        if (!(outcome instanceof Outcome.Aborted(AbortReason reason))) {
            return null;
        }
        if (outcome.equals(CANCELLED_BEFORE_ITS_TURN)) {
            return CANCELLED;
        }
        return switch (reason) {
            case AbortReason.LostCertification lost ->
                serialization("could not serialize access due to a concurrent transaction on another node",
                        "Lost " + describe.apply(lost.key()) + " to the transaction at position " + lost.winner()
                                + " of the total order, which came first. Cause: certification.");
            case AbortReason.StaleRead stale ->
                serialization("could not serialize access due to a concurrent transaction on another node",
                        "It read what the transaction at position " + stale.winner()
                                + " of the total order changed, which came first. Cause: stale-read.");
            case AbortReason.TooOld old -> serialization("could not serialize access: the transaction is too old",
                    "It began when position " + old.lastCommitted() + " was visible; the cluster remembers concurrent"
                            + " transactions back to position " + old.oldestKept() + ". Cause: too-old.");
            case AbortReason.Victim victim -> serialization(
                    "could not serialize access: the transaction gave way to one that was ordered first",
                    "It held a lock that the transaction at position " + victim.forPosition()
                            + " of the total order needed. Cause: victim.");
            case AbortReason.Promised promised ->
                serialization("could not serialize access due to a prepared transaction",
                        "Lost " + describe.apply(promised.key()) + " to the prepared transaction \"" + promised.to()
                                + "\", which its client has neither committed nor rolled back. Cause: promised.");
            case AbortReason.Refused refused ->
                error(READ_ONLY, refused.why()).with('D', "Nothing was changed. Cause: refused.");
            case AbortReason.Inapplicable wrong -> error(wrong.sqlState(),
                    "the transaction was not committed, for most nodes cannot make its changes: " + wrong.message())
                    .with('D', "It has been left out on all nodes. Cause: inapplicable.")
                    .with('H', "What checks a row must come out alike on all nodes: it may depend on the row alone.");
            case AbortReason.Failed failed -> serialization("the transaction was not committed: " + failed.label(),
                    "It has been rolled back on all nodes. Cause: " + failed.label() + ".");
        };
    }

    private static ErrorFields serialization(String message, String detail) {
        return error("40001", message).with('D', detail).with('H', "The transaction might succeed if retried.");
    }

    /** What is said beside a commit whose COMMIT the engine has refused, for this reason: the node applies what was changed, and that is all. */
    static ErrorFields sessionUndone(ErrorFields cause) {
        return ErrorFields.of("WARNING", "01000",
                "the transaction is committed, but not by this session's COMMIT ("
                        + (cause.sqlState().equals("57014") ? "it took longer than a second" : cause.message())
                        + "): what it has done to the session alone is undone")
                .with('D', "That is settings, LISTEN, temporary tables and their rows, and cursors WITH HOLD.")
                .with('H', "Do that in a transaction that changes nothing else.");
    }
}
