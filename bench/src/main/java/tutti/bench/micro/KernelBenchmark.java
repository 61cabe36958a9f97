package tutti.bench.micro;

import java.util.Locale;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Label;
import tutti.sim.kernel.RandomStream;

/**
 * Measures how many events per second the simulator's kernel makes happen on one core. Each event schedules the next of
 * its kind after a random delay, so that the number of pending events stays and each event costs one addition to the
 * wheels, one removal, one random number and one mixing of the trace hash.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.SECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class KernelBenchmark {
    private static final int EVENTS = 100_000;
    private static final Label TICK = Label.of("bench", "tick");
    private static final long DELAY_MAX_NANOS = 1 << 20;
    private static final int QUICK_ROUNDS = 5;
    private static final double MILLION = 1e6;

    /** How many events are pending at any time. */
    @Param({"1", "10000"})
    private int pending = 1;

    private Kernel kernel = new Kernel(1);
    private RandomStream random = new RandomStream(1);
    private int left;

    /** Fills the kernel. */
    @Setup
    public void fill() {
        kernel = new Kernel(1);
        random = kernel.random("bench");
        for (int i = 0; i < pending; i++) {
            kernel.schedule(random.nextLong(DELAY_MAX_NANOS), TICK, this::tick, i);
        }
    }

    private void tick(long number) {
        kernel.schedule(1 + random.nextLong(DELAY_MAX_NANOS), TICK, tickAction, number);
        if (--left <= 0) {
            kernel.stop();
        }
    }

    private final Kernel.LongAction tickAction = this::tick;

    /** Each operation is one event. */
    @Benchmark
    @OperationsPerInvocation(EVENTS)
    public long events(CpuClock clock) {
        long hash = events();
        clock.operations += EVENTS;
        return hash;
    }

    private long events() {
        left = EVENTS;
        kernel.run();
        return kernel.hash();
    }

    /**
     * Prints events per second without JMH, in a few seconds.
     *
     * @param arguments numbers of pending events to try; if there are none, 1 and 10000
     */
    public static void main(String[] arguments) {
        for (String number : arguments.length == 0 ? new String[]{"1", "10000"} : arguments) {
            KernelBenchmark benchmark = new KernelBenchmark();
            benchmark.pending = Integer.parseInt(number);
            benchmark.fill();
            double best = 0;
            for (int round = 0; round < QUICK_ROUNDS; round++) {
                long begun = System.nanoTime();
                long before = benchmark.kernel.executed();
                while (System.nanoTime() - begun < TimeUnit.SECONDS.toNanos(1)) {
                    benchmark.events();
                }
                best = Math.max(best, (benchmark.kernel.executed() - before) * (double) TimeUnit.SECONDS.toNanos(1)
                        / (System.nanoTime() - begun));
            }
            System.out.println(String.format(Locale.ROOT, "%d pending: %.2f million events per second",
                    benchmark.pending, best / MILLION));
        }
    }
}
