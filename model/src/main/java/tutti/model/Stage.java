package tutti.model;

import java.util.Map;

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

    private static final Map<String, Map<Stage, String>> QUEUES = Map.of("nodo", Map.of(ORDERING, "Q0, Q1, Q2"),
            "akara", Map.of(ORDERING, "Q0, Q2a", EXECUTING, "Q2b, running", EXECUTED, "Q2b, Q2c"), "dbsm",
            Map.of(EXECUTING, "Q0", EXECUTED, "Q1", DECIDED, "Q2"), "postgres-r",
            Map.of(EXECUTING, "Q0", EXECUTED, "Q1", DECIDED, "Q2"));

    private final String description;

    Stage(String description) {
        this.description = description;
    }

    /** In words. */
    public String description() {
        return description;
    }

    /** In words, and which queues of AKARA's figures 2 to 5 it is made of, if the protocol is one of those. */
    public String description(String protocol) {
        String queues = QUEUES.getOrDefault(protocol, Map.of()).get(this);
        return queues == null ? description : description + " (" + queues + ")";
    }
}
