package tutti.sim.world.database;

/**
 * What a simulated database is like: the databases that nodes have ({@code tutti.engine}), and one by the textbook. They
 * differ in what transactions lock, who waits for whom, and what becomes of those that meet.
 */
public enum EngineKind {
    /**
     * PostgreSQL: snapshots, first updater wins. A child row's statement locks its parent's key. Clients and appliers wait
     * for rows in turn, and whoever is asked names for whom an applier waits.
     */
    POSTGRES,
    /**
     * H2: snapshots, first updater wins. Parents are looked up in the snapshot and not locked. Clients wait for rows, appliers
     * hold nothing while they wait; a transaction that fails in its first statement begins anew. Reading for update counts as
     * a change.
     */
    H2,
    /** HSQLDB: like H2, but a client never waits for a row: it fails at once; and reading for update is plain reading. */
    HSQLDB,
    /** Strict two-phase locking: shared locks for what is read, of the table for scans; all is seen as it is now. */
    LOCKING;

    /** Whether a transaction reads a snapshot, taken by its first statement. */
    boolean snapshots() {
        return this != LOCKING;
    }

    /** As {@link tutti.core.spi.Engine#locksReferencedRows} says. */
    boolean locksReferencedRows() {
        return this == POSTGRES || this == LOCKING;
    }

    /** Whether statements lock rows without changing them, and take advisory locks, in ways that nodes are told of (docs/decisions/0128, 0129). */
    boolean locksAlone() {
        return this == POSTGRES || this == LOCKING;
    }

    /** Whether it runs in its node's process, and so ends with it, or a server does. */
    boolean runsInNode() {
        return this == H2 || this == HSQLDB;
    }

    /** Whether clients' statements wait for rows that others hold. */
    boolean clientsWait() {
        return this != HSQLDB;
    }

    /** Whether appliers wait for rows in turn, holding those that they have. */
    boolean appliersQueue() {
        return this == POSTGRES || this == LOCKING;
    }

    /** Whether a transaction that meets another in its first statement begins anew. */
    boolean beginsAnew() {
        return this == H2 || this == HSQLDB;
    }
}
