package tutti.sim.disk;

/** What becomes of what was written and not synced when the host crashes. */
public enum Unsynced {
    /** It was on its way and arrives. */
    KEPT,
    /** It is gone. */
    LOST,
    /** Of each file either a part from the beginning arrives, cut at a sector, or any of the sectors. */
    TORN
}
