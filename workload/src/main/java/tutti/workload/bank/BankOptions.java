package tutti.workload.bank;

/**
 * What a bank is like.
 *
 * @param accounts at least 2; fewer make more conflicts
 * @param initialBalance of each, at least 0
 * @param amountMax most that is moved at a time, at least 1
 * @param readPercent how many transactions of sessions that may write only read, in percent
 */
public record BankOptions(int accounts, long initialBalance, long amountMax, int readPercent) {
    public BankOptions {
        if (accounts < 2 || initialBalance < 0 || amountMax < 1 || readPercent < 0 || readPercent > 100) {
            throw new IllegalArgumentException("accounts must be at least 2, the balance not negative, the amount at "
                    + "least 1, reads 0 to 100 percent; were " + accounts + ", " + initialBalance + ", " + amountMax
                    + ", " + readPercent);
        }
    }

    /** The usual: twenty accounts of 100, up to 30 moved at a time, a fourth of the transactions read. */
    public static BankOptions usual() {
        return new BankOptions(20, 100, 30, 25);
    }
}
