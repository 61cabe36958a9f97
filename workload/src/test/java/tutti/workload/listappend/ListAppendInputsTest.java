package tutti.workload.listappend;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import tutti.workload.client.ClientOutcome;

/** What list-append clients do, and the memory of what they saw. */
class ListAppendInputsTest {
    private static List<List<ListAppendStep>> transactions(long seed, int count) {
        ListAppendInputs inputs = new ListAppendInputs(new ListAppendOptions(5, 8, 1, 4, 60, 2), seed);
        List<List<ListAppendStep>> transactions = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            transactions.add(inputs.next(i % 10 == 0));
        }
        return transactions;
    }

    @Test
    void theSeedDecides() {
        assertEquals(transactions(7, 500), transactions(7, 500));
        assertNotEquals(transactions(7, 500), transactions(8, 500));
    }

    @Test
    void noValueIsAppendedTwiceAndKeysMoveOnWhenTheyAreFull() {
        Set<ListAppendStep> appends = new HashSet<>();
        Map<Long, Integer> perKey = new HashMap<>();
        long highest = 0;
        for (List<ListAppendStep> transaction : transactions(1, 2_000)) {
            assertTrue(!transaction.isEmpty() && transaction.size() <= 4);
            for (ListAppendStep step : transaction) {
                highest = Math.max(highest, step.key());
                if (step instanceof ListAppendStep.Append) {
                    assertTrue(appends.add(step), step.toString());
                    assertTrue(perKey.merge(step.key(), 1, Integer::sum) <= 8);
                }
            }
        }
        assertTrue(highest > 100, "many keys were filled");
        assertTrue(perKey.values().stream().filter(count -> count == 8).count() > 100);
    }

    @Test
    void whoOnlyReadsOnlyReads() {
        List<List<ListAppendStep>> transactions = transactions(3, 1_000);
        for (int i = 0; i < transactions.size(); i += 10) {
            assertTrue(transactions.get(i).stream().allMatch(ListAppendStep.Read.class::isInstance));
        }
        assertTrue(transactions.stream().flatMap(List::stream).anyMatch(ListAppendStep.Append.class::isInstance));
    }

    @Test
    void whatMakesNoSenseIsRefused() {
        assertThrows(IllegalArgumentException.class, () -> new ListAppendOptions(0, 8, 1, 4, 60, 2));
        assertThrows(IllegalArgumentException.class, () -> new ListAppendOptions(5, 8, 4, 1, 60, 2));
    }

    @Test
    void theHistoryRemembersAndIsBounded() {
        ListAppendHistory history = new ListAppendHistory(200);
        List<ListAppendTransaction> added = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            List<ListAppendOperation> operations = new ArrayList<>();
            for (int j = 0; j < i % 7; j++) {
                operations.add(j % 2 == 0
                        ? new ListAppendOperation.Append(1L << 40, i)
                        : new ListAppendOperation.Read(j, new int[i]));
            }
            ListAppendTransaction transaction = new ListAppendTransaction(i, 2, i, 2L * i,
                    ClientOutcome.values()[i % 3], i % 5 == 0, operations);
            assertTrue(history.add(transaction));
            added.add(transaction);
        }
        assertFalse(history.add(added.getFirst()));
        assertEquals(200, history.size());
        for (int i = 0; i < 200; i++) {
            assertEquals(added.get(i), history.transaction(i));
        }
    }
}
