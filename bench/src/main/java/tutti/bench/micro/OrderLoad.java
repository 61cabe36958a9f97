package tutti.bench.micro;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.Locale;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.HdrHistogram.ConcurrentHistogram;
import org.HdrHistogram.Histogram;

/**
 * A load on one node of an order.
 *
 * @param bytes of each message
 * @param outstanding how many may be unacknowledged
 * @param perSecond how many are submitted per second at most, 0 for as many as possible
 * @param seconds how long to measure, after a warm-up of a third of that
 */
record OrderLoad(int bytes, int outstanding, long perSecond, double seconds) {
    /**
     * What came of it: latencies from submission to acknowledgement.
     *
     * @param cpuMicros of this process, all threads, for each message; all three nodes and their load if they are all in it
     */
    record Result(double perSecond, double p50Millis, double p99Millis, double cpuMicros) {
        @Override
        public String toString() {
            return String.format(Locale.ROOT, "%.1f %.4f %.4f %.4f", perSecond, p50Millis, p99Millis, cpuMicros);
        }

        static Result parse(String text) {
            String[] parts = text.split(" ", -1);
            return new Result(Double.parseDouble(parts[0]), Double.parseDouble(parts[1]), Double.parseDouble(parts[2]),
                    Double.parseDouble(parts[3]));
        }
    }

    @Override
    public String toString() {
        return bytes + " " + outstanding + " " + perSecond + " " + seconds;
    }

    static OrderLoad parse(String text) {
        String[] parts = text.split(" ", -1);
        return new OrderLoad(Integer.parseInt(parts[0]), Integer.parseInt(parts[1]), Long.parseLong(parts[2]),
                Double.parseDouble(parts[3]));
    }

    Result run(OrderContender node) throws Exception {
        measure(node, seconds / 3);
        return measure(node, seconds);
    }

    private static long processNanos() {
        return ManagementFactory.getOperatingSystemMXBean() instanceof OperatingSystemMXBean process
                ? process.getProcessCpuTime()
                : 0;
    }

    private Result measure(OrderContender node, double forSeconds) throws Exception {
        Histogram latency = new ConcurrentHistogram(TimeUnit.MINUTES.toNanos(1), 3);
        Semaphore window = new Semaphore(outstanding);
        long cpu = processNanos();
        long start = System.nanoTime();
        long end = start + (long) (forSeconds * 1e9);
        long submitted = 0;
        for (long now = start; now < end; now = System.nanoTime()) {
            if (perSecond > 0 && submitted >= (now - start) / 1e9 * perSecond) {
                LockSupport.parkNanos(50_000);
                continue;
            }
            if (!window.tryAcquire(1, 10, TimeUnit.SECONDS)) {
                throw new IllegalStateException("nothing was acknowledged for 10 s");
            }
            byte[] payload = new byte[bytes];
            payload[0] = (byte) submitted;
            long at = System.nanoTime();
            node.submit(payload, () -> {
                latency.recordValue(System.nanoTime() - at);
                window.release();
            });
            submitted++;
        }
        if (!window.tryAcquire(outstanding, 20, TimeUnit.SECONDS)) {
            throw new IllegalStateException(outstanding - window.availablePermits() + " messages were never ordered");
        }
        double took = (System.nanoTime() - start) / 1e9;
        return new Result(submitted / took, latency.getValueAtPercentile(50) / 1e6,
                latency.getValueAtPercentile(99) / 1e6, (processNanos() - cpu) / 1e3 / Math.max(1, submitted));
    }
}
