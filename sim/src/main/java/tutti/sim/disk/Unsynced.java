package tutti.sim.disk;

/** What becomes of what was written and not synced when the host crashes. */
public enum Unsynced {
    /** It was on its way and arrives. */
    KEPT,
    /** It is gone. */
    LOST,
    /**
     * Of each file either a part from the beginning arrives, cut at a sector, or any of the sectors; of each directory any of
     * the changes, but none without those before it of the same names.
     */
    TORN,
    /** The process alone was killed: it is read as before, and is as unsafe as before. */
    CACHED
}
