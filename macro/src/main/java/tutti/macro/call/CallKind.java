package tutti.macro.call;

/** Whether a call can affect the results of later calls (MacroDDB, section 3.2.2). */
public enum CallKind {
    /** It cannot: one replica is enough. */
    READ,
    /** It may: every replica must execute it, all in the same order. */
    WRITE
}
