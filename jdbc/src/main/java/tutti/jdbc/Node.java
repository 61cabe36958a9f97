package tutti.jdbc;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
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
    private @Nullable Life life;

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

    /** The life of the session that was opened last; null if none was. */
    synchronized @Nullable Life life() {
        return life;
    }

    /**
     * Which life a new session is of. One that shows less than had been shown before it was opened is of another life, even
     * if that has the same name: of a cluster that was made anew at the same addresses.
     *
     * @param before what {@link #life} answered before the session was opened
     * @param shownBefore what that had shown then
     */
    synchronized Life life(String name, long position, @Nullable Life before, long shownBefore) {
        Life same = life;
        if (same == null || !same.name.equals(name) || (same.equals(before) && position < shownBefore)) {
            same = new Life(name);
            life = same;
        }
        same.shows(position);
        return same;
    }

    /**
     * A node from its start to its end. What it shows grows, whereas one that was started again may have less at first. Safe
     * for use by several threads.
     */
    static final class Life {
        private final String name;
        private final AtomicLong shown = new AtomicLong(-1);

        private Life(String name) {
            this.name = name;
        }

        /** It has shown a position to some session. */
        void shows(long position) {
            shown.accumulateAndGet(position, Math::max);
        }

        /** The newest position that it has shown, to whichever session. */
        long shown() {
            return shown.get();
        }
    }

    @Override
    public String toString() {
        return address.toString();
    }
}
