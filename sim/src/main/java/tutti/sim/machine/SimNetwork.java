package tutti.sim.machine;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.runtime.Network;
import tutti.runtime.PeerIdentity;
import tutti.sim.net.Address;
import tutti.sim.net.Datagram;

/** Connections and datagrams of a program on a simulated machine. Host names are those of simulated hosts. */
final class SimNetwork implements Network {
    private static final int DATAGRAM_BYTES_MAX = 65_507;
    private static final int READ_BYTES_MAX = 64 << 10;
    private static final int PORT_MAX = 65_535;
    /** Names by which a machine may call itself. */
    private static final Set<String> SELF = Set.of("localhost", "127.0.0.1", "0.0.0.0");

    private final SimMachine machine;
    private final TcpStack stack;
    private final SimLoop loop;
    private final Set<SimStream> streams = new LinkedHashSet<>();
    private final List<AutoCloseable> open = new ArrayList<>();
    /** Those with something to send, of the task that runs. */
    private final Set<SimStream> unflushed = new LinkedHashSet<>();
    private final byte[] buffer = new byte[READ_BYTES_MAX];

    SimNetwork(SimMachine machine, TcpStack stack, SimLoop loop) {
        this.machine = machine;
        this.stack = stack;
        this.loop = loop;
        loop.atEndOfTask(this::endOfTask);
    }

    @Override
    public SimLoop loop() {
        return loop;
    }

    @Override
    public @Nullable PeerIdentity identity() {
        return machine.host().identity();
    }

    byte[] buffer() {
        return buffer;
    }

    void add(SimStream stream) {
        streams.add(stream);
    }

    void remove(SimStream stream) {
        streams.remove(stream);
    }

    void flushLater(SimStream stream) {
        unflushed.add(stream);
        if (!loop.isCurrent()) {
            endOfTask();
        }
    }

    private void endOfTask() {
        if (!unflushed.isEmpty()) {
            unflushed.forEach(SimStream::leave);
            unflushed.clear();
        }
    }

    /** The name of the host that is meant. */
    private String host(InetSocketAddress address) {
        String name = address.getHostString();
        return SELF.contains(name) ? machine.host().name() : name;
    }

    private void requireOwn(InetSocketAddress address) throws IOException {
        if (!host(address).equals(machine.host().name()) || address.getPort() < 1 || address.getPort() > PORT_MAX) {
            throw new IOException("cannot listen at " + address.getHostString() + ":" + address.getPort()
                    + ": Cannot assign requested address");
        }
        if (machine.isGone() || loop.isClosed()) {
            throw new IOException("cannot listen at " + address.getHostString() + ":" + address.getPort()
                    + ": the network is closed");
        }
    }

    @Override
    public AutoCloseable listen(InetSocketAddress address, Acceptor acceptor) throws IOException {
        requireOwn(address);
        TcpStack.Listening listening = new TcpStack.Listening(this, acceptor);
        stack.listen(address.getPort(), listening);
        AutoCloseable listener = () -> stack.unlisten(address.getPort(), listening);
        open.add(listener);
        return listener;
    }

    @Override
    public Stream connect(InetSocketAddress address, long timeoutNanos, StreamListener listener) {
        SimStream stream = new SimStream(machine, stack, this, host(address), address.getPort(), null, listener);
        if (!loop.isClosed() && !machine.isGone()) {
            streams.add(stream);
            machine.later(machine.ahead(), loop.label(), () -> stream.connect(timeoutNanos));
        }
        return stream;
    }

    @Override
    public Datagrams datagrams(InetSocketAddress address, DatagramListener listener) throws IOException {
        requireOwn(address);
        SimDatagrams socket = new SimDatagrams(address.getPort(), listener);
        try {
            machine.network().bind(machine.host(), address.getPort(), socket::arrived);
        } catch (IllegalArgumentException taken) {
            throw new IOException("cannot listen at " + address.getHostString() + ":" + address.getPort()
                    + ": Address already in use", taken);
        }
        open.add(socket);
        return socket;
    }

    @Override
    public void close() {
        loop.close();
        if (machine.isGone()) {
            return;
        }
        List.copyOf(streams).forEach(SimStream::close);
        for (AutoCloseable one : open) {
            try {
                one.close();
            } catch (Exception impossible) {
                throw new IllegalStateException(impossible);
            }
        }
        open.clear();
    }

    private final class SimDatagrams implements Datagrams {
        private final Address address;
        private final DatagramListener listener;
        private final Deque<Datagram> arrived = new ArrayDeque<>();
        private final Runnable receive = this::receive;
        private boolean closed;

        SimDatagrams(int port, DatagramListener listener) {
            this.address = Address.of(machine.host().name(), port);
            this.listener = listener;
        }

        /** In the operating system. */
        void arrived(Datagram datagram) {
            arrived.add(datagram);
            loop.execute(receive);
        }

        private void receive() {
            Datagram datagram = arrived.remove();
            if (!closed) {
                listener.received(
                        InetSocketAddress.createUnresolved(datagram.from().host(), datagram.from().port()),
                        ByteBuffer.wrap(datagram.payloadBytes()).asReadOnlyBuffer());
            }
        }

        @Override
        public void send(InetSocketAddress to, ByteBuffer bytes) {
            String host = host(to);
            if (closed || machine.isGone() || !stack.knows(host) || !bytes.hasRemaining()
                    || bytes.remaining() > DATAGRAM_BYTES_MAX) {
                return;
            }
            byte[] payload = new byte[bytes.remaining()];
            bytes.duplicate().get(payload);
            Datagram datagram = Datagram.of(address, Address.of(host, to.getPort()), payload);
            if (machine.ahead() == 0) {
                machine.network().send(datagram);
            } else {
                machine.later(machine.ahead(), loop.label(), () -> machine.network().send(datagram));
            }
        }

        @Override
        public int maxBytes() {
            return DATAGRAM_BYTES_MAX;
        }

        @Override
        public void close() {
            if (!closed && !machine.isGone()) {
                closed = true;
                machine.network().unbind(machine.host(), address.port());
            }
        }
    }
}
