package tutti.sim.machine;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tutti.runtime.DamagedFileException;
import tutti.runtime.DataFile;
import tutti.runtime.Directory;
import tutti.runtime.TestWorld.Crashing.Crash;
import tutti.sim.disk.Disk;
import tutti.sim.disk.DiskFault;
import tutti.sim.disk.DiskFault.Effect;
import tutti.sim.disk.Unsynced;
import tutti.sim.kernel.RandomStream;

/** What disks do wrong, as programs see it. */
class SimDiskFaultsTest {
    private static final int SECTOR = 512;

    private final SimWorld world = new SimWorld(1, 1);
    private final Disk disk = world.host(0).disk();
    private final RandomStream random = world.kernel.random("test");
    private Directory directory;

    @BeforeEach
    void begin() throws IOException {
        directory = world.directory(0);
        write("file", 0, filled(8 * SECTOR, 1));
        directory.sync();
    }

    private static byte[] filled(int length, int value) {
        byte[] bytes = new byte[length];
        Arrays.fill(bytes, (byte) value);
        return bytes;
    }

    private void write(String name, long at, byte[] bytes) throws IOException {
        Directory.Open how = directory.exists(name) ? Directory.Open.EXISTING : Directory.Open.NEW;
        try (DataFile file = directory.open(name, how)) {
            file.write(ByteBuffer.wrap(bytes), at);
            file.force(true);
        }
    }

    private byte[] read(String name) throws IOException {
        try (DataFile file = directory.open(name, Directory.Open.EXISTING)) {
            ByteBuffer content = ByteBuffer.allocate((int) file.size());
            file.read(content, 0);
            return content.array();
        }
    }

    private void crash(Crash how) throws IOException {
        world.crash(0, how);
        directory = world.directory(0);
    }

    @Test
    void aLostWriteIsSeenWhenTheMachineHasForgottenIt() throws IOException {
        Disk.Impaired lost = disk.impair(new DiskFault(Effect.LOSE, 1), random);
        write("file", SECTOR, filled(2 * SECTOR, 2));
        assertEquals(1, lost.affected());
        lost.lift();
        write("file", 2 * SECTOR, filled(SECTOR, 3));
        byte[] meant = read("file");
        assertEquals(2, meant[SECTOR]);
        crash(Crash.PROCESS_KILLED);
        assertArrayEquals(meant, read("file"), "the system remembers");
        crash(Crash.ALL_UNFORCED_LOST);
        byte[] expected = filled(8 * SECTOR, 1);
        Arrays.fill(expected, 2 * SECTOR, 3 * SECTOR, (byte) 3);
        assertArrayEquals(expected, read("file"), "but for what was written again");
    }

    @Test
    void aMisdirectedWriteGoesElsewhere() throws IOException {
        disk.impair(new DiskFault(Effect.MISDIRECT, 1), random);
        write("file", 3 * SECTOR, filled(SECTOR, 2));
        crash(Crash.ALL_UNFORCED_LOST);
        byte[] left = read("file");
        int elsewhere = 0;
        for (int sector = 0; sector < 8; sector++) {
            elsewhere += left[sector * SECTOR] == 2 ? 1 : 0;
        }
        assertEquals(1, elsewhere);
    }

    @Test
    void aLyingForceMakesNothingSafe() throws IOException {
        Disk.Impaired lie = disk.impair(new DiskFault(Effect.LIE, 1), random);
        write("file", 0, filled(SECTOR, 2));
        write("other", 0, filled(SECTOR, 3));
        directory.sync();
        assertEquals(3, lie.affected());
        lie.lift();
        crash(Crash.ALL_UNFORCED_LOST);
        assertArrayEquals(filled(8 * SECTOR, 1), read("file"));
        assertFalse(directory.exists("other"));
    }

    @Test
    void aFailedForceIsNotMendedByALaterOne() throws IOException {
        boolean lost = false;
        boolean kept = false;
        for (int round = 2; round < 20; round++) {
            int value = round;
            Disk.Impaired failing = disk.impair(new DiskFault(Effect.FAIL_FORCE, 1), random);
            assertThrows(IOException.class, () -> write("file", 0, filled(SECTOR, value)));
            failing.lift();
            try (DataFile file = directory.open("file", Directory.Open.EXISTING)) {
                file.force(true);
            }
            crash(Crash.ALL_UNFORCED_LOST);
            kept |= read("file")[0] == value;
            lost |= read("file")[0] != value;
        }
        assertTrue(lost && kept);
    }

    @Test
    void aFullDiskTakesNothingMore() throws IOException {
        Disk.Impaired full = disk.impair(new DiskFault(Effect.FULL, 1), random);
        write("file", 0, filled(SECTOR, 2));
        assertThrows(IOException.class, () -> write("file", 8 * SECTOR, filled(SECTOR, 2)));
        assertThrows(IOException.class, () -> directory.open("other", Directory.Open.NEW));
        assertThrows(IOException.class, () -> directory.directory("inside"));
        full.lift();
        write("other", 0, filled(SECTOR, 2));
        assertEquals(2, read("file")[0]);
    }

    @Test
    void badSectorsCannotBeReadUntilTheyAreWritten() throws IOException {
        assertEquals(3, disk.damageSectors(3, random));
        IOException bad = assertThrows(DamagedFileException.class, () -> read("file"));
        assertTrue(String.valueOf(bad.getMessage()).contains("sector"), bad.getMessage());
        write("file", 0, filled(8 * SECTOR, 2));
        assertArrayEquals(filled(8 * SECTOR, 2), read("file"));
    }

    @Test
    void bitsFlip() throws IOException {
        assertEquals(1, disk.flipBits(1, random));
        byte[] left = read("file");
        int flipped = 0;
        for (byte one : left) {
            flipped += Integer.bitCount((one ^ 1) & 0xFF);
        }
        assertEquals(1, flipped);
    }

    @Test
    void disksAreLostAndRestored() throws IOException {
        Disk.Image image = disk.image();
        write("file", 0, filled(SECTOR, 2));
        write("other", 0, filled(SECTOR, 3));
        directory.sync();
        world.host(0).crash(Unsynced.LOST, random);
        disk.restore(image, "");
        world.host(0).boot();
        directory = world.directory(0);
        assertArrayEquals(filled(8 * SECTOR, 1), read("file"));
        assertFalse(directory.exists("other"));
        world.host(0).crash(Unsynced.LOST, random);
        assertTrue(disk.wipe("") > 0);
        world.host(0).boot();
        assertFalse(world.directory(0).exists("file"));
    }
}
