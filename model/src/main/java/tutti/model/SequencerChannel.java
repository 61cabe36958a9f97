package tutti.model;

import java.util.Arrays;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.Message;
import tutti.group.GroupParameters;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Label;
import tutti.sim.net.Network;

/**
 * A total order with a fixed sequencer (D5.1, section 2.3.3), modelled by its messages: the
 * sender multicasts, the sequencer multicasts the position of what has come to it, every member tells all others what it has
 * with its position, and each delivers in order of position what a majority has. These are the steps of {@code
 * tutti.group.GroupMember}, at a hundredth of its cost in events; what the steps cost is the network's time, and a
 * member's own work is nothing, unless its processors are charged for it ({@link SequencerSteps}). It can be made to wait for all members instead, as other group communication does: then
 * nobody may crash.
 *
 * <p>
 * <b>Faults.</b> The network repairs losses ({@link ModelledNetwork}); the order of one sender's messages survives that, because
 * none is given a position before those sent before it. A member that crashes is found out after the failure timeout: then the
 * others are told the view without it, the lowest of them is the sequencer, what crashed members had not sent to
 * everybody is sent by who has it, and what had no position, or one that nobody left knows of, is sent anew by its sender.
 * This keeps the order uniform: what anybody has delivered, a majority had, and as long as fewer than half crash, one of those is
 * left; so its position is kept, and everybody left receives it, and tells the others. If a position is given up,
 * so are all that the same sequencer gave after it, so that the order of one sender's messages stays. Without a
 * majority nothing is delivered any more.
 */
final class SequencerChannel implements Channel {
    private static final Label ORDER = Label.of("sequencer", "order");
    private static final Label DELIVER = Label.of("sequencer", "deliver");
    private static final Label TENTATIVE = Label.of("sequencer", "tentative");
    private static final Label RECEIVE = Label.of("sequencer", "receive");
    private static final Label AGAIN = Label.of("sequencer", "send again");
    private static final Label VIEW = Label.of("sequencer", "view");
    /** A position, a sender and a number in its stream; the same for what members tell each other. */
    static final int ORDER_BYTES = 40;
    private static final int DATA_HEADER_BYTES = 30;

    private final Kernel kernel;
    private final ModelledNetwork network;
    private final FaultSchedule faults;
    private final long failureNanos;
    private final boolean[] members;
    private final int[] places;
    private final int enough;
    private final @Nullable Receiver[] receivers;
    private final long[] lastSubmission;
    private final long[] lastDelivery;
    private final long[][] lastReceipt;
    /** When each site has heard of each sender's last message, if sites hear of them before their places are known. */
    private final long @Nullable [][] lastTentative;
    /** Sequencers of which a position was given up. */
    private final boolean[] givenUp;
    private final @Nullable SequencerSteps steps;
    private long position;

    /**
     * An order that nobody has joined.
     *
     * @param order who takes part, others send and receive outside of the order only; who must have a message before it is delivered; and
     *            how long it takes to notice what is missing, and who
     * @param work what members compute for it, then without faults; null if nothing
     */
    SequencerChannel(Kernel kernel, Topology topology, ModelConfig.OrderChoice order, FaultSchedule faults,
            SequencerSteps.@Nullable Work work) {
        GroupParameters.Timing timing = order.group().timing();
        this.kernel = kernel;
        this.network = new ModelledNetwork(kernel, topology, faults, timing);
        this.faults = faults;
        this.failureNanos = timing.failureTimeoutNanos();
        this.places = new TreeSet<>(order.members(topology)).stream().mapToInt(Integer::intValue).toArray();
        this.members = new boolean[network.sites()];
        for (int place : places) {
            this.members[place] = true;
        }
        this.enough = order.waitsForAll() ? places.length : places.length / 2 + 1;
        this.receivers = new Receiver[network.sites()];
        this.lastSubmission = new long[network.sites()];
        this.lastDelivery = new long[network.sites()];
        this.steps = work == null ? null : new SequencerSteps(kernel, network, places, enough, work, this::receiver);
        this.lastTentative = order.tentative() ? new long[network.sites()][network.sites()] : null;
        this.lastReceipt = new long[network.sites()][network.sites()];
        this.givenUp = new boolean[network.sites()];
        for (int site = 0; site < network.sites(); site++) {
            if (faults.crashOf(site) != FaultSchedule.NEVER) {
                kernel.schedule(foundOut(site) - kernel.now(), VIEW, this::tellView);
            }
        }
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

    // ------------------------------------------------------------------------------------------ who is there

    /** When the others know that a site has crashed. */
    private long foundOut(int site) {
        long crash = faults.crashOf(site);
        return crash == FaultSchedule.NEVER ? crash : crash + failureNanos;
    }

    private boolean isBelievedAlive(int site) {
        return foundOut(site) > kernel.now();
    }

    private void tellView() {
        Set<Integer> alive = new TreeSet<>();
        for (int site = 0; site < receivers.length; site++) {
            if (isBelievedAlive(site)) {
                alive.add(site);
            }
        }
        alive.forEach(site -> receiver(site).view(alive));
    }

    /** The lowest member that is believed alive; the last one if there is none, which then orders nothing. */
    private int sequencer() {
        for (int place : places) {
            if (isBelievedAlive(place)) {
                return place;
            }
        }
        return places[places.length - 1];
    }

    // ------------------------------------------------------------------------------------------ the order

    @Override
    public void order(int from, Message message) {
        if (!members[from]) {
            throw new IllegalStateException("site " + from + " takes no part in the order");
        }
        int sequencer = sequencer();
        long[] data = network.send(from, message.encodedSize() + DATA_HEADER_BYTES, members);
        if (lastTentative != null) {
            inTurn(lastTentative[from], members, data, TENTATIVE, node -> receiver(node).tentative(from, message));
        }
        boolean senderCrashes = data[sequencer] == FaultSchedule.NEVER
                && faults.crashOf(sequencer) == FaultSchedule.NEVER;
        // Those that it sends after one that does not arrive must not be ordered before it.
        long at = senderCrashes
                ? FaultSchedule.NEVER
                : Math.max(kernel.now(), Math.min(data[sequencer], faults.crashOf(sequencer)));
        lastSubmission[from] = Math.max(lastSubmission[from], at);
        if (lastSubmission[from] != FaultSchedule.NEVER) {
            kernel.schedule(lastSubmission[from] - kernel.now(), ORDER, () -> ordered(sequencer, from, message, data));
        }
    }

    private void ordered(int sequencer, int from, Message message, long[] data) {
        if (steps != null) {
            steps.ordered(sequencer, from, message, data, members);
            return;
        }
        if (givenUp[sequencer] || kernel.now() >= faults.crashOf(sequencer)) {
            orderAgain(sequencer, from, message);
            return;
        }
        long[] order = network.send(sequencer, ORDER_BYTES, members);
        long[] has = new long[order.length];
        for (int place : places) {
            has[place] = Math.max(data[place], order[place]);
            network.countSmall(ORDER_BYTES);
        }
        if (!faults.isCalm() && !passedOn(has, sequencer, from)) {
            givenUp[sequencer] = true;
            orderAgain(sequencer, from, message);
            return;
        }
        long[] told = new long[places.length];
        long at = ++position;
        for (int place : places) {
            for (int i = 0; i < places.length; i++) {
                told[i] = has[places[i]] == FaultSchedule.NEVER
                        ? FaultSchedule.NEVER
                        : network.small(places[i], place, ORDER_BYTES, has[places[i]]);
            }
            Arrays.sort(told);
            long when = Math.max(has[place], told[enough - 1]);
            lastDelivery[place] = Math.max(lastDelivery[place], when);
            if (lastDelivery[place] != FaultSchedule.NEVER) {
                kernel.schedule(lastDelivery[place] - kernel.now(), DELIVER,
                        node -> receiver((int) node).delivered(at, from, message), place);
            }
        }
    }

    /** A message has no position, because its sequencer has crashed. If its sender is alive it sends it to the next one. */
    private void orderAgain(int sequencer, int from, Message message) {
        long next = Math.max(kernel.now(), foundOut(sequencer));
        if (faults.crashOf(from) > next) {
            kernel.schedule(next - kernel.now(), AGAIN, () -> order(from, message));
        }
    }

    /**
     * What sender or sequencer did not send to everybody before they crashed is sent by who has it.
     *
     * @param has when who has the message and its position; completed
     * @return whether anybody has it who is left
     */
    private boolean passedOn(long[] has, int sequencer, int from) {
        long view = Math.max(foundOutOr0(sequencer), foundOutOr0(from));
        if (view == 0) {
            return true;
        }
        int holder = -1;
        boolean all = true;
        for (int place : places) {
            if (faults.crashOf(place) > view) {
                all &= has[place] != FaultSchedule.NEVER;
                if (has[place] != FaultSchedule.NEVER && (holder < 0 || has[place] < has[holder])) {
                    holder = place;
                }
            }
        }
        if (all || holder < 0) {
            return all;
        }
        for (int place : places) {
            if (faults.crashOf(place) > view && has[place] == FaultSchedule.NEVER) {
                has[place] = network.small(holder, place, ORDER_BYTES, Math.max(view, has[holder]));
            }
        }
        return true;
    }

    private long foundOutOr0(int site) {
        return faults.crashOf(site) == FaultSchedule.NEVER ? 0 : foundOut(site);
    }

    // ------------------------------------------------------------------------------------------ beside the order

    @Override
    public void multicast(int from, Message message, Set<Integer> nodes) {
        boolean[] to = new boolean[network.sites()];
        nodes.forEach(node -> to[node] = true);
        long[] arrival = network.send(from, message.encodedSize() + DATA_HEADER_BYTES, to);
        inTurn(lastReceipt[from], to, arrival, RECEIVE, node -> receiver(node).received(from, message));
    }

    /** Sites hear of a sender's message when it arrives, and not before they have heard of those that it sent before. */
    private void inTurn(long[] last, boolean[] to, long[] arrival, Label what, IntConsumer hear) {
        for (int node = 0; node < to.length; node++) {
            if (to[node]) {
                last[node] = Math.max(last[node], arrival[node]);
                if (last[node] != FaultSchedule.NEVER) {
                    kernel.schedule(last[node] - kernel.now(), what, one -> hear.accept((int) one), node);
                }
            }
        }
    }

    @Override
    public void crashed(int node) {
        // It was known beforehand.
    }

    @Override
    public @Nullable Network network() {
        return null;
    }

    @Override
    public Traffic traffic() {
        return network.traffic();
    }
}
