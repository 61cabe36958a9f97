package tutti.bench.micro;

import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/**
 * Runs a JMH benchmark of one method with all its parameters, in JVMs of its own, and sums it up.
 *
 * @param benchmark the class
 * @param forks JVMs one after another for each combination of parameters, at least 1
 * @param warmups iterations that are not counted
 * @param iterations that are
 * @param millis length of an iteration
 */
public record Microbenchmark(Class<?> benchmark, int forks, int warmups, int iterations, long millis) {
    /**
     * What was found with one combination of parameters, in the benchmark's unit.
     *
     * @param parameters by name
     * @param min of the iterations
     * @param median of them
     * @param max of them
     * @param cpuMicros CPU time of one operation in microseconds, the median: what counts on a busy machine
     * @param iterations how many
     */
    public record Found(Map<String, String> parameters, double min, double median, double max, double cpuMicros,
            int iterations) {}

    /**
     * Measures.
     *
     * @throws RunnerException if a JVM fails
     */
    public List<Found> run() throws RunnerException {
        Collection<RunResult> results = new Runner(new OptionsBuilder().include(benchmark.getName() + ".*")
                .forks(forks).threads(1).warmupIterations(warmups).measurementIterations(iterations)
                .warmupTime(TimeValue.milliseconds(millis)).measurementTime(TimeValue.milliseconds(millis))
                .jvmArgs("-Xms1g", "-Xmx1g", "-XX:+UseSerialGC", "--sun-misc-unsafe-memory-access=allow")
                .shouldFailOnError(true).verbosity(VerboseMode.SILENT).build()).run();
        return results.stream().map(Microbenchmark::found).toList();
    }

    private static Found found(RunResult run) {
        Map<String, String> parameters = new TreeMap<>();
        run.getParams().getParamsKeys().forEach(name -> parameters.put(name, run.getParams().getParam(name)));
        double[] cpu = run.getBenchmarkResults().stream().flatMap(fork -> fork.getIterationResults().stream())
                .mapToDouble(one -> secondary(one, "cpuMicros") / Math.max(1, secondary(one, "operations"))).sorted()
                .toArray();
        double[] scores = run.getBenchmarkResults().stream().flatMap(fork -> fork.getIterationResults().stream())
                .map(IterationResult::getPrimaryResult).mapToDouble(result -> result.getScore()).sorted().toArray();
        return new Found(parameters, scores[0], median(scores), scores[scores.length - 1], median(cpu),
                scores.length);
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
