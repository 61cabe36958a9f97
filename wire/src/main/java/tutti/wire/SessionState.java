package tutti.wire;

import java.util.EnumSet;
import java.util.Set;

/** What the engine's side of a session is doing. Which state may follow which is checked at every step. */
enum SessionState {
    /** No transaction. */
    IDLE,
    /** A transaction is open (perhaps a statement of it is running). */
    IN_TRANSACTION,
    /** The open transaction has failed and can only be rolled back. */
    FAILED,
    /** Its constraints are checked and its capture is closed. */
    CLOSING,
    /** It has asked to commit and waits for its turn. */
    CERTIFYING,
    /** The engine commits it. */
    COMMITTING,
    /** The engine rolls it back. */
    ROLLING_BACK,
    /** Nothing runs in the engine; the node's decision is awaited. */
    AWAITING_ANSWER,
    /** A statement is executed by all replicas. */
    BARRIER,
    /** The end. */
    CLOSED;

    private static final LegalSteps<SessionState> STEPS = new LegalSteps<>("a session", SessionState.class,
            SessionState::next);

    private Set<SessionState> next() {
        return switch (this) {
            case IDLE -> EnumSet.of(IN_TRANSACTION, FAILED, BARRIER, CLOSED);
            case IN_TRANSACTION -> EnumSet.of(IDLE, FAILED, CLOSING, ROLLING_BACK, CLOSED);
            case FAILED -> EnumSet.of(IDLE, IN_TRANSACTION, CLOSING, ROLLING_BACK, CLOSED);
            case CLOSING -> EnumSet.of(CERTIFYING, COMMITTING, ROLLING_BACK, IDLE, FAILED, CLOSED);
            case CERTIFYING -> EnumSet.of(COMMITTING, ROLLING_BACK, CLOSED);
            case COMMITTING -> EnumSet.of(AWAITING_ANSWER, ROLLING_BACK, IDLE, CLOSED);
            case ROLLING_BACK -> EnumSet.of(AWAITING_ANSWER, IDLE, CLOSED);
            case AWAITING_ANSWER -> EnumSet.of(IDLE, FAILED, CLOSED);
            case BARRIER -> EnumSet.of(IDLE, CLOSED);
            case CLOSED -> EnumSet.noneOf(SessionState.class);
        };
    }

    /**
     * The state after a step to {@code to}.
     *
     * @throws IllegalStateException if the step is not legal
     */
    SessionState to(SessionState to) {
        return STEPS.step(this, to);
    }

    /** Whether the client's next message has to wait. */
    boolean busy() {
        return compareTo(CLOSING) >= 0;
    }

    /** Whether the client's statements run, or could: they may be cancelled. */
    boolean executing() {
        return this == IDLE || this == IN_TRANSACTION || this == FAILED;
    }

    /** Whether what is under way is finished when the client goes. */
    boolean outlivesClient() {
        return this != CLOSED && compareTo(CERTIFYING) >= 0;
    }
}
