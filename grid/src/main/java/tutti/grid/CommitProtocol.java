package tutti.grid;

/** How transactions commit. */
public enum CommitProtocol {
    /** Total order multicast in which all owners exchange proposals: fewer steps, more messages. */
    TOM_2,
    /** Total order multicast in which the coordinator decides: more steps, fewer messages. */
    TOM_3,
    /** Locks and two-phase commit, to compare. */
    TWO_PHASE
}
