package tutti.eval.network;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.net.SocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What a UDP socket on this machine's loopback interface costs: all that the simulation knows of it. Measured with one thread that sends
 * to itself, and with round trips of the smallest size.
 *
 * @param send processor time of sending a datagram
 * @param receive processor time of receiving one
 * @param pollNanos processor time of finding out that nothing has come
 * @param sleepNanos processor time of going to sleep and waking up
 * @param wakeNanos from when something comes until a sleeping thread runs
 * @param clockNanos processor time that is seen when nothing was done: what the clock takes
 * @param receiveBufferBytes of a socket
 */
record SocketCosts(Line send, Line receive, long pollNanos, long sleepNanos, long wakeNanos, long clockNanos,
        int receiveBufferBytes) {
    /** The size at which round trips are measured. */
    static final int SMALLEST_BYTES = 64;
    private static final int LARGE_BYTES = 16_384;
    private static final int BURSTS = 1000;
    private static final int BURST = 16;
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    /**
     * A cost by size.
     *
     * @param nanos for nothing
     * @param nanosOfByte for each byte
     */
    record Line(double nanos, double nanosOfByte) {
        static Line through(double small, double large) {
            double slope = Math.max(0, (large - small) / (LARGE_BYTES - SMALLEST_BYTES));
            return new Line(small - slope * SMALLEST_BYTES, slope);
        }

        long of(int bytes) {
            return Math.max(0, Math.round(nanos + nanosOfByte * bytes));
        }
    }

    /** Measures, for a second. */
    static SocketCosts measure() throws IOException, InterruptedException {
        long[] clock = new long[BURSTS];
        for (int i = 0; i < clock.length; i++) {
            clock[i] = -THREADS.getCurrentThreadCpuTime() + THREADS.getCurrentThreadCpuTime();
        }
        long clockNanos = Math.round(mean(clock));
        double[] small = burst(SMALLEST_BYTES, clockNanos);
        double[] large = burst(LARGE_BYTES, clockNanos);
        int buffer;
        try (DatagramChannel socket = RealStations.open()) {
            // Linux grants twice of what it tells.
            buffer = 2 * socket.getOption(StandardSocketOptions.SO_RCVBUF);
        }
        Line send = Line.through(small[0], large[0]);
        Line receive = Line.through(small[1], large[1]);
        long poll = Math.round(small[2]);
        Window window = new Window(100_000_000, 500_000_000);
        Tally trips = new Tally(window);
        long[] used = new RealStations().run(
                List.of(new UdpPrograms.Caller(SMALLEST_BYTES, trips), new UdpPrograms.Echo()),
                window);
        long socket = send.of(SMALLEST_BYTES) + receive.of(SMALLEST_BYTES);
        long ofTrip = Math.round((used[0] + used[1]) / (2.0 * Math.max(1, trips.timed())));
        return new SocketCosts(send, receive, poll, Math.max(0, ofTrip - socket - 2 * poll),
                Math.max(0, Math.round(trips.medianNanos() / 2) - socket), clockNanos, buffer);
    }

    /** Means of sending, receiving and not receiving a datagram. */
    private static double[] burst(int bytes, long clockNanos) throws IOException {
        long[][] nanos = new long[3][BURSTS];
        try (DatagramChannel from = RealStations.open(); DatagramChannel to = RealStations.open()) {
            SocketAddress address = to.getLocalAddress();
            ByteBuffer buffer = ByteBuffer.allocateDirect(bytes);
            for (int i = 0; i < BURSTS; i++) {
                long begun = THREADS.getCurrentThreadCpuTime();
                for (int j = 0; j < BURST; j++) {
                    buffer.clear();
                    from.send(buffer, address);
                }
                long sent = THREADS.getCurrentThreadCpuTime();
                for (int j = 0; j < BURST; j++) {
                    buffer.clear();
                    to.receive(buffer);
                }
                long read = THREADS.getCurrentThreadCpuTime();
                for (int j = 0; j < BURST; j++) {
                    buffer.clear();
                    to.receive(buffer);
                }
                nanos[0][i] = sent - begun;
                nanos[1][i] = read - sent;
                nanos[2][i] = THREADS.getCurrentThreadCpuTime() - read;
            }
        }
        return Arrays.stream(nanos).mapToDouble(
                of -> Math.max(0, (mean(of) - clockNanos) / BURST)).toArray();
    }

    private static double mean(long[] values) {
        return Arrays.stream(values).average().orElse(0);
    }

    /** For people and programs. */
    Map<String, Object> describe() {
        Map<String, Object> costs = new LinkedHashMap<>();
        costs.put("sendNanos", Math.round(send.nanos));
        costs.put("sendNanosOfByte", send.nanosOfByte);
        costs.put("receiveNanos", Math.round(receive.nanos));
        costs.put("receiveNanosOfByte", receive.nanosOfByte);
        costs.put("pollNanos", pollNanos);
        costs.put("sleepNanos", sleepNanos);
        costs.put("wakeNanos", wakeNanos);
        costs.put("clockNanos", clockNanos);
        costs.put("receiveBufferBytes", receiveBufferBytes);
        return costs;
    }
}
