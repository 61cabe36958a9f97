package tutti.bench.micro;

import java.lang.management.ManagementFactory;
import org.openjdk.jmh.annotations.AuxCounters;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/** How much CPU time the measuring thread was given in an iteration: less than the iteration took on a busy machine. */
@AuxCounters(AuxCounters.Type.EVENTS)
@State(Scope.Thread)
public class CpuClock {
    private static final long NANOS_PER_MICRO = 1000;

    /** In microseconds. */
    public long cpuMicros;
    /** What the benchmark did in it, counted by the benchmark. */
    public long operations;

    private long before;

    /** Each iteration counts anew. */
    @Setup(Level.Iteration)
    public void reset() {
        cpuMicros = 0;
        operations = 0;
        before = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }

    /** Reads the thread's clock. */
    @TearDown(Level.Iteration)
    public void read() {
        cpuMicros = (ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - before) / NANOS_PER_MICRO;
    }
}
