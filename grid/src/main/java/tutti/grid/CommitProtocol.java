package tutti.grid;

/** How transactions commit. */
public enum CommitProtocol {
    /** Total order multicast in which all owners exchange proposals: fewer steps, more messages. */
    TOM_2,
    /** Total order multicast in which the coordinator decides: more steps, fewer messages. */
    TOM_3,
    /**
     * Total order multicast to groups of owners, without views: any minority of each group may crash at any instant, and come back. The nodes are divided into
     * groups of the largest degree of all caches, or more; all nodes of a group own its keys.
     */
    GROUPS,
    /** Locks and two-phase commit, to compare. */
    TWO_PHASE
}
