package tutti.workload.tpcc;

import java.time.Duration;
import java.util.function.IntBinaryOperator;

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

    /** Share of transactions that only read in the standard mix, in percent. */
    public static final int STANDARD_READ_PERCENT = 8;

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

    /**
     * Draws from a mix that reads more or less than the standard one: the two types that only read come equally often, and
     * those that write keep their shares among themselves (MacroDDB section 5.2).
     *
     * @param readPercent share of transactions that only read, 0 to 100
     * @param uniform draws a number between its arguments, both included
     */
    public static TpccTransaction draw(int readPercent, IntBinaryOperator uniform) {
        if (uniform.applyAsInt(1, 100) <= readPercent) {
            return uniform.applyAsInt(0, 1) == 0 ? ORDER_STATUS : STOCK_LEVEL;
        }
        int left = uniform.applyAsInt(1, 100 - STANDARD_READ_PERCENT);
        if (left <= NEW_ORDER.percent) {
            return NEW_ORDER;
        }
        return left <= NEW_ORDER.percent + PAYMENT.percent ? PAYMENT : DELIVERY;
    }
}
