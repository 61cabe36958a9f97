package tutti.report;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import tutti.command.Screen;

/**
 * What a measurement stands on: the machine, how fast its disk makes something durable, and whether it has other work to
 * do, which spoils every number.
 *
 * @param startedAt ISO 8601
 * @param machine name by name, in the order to show
 * @param load average number of processes that wanted a processor in the last minute
 */
public record MeasurementConditions(String startedAt, Map<String, String> machine, double load) {
    private static final double QUIET = 0.5;
    private static final int FLUSHES = 100;
    private static final int FLUSHED_BYTES = 8192;

    public MeasurementConditions {
        machine = Collections.unmodifiableMap(new LinkedHashMap<>(machine));
    }

    /** Looks at the machine and at the disk of a directory; takes a fraction of a second on a fast disk. */
    public static MeasurementConditions look(Path directory) throws IOException {
        Map<String, String> machine = new LinkedHashMap<>(Machine.describe());
        machine.put("file system", Files.getFileStore(directory).type());
        machine.put("flush of 8 KiB", flush(directory));
        Path average = Path.of("/proc/loadavg");
        double load = Files.exists(average) ? Double.parseDouble(Files.readString(average).split(" ", 2)[0]) : 0;
        machine.put("load average", String.format(Locale.ROOT, "%.2f", load));
        return new MeasurementConditions(Instant.now().truncatedTo(ChronoUnit.SECONDS).toString(), machine, load);
    }

    /**
     * Writes the numbers that a benchmark has found here as JSON, in place of what was there, and says so.
     *
     * @param file null if nobody wants them
     */
    public void writeNumbers(@Nullable Path file, String benchmark, Map<String, ?> found, Screen screen) {
        if (file == null) {
            return;
        }
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("benchmark", benchmark);
        all.put("startedAt", startedAt);
        all.put("machine", machine);
        all.putAll(new TreeMap<>(found));
        BenchFiles.replaceJson(file, all);
        screen.line("numbers: " + file.toAbsolutePath().normalize());
    }

    private static String flush(Path directory) throws IOException {
        Path probe = Files.createTempFile(directory, "tutti-flush-", ".probe");
        long[] nanos = new long[FLUSHES];
        try (FileChannel file = FileChannel.open(probe, StandardOpenOption.WRITE)) {
            for (int i = 0; i < FLUSHES; i++) {
                long start = System.nanoTime();
                file.write(ByteBuffer.allocate(FLUSHED_BYTES), (long) FLUSHED_BYTES * i);
                file.force(false);
                nanos[i] = System.nanoTime() - start;
            }
        } finally {
            Files.delete(probe);
        }
        Arrays.sort(nanos);
        return String.format(Locale.ROOT, "p50 %.2f ms, p95 %.2f ms", nanos[FLUSHES / 2] / 1e6,
                nanos[FLUSHES * 95 / 100] / 1e6);
    }

    /** For people, with a warning if the machine is busy. */
    public List<String> lines() {
        String all = String.join(", ", machine.entrySet().stream()
                .map(entry -> entry.getKey() + " " + entry.getValue()).toList());
        return load <= QUIET
                ? List.of(all)
                : List.of(all, "other work is running on this machine: what follows is no fair measurement");
    }
}
