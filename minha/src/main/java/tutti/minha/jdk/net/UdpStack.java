package tutti.minha.jdk.net;

import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.NoRouteToHostException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import tutti.minha.Machine;
import tutti.sim.host.Host;
import tutti.sim.kernel.Label;
import tutti.sim.net.Address;
import tutti.sim.net.Datagram;
import tutti.sim.net.Network;

/**
 * The UDP of a machine: which sockets there are on which port, and what comes for them. A datagram to the machine is given
 * to the first socket of its port that may have it, one to a group to all that joined. Broadcasts go to the machines of the
 * local segment.
 */
public final class UdpStack {
    /** The largest payload of a datagram. */
    static final int PAYLOAD_MAX = 65_507;
    private static final String BROADCAST = "255.255.255.255";

    private final Machine machine;
    private final Map<Integer, List<Endpoint>> ports = new TreeMap<>();
    private final Set<InetAddress> joined = new HashSet<>();
    private final Label sendLabel;
    private final Label nowhereLabel;
    private @Nullable Ports ephemeral;

    /** What receives datagrams of a port. */
    interface Endpoint {
        /** Whether others may share its port. */
        boolean sharesPort();

        /** Whether a datagram is for it, given that its port is. */
        boolean accepts(Message message);

        /** A datagram has come. */
        void receive(Message message);
    }

    /** A datagram on its way. */
    record Message(InetAddress from, int fromPort, InetAddress to, byte[] bytes) {}

    /** Of a machine that is down. */
    public UdpStack(Machine machine) {
        this.machine = machine;
        this.sendLabel = Label.of("udp", "send " + machine.name());
        this.nowhereLabel = Label.of("udp", "nowhere " + machine.name());
    }

    /** The machine has booted: nothing is bound. */
    public void boot() {
        ports.clear();
        joined.clear();
        ephemeral = new Ports(machine.host().random("udp ports " + machine.host().life()));
        network().join(machine.host(), BROADCAST);
    }

    private Network network() {
        return machine.simulation().network();
    }

    /** Binds a socket to a port, 0 for any; returns which. */
    int bind(Endpoint endpoint, int wanted) throws BindException {
        int port = wanted != 0 || ephemeral == null ? wanted : ephemeral.free(ports::containsKey);
        List<Endpoint> there = ports.get(port);
        if (there == null) {
            there = new ArrayList<>();
            ports.put(port, there);
            network().bind(machine.host(), port, this::arrived);
        } else if (!endpoint.sharesPort() || !there.stream().allMatch(Endpoint::sharesPort)) {
            throw new BindException("Address already in use");
        }
        there.add(endpoint);
        return port;
    }

    /** Gives a port back. */
    void unbind(Endpoint endpoint, int port) {
        List<Endpoint> there = ports.get(port);
        if (there != null && there.remove(endpoint) && there.isEmpty()) {
            ports.remove(port);
            network().unbind(machine.host(), port);
        }
    }

    /** Makes the machine a member of a group; sockets decide for themselves what they want of it. */
    void join(InetAddress group) {
        if (joined.add(group)) {
            network().join(machine.host(), group.getHostAddress());
        }
    }

    /** Sends a datagram; what is for nobody is dropped without a word. */
    void send(int fromPort, InetAddress to, int toPort, byte[] bytes) throws IOException {
        if (bytes.length > PAYLOAD_MAX) {
            throw new IOException("Message too long: " + bytes.length + " bytes, at most " + PAYLOAD_MAX);
        }
        Host host = machine.host();
        host.kernel().trace(sendLabel, Arrays.hashCode(bytes) * 31L + toPort);
        Address target;
        if (to.isMulticastAddress() || to.getHostAddress().equals(BROADCAST)) {
            target = Address.group(to.getHostAddress(), toPort);
        } else {
            Machine known = Names.find(machine, to);
            if (known == null) {
                host.kernel().trace(nowhereLabel, to.hashCode());
                return;
            }
            target = Address.of(known.name(), toPort);
        }
        Message message = new Message(Names.source(machine, to), fromPort, to, bytes);
        try {
            network().send(new Datagram(Address.of(host.name(), fromPort), target, message, bytes.length));
        } catch (IllegalStateException unreachable) {
            NoRouteToHostException none = new NoRouteToHostException("No route to host");
            none.initCause(unreachable);
            throw none;
        }
    }

    private void arrived(Datagram datagram) {
        if (!(datagram.payload() instanceof Message message)) {
            return;
        }
        for (Endpoint endpoint : List.copyOf(ports.getOrDefault(datagram.to().port(), List.of()))) {
            if (endpoint.accepts(message)) {
                endpoint.receive(message);
                if (!datagram.to().isGroup()) {
                    return;
                }
            }
        }
    }
}
