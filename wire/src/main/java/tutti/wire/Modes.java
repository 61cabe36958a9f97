package tutti.wire;

import java.util.Map;
import org.jspecify.annotations.Nullable;
import tutti.node.Transactions;
import tutti.pgwire.ErrorFields;

/**
 * Where a session wants its whole requests to be executed, {@code tutti.mode}, when it wants to hear of them,
 * {@code tutti.acknowledge}, and what is one, {@code tutti.requests}; and whom its advisory locks keep out, {@code tutti.advisory_locks}. On the session's event
 * loop.
 */
final class Modes {
    /** The variable that says where. */
    static final String MODE = "tutti.mode";
    /** The variable that says when. */
    static final String ACKNOWLEDGE = "tutti.acknowledge";

    /** The variable that says what of a cycle of the extended protocol is a request. */
    static final String REQUESTS = "tutti.requests";

    /** The variable that says whom advisory locks keep out. */
    static final String ADVISORY_LOCKS = "tutti.advisory_locks";

    /** Whom advisory locks keep out. */
    enum AdvisoryLocks {
        /** Sessions of the same node. */
        NODE,
        /** All: those that last as long as their transaction are certified with what it changes (docs/decisions/0129). */
        CLUSTER
    }

    /** Where. */
    enum Mode {
        /** As the protocol does, or the function that is called says. */
        DEFAULT,
        /** By every node. */
        ACTIVE,
        /** By this node, which ships the changes. */
        PASSIVE
    }

    /** When. */
    enum Acknowledge {
        /** When its result is known, and visible at this node. */
        EXECUTED,
        /** When it is in the order, and so will be executed. */
        LOGGED,
        /** When it is visible at every node that this one can reach. */
        APPLIED
    }

    /** What is a request. */
    enum Requests {
        /** A cycle. */
        CYCLE,
        /** Where requests are acknowledged when they are logged, each statement of a cycle: it is logged, and executed, by itself. */
        STATEMENT
    }

    private final SessionVariable<Mode> mode;
    private final SessionVariable<Acknowledge> acknowledge;
    private final SessionVariable<Requests> requests;
    private final SessionVariable<AdvisoryLocks> advisoryLocks;

    /** Of a session of a node under some protocol. */
    Modes(Transactions node) {
        boolean wholeOnly = node.wholeOnly();
        boolean logs = node.undertakes();
        mode = new SessionVariable<>("mode", Mode.DEFAULT,
                value -> value == Mode.PASSIVE && wholeOnly ? passiveRefused() : null,
                (value, local) -> local ? locally(value) : inBlock());
        acknowledge = new SessionVariable<>("acknowledge", Acknowledge.EXECUTED,
                value -> value == Acknowledge.LOGGED && !logs ? loggedRefused(ACKNOWLEDGE, "logged") : null,
                (value, local) -> local && value != Acknowledge.LOGGED ? null : acknowledgeInBlock(value));
        requests = new SessionVariable<>("requests", Requests.CYCLE,
                value -> value == Requests.STATEMENT && !logs ? loggedRefused(REQUESTS, "statement") : null,
                (_, local) -> local ? null : laterOnly(REQUESTS));
        boolean certifies = node.executesAtOnce() && !node.needsClasses();
        advisoryLocks = new SessionVariable<>("advisory_locks", AdvisoryLocks.NODE,
                value -> value == AdvisoryLocks.CLUSTER && !certifies ? advisoryRefused() : null,
                (_, local) -> local ? null : laterOnly(ADVISORY_LOCKS));
    }

    private static ErrorFields advisoryRefused() {
        return Errors.notSupported("the cluster's protocol does not certify what transactions lock, so "
                + ADVISORY_LOCKS + " cannot be cluster")
                .with('H',
                        "Protocols si, dbsm, postgres-r, wice and 2pc do; or update a row that stands for the lock.");
    }

    private static ErrorFields laterOnly(String variable) {
        return Errors.error("25001", variable + " cannot be set in a transaction block for the session")
                .with('H', "Set it before BEGIN.");
    }

    private static ErrorFields passiveRefused() {
        return Errors.notSupported("under protocol active every node executes what changes the database, so "
                + MODE + " cannot be passive")
                .with('H', "Protocol akara with either-way: active executes requests everywhere where it can.");
    }

    private static ErrorFields inBlock() {
        return Errors.error("25001", MODE + " cannot be set in a transaction block for the session")
                .with('H', "Set it before BEGIN, or use SET LOCAL.");
    }

    private static @Nullable ErrorFields locally(Mode value) {
        return value != Mode.ACTIVE
                ? null
                : Errors.error("25001", "every node can execute a transaction only if it is handed in whole")
                        .with('H', "Send all its statements as one query that begins with SET LOCAL " + MODE
                                + " = 'active', or call a function or procedure.");
    }

    private static ErrorFields loggedRefused(String variable, String value) {
        return Errors
                .notSupported("the cluster's protocol has no request logs, so " + variable + " cannot be " + value)
                .with('H', "Protocol hybrid has.");
    }

    private static ErrorFields acknowledgeInBlock(Acknowledge value) {
        return value == Acknowledge.LOGGED
                ? Errors.error("25001", ACKNOWLEDGE + " cannot be logged in a transaction block, which is acknowledged"
                        + " when it has committed")
                        .with('H', "Set it before BEGIN, or send all statements of the transaction as one query that"
                                + " begins with SET LOCAL " + ACKNOWLEDGE + ".")
                : Errors.error("25001", ACKNOWLEDGE + " cannot be set in a transaction block for the session")
                        .with('H', "Set it before BEGIN, or use SET LOCAL.");
    }

    /** Where, now. */
    Mode now() {
        return mode.now();
    }

    /** Whether the client wants to hear that its request is logged, and no more. */
    boolean logged() {
        return acknowledge.now() == Acknowledge.LOGGED;
    }

    /** Whether each statement of a cycle is a request by itself. */
    boolean separately() {
        return logged() && requests.now() == Requests.STATEMENT;
    }

    /** Whether the client wants to hear of its changes when they can be read at every node. */
    boolean applied() {
        return acknowledge.now() == Acknowledge.APPLIED;
    }

    /** Whether advisory locks keep out sessions of other nodes. */
    boolean locksInCluster() {
        return advisoryLocks.now() == AdvisoryLocks.CLUSTER;
    }

    /** What a client's start-up packet asks for. Returns null if that is all right. */
    @Nullable
    ErrorFields begin(Map<String, String> parameters) {
        ErrorFields refusal = mode.begin(parameters);
        refusal = refusal == null ? acknowledge.begin(parameters) : refusal;
        refusal = refusal == null ? requests.begin(parameters) : refusal;
        return refusal == null ? advisoryLocks.begin(parameters) : refusal;
    }

    /** The request is over. */
    void requestOver() {
        mode.requestOver();
        acknowledge.requestOver();
        requests.requestOver();
        advisoryLocks.requestOver();
    }

    /** The transaction is over. */
    void transactionOver() {
        mode.transactionOver();
        acknowledge.transactionOver();
        requests.transactionOver();
        advisoryLocks.transactionOver();
    }

    /**
     * A statement by itself may set one of them, or reset all.
     *
     * @return why it is refused; null if it is not, or does not concern us
     */
    @Nullable
    ErrorFields statement(String sql, boolean inTransaction) {
        ErrorFields refusal = mode.statement(sql, inTransaction);
        refusal = refusal == null ? acknowledge.statement(sql, inTransaction) : refusal;
        refusal = refusal == null ? requests.statement(sql, inTransaction) : refusal;
        return refusal == null ? advisoryLocks.statement(sql, inTransaction) : refusal;
    }

    /**
     * A statement of a query of several may set one of them for the request, if it is the first.
     *
     * @param first whether it is the first of a query that is a transaction by itself
     * @return why it is refused; null if it is not, or does not concern us
     */
    @Nullable
    ErrorFields part(String sql, boolean first) {
        ErrorFields refusal = mode.part(sql, first);
        refusal = refusal == null ? acknowledge.part(sql, first) : refusal;
        refusal = refusal == null ? requests.part(sql, first) : refusal;
        return refusal == null ? advisoryLocks.part(sql, first) : refusal;
    }
}
