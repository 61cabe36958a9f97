package tutti.workload.tpcc;

import java.time.Duration;
import java.util.List;

/**
 * How to run TPC-C.
 *
 * @param databases the nodes; terminals use the first one that they are placed at, and others while it is down
 * @param population what was loaded
 * @param terminals users at work at a time, 1 to 4,096; terminal t belongs to warehouse 1 + t mod warehouses
 * @param placement at which node a terminal works
 * @param duration how long; a minute at least for figures that mean something
 * @param seed of inputs and pauses
 * @param runId different for every run against the same population, 1 to 2^50: keys of HISTORY are made from it
 * @param thinking whether users type and think (clause 5.2.5) or hurry from one transaction to the next
 * @param attempts how often a transaction is tried before it is given up, at least 1
 * @param ledgerLimit most transactions that are noted for checking; a run that reaches it stops
 * @param form how transactions are handed in; what is stored must have been {@linkplain TpccLoader#createFunctions created}
 * @param readPercent share of transactions that only read, 0 to 100; {@link TpccTransaction#STANDARD_READ_PERCENT} for TPC-C's mix
 */
public record TpccOptions(List<TpccDatabase> databases, TpccPopulation population, int terminals, Placement placement,
        Duration duration, long seed, long runId, boolean thinking, int attempts, int ledgerLimit,
        TpccForm form, int readPercent) {
    static final int TERMINALS_MAX = 4_096;

    /** Which terminals work at which node. */
    public enum Placement {
        /** Terminals take turns. */
        ROUND_ROBIN,
        /**
         * Terminals of the same warehouse are at the same node: warehouse w at node w modulo nodes. With fewer
         * warehouses than nodes some nodes have no terminals.
         */
        AFFINITY
    }

    public TpccOptions {
        databases = List.copyOf(databases);
        require(!databases.isEmpty(), "at least one database is needed");
        require(terminals >= 1 && terminals <= TERMINALS_MAX,
                "terminals must be 1 to " + TERMINALS_MAX + ", was " + terminals);
        require(duration.isPositive(), "duration must be positive, was " + duration);
        require(runId >= 1 && runId <= 1L << 50, "run id must be 1 to 2^50, was " + runId);
        require(attempts >= 1, "attempts must be at least 1, was " + attempts);
        require(readPercent >= 0 && readPercent <= 100, "share of reads must be 0 to 100 percent, was " + readPercent);
        require(ledgerLimit >= 1, "ledger limit must be at least 1, was " + ledgerLimit);
    }

    /** The usual: round robin, no pauses, 1,000 attempts, ledger of five million transactions, run id from the clock. */
    public static TpccOptions of(List<TpccDatabase> databases, TpccPopulation population, int terminals,
            Duration duration, long seed) {
        return new TpccOptions(databases, population, terminals, Placement.ROUND_ROBIN, duration, seed,
                System.currentTimeMillis(), false, 1_000, 5_000_000, TpccForm.INTERACTIVE,
                TpccTransaction.STANDARD_READ_PERCENT);
    }

    /** A copy with another placement. */
    public TpccOptions with(Placement other) {
        return new TpccOptions(databases, population, terminals, other, duration, seed, runId, thinking, attempts,
                ledgerLimit, form, readPercent);
    }

    /** A copy with pauses or without. */
    public TpccOptions withThinking(boolean other) {
        return new TpccOptions(databases, population, terminals, placement, duration, seed, runId, other, attempts,
                ledgerLimit, form, readPercent);
    }

    /** A copy with another bound of the ledger. */
    public TpccOptions withLedgerLimit(int other) {
        return new TpccOptions(databases, population, terminals, placement, duration, seed, runId, thinking, attempts,
                other, form, readPercent);
    }

    /** A copy with transactions handed in differently. */
    public TpccOptions with(TpccForm other) {
        return new TpccOptions(databases, population, terminals, placement, duration, seed, runId, thinking, attempts,
                ledgerLimit, other, readPercent);
    }

    /** A copy with another share of transactions that only read. */
    public TpccOptions withReads(int percent) {
        return new TpccOptions(databases, population, terminals, placement, duration, seed, runId, thinking, attempts,
                ledgerLimit, form, percent);
    }

    int homeWarehouse(int terminal) {
        return 1 + terminal % population.scale().warehouses();
    }

    int homeDistrict(int terminal) {
        return 1 + terminal / population.scale().warehouses() % population.scale().districts();
    }

    int homeNode(int terminal) {
        return switch (placement) {
            case ROUND_ROBIN -> terminal % databases.size();
            case AFFINITY -> homeWarehouse(terminal) % databases.size();
        };
    }

    private static void require(boolean condition, String message) {
        if (!condition) {
            throw new IllegalArgumentException(message);
        }
    }
}
