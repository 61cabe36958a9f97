package tutti.engine.jdbc;

/** How a session finds out what its transactions have changed. Whichever it is, the write sets are the same. */
public enum CaptureMode {
    /** From what the engine notes in order to undo it: exact, and nothing to do while statements run. */
    NOTES,
    /** From Java row triggers on every table. */
    TRIGGERS,
    /**
     * From the statements' text, with queries before and after them (MacroDDB section 4.3.3). Only for statements whose
     * effect can be told from their text; others are refused. Statements must come as text
     * ({@link ClientSession#execute}).
     */
    STATEMENTS
}
