package tutti.check.bank;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import tutti.check.CheckResult;
import tutti.workload.bank.BankHistory;
import tutti.workload.bank.BankOperation;
import tutti.workload.bank.BankState;
import tutti.workload.bank.BankTransaction;
import tutti.workload.client.ClientOutcome;

/**
 * Checks that a bank keeps its money. Transfers move it and never make it, so every read of all balances adds up to the
 * same total (a read that does not has seen part of a transfer: read skew), and no account is overdrawn (a lost
 * update). In the end every acknowledged transfer is recorded, none that was refused or rolled back, none that nobody
 * made, and the balances follow from the records. Linear in the history.
 */
public final class BankCheck {
    private static final int VIOLATIONS_MAX = 20;

    private BankCheck() {}

    /** What clients read while the run went on. */
    public static CheckResult reads(BankHistory history) {
        long begun = System.nanoTime();
        long total = history.accounts() * history.initialBalance();
        List<CheckResult.Violation> violations = new ArrayList<>();
        int reads = 0;
        for (BankTransaction transaction : history.transactions()) {
            if (transaction.outcome() == ClientOutcome.OK
                    && transaction.operation() instanceof BankOperation.Balances(long[] balances)) {
                reads++;
                sums("session " + transaction.session() + " at node " + transaction.node() + ", from "
                        + transaction.begunNanos() + " to " + transaction.endedNanos() + " ns", balances,
                        history.accounts(), total, violations);
            }
        }
        return new CheckResult("bank: every read adds up", reads + " reads of " + history.accounts()
                + " accounts, total " + total, violations, List.of(), (System.nanoTime() - begun) / 1e9);
    }

    /**
     * What a database holds after the run.
     *
     * @param database its name, for the report
     */
    public static CheckResult state(String database, BankState state, BankHistory history) {
        long begun = System.nanoTime();
        List<CheckResult.Violation> violations = new ArrayList<>();
        sums("balances", state.balances(), history.accounts(), history.accounts() * history.initialBalance(),
                violations);
        Map<Long, BankTransaction> told = new HashMap<>();
        int acknowledged = 0;
        int unknown = 0;
        for (BankTransaction transaction : history.transactions()) {
            if (transaction.operation() instanceof BankOperation.Transfer transfer) {
                told.put(transfer.number(), transaction);
                acknowledged += transaction.outcome() == ClientOutcome.OK ? 1 : 0;
                unknown += transaction.outcome() == ClientOutcome.UNKNOWN ? 1 : 0;
            }
        }
        long[] expected = new long[history.accounts()];
        Arrays.fill(expected, history.initialBalance());
        int unknownFound = 0;
        for (BankOperation.Transfer there : state.transfers()) {
            expected[there.from()] -= there.amount();
            expected[there.to()] += there.amount();
            BankTransaction transaction = told.remove(there.number());
            if (transaction == null) {
                add(violations, "unexplained", there, "nobody made this transfer, or it is there twice");
            } else if (transaction.outcome() == ClientOutcome.FAILED) {
                add(violations, "failed is absent", there, "its client, session " + transaction.session()
                        + " at node " + transaction.node() + ", from " + transaction.begunNanos() + " to "
                        + transaction.endedNanos() + " ns, was told that it had failed, but it is there");
            } else if (!there.equals(transaction.operation())) {
                add(violations, "as acknowledged", there, "its client made " + transaction.operation());
            } else if (transaction.outcome() == ClientOutcome.UNKNOWN) {
                unknownFound++;
            }
        }
        for (BankTransaction missing : told.values()) {
            if (missing.outcome() == ClientOutcome.OK) {
                add(violations, "acknowledged is present", missing.operation(),
                        "its client was told that it had committed, but it is not there");
            }
        }
        for (int account = 0; account < Math.min(expected.length, state.balances().length); account++) {
            if (expected[account] != state.balances()[account]) {
                add(violations, "balances follow from transfers", "account " + account, "it holds "
                        + state.balances()[account] + ", but its transfers make it " + expected[account]);
            }
        }
        return new CheckResult("bank: what " + database + " holds", acknowledged + " transfers acknowledged, " + unknown
                + " unknown of which " + unknownFound + " are there", violations, List.of(),
                (System.nanoTime() - begun) / 1e9);
    }

    private static void sums(String subject, long[] balances, int accounts, long total,
            List<CheckResult.Violation> violations) {
        long sum = Arrays.stream(balances).sum();
        if (balances.length != accounts) {
            add(violations, "all accounts", subject, "there were " + balances.length + " accounts of " + accounts);
        }
        if (sum != total) {
            add(violations, "total", subject,
                    "the balances add up to " + sum + ", not to " + total + ": " + Arrays.toString(balances));
        }
        for (int account = 0; account < balances.length; account++) {
            if (balances[account] < 0) {
                add(violations, "not overdrawn", subject, "account " + account + " holds " + balances[account]);
            }
        }
    }

    private static void add(List<CheckResult.Violation> violations, String rule, Object subject, String text) {
        if (violations.size() < VIOLATIONS_MAX) {
            violations.add(CheckResult.Violation.of(rule, subject.toString(), text));
        }
    }
}
