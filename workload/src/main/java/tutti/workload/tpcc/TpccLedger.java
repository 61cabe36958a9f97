package tutti.workload.tpcc;

import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * What the database acknowledged: every transaction of a run that changed something and whose COMMIT succeeded, and
 * those whose COMMIT broke off so that nobody told how it ended (in doubt). A checker compares it with what is there.
 * Safe for use from any thread; bounded, and a run that reaches the bound ends with an error.
 */
public final class TpccLedger {
    /** Stands for numbers that its client did not learn, of a transaction in doubt. */
    public static final int UNKNOWN = 0;

    private final Baseline baseline;
    private final long sourceBase;
    private final int limit;
    private final List<Entry> entries = new ArrayList<>();

    /**
     * An empty ledger.
     *
     * @param baseline the state before the run
     * @param sourceBase of the run's history keys; see {@link #isOfThisRun}
     * @param limit most entries, at least 1
     */
    public TpccLedger(Baseline baseline, long sourceBase, int limit) {
        this.baseline = baseline;
        this.sourceBase = sourceBase;
        this.limit = limit;
    }

    /** One transaction. */
    public sealed interface Entry {
        /** Who ran it. */
        int terminal();

        /** Whether its client was told of the success; otherwise it is in doubt. */
        boolean acknowledged();
    }

    /** An order was entered. */
    public record NewOrder(int terminal, boolean acknowledged, int warehouse, int district, int order, int customer,
            int lines, LocalDateTime enteredAt) implements Entry {}

    /** A customer paid. */
    public record Payment(int terminal, boolean acknowledged, int warehouse, int district, int customerWarehouse,
            int customerDistrict, int customer, long amountCents, long historySource, long historyNumber)
            implements
                Entry {}

    /** Orders were delivered. */
    public record Delivery(int terminal, boolean acknowledged, int warehouse, int carrier, LocalDateTime deliveredAt,
            List<TpccOutput.DeliveredOrder> orders) implements Entry {
        public Delivery {
            orders = List.copyOf(orders);
        }
    }

    /**
     * What there was before the run: whatever lies beyond was made by it.
     *
     * @param districts by warehouse and district
     */
    public record Baseline(Map<District, Mark> districts) {
        public Baseline {
            districts = Map.copyOf(districts);
        }
    }

    /** Names a district. */
    public record District(int warehouse, int district) {}

    /**
     * How far a district was.
     *
     * @param nextOrder the number that its next order would get
     * @param firstUndelivered the oldest order that waited for delivery, {@code nextOrder} if there was none
     */
    public record Mark(int nextOrder, int firstUndelivered) {}

    /** The state before the run. */
    public Baseline baseline() {
        return baseline;
    }

    /** Whether a row of HISTORY with this {@code h_source} was written by one of the run's terminals. */
    public boolean isOfThisRun(long historySource) {
        return historySource >= sourceBase && historySource < sourceBase + TpccOptions.TERMINALS_MAX;
    }

    /** The {@code h_source} of this terminal. */
    long historySource(int terminal) {
        return sourceBase + terminal;
    }

    /** Notes a transaction; false if the ledger is full and it was not noted. */
    public synchronized boolean add(Entry entry) {
        if (entries.size() >= limit) {
            return false;
        }
        entries.add(entry);
        return true;
    }

    /** All that has been noted so far, in that order. */
    public synchronized List<Entry> entries() {
        return List.copyOf(entries);
    }
}
