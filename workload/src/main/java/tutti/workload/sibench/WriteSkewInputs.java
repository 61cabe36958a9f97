package tutti.workload.sibench;

import java.util.List;
import java.util.SplittableRandom;

/**
 * Withdrawals from pairs of accounts that may be overdrawn singly, but not together (Berenson and others, A Critique of
 * ANSI SQL Isolation Levels, 1995). Two withdrawals from the two accounts of a pair, each allowed by its snapshot, overdraw
 * it under snapshot isolation and never under serializability. The same seed gives the same transactions. One thread.
 */
public final class WriteSkewInputs {
    private final int pairs;
    private final long amountMax;
    private final SplittableRandom random;

    /**
     * Read both accounts; if they hold the amount together, change the one by it.
     *
     * @param pair from 0; its accounts are rows {@code 2 * pair} and {@code 2 * pair + 1}
     * @param side which account is changed, 0 or 1
     * @param amount what is taken; negative for a payment, which is never refused
     */
    public record Withdraw(int pair, int side, long amount) {
        /** The rows that it reads. */
        public List<Long> reads() {
            return List.of(2L * pair, 2L * pair + 1);
        }

        /** The row that it writes, if it is allowed. */
        public long writes() {
            return 2L * pair + side;
        }

        /** Whether these balances allow it. */
        public boolean allowed(long one, long other) {
            return amount < 0 || one + other >= amount;
        }
    }

    /**
     * The first transactions of this seed.
     *
     * @param pairs at least 1; fewer make more conflicts
     * @param amountMax most that is taken or paid at a time, at least 1
     */
    public WriteSkewInputs(int pairs, long amountMax, long seed) {
        if (pairs < 1 || amountMax < 1) {
            throw new IllegalArgumentException(
                    "pairs and amount must be at least 1, were " + pairs + " and " + amountMax);
        }
        this.pairs = pairs;
        this.amountMax = amountMax;
        random = new SplittableRandom(seed);
    }

    /** The next transaction: two withdrawals for each payment, on average. */
    public Withdraw next() {
        long amount = random.nextLong(1, amountMax + 1);
        return new Withdraw(random.nextInt(pairs), random.nextInt(2), random.nextInt(3) == 0 ? -amount : amount);
    }

    /** The consistency condition: whether a pair with these balances is in order. */
    public static boolean consistent(long one, long other) {
        return one + other >= 0;
    }
}
