package tutti.check.bank;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;
import tutti.check.CheckResult;
import tutti.workload.bank.BankHistory;
import tutti.workload.bank.BankOperation;
import tutti.workload.bank.BankState;
import tutti.workload.bank.BankTransaction;
import tutti.workload.client.ClientOutcome;

/** A bank that keeps its money and some that do not. */
class BankCheckTest {
    private final BankHistory history = new BankHistory(3, 100, 100);

    private BankOperation.Transfer transfer(ClientOutcome outcome, long number, int from, int to, long amount) {
        BankOperation.Transfer transfer = new BankOperation.Transfer(number, from, to, amount);
        add(outcome, transfer);
        return transfer;
    }

    private void add(ClientOutcome outcome, BankOperation operation) {
        assertTrue(history.add(new BankTransaction(1, 0, 1, 2, outcome, operation)));
    }

    private String state(long a, long b, long c, BankOperation.Transfer... transfers) {
        CheckResult result = BankCheck.state("n1", new BankState(new long[]{a, b, c}, List.of(transfers)), history);
        return result.passed() ? "passed" : result.violations().getFirst().rule();
    }

    @Test
    void readsAddUp() {
        add(ClientOutcome.OK, new BankOperation.Balances(new long[]{100, 90, 110}));
        assertTrue(BankCheck.reads(history).passed());
        add(ClientOutcome.FAILED, new BankOperation.Balances(new long[]{100, 90, 100}));
        assertTrue(BankCheck.reads(history).passed(), "who was rolled back may have read anything");
        add(ClientOutcome.OK, new BankOperation.Balances(new long[]{100, 90, 100}));
        assertEquals("total", BankCheck.reads(history).violations().getFirst().rule());
    }

    @Test
    void nobodyIsOverdrawnAndNoAccountForgotten() {
        add(ClientOutcome.OK, new BankOperation.Balances(new long[]{-10, 200, 110}));
        assertEquals("not overdrawn", BankCheck.reads(history).violations().getFirst().rule());
        add(ClientOutcome.OK, new BankOperation.Balances(new long[]{190, 110}));
        assertEquals("all accounts", BankCheck.reads(history).violations().getLast().rule());
    }

    @Test
    void whatIsThereInTheEnd() {
        BankOperation.Transfer acknowledged = transfer(ClientOutcome.OK, 1, 0, 1, 10);
        BankOperation.Transfer failed = transfer(ClientOutcome.FAILED, 2, 0, 1, 20);
        BankOperation.Transfer unknown = transfer(ClientOutcome.UNKNOWN, 3, 2, 1, 30);
        assertEquals("passed", state(90, 110, 100, acknowledged));
        assertEquals("passed", state(90, 140, 70, acknowledged, unknown));
        assertEquals("acknowledged is present", state(100, 130, 70, unknown));
        assertEquals("failed is absent", state(70, 130, 100, acknowledged, failed));
        assertEquals("unexplained", state(80, 120, 100, acknowledged, acknowledged));
        assertEquals("unexplained", state(85, 115, 100, acknowledged, new BankOperation.Transfer(9, 0, 1, 5)));
        assertEquals("as acknowledged", state(89, 111, 100, new BankOperation.Transfer(1, 0, 1, 11)));
        assertEquals("balances follow from transfers", state(100, 100, 100, acknowledged));
        assertEquals("total", state(90, 100, 100, acknowledged));
    }
}
