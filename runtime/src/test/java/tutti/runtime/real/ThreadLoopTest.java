package tutti.runtime.real;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class ThreadLoopTest {
    private static final String NAME = "event-loop-test";
    private static final long SECONDS_MAX = 60;

    private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    private final ThreadLoop loop = new ThreadLoop(NAME, RealMachine.timers(), failure::set);
    private final Thread own = Thread.getAllStackTraces().keySet().stream()
            .filter(thread -> thread.getName().equals(NAME) && thread.isAlive()).findFirst().orElseThrow();

    @BeforeEach
    void rest() {
        awaitState(own, Thread.State.WAITING);
    }

    @AfterEach
    void stop() {
        loop.close();
        awaitState(own, Thread.State.TERMINATED);
    }

    private static void awaitState(Thread thread, Thread.State state) {
        while (thread.getState() != state) {
            Thread.onSpinWait();
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            assertTrue(latch.await(SECONDS_MAX, TimeUnit.SECONDS), "not within " + SECONDS_MAX + " seconds");
        } catch (InterruptedException interrupted) {
            throw new AssertionError(interrupted);
        }
    }

    /** Has another thread drive the loop, in a task that ends with {@code leave}; returns when it is inside. */
    private Thread occupy(CountDownLatch leave) {
        CountDownLatch inside = new CountDownLatch(1);
        Thread driver = Thread.ofPlatform().start(() -> loop.run(() -> {
            inside.countDown();
            await(leave);
        }));
        await(inside);
        return driver;
    }

    @Test
    void whoHandsInRunsItWhenNobodyElseDoes() {
        List<Thread> ran = new ArrayList<>();
        assertFalse(loop.isCurrent());
        loop.run(() -> {
            assertTrue(loop.isCurrent());
            ran.add(Thread.currentThread());
        });

        assertEquals(List.of(Thread.currentThread()), ran);
        assertFalse(loop.isCurrent());
        assertEquals(null, failure.get());
    }

    @Test
    void whatIsHandedOverRunsOnTheLoopsThread() {
        CountDownLatch done = new CountDownLatch(1);
        AtomicReference<@Nullable Thread> ran = new AtomicReference<>();
        loop.execute(() -> {
            ran.set(Thread.currentThread());
            done.countDown();
        });

        await(done);
        assertEquals(own, ran.get());
    }

    @Test
    void aTaskFromInsideATaskFollowsIt() {
        List<String> order = new ArrayList<>();
        loop.run(() -> {
            loop.run(() -> order.add("inner"));
            loop.execute(() -> order.add("handed over"));
            order.add("outer");
        });

        assertEquals(List.of("outer", "inner", "handed over"), order);
    }

    @Test
    void whoeverIsAtItRunsWhatOthersHandIn() throws InterruptedException {
        CountDownLatch leave = new CountDownLatch(1);
        Thread driver = occupy(leave);
        List<Thread> ran = Collections.synchronizedList(new ArrayList<>());
        loop.run(() -> ran.add(Thread.currentThread()));
        loop.execute(() -> ran.add(Thread.currentThread()));
        assertEquals(List.of(), ran);

        leave.countDown();
        driver.join();

        assertEquals(List.of(driver, driver), ran);
    }

    @Test
    void aCallerLeavesTheRestToTheThread() {
        int more = 100;
        CountDownLatch done = new CountDownLatch(more);
        List<Thread> ran = Collections.synchronizedList(new ArrayList<>());
        loop.run(() -> {
            for (int i = 0; i < more; i++) {
                loop.execute(() -> {
                    ran.add(Thread.currentThread());
                    done.countDown();
                });
            }
        });

        await(done);
        int mine = ThreadLoop.TASKS_OF_A_CALLER - 1;
        List<Thread> expected = new ArrayList<>(Collections.nCopies(mine, Thread.currentThread()));
        expected.addAll(Collections.nCopies(more - mine, own));
        assertEquals(expected, ran);
    }

    /** Each thread's tasks in its order, one at a time, none lost; the state has no lock. */
    @Test
    void manyThreads() throws InterruptedException {
        int threads = 8;
        int each = 20_000;
        int[] last = new int[threads];
        int[] ran = new int[1];
        List<String> wrong = Collections.synchronizedList(new ArrayList<>());
        CountDownLatch done = new CountDownLatch(threads);
        List<Thread> started = new ArrayList<>();
        for (int t = 0; t < threads; t++) {
            int thread = t;
            started.add(Thread.ofPlatform().start(() -> {
                for (int i = 1; i <= each; i++) {
                    int number = i;
                    Runnable task = () -> {
                        if (last[thread] != number - 1) {
                            wrong.add("thread " + thread + ": " + number + " after " + last[thread]);
                        }
                        last[thread] = number;
                        ran[0]++;
                        if (number == each) {
                            done.countDown();
                        }
                    };
                    if ((number + thread) % 3 == 0) {
                        loop.execute(task);
                    } else {
                        loop.run(task);
                    }
                }
            }));
        }
        for (Thread thread : started) {
            thread.join();
        }
        await(done);

        AtomicReference<@Nullable Integer> total = new AtomicReference<>();
        CountDownLatch told = new CountDownLatch(1);
        loop.execute(() -> {
            total.set(ran[0]);
            told.countDown();
        });
        await(told);
        assertEquals(threads * each, total.get());
        assertEquals(List.of(), wrong);
        assertEquals(null, failure.get());
    }

    /** Whoever resigns, and the thread that goes to sleep, see what is handed in at that moment. */
    @Test
    void noWakeUpIsLost() throws InterruptedException {
        int rounds = 20_000;
        List<Thread> started = new ArrayList<>();
        for (int t = 0; t < 2; t++) {
            int thread = t;
            started.add(Thread.ofPlatform().start(() -> {
                for (int i = 0; i < rounds; i++) {
                    CountDownLatch ran = new CountDownLatch(1);
                    if ((i / 7 + thread) % 2 == 0) {
                        loop.run(ran::countDown);
                    } else {
                        loop.execute(ran::countDown);
                    }
                    ThreadLoopTest.await(ran);
                }
            }));
        }
        for (Thread thread : started) {
            thread.join();
        }
    }

    @Test
    void aFailureStopsItWhoeverRuns() {
        IllegalStateException broken = new IllegalStateException("on purpose");
        List<String> ran = new ArrayList<>();
        loop.run(() -> {
            loop.execute(() -> ran.add("behind"));
            throw broken;
        });
        loop.run(() -> ran.add("later"));
        loop.execute(() -> ran.add("later still"));

        assertEquals(broken, failure.get());
        awaitState(own, Thread.State.TERMINATED);
        assertEquals(List.of(), ran);
    }

    @Test
    void closingWaitsForWhoeverRuns() throws InterruptedException {
        CountDownLatch leave = new CountDownLatch(1);
        List<String> ran = Collections.synchronizedList(new ArrayList<>());
        Thread driver = occupy(leave);
        loop.run(() -> ran.add("too late"));
        Thread closer = Thread.ofPlatform().start(loop::close);
        awaitState(closer, Thread.State.WAITING);
        assertNotEquals(Thread.State.TERMINATED, own.getState());

        leave.countDown();
        closer.join();
        driver.join();
        loop.run(() -> ran.add("after the end"));

        assertEquals(Thread.State.TERMINATED, own.getState());
        assertEquals(List.of(), ran);
    }

    @Test
    void aTaskMayCloseIt() {
        List<String> ran = new ArrayList<>();
        loop.run(() -> {
            loop.execute(() -> ran.add("behind"));
            loop.close();
        });

        awaitState(own, Thread.State.TERMINATED);
        assertEquals(List.of(), ran);
    }

    @Test
    void tasksAreNotInterruptedWithTheirCaller() {
        List<Boolean> interrupted = new ArrayList<>();
        Thread.currentThread().interrupt();
        loop.run(() -> interrupted.add(Thread.currentThread().isInterrupted()));

        assertTrue(Thread.interrupted());
        assertEquals(List.of(false), interrupted);
    }
}
