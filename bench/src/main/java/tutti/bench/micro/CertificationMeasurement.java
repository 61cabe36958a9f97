package tutti.bench.micro;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import org.openjdk.jmh.results.BenchmarkResult;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/**
 * Runs {@link CertificationBenchmark} in JVMs of its own and sums it up.
 *
 * @param forks JVMs one after another for each number of live keys, at least 1
 * @param warmups iterations that are not counted
 * @param iterations that are
 * @param millis length of an iteration
 * @param liveKeys to try, each a multiple of ten
 */
public record CertificationMeasurement(int forks, int warmups, int iterations, long millis, List<Integer> liveKeys) {
    private static final double MILLIS_PER_SECOND = 1000;

    public CertificationMeasurement {
        liveKeys = List.copyOf(liveKeys);
    }

    /**
     * What was found with one number of live keys.
     *
     * @param liveKeys how many
     * @param minPerSecond keys certified and noted per second in the slowest iteration
     * @param medianPerSecond in the middle one
     * @param maxPerSecond in the fastest
     * @param perCpuSecond likewise per second of CPU time, the median; on a quiet machine about the same, and on a busy one
     *            what counts
     * @param bytesPerLiveKey most that the index ever took, without the moment of a rebuild, when it is there twice
     * @param longestMicros longest time of one transaction: a rebuild of the whole index
     * @param iterations how many stand behind these numbers
     */
    public record Found(int liveKeys, double minPerSecond, double medianPerSecond, double maxPerSecond,
            double perCpuSecond, double bytesPerLiveKey, double longestMicros, int iterations) {}

    /**
     * Measures.
     *
     * @param verbose whether JMH prints what it does
     * @throws RunnerException if a JVM fails
     */
    public List<Found> run(boolean verbose) throws RunnerException {
        Collection<RunResult> results = new Runner(new OptionsBuilder()
                .include(CertificationBenchmark.class.getName() + ".*")
                .param("liveKeys", liveKeys.stream().map(String::valueOf).toArray(String[]::new))
                .forks(forks).threads(1).warmupIterations(warmups).measurementIterations(iterations)
                .warmupTime(TimeValue.milliseconds(millis)).measurementTime(TimeValue.milliseconds(millis))
                .jvmArgs("-Xms3g", "-Xmx3g", "-XX:+UseSerialGC", "-XX:+UseCompactObjectHeaders",
                        "--sun-misc-unsafe-memory-access=allow")
                .shouldFailOnError(true).verbosity(verbose ? VerboseMode.NORMAL : VerboseMode.SILENT).build()).run();
        return results.stream().map(CertificationMeasurement::found)
                .sorted(Comparator.comparingInt(Found::liveKeys)).toList();
    }

    private static Found found(RunResult run) {
        List<Double> speeds = new ArrayList<>();
        List<Double> cpuSpeeds = new ArrayList<>();
        double hundredths = 0;
        double longest = 0;
        for (BenchmarkResult fork : run.getBenchmarkResults()) {
            for (IterationResult iteration : fork.getIterationResults()) {
                speeds.add(iteration.getPrimaryResult().getScore());
                cpuSpeeds.add(secondary(iteration, "transactions") * CertificationBenchmark.KEYS_PER_TRANSACTION
                        / Math.max(1, secondary(iteration, "cpuMillis")) * MILLIS_PER_SECOND);
                hundredths = Math.max(hundredths, secondary(iteration, "bytesPerLiveKeyHundredths"));
                longest = Math.max(longest, secondary(iteration, "longestMicros"));
            }
        }
        double[] sorted = sorted(speeds);
        return new Found(Integer.parseInt(run.getParams().getParam("liveKeys")), sorted[0], median(sorted),
                sorted[sorted.length - 1], median(sorted(cpuSpeeds)), hundredths / 100, longest, sorted.length);
    }

    private static double[] sorted(List<Double> values) {
        double[] sorted = values.stream().mapToDouble(Double::doubleValue).toArray();
        Arrays.sort(sorted);
        return sorted;
    }

    private static double median(double[] sorted) {
        return (sorted[(sorted.length - 1) / 2] + sorted[sorted.length / 2]) / 2;
    }

    private static double secondary(IterationResult iteration, String name) {
        Result<?> result = iteration.getSecondaryResults().get(name);
        if (result == null) {
            throw new IllegalStateException("JMH did not report " + name);
        }
        return result.getScore();
    }
}
