package tutti.core.protocol;

/** Where a transaction of a client is, as its replica sees it. */
public enum Stage {
    /** Waits for the protocol to let it run. */
    ORDERING("before execution"),
    /** Waits for locks. */
    LOCKING("waiting for locks"),
    /** Uses the processors. */
    EXECUTING("executing"),
    /** Has executed, and its outcome is not known. */
    EXECUTED("executed, not decided"),
    /** To be committed when it is its turn. */
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
