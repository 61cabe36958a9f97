package tutti.order.raft;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tutti.runtime.DamagedFileException;
import tutti.runtime.real.PathDirectory;
import tutti.runtime.real.RealMachine;

class SegmentedLogTest {
    private static final int SEGMENT_BYTES = 1 << 16;

    @TempDir
    private Path directory;

    private SegmentedLog open() throws IOException {
        return SegmentedLog.open(RealMachine.INSTANCE, PathDirectory.of(directory), SEGMENT_BYTES, 1 << 12);
    }

    private static LogEntry entry(long index, int term, int bytes) {
        byte[] body = new byte[bytes];
        new Random(index * 31 + term).nextBytes(body);
        return new LogEntry(index, term, LogEntry.BATCH, body);
    }

    private static void assertHolds(SegmentedLog log, LogEntry expected) throws IOException {
        LogEntry read = log.read(expected.index());
        assertEquals(expected.index(), read.index());
        assertEquals(expected.term(), read.term());
        assertEquals(expected.kind(), read.kind());
        assertArrayEquals(expected.body(), read.body());
        assertEquals(expected.term(), log.term(expected.index()));
    }

    private List<Path> files() throws IOException {
        try (Stream<Path> list = Files.list(directory)) {
            return list.filter(p -> p.toString().endsWith(".log")).sorted().toList();
        }
    }

    /** Where the body of an entry lies in its file. */
    private static long offsetOf(Path file, byte[] body) throws IOException {
        byte[] content = Files.readAllBytes(file);
        String all = new String(content, StandardCharsets.ISO_8859_1);
        return all.indexOf(new String(body, StandardCharsets.ISO_8859_1));
    }

    private static void flip(Path file, long offset) throws IOException {
        try (RandomAccessFile f = new RandomAccessFile(file.toFile(), "rw")) {
            f.seek(offset);
            int b = f.read();
            f.seek(offset);
            f.write(b ^ 4);
        }
    }

    @Test
    void whatWasFlushedIsThereAfterwards() throws IOException {
        try (SegmentedLog log = open()) {
            for (long i = 1; i <= 500; i++) {
                log.append(entry(i, (int) (i / 100), (int) (i % 700)));
                if (i % 7 == 0) {
                    log.flush();
                }
            }
            log.append(entry(501, 6, 3 * SEGMENT_BYTES));
            log.append(entry(502, 6, 2_000_000));
            log.append(entry(503, 6, 0));
            log.flush();
            assertHolds(log, entry(1, 0, 1));
            assertHolds(log, entry(503, 6, 0));
        }
        assertTrue(files().size() > 3);
        try (SegmentedLog log = open()) {
            assertEquals(1, log.firstIndex());
            assertEquals(503, log.lastIndex());
            for (long i = 1; i <= 500; i++) {
                assertHolds(log, entry(i, (int) (i / 100), (int) (i % 700)));
            }
            assertHolds(log, entry(501, 6, 3 * SEGMENT_BYTES));
            assertHolds(log, entry(502, 6, 2_000_000));
            log.append(entry(504, 7, 10));
            log.flush();
            assertHolds(log, entry(504, 7, 10));
        }
    }

    @Test
    void whatIsCommittedIsNotCutOff() throws IOException {
        try (SegmentedLog log = open();
                NodeDirectory own = new NodeDirectory(PathDirectory.of(directory.resolve("node")), "node 1", "",
                        RealMachine.INSTANCE.clock(), 1)) {
            for (long i = 1; i <= 5; i++) {
                log.append(entry(i, 1, 10));
            }
            List<Throwable> failures = new ArrayList<>();
            RaftStorage storage = new RaftStorage(log, own, () -> 3, failures::add);
            storage.truncateLogEntriesFrom(4);
            assertEquals(3, log.lastIndex());
            assertThrows(IllegalStateException.class, () -> storage.truncateLogEntriesFrom(3));
            assertEquals(3, log.lastIndex());
            assertEquals(1, failures.size());
            assertThrows(IOException.class, storage::flush, "nothing is promised any more");
        }
    }

    @Test
    void manySmallEntriesGoThroughTheCache() throws IOException {
        try (SegmentedLog log = SegmentedLog.open(RealMachine.INSTANCE, PathDirectory.of(directory), 1 << 24,
                1 << 30)) {
            for (long i = 1; i <= 30_000; i++) {
                log.append(entry(i, 1, 1));
            }
            for (long i = 1; i <= 30_000; i += 7) {
                assertHolds(log, entry(i, 1, 1));
            }
        }
    }

    @Test
    void aTornTailIsCutOffAndTheLogGoesOn() throws IOException {
        try (SegmentedLog log = open()) {
            for (long i = 1; i <= 10; i++) {
                log.append(entry(i, 1, 100));
            }
            log.flush();
            log.append(entry(11, 1, 100));
            log.append(entry(12, 1, 100));
            log.flush();
        }
        Path file = files().getLast();
        long torn = offsetOf(file, entry(12, 1, 100).body()) + 50;
        try (RandomAccessFile f = new RandomAccessFile(file.toFile(), "rw")) {
            f.setLength(torn);
        }
        try (SegmentedLog log = open()) {
            assertEquals(11, log.lastIndex());
            log.append(entry(12, 2, 40));
            log.flush();
        }
        try (SegmentedLog log = open()) {
            assertEquals(12, log.lastIndex());
            assertHolds(log, entry(12, 2, 40));
        }
    }

    /** One safe entry, and two of the last write, of which the first is damaged. */
    private void lastWriteArrivedInPart() throws IOException {
        try (SegmentedLog log = open()) {
            log.append(entry(1, 1, 100));
            log.flush();
            log.append(entry(2, 1, 100));
            log.append(entry(3, 1, 100));
            log.flush();
        }
        Path file = files().getLast();
        flip(file, offsetOf(file, entry(2, 1, 100).body()) + 5);
    }

    @Test
    void pagesOfTheLastWriteThatArrivedOutOfTurnAreCutOff() throws IOException {
        lastWriteArrivedInPart();
        try (SegmentedLog log = open()) {
            assertEquals(1, log.lastIndex());
        }
        try (SegmentedLog log = open()) {
            assertEquals(1, log.lastIndex());
        }
    }

    /** An entry behind the damage is whole: where it lies, another log may end later. */
    @Test
    void whatACrashLeftBehindTheEndNeverComesBack() throws IOException {
        lastWriteArrivedInPart();
        try (SegmentedLog log = open()) {
            assertEquals(1, log.lastIndex());
            log.append(entry(2, 2, 100));
            log.flush();
        }
        try (SegmentedLog log = open()) {
            assertEquals(2, log.lastIndex());
            assertHolds(log, entry(2, 2, 100));
        }
    }

    @Test
    void aFlippedBitInWhatWasSafeIsRefused() throws IOException {
        try (SegmentedLog log = open()) {
            for (long i = 1; i <= 10; i++) {
                log.append(entry(i, 1, 100));
                log.flush();
            }
        }
        Path file = files().getLast();
        flip(file, offsetOf(file, entry(5, 1, 100).body()) + 5);
        DamagedFileException e = assertThrows(DamagedFileException.class, this::open);
        assertTrue(String.valueOf(e.getMessage()).contains("in entry 5 which had been safely on disk"), e.getMessage());
        assertTrue(String.valueOf(e.getMessage()).contains(file.toString()), e.getMessage());
    }

    @Test
    void aFlippedBitOrAMissingFileBeforeTheLastFileIsRefused() throws IOException {
        try (SegmentedLog log = open()) {
            for (long i = 1; i <= 300; i++) {
                log.append(entry(i, 1, 1000));
            }
            log.flush();
        }
        List<Path> files = files();
        assertTrue(files.size() >= 3);
        long offset = Files.size(files.get(0)) / 2;
        flip(files.get(0), offset);
        assertThrows(DamagedFileException.class, this::open);
        flip(files.get(0), offset);
        open().close();
        Files.delete(files.get(1));
        DamagedFileException e = assertThrows(DamagedFileException.class, this::open);
        assertTrue(String.valueOf(e.getMessage()).contains("are missing"), e.getMessage());
    }

    @Test
    void whatWasRemovedFromTheEndNeverComesBack() throws IOException {
        try (SegmentedLog log = open()) {
            for (long i = 1; i <= 200; i++) {
                log.append(entry(i, 1, 1000));
            }
            log.flush();
            log.truncateFrom(31);
            assertEquals(30, log.lastIndex());
            log.append(entry(31, 2, 1000));
            log.flush();
            assertHolds(log, entry(30, 1, 1000));
            assertHolds(log, entry(31, 2, 1000));
        }
        try (SegmentedLog log = open()) {
            assertEquals(31, log.lastIndex());
            assertHolds(log, entry(31, 2, 1000));
        }
    }

    @Test
    void theBeginningIsForgottenFileByFile() throws IOException {
        try (SegmentedLog log = open()) {
            for (long i = 1; i <= 300; i++) {
                log.append(entry(i, 1, 1000));
            }
            log.flush();
            long bytes = log.bytes();
            log.truncateUntil(150);
            assertTrue(log.firstIndex() > 1 && log.firstIndex() <= 151);
            assertTrue(log.bytes() < bytes);
            assertThrows(IllegalArgumentException.class, () -> log.read(1));
        }
        try (SegmentedLog log = open()) {
            assertTrue(log.firstIndex() > 1);
            assertHolds(log, entry(300, 1, 1000));
        }
    }

    @Test
    void aFailedFlushIsToldAndWhatWasNotFlushedIsNotPromised() throws IOException {
        FaultyDirectory.Faults faults = new FaultyDirectory.Faults();
        try (SegmentedLog log = SegmentedLog.open(RealMachine.INSTANCE,
                new FaultyDirectory(PathDirectory.of(directory), faults), SEGMENT_BYTES, 1 << 12)) {
            log.append(entry(1, 1, 100));
            log.flush();
            faults.forceFails = true;
            log.append(entry(2, 1, 100));
            assertThrows(IOException.class, log::flush);
        }
        try (SegmentedLog log = open()) {
            assertTrue(log.lastIndex() >= 1);
            assertHolds(log, entry(1, 1, 100));
        }
    }

    /** After a failed flush a system may take for safe what it has not written, and says so when it is flushed once more. */
    @Test
    void whatCouldNotBeFlushedIsWrittenOnceMoreWhenTheLogIsOpened() throws IOException {
        FaultyDirectory.Faults faults = new FaultyDirectory.Faults();
        LogEntry last = entry(2, 1, 100);
        try (SegmentedLog log = SegmentedLog.open(RealMachine.INSTANCE,
                new FaultyDirectory(PathDirectory.of(directory), faults), SEGMENT_BYTES, 1 << 12)) {
            log.append(entry(1, 1, 100));
            log.flush();
            faults.forceFails = true;
            log.append(last);
            assertThrows(IOException.class, log::flush);
        }
        Path file = files().getFirst();
        long offset = offsetOf(file, last.body());
        FaultyDirectory.Faults again = new FaultyDirectory.Faults();
        try (SegmentedLog log = SegmentedLog.open(RealMachine.INSTANCE,
                new FaultyDirectory(PathDirectory.of(directory), again), SEGMENT_BYTES, 1 << 12)) {
            assertHolds(log, last);
            assertTrue(again.writes.stream().anyMatch(write -> write.name().equals(file.getFileName().toString())
                    && write.at() <= offset && write.at() + write.length() >= offset + last.body().length),
                    again.writes::toString);
        }
    }
}
