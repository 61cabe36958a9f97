package tutti.sim.net;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import tutti.sim.host.Host;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Label;
import tutti.sim.kernel.RandomStream;

/**
 * Carries datagrams between hosts: through the sender's processor, its line into the segment, the links on the shortest way
 * to the segment of the destination (by number of links), the destination's line and its processor. Wherever there is no
 * room the datagram is dropped, and counted. Without faults datagrams of one size from one host to another keep their order;
 * where processors have several cores a small one may overtake a large one.
 *
 * <p>
 * A multicast takes the sender's line once. It reaches members on the sender's own segment, never across a link: there is
 * no multicast in the wide area.
 */
public final class Network {
    private static final long LOOPBACK_NANOS = 10_000;

    private final Kernel kernel;
    private final RandomStream random;
    private final Impairments impairments;
    private final Map<String, Segment> segments = new LinkedHashMap<>();
    private final Map<String, Line> lines = new LinkedHashMap<>();
    private final Map<Segment, Map<Segment, List<Pipe>>> routes = new LinkedHashMap<>();
    private final Label sendLabel = Label.of("net", "send");
    private final Label dropLabel = Label.of("net", "drop");
    private final Label hopLabel = Label.of("net", "hop");
    private final Label faultLabel = Label.of("net", "impairments");
    private long number;
    private long sent;
    private long delivered;
    private long dropped;
    private long unbound;
    private long wireBytes;
    private @Nullable PacketCapture capture;

    /** How a host is attached, and what listens on it. */
    private static final class Line {
        private final Host host;
        private final Segment segment;
        private final Pipe out;
        private final Pipe in;
        private final Label arrive;
        private final Map<Integer, Consumer<Datagram>> ports = new TreeMap<>();
        private final Set<String> groups = new TreeSet<>();
        private long queuedBytes;
        /** The life of the host that the three above belong to. */
        private long life;

        Line(Host host, Segment segment, Pipe out, Pipe in) {
            this.host = host;
            this.segment = segment;
            this.out = out;
            this.in = in;
            this.arrive = Label.of("net", "arrive " + host.name());
        }

        /** Forgets what belonged to an earlier life. */
        void refresh() {
            if (life != host.life()) {
                life = host.life();
                ports.clear();
                groups.clear();
                queuedBytes = 0;
            }
        }

        boolean isUp() {
            refresh();
            return host.state() != Host.State.DOWN;
        }
    }

    /** A network without segments. */
    public Network(Kernel kernel) {
        this.kernel = kernel;
        this.random = kernel.random("net");
        this.impairments = new Impairments(kernel);
    }

    /** Has whatever hosts send to others taken down. */
    public void capture(PacketCapture to) {
        capture = to;
    }

    /** Makes a segment. */
    public Segment segment(String name, LinkConfig config) {
        Segment segment = new Segment(name, config);
        if (segments.putIfAbsent(name, segment) != null) {
            throw new IllegalArgumentException("there is a segment '" + name + "' already");
        }
        return segment;
    }

    /** Joins two segments by a link with both directions alike. */
    public void link(Segment a, Segment b, LinkConfig config) {
        a.links().add(new Segment.Link(b, new Pipe(kernel, config, random.fork("link " + a.name() + " " + b.name()))));
        b.links().add(new Segment.Link(a, new Pipe(kernel, config, random.fork("link " + b.name() + " " + a.name()))));
        routes.clear();
    }

    /** Attaches a host to a segment; each to one. */
    public void attach(Host host, Segment segment) {
        Line line = new Line(host, segment, new Pipe(kernel, segment.config(), random.fork("out " + host.name())),
                new Pipe(kernel, segment.config(), random.fork("in " + host.name())));
        if (lines.putIfAbsent(host.name(), line) != null) {
            throw new IllegalArgumentException(host + " is attached already");
        }
    }

    /** Whether a host of a name is attached. */
    public boolean isAttached(String name) {
        return lines.containsKey(name);
    }

    /** An attached host. */
    public Host host(String name) {
        return line(name).host;
    }

    private Line line(String name) {
        Line line = lines.get(name);
        if (line == null) {
            throw new IllegalArgumentException(
                    "no host '" + name + "' is attached to the network, but " + lines.keySet());
        }
        return line;
    }

    /**
     * Has datagrams for a port of a running host given to a receiver, in events of the host, until it crashes.
     *
     * @throws IllegalArgumentException if the port has a receiver
     */
    public void bind(Host host, int port, Consumer<Datagram> receiver) {
        if (running(host).ports.putIfAbsent(port, receiver) != null) {
            throw new IllegalArgumentException("port " + port + " of " + host + " is taken");
        }
    }

    /** Has nothing given to a port any more. */
    public void unbind(Host host, int port) {
        line(host.name()).ports.remove(port);
    }

    /** Makes a running host a member of a group until it crashes; datagrams to the group go to its receivers by port. */
    public void join(Host host, String group) {
        running(host).groups.add(Address.group(group, 0).host());
    }

    private Line running(Host host) {
        Line line = line(host.name());
        if (!line.isUp()) {
            throw new IllegalStateException(host + " must run to receive anything");
        }
        return line;
    }

    /**
     * Sends. A sender that is down sends nothing. Nobody is told whether it arrives.
     *
     * @throws IllegalStateException if no links lead there
     */
    public void send(Datagram datagram) {
        Line from = line(datagram.from().host());
        if (!datagram.to().isGroup()) {
            route(from.segment, line(datagram.to().host()).segment);
        }
        if (from.host.state() == Host.State.DOWN) {
            return;
        }
        long id = ++number;
        sent++;
        if (datagram.payload() instanceof byte[] bytes) {
            kernel.trace(sendLabel, Arrays.hashCode(bytes) * 31L + id);
        }
        int fragments = from.segment.config().fragments(datagram.bytes());
        from.host.execute(from.host.config().sendNanos() * fragments, () -> leave(id, datagram, from));
    }

    private void leave(long id, Datagram datagram, Line from) {
        Address to = datagram.to();
        if (!to.isGroup()) {
            Line destination = line(to.host());
            if (destination == from) {
                kernel.schedule(LOOPBACK_NANOS, from.arrive, _ -> queue(id, datagram, from), id);
                return;
            }
            long nanos = transmit(id, from.out, datagram);
            if (nanos >= 0) {
                List<Pipe> way = route(from.segment, destination.segment);
                forward(id, datagram, destination, way, 0, nanos);
            }
            return;
        }
        long nanos = transmit(id, from.out, datagram);
        for (Line member : lines.values()) {
            if (member.segment == from.segment && member.isUp() && member.groups.contains(to.host())) {
                if (member == from) {
                    kernel.schedule(LOOPBACK_NANOS, from.arrive, _ -> queue(id, datagram, from), id);
                } else if (nanos >= 0) {
                    forward(id, datagram, member, List.of(), 0, nanos);
                }
            }
        }
    }

    private long transmit(long id, Pipe pipe, Datagram datagram) {
        long nanos = pipe.transmit(datagram.bytes());
        if (capture != null && pipe.equals(line(datagram.from().host()).out)) {
            capture.sent(kernel.now(), datagram);
        }
        if (nanos == Pipe.DROPPED) {
            drop(id);
        } else {
            wireBytes += pipe.config().wireBytes(datagram.bytes());
        }
        return nanos;
    }

    /** Lets a datagram come, in a while, to the pipe with this number of its way, or to its destination. */
    private void forward(long id, Datagram datagram, Line to, List<Pipe> way, int next, long nanos) {
        if (next == way.size()) {
            kernel.schedule(nanos, to.arrive, _ -> arrive(id, datagram, to), id);
            return;
        }
        kernel.schedule(nanos, hopLabel, _ -> {
            long further = transmit(id, way.get(next), datagram);
            if (further >= 0) {
                forward(id, datagram, to, way, next + 1, further);
            }
        }, id);
    }

    private void arrive(long id, Datagram datagram, Line to) {
        if (impairments.isEmpty()) {
            takeIn(id, datagram, to);
            return;
        }
        int fragments = to.segment.config().fragments(datagram.bytes());
        Impairments.Fate fate = impairments.decide(datagram.from().host(), to.host.name(), fragments,
                () -> arrive(id, datagram, to));
        if (fate.lost) {
            drop(id);
        } else if (fate.delayNanos > 0) {
            kernel.schedule(fate.delayNanos, to.arrive, _ -> takeIn(id, datagram, to), id);
        } else if (fate.delayNanos == 0) {
            takeIn(id, datagram, to);
        }
        if (fate.againNanos >= 0 && !fate.lost && fate.delayNanos >= 0) {
            kernel.schedule(fate.delayNanos + fate.againNanos, to.arrive, _ -> takeIn(id, datagram, to), id);
        }
    }

    private void takeIn(long id, Datagram datagram, Line to) {
        long nanos = to.in.receive(datagram.bytes());
        if (nanos > 0) {
            kernel.schedule(nanos, to.arrive, _ -> queue(id, datagram, to), id);
        } else {
            queue(id, datagram, to);
        }
    }

    /** The datagram is in the host's memory, if there is room. */
    private void queue(long id, Datagram datagram, Line to) {
        Host host = to.host;
        if (!to.isUp() || to.queuedBytes + datagram.bytes() > to.segment.config().queueBytes()) {
            drop(id);
            return;
        }
        if (to.queuedBytes == 0 && host.state() == Host.State.UP && host.config().receiveNanos() == 0) {
            deliver(id, datagram, to);
            return;
        }
        to.queuedBytes += datagram.bytes();
        int fragments = to.segment.config().fragments(datagram.bytes());
        host.enter(to.arrive, () -> host.execute(host.config().receiveNanos() * fragments, () -> {
            to.queuedBytes -= datagram.bytes();
            deliver(id, datagram, to);
        }));
    }

    private void deliver(long id, Datagram datagram, Line to) {
        Consumer<Datagram> receiver = to.ports.get(datagram.to().port());
        if (receiver == null) {
            unbound++;
            drop(id);
            return;
        }
        delivered++;
        receiver.accept(datagram);
    }

    private void drop(long id) {
        dropped++;
        kernel.trace(dropLabel, id);
    }

    private List<Pipe> route(Segment from, Segment to) {
        List<Pipe> way = routes.computeIfAbsent(from, this::routesFrom).get(to);
        if (way == null) {
            throw new IllegalStateException("there is no way from " + from + " to " + to + ": link them");
        }
        return way;
    }

    /** Breadth first; among ways of equal length the one whose links were made first. */
    private Map<Segment, List<Pipe>> routesFrom(Segment from) {
        Map<Segment, List<Pipe>> found = new LinkedHashMap<>();
        found.put(from, List.of());
        Deque<Segment> open = new ArrayDeque<>(List.of(from));
        while (!open.isEmpty()) {
            Segment at = open.remove();
            for (Segment.Link link : at.links()) {
                if (!found.containsKey(link.to())) {
                    List<Pipe> way = new ArrayList<>(found.getOrDefault(at, List.of()));
                    way.add(link.pipe());
                    found.put(link.to(), List.copyOf(way));
                    open.add(link.to());
                }
            }
        }
        return found;
    }

    /**
     * Makes something go wrong until it is lifted. Several may be in force; each decides for itself.
     *
     * @param chance where it is random; give each its own
     */
    public Impaired impair(Impairment impairment, RandomStream chance) {
        kernel.trace(faultLabel, 1);
        Impairments.Active active = impairments.add(impairment, chance);
        return new Impaired(this, active);
    }

    /** Something that goes wrong. */
    public static final class Impaired {
        private final Network network;
        private final Impairments.Active active;
        private boolean lifted;

        private Impaired(Network network, Impairments.Active active) {
            this.network = network;
            this.active = active;
        }

        /** Datagrams to which it has done something so far. */
        public long affected() {
            return active.affected();
        }

        /** Ends it; idempotent. */
        public void lift() {
            if (!lifted) {
                lifted = true;
                network.kernel.trace(network.faultLabel, -1);
                network.impairments.remove(active).forEach(Runnable::run);
            }
        }
    }

    /** What the network has done so far. */
    public Counts counts() {
        return new Counts(sent, delivered, dropped, unbound, wireBytes);
    }

    /**
     * Numbers of a network.
     *
     * @param sent datagrams that were sent, a multicast once
     * @param delivered datagrams given to receivers, one for each member of a multicast
     * @param dropped by faults, by full queues, at hosts that are down and at ports without a receiver
     * @param unbound those among them for whose port there was no receiver
     * @param wireBytes bytes on all lines and links, headers included
     */
    public record Counts(long sent, long delivered, long dropped, long unbound, long wireBytes) {}
}
