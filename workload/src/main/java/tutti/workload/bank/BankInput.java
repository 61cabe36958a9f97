package tutti.workload.bank;

/** What a bank's client wants done. */
public sealed interface BankInput {
    /**
     * Move money if the account holds so much.
     *
     * @param number of the transfer; no other has it
     */
    record Transfer(long number, int from, int to, long amount) implements BankInput {}

    /** Read all balances. */
    record ReadBalances() implements BankInput {}
}
