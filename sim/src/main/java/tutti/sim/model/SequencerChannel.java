package tutti.sim.model;

import java.util.Arrays;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.Message;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Label;

/**
 * A total order with a fixed sequencer (D5.1, section 2.3.3), modelled by its messages on a network without faults: the
 * sender multicasts, the sequencer multicasts the position of what has come to it, every member tells all others what it has
 * with its position, and each delivers in order of position what a majority has. These are the steps of {@code
 * tutti.core.group.GroupMember}, at a hundredth of its cost in events; what the steps cost is the network's time, and a
 * member's own work is nothing.
 */
final class SequencerChannel implements Channel {
    private static final Label ORDER = Label.of("sequencer", "order");
    private static final Label DELIVER = Label.of("sequencer", "deliver");
    private static final Label RECEIVE = Label.of("sequencer", "receive");
    /** A position, a sender and a number in its stream; the same for what members tell each other. */
    private static final int ORDER_BYTES = 40;
    private static final int DATA_HEADER_BYTES = 30;

    private final Kernel kernel;
    private final ModelledNetwork network;
    private final boolean[] members;
    private final int[] places;
    private final int majority;
    private final int sequencer;
    private final @Nullable Receiver[] receivers;
    private final long[] lastDelivery;
    private final long[][] lastReceipt;
    private long position;

    /** @param members who takes part in the order; others send and receive outside of it only */
    SequencerChannel(Kernel kernel, Topology topology, Set<Integer> members) {
        this.kernel = kernel;
        this.network = new ModelledNetwork(kernel, topology);
        this.places = new TreeSet<>(members).stream().mapToInt(Integer::intValue).toArray();
        this.members = new boolean[network.sites()];
        for (int place : places) {
            this.members[place] = true;
        }
        this.majority = places.length / 2 + 1;
        this.sequencer = places[0];
        this.receivers = new Receiver[network.sites()];
        this.lastDelivery = new long[network.sites()];
        this.lastReceipt = new long[network.sites()][network.sites()];
    }

    @Override
    public void start(int node, Receiver receiver) {
        receivers[node] = receiver;
    }

    private Receiver receiver(int node) {
        Receiver receiver = receivers[node];
        if (receiver == null) {
            throw new IllegalStateException("site " + node + " has not been started");
        }
        return receiver;
    }

    @Override
    public void order(int from, Message message) {
        if (!members[from]) {
            throw new IllegalStateException("site " + from + " takes no part in the order");
        }
        int bytes = message.encodedSize() + DATA_HEADER_BYTES;
        long[] data = network.send(from, bytes, members);
        kernel.schedule(data[sequencer] - kernel.now(), ORDER, () -> ordered(from, message, data));
    }

    private void ordered(int from, Message message, long[] data) {
        long[] order = network.send(sequencer, ORDER_BYTES, members);
        long[] has = new long[order.length];
        for (int place : places) {
            has[place] = Math.max(data[place], order[place]);
            network.countSmall(ORDER_BYTES);
        }
        long[] told = new long[places.length];
        long at = ++position;
        for (int place : places) {
            for (int i = 0; i < places.length; i++) {
                told[i] = has[places[i]] + network.latency(places[i], place);
            }
            Arrays.sort(told);
            long when = Math.max(has[place], told[majority - 1]);
            lastDelivery[place] = Math.max(lastDelivery[place], when);
            kernel.schedule(lastDelivery[place] - kernel.now(), DELIVER,
                    node -> receiver((int) node).delivered(at, from, message), place);
        }
    }

    @Override
    public void multicast(int from, Message message, Set<Integer> nodes) {
        boolean[] to = new boolean[network.sites()];
        nodes.forEach(node -> to[node] = true);
        long[] arrival = network.send(from, message.encodedSize() + DATA_HEADER_BYTES, to);
        for (int node = 0; node < to.length; node++) {
            if (to[node]) {
                lastReceipt[from][node] = Math.max(lastReceipt[from][node], arrival[node]);
                kernel.schedule(lastReceipt[from][node] - kernel.now(), RECEIVE,
                        one -> receiver((int) one).received(from, message), node);
            }
        }
    }

    @Override
    public Traffic traffic() {
        return network.traffic();
    }
}
