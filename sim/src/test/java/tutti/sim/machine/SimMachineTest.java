package tutti.sim.machine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import tutti.runtime.Background;
import tutti.runtime.Clock;
import tutti.runtime.DataFile;
import tutti.runtime.Directory;
import tutti.runtime.DurableFiles;
import tutti.runtime.Loop;
import tutti.runtime.TestWorld.Crashing.Crash;
import tutti.sim.disk.Disk;
import tutti.sim.disk.Unsynced;
import tutti.sim.kernel.Nanos;

class SimMachineTest {
    private final SimWorld world = new SimWorld(1, 2);
    private final SimMachine machine = world.machine(0);
    private final Clock clock = machine.clock();
    private final List<String> log = new ArrayList<>();

    private Loop loop(String name) {
        return machine.loop(name, thrown -> {
            throw new AssertionError(thrown);
        });
    }

    private static void write(Directory directory, String name, int value) throws IOException {
        try (DataFile file = directory.open(name, Directory.Open.EMPTY)) {
            file.write(ByteBuffer.wrap(new byte[]{(byte) value}), 0);
            file.force(true);
        }
    }

    private static void quietly(tutti.runtime.Machine.Work work) {
        try {
            work.run();
        } catch (Exception impossible) {
            throw new AssertionError(impossible);
        }
    }

    private void say(String what) {
        log.add(what + " at " + world.kernel.now() / Nanos.MILLI);
    }

    @Test
    void filesTakeTimeOfTheirLoopAndOfWhatItHandsOver() throws IOException {
        Directory directory = world.directory(0);
        Loop busy = loop("busy");
        Loop other = loop("other");
        busy.execute(() -> quietly(() -> {
            long begin = clock.nanoTime();
            other.execute(() -> say("first"));
            write(directory, "file", 1);
            assertTrue(clock.nanoTime() - begin > 800 * Nanos.MICRO, "a force takes its time");
            write(directory, "file", 2);
            busy.schedule(Nanos.MILLI, () -> say("timer"));
            other.execute(() -> say("second"));
        }));
        busy.execute(() -> say("next"));
        other.execute(() -> say("own"));
        world.pass(10 * Nanos.MILLI);
        assertEquals(List.of("own at 0", "first at 0", "next at 2", "second at 2", "timer at 3"), log);
    }

    @Test
    void aCrashInTheMiddleTakesBackWhatWasStillToCome() throws IOException {
        Directory directory = world.directory(0);
        for (String name : List.of("a", "b", "c")) {
            directory.open(name, Directory.Open.NEW).close();
        }
        directory.sync();
        Loop loop = loop("loop");
        Loop other = loop("other");
        loop.execute(() -> quietly(() -> {
            write(directory, "a", 1);
            other.execute(() -> say("told"));
            write(directory, "b", 2);
            write(directory, "c", 3);
            other.execute(() -> say("never"));
        }));
        world.pass(1500 * Nanos.MICRO);
        world.crash(0, Crash.PROCESS_KILLED);
        world.pass(10 * Nanos.MILLI);
        assertEquals(List.of("told at 1"), log);
        Directory again = world.directory(0);
        assertEquals(List.of(1L, 1L, 0L), sizes(again), "c would have been written later");
        world.crash(0, Crash.ALL_UNFORCED_LOST);
        assertEquals(List.of(1L, 0L, 0L), sizes(world.directory(0)), "b would have been safe later");
    }

    private static List<Long> sizes(Directory directory) throws IOException {
        List<Long> sizes = new ArrayList<>();
        for (String name : List.of("a", "b", "c")) {
            try (DataFile file = directory.open(name, Directory.Open.EXISTING)) {
                sizes.add(file.size());
            }
        }
        return sizes;
    }

    /** Counts up in a file, and what it has told of is there after a kill at any operation. */
    @Test
    void aProcessMayBeKilledAtEveryOperation() throws IOException {
        int last = 5;
        int kills = 0;
        for (int operation = 1;; operation++) {
            SimWorld killed = new SimWorld(operation, 1);
            int[] acknowledged = new int[1];
            boolean[] wentOn = new boolean[1];
            Unsynced fate = Unsynced.values()[operation % Unsynced.values().length];
            SimMachine first = killed.machine(0);
            killed.host(0).disk().killAt(operation,
                    () -> killed.host(0).crash(fate, killed.kernel.random("kill")));
            Loop told = first.loop("told", thrown -> wentOn[0] = true);
            first.background("main", () -> {
                try {
                    Directory directory = first.directory("data");
                    for (int i = 1; i <= last; i++) {
                        DurableFiles.write(directory, "count", new byte[]{(byte) i});
                        int value = i;
                        told.execute(() -> acknowledged[0] = value);
                    }
                } catch (KilledError dead) {
                    // As code does that believes that it must go on whatever happens.
                    told.execute(() -> wentOn[0] = true);
                    first.directory("data").open("more", Directory.Open.EMPTY);
                    wentOn[0] = true;
                }
            });
            killed.pass(Nanos.SECOND);
            assertFalse(wentOn[0], "nothing goes on after the kill");
            if (killed.host(0).state() != tutti.sim.host.Host.State.DOWN) {
                break;
            }
            kills++;
            killed.host(0).boot();
            Directory directory = killed.directory(0);
            int found = directory.exists("count") ? DurableFiles.read(directory, "count").get() : 0;
            assertTrue(found == acknowledged[0] || found == acknowledged[0] + 1,
                    "killed at operation " + operation + ": " + found + " after " + acknowledged[0] + " was told");
            assertFalse(directory.exists("more"));
        }
        assertTrue(kills > 30, "there were " + kills + " operations to be killed at");
    }

    /** Killed two operations behind the first file that it deletes, and not before. */
    @Test
    void aProcessMayBeKilledBehindARareOperation() throws IOException {
        List<String> done = new ArrayList<>();
        world.host(0).disk().killBehind(Disk.Rare.DELETE, 3, () -> world.host(0).crash());
        for (boolean deletes : List.of(false, true)) {
            machine.background("main", () -> {
                Directory directory = machine.directory("data");
                directory.open("a", Directory.Open.EMPTY).close();
                directory.sync();
                if (deletes) {
                    directory.delete("a");
                    done.add("deleted");
                    directory.sync();
                    done.add("safe");
                    directory.exists("a");
                    done.add("alive");
                }
            });
            world.pass(Nanos.SECOND);
        }
        assertEquals(List.of("deleted", "safe"), done);
        assertEquals(tutti.sim.host.Host.State.DOWN, world.host(0).state());
    }

    @Test
    void workInTheBackgroundIsDoneWhenItsFilesAre() throws IOException {
        Directory directory = world.directory(0);
        Background work = machine.background("work", () -> {
            write(directory, "a", 1);
            write(directory, "b", 2);
        });
        assertFalse(work.isDone());
        world.pass(1500 * Nanos.MICRO);
        assertFalse(work.isDone(), "its files take longer");
        world.pass(1500 * Nanos.MICRO);
        assertTrue(work.isDone());
        Loop loop = loop("loop");
        loop.execute(() -> {
            Background more = machine.background("more", () -> write(directory, "c", 3));
            long begin = clock.nanoTime();
            more.join();
            assertTrue(more.isDone());
            assertTrue(clock.nanoTime() - begin > 800 * Nanos.MICRO, "who waits for it takes its time");
            say("joined");
        });
        world.pass(Nanos.MILLI);
        assertEquals(1, log.size());
    }

    @Test
    void clocksDriftAndWallClocksJump() {
        Instant begin = clock.now();
        long nanos = clock.nanoTime();
        world.pass(Nanos.SECOND);
        assertEquals(Duration.ofSeconds(1), Duration.between(begin, clock.now()));
        world.host(0).setClockDrift(1);
        world.pass(Nanos.SECOND);
        assertEquals(1500 * Nanos.MILLI, clock.nanoTime() - nanos);
        world.host(0).setWallClock(-3600 * Nanos.SECOND);
        assertTrue(clock.now().isBefore(begin), "it went back");
        assertEquals(1500 * Nanos.MILLI, clock.nanoTime() - nanos, "this one never does");
    }

    @Test
    void aPausedMachineDoesEverythingLater() throws IOException {
        Directory directory = world.directory(0);
        Loop loop = loop("loop");
        Loop other = loop("other");
        loop.execute(() -> quietly(() -> {
            write(directory, "a", 1);
            other.execute(() -> say("handed over"));
        }));
        loop.execute(() -> say("next"));
        loop.schedule(2 * Nanos.MILLI, () -> say("timer"));
        world.pass(500 * Nanos.MICRO);
        world.host(0).pause();
        world.pass(20 * Nanos.MILLI);
        assertEquals(List.of(), log);
        world.host(0).resume();
        world.pass(Nanos.MILLI);
        assertEquals(List.of("next at 20", "handed over at 20", "timer at 20"), log);
    }

    @Test
    void aLifeEndsWithTheCrash() throws IOException {
        Loop loop = loop("loop");
        loop.schedule(Nanos.MILLI, () -> say("timer"));
        loop.execute(() -> say("task"));
        long drawn = machine.random("label").nextLong();
        world.crash(0, Crash.ALL_UNFORCED_LOST);
        loop.execute(() -> say("later"));
        loop.run(() -> say("later"));
        machine.background("work", () -> say("work"));
        world.pass(Nanos.SECOND);
        assertEquals(List.of(), log);
        assertNotEquals(drawn, world.machine(0).random("label").nextLong(), "each life has numbers of its own");
    }
}
