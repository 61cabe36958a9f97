package tutti.server;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.Closeable;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.runtime.real.PrivateFiles;

/**
 * Notes once a second, by this machine's clock, which position the node's database shows, if it is another one: what {@code tutti
 * restore --at TIME} goes by. Messages in the order have no time of their own. Two numbers of eight bytes each, milliseconds since
 * 1970 and the position; the older half is dropped at {@value #BYTES_MAX} bytes, some days of steady work. What a crash takes of the
 * end is missing, nothing else.
 */
final class PositionTimes implements Closeable {
    /** Name of the file in the node's data directory. */
    static final String FILE = "times";
    private static final Logger LOG = LoggerFactory.getLogger(PositionTimes.class);
    private static final long PERIOD_MILLIS = 1000;
    private static final int RECORD_BYTES = 2 * Long.BYTES;
    private static final int BYTES_MAX = 16 << 20;

    private final Path file;
    private final LongSupplier position;
    private final Thread thread;
    private long noted;

    /** A moment, and what was visible then. */
    record Noted(long millis, long position) {}

    /**
     * That notes nothing before {@link #start}.
     *
     * @param data directory of the node
     * @param position that its database shows; 0 or less if it is not known
     */
    PositionTimes(Path data, LongSupplier position) {
        file = data.resolve(FILE);
        this.position = position;
        thread = Thread.ofPlatform().daemon().name("tutti-times").unstarted(this::run);
    }

    /** Begins. */
    PositionTimes start() {
        thread.start();
        return this;
    }

    private void run() {
        try {
            while (!Thread.currentThread().isInterrupted()) {
                note(System.currentTimeMillis());
                Thread.sleep(PERIOD_MILLIS);
            }
        } catch (InterruptedException stopping) {
            LOG.debug("no more positions are noted", stopping);
        }
    }

    /** Notes what is visible now. */
    void note(long millis) {
        long now = position.getAsLong();
        if (now <= 0 || now == noted) {
            return;
        }
        try {
            if (!Files.exists(file)) {
                PrivateFiles.write(file, "");
            } else if (noted == 0 && Files.size(file) % RECORD_BYTES != 0) {
                // A crash has torn the last one.
                rewrite(read(file));
            } else if (Files.size(file) > BYTES_MAX) {
                List<Noted> all = read(file);
                rewrite(all.subList(all.size() / 2, all.size()));
            }
            write(file, List.of(new Noted(millis, now)));
            noted = now;
        } catch (IOException failed) {
            LOG.warn("it cannot be noted when position {} became visible: {}", now, failed.getMessage());
        }
    }

    private void rewrite(List<Noted> some) throws IOException {
        Path aside = file.resolveSibling(FILE + ".new");
        write(PrivateFiles.write(aside, ""), some);
        Files.move(aside, file, StandardCopyOption.ATOMIC_MOVE);
    }

    private static void write(Path to, List<Noted> some) throws IOException {
        try (DataOutputStream out = new DataOutputStream(new BufferedOutputStream(
                Files.newOutputStream(to, StandardOpenOption.APPEND)))) {
            for (Noted each : some) {
                out.writeLong(each.millis);
                out.writeLong(each.position);
            }
        }
    }

    /** What was noted; nothing if there is no file. */
    static List<Noted> read(Path file) throws IOException {
        List<Noted> all = new ArrayList<>();
        try (InputStream from = Files.newInputStream(file);
                DataInputStream in = new DataInputStream(new BufferedInputStream(from))) {
            while (true) {
                all.add(new Noted(in.readLong(), in.readLong()));
            }
        } catch (EOFException end) {
            return all;
        } catch (NoSuchFileException none) {
            return List.of();
        }
    }

    /**
     * What was visible at a time: the last that was noted before any that was noted later than that. If the clock was set back, that is
     * the earliest answer.
     *
     * @param all by position
     * @return less than 0 if all were noted later, or none was
     */
    static long at(List<Noted> all, long millis) {
        long before = -1;
        for (Noted noted : all) {
            if (noted.millis() > millis) {
                return before;
            }
            before = noted.position();
        }
        return -1;
    }

    @Override
    public void close() {
        thread.interrupt();
    }
}
