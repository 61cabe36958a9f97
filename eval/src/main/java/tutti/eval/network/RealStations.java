package tutti.eval.network;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** Stations of this machine: a thread each, with a UDP socket on the loopback interface. */
final class RealStations implements Stations {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    @Override
    public long[] run(List<SocketProgram> programs, Window window) throws InterruptedException {
        List<Station> stations = new ArrayList<>();
        AtomicReference<@Nullable Throwable> failed = new AtomicReference<>();
        try {
            for (SocketProgram program : programs) {
                stations.add(new Station(program, window));
            }
            List<SocketAddress> addresses = stations.stream().map(station -> station.address).toList();
            long begun = System.nanoTime();
            List<Thread> threads = new ArrayList<>();
            for (Station station : stations) {
                threads.add(Thread.ofPlatform().name("station-" + threads.size()).start(() -> {
                    try {
                        station.run(addresses, begun);
                    } catch (Throwable e) {
                        failed.set(e);
                    }
                }));
            }
            for (Thread thread : threads) {
                thread.join();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } finally {
            stations.forEach(Station::close);
        }
        if (failed.get() != null) {
            throw new IllegalStateException("a station has failed", failed.get());
        }
        return stations.stream().mapToLong(station -> station.usedNanos).toArray();
    }

    /** A socket on the loopback interface, with buffers as all stations have them. */
    static DatagramChannel open() throws IOException {
        DatagramChannel channel = DatagramChannel.open();
        channel.setOption(StandardSocketOptions.SO_RCVBUF, RECEIVE_BUFFER_BYTES);
        channel.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        channel.configureBlocking(false);
        return channel;
    }

    private static final class Station implements SocketProgram.Port {
        private final SocketProgram program;
        private final Window window;
        private final DatagramChannel channel;
        private final Selector selector;
        private final SocketAddress address;
        private final ByteBuffer received = ByteBuffer.allocateDirect(DATAGRAM_BYTES_MAX);
        private final Alarms alarms = new Alarms();
        private final Map<SocketAddress, Integer> numbers = new HashMap<>();
        private List<SocketAddress> all = List.of();
        private long begun;
        private long usedNanos;

        Station(SocketProgram program, Window window) throws IOException {
            this.program = program;
            this.window = window;
            this.channel = open();
            this.address = channel.getLocalAddress();
            this.selector = Selector.open();
            channel.register(selector, SelectionKey.OP_READ);
        }

        void run(List<SocketAddress> addresses, long origin) throws IOException {
            begun = origin;
            all = addresses;
            for (int i = 0; i < addresses.size(); i++) {
                numbers.put(addresses.get(i), i);
            }
            program.start(this);
            long before = -1;
            for (long now = now(); now < window.until(); now = now()) {
                if (before < 0 && now >= window.from()) {
                    before = THREADS.getCurrentThreadCpuTime();
                }
                boolean busy = read();
                busy |= alarms.tell(now(), program);
                busy |= program.work();
                if (!busy) {
                    selector.select(_ -> {}, alarms.sleepTicks(now(), window.until()));
                }
            }
            usedNanos = THREADS.getCurrentThreadCpuTime() - before;
        }

        private boolean read() throws IOException {
            for (int i = 0; i < READ_AT_ONCE; i++) {
                received.clear();
                SocketAddress from = channel.receive(received);
                if (from == null) {
                    return i > 0;
                }
                received.flip();
                program.arrived(numbers.getOrDefault(from, 0), received);
            }
            return true;
        }

        @Override
        public long now() {
            return System.nanoTime() - begun;
        }

        @Override
        public void send(int to, ByteBuffer datagram) {
            try {
                channel.send(datagram, all.get(to));
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public void timer(long id, long delayNanos) {
            alarms.add(now() + delayNanos, id);
        }

        void close() {
            try (channel; selector) {
                // Both are closed, whatever becomes of the other.
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
