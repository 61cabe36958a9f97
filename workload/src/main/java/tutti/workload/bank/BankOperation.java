package tutti.workload.bank;

import java.util.Arrays;

/** What a bank transaction did, with what its client was answered. */
public sealed interface BankOperation {
    /**
     * Money was moved, and a record of it made.
     *
     * @param number of the transfer; no other has it
     * @param from account, from 0
     * @param to another account
     * @param amount at least 1
     */
    record Transfer(long number, int from, int to, long amount) implements BankOperation {}

    /**
     * All balances were read in one transaction.
     *
     * @param balances by account; must not be modified
     */
    record Balances(long[] balances) implements BankOperation {
        @Override
        public boolean equals(Object other) {
            return other instanceof Balances read && Arrays.equals(read.balances, balances);
        }

        @Override
        public int hashCode() {
            return Arrays.hashCode(balances);
        }

        @Override
        public String toString() {
            return "Balances" + Arrays.toString(balances);
        }
    }

    /** A transfer was not made, because the account holds less than the amount. */
    record Refused(int from, long amount) implements BankOperation {}
}
