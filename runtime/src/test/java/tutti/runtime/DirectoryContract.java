package tutti.runtime;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tutti.runtime.TestWorld.Crashing.Crash;

/** What every directory and file must do, and what a crash leaves of them where machines can be made to crash. */
@Timeout(120)
public abstract class DirectoryContract {
    private static final int ROUNDS = 100;
    private static final int SECTOR = 512;

    private TestWorld world;
    private Directory directory;

    /** Two machines. */
    protected abstract TestWorld world() throws Exception;

    @BeforeEach
    void open() throws Exception {
        world = world();
        directory = world.directory(0);
    }

    @AfterEach
    void close() throws Exception {
        world.close();
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static byte[] filled(int length, int value) {
        byte[] bytes = new byte[length];
        Arrays.fill(bytes, (byte) value);
        return bytes;
    }

    private void write(String name, byte[] content, boolean force) throws IOException {
        try (DataFile file = directory.open(name, Directory.Open.EMPTY)) {
            file.write(ByteBuffer.wrap(content), 0);
            if (force) {
                file.force(true);
            }
        }
    }

    private byte[] read(String name) throws IOException {
        try (DataFile file = directory.open(name, Directory.Open.EXISTING)) {
            ByteBuffer content = ByteBuffer.allocate((int) file.size());
            assertEquals(content.capacity(), file.read(content, 0));
            return content.array();
        }
    }

    // While nothing crashes.

    @Test
    void whatIsWrittenIsRead() throws IOException {
        try (DataFile file = directory.open("file", Directory.Open.NEW)) {
            assertEquals(0, file.size());
            ByteBuffer direct = ByteBuffer.allocateDirect(7).put(bytes("xabcdey")).flip().position(1).limit(6);
            file.write(direct, 3);
            assertFalse(direct.hasRemaining());
            assertEquals(8, file.size());
            file.write(ByteBuffer.wrap(bytes("__ZZ__")).position(2).limit(4), 4);
            file.force(true);

            ByteBuffer all = ByteBuffer.allocate(100);
            assertEquals(8, file.read(all, 0));
            assertArrayEquals(new byte[]{0, 0, 0, 'a', 'Z', 'Z', 'd', 'e'}, Arrays.copyOf(all.array(), 8));
            assertEquals(8, all.position());
            ByteBuffer part = ByteBuffer.allocateDirect(3);
            assertEquals(3, file.read(part, 4));
            assertEquals('Z', part.get(0));
            assertEquals(0, file.read(ByteBuffer.allocate(1), 8));
            assertEquals(0, file.read(ByteBuffer.allocate(1), 80));
        }
    }

    @Test
    void filesAreCutOff() throws IOException {
        write("file", bytes("abcdef"), false);
        try (DataFile file = directory.open("file", Directory.Open.EXISTING)) {
            file.truncate(2);
            assertEquals(2, file.size());
            file.truncate(5);
            assertEquals(2, file.size(), "it cuts off, and does nothing else");
            file.write(ByteBuffer.wrap(bytes("x")), 4);
        }
        assertArrayEquals(new byte[]{'a', 'b', 0, 0, 'x'}, read("file"));
    }

    @Test
    void filesAreOpenedInThreeWays() throws IOException {
        assertThrows(IOException.class, () -> directory.open("file", Directory.Open.EXISTING));
        assertFalse(directory.exists("file"), "a failed open makes nothing");
        directory.open("file", Directory.Open.NEW).close();
        assertThrows(IOException.class, () -> directory.open("file", Directory.Open.NEW));
        write("file", bytes("abc"), false);
        directory.open("file", Directory.Open.EXISTING).close();
        assertEquals(3, read("file").length);
        directory.open("file", Directory.Open.EMPTY).close();
        assertEquals(0, read("file").length);
        directory.open("other", Directory.Open.EMPTY).close();
        assertEquals(List.of("file", "other"), directory.list());
    }

    @Test
    void aDirectoryMovesWithAllThatIsInIt() throws IOException {
        Directory inside = directory.directory("from").directory("part");
        inside.open("file", Directory.Open.NEW).close();
        inside.directory("deeper").open("file", Directory.Open.NEW).close();
        directory.directory("from").sync();
        Directory to = directory.directory("to");

        directory.directory("from").moveTo("part", to);

        assertEquals(List.of(), directory.directory("from").directories());
        assertEquals(List.of("part"), to.directories());
        assertEquals(List.of("deeper"), to.directory("part").directories());
        assertTrue(to.directory("part").directory("deeper").exists("file"));
        directory.directory("from").directory("part");
        assertThrows(IOException.class, () -> directory.directory("from").moveTo("part", to));
        assertThrows(IOException.class, () -> directory.directory("from").moveTo("none", to));
    }

    @Test
    void aDirectoryIsDeletedWithAllThatIsInIt() throws IOException {
        directory.directory("all").directory("of it").open("file", Directory.Open.NEW).close();
        assertThrows(IOException.class, () -> directory.delete("all"));
        directory.deleteAll("all");
        directory.deleteAll("all");
        assertFalse(directory.exists("all"));
        write("file", bytes("abc"), false);
        directory.deleteAll("file");
        assertEquals(List.of(), directory.list());
    }

    @Test
    void aClosedFileIsRefused() throws IOException {
        DataFile file = directory.open("file", Directory.Open.NEW);
        file.close();
        file.close();
        assertThrows(IOException.class, file::size);
        assertThrows(IOException.class, () -> file.read(ByteBuffer.allocate(1), 0));
        assertThrows(IOException.class, () -> file.write(ByteBuffer.allocate(1), 0));
        assertThrows(IOException.class, () -> file.truncate(0));
        assertThrows(IOException.class, () -> file.force(true));
    }

    @Test
    void namesAreListedMovedAndDeleted() throws IOException {
        write("b", bytes("of b"), false);
        write("a", bytes("of a"), false);
        write("c", bytes("of c"), false);
        Directory inside = directory.directory("inside");
        assertEquals(List.of("a", "b", "c"), directory.list());
        assertTrue(directory.exists("inside"));
        assertEquals(List.of(), inside.list());
        directory.move("a", "b");
        assertEquals(List.of("b", "c"), directory.list());
        assertArrayEquals(bytes("of a"), read("b"));
        directory.delete("c");
        directory.delete("c");
        assertFalse(directory.exists("c"));
        assertThrows(IOException.class, () -> directory.move("c", "d"));
        directory.sync();
        inside.open("c", Directory.Open.NEW).close();
        assertEquals(List.of("c"), directory.directory("inside").list());
        assertEquals(directory.location() + "/b", directory.location("b"));
        assertTrue(inside.location("c").endsWith("inside/c"), inside.location("c"));
    }

    @Test
    void anOpenFileStaysWhenItsNameGoes() throws IOException {
        try (DataFile file = directory.open("file", Directory.Open.NEW)) {
            file.write(ByteBuffer.wrap(bytes("abc")), 0);
            directory.delete("file");
            assertEquals(3, file.size());
        }
    }

    @Test
    void namesThatAreNoneAreRefused() {
        for (String name : List.of("", ".", "..", "a/b", "/a", "../a")) {
            assertThrows(IllegalArgumentException.class, () -> directory.exists(name), name);
            assertThrows(IllegalArgumentException.class, () -> directory.open(name, Directory.Open.EMPTY), name);
            assertThrows(IllegalArgumentException.class, () -> directory.move("a", name), name);
            assertThrows(IllegalArgumentException.class, () -> directory.delete(name), name);
            assertThrows(IllegalArgumentException.class, () -> directory.directory(name), name);
            assertThrows(IllegalArgumentException.class, () -> directory.lock(name), name);
        }
    }

    @Test
    void oneHasTheLock() throws IOException {
        Closeable lock = directory.lock("lock");
        assertThrows(IOException.class, () -> directory.lock("lock"));
        directory.lock("other").close();
        lock.close();
        directory.lock("lock").close();
        assertTrue(directory.exists("lock"));
    }

    @Test
    void smallFilesAreReplacedWholly() throws IOException {
        DurableFiles.write(directory, "file", bytes("one"));
        assertEquals(ByteBuffer.wrap(bytes("one")), DurableFiles.read(directory, "file"));
        DurableFiles.write(directory, "file", bytes("another"));
        assertEquals(ByteBuffer.wrap(bytes("another")), DurableFiles.read(directory, "file"));
        try (DataFile file = directory.open("file", Directory.Open.EXISTING)) {
            file.write(ByteBuffer.wrap(new byte[]{'x'}), file.size() - 1);
        }
        assertThrows(DamagedFileException.class, () -> DurableFiles.read(directory, "file"));
        write("file", new byte[]{1, 2, 3}, false);
        assertThrows(DamagedFileException.class, () -> DurableFiles.read(directory, "file"));
        assertThrows(IOException.class, () -> DurableFiles.read(directory, "none"));
    }

    // What a crash leaves.

    private void crash(Crash how) throws Exception {
        Assumptions.assumeTrue(world instanceof TestWorld.Crashing, "machines that can be made to crash");
        ((TestWorld.Crashing) world).crash(0, how);
        directory = world.directory(0);
    }

    @Test
    void whatWasForcedAndSyncedIsThereAfterEveryCrash() throws Exception {
        for (Crash how : Crash.values()) {
            write("file", filled(2000, how.ordinal()), true);
            directory.sync();
            try (DataFile file = directory.open("file", Directory.Open.EXISTING)) {
                file.write(ByteBuffer.wrap(bytes("abc")), 1000);
                file.force(false);
            }
            crash(how);
            byte[] expected = filled(2000, how.ordinal());
            System.arraycopy(bytes("abc"), 0, expected, 1000, 3);
            assertArrayEquals(expected, read("file"), "after " + how);
        }
    }

    @Test
    void aKilledProcessLosesNothingThatItWroteAndItStaysUnsafe() throws Exception {
        directory.sync();
        write("file", bytes("abc"), false);
        crash(Crash.PROCESS_KILLED);
        assertArrayEquals(bytes("abc"), read("file"));
        directory.lock("lock").close();
        crash(Crash.ALL_UNFORCED_LOST);
        assertEquals(List.of(), directory.list());
    }

    @Test
    void whatWasNotForcedMayBeLost() throws Exception {
        write("file", filled(100, 1), true);
        directory.sync();
        write("file", filled(5000, 2), false);
        write("other", filled(100, 3), true);
        crash(Crash.ALL_UNFORCED_LOST);
        assertArrayEquals(filled(100, 1), read("file"));
        assertEquals(List.of("file"), directory.list());
    }

    @Test
    void whatWasNotForcedMayBeThereInAnyPart() throws Exception {
        Set<String> seen = new TreeSet<>();
        for (int round = 0; round < ROUNDS; round++) {
            write("file", filled(4 * SECTOR, 1), true);
            directory.sync();
            try (DataFile file = directory.open("file", Directory.Open.EXISTING)) {
                file.write(ByteBuffer.wrap(filled(2 * SECTOR, 2)), 0);
                file.write(ByteBuffer.wrap(filled(2 * SECTOR, 3)), SECTOR);
            }
            crash(Crash.UNFORCED_TORN);
            byte[] left = read("file");
            assertEquals(4 * SECTOR, left.length);
            StringBuilder sectors = new StringBuilder();
            for (int sector = 0; sector < 4; sector++) {
                assertArrayEquals(filled(SECTOR, left[sector * SECTOR]),
                        Arrays.copyOfRange(left, sector * SECTOR, (sector + 1) * SECTOR), "sectors are whole");
                sectors.append(left[sector * SECTOR]);
            }
            seen.add(sectors.toString());
            assertTrue(sectors.toString().matches("[12][123][13]1"), sectors.toString());
        }
        assertTrue(seen.containsAll(Set.of("1111", "2331", "2211", "1311")),
                "nothing, all, the first, the second in part: "
                        + seen);
    }

    @Test
    void changesOfNamesMayBeUndoneOneByOneAndAreNeverHalfDone() throws Exception {
        Set<String> seen = new TreeSet<>();
        for (int round = 0; round < ROUNDS; round++) {
            for (String name : directory.list()) {
                directory.delete(name);
            }
            write("target", bytes("old"), true);
            write("gone", bytes("gone"), true);
            directory.sync();
            write("aside", bytes("new"), true);
            directory.move("aside", "target");
            directory.delete("gone");
            write("made", bytes("made"), true);
            crash(Crash.UNFORCED_TORN);
            String target = new String(read("target"), StandardCharsets.UTF_8);
            assertTrue(target.equals("old") || target.equals("new"), target);
            assertFalse(target.equals("new") && directory.exists("aside"), "a name moves, and is not copied");
            seen.add(target + directory.list());
        }
        assertTrue(seen.containsAll(Set.of("old[gone, target]", "new[made, target]", "old[aside, gone, target]",
                "new[gone, target]", "old[made, target]")), seen.toString());
    }

    @Test
    void aSmallFileIsTheOldOrTheNewOne() throws Exception {
        DurableFiles.write(directory, "file", bytes("0"));
        for (int round = 1; round < ROUNDS; round++) {
            DurableFiles.write(directory, "file", bytes("" + round));
            crash(Crash.UNFORCED_TORN);
            assertEquals(ByteBuffer.wrap(bytes("" + round)), DurableFiles.read(directory, "file"));
        }
    }

    @Test
    void aCrashFreesLocks() throws Exception {
        directory.lock("lock");
        crash(Crash.PROCESS_KILLED);
        directory.lock("lock").close();
    }
}
