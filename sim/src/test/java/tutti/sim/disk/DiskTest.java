package tutti.sim.disk;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import tutti.sim.host.Host;
import tutti.sim.host.HostConfig;
import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.RandomStream;
import tutti.sim.thread.Threads;

class DiskTest {
    private static final int SECTOR = 4;

    private final Kernel kernel = new Kernel(1);
    private final Host host = new Host(kernel, new Threads(kernel), "n1", HostConfig.DEFAULT
            .withDisk(new DiskConfig(new Distribution.Constant(100), 1_000_000_000, 2, 3, SECTOR)));
    private final List<String> log = new ArrayList<>();

    DiskTest() {
        host.boot();
    }

    private DiskFile file() {
        return host.disk().file("log");
    }

    private static byte[] bytes(int from, int count) {
        byte[] bytes = new byte[count];
        for (int i = 0; i < count; i++) {
            bytes[i] = (byte) (from + i);
        }
        return bytes;
    }

    @Test
    void requestsTakeTimeAndABoundedNumberRunsAtATime() {
        for (int i = 0; i < 3; i++) {
            int number = i;
            host.disk().access(10, () -> log.add(kernel.now() + " " + number));
        }
        assertThrows(IllegalStateException.class, () -> host.disk().access(1, () -> {}), "the bound");
        kernel.run();
        assertEquals(List.of("110 0", "110 1", "220 2"), log);
        host.disk().setSlowness(10);
        host.disk().access(0, () -> log.add("" + kernel.now()));
        kernel.run();
        assertEquals("1220", log.getLast());
    }

    @Test
    void whatWasSyncedSurvivesAndWhatWasNotIsLost() {
        file().append(bytes(1, 5));
        file().sync(() -> log.add("synced"));
        file().append(bytes(6, 5));
        assertArrayEquals(bytes(1, 10), file().read(0, 10), "all of it is read before the crash");
        kernel.run();
        assertEquals(List.of("synced"), log);
        host.crash();
        assertArrayEquals(bytes(1, 5), file().read(0, file().size()));
    }

    @Test
    void aSyncThatTheCrashOvertakesIsNone() {
        file().append(bytes(1, 5));
        file().sync(() -> log.add("synced"));
        kernel.runUntil(50);
        host.crash();
        host.boot();
        kernel.run();
        assertEquals(List.of(), log);
        assertEquals(0, file().size());
        assertEquals(0, host.disk().requests());
    }

    @Test
    void whatIsKeptIsAll() {
        file().append(bytes(1, 5));
        file().truncate(3);
        host.crash(Unsynced.KEPT, kernel.random("x"));
        assertArrayEquals(bytes(1, 3), file().read(0, file().size()));
    }

    @Test
    void tornWritesLeaveWholeSectorsOfThem() {
        byte[] before = bytes(100, 6);
        byte[] after = bytes(1, 17);
        boolean[] seen = new boolean[4];
        RandomStream random = kernel.random("tear");
        for (int round = 0; round < 200; round++) {
            file().truncate(0);
            file().write(0, before);
            file().sync(() -> {});
            kernel.run();
            file().write(3, after);
            host.crash(Unsynced.TORN, random);
            byte[] left = file().read(0, file().size());
            host.boot();
            int whole = 0;
            for (int i = 0; i < left.length; i++) {
                int sectorStart = Math.max(3, i / SECTOR * SECTOR);
                boolean isNew = i >= 3 && left[sectorStart] == after[sectorStart - 3];
                byte old = i < before.length ? before[i] : 0;
                assertEquals(isNew ? after[i - 3] : old, left[i], "round " + round + ": " + Arrays.toString(left));
                whole += isNew ? 1 : 0;
            }
            seen[0] |= whole == 0;
            seen[1] |= whole == after.length;
            seen[2] |= whole > 0 && whole < after.length;
            seen[3] |= left.length == 20 && left[4] == before[4] && whole > 0;
        }
        assertArrayEquals(new boolean[]{true, true, true, true}, seen,
                "nothing, all, some, the end without the middle");
    }

    /** Of one file, of two, and of names: what was done later is there, and what was done before it is not. */
    @Test
    void whatIsLeftThoughSomethingBeforeItIsNotIsCounted() {
        RandomStream random = kernel.random("reorder");
        for (int way = 0; way < 3; way++) {
            long before = host.disk().unsafe().reordered();
            for (int round = 0; round < 40; round++) {
                file().truncate(0);
                host.disk().file("other").truncate(0);
                file().sync(() -> {});
                host.disk().file("other").sync(() -> {});
                kernel.run();
                if (way == 2) {
                    host.disk().root().createFile(kernel.now(), "first");
                    host.disk().root().createFile(kernel.now(), "second");
                } else {
                    file().append(bytes(1, 3));
                    kernel.runUntil(kernel.now() + 1);
                    (way == 0 ? file() : host.disk().file("other")).append(bytes(1, 3));
                }
                host.crash(round % 2 == 0 ? Unsynced.LOST : Unsynced.TORN, random);
                long reordered = host.disk().unsafe().reordered();
                if (way == 2 && reordered > before) {
                    assertEquals(Set.of("log", "other", "second"), host.disk().names());
                }
                host.boot();
                if (reordered > before) {
                    break;
                }
                host.disk().delete("first");
                host.disk().delete("second");
            }
            assertTrue(host.disk().unsafe().reordered() > before, "way " + way);
        }
    }

    @Test
    void filesAreNamedRenamedAndDeleted() {
        file().append(bytes(1, 3));
        host.disk().rename("log", "old");
        assertEquals(Set.of("old"), host.disk().names());
        assertEquals("old", host.disk().file("old").name());
        host.disk().delete("old");
        assertTrue(host.disk().names().isEmpty());
        assertThrows(IllegalArgumentException.class, () -> host.disk().rename("none", "x"));
        assertThrows(IllegalArgumentException.class, () -> file().read(0, 1));
    }
}
