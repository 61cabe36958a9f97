package tutti.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What every loop, clock and source of random numbers must do; for the loops of {@link Machine#loop} and of networks. */
@Timeout(120)
public abstract class LoopContract {
    private static final long MILLI = 1_000_000;

    private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    private final List<String> log = new CopyOnWriteArrayList<>();
    private @Nullable TestWorld world;

    /** Two machines. */
    protected abstract TestWorld world() throws Exception;

    /** A loop of a machine. */
    protected Loop loop(Machine machine, String name, Consumer<Throwable> onFailure) {
        return machine.loop(name, onFailure);
    }

    private Loop loop(Machine machine, String name) {
        return loop(machine, name, thrown -> {
            log.add("failed");
            failure.set(thrown);
        });
    }

    private TestWorld open() throws Exception {
        TestWorld opened = world();
        world = opened;
        return opened;
    }

    @AfterEach
    void close() throws Exception {
        if (world != null) {
            world.close();
        }
        assertEquals(null, failure.get());
    }

    @Test
    void tasksRunInTheOrderInWhichTheyAreHandedIn() throws Exception {
        TestWorld open = open();
        Loop loop = loop(open.machine(0), "a");
        List<Integer> expected = new ArrayList<>();
        List<Integer> ran = new CopyOnWriteArrayList<>();
        for (int i = 0; i < 500; i++) {
            int number = i;
            expected.add(i);
            if (i % 3 == 0) {
                loop.run(() -> ran.add(number));
            } else {
                loop.execute(() -> ran.add(number));
            }
        }
        open.await("all have run", () -> ran.size() == expected.size());
        assertEquals(expected, ran);
        loop.close();
    }

    @Test
    void aTaskFromInsideATaskFollowsItAndIsNeverNested() throws Exception {
        TestWorld open = open();
        Loop loop = loop(open.machine(0), "a");
        loop.execute(() -> {
            loop.run(() -> log.add("second"));
            loop.execute(() -> log.add("third"));
            log.add("first");
        });
        open.await("all have run", () -> log.size() == 3);
        assertEquals(List.of("first", "second", "third"), log);
        loop.close();
    }

    @Test
    void whoIsInsideKnows() throws Exception {
        TestWorld open = open();
        Loop loop = loop(open.machine(0), "a");
        Loop other = loop(open.machine(0), "b");
        assertFalse(loop.isCurrent());
        loop.execute(() -> {
            log.add(loop.isCurrent() + " " + other.isCurrent());
            other.execute(() -> log.add(loop.isCurrent() + " " + other.isCurrent()));
        });
        open.await("both have run", () -> log.size() == 2);
        assertEquals(List.of("true false", "false true"), log);
        loop.close();
        other.close();
    }

    @Test
    void loopsTalkToEachOther() throws Exception {
        TestWorld open = open();
        Loop left = loop(open.machine(0), "left");
        Loop right = loop(open.machine(0), "right");
        int[] state = new int[1];
        AtomicBoolean done = new AtomicBoolean();
        left.execute(new Runnable() {
            @Override
            public void run() {
                // What each task has written the next one sees, on whichever loop.
                if (++state[0] == 1000) {
                    done.set(true);
                } else {
                    (state[0] % 2 == 0 ? left : right).execute(this);
                }
            }
        });
        open.await("a thousand turns", done::get);
        left.close();
        right.close();
    }

    @Test
    void timersAreNeverEarlyAndFireInTheirOrder() throws Exception {
        TestWorld open = open();
        Clock clock = open.machine(0).clock();
        Loop loop = loop(open.machine(0), "a");
        long begin = clock.nanoTime();
        for (long millis : List.of(60L, 0L, 30L)) {
            loop.schedule(millis * MILLI, () -> {
                assertTrue(loop.isCurrent());
                assertTrue(clock.nanoTime() - begin >= millis * MILLI, "it is early");
                log.add("" + millis);
            });
        }
        open.await("all are due", () -> log.size() == 3);
        assertEquals(List.of("0", "30", "60"), log);
        loop.close();
    }

    @Test
    void aCancelledTimerDoesNotFire() throws Exception {
        TestWorld open = open();
        Loop loop = loop(open.machine(0), "a");
        Loop.Timer timer = loop.schedule(20 * MILLI, () -> log.add("cancelled"));
        loop.schedule(40 * MILLI, () -> log.add("other"));
        timer.cancel();
        timer.cancel();
        open.await("the other is due", () -> log.contains("other"));
        assertEquals(List.of("other"), log);
        loop.close();
    }

    @Test
    void aTaskThatThrowsClosesTheLoopAndIsToldOnIt() throws Exception {
        TestWorld open = open();
        Error broken = new AssertionError("on purpose");
        AtomicReference<@Nullable Loop> self = new AtomicReference<>();
        AtomicReference<@Nullable Throwable> told = new AtomicReference<>();
        Loop loop = loop(open.machine(0), "a", thrown -> {
            Loop current = self.get();
            log.add("failed " + (current != null && current.isCurrent()));
            told.set(thrown);
        });
        self.set(loop);
        loop.execute(() -> {
            loop.execute(() -> log.add("behind"));
            loop.schedule(0, () -> log.add("timer"));
            throw broken;
        });
        open.await("it is told", () -> told.get() != null);
        loop.execute(() -> log.add("later"));
        loop.run(() -> log.add("later still"));
        loop.schedule(0, () -> log.add("much later"));
        Loop other = loop(open.machine(0), "b");
        other.schedule(30 * MILLI, () -> log.add("other"));
        open.await("time has passed", () -> log.contains("other"));
        assertEquals(List.of("failed true", "other"), log);
        assertEquals(broken, told.get());
        loop.close();
        other.close();
    }

    @Test
    void nothingRunsAfterTheClose() throws Exception {
        TestWorld open = open();
        Loop loop = loop(open.machine(0), "a");
        Loop other = loop(open.machine(0), "b");
        AtomicBoolean inside = new AtomicBoolean();
        loop.execute(() -> {
            loop.schedule(10 * MILLI, () -> log.add("timer"));
            loop.execute(() -> log.add("behind"));
            loop.close();
            inside.set(true);
        });
        open.await("it is closed", inside::get);
        loop.execute(() -> log.add("later"));
        loop.run(() -> log.add("later still"));
        loop.schedule(0, () -> log.add("much later"));
        other.schedule(30 * MILLI, () -> log.add("other"));
        open.await("time has passed", () -> log.contains("other"));
        assertEquals(List.of("other"), log);
        loop.close();
        other.close();
        other.close();
    }

    @Test
    void randomStreamsAreTheirOwn() throws Exception {
        Machine machine = open().machine(0);
        RandomGenerator one = machine.random("label");
        RandomGenerator other = machine.random("label");
        assertNotEquals(one.nextLong(), other.nextLong());
        assertTrue(one.nextInt(10) < 10);
    }
}
