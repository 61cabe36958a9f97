package tutti.check.graph;

/** Why one transaction must come before another (Adya, Generalized Isolation Level Definitions, section 4). */
public enum Dependency {
    /** The second overwrote what the first wrote: the next version of the same key. */
    WRITE_WRITE,
    /** The second read what the first wrote. */
    WRITE_READ,
    /** The second overwrote what the first had read: an anti-dependency. */
    READ_WRITE,
    /** The second followed the first in the same session. */
    SESSION,
    /** The first was answered before the second began. */
    REAL_TIME;

    int bit() {
        return 1 << ordinal();
    }
}
