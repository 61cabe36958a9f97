package tutti.report;

import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;
import tutti.command.Failure;

/** Files and ports that measurements need. */
public final class BenchFiles {
    private static final int FIRST_PORT = 20_000;
    private static final int PORTS = 10_000;
    /** Programs that measure at the same time begin at different ports. */
    private static final AtomicInteger NEXT_PORT = new AtomicInteger(ThreadLocalRandom.current().nextInt(PORTS));

    private BenchFiles() {}

    /** Writes a value as JSON; missing directories are made. */
    public static void writeJson(Path file, Object value) {
        write(file, JsonMapper.shared().writerWithDefaultPrettyPrinter().writeValueAsString(value) + "\n");
    }

    /** Writes a value as JSON in place of what was there: whoever reads finds the one or the other. Missing directories are made. */
    public static void replaceJson(Path file, Object value) {
        Path whole = file.toAbsolutePath();
        Path next = whole.resolveSibling(whole.getFileName() + ".next");
        writeJson(next, value);
        try {
            Files.move(next, whole, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            throw new Failure("cannot write " + file + ": " + e.getMessage(), "choose another file", e);
        }
    }

    /**
     * Reads what was written as JSON.
     *
     * @param what it is about, in words
     * @param origin how to get such a file
     * @param whole whether nothing is missing of it
     * @throws Failure if there is no such file
     */
    public static <T> T readJson(Path file, Class<T> type, String what, String origin, Predicate<T> whole)
            throws IOException {
        try {
            T read = JsonMapper.shared().readValue(Files.readString(file), type);
            if (read != null && whole.test(read)) {
                return read;
            }
        } catch (NoSuchFileException missing) {
            throw Failure.usage("there is no file " + file, origin);
        } catch (JacksonException unreadable) {
            throw Failure.usage(file + " is no file of " + what + ": " + unreadable.getOriginalMessage(), origin);
        }
        throw Failure.usage(file + " is no file of " + what + ": it lacks numbers", origin);
    }

    /** Writes a text; missing directories are made. */
    public static void write(Path file, String text) {
        try {
            Path directory = file.toAbsolutePath().getParent();
            if (directory != null) {
                Files.createDirectories(directory);
            }
            Files.writeString(file, text);
        } catch (IOException e) {
            throw new Failure("cannot write " + file + ": " + e.getMessage(), "choose another file", e);
        }
    }

    /**
     * A port of this machine at which nobody listens, another one each time. It is none of those that systems give to whoever asks for
     * any, so no connection takes it before somebody listens there.
     */
    public static int freePort() throws IOException {
        for (int tried = 0; tried < PORTS; tried++) {
            int port = FIRST_PORT + Math.floorMod(NEXT_PORT.getAndIncrement(), PORTS);
            try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
                return socket.getLocalPort();
            } catch (BindException taken) {
                // The next one.
            }
        }
        throw new IOException("somebody listens at each of the ports " + FIRST_PORT + " to "
                + (FIRST_PORT + PORTS - 1));
    }
}
