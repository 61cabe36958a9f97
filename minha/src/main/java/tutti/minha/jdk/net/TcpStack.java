package tutti.minha.jdk.net;

import java.net.BindException;
import java.net.InetAddress;
import java.net.NoRouteToHostException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.IntPredicate;
import org.jspecify.annotations.Nullable;
import tutti.minha.Machine;
import tutti.sim.kernel.Label;
import tutti.sim.kernel.RandomStream;
import tutti.sim.net.Address;
import tutti.sim.net.Datagram;
import tutti.sim.net.Network;
import tutti.sim.tcp.TcpSegment;

/**
 * The TCP of a machine: which connections and listeners there are, and what comes for them. Segments travel as datagrams of
 * the simulated network, to a port that UDP does not have; they are lost, doubled, delayed and reordered as those are.
 * Whoever sends to a port where nothing is gets a reset, as of a machine that is up; one that is down says nothing.
 */
public final class TcpStack {
    private static final int NETWORK_PORT = 1_000_006;
    private static final long FIRST_MAX = 1L << 32;

    private final Machine machine;
    private final Label sendLabel;
    private final Label timerLabel;
    private final Label lostLabel;
    private final Map<Key, TcpConnection> connections = new LinkedHashMap<>();
    private final Map<Integer, List<TcpListener>> listeners = new TreeMap<>();
    private final Map<Integer, Integer> bound = new TreeMap<>();
    private @Nullable RandomStream random;
    private @Nullable Ports ephemeral;

    private record Key(int localPort, InetAddress remote, int remotePort) {}

    private record Packet(InetAddress from, InetAddress to, TcpSegment segment) {}

    /** Of a machine that is down. */
    public TcpStack(Machine machine) {
        this.machine = machine;
        this.sendLabel = Label.of("tcp", "send " + machine.name());
        this.timerLabel = Label.of("tcp", "timer " + machine.name());
        this.lostLabel = Label.of("tcp", "no way from " + machine.name());
    }

    /** The machine has booted: there are no connections. */
    public void boot() {
        connections.clear();
        listeners.clear();
        bound.clear();
        RandomStream ofLife = machine.host().random("tcp " + machine.host().life());
        random = ofLife;
        ephemeral = new Ports(ofLife.fork("ports"));
        network().bind(machine.host(), NETWORK_PORT, this::arrived);
    }

    private Network network() {
        return machine.simulation().network();
    }

    Machine machine() {
        return machine;
    }

    Label timerLabel() {
        return timerLabel;
    }

    /** Bytes of data in a segment that is one fragment. */
    int mss() {
        return Math.max(1, machine.line().mtuBytes() - machine.line().headerBytes() - TcpSegment.HEADER_BYTES);
    }

    private static <T> T booted(@Nullable T part) {
        if (part == null) {
            throw new IllegalStateException("the machine has not booted");
        }
        return part;
    }

    /** Reserves a port for a socket, 0 for any; returns which. */
    int bind(int wanted) throws BindException {
        IntPredicate taken = port -> bound.containsKey(port)
                || connections.keySet().stream().anyMatch(key -> key.localPort() == port);
        int port = wanted != 0 ? wanted : booted(ephemeral).free(taken);
        if (bound.containsKey(port)) {
            throw new BindException("Address already in use");
        }
        bound.merge(port, 1, Integer::sum);
        return port;
    }

    /** Gives it back. */
    void unbind(int port) {
        bound.computeIfPresent(port, (_, users) -> users == 1 ? null : users - 1);
    }

    TcpListener listen(InetAddress local, int port, int backlog, int receiveBuffer) {
        TcpListener listener = new TcpListener(this, local, port, backlog, receiveBuffer);
        listeners.computeIfAbsent(port, _ -> new ArrayList<>()).add(listener);
        return listener;
    }

    void unlisten(TcpListener listener) {
        List<TcpListener> there = listeners.get(listener.port());
        if (there != null && there.remove(listener) && there.isEmpty()) {
            listeners.remove(listener.port());
        }
    }

    /** Begins to open a connection from a port that was bound. */
    TcpConnection connect(int port, InetAddress remote, int remotePort, int sendBuffer, int receiveBuffer)
            throws NoRouteToHostException, BindException {
        Machine peer = Names.find(machine, remote);
        if (peer == null) {
            throw new NoRouteToHostException("No route to host: no machine has the address " + remote.getHostAddress());
        }
        InetAddress to = remote.isAnyLocalAddress() ? Names.getLoopbackAddress() : remote;
        Key key = new Key(port, to, remotePort);
        TcpConnection known = connections.get(key);
        if (known != null && !known.isReplaceable()) {
            throw new BindException("Address already in use");
        }
        if (known != null) {
            known.replaced();
        }
        TcpConnection connection = new TcpConnection(this,
                new TcpConnection.Ends(Names.source(machine, to), port, peer, to, remotePort),
                booted(random).nextLong(FIRST_MAX), sendBuffer, receiveBuffer, null);
        connections.put(key, connection);
        connection.open();
        return connection;
    }

    /** A connection that was asked for. */
    TcpConnection add(TcpConnection.Ends ends, TcpListener listener, int receiveBuffer) {
        TcpConnection connection = new TcpConnection(this, ends, booted(random).nextLong(FIRST_MAX),
                TcpSocketImpl.BUFFER, receiveBuffer, listener);
        connections.put(new Key(ends.localPort(), ends.remote(), ends.remotePort()), connection);
        return connection;
    }

    void remove(TcpConnection connection) {
        connections.remove(new Key(connection.localPort(), connection.remote(), connection.remotePort()), connection);
    }

    void send(TcpConnection from, TcpSegment segment) {
        send(from.local(), from.remote(), from.peer(), segment);
    }

    private void send(InetAddress local, InetAddress remote, Machine to, TcpSegment segment) {
        machine.host().kernel().trace(sendLabel, segment.digest());
        Address source = Address.of(machine.name(), NETWORK_PORT);
        try {
            network().send(new Datagram(source, Address.of(to.name(), NETWORK_PORT), new Packet(local, remote, segment),
                    segment.data().length + TcpSegment.HEADER_BYTES));
        } catch (IllegalStateException _) {
            // No links lead there: it is lost on the way, and whoever waits for an answer finds out.
            machine.host().kernel().trace(lostLabel, segment.toPort());
        }
    }

    private void arrived(Datagram datagram) {
        if (!(datagram.payload() instanceof Packet packet)) {
            return;
        }
        TcpSegment segment = packet.segment();
        Key key = new Key(segment.toPort(), packet.from(), segment.fromPort());
        TcpConnection connection = connections.get(key);
        boolean asks = segment.syn() && !segment.hasAck();
        if (connection != null && asks && connection.isReplaceable()) {
            connection.replaced();
            connection = null;
        }
        if (connection != null) {
            connection.arrived(segment);
            return;
        }
        Machine peer = machine.simulation().find(datagram.from().host());
        if (peer == null || segment.rst()) {
            return;
        }
        for (TcpListener listener : listeners.getOrDefault(segment.toPort(), List.of())) {
            if (asks && listener.isFor(packet.to())) {
                listener.asked(new TcpConnection.Ends(packet.to(), segment.toPort(), peer, packet.from(),
                        segment.fromPort()), segment);
                return;
            }
        }
        send(packet.to(), packet.from(), peer, segment.refusal());
    }

    @Override
    public String toString() {
        return "TCP of " + machine + ": " + connections.values();
    }
}
