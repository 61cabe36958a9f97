package tutti.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class LockTableTest {
    private final List<String> told = new ArrayList<>();

    private class Somebody extends LockHolder {
        private final String name;
        private final boolean urgent;

        Somebody(String name, boolean urgent, long... rows) {
            this.name = name;
            this.urgent = urgent;
            exclusive = rows;
        }

        @Override
        void acquired() {
            told.add(name + " acquired");
        }

        @Override
        void pushedAside() {
            told.add(name + " pushed aside");
        }

        @Override
        void overtaken() {
            told.add(name + " overtaken");
        }

        @Override
        boolean pushesAside() {
            return urgent;
        }
    }

    private Somebody client(String name, long... rows) {
        return new Somebody(name, false, rows);
    }

    @Test
    void theFirstUpdaterWins() {
        LockTable locks = new LockTable(true);
        Somebody first = client("first", 1, 2);
        Somebody second = client("second", 2, 3);
        assertTrue(locks.acquire(first));
        assertFalse(locks.acquire(second));
        assertEquals(1, locks.waiters());
        locks.release(first, true);
        assertEquals(List.of("second overtaken"), told);
        assertEquals(0, locks.waiters());
    }

    @Test
    void whoWaitedForOneThatAbortedGoesOn() {
        LockTable locks = new LockTable(true);
        Somebody first = client("first", 1, 2);
        Somebody second = client("second", 2, 3);
        locks.acquire(first);
        locks.acquire(second);
        locks.release(first, false);
        assertEquals(List.of("second acquired"), told);
        assertFalse(locks.acquire(client("third", 3)), "the second holds all its rows now");
    }

    /** Otherwise an update would be lost: the row was free when the waiter came, and somebody wrote it meanwhile. */
    @Test
    void aWaiterIsOvertakenByWhoeverWritesOneOfItsRows() {
        LockTable locks = new LockTable(true);
        Somebody first = client("first", 1);
        Somebody waiter = client("waiter", 1, 2);
        Somebody other = client("other", 2);
        locks.acquire(first);
        locks.acquire(waiter);
        assertTrue(locks.acquire(other));
        locks.release(other, true);
        assertEquals(List.of("waiter overtaken"), told);
    }

    @Test
    void whoLocksRowsOneByOneWaitsForEachAndKeepsThoseBefore() {
        LockTable locks = new LockTable(true);
        Somebody first = client("first", 2);
        Somebody second = client("second", 1, 2);
        Somebody third = client("third", 1);
        locks.begin(first);
        locks.begin(second);
        locks.begin(third);
        assertEquals(LockTable.Step.LOCKED, locks.acquireNext(first));
        assertEquals(LockTable.Step.LOCKED, locks.acquireNext(second));
        assertEquals(LockTable.Step.WAITS, locks.acquireNext(second));
        assertEquals(LockTable.Step.WAITS, locks.acquireNext(third));
        assertEquals(Set.of(first), locks.inTheWay(second));
        assertEquals(Set.of(second), locks.inTheWay(third));
        locks.release(first, true);
        assertEquals(List.of("third acquired", "second overtaken"), told,
                "who has lost gives back what it had, and that was not changed");
        assertEquals(0, locks.waiters());
    }

    /** What is prepared for another site: it was changed on the snapshot of that site. */
    @Test
    void whoHasNoSnapshotWaitsForRowsOneByOneAndIsNotOvertaken() {
        LockTable locks = new LockTable(true);
        Somebody client = client("client", 1);
        Somebody prepared = new Somebody("prepared", false, 1, 2) {
            @Override
            boolean isBoundToSnapshot() {
                return false;
            }
        };
        locks.begin(client);
        assertEquals(LockTable.Step.LOCKED, locks.acquireNext(client));
        locks.begin(prepared);
        assertEquals(LockTable.Step.WAITS, locks.acquireNext(prepared));
        locks.decide(client);
        locks.release(client, true);
        assertEquals(List.of("prepared acquired"), told);
        Somebody later = client("later", 1);
        locks.begin(later);
        assertEquals(LockTable.Step.WAITS, locks.acquireNext(later));
        assertEquals(LockTable.Step.LOCKED, locks.acquireNext(prepared));
    }

    /** Otherwise an update would be lost: the row is free when it is asked for, but is not what the snapshot shows. */
    @Test
    void aRowThatWasChangedSinceTheSnapshotIsNotLocked() {
        LockTable locks = new LockTable(true);
        Somebody early = client("early", 1, 2);
        Somebody between = client("between", 2);
        Somebody late = client("late", 2);
        locks.begin(early);
        assertEquals(LockTable.Step.LOCKED, locks.acquireNext(early));
        assertTrue(locks.acquire(between));
        locks.release(between, true);
        locks.begin(late);
        assertEquals(LockTable.Step.CHANGED, locks.acquireNext(early));
        locks.release(early, false);
        assertEquals(LockTable.Step.LOCKED, locks.acquireNext(late));
    }

    @Test
    void whatHasAPlaceTakesTheRowsOfWhoLocksThemOneByOne() {
        LockTable locks = new LockTable(true);
        Somebody client = client("client", 1, 2, 3);
        Somebody other = client("other", 3);
        Somebody ordered = client("ordered", 1, 9);
        locks.begin(client);
        locks.begin(other);
        locks.acquireNext(other);
        locks.acquireNext(client);
        locks.acquireNext(client);
        assertEquals(LockTable.Step.WAITS, locks.acquireNext(client));
        assertTrue(locks.claim(ordered));
        assertEquals(List.of("client pushed aside"), told);
        assertEquals(0, locks.waiters());
        assertTrue(locks.acquire(client("another", 2)), "who is pushed aside gives all back");
        locks.release(other, true);
        assertEquals(List.of("client pushed aside"), told, "it does not wait any more");
    }

    @Test
    void underTwoPhaseLockingWaitersGoOnWaiting() {
        LockTable locks = new LockTable(false);
        Somebody reader = client("reader");
        reader.shared = new long[]{1};
        Somebody second = client("second");
        second.shared = new long[]{1};
        Somebody writer = client("writer", 1);
        assertTrue(locks.acquire(reader));
        assertTrue(locks.acquire(second), "readers share");
        assertFalse(locks.acquire(writer));
        locks.release(reader, true);
        assertEquals(List.of(), told);
        locks.release(second, true);
        assertEquals(List.of("writer acquired"), told);
    }

    @Test
    void whatHasAPlaceTakesLocksFromWhatHasNoneAndWaitsForEarlierPlaces() {
        LockTable locks = new LockTable(true);
        Somebody client = client("client", 1, 9);
        Somebody earlier = client("earlier", 1, 2);
        Somebody later = client("later", 2, 3);
        locks.acquire(client);
        assertTrue(locks.claim(earlier));
        assertEquals(List.of("client pushed aside"), told);
        assertFalse(locks.claim(later));
        assertTrue(locks.acquire(client("another", 9)), "who is pushed aside gives all back");
        locks.release(earlier, true);
        assertEquals(List.of("client pushed aside", "later acquired"), told);
    }

    @Test
    void readersLoseTheirRowsToWhatHasAPlace() {
        LockTable locks = new LockTable(false);
        Somebody reader = client("reader");
        reader.shared = new long[]{1, 2};
        assertTrue(locks.acquire(reader));
        assertTrue(locks.claim(client("earlier", 1)));
        assertEquals(List.of("reader pushed aside"), told);
        assertTrue(locks.acquire(client("writer", 2)), "who is pushed aside gives all back");
    }

    @Test
    void whoPushesAsideMeetsThoseWhoWaitedToo() {
        LockTable locks = new LockTable(true);
        Somebody first = client("first", 1);
        Somebody second = client("second", 1);
        Somebody urgent = new Somebody("urgent", true, 1);
        locks.acquire(first);
        locks.acquire(second);
        assertTrue(locks.acquire(urgent));
        assertEquals(List.of("second acquired", "first pushed aside", "second pushed aside"), told);
    }

    /** Otherwise it waited for ever: the holder has executed, and waits for its turn, which comes later. */
    @Test
    void whoHasPriorityPushesAsideTheHolderOfARowThatItReads() {
        LockTable locks = new LockTable(false);
        Somebody holder = client("holder", 1);
        Somebody urgent = new Somebody("urgent", true, 2);
        urgent.shared = new long[]{1};
        assertTrue(locks.acquire(holder));
        assertEquals(Set.of(holder), locks.inTheWay(urgent));
        assertTrue(locks.acquire(urgent));
        assertEquals(List.of("holder pushed aside"), told);
    }
}
