package tutti.check.isolation;

import java.util.EnumSet;
import java.util.Set;
import tutti.check.graph.Dependency;

/**
 * Isolation levels of one copy of the data, each as the cycles of dependencies that it forbids. A history of a replicated
 * database that has the level is "one-copy" that level, since versions and their order are those of logical keys,
 * whichever replica was read.
 *
 * <p>
 * Sources: Adya, Liskov and O'Neil, Generalized Isolation Level Definitions (ICDE 2000) for what is called PL-1, PL-2 and
 * PL-3 there; Cerone and Gotsman, Analysing Snapshot Isolation (PODC 2016) for snapshot isolation as a class of graphs;
 * Daudjee and Salem, Lazy Database Replication with Snapshot Isolation (VLDB 2006) for its session and strong variants;
 * Herlihy and Wing's real-time order for strict serializability. Reading what an aborted transaction wrote is forbidden
 * by all but the first.
 */
public enum Isolation {
    /** No cycle of overwriting: PL-1. */
    READ_UNCOMMITTED("read uncommitted", false, false, Dependency.WRITE_WRITE),
    /** No cycle of overwriting and reading: PL-2. */
    READ_COMMITTED("read committed", false, false, Dependency.WRITE_WRITE, Dependency.WRITE_READ),
    /** Some order of commits, snapshots that are prefixes of it, first committer wins; snapshots may be old. */
    SNAPSHOT_ISOLATION("snapshot isolation", false, true),
    /** Likewise, and each transaction sees what those before it in its session did and saw. */
    STRONG_SESSION_SNAPSHOT_ISOLATION("strong session snapshot isolation", false, true, Dependency.SESSION),
    /** Likewise, and each transaction sees whatever was answered before it began. */
    STRONG_SNAPSHOT_ISOLATION("strong snapshot isolation", false, true, Dependency.SESSION, Dependency.REAL_TIME),
    /** As if one after the other, in some order: PL-3, for reads by key. */
    SERIALIZABLE("serializability", true, false),
    /** Likewise, in an order that keeps that of each session. */
    STRONG_SESSION_SERIALIZABLE("strong session serializability", true, false, Dependency.SESSION),
    /** Likewise, in an order that keeps that of real time. */
    STRICT_SERIALIZABLE("strict serializability", true, false, Dependency.SESSION, Dependency.REAL_TIME);

    private final String text;
    private final boolean antiDependenciesApart;
    // One bit for each kind.
    private final int kinds;

    Isolation(String text, boolean serializable, boolean snapshots, Dependency... kinds) {
        this.text = text;
        this.antiDependenciesApart = snapshots;
        int bits = 0;
        for (Dependency kind : kinds) {
            bits |= 1 << kind.ordinal();
        }
        this.kinds = serializable || snapshots
                ? bits | 1 << Dependency.WRITE_WRITE.ordinal() | 1 << Dependency.WRITE_READ.ordinal()
                        | 1 << Dependency.READ_WRITE.ordinal()
                : bits;
    }

    /** As people call it. */
    public String text() {
        return text;
    }

    /** The dependencies that must not form a cycle. */
    public Set<Dependency> kinds() {
        EnumSet<Dependency> all = EnumSet.allOf(Dependency.class);
        all.removeIf(kind -> !has(kind));
        return all;
    }

    private boolean has(Dependency kind) {
        return (kinds & 1 << kind.ordinal()) != 0;
    }

    /** Whether cycles in which two anti-dependencies are adjacent are allowed: what snapshot isolation lets happen. */
    public boolean antiDependenciesApart() {
        return antiDependenciesApart;
    }

    /** Whether the order of transactions within their sessions counts. */
    public boolean sessions() {
        return has(Dependency.SESSION);
    }

    /** Whether the order of transactions in time counts. */
    public boolean realTime() {
        return has(Dependency.REAL_TIME);
    }

    /** Whether a transaction reads one state: what it has read once it finds again. */
    public boolean repeatsReads() {
        return has(Dependency.READ_WRITE);
    }
}
