package tutti.sim.thread;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.Condition;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Label;
import tutti.sim.kernel.SimulationFailure;

/** Virtual time has no spurious wake-ups, and locks that are not given back show as what they are. */
@SuppressWarnings({"LockNotBeforeTry", "WaitNotInLoop"})
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
    void locksExcludeAndConditionsWait() {
        SimLock lock = new SimLock();
        Condition ready = lock.newCondition();
        boolean[] set = {false};
        for (String name : List.of("a", "b")) {
            spawn(name, () -> {
                lock.lock();
                try {
                    while (!set[0]) {
                        ready.await();
                    }
                    say(name + " in");
                    SimThread.sleep(10);
                    say(name + " out");
                } finally {
                    lock.unlock();
                }
            });
        }
        spawn("setter", () -> {
            SimThread.sleep(100);
            lock.lock();
            lock.lock();
            set[0] = true;
            ready.signalAll();
            SimThread.sleep(5);
            lock.unlock();
            say("still mine");
            assertFalse(ready.await(0, TimeUnit.NANOSECONDS));
            lock.unlock();
            assertThrows(IllegalMonitorStateException.class, lock::unlock);
        });
        run();
        assertEquals(List.of("105 still mine", "105 a in", "115 a out", "115 b in", "125 b out"), log);
    }

    @Test
    void tryLockGivesUpInTime() {
        SimLock lock = new SimLock();
        spawn("holder", () -> {
            lock.lock();
            SimThread.sleep(100);
            lock.unlock();
        });
        spawn("impatient", () -> {
            assertFalse(lock.tryLock());
            assertFalse(lock.tryLock(50, TimeUnit.NANOSECONDS));
            say("gave up");
            assertTrue(lock.tryLock(60, TimeUnit.NANOSECONDS));
            say("got it");
            lock.unlock();
        });
        run();
        assertEquals(List.of("50 gave up", "100 got it"), log);
    }

    @Test
    void queuesAreBoundedAndInOrder() {
        SimQueue<Integer> queue = new SimQueue<>(2);
        spawn("producer", () -> {
            for (int i = 0; i < 5; i++) {
                queue.put(i);
                say("put " + i);
            }
            assertFalse(queue.offer(9, 1, TimeUnit.NANOSECONDS));
        });
        spawn("consumer", () -> {
            for (int i = 0; i < 3; i++) {
                SimThread.sleep(10);
                assertEquals(i, queue.take());
            }
            SimThread.sleep(100);
            assertEquals(3, queue.poll(1, TimeUnit.SECONDS));
            assertEquals(4, queue.poll());
            assertNull(queue.poll(7, TimeUnit.NANOSECONDS));
            say("empty");
        });
        run();
        assertEquals(List.of("0 put 0", "0 put 1", "10 put 2", "20 put 3", "30 put 4", "137 empty"), log);
    }

    @Test
    void eventsCompleteWhatThreadsWaitFor() {
        SimFuture<String> good = new SimFuture<>();
        SimFuture<String> bad = new SimFuture<>();
        kernel.schedule(10, EVENT, () -> good.complete("x"));
        kernel.schedule(20, EVENT, () -> bad.fail(new IllegalStateException("y")));
        spawn("waiter", () -> {
            assertThrows(TimeoutException.class, () -> good.get(5, TimeUnit.NANOSECONDS));
            say(good.get());
            say(assertThrows(ExecutionException.class, bad::get).getCause().getMessage());
        });
        run();
        assertEquals(List.of("10 x", "20 y"), log);
    }

    @Test
    void executorsRunTasksNowLaterAndAgain() {
        spawn("main", () -> {
            SimExecutor executor = new SimExecutor(threads, kernel, "pool", 2, 10);
            for (int i = 0; i < 3; i++) {
                int number = i;
                executor.execute(() -> {
                    try {
                        SimThread.sleep(10);
                    } catch (InterruptedException e) {
                        throw new IllegalStateException(e);
                    }
                    say("task " + number);
                });
            }
            Future<Integer> seven = executor.submit(() -> 7);
            assertEquals(7, seven.get());
            ScheduledFuture<?> again = executor.scheduleAtFixedRate(() -> say("again"), 30, 10, TimeUnit.NANOSECONDS);
            executor.schedule(() -> {
                say("cancel");
                return again.cancel(true);
            }, 55, TimeUnit.NANOSECONDS);
            assertThrows(CancellationException.class, again::get);
            assertThrows(RejectedExecutionException.class, () -> {
                for (int i = 0; i < 20; i++) {
                    executor.execute(() -> {});
                }
            });
            executor.close();
            assertTrue(executor.isTerminated());
            assertThrows(RejectedExecutionException.class, () -> executor.execute(() -> {}));
        });
        run();
        assertEquals(List.of("10 task 0", "10 task 1", "20 task 2", "40 again", "50 again", "60 again", "65 cancel"),
                log);
        assertEquals(0, threads.alive().size());
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
        SimLock lock = new SimLock();
        SimThread victim = spawn("victim", () -> {
            lock.lock();
            try {
                SimThread.sleep(1000);
                say("not reached");
            } finally {
                say("finally");
                lock.unlock();
            }
        });
        spawn("heir", () -> {
            SimThread.sleep(1);
            lock.lock();
            say("heir");
        });
        kernel.schedule(5, EVENT, victim::kill);
        run();
        assertEquals(List.of("5 finally", "5 heir"), log);
    }

    @Test
    void aKilledWaiterDoesNotSwallowAWakeUp() {
        SimQueue<String> queue = new SimQueue<>(1);
        SimThread first = spawn("first", queue::take);
        spawn("second", () -> say(queue.take()));
        kernel.schedule(5, EVENT, () -> {
            queue.add("x");
            first.kill();
        });
        run();
        assertEquals(List.of("5 x"), log);
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
        assertThrows(IllegalStateException.class, () -> new SimLock().lock());
    }
}
