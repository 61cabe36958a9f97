package tutti.sim.thread;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Label;
import tutti.sim.kernel.SimulationFailure;

/** Virtual time has no spurious wake-ups. */
@SuppressWarnings("WaitNotInLoop")
class ThreadsTest {
    private static final Label EVENT = Label.of("test", "event");

    private final Kernel kernel = new Kernel(1);
    private final Threads threads = new Threads(kernel);
    private final List<String> log = new ArrayList<>();

    @AfterEach
    void end() {
        threads.close();
        assertEquals(List.of(), threads.alive());
    }

    private void say(String what) {
        log.add(kernel.now() + " " + what);
    }

    private SimThread spawn(String name, Threads.Body body) {
        return threads.spawn(kernel, name, body);
    }

    private void run() {
        threads.callOnLoop(kernel::run);
    }

    @Test
    void sleepersWakeAtTheirTimesInTheOrderOfGoingToSleep() {
        for (int i = 0; i < 3; i++) {
            int number = i;
            spawn("sleeper " + i, () -> {
                SimThread.sleep(10);
                say("a" + number);
                SimThread.sleep(5L * number);
                say("b" + number);
            });
        }
        run();
        assertEquals(List.of("10 a0", "10 a1", "10 a2", "10 b0", "15 b1", "20 b2"), log);
    }

    @Test
    void theLoopMayRunOnAnyThread() {
        spawn("sleeper", () -> {
            SimThread.sleep(10);
            say("awake on " + SimThread.current().name());
        });
        kernel.run();
        assertEquals(List.of("10 awake on sleeper"), log);
    }

    @Test
    void tenThousandThreadsTakeTurns() {
        int n = 10_000;
        int[] sum = {0};
        List<SimThread> all = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            all.add(spawn("t", () -> {
                for (int round = 0; round < 5; round++) {
                    SimThread.sleep(1000);
                    sum[0]++;
                }
            }));
        }
        spawn("joiner", () -> {
            for (SimThread thread : all) {
                thread.join();
            }
            say("all");
        });
        run();
        assertEquals(5 * n, sum[0]);
        assertEquals(List.of("5000 all"), log);
    }

    @Test
    void anUncaughtExceptionStopsTheSimulation() {
        spawn("unlucky", () -> {
            SimThread.sleep(1_000_000);
            throw new IllegalStateException("broken");
        });
        spawn("other", () -> SimThread.sleep(2_000_000));
        SimulationFailure failure = assertThrows(SimulationFailure.class, this::run);
        assertEquals("at simulated time 1ms with seed 1: thread unlucky: java.lang.IllegalStateException: broken",
                failure.getMessage());
        assertInstanceOf(IllegalStateException.class, failure.getCause());
    }

    @Test
    void threadsWaitForWhatEventsDo() {
        spawn("waiter", () -> {
            SimThread.await(done -> kernel.schedule(10, EVENT, done));
            say("later");
            SimThread.await(Runnable::run);
            say("at once");
        });
        run();
        assertEquals(List.of("10 later", "10 at once"), log);
    }

    @Test
    void theOneThatWaitsLongestIsWokenFirstAndOthersGiveUpInTime() {
        WaitList list = new WaitList();
        for (String name : List.of("a", "b", "c")) {
            spawn(name, () -> say(name + " " + list.await(name.equals("b") ? 50 : SimThread.FOREVER, true)));
        }
        kernel.schedule(10, EVENT, list::wakeOne);
        kernel.schedule(100, EVENT, list::wakeAll);
        run();
        assertEquals(List.of("10 a true", "50 b false", "100 c true"), log);
        assertEquals(0, list.size());
    }

    @Test
    void interruptsWakeThoseThatWait() {
        SimThread sleeper = spawn("sleeper", () -> {
            assertThrows(InterruptedException.class, () -> SimThread.sleep(1000));
            say("interrupted");
            SimThread.sleep(10);
            say("slept");
        });
        kernel.schedule(5, EVENT, sleeper::interrupt);
        run();
        assertEquals(List.of("5 interrupted", "15 slept"), log);
    }

    @Test
    void aKilledThreadLeavesThroughItsFinallyBlocksOnly() {
        SimThread victim = spawn("victim", () -> {
            try {
                SimThread.sleep(1000);
                say("not reached");
            } finally {
                say("finally");
            }
        });
        kernel.schedule(5, EVENT, victim::kill);
        run();
        assertEquals(List.of("5 finally"), log);
    }

    @Test
    void aKilledWaiterDoesNotSwallowAWakeUp() {
        WaitList list = new WaitList();
        SimThread first = spawn("first", () -> list.await(SimThread.FOREVER, true));
        spawn("second", () -> say("second " + list.await(SimThread.FOREVER, true)));
        kernel.schedule(5, EVENT, () -> {
            list.wakeOne();
            first.kill();
        });
        run();
        assertEquals(List.of("5 second true"), log);
    }

    @Test
    void aThreadThatCannotBeEndedIsReported() {
        SimThread stubborn = spawn("stubborn", () -> {
            while (true) {
                try {
                    SimThread.sleep(10);
                } catch (Throwable e) {
                    say("no");
                }
            }
        });
        kernel.schedule(5, EVENT, stubborn::kill);
        SimulationFailure failure = assertThrows(SimulationFailure.class, this::run);
        assertTrue(failure.getMessage().contains("catch Exception, not Throwable"), failure.getMessage());
    }

    @Test
    void onlySimulatedThreadsWait() {
        assertThrows(IllegalStateException.class, () -> SimThread.sleep(1));
        assertThrows(IllegalStateException.class, () -> new WaitList().awaitUninterruptibly());
    }
}
