package tutti.jdbc;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** What this virtual machine knows of a node; shared by all connections. Safe for use by several threads. */
final class Node {
    /** How long a node that could not be reached is tried after all others. */
    private static final long AVOID_NANOS = 5_000_000_000L;
    private static final ConcurrentHashMap<HostPort, Node> KNOWN = new ConcurrentHashMap<>();

    private final HostPort address;
    private final AtomicInteger connections = new AtomicInteger();
    private volatile boolean failed;
    private volatile long failedNanos;
    private @Nullable String life;
    /** In that life; it grows, whereas a node that was started again may have less at first. */
    private long shown;

    private Node(HostPort address) {
        this.address = address;
    }

    static Node at(HostPort address) {
        return KNOWN.computeIfAbsent(address, Node::new);
    }

    HostPort address() {
        return address;
    }

    /** How many connections of this virtual machine it has. */
    int connections() {
        return connections.get();
    }

    void opened() {
        connections.incrementAndGet();
        failed = false;
    }

    void closed() {
        connections.decrementAndGet();
    }

    /** It could not be reached, was lost, or does not serve at the moment. */
    void failed(long nowNanos) {
        failedNanos = nowNanos;
        failed = true;
    }

    /** Whether others are to be tried first. */
    boolean avoided(long nowNanos) {
        return failed && nowNanos - failedNanos < AVOID_NANOS;
    }

    /** It has shown a position to some session, in the given one of its lives. */
    synchronized void shows(String inLife, long position) {
        shown = inLife.equals(life) ? Math.max(shown, position) : position;
        life = inLife;
    }

    /** The newest position that it has shown in the given one of its lives, to whichever session; -1 if none. */
    synchronized long shown(String inLife) {
        return inLife.equals(life) ? shown : -1;
    }

    @Override
    public String toString() {
        return address.toString();
    }
}
