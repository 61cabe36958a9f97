package tutti.sim.disk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import tutti.sim.host.Host;
import tutti.sim.host.HostConfig;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Nanos;
import tutti.sim.kernel.RandomStream;
import tutti.sim.thread.Threads;

class JournalTest {
    private static final int RECORD_BYTES = 300;

    @Test
    void whatSurvivesIsAPrefixWithAllThatWasSynced() {
        TreeSet<Integer> sizes = new TreeSet<>();
        for (long seed = 1; seed <= 60; seed++) {
            Kernel kernel = new Kernel(seed);
            Host host = new Host(kernel, new Threads(kernel), "n0", HostConfig.DEFAULT);
            host.boot();
            Journal<Integer> journal = new Journal<>(host.disk(), "journal");
            List<Integer> synced = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                journal.append(i, RECORD_BYTES);
            }
            journal.sync(() -> synced.addAll(List.of(0, 1, 2, 3)));
            kernel.runUntil(10 * Nanos.MILLI);
            assertEquals(4, synced.size());
            for (int i = 4; i < 10; i++) {
                journal.append(i, RECORD_BYTES);
            }
            Unsynced fate = Unsynced.values()[(int) (seed % Unsynced.values().length)];
            host.crash(fate, new RandomStream(seed));
            host.boot();
            List<Integer> survived = journal.recover();
            assertTrue(survived.size() >= 4, survived.toString());
            for (int i = 0; i < survived.size(); i++) {
                assertEquals(i, survived.get(i));
            }
            switch (fate) {
                case KEPT, CACHED -> assertEquals(10, survived.size());
                case LOST -> assertEquals(4, survived.size());
                case TORN -> sizes.add(survived.size());
            }
            journal.append(10, RECORD_BYTES);
            journal.sync(() -> synced.add(10));
            kernel.runUntil(20 * Nanos.MILLI);
            host.crash();
            host.boot();
            assertEquals(10, journal.recover().getLast(), "it goes on behind what survived");
        }
        assertTrue(sizes.size() > 2, "torn at different places: " + sizes);
    }

    @Test
    void syncsAreGrouped() {
        Kernel kernel = new Kernel(1);
        Host host = new Host(kernel, new Threads(kernel), "n0", HostConfig.DEFAULT);
        host.boot();
        Journal<Integer> journal = new Journal<>(host.disk(), "journal");
        int[] done = new int[1];
        for (int i = 0; i < 100; i++) {
            journal.append(i, 8);
            journal.sync(() -> done[0]++);
        }
        kernel.run();
        assertEquals(100, done[0]);
        assertEquals(2, host.disk().served());
    }
}
