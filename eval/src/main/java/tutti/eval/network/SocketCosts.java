package tutti.eval.network;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.net.SocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * What a UDP socket on this machine's loopback interface costs: all that the simulation knows of it. Measured with one thread that sends
 * to another, which reads when all has been sent, or sleeps until it comes, and with round trips of the smallest size.
 *
 * @param send processor time of sending a datagram
 * @param receive processor time of receiving one
 * @param pollNanos processor time of finding out that nothing has come
 * @param wakingNanos processor time that sending takes more if whoever receives sleeps
 * @param sleepNanos processor time of going to sleep and waking up
 * @param wakeNanos from when something comes until a sleeping thread runs
 * @param clockNanos processor time that is seen when nothing was done: what the clock takes
 * @param receiveBufferBytes of a socket
 */
record SocketCosts(Line send, Line receive, long pollNanos, long wakingNanos, long sleepNanos, long wakeNanos,
        long clockNanos, int receiveBufferBytes) {
    /** The size at which round trips are measured. */
    static final int SMALLEST_BYTES = 64;
    private static final int LARGE_BYTES = 16_384;
    private static final int BURSTS = 200;
    private static final int BURST = 16;
    /** So long after something was sent whoever has received it sleeps again. */
    private static final long ASLEEP_NANOS = 100_000;
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
        long waking = Math.max(0, Math.round(toSleeper(clockNanos)) - send.of(SMALLEST_BYTES));
        long ofTrip = Math.round((used[0] + used[1]) / (2.0 * Math.max(1, trips.timed())));
        return new SocketCosts(send, receive, poll, waking, Math.max(0, ofTrip - socket - 2 * poll - waking),
                Math.max(0, Math.round(trips.medianNanos() / 2) - socket), clockNanos, buffer);
    }

    /** Means of sending, receiving and not receiving a datagram; bytes that are read come from another processor's caches. */
    private static double[] burst(int bytes, long clockNanos) throws IOException, InterruptedException {
        long[][] nanos = new long[3][BURSTS];
        AtomicInteger turn = new AtomicInteger();
        try (DatagramChannel from = RealStations.open(); DatagramChannel to = RealStations.open()) {
            SocketAddress address = to.getLocalAddress();
            Thread sender = Thread.ofPlatform().name("socket-costs").start(() -> {
                ByteBuffer buffer = ByteBuffer.allocateDirect(bytes);
                for (int i = 0; i < BURSTS; i++) {
                    await(turn, 2 * i);
                    nanos[0][i] = times(buffer, () -> from.send(buffer, address));
                    turn.incrementAndGet();
                }
            });
            ByteBuffer buffer = ByteBuffer.allocateDirect(bytes);
            for (int i = 0; i < BURSTS; i++) {
                await(turn, 2 * i + 1);
                nanos[1][i] = times(buffer, () -> to.receive(buffer));
                nanos[2][i] = times(buffer, () -> to.receive(buffer));
                turn.incrementAndGet();
            }
            sender.join();
        }
        return Arrays.stream(nanos).mapToDouble(
                of -> Math.max(0, (mean(of) - clockNanos) / BURST)).toArray();
    }

    private interface Call {
        void call() throws IOException;
    }

    /** Processor time of a burst of calls. */
    private static long times(ByteBuffer buffer, Call call) {
        long begun = THREADS.getCurrentThreadCpuTime();
        try {
            for (int j = 0; j < BURST; j++) {
                buffer.clear();
                call.call();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return THREADS.getCurrentThreadCpuTime() - begun;
    }

    /** Stays on its processor, if there is another one: who sleeps is woken up on the processor of whoever wakes it. */
    private static void await(AtomicInteger turn, int number) {
        while (turn.get() < number) {
            Thread.onSpinWait();
        }
    }

    /** Mean of sending a datagram to somebody who sleeps. */
    private static double toSleeper(long clockNanos) throws IOException, InterruptedException {
        long[] nanos = new long[BURSTS];
        try (DatagramChannel from = RealStations.open();
                DatagramChannel to = RealStations.open();
                Selector selector = Selector.open()) {
            SocketAddress address = to.getLocalAddress();
            to.register(selector, SelectionKey.OP_READ);
            Thread sleeper = Thread.ofPlatform().name("socket-costs").start(() -> receive(to, selector));
            ByteBuffer buffer = ByteBuffer.allocateDirect(SMALLEST_BYTES);
            for (int i = 0; i < BURSTS; i++) {
                for (long until = System.nanoTime() + ASLEEP_NANOS; System.nanoTime() - until < 0;) {
                    Thread.onSpinWait();
                }
                buffer.clear();
                long begun = THREADS.getCurrentThreadCpuTime();
                from.send(buffer, address);
                nanos[i] = THREADS.getCurrentThreadCpuTime() - begun;
            }
            from.send(ByteBuffer.allocate(0), address);
            sleeper.join();
        }
        return mean(nanos) - clockNanos;
    }

    /** Reads until an empty datagram comes, and sleeps while none does. */
    private static void receive(DatagramChannel channel, Selector selector) {
        ByteBuffer buffer = ByteBuffer.allocateDirect(SMALLEST_BYTES);
        try {
            while (true) {
                selector.select(_ -> {});
                for (buffer.clear(); channel.receive(buffer) != null; buffer.clear()) {
                    if (buffer.position() == 0) {
                        return;
                    }
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
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
        costs.put("wakingNanos", wakingNanos);
        costs.put("sleepNanos", sleepNanos);
        costs.put("wakeNanos", wakeNanos);
        costs.put("clockNanos", clockNanos);
        costs.put("receiveBufferBytes", receiveBufferBytes);
        return costs;
    }
}
