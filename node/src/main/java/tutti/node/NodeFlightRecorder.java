package tutti.node;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.flight.FlightRecorder;
import tutti.core.flight.FlightRecording;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.ReplicaWorld;
import tutti.runtime.Background;
import tutti.runtime.DataFile;
import tutti.runtime.Directory;
import tutti.runtime.DurableFiles;
import tutti.runtime.Machine;

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

    private enum Occasion {
        REQUESTED, FAILED;

        private String suffix() {
            return "-" + name().toLowerCase(Locale.ROOT) + SUFFIX;
        }
    }

    private final Machine machine;
    private final Directory directory;
    private final int node;
    private final FlightRecorder recorder;
    private final ReentrantLock writing = new ReentrantLock();
    private volatile @Nullable Background failureWriter;

    /**
     * A recorder that has recorded nothing.
     *
     * @param machine that the node runs on
     * @param directory where files go
     * @param subject whose protocol
     */
    public NodeFlightRecorder(Machine machine, Directory directory, FlightRecording.Subject subject,
            FlightRecorder.Limits limits) {
        this.machine = machine;
        this.directory = directory;
        this.node = subject.node();
        this.recorder = new FlightRecorder(subject, limits, machine.clock()::nanoTime,
                why -> LOG.warn("node {}: the flight recorder has dropped what it had: {}", subject.node(), why));
    }

    /**
     * Makes a protocol that is recorded; once.
     *
     * @param maker makes it for the world it is given
     */
    public Function<ReplicaWorld, Protocol> recorded(Function<ReplicaWorld, Protocol> maker) {
        return world -> recorder.attach(world, maker);
    }

    /**
     * Writes what is kept to a file, because somebody asked for it.
     *
     * @return where the file is
     * @throws IOException if nothing is kept, or the file cannot be written
     */
    public String write() throws IOException {
        return write(Occasion.REQUESTED, "asked for");
    }

    /**
     * Writes what is kept to a file in the background, because the node cannot go on; {@link #close} waits for it.
     *
     * @param cause why
     */
    public void failed(Throwable cause) {
        failureWriter = machine.background("tutti-flight-recording-" + node, () -> {
            try {
                LOG.error("node {}: what led to the failure is in {}: replay it with `tutti sim replay`", node,
                        write(Occasion.FAILED, cause.toString()));
            } catch (IOException | RuntimeException broken) {
                LOG.error("node {}: no flight recording of the failure was written: {}", node, broken.getMessage(),
                        broken);
            }
        });
    }

    private String write(Occasion occasion, String reason) throws IOException {
        writing.lock();
        try {
            Instant now = machine.clock().now().truncatedTo(ChronoUnit.MILLIS);
            FlightRecording recording = recorder.recording(Map.of(REASON, reason, WRITTEN, now.toString(),
                    WRITTEN_NANOS, Long.toString(machine.clock().nanoTime())));
            if (recording.segments().isEmpty()) {
                String trouble = recorder.trouble();
                throw new IOException("the flight recorder has nothing: "
                        + (trouble == null ? "the protocol was told nothing yet" : trouble));
            }
            String name = RecordingName.of(now, node, occasion.suffix());
            String aside = name + DurableFiles.ASIDE;
            try (DataFile file = directory.open(aside, Directory.Open.EMPTY)) {
                recording.encode(piece -> append(file, piece));
                file.force(true);
            } catch (UncheckedIOException broken) {
                directory.delete(aside);
                throw new IOException("cannot write " + directory.location(name) + ": " + broken.getMessage()
                        + "; make room on its disk, or let the node write there", broken);
            }
            directory.move(aside, name);
            removeOld(occasion);
            directory.sync();
            return directory.location(name);
        } finally {
            writing.unlock();
        }
    }

    private static void append(DataFile file, ByteBuffer piece) {
        try {
            file.write(piece, file.size());
        } catch (IOException broken) {
            throw new UncheckedIOException(broken);
        }
    }

    /** Those of failures are not pushed out by those that somebody asked for. */
    private void removeOld(Occasion occasion) throws IOException {
        List<String> names = directory.list().stream().filter(name -> name.endsWith(occasion.suffix())).toList();
        for (String old : names.subList(0, Math.max(0, names.size() - FILES_MAX))) {
            directory.delete(old);
        }
    }

    /** Waits for a file that is being written because the node has failed. */
    @Override
    public void close() {
        Background writer = failureWriter;
        if (writer != null) {
            writer.join();
        }
    }
}
