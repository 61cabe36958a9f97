package tutti.wire;

import java.util.Map;
import org.jspecify.annotations.Nullable;
import tutti.node.Transactions;
import tutti.pgwire.ErrorFields;

/**
 * Where a session wants its whole requests to be executed, {@code tutti.mode}, and when it wants to hear of them,
 * {@code tutti.acknowledge}. On the session's event loop.
 */
final class Modes {
    /** The variable that says where. */
    static final String MODE = "tutti.mode";
    /** The variable that says when. */
    static final String ACKNOWLEDGE = "tutti.acknowledge";

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

    private final SessionVariable<Mode> mode;
    private final SessionVariable<Acknowledge> acknowledge;

    /** Of a session of a node under some protocol. */
    Modes(Transactions node) {
        boolean wholeOnly = node.wholeOnly();
        boolean logs = node.undertakes();
        mode = new SessionVariable<>("mode", Mode.DEFAULT,
                value -> value == Mode.PASSIVE && wholeOnly ? passiveRefused() : null,
                (value, local) -> local ? locally(value) : inBlock());
        acknowledge = new SessionVariable<>("acknowledge", Acknowledge.EXECUTED,
                value -> value == Acknowledge.LOGGED && !logs ? loggedRefused() : null,
                (value, local) -> local && value != Acknowledge.LOGGED ? null : acknowledgeInBlock(value));
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

    private static ErrorFields loggedRefused() {
        return Errors
                .notSupported("the cluster's protocol has no request logs, so " + ACKNOWLEDGE + " cannot be logged")
                .with('H', "Protocol hybrid has, unless its execution is active.");
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

    /** Whether the client wants to hear of its changes when they can be read at every node. */
    boolean applied() {
        return acknowledge.now() == Acknowledge.APPLIED;
    }

    /** What a client's start-up packet asks for. Returns null if that is all right. */
    @Nullable
    ErrorFields begin(Map<String, String> parameters) {
        ErrorFields refusal = mode.begin(parameters);
        return refusal == null ? acknowledge.begin(parameters) : refusal;
    }

    /** The request is over. */
    void requestOver() {
        mode.requestOver();
        acknowledge.requestOver();
    }

    /** The transaction is over. */
    void transactionOver() {
        mode.transactionOver();
        acknowledge.transactionOver();
    }

    /**
     * A statement by itself may set one of them, or reset both.
     *
     * @return why it is refused; null if it is not, or does not concern us
     */
    @Nullable
    ErrorFields statement(String sql, boolean inTransaction) {
        ErrorFields refusal = mode.statement(sql, inTransaction);
        return refusal == null ? acknowledge.statement(sql, inTransaction) : refusal;
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
        return refusal == null ? acknowledge.part(sql, first) : refusal;
    }
}
