package tutti.engine.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class QuiescenceTest {
    private static final long LONG = TimeUnit.MINUTES.toNanos(10);
    private static final long SHORT = TimeUnit.MILLISECONDS.toNanos(1);

    private final Quiescence standstill = new Quiescence();
    private final List<String> events = Collections.synchronizedList(new ArrayList<>());

    /** Something that another thread does. */
    private record Other<T>(Thread thread, FutureTask<T> task) {
        T get() throws Exception {
            return task.get();
        }

        /** Returns when it waits. */
        void awaitWaiting() {
            while (thread.getState() != Thread.State.WAITING && thread.getState() != Thread.State.TIMED_WAITING) {
                assertFalse(task.isDone(), "it did not wait");
                Thread.onSpinWait();
            }
        }
    }

    private static <T> Other<T> other(Callable<T> does) {
        FutureTask<T> task = new FutureTask<>(does);
        return new Other<>(Thread.ofPlatform().daemon().start(task), task);
    }

    private Other<Boolean> attempt() {
        Other<Boolean> attempt = other(() -> standstill.attempt(LONG, () -> events.add("task")));
        attempt.awaitWaiting();
        return attempt;
    }

    private Other<Boolean> applier(long position) {
        Other<Boolean> applier = other(() -> {
            boolean begun = standstill.beginApplier(position, () -> false);
            events.add("applier " + position);
            standstill.endApplier(position);
            return begun;
        });
        applier.awaitWaiting();
        return applier;
    }

    private Other<Boolean> client() {
        Other<Boolean> client = other(() -> {
            standstill.beginClient();
            events.add("client");
            standstill.endClient();
            return true;
        });
        client.awaitWaiting();
        return client;
    }

    @Test
    void whenNothingIsOpenTheTaskRunsAtOnce() throws Exception {
        assertTrue(standstill.attempt(SHORT, () -> events.add("task")));
        assertEquals(List.of("task"), events);
    }

    @Test
    void clientsBeginAfterTheTaskOnceOneIsWantedAndAppliersGoOn() throws Exception {
        standstill.beginClient();
        Other<Boolean> attempt = attempt();
        Other<Boolean> client = client();
        Other<Boolean> prepared = applier(Quiescence.NO_POSITION);
        // The open client may wait for these.
        standstill.beginApplier(7, () -> false);
        standstill.beginApplier(9, () -> false);
        standstill.endApplier(7);
        standstill.endApplier(9);
        assertEquals(List.of(), events);
        standstill.endClient();
        assertTrue(attempt.get() && client.get() && prepared.get());
        assertEquals("task", events.getFirst());
        assertEquals(3, events.size());
    }

    @Test
    void appliersBeforeOneThatIsOpenBeginAndLaterOnesWaitForTheTask() throws Exception {
        standstill.beginApplier(5, () -> false);
        Other<Boolean> attempt = attempt();
        Other<Boolean> later = applier(6);
        // The one of 5 waits for it.
        assertTrue(standstill.beginApplier(4, () -> false));
        standstill.beginOwn();
        standstill.endOwn();
        standstill.endApplier(4);
        // Once more, because its commit has failed.
        standstill.endApplier(5);
        assertTrue(attempt.get() && later.get());
        assertEquals(List.of("task", "applier 6"), events);
    }

    @Test
    void nobodyBeginsWhileTheTaskRuns() throws Exception {
        List<Other<?>> others = new ArrayList<>();
        assertTrue(standstill.attempt(LONG, () -> {
            others.add(client());
            others.add(applier(1));
            Other<Boolean> own = other(() -> {
                standstill.beginOwn();
                events.add("own");
                standstill.endOwn();
                return true;
            });
            own.awaitWaiting();
            others.add(own);
            standstill.close();
            events.add("task");
        }));
        for (Other<?> other : others) {
            other.get();
        }
        assertEquals("task", events.getFirst());
        assertEquals(4, events.size());
    }

    @Test
    void itIsGivenUpWhenSomethingStaysOpenAndEverybodyGoesOn() throws Exception {
        standstill.beginClient();
        assertFalse(standstill.attempt(SHORT, () -> events.add("task")));
        standstill.beginClient();
        standstill.endClient();
        standstill.endClient();
        standstill.beginApplier(3, () -> false);
        assertFalse(standstill.attempt(SHORT, () -> events.add("task")));
        standstill.beginApplier(4, () -> false);
        standstill.endApplier(3);
        standstill.endApplier(4);
        assertEquals(List.of(), events);
        assertTrue(standstill.attempt(SHORT, () -> events.add("task")));
    }

    @Test
    void whoIsHeldGoesOnWhenItIsGivenUp() throws Exception {
        standstill.beginClient();
        Other<Boolean> attempt = attempt();
        Other<Boolean> client = client();
        standstill.close();
        assertFalse(attempt.get());
        assertTrue(client.get());
        assertEquals(List.of("client"), events);
    }

    @Test
    void anApplierThatIsClosedDoesNotBegin() throws Exception {
        standstill.beginApplier(5, () -> false);
        Other<Boolean> attempt = attempt();
        boolean[] closed = new boolean[1];
        Other<Boolean> applier = other(() -> standstill.beginApplier(6, () -> closed[0]));
        applier.awaitWaiting();
        closed[0] = true;
        standstill.wake();
        assertFalse(applier.get());
        standstill.endApplier(5);
        assertTrue(attempt.get());
    }

    /** It may take minutes. */
    @Test
    void nobodyIsHeldForACopy() throws Exception {
        standstill.beginCopy();
        assertFalse(standstill.attempt(LONG, () -> events.add("task")));
        standstill.endCopy();
        assertTrue(standstill.attempt(SHORT, () -> events.add("task")));
    }

    @Test
    void everybodyGoesOnWhenTheTaskFails() throws Exception {
        assertThrows(SQLException.class, () -> standstill.attempt(LONG, () -> {
            throw new SQLException("disk full");
        }));
        standstill.beginClient();
        standstill.endClient();
    }
}
