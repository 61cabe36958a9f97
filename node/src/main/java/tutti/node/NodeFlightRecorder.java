package tutti.node;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.time.Clock;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.flight.FlightRecorder;
import tutti.core.flight.FlightRecording;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.Replica;

/**
 * The flight recorder of one life of a node, and the files that it writes: on request, and by itself when the node fails.
 * A file has its name only once it is complete and on disk. Of each kind the newest {@value #FILES_MAX} are kept.
 * Thread-safe.
 */
public final class NodeFlightRecorder implements AutoCloseable {
    /** Files of each kind that are kept. */
    public static final int FILES_MAX = 8;

    /** How the names of its files end. */
    public static final String SUFFIX = ".tutti-flight";

    /** When a recording was written, in ISO 8601: the name of a note in it. */
    public static final String WRITTEN = "written";
    /** The recorder's time at that moment, in nanoseconds: the name of a note. */
    public static final String WRITTEN_NANOS = "written-nanos";
    /** Why it was written: the name of a note. */
    public static final String REASON = "reason";

    private static final Logger LOG = LoggerFactory.getLogger(NodeFlightRecorder.class);
    private static final DateTimeFormatter STAMP = DateTimeFormatter.ofPattern("yyyyMMdd-HHmmss.SSS", Locale.ROOT)
            .withZone(ZoneOffset.UTC);

    private enum Occasion {
        REQUESTED, FAILED;

        private String suffix() {
            return "-" + name().toLowerCase(Locale.ROOT) + SUFFIX;
        }
    }

    private final Path directory;
    private final int node;
    private final FlightRecorder recorder;
    private final Clock clock;
    private final ReentrantLock writing = new ReentrantLock();
    private volatile @Nullable Thread failureWriter;

    /**
     * A recorder that has recorded nothing.
     *
     * @param directory where files go; made when the first is written
     * @param subject whose protocol
     */
    public NodeFlightRecorder(Path directory, FlightRecording.Subject subject, FlightRecorder.Limits limits) {
        this(directory, subject, limits, Clock.systemUTC());
    }

    NodeFlightRecorder(Path directory, FlightRecording.Subject subject, FlightRecorder.Limits limits, Clock clock) {
        this.directory = directory;
        this.node = subject.node();
        this.clock = clock;
        this.recorder = new FlightRecorder(subject, limits, System::nanoTime,
                why -> LOG.warn("node {}: the flight recorder has dropped what it had: {}", subject.node(), why));
    }

    /**
     * Makes a protocol that is recorded; once.
     *
     * @param maker makes it for the world it is given
     */
    public Function<Replica, Protocol> recorded(Function<Replica, Protocol> maker) {
        return world -> recorder.attach(world, maker);
    }

    /** Bytes kept in memory at present. */
    public long bytes() {
        return recorder.bytes();
    }

    /**
     * Writes what is kept to a file, because somebody asked for it.
     *
     * @return the file
     * @throws IOException if nothing is kept, or the file cannot be written
     */
    public Path write() throws IOException {
        return write(Occasion.REQUESTED, "asked for");
    }

    /**
     * Writes what is kept to a file on a thread of its own, because the node cannot go on; {@link #close} waits for it.
     *
     * @param cause why
     */
    public void failed(Throwable cause) {
        failureWriter = Thread.ofPlatform().name("tutti-flight-recording").start(() -> {
            try {
                LOG.error("node {}: what led to the failure is in {}: replay it with `tutti sim replay`", node,
                        write(Occasion.FAILED, cause.toString()));
            } catch (IOException | RuntimeException broken) {
                LOG.error("node {}: no flight recording of the failure was written: {}", node, broken.getMessage(),
                        broken);
            }
        });
    }

    private Path write(Occasion occasion, String reason) throws IOException {
        writing.lock();
        try {
            Instant now = clock.instant().truncatedTo(ChronoUnit.MILLIS);
            FlightRecording recording = recorder.recording(Map.of(REASON, reason, WRITTEN, now.toString(),
                    WRITTEN_NANOS, Long.toString(System.nanoTime())));
            if (recording.segments().isEmpty()) {
                String trouble = recorder.trouble();
                throw new IOException("the flight recorder has nothing: "
                        + (trouble == null ? "the protocol was told nothing yet" : trouble));
            }
            Files.createDirectories(directory);
            Path file = directory.resolve(STAMP.format(now) + "-node" + node + occasion.suffix());
            Path fresh = directory.resolve(file.getFileName() + ".new");
            try (FileChannel channel = FileChannel.open(fresh, StandardOpenOption.CREATE,
                    StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE)) {
                recording.encode(piece -> put(channel, piece));
                channel.force(true);
            } catch (UncheckedIOException broken) {
                Files.deleteIfExists(fresh);
                throw new IOException("cannot write " + file + ": " + broken.getMessage()
                        + "; make room on its disk, or let the node write there", broken);
            }
            Files.move(fresh, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
            removeOld(occasion);
            return file;
        } finally {
            writing.unlock();
        }
    }

    private static void put(FileChannel channel, ByteBuffer piece) {
        try {
            while (piece.hasRemaining()) {
                channel.write(piece);
            }
        } catch (IOException broken) {
            throw new UncheckedIOException(broken);
        }
    }

    /** Those of failures are not pushed out by those that somebody asked for. */
    private void removeOld(Occasion occasion) throws IOException {
        List<Path> files;
        try (Stream<Path> all = Files.list(directory)) {
            files = all.filter(file -> file.getFileName().toString().endsWith(occasion.suffix())).sorted().toList();
        }
        for (Path old : files.subList(0, Math.max(0, files.size() - FILES_MAX))) {
            Files.deleteIfExists(old);
        }
    }

    /** Waits for a file that is being written because the node has failed. */
    @Override
    public void close() {
        Thread writer = failureWriter;
        if (writer == null) {
            return;
        }
        try {
            writer.join();
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
