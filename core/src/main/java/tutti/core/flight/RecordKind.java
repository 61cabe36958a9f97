package tutti.core.flight;

import java.util.Locale;

/** What a record on a tape is of: something the protocol was told, something it asked for, or how an event ended otherwise. */
enum RecordKind {
    /* Events: Protocol. */
    SUBMITTED, EXECUTED, PREPARED, FAILED, VICTIM, COMMITTED, DELIVERED, TENTATIVE, RECEIVED, VIEW, TIMER,
    /** The world took a snapshot. */
    SNAPSHOT,
    /* Effects: ReplicaWorld. */
    RUN, PREPARE, APPLY, COMMIT, EXECUTE, SKIP, ABORT, ANSWER, ORDER, MULTICAST, SET_TIMER,
    /** What the snapshot was. */
    SNAPSHOT_TAKEN,
    /** The protocol threw an exception. */
    THREW,
    /** An event, too. */
    BLOCKED,
    /* Effects, and an event. */
    UNDERTAKE, RESPOND, UNDERTAKEN,
    /** An effect. */
    INCLUDES,
    /** An event: {@link tutti.core.protocol.Protocol#undertake}. */
    LIMITED,
    /** An event: {@link tutti.core.protocol.Protocol#locksLost}. */
    LOCKS_LOST,
    /** An event: {@link tutti.core.protocol.Protocol#members}. */
    MEMBERS;

    private static final RecordKind[] VALUES = values();

    /** The kind with this ordinal, as it is stored. */
    static RecordKind of(int ordinal) {
        if (ordinal < 0 || ordinal >= VALUES.length) {
            throw new IllegalArgumentException("no record is of kind " + ordinal);
        }
        return VALUES[ordinal];
    }

    boolean event() {
        return ordinal() <= SNAPSHOT.ordinal() || this == BLOCKED || this == UNDERTAKEN || this == LIMITED
                || this == LOCKS_LOST || this == MEMBERS;
    }

    /** As a person reads it. */
    String words() {
        return name().toLowerCase(Locale.ROOT).replace('_', ' ');
    }
}
