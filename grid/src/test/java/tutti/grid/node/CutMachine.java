package tutti.grid.node;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import tutti.runtime.Background;
import tutti.runtime.Clock;
import tutti.runtime.Loop;
import tutti.runtime.Machine;
import tutti.runtime.Network;
import tutti.runtime.PeerIdentity;
import tutti.runtime.real.RealMachine;

/**
 * The real machine, whose network can be cut from that of others: what it sends to some ports is held back until the cut is over, as by TCP over a
 * cable that is unplugged, or the connections break. Each side is to be cut from the other.
 */
final class CutMachine implements Machine {
    private static final long REFUSED_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final List<CutNetwork> networks = new ArrayList<>();

    /** Holds back what is sent to these ports, and what comes back. */
    void hold(Set<Integer> ports) {
        networks.forEach(network -> network.loop().execute(() -> network.cut(ports, false)));
    }

    /** Breaks connections to these ports, and makes no others. */
    void part(Set<Integer> ports) {
        networks.forEach(network -> network.loop().execute(() -> network.cut(ports, true)));
    }

    @Override
    public Network network(String name, Consumer<Throwable> onFailure) {
        CutNetwork network = new CutNetwork(RealMachine.INSTANCE.network(name, onFailure));
        networks.add(network);
        return network;
    }

    @Override
    public Clock clock() {
        return RealMachine.INSTANCE.clock();
    }

    @Override
    public RandomGenerator random(String label) {
        return RealMachine.INSTANCE.random(label);
    }

    @Override
    public Loop loop(String name, Consumer<Throwable> onFailure) {
        return RealMachine.INSTANCE.loop(name, onFailure);
    }

    @Override
    public Background background(String name, Work work) {
        return RealMachine.INSTANCE.background(name, work);
    }

    private static final class CutNetwork implements Network {
        private final Network real;
        private final Set<Connection> connections = new HashSet<>();
        private Set<Integer> cut = Set.of();
        private boolean breaks;

        CutNetwork(Network real) {
            this.real = real;
        }

        void cut(Set<Integer> ports, boolean breaking) {
            cut = ports;
            breaks = breaking;
            for (Connection connection : List.copyOf(connections)) {
                if (!cut.contains(connection.port)) {
                    connection.goOn();
                } else if (breaks) {
                    connection.breakOff();
                }
            }
        }

        @Override
        public Stream connect(InetSocketAddress address, long timeoutNanos, StreamListener listener) {
            Connection connection = new Connection(address.getPort(), listener);
            if (cut.contains(address.getPort())) {
                var _ = loop().schedule(REFUSED_NANOS, () -> connection.isClosed("cut"));
            } else {
                connections.add(connection);
                connection.stream = real.connect(address, timeoutNanos, connection);
            }
            return connection;
        }

        @Override
        public Loop loop() {
            return real.loop();
        }

        @Override
        public @Nullable PeerIdentity identity() {
            return real.identity();
        }

        @Override
        public AutoCloseable listen(InetSocketAddress address, Acceptor acceptor) throws IOException {
            return real.listen(address, acceptor);
        }

        @Override
        public Datagrams datagrams(InetSocketAddress address, DatagramListener listener) throws IOException {
            return real.datagrams(address, listener);
        }

        @Override
        public void close() {
            real.close();
        }

        /** One that this end has begun. */
        private final class Connection implements Stream, StreamListener {
            private final int port;
            private final StreamListener listener;
            private final Deque<Runnable> held = new ArrayDeque<>();
            private @Nullable Stream stream;
            private boolean goesOn;
            private volatile boolean over;

            Connection(int port, StreamListener listener) {
                this.port = port;
                this.listener = listener;
            }

            /** What comes while older things go on stays behind them. */
            private boolean isHeld() {
                return goesOn || !held.isEmpty() || cut.contains(port);
            }

            private void pass(Runnable what) {
                if (isHeld()) {
                    held.add(what);
                } else {
                    what.run();
                }
            }

            void goOn() {
                goesOn = true;
                for (Runnable next = held.poll(); next != null && !over; next = held.poll()) {
                    next.run();
                }
                goesOn = false;
            }

            void breakOff() {
                if (stream != null) {
                    stream.close();
                }
                isClosed("cut");
            }

            void isClosed(String why) {
                if (!over) {
                    over = true;
                    connections.remove(this);
                    listener.closed(why);
                }
            }

            @Override
            public void connected() {
                pass(listener::connected);
            }

            @Override
            public void received(ByteBuffer bytes) {
                if (isHeld()) {
                    ByteBuffer copy = ByteBuffer.allocate(bytes.remaining()).put(bytes).flip();
                    held.add(() -> listener.received(copy));
                } else {
                    listener.received(bytes);
                }
            }

            @Override
            public void closed(String why) {
                pass(() -> isClosed(why));
            }

            @Override
            public String remote() {
                return stream == null ? "cut" : stream.remote();
            }

            @Override
            public @Nullable PeerIdentity peer() {
                return stream == null ? null : stream.peer();
            }

            @Override
            public void send(ByteBuffer bytes) {
                Stream to = stream;
                if (to != null) {
                    pass(() -> to.send(bytes));
                }
            }

            @Override
            public long unsentBytes() {
                return stream == null ? 0 : stream.unsentBytes();
            }

            @Override
            public void read(boolean wanted) {
                if (stream != null) {
                    stream.read(wanted);
                }
            }

            @Override
            public void close() {
                over = true;
                if (stream != null) {
                    stream.close();
                }
                if (loop().isCurrent()) {
                    connections.remove(this);
                }
            }
        }
    }
}
