package tutti.workload.tpcc;

import java.time.Duration;

/**
 * The five transactions with their share of the mix (clause 5.2.3; NewOrder takes what the minima of the others leave),
 * and their keying and mean think times (clause 5.2.5.7).
 */
public enum TpccTransaction {
    NEW_ORDER("NewOrder", 45, 18, 12),
    PAYMENT("Payment", 43, 3, 12),
    ORDER_STATUS("OrderStatus", 4, 2, 10),
    DELIVERY("Delivery", 4, 2, 5),
    STOCK_LEVEL("StockLevel", 4, 2, 5);

    private static final TpccTransaction[] ALL = values();

    private final String label;
    private final int percent;
    private final Duration keying;
    private final Duration meanThinking;

    TpccTransaction(String label, int percent, int keyingSeconds, int meanThinkingSeconds) {
        this.label = label;
        this.percent = percent;
        this.keying = Duration.ofSeconds(keyingSeconds);
        this.meanThinking = Duration.ofSeconds(meanThinkingSeconds);
    }

    /** As reports call it. */
    public String label() {
        return label;
    }

    /** Share of all transactions, in percent. */
    public int percent() {
        return percent;
    }

    /** How long a user types before it. */
    public Duration keying() {
        return keying;
    }

    /** How long a user looks at its result on average. */
    public Duration meanThinking() {
        return meanThinking;
    }

    static TpccTransaction draw(TpccRandom random) {
        int left = random.uniform(1, 100);
        for (TpccTransaction type : ALL) {
            left -= type.percent;
            if (left <= 0) {
                return type;
            }
        }
        throw new AssertionError("shares add up to less than 100");
    }
}
