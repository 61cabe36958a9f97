package tutti.macro;

/** Which thread executes a synchronous call, when there is a choice. */
public enum Execution {
    /**
     * The caller's: a read, and a write on the first replica. The other replicas' executors follow. Right for operations
     * shorter than a change of threads takes.
     */
    CALLER,
    /** Always the replica's executor. Right for implementations that must be used from one thread only. */
    EXECUTOR
}
