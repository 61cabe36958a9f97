package tutti.order.local;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.DurableLog;
import tutti.core.spi.Group;
import tutti.core.spi.Order;
import tutti.runtime.Machine;

/**
 * A total order among nodes of one process: the log lies in memory and outlives its nodes. It behaves like a
 * durable order as far as its nodes can tell: without a majority of the members nothing is ordered, a node that left
 * resumes from its position, and what is truncated is gone. Thread safe.
 */
public final class LocalOrderGroup {
    /** A message that has its place; the bytes are never modified. */
    record Entry(int sender, byte[] payload) {}

    private final Machine machine;
    private final Set<Integer> members;
    private final long queueBytes;
    private final int payloadBytesMax;

    private final Map<Integer, LocalOrder> present = new TreeMap<>();
    private final List<Entry> log = new ArrayList<>();
    /** Position of the log's first entry. */
    private long first = 1;
    private long logBytes;

    /**
     * A group that nobody has joined yet.
     *
     * @param machine that the nodes run on
     * @param members ids of all nodes that may join
     * @param queueBytes limit of what may wait at one node, in bytes
     * @param payloadBytesMax limit of one message, in bytes
     */
    public LocalOrderGroup(Machine machine, Set<Integer> members, long queueBytes, int payloadBytesMax) {
        this.machine = machine;
        this.members = Set.copyOf(members);
        this.queueBytes = queueBytes;
        this.payloadBytesMax = payloadBytesMax;
    }

    /** A group with 64 MiB in each node's queue and messages up to 16 MiB. */
    public LocalOrderGroup(Machine machine, Set<Integer> members) {
        this(machine, members, 1 << 26, 1 << 24);
    }

    /**
     * A node's part, which joins when it is started. A node that has left is opened again.
     *
     * @throws IllegalArgumentException if it is not a member
     */
    public Order open(int node) {
        return open(node, false);
    }

    /**
     * Likewise, for a listener that may be called from inside {@link DurableLog#append}: a message that little lies
     * before is delivered to the node that appends it before that returns, without another thread.
     */
    public Order openDirect(int node) {
        return open(node, true);
    }

    private Order open(int node, boolean direct) {
        if (!members.contains(node)) {
            throw new IllegalArgumentException("node " + node + " is not one of " + members);
        }
        return new LocalOrder(this, node, direct);
    }

    Machine machine() {
        return machine;
    }

    long queueBytes() {
        return queueBytes;
    }

    int payloadBytesMax() {
        return payloadBytesMax;
    }

    synchronized void join(LocalOrder order, long after) throws DurableLog.TruncatedException {
        if (after < first - 1) {
            throw new DurableLog.TruncatedException(after, first);
        }
        if (present.putIfAbsent(order.node(), order) != null) {
            throw new IllegalStateException("node " + order.node() + " is already here");
        }
        order.joined(lastKnown());
        changed();
    }

    synchronized void leave(LocalOrder order) {
        if (present.remove(order.node(), order)) {
            changed();
        }
    }

    private void changed() {
        Group.View view = view();
        present.values().forEach(o -> o.sees(view));
        order(null);
    }

    private Group.View view() {
        return new Group.View(present.keySet(), majority(), majority() ? present.keySet().iterator().next() : -1);
    }

    private boolean majority() {
        return present.size() > members.size() / 2;
    }

    /**
     * Gives everything that waits its place, if there is a majority, and tells the nodes.
     *
     * @param aware the one that need not be told, if any
     */
    synchronized void order(@Nullable LocalOrder aware) {
        if (!majority()) {
            return;
        }
        boolean any = false;
        for (LocalOrder order : present.values()) {
            for (byte[] payload = order.takeQueued(); payload != null; payload = order.takeQueued()) {
                log.add(new Entry(order.node(), payload));
                logBytes += payload.length;
                any = true;
            }
        }
        if (any) {
            for (LocalOrder order : present.values()) {
                if (!order.equals(aware)) {
                    order.more(false);
                }
            }
        }
    }

    /** Hands something to those of the nodes that are here. */
    synchronized void multicast(Entry letter, Set<Integer> nodes) {
        if (!present.containsKey(letter.sender())) {
            return;
        }
        for (LocalOrder order : present.values()) {
            if (nodes.contains(order.node())) {
                order.received(letter);
            }
        }
    }

    synchronized @Nullable Entry entry(long position) {
        long slot = position - first;
        return slot < log.size() ? log.get((int) slot) : null;
    }

    synchronized long firstRetained() {
        return first;
    }

    synchronized long lastKnown() {
        return first + log.size() - 1;
    }

    /** Bytes of all messages that are kept. */
    public synchronized long logBytes() {
        return logBytes;
    }

    synchronized void truncate(long position) {
        int drop = (int) Math.max(0, Math.min(position, lastKnown()) - first + 1);
        List<Entry> dropped = log.subList(0, drop);
        dropped.forEach(e -> logBytes -= e.payload().length);
        dropped.clear();
        first += drop;
    }
}
