package tutti.eval.calibrate;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.locks.LockSupport;
import tutti.command.Failure;

/**
 * How much processor time a process of this machine has used, in nanoseconds: the first number of
 * {@code /proc/PID/schedstat}, which the kernel brings up to date when the process goes to sleep. So it is read when the
 * process sleeps, and then it is exact; {@code /proc/PID/stat} would count hundredths of a second. One thread.
 */
final class ProcessClock implements AutoCloseable {
    private static final long POLL_NANOS = 20_000;
    private static final long PATIENCE_NANOS = 1_000_000_000;

    private final long pid;
    private final RandomAccessFile times;
    private final RandomAccessFile state;
    private final byte[] buffer = new byte[512];

    /**
     * Of a process.
     *
     * @param program whose process it must be
     * @throws Failure if it is not on this machine, or this is no Linux
     */
    ProcessClock(long pid, String program) throws IOException {
        this.pid = pid;
        Path process = Path.of("/proc", Long.toString(pid));
        if (!Files.isReadable(process.resolve("schedstat"))
                || !Files.readString(process.resolve("comm")).strip().equals(program)) {
            throw new Failure(
                    "process " + pid + " is no " + program + " on this machine whose processor time can be read",
                    "calibration needs Linux, and the server on the machine where it is started: leave out --url to have"
                            + " one started");
        }
        times = new RandomAccessFile(process.resolve("schedstat").toFile(), "r");
        state = new RandomAccessFile(process.resolve("stat").toFile(), "r");
    }

    /** Waits until the process sleeps, and reads. */
    long nanosAtRest() throws IOException {
        long until = System.nanoTime() + PATIENCE_NANOS;
        while (!sleeps()) {
            if (System.nanoTime() > until) {
                throw new Failure("process " + pid + " does not come to rest within a second of its last answer", "");
            }
            LockSupport.parkNanos(POLL_NANOS);
        }
        String text = read(times);
        return Long.parseLong(text.substring(0, text.indexOf(' ')));
    }

    private boolean sleeps() throws IOException {
        String text = read(state);
        char letter = text.charAt(text.lastIndexOf(')') + 2);
        return letter == 'S' || letter == 'I';
    }

    private String read(RandomAccessFile file) throws IOException {
        file.seek(0);
        int length = file.read(buffer);
        if (length <= 0) {
            throw new IOException("process " + pid + " is gone");
        }
        return new String(buffer, 0, length, StandardCharsets.US_ASCII);
    }

    @Override
    public void close() throws IOException {
        times.close();
        state.close();
    }
}
