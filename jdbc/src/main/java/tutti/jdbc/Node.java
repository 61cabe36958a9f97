package tutti.jdbc;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/** What this virtual machine knows of a node; shared by all connections. Safe for use by several threads. */
final class Node {
    /** How long a node that could not be reached is tried after all others. */
    private static final long AVOID_NANOS = 5_000_000_000L;
    private static final ConcurrentHashMap<HostPort, Node> KNOWN = new ConcurrentHashMap<>();

    private final HostPort address;
    private final AtomicInteger connections = new AtomicInteger();
    private volatile boolean failed;
    private volatile long failedNanos;

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

    @Override
    public String toString() {
        return address.toString();
    }
}
