package tutti.workload.bank;

import java.util.SplittableRandom;

/** What the clients of a bank do. The same seed and calls give the same transactions. One thread. */
public final class BankInputs {
    private final BankOptions options;
    private final SplittableRandom random;
    private long transfers;

    /** The first transactions of this seed. */
    public BankInputs(BankOptions options, long seed) {
        this.options = options;
        random = new SplittableRandom(seed);
    }

    /** The next transaction. */
    public BankInput next(boolean readOnly) {
        if (readOnly || random.nextInt(100) < options.readPercent()) {
            return new BankInput.ReadBalances();
        }
        int from = random.nextInt(options.accounts());
        int to = random.nextInt(options.accounts() - 1);
        return new BankInput.Transfer(++transfers, from, to < from ? to : to + 1,
                random.nextLong(1, options.amountMax() + 1));
    }
}
