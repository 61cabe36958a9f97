package tutti.workload.bank;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;
import tutti.workload.client.ClientOutcome;

/** What the clients of a bank do. */
class BankInputsTest {
    @Test
    void transfersAreBetweenTwoAccountsAndHaveNumbersOfTheirOwn() {
        BankInputs inputs = new BankInputs(BankOptions.usual(), 3);
        BankInputs same = new BankInputs(BankOptions.usual(), 3);
        Set<Long> numbers = new HashSet<>();
        int reads = 0;
        for (int i = 0; i < 1_000; i++) {
            BankInput input = inputs.next(false);
            assertEquals(input, same.next(false));
            if (input instanceof BankInput.Transfer(long number, int from, int to, long amount)) {
                assertNotEquals(from, to);
                assertTrue(from >= 0 && from < 20 && to >= 0 && to < 20 && amount >= 1 && amount <= 30);
                assertTrue(numbers.add(number));
            } else {
                reads++;
            }
            assertInstanceOf(BankInput.ReadBalances.class, inputs.next(true));
            assertInstanceOf(BankInput.ReadBalances.class, same.next(true));
        }
        assertTrue(reads > 150 && reads < 350, reads + " reads of 1,000");
    }

    @Test
    void theHistoryIsBounded() {
        BankHistory history = new BankHistory(2, 1, 1);
        BankTransaction transaction = new BankTransaction(0, 0, 1, 2, ClientOutcome.OK,
                new BankOperation.Refused(0, 5));
        assertTrue(history.add(transaction));
        assertFalse(history.add(transaction));
        assertEquals(1, history.transactions().size());
    }
}
