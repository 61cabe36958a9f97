package tutti.bench;

import com.fasterxml.jackson.annotation.JsonIgnore;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import tutti.cluster.ClusterFile;
import tutti.command.Failure;
import tutti.command.Screen;
import tutti.workload.tpcc.TpccLoader;
import tutti.workload.tpcc.TpccOptions;
import tutti.workload.tpcc.TpccPopulation;
import tutti.workload.tpcc.TpccResult;
import tutti.workload.tpcc.TpccRun;
import tutti.workload.tpcc.TpccScale;

/**
 * Measures whether a node grows under steady work. Runs TPC-C against a cluster and looks, at a fixed rate, at what is
 * alive on each node's heap: has the JVM collect all garbage and count what is left ({@code jcmd GC.class_histogram}),
 * which stops the node for a moment. Used once.
 */
final class HeapRun implements AutoCloseable {
    private static final double MIB = 1 << 20;
    private static final double KIB_PER_MIB = 1 << 10;
    private static final long JCMD_SECONDS_MAX = 30;
    /** Rank, number of objects, bytes, class, and its module if it has one. */
    private static final Pattern HISTOGRAM_LINE = Pattern.compile("\\s*\\d+:\\s+\\d+\\s+(\\d+)\\s+(\\S+)( .*)?");

    private final Screen screen;
    private final ClusterContender cluster;
    private final TpccScale scale;
    private final AtomicReference<ClusterContender.@Nullable Started> running = new AtomicReference<>();
    private final List<Sample> samples = new ArrayList<>();
    private final AtomicReference<@Nullable RuntimeException> failure = new AtomicReference<>();

    /**
     * One look at one node.
     *
     * @param atSeconds since the start of the run
     * @param node its name
     * @param liveMiB what is alive on its heap
     * @param residentMiB what its JVM has resident, in all
     * @param liveBytesByClass what is alive, by class
     */
    record Sample(double atSeconds, String node, double liveMiB, double residentMiB,
            @JsonIgnore Map<String, Long> liveBytesByClass) {
        Sample {
            liveBytesByClass = Map.copyOf(liveBytesByClass);
        }

        /** The classes of which more is alive than earlier, with the difference in bytes, the largest first. */
        List<Map.Entry<String, Long>> growthSince(Sample earlier) {
            return liveBytesByClass.entrySet().stream()
                    .map(entry -> Map.entry(entry.getKey(),
                            entry.getValue() - earlier.liveBytesByClass.getOrDefault(entry.getKey(), 0L)))
                    .filter(entry -> entry.getValue() > 0)
                    .sorted(Map.Entry.<String, Long>comparingByValue().reversed()).toList();
        }
    }

    /**
     * What was found.
     *
     * @param samples in order of time
     * @param tpcc the work meanwhile
     */
    record Found(List<Sample> samples, TpccResult tpcc) {
        Found {
            samples = List.copyOf(samples);
        }
    }

    /**
     * A run that has not begun.
     *
     * @param cluster loaded by this run, for the first time
     */
    HeapRun(Screen screen, ClusterContender cluster, TpccScale scale) {
        this.screen = screen;
        this.cluster = cluster;
        this.scale = scale;
    }

    /** Loads, works and looks. */
    Found run(int terminals, int seconds, int intervalSeconds, long seed) throws SQLException, InterruptedException {
        TpccPopulation population = new TpccPopulation(scale, seed);
        try (ClusterContender.Started started = cluster.startEmpty();
                ScheduledThreadPoolExecutor clock = new ScheduledThreadPoolExecutor(1,
                        Thread.ofPlatform().daemon().name("heap-clock").factory())) {
            running.set(started);
            clock.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
            clock.setContinueExistingPeriodicTasksAfterShutdownPolicy(false);
            new TpccLoader(population).load(started.copies().getFirst(), (_, _) -> {});
            started.settle();
            screen.line("loaded " + scale + "; " + terminals + " terminals work for " + seconds + " s");
            TpccRun run = TpccRun.start(TpccOptions.of(started.databases(), population, terminals,
                    Duration.ofSeconds(seconds), seed), _ -> {});
            try {
                ScheduledFuture<?> _ = clock.scheduleAtFixedRate(() -> look(started, run), intervalSeconds,
                        intervalSeconds, TimeUnit.SECONDS);
                TpccResult result = run.result();
                clock.shutdown();
                if (!clock.awaitTermination(JCMD_SECONDS_MAX * started.nodes().size(), TimeUnit.SECONDS)) {
                    throw new Failure("the heap cannot be looked at", "jcmd does not end");
                }
                RuntimeException failed = failure.get();
                if (failed != null) {
                    throw failed;
                }
                if (result.failure().isPresent()) {
                    throw new Failure("the work ended early: " + result.failure().get(), "");
                }
                return new Found(samples, result);
            } finally {
                run.stop();
            }
        } finally {
            running.set(null);
        }
    }

    private void look(ClusterContender.Started started, TpccRun run) {
        try {
            StringBuilder line = new StringBuilder();
            for (ClusterFile.Node node : started.nodes()) {
                double at = run.snapshot().elapsedSeconds();
                Map<String, Long> live = liveBytes(node.pid());
                Sample sample = new Sample(at, node.name(),
                        live.values().stream().mapToLong(Long::longValue).sum() / MIB, resident(node.pid()), live);
                samples.add(sample);
                line.append(String.format(Locale.ROOT, "  %s %.2f MiB (resident %.0f)", node.name(), sample.liveMiB(),
                        sample.residentMiB()));
            }
            screen.line(String.format(Locale.ROOT, "%4.0f s %,7.0f tpmC%s", run.snapshot().elapsedSeconds(),
                    run.snapshot().tpmC(), line));
        } catch (RuntimeException e) {
            failure.compareAndSet(null, e);
            run.stop();
            throw e;
        }
    }

    /** Bytes of objects on the heap of a JVM that are left after a full collection, which this asks for, by class. */
    private static Map<String, Long> liveBytes(long pid) {
        String jcmd = System.getProperty("java.home") + File.separator + "bin" + File.separator + "jcmd";
        try {
            Process process = new ProcessBuilder(jcmd, String.valueOf(pid), "GC.class_histogram")
                    .redirectErrorStream(true).start();
            String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            if (!process.waitFor(JCMD_SECONDS_MAX, TimeUnit.SECONDS)) {
                process.destroyForcibly();
                throw new Failure("jcmd did not end within " + JCMD_SECONDS_MAX + " s", "");
            }
            Map<String, Long> bytes = new HashMap<>();
            said.lines().map(HISTOGRAM_LINE::matcher).filter(Matcher::matches)
                    .forEach(line -> bytes.merge(line.group(2), Long.parseLong(line.group(1)), Long::sum));
            if (bytes.isEmpty()) {
                throw new Failure("jcmd says nothing of the heap of process " + pid + ": "
                        + said.strip().lines().limit(3).toList(), "is it a JVM of this Java, and of this user?");
            }
            return bytes;
        } catch (IOException e) {
            throw new Failure("cannot run " + jcmd + ": " + e.getMessage(), "a JDK has it; a JRE does not", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new Failure("interrupted", "", e);
        }
    }

    private static double resident(long pid) {
        Path status = Path.of("/proc", String.valueOf(pid), "status");
        try (Stream<String> lines = Files.lines(status)) {
            return lines.filter(line -> line.startsWith("VmRSS:")).findFirst()
                    .map(line -> Double.parseDouble(line.replaceAll("[^0-9]", "")) / KIB_PER_MIB).orElse(0.0);
        } catch (IOException e) {
            throw new Failure("cannot read " + status + ": " + e.getMessage(), "", e);
        }
    }

    /** Stops whatever runs; from any thread. */
    @Override
    public void close() {
        ClusterContender.Started now = running.getAndSet(null);
        if (now != null) {
            now.close();
        }
    }
}
