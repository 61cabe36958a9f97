package tutti.check.isolation;

import tutti.check.graph.Cycle;
import tutti.check.graph.Dependency;

/**
 * What kind of cycle it is: the name under which the field knows the anomaly (Adya's G-names; lost update, read skew and
 * write skew of Berenson and others, A Critique of ANSI SQL Isolation Levels, 1995).
 */
public enum Anomaly {
    /** Two transactions overwrote each other. */
    DIRTY_WRITE("G0", "dirty write"),
    /** Transactions that read, or overwrote, what each other wrote. */
    CIRCULAR_INFORMATION("G1c", "circular information flow"),
    /** Both read a key and both wrote it: the second did not see the first. */
    LOST_UPDATE("P4", "lost update"),
    /** One transaction saw part of another, or old and new values together. */
    READ_SKEW("G-single", "read skew"),
    /** Two transactions saw changes in different orders, or a longer cycle of that kind; no snapshots explain it. */
    LONG_FORK("G-nonadjacent", "long fork"),
    /** Each of two transactions overwrote what the other had read, on different keys. */
    WRITE_SKEW("G2-item", "write skew"),
    /** A longer cycle with adjacent anti-dependencies: snapshot isolation allows it, serializability does not. */
    ANTI_DEPENDENCY_CYCLE("G2-item", "anti-dependency cycle"),
    /** A transaction did not see what had been there before it began. */
    STALE_READ("G-single-order", "stale read"),
    /** Without the order of sessions or of time there is no cycle. */
    ORDER("order", "order of sessions or of time not kept");

    private final String symbol;
    private final String text;

    Anomaly(String symbol, String text) {
        this.symbol = symbol;
        this.text = text;
    }

    /** Symbol and words. */
    public String label() {
        return symbol + " (" + text + ")";
    }

    /** Which one a cycle is. */
    public static Anomaly of(Cycle cycle) {
        int readWrite = cycle.count(Dependency.READ_WRITE);
        int writeRead = cycle.count(Dependency.WRITE_READ);
        if (cycle.count(Dependency.SESSION) + cycle.count(Dependency.REAL_TIME) > 0) {
            return readWrite == 1 ? STALE_READ : ORDER;
        }
        if (readWrite == 0) {
            return writeRead == 0 ? DIRTY_WRITE : CIRCULAR_INFORMATION;
        }
        if (readWrite == 1) {
            boolean sameKey = cycle.steps().stream().map(Cycle.Step::label).distinct().count() == 1;
            return cycle.steps().size() == 2 && writeRead == 0 && sameKey ? LOST_UPDATE : READ_SKEW;
        }
        if (!cycle.hasAdjacentAntiDependencies()) {
            return LONG_FORK;
        }
        return cycle.steps().size() == 2 ? WRITE_SKEW : ANTI_DEPENDENCY_CYCLE;
    }
}
