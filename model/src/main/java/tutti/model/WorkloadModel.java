package tutti.model;

import java.util.EnumMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tutti.sim.kernel.Distribution;

/**
 * What clients do.
 *
 * @param clients of all sites together, at least 1
 * @param clientsPerWarehouse at least 1
 * @param fixedWarehouses of the database, however many clients there are; 0 if they follow from {@code clientsPerWarehouse}
 * @param attachment which site a client uses, and which warehouses
 * @param shares of each kind among all transactions; they add up to 1
 * @param thinking pause after each kind
 * @param arrival how clients come
 * @param arrivalsPerSecond of transactions (open) or clients (partly open), all sites together
 * @param staying probability with which a client of a partly open system issues another transaction, below 1
 * @param rollbacks whether one NewOrder of a hundred is rolled back by its user when it has executed (TPC-C clause 2.4.1.4),
 *            unless every replica executes it; counted among aborts, as {@code user}
 * @param resubmit whether a client tries an aborted transaction again, after thinking
 * @param deliveryLocks whether Delivery asks for a lock on the whole of OrderLine (AKARA, figure 8(c)); seen by protocols that
 *            certify reads, which then certify nothing else
 * @param wholeHistory whether all rows of History are one to locks and certification, as they are to whoever names rows by
 *            their primary keys: History has none
 * @param maintenance what a transaction of that kind does
 * @param granularity of conflict classes
 * @param atOnce whether the clients of a closed system all ask for their first transaction when the run begins, instead of
 *            thinking first
 * @param recorded what is done instead of all that, if anything
 */
public record WorkloadModel(int clients, int clientsPerWarehouse, int fixedWarehouses, Attachment attachment,
        Map<RequestKind, Double> shares,
        Map<RequestKind, Distribution> thinking, Arrival arrival, double arrivalsPerSecond, double staying,
        boolean rollbacks,
        boolean resubmit, boolean deliveryLocks, boolean wholeHistory, Maintenance maintenance, Granularity granularity,
        boolean atOnce, @Nullable RecordedWorkload recorded) {
    /** How clients come. */
    public enum Arrival {
        /** Each waits for its answer, thinks, and asks again. */
        CLOSED,
        /** Transactions come at random, at a rate that answers have no influence on. */
        OPEN,
        /** Clients come at random, stay for some transactions as in a closed system, and go. */
        PARTLY_OPEN
    }

    /** Which site a client uses; each has as many as another. */
    public enum Attachment {
        /** All clients of a warehouse the same: neighbours meet at their database. */
        WAREHOUSE,
        /** Clients of a warehouse different ones, as those of MacroDDB's section 5.2: they meet by certification. */
        SPREAD,
        /** Different ones, and each transaction of a client is at any warehouse: who is at work decides how many meet, not how many clients a warehouse has. */
        ANY
    }

    /** What conflict classes are (D5.1, table 3.2). */
    public enum Granularity {
        /** Tables that are read or written. */
        TABLES,
        /** Tables that are written. */
        WRITTEN_TABLES,
        /** Warehouses whose rows are accessed. */
        WAREHOUSES
    }

    /**
     * A maintenance transaction.
     *
     * @param active whether every replica executes it; otherwise its changes are shipped
     * @param rows that it writes, of Item
     * @param structure whether it changes the structure of Stock, and conflicts with whatever writes to that table
     */
    public record Maintenance(boolean active, int rows, boolean structure) {}

    public WorkloadModel {
        shares = java.util.Collections.unmodifiableMap(new EnumMap<>(shares));
        thinking = java.util.Collections.unmodifiableMap(new EnumMap<>(thinking));
        double sum = shares.values().stream().mapToDouble(Double::doubleValue).sum();
        if (Math.abs(sum - 1) > 1e-6) {
            throw new IllegalArgumentException("the shares of the kinds of transactions add up to " + sum + ", not 1");
        }
        if (clients < 1 || clientsPerWarehouse < 1 || fixedWarehouses < 0 || !(staying >= 0 && staying < 1)
                || !(arrivalsPerSecond >= 0)) {
            throw new IllegalArgumentException("impossible clients: " + clients + ", " + clientsPerWarehouse
                    + " a warehouse, " + arrivalsPerSecond + " arrivals a second, staying " + staying);
        }
    }

    /** Warehouses of the database; at least one per site, if a warehouse's clients are at one site. */
    int warehouses(int sites) {
        int wanted = fixedWarehouses > 0
                ? fixedWarehouses
                : (clients + clientsPerWarehouse - 1) / clientsPerWarehouse;
        return attachment == Attachment.WAREHOUSE ? Math.max(sites, wanted) : wanted;
    }
}
