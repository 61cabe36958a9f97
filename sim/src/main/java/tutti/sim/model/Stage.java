package tutti.sim.model;

/**
 * Where a transaction of a client is, as its replica sees it; in brackets the queues of AKARA's figures 2 to 5 that this is
 * made of.
 */
public enum Stage {
    /** Waits for the protocol to let it run: Q0, Q1 and Q2 of NODO, Q0 and Q2a of AKARA. */
    ORDERING("before execution"),
    /** Waits for locks. */
    LOCKING("waiting for locks"),
    /** Uses the processors: Q0 of DBSM and PGR, the running part of Q2b of AKARA. */
    EXECUTING("executing"),
    /** Has executed, and its outcome is not known: Q1 of DBSM and PGR, the rest of Q2b and Q2c of AKARA. */
    EXECUTED("executed, not decided"),
    /** To be committed when it is its turn: Q2 of DBSM and PGR. */
    DECIDED("decided, not visible"),
    /** Visible, or aborted; its client waits for what the protocol demands besides. */
    ENDING("to be answered");

    private final String description;

    Stage(String description) {
        this.description = description;
    }

    /** In words. */
    public String description() {
        return description;
    }
}
