package tutti.sim.machine;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tutti.sim.kernel.Label;
import tutti.sim.kernel.RandomStream;
import tutti.sim.net.Address;
import tutti.sim.net.Datagram;
import tutti.sim.net.Network;
import tutti.sim.tcp.TcpEnd;
import tutti.sim.tcp.TcpSegment;

/**
 * The connections of a machine, as its operating system has them. Segments are datagrams of the simulated network, to a port
 * that no program has, so that all its faults apply. Who sends to a port where nothing is gets a reset; a machine that is
 * down says nothing.
 */
final class TcpStack {
    private static final int NETWORK_PORT = 1_000_007;
    /** The line cuts them; so an event stands for many packets. */
    private static final int SEGMENT_BYTES = 16 << 10;
    private static final int BUFFER_BYTES = 512 << 10;
    private static final int EPHEMERAL_FIRST = 32_768;
    private static final int EPHEMERAL_COUNT = 28_232;
    private static final long FIRST_MAX = 1L << 32;

    private final SimMachine machine;
    private final Network network;
    private final Address address;
    private final RandomStream random;
    private final Label sendLabel;
    private final Label timerLabel;
    private final Map<Key, SimStream> streams = new HashMap<>();
    private final Map<Integer, Listening> listeners = new HashMap<>();
    private int ephemeral;

    private record Key(int localPort, String remote, int remotePort) {}

    /** Where connections are accepted. */
    record Listening(SimNetwork network, tutti.runtime.Network.Acceptor acceptor) {}

    TcpStack(SimMachine machine) {
        this.machine = machine;
        this.network = machine.network();
        String name = machine.host().name();
        this.address = Address.of(name, NETWORK_PORT);
        this.random = machine.host().random("tcp " + machine.host().life());
        this.ephemeral = random.nextInt(EPHEMERAL_COUNT);
        this.sendLabel = Label.of("tcp", "send " + name);
        this.timerLabel = Label.of("tcp", "timer " + name);
        network.bind(machine.host(), NETWORK_PORT, this::arrived);
    }

    /** Room for what was sent and is not acknowledged. */
    static int bufferBytes() {
        return BUFFER_BYTES;
    }

    void listen(int port, Listening listening) throws IOException {
        if (listeners.putIfAbsent(port, listening) != null) {
            throw new IOException(
                    "cannot listen at " + machine.host().name() + ":" + port + ": Address already in use");
        }
    }

    void unlisten(int port, Listening listening) {
        listeners.remove(port, listening);
    }

    /** Begins to connect to a host that there is. */
    void connect(SimStream stream, String remote, int remotePort) {
        int port;
        do {
            port = EPHEMERAL_FIRST + ephemeral;
            ephemeral = (ephemeral + 1) % EPHEMERAL_COUNT;
        } while (streams.containsKey(new Key(port, remote, remotePort)));
        streams.put(new Key(port, remote, remotePort), stream);
        stream.begin(end(stream, port, remotePort, false)).open();
    }

    private TcpEnd end(SimStream stream, int localPort, int remotePort, boolean asked) {
        TcpEnd end = new TcpEnd(stream, new TcpEnd.Settings(machine.host(), timerLabel, localPort, remotePort,
                SEGMENT_BYTES, random.nextLong(FIRST_MAX), BUFFER_BYTES), asked);
        end.setNoDelay(true);
        return end;
    }

    void forget(SimStream stream, TcpEnd end) {
        streams.remove(new Key(end.localPort(), stream.remoteHost(), end.remotePort()), stream);
    }

    /** Whether connections are still accepted there. */
    boolean isListening(int port, Listening listening) {
        return listening.equals(listeners.get(port));
    }

    void send(String remote, TcpSegment segment) {
        machine.kernel().trace(sendLabel, segment.digest());
        Address to = remote.equals(address.host()) ? address : Address.of(remote, NETWORK_PORT);
        network.send(new Datagram(address, to, segment, segment.data().length + TcpSegment.HEADER_BYTES));
    }

    private void arrived(Datagram datagram) {
        TcpSegment segment = (TcpSegment) datagram.payload();
        String remote = datagram.from().host();
        SimStream stream = streams.get(new Key(segment.toPort(), remote, segment.fromPort()));
        boolean asks = segment.syn() && !segment.hasAck();
        if (stream != null && asks && stream.replaced()) {
            stream = null;
        }
        if (stream != null) {
            stream.arrived(segment);
            return;
        }
        if (segment.rst()) {
            return;
        }
        Listening listening = asks ? listeners.get(segment.toPort()) : null;
        if (listening == null) {
            send(remote, segment.refusal());
        } else {
            accept(listening, segment, remote);
        }
    }

    private void accept(Listening listening, TcpSegment segment, String remote) {
        SimStream asked = new SimStream(machine, this, listening.network, remote, segment.fromPort(), listening, null);
        streams.put(new Key(segment.toPort(), remote, segment.fromPort()), asked);
        asked.begin(end(asked, segment.toPort(), segment.fromPort(), true)).answer(segment);
    }

    /** Whether a machine is attached to the network. */
    boolean knows(@Nullable String host) {
        return host != null && network.isAttached(host);
    }
}
