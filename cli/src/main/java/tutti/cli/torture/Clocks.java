package tutti.cli.torture;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Optional;
import tutti.command.Failure;

/**
 * A clock of its own for each node and its database: a small library in C, compiled where it is needed and loaded before the C library, adds to the time
 * of day what a file says. Durations (the monotonic clock) stay true, as they do where somebody sets a machine's clock. The machine's own
 * clock is left alone: a time namespace of the kernel's would not do, since it has no time of day. One thread.
 */
final class Clocks {
    private static final String SOURCE = "clock.c";
    private static final long PROBED_SECONDS = 86_400;

    private final Path directory;

    private Clocks(Path directory) {
        this.directory = directory;
    }

    /**
     * Makes them, all right.
     *
     * @param directory for the library and the files
     * @return empty if there is no C compiler here, or what it makes does not work
     */
    static Optional<Clocks> create(Path directory, int nodes) {
        Clocks made = new Clocks(directory);
        try (InputStream source = Clocks.class.getResourceAsStream(SOURCE)) {
            if (source == null) {
                throw new IllegalStateException("there is no " + SOURCE);
            }
            Path file = Files.write(directory.resolve(SOURCE), source.readAllBytes());
            Tools.run("cc", "-O2", "-shared", "-fPIC", "-o", made.library().toString(), file.toString(), "-ldl");
            for (int id = 0; id < nodes; id++) {
                made.set(id, 0);
            }
            return made.works() ? Optional.of(made) : Optional.empty();
        } catch (Failure noCompiler) {
            return Optional.empty();
        } catch (IOException e) {
            throw new Failure("cannot write to " + directory + ": " + e.getMessage(), "", e);
        }
    }

    private Path library() {
        return directory.resolve("clock.so");
    }

    private boolean works() {
        set(0, PROBED_SECONDS);
        try {
            long told = Long
                    .parseLong(Tools.run("env", "LD_PRELOAD=" + library(), "TUTTI_CLOCK=" + file(0), "date", "+%s"));
            return Math.abs(told - System.currentTimeMillis() / 1000 - PROBED_SECONDS) < PROBED_SECONDS / 2;
        } catch (Failure | NumberFormatException _) {
            return false;
        } finally {
            set(0, 0);
        }
    }

    /** What has a node run by its clock; {@code {node}} in it stands for the node's id. */
    List<String> prefix() {
        return List.of("env", "LD_PRELOAD=" + library(), "TUTTI_CLOCK=" + directory.resolve("clock-{node}"));
    }

    private Path file(int id) {
        return directory.resolve("clock-" + id);
    }

    /** Sets a node's clock: so many seconds before or behind the right time. At once; it is written in place, since the node has it mapped. */
    void set(int id, long seconds) {
        try (FileChannel to = FileChannel.open(file(id), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            int written = to
                    .write(ByteBuffer.allocate(Long.BYTES).order(ByteOrder.nativeOrder()).putLong(seconds).flip(), 0);
            if (written != Long.BYTES) {
                throw new IOException("only " + written + " bytes were written");
            }
        } catch (IOException e) {
            throw new Failure("cannot write " + file(id) + ": " + e.getMessage(), "", e);
        }
    }
}
