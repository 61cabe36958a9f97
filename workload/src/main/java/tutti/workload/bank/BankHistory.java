package tutti.workload.bank;

import java.util.ArrayList;
import java.util.List;

/**
 * What the clients of a bank run saw. Bounded. {@link #add} may be called from any thread; reading is for after the run.
 */
public final class BankHistory {
    private final int accounts;
    private final long initialBalance;
    private final int limit;
    private final List<BankTransaction> transactions = new ArrayList<>();

    /**
     * Empty.
     *
     * @param accounts how many
     * @param initialBalance of each
     * @param limit most transactions, at least 1
     */
    public BankHistory(int accounts, long initialBalance, int limit) {
        if (accounts < 2 || initialBalance < 0 || limit < 1) {
            throw new IllegalArgumentException("accounts must be at least 2, the balance not negative and the limit at "
                    + "least 1, were " + accounts + ", " + initialBalance + ", " + limit);
        }
        this.accounts = accounts;
        this.initialBalance = initialBalance;
        this.limit = limit;
    }

    /** How many accounts. */
    public int accounts() {
        return accounts;
    }

    /** Balance of each account before the run. */
    public long initialBalance() {
        return initialBalance;
    }

    /** Notes a transaction that has ended; false if the history is full and it was not noted. */
    public synchronized boolean add(BankTransaction transaction) {
        if (transactions.size() >= limit) {
            return false;
        }
        transactions.add(transaction);
        return true;
    }

    /** All that was noted, those of a session in their order. */
    public synchronized List<BankTransaction> transactions() {
        return List.copyOf(transactions);
    }
}
