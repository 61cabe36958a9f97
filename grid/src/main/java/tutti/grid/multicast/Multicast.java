package tutti.grid.multicast;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import tutti.core.txn.TransactionId;

/**
 * One node's side of total order multicast: TOM-2 and TOM-3 (Ruivo, Partial Replication for Software Transactional Memory
 * Systems, section IV-B; the idea is Skeen's, in Birman and Joseph, Reliable Communication in the Presence of Failures, 1987). A
 * pure state machine: messages and views in, messages and deliveries out.
 *
 * <p>
 * <b>Without crashes.</b> The sender sends DATA to the destinations. Each draws a stamp from its Lamport clock and proposes it; the
 * final stamp is the largest proposal. In {@link Steps#THREE} destinations propose to the sender, who sends the final stamp in
 * ORDER: three steps, a number of messages linear in that of the destinations. In {@link Steps#TWO} they propose to all who take
 * part, and each computes it: two steps, quadratic. A destination delivers in the order of final stamps: a message when its stamp
 * is known and below the stamps, proposed or final, of all others that it has and has not delivered.
 *
 * <p>
 * <b>Why the order is total and acyclic.</b> Stamps are drawn once, so final stamps differ. When a node delivers at F, what it
 * has not delivered has a final stamp above F, being at least its own proposal; what comes later gets a larger proposal, for
 * the clock has seen F. So every node delivers by increasing final stamp, and these are the same everywhere.
 *
 * <p>
 * <b>Genuine.</b> Only sender and destinations of a message ever send or receive anything about it.
 *
 * <p>
 * <b>What it stands on.</b> Channels between nodes that live are reliable and first in, first out. Nodes stop and do not come
 * back. All are told the same sequence of {@linkplain #view views}, each a subset of the one before, or it and nodes that are new to all,
 * from which a crashed node is missing in the end; a node that is missing by mistake counts as crashed. A number is given to another node only when nothing
 * {@linkplain #isClean is kept} of the one before. A message that was sent in a view is not
 * received before the receiver has that view, and nothing is received from nodes that are not in the receiver's view.
 *
 * <p>
 * <b>Crashes.</b> A message is <em>disturbed</em> for a node when somebody who takes part is not in its view. Then nobody proposes a
 * stamp for it in the usual way, or computes one. It is coordinated by its sender, or by the lowest destination if that is gone.
 * The coordinator asks all destinations that are left (QUERY, which brings the message to those that lack it). If one knows the
 * final stamp, that is it. If nobody does, the coordinator asks them for other proposals (RENEW), the largest of which is the
 * final stamp. ORDER tells all. So those who are left agree, whatever the number of crashes: they answer only in the view of the
 * question, in which nothing can come any more of those who are gone, or of what was computed without knowledge of the view.
 *
 * <p>
 * <b>Uniform.</b> What a node has delivered before it crashed must bind the others, in two ways.
 * <ul>
 * <li><em>The same stamps.</em> A node delivers only when it knows that more nodes than may crash know the final stamp (or that all
 * do that are left); so one of these is asked. Who has received ORDER knows of two, itself and who sent it. Otherwise ACK
 * tells it: each sends it to those that come next among those who take part.
 * <li><em>No gaps.</em> If q, gone, has delivered m at F but not n, then n must not come before m at p, to whom both go as well. Nobody
 * knows a final stamp of n, so p proposes anew; and must do so above F. F is known to somebody who is left, so the coordinator of
 * m finds it. Therefore p answers RENEW only when it knows, of all that is disturbed and was there when the view began, either the
 * final stamp or that it is renewed; its next stamp is above all those. A message that p gets later q has not delivered, since p
 * has not proposed a stamp for it. Nobody waits in a circle: QUERY is always answered at once.
 * </ul>
 * With {@code crashes} = 0 nothing is acknowledged, as in the paper: what a crashed node has delivered last, others may deliver
 * in another order, and those whom it told are wrong. More than that many crashes "at a time" means: before what an earlier one
 * has disturbed is {@linkplain #isSettled settled}.
 *
 * <p>
 * <b>Memory.</b> A message is kept until every destination has delivered it, since it may be asked for; {@link #forget} says so.
 */
public class Multicast {
    /** How many communication steps from DATA to the final stamp. */
    public enum Steps {
        /** Proposals go to all who take part. */
        TWO,
        /** Proposals go to the sender, who decides. */
        THREE
    }

    /** What the state machine asks of its world. It may call the state machine back. */
    public interface World {
        /** Send a message to another node. */
        void send(int to, MulticastMessage message);

        /** A message has come that will be delivered here; its final stamp is not known yet. */
        void announced(Ordered message);

        /** The final stamp of an announced message is known. */
        void ordered(Ordered message);

        /** A message is delivered, and has not been before. */
        void delivered(Ordered message);

        /** A message of this node will not be delivered, since all of its destinations have crashed. */
        void lost(Ordered message);
    }

    private final int self;
    private final Steps steps;
    private final int crashes;
    final LamportClock clock;
    private final World world;
    private long viewNumber;
    private Set<Integer> view;
    private final Map<TransactionId, Ordered> messages = new LinkedHashMap<>();
    /** What is to be delivered here, by stamp. */
    private final TreeMap<Long, Ordered> queue = new TreeMap<>();
    /** Proposals that came before their message. */
    private final Map<TransactionId, Map<Integer, Long>> early = new LinkedHashMap<>();
    /** What is disturbed since the view began, and of which it is not known yet whether somebody knows its final stamp. */
    private final Set<TransactionId> open = new HashSet<>();
    /** Who has asked for other proposals and must wait for those. */
    private final Map<TransactionId, Integer> renewals = new LinkedHashMap<>();
    private boolean delivering;
    /** Whether nothing is kept that is disturbed, as far as is known: so that not all need be looked at again and again. */
    private boolean clean = true;

    /**
     * In its first view, number 0.
     *
     * @param self this node
     * @param crashes how many nodes may crash at a time without others delivering anything else than they did
     * @param clock of this node; shared with what else draws stamps
     */
    public Multicast(int self, Steps steps, int crashes, LamportClock clock, Set<Integer> view, World world) {
        this.self = self;
        this.steps = steps;
        this.crashes = crashes;
        this.clock = clock;
        this.world = world;
        this.view = new TreeSet<>(view);
    }

    /**
     * Sends a message.
     *
     * @param id not used before, of this node
     * @param destinations at least one, in the view; this node may be one
     */
    public void send(TransactionId id, Set<Integer> destinations, byte[] payload) {
        if (destinations.isEmpty() || id.node() != self || messages.containsKey(id)) {
            throw new IllegalArgumentException("cannot send " + id + " to " + destinations + " from node " + self);
        }
        int[] to = destinations.stream().mapToInt(Integer::intValue).sorted().toArray();
        sendTo(to, new MulticastMessage.Data(id, to, payload));
        Ordered message = enter(id, to, payload);
        propose(message);
    }

    /** A message has come from another node of the view, which was sent in this view or an earlier one. */
    public void received(int from, MulticastMessage message) {
        switch (message) {
            case MulticastMessage.Data data -> data(data);
            case MulticastMessage.Propose propose -> proposed(from, propose);
            case MulticastMessage.Order order -> order(from, order);
            case MulticastMessage.Ack ack -> acknowledged(from, ack);
            case MulticastMessage.Query query -> query(from, query);
            case MulticastMessage.State state -> state(from, state);
            case MulticastMessage.Renew renew -> renew(from, renew);
            case MulticastMessage.Renewed renewed -> renewed(from, renewed);
        }
    }

    /**
     * Another view.
     *
     * @param number larger than before; the same view has the same number at all nodes
     * @param members those that are left, this node among them, and those that have joined
     */
    public void view(long number, Set<Integer> members) {
        viewNumber = number;
        view = new TreeSet<>(members);
        clean = false;
        early.keySet().removeIf(id -> !view.contains(id.node()));
        open.clear();
        renewals.clear();
        List<Ordered> disturbed = messages.values().stream().filter(this::isDisturbed).toList();
        for (Ordered message : disturbed) {
            message.holders.retainAll(view);
            if (!message.isKnown() && message.goesTo(self)) {
                open.add(message.id());
            }
        }
        for (Ordered message : disturbed) {
            int coordinator = coordinator(message);
            if (coordinator == self) {
                recover(message);
            } else if (!message.isKnown() && !view.contains(message.sender())) {
                // It may not have come there.
                sendTo(coordinator, new MulticastMessage.Data(message.id(), message.destinations(), message.payload()));
            }
        }
        deliver();
    }

    /**
     * Every node of the view has delivered whatever has a final stamp up to this one and is delivered there: it is not asked for
     * any more.
     */
    public void forget(long stamp) {
        messages.values().removeIf(message -> message.isKnown() && message.stamp() <= stamp
                && (message.delivered || !message.goesTo(self)));
    }

    /** What is delivered here from now on has a larger stamp than this. */
    public long settled() {
        return queue.isEmpty() ? clock.latest() : queue.firstKey() - 1;
    }

    /** Whether the stamp of everything that a crash has disturbed is known here, and held by as many nodes as it must be. */
    public boolean isSettled() {
        return messages.values().stream().filter(this::isDisturbed)
                .allMatch(message -> message.isKnown() && (isHeld(message) || !message.goesTo(self)));
    }

    /** Whether nothing is kept that nodes take part in which are not in the view. */
    public boolean isClean() {
        clean = clean || messages.values().stream().noneMatch(this::isDisturbed);
        return clean;
    }

    /** How many messages are kept. */
    public int size() {
        return messages.size();
    }

    /** The messages that wait for delivery here, for people. */
    public List<Ordered> pending() {
        return new ArrayList<>(queue.values());
    }

    // ------------------------------------------------------------------------------------------ without crashes

    private void sendTo(int[] nodes, MulticastMessage message) {
        for (int node : nodes) {
            sendTo(node, message);
        }
    }

    private void sendTo(int node, MulticastMessage message) {
        if (node != self && view.contains(node)) {
            world.send(node, message);
        }
    }

    private void sendToAll(Ordered of, MulticastMessage message) {
        sendTo(of.destinations(), message);
        if (!of.goesTo(of.sender())) {
            sendTo(of.sender(), message);
        }
    }

    /** Takes a message that is new here, and draws a proposal if it is delivered here. */
    private Ordered enter(TransactionId id, int[] destinations, byte[] payload) {
        Ordered message = new Ordered(id, destinations, payload);
        messages.put(id, message);
        clean &= !isDisturbed(message);
        Map<Integer, Long> before = early.remove(id);
        if (before != null) {
            message.proposals.putAll(before);
        }
        if (message.goesTo(self)) {
            message.stamp(clock.next(), false);
            message.proposals.put(self, message.stamp());
            queue.put(message.stamp(), message);
            world.announced(message);
        }
        return message;
    }

    /** Tells the own proposal to those who need it. */
    private void propose(Ordered message) {
        if (message.goesTo(self)) {
            MulticastMessage.Propose proposal = new MulticastMessage.Propose(message.id(), message.stamp());
            if (steps == Steps.TWO) {
                sendToAll(message, proposal);
            } else {
                sendTo(message.sender(), proposal);
            }
        }
        compute(message);
    }

    private void data(MulticastMessage.Data data) {
        Ordered message = messages.get(data.id());
        boolean news = message == null;
        if (message == null) {
            message = enter(data.id(), data.destinations(), data.payload());
        }
        if (!isDisturbed(message)) {
            propose(message);
        } else if (news && coordinator(message) == self) {
            recover(message);
        }
    }

    private void proposed(int from, MulticastMessage.Propose propose) {
        clock.seen(propose.stamp());
        Ordered message = messages.get(propose.id());
        if (message != null) {
            message.proposals.put(from, propose.stamp());
            compute(message);
        } else if (view.contains(propose.id().node()) && propose.id().node() != self) {
            early.computeIfAbsent(propose.id(), _ -> new LinkedHashMap<>()).put(from, propose.stamp());
        }
    }

    /** Computes the final stamp, if that is for this node to do and all have proposed. */
    private void compute(Ordered message) {
        if (message.isKnown() || isDisturbed(message) || (steps == Steps.THREE && message.sender() != self)
                || message.proposals.size() < message.destinations().length) {
            return;
        }
        long last = finalStamp(message.proposals.values());
        if (steps == Steps.THREE) {
            sendToAll(message, new MulticastMessage.Order(message.id(), last));
        } else {
            acknowledge(message, crashes, self);
        }
        know(message, last);
    }

    /**
     * Tells so many who come next among those who take part that this node knows the final stamp.
     *
     * @param but is not among them, since all know of it
     */
    private void acknowledge(Ordered message, int count, int but) {
        if (count <= 0) {
            return;
        }
        TreeSet<Integer> others = new TreeSet<>();
        for (int node : message.destinations()) {
            others.add(node);
        }
        others.add(message.sender());
        others.retainAll(view);
        others.remove(self);
        others.remove(but);
        List<Integer> next = new ArrayList<>(others.tailSet(self));
        next.addAll(others.headSet(self));
        MulticastMessage.Ack ack = new MulticastMessage.Ack(message.id());
        for (int node : next.subList(0, Math.min(count, next.size()))) {
            if (message.goesTo(node)) {
                world.send(node, ack);
            }
        }
    }

    /** The largest proposal is the final stamp. */
    long finalStamp(Collection<Long> proposals) {
        return Collections.max(proposals);
    }

    private void order(int from, MulticastMessage.Order order) {
        Ordered message = messages.get(order.id());
        if (message == null) {
            // It was delivered everywhere, which the coordinator did not know yet.
            world.send(from, new MulticastMessage.Ack(order.id()));
            return;
        }
        message.holders.add(from);
        if (crashes > 0 && message.goesTo(from)) {
            world.send(from, new MulticastMessage.Ack(order.id()));
        }
        acknowledge(message, crashes - 1, from);
        know(message, order.stamp());
    }

    private void know(Ordered message, long last) {
        message.holders.add(self);
        if (!message.isKnown()) {
            sawFinal(last);
            boolean queued = queue.remove(message.stamp(), message);
            message.stamp(last, true);
            message.proposals.clear();
            message.recovery = Ordered.Recovery.NONE;
            if (queued) {
                queue.put(last, message);
                world.ordered(message);
            }
            closed(message.id());
        }
        deliver();
    }

    /** No later proposal may be below a final stamp. */
    void sawFinal(long stamp) {
        clock.seen(stamp);
    }

    private void acknowledged(int from, MulticastMessage.Ack ack) {
        Ordered message = messages.get(ack.id());
        if (message != null) {
            message.holders.add(from);
            deliver();
        }
    }

    private void deliver() {
        if (delivering) {
            return;
        }
        delivering = true;
        try {
            while (!queue.isEmpty()) {
                Ordered first = next(queue);
                if (first == null || !first.isKnown() || !isHeld(first)) {
                    return;
                }
                queue.remove(first.stamp());
                first.delivered = true;
                world.delivered(first);
            }
        } finally {
            delivering = false;
        }
    }

    /** What is to be delivered next: the message with the lowest stamp. */
    Ordered next(NavigableMap<Long, Ordered> waiting) {
        return waiting.firstEntry().getValue();
    }

    /** Whether so many nodes hold what determines the final stamp that what is left after crashes would determine the same. */
    boolean isHeld(Ordered message) {
        int left = 0;
        for (int node : message.destinations()) {
            left += view.contains(node) ? 1 : 0;
        }
        if (!message.goesTo(message.sender()) && view.contains(message.sender())) {
            left++;
        }
        return message.holders.size() > Math.min(crashes, left - 1);
    }

    // ------------------------------------------------------------------------------------------ crashes

    private boolean isDisturbed(Ordered message) {
        return !view.contains(message.sender())
                || Arrays.stream(message.destinations()).anyMatch(node -> !view.contains(node));
    }

    private int coordinator(Ordered message) {
        if (view.contains(message.sender())) {
            return message.sender();
        }
        return Arrays.stream(message.destinations()).filter(view::contains).findFirst().orElse(-1);
    }

    /** Finds out what the final stamp of a disturbed message is or must be, and sees to it that all know it. */
    void recover(Ordered message) {
        if (message.isKnown()) {
            sendToAll(message, new MulticastMessage.Order(message.id(), message.stamp()));
            return;
        }
        message.recovery = Ordered.Recovery.ASKED;
        message.answers.clear();
        sendTo(message.destinations(), new MulticastMessage.Query(message.id(), viewNumber, message.destinations(),
                message.payload()));
        if (message.goesTo(self)) {
            message.answers.put(self, 0L);
        }
        conclude(message);
    }

    private void query(int from, MulticastMessage.Query query) {
        Ordered message = messages.get(query.id());
        if (message == null) {
            message = enter(query.id(), query.destinations(), query.payload());
        }
        world.send(from, new MulticastMessage.State(message.id(), query.view(), knownStamp(message)));
    }

    /** The final stamp, or 0. */
    long knownStamp(Ordered message) {
        return message.isKnown() ? message.stamp() : 0;
    }

    private void state(int from, MulticastMessage.State state) {
        answered(from, state.id(), state.view(), state.stamp(), Ordered.Recovery.ASKED);
    }

    private void renew(int from, MulticastMessage.Renew renew) {
        renewals.put(renew.id(), from);
        closed(renew.id());
    }

    private void renewed(int from, MulticastMessage.Renewed renewed) {
        clock.seen(renewed.stamp());
        answered(from, renewed.id(), renewed.view(), renewed.stamp(), Ordered.Recovery.RENEWED);
    }

    private void answered(int from, TransactionId id, long ofView, long stamp, Ordered.Recovery question) {
        Ordered message = messages.get(id);
        if (message != null && ofView == viewNumber && message.recovery == question) {
            message.answers.put(from, stamp);
            conclude(message);
        }
    }

    /** Of a disturbed message it is known now whether somebody knows its final stamp. */
    private void closed(TransactionId id) {
        open.remove(id);
        if (mustWait(open)) {
            return;
        }
        Map<TransactionId, Integer> now = new LinkedHashMap<>(renewals);
        renewals.clear();
        now.forEach((of, coordinator) -> {
            Ordered message = messages.get(of);
            if (message == null || message.isKnown()) {
                return;
            }
            queue.remove(message.stamp());
            message.stamp(clock.next(), false);
            queue.put(message.stamp(), message);
            if (coordinator == self) {
                answered(self, of, viewNumber, message.stamp(), Ordered.Recovery.RENEWED);
            } else {
                world.send(coordinator, new MulticastMessage.Renewed(of, viewNumber, message.stamp()));
            }
        });
    }

    /** Whether nothing may be proposed anew, as long as these are open. */
    boolean mustWait(Set<TransactionId> stillOpen) {
        return !stillOpen.isEmpty();
    }

    /** Goes on with a recovery if all destinations that are left have answered. */
    private void conclude(Ordered message) {
        List<Integer> left = Arrays.stream(message.destinations()).filter(view::contains).boxed().toList();
        if (left.isEmpty()) {
            messages.remove(message.id());
            world.lost(message);
        } else if (message.answers.keySet().containsAll(left)) {
            long largest = Collections.max(message.answers.values());
            if (largest > 0) {
                sendToAll(message, new MulticastMessage.Order(message.id(), largest));
                know(message, largest);
            } else {
                message.recovery = Ordered.Recovery.RENEWED;
                message.answers.clear();
                sendTo(message.destinations(), new MulticastMessage.Renew(message.id(), viewNumber));
                if (message.goesTo(self)) {
                    renew(self, new MulticastMessage.Renew(message.id(), viewNumber));
                }
            }
        }
    }
}
