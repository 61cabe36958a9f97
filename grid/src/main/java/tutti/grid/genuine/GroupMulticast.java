package tutti.grid.genuine;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.TransactionId;
import tutti.grid.multicast.LamportClock;

/**
 * One node's side of total order multicast to groups, of each of which any minority may crash at any instant. A pure state machine: messages
 * in, messages and deliveries out. The ideas are those of Skeen's algorithm with the stamps of each group agreed inside of it (Gotsman,
 * Lefort and Chockler, White-Box Atomic Multicast, 2019; Pacheco, Dotti and Pedone, PrimCast, 2022); no views are needed.
 *
 * <p>
 * <b>Without crashes: three steps, at every member.</b> The sender sends DATA to the leaders of the groups. Each draws a stamp from its
 * group's clock and proposes it in ACCEPT to all members of all groups. A member that has the proposals of all groups accepts them: its
 * clock sees the largest, which will be the final stamp, and it tells all members by ACK, naming the ballots of the proposals. A member
 * <em>commits</em> the message when more than half of each group have acknowledged the same ballots, its own leader among them. It
 * delivers what is committed and lies below all else that its leader has proposed and it has not delivered.
 *
 * <p>
 * <b>When a leader is gone.</b> Another member asks its group to go on in a higher ballot: PREPARE. Members PROMISE to take part in
 * no lower one, and tell what they have accepted or know to be final, and their clocks. From more than half of them the new leader takes:
 * every final stamp; what was accepted by those who had joined the highest ballot; the latest clock. All INSTALL this state. When more than
 * half have, the ballot is <em>stable</em>: then its leader proposes, the same stamps for what the state holds, and its members deliver. Who
 * is asked in a ballot that is over says so: PASSED.
 *
 * <p>
 * <b>What it stands on.</b> Channels between nodes that live are reliable and first in, first out. Nodes stop and do not come back. More
 * than half of each group live. For progress, but not for safety, somebody who lives must lead each group in the end ({@link #lead}).
 *
 * <p>
 * <b>One stamp of each group.</b> If more than half of a group have accepted a proposal, all later ballots keep it. One of them is asked
 * by the next leader. If it is of the highest ballot that was joined by those asked, its proposal is taken. If somebody has joined a
 * higher one, that one's state held the proposal already, by induction. So final stamps agree, whichever ballots they are counted in.
 * They differ between messages: a leader's clock is at least that of more than half of its group, and who accepts a proposal has seen it.
 *
 * <p>
 * <b>No gaps.</b> Let p deliver m with stamp F in ballot b, stable, and let n go to p's group g, too, with a final stamp below F. Then p has
 * delivered n before. For the proposal of g for n is below F, and was accepted by more than half of g in some ballot c.
 * <ul>
 * <li>c &lt; b: it is part of the state of b, which p has installed, and p waits for it.
 * <li>c = b: the leader has proposed n before its clock saw F. If m was committed in b, then p has its leader's ACK, and by first in, first
 * out the proposal of n before; so p waits. If m was final in the state of b, that clock was at F already: there is no such n.
 * <li>c &gt; b: the clock of c's leader began at F or above, since more than half of g have seen F before they joined c. So n was part of
 * the state of c, proposed in a ballot d. Not d &gt; b, for the same reason. If d = b, p knows of it as above. If d &lt; b, then n was not
 * in the state of b (p would know); nor is it in any later one, since more than half had joined b when p delivered, and what
 * others remember of lower ballots is not taken any more.
 * </ul>
 * Hence every node delivers in the order of final stamps: uniform total order, acyclic.
 *
 * <p>
 * <b>Uniform agreement.</b> What anybody has delivered, more than half of each of its groups have accepted, so every later leader has
 * it, proposes it again, and all acknowledge. What a sender could not bring to all groups before it crashed is brought there by
 * {@link #tick} of who has it.
 *
 * <p>
 * <b>Whom a crash makes wait.</b> That of a member that does not lead, nobody. That of a leader, those messages that go to its group, and
 * what comes behind them at nodes that they also go to, until another leads; no other group.
 *
 * <p>
 * <b>Genuine.</b> Only the sender and the members of the groups of a message send or receive anything about it.
 *
 * <p>
 * <b>Memory.</b> A message is kept until all members of its groups have delivered it and its sender will not send it again, as
 * {@link #announce} tells. What comes late about a message that was forgotten carries a stamp at or below that of the last
 * delivery, by which it is known: no message that is yet to come can have such a one, as shown above. Members that have crashed stand
 * in the way until {@link #gone}. Of what a leader has proposed to other groups only, before it crashed together with the sender, these keep
 * the proposal, without the message itself.
 */
public class GroupMulticast {
    /** What the state machine asks of its world. It must not be called back from there. */
    public interface World {
        /** Send a message to another node. */
        void send(int to, GenuineMessage message);

        /** A message is delivered, and has not been before. Stamps rise from each delivery to the next. */
        void delivered(TransactionId id, long stamp, byte[] payload);

        /** A message that this node has sent will be delivered by all members of its groups that live. Told once. */
        void finished(TransactionId id, long stamp);
    }

    private final int self;
    private final Groups groups;
    private final int group;
    private final World world;
    private final LamportClock clock;
    private final Map<TransactionId, Tracked> messages = new LinkedHashMap<>();
    /** What was proposed in this group and is not delivered here, by its bound. */
    private final TreeMap<Long, Tracked> queue = new TreeMap<>();
    private final Deque<GenuineMessage> toSelf = new ArrayDeque<>();
    private boolean working;
    // Ballots of this node's group.
    private long promised;
    private long joined;
    /** The highest that somebody has heard of, as far as this node knows. */
    private long heard;
    /** By ballot, not below the one that was joined: who goes on in it. */
    private final TreeMap<Long, Set<Integer>> installed = new TreeMap<>();
    private final Map<Integer, GenuineMessage.Promise> promises = new HashMap<>();
    private boolean leading;
    /** Of other groups: who seems to lead them. */
    private final Map<Integer, Integer> leaders = new HashMap<>();
    // What others need no more.
    private long deliveredStamp;
    private final Outbox outbox = new Outbox();
    private final Reports reports = new Reports();
    private final Parts parts;

    /** With a clock of its own. */
    public GroupMulticast(int self, Groups groups, World world) {
        this(self, groups, world, new Parts(Parts.BYTES));
    }

    /** The same, for tests with other parts. */
    GroupMulticast(int self, Groups groups, World world, Parts parts) {
        this(self, groups, new LamportClock(Math.max(groups.groupOf(self), 0)), world, parts);
    }

    /**
     * In the first ballot, 0, which the first member of each group leads.
     *
     * @param clock of this node's group, so that stamps of different groups differ; it may see other stamps besides
     */
    public GroupMulticast(int self, Groups groups, LamportClock clock, World world) {
        this(self, groups, clock, world, new Parts(Parts.BYTES));
    }

    private GroupMulticast(int self, Groups groups, LamportClock clock, World world, Parts parts) {
        this.self = self;
        this.parts = parts;
        this.groups = groups;
        this.group = groups.groupOf(self);
        this.world = world;
        this.clock = clock;
        if (group >= 0) {
            installed.put(0L, new HashSet<>(groups.of(group)));
            leading = groups.leader(group, 0) == self;
        }
    }

    /**
     * Sends a message.
     *
     * @param id of this node, with a larger serial than any before
     * @param to groups, at least one
     */
    public void send(TransactionId id, Set<Integer> to, byte[] payload) {
        if (to.isEmpty() || id.node() != self || !outbox.isNext(id)
                || !groups.members().keySet().containsAll(to)) {
            throw new IllegalArgumentException("cannot send " + id + " to groups " + to + " from node " + self);
        }
        GenuineMessage.Data data = new GenuineMessage.Data(id, new TreeSet<>(to).stream()
                .mapToInt(Integer::intValue).toArray(), payload);
        outbox.add(data);
        for (int one : data.groups()) {
            // Somebody else may lead it by now; whoever does is asked by tick.
            send(one == group ? groups.leader(one, joined) : leaders.getOrDefault(one, groups.leader(one, 0)), data);
        }
        work();
    }

    /** A message has come from another node. */
    public void received(int from, GenuineMessage message) {
        handle(from, message);
        work();
    }

    /** This node is to lead its group, since who does seems to be gone. More than one may be told so. */
    public void lead() {
        if (group < 0) {
            throw new IllegalStateException("node " + self + " is in no group");
        }
        long ballot = heard + 1;
        while (groups.leader(group, ballot) != self) {
            ballot++;
        }
        sendToGroup(new GenuineMessage.Prepare(ballot));
        work();
    }

    /** Time has passed: sends again what should have been delivered since. To be called now and then. */
    public void tick() {
        outbox.due().forEach(this::repeat);
        for (Tracked message : queue.values()) {
            if (++message.ticks >= Outbox.TICKS_BEFORE_REPETITION && message.stamp == 0) {
                repeat(new GenuineMessage.Data(message.id, message.groups, message.payload));
            }
        }
        work();
    }

    private void repeat(GenuineMessage.Data data) {
        everybody(data.groups()).forEach(node -> send(node, data));
    }

    /** Tells those with whom this node has messages in common how far it is, so that they need not keep them. */
    public void announce() {
        GenuineMessage.Progress here = new GenuineMessage.Progress(deliveredStamp, outbox.unfinished());
        Set<Integer> to = new TreeSet<>();
        messages.values().stream().filter(message -> message.delivered)
                .forEach(message -> to.addAll(everybody(message.groups)));
        outbox.told().forEach(of -> to.addAll(everybody(of)));
        to.forEach(node -> send(node, here));
        work();
    }

    /** A node has crashed for good, and nothing of it comes any more. */
    public void gone(int node) {
        reports.gone(node);
        parts.gone(node);
        forget();
    }

    /** How many messages are kept, those that this node may have to send again among them. */
    public int size() {
        return messages.size() + outbox.size();
    }

    /** The ballot in which this node takes part, of its group. */
    public long ballot() {
        return joined;
    }

    /** Who leads that ballot. */
    public int leader() {
        return groups.leader(group, joined);
    }

    /** Whether this node leads its group, as far as it knows. */
    public boolean isLeading() {
        return leading && !isWaiting();
    }

    /** Whether this node waits for another ballot of its group, in which somebody wanted to lead. If that lasts, somebody must. */
    public boolean isWaiting() {
        return heard > joined;
    }

    /** What waits for delivery here, for people. */
    public List<String> pending() {
        return queue.values().stream().map(Tracked::toString).toList();
    }

    // ------------------------------------------------------------------------------------------ messages

    private void send(int to, GenuineMessage message) {
        if (to == self) {
            toSelf.add(message);
        } else if (!reports.isGone(to)) {
            world.send(to, message);
        }
    }

    private void sendToGroup(GenuineMessage message) {
        groups.of(group).forEach(node -> send(node, message));
    }

    private Set<Integer> everybody(int[] of) {
        Set<Integer> nodes = new TreeSet<>();
        for (int one : of) {
            nodes.addAll(groups.of(one));
        }
        return nodes;
    }

    /** What this node has told itself. */
    private void work() {
        if (working) {
            return;
        }
        working = true;
        // What is thrown ends the node.
        while (!toSelf.isEmpty()) {
            handle(self, toSelf.removeFirst());
        }
        working = false;
    }

    private void handle(int from, GenuineMessage message) {
        switch (message) {
            case GenuineMessage.Data data -> data(from, data);
            case GenuineMessage.Accept accept -> proposed(from, accept);
            case GenuineMessage.Ack ack -> acknowledged(from, ack);
            case GenuineMessage.Delivered done -> {
                leaders.put(groups.groupOf(from), from);
                finish(done.id(), done.stamp());
            }
            case GenuineMessage.Prepare prepare -> prepare(from, prepare);
            case GenuineMessage.Part part -> parts.came(from, part);
            case GenuineMessage.Promise promise -> promised(from, parts.whole(from, promise));
            case GenuineMessage.Install install -> install(from, parts.whole(from, install));
            case GenuineMessage.Installed done -> installed(from, done.ballot());
            case GenuineMessage.Passed passed -> heard = Math.max(heard, passed.ballot());
            case GenuineMessage.Progress how -> {
                reports.reported(from, how);
                forget();
            }
        }
    }

    // ------------------------------------------------------------------------------------------ without crashes

    /** Whether this node has promised to take part in no other ballot than that which it has joined. */
    private boolean isCurrent() {
        return promised == joined;
    }

    private Tracked track(TransactionId id) {
        return messages.computeIfAbsent(id, Tracked::new);
    }

    private void data(int from, GenuineMessage.Data data) {
        if (group < 0 || !isLeading()) {
            return;
        }
        Tracked message = messages.get(data.id());
        if (message != null && message.proposal > 0) {
            if (message.delivered && from == data.id().node() && from != self) {
                send(from, new GenuineMessage.Delivered(message.id, message.stamp));
            }
            return;
        }
        message = track(data.id());
        begin(message, data.groups(), data.payload(), clock.next());
        propose(message, data.payload());
    }

    /** A message has got a proposal of this group. */
    private void begin(Tracked message, int[] to, byte[] payload, long proposal) {
        message.groups = to;
        message.payload = payload;
        message.proposal = proposal;
        queue.put(proposal, message);
    }

    private void propose(Tracked message, byte[] payload) {
        long last = message.delivered ? message.stamp : 0;
        for (int node : everybody(message.groups)) {
            boolean lacksIt = groups.of(group).contains(node);
            send(node, new GenuineMessage.Accept(message.id, message.groups, group, joined,
                    message.proposal, last, lacksIt ? payload : new byte[0]));
        }
    }

    private void proposed(int from, GenuineMessage.Accept accept) {
        if (group < 0 || groups.leader(accept.group(), accept.ballot()) != from) {
            return;
        }
        leaders.put(accept.group(), from);
        Tracked known = messages.get(accept.id());
        boolean unknown = known == null || known.proposal == 0;
        if (accept.group() == group) {
            if (accept.ballot() < promised) {
                send(from, new GenuineMessage.Passed(promised));
            }
            if (accept.ballot() != joined || !isCurrent() || (unknown && accept.stamp() <= deliveredStamp)) {
                return;
            }
        } else if (unknown && accept.last() > 0 && accept.last() <= deliveredStamp) {
            return;
        }
        Tracked message = track(accept.id());
        message.accepts.merge(accept.group(), accept, (one, other) -> one.ballot() > other.ballot() ? one : other);
        if (accept.group() == group && message.proposal == 0) {
            begin(message, accept.groups(), accept.payload(), accept.stamp());
        }
        accept(message);
    }

    /** Accepts the proposals for a message, if they are all there, of the present ballot in this group. */
    private void accept(Tracked message) {
        GenuineMessage.Accept own = message.accepts.get(group);
        if (message.proposal == 0 || own == null || own.ballot() != joined || !isCurrent()
                || message.accepts.size() < message.groups.length) {
            return;
        }
        long[] ballots = new long[message.groups.length];
        List<Long> proposals = new ArrayList<>();
        for (int i = 0; i < ballots.length; i++) {
            GenuineMessage.Accept accept = message.accepts.get(message.groups[i]);
            if (accept == null) {
                throw new IllegalStateException("a proposal of a group that " + message + " does not go to");
            }
            ballots[i] = accept.ballot();
            proposals.add(accept.stamp());
        }
        if (Arrays.equals(message.acknowledged, ballots)) {
            return;
        }
        long last = finalStamp(proposals);
        message.accepted = true;
        message.acknowledged = ballots;
        sawAccepted(last);
        GenuineMessage.Ack ack = new GenuineMessage.Ack(message.id, ballots, last);
        everybody(message.groups).forEach(node -> send(node, ack));
    }

    /** The largest proposal is the final stamp. */
    long finalStamp(Collection<Long> proposals) {
        return Collections.max(proposals);
    }

    /** No later proposal may be below a stamp that was accepted. */
    void sawAccepted(long stamp) {
        clock.seen(stamp);
    }

    private void acknowledged(int from, GenuineMessage.Ack ack) {
        Tracked known = messages.get(ack.id());
        if (group < 0 || ((known == null || known.proposal == 0) && ack.stamp() <= deliveredStamp)) {
            return;
        }
        Tracked message = track(ack.id());
        message.acks.put(from, ack);
        commit(message);
    }

    /** Commits a message, if enough members of each group have accepted the same proposals, the own leader among them. */
    private void commit(Tracked message) {
        if (message.stamp > 0 || message.proposal == 0 || !isCurrent()) {
            return;
        }
        GenuineMessage.Ack own = decisive(message);
        if (own == null || own.ballots()[Arrays.binarySearch(message.groups, group)] != joined) {
            return;
        }
        for (int one : message.groups) {
            long count = groups.of(one).stream().map(message.acks::get)
                    .filter(ack -> ack != null && Arrays.equals(ack.ballots(), own.ballots())).count();
            if (count < quorum(one)) {
                return;
            }
        }
        queue.remove(message.proposal);
        message.stamp = own.stamp();
        queue.put(message.stamp, message);
        clock.seen(message.stamp);
        deliver();
    }

    /** What the own leader has acknowledged: what it has proposed before its clock saw the final stamp has come here before. */
    GenuineMessage.@Nullable Ack decisive(Tracked message) {
        return message.acks.get(groups.leader(group, joined));
    }

    /** Of a group. */
    int quorum(int of) {
        return groups.quorum(of);
    }

    private void deliver() {
        while (!queue.isEmpty() && isCurrent() && isStable()) {
            Tracked first = queue.firstEntry().getValue();
            if (first.stamp == 0) {
                return;
            }
            queue.pollFirstEntry();
            if (first.stamp <= deliveredStamp) {
                throw new IllegalStateException(first + " would be delivered after " + deliveredStamp);
            }
            first.delivered = true;
            deliveredStamp = first.stamp;
            world.delivered(first.id, first.stamp, first.payload);
            if (first.id.node() == self) {
                finish(first.id, first.stamp);
            } else if (isLeading() && !everybody(first.groups).contains(first.id.node())) {
                send(first.id.node(), new GenuineMessage.Delivered(first.id, first.stamp));
            }
        }
    }

    /** Whether more than half of the group go on in the ballot that this node has joined. */
    boolean isStable() {
        return installed.getOrDefault(joined, Set.of()).size() >= groups.quorum(group);
    }

    // ------------------------------------------------------------------------------------------ ballots

    private void prepare(int from, GenuineMessage.Prepare prepare) {
        if (group < 0 || groups.leader(group, prepare.ballot()) != from) {
            return;
        }
        if (prepare.ballot() <= promised) {
            send(from, new GenuineMessage.Passed(promised));
            return;
        }
        promised = prepare.ballot();
        heard = Math.max(heard, promised);
        leading = false;
        promises.clear();
        List<GenuineMessage.Entry> rest = parts.ahead(promised, remembered(), part -> send(from, part));
        send(from, new GenuineMessage.Promise(promised, joined, clock.latest(), rest));
    }

    /** What this node has accepted or knows to be final. What was only proposed to it may be proposed otherwise. */
    List<GenuineMessage.Entry> remembered() {
        return messages.values().stream().filter(message -> message.accepted || message.stamp > 0).map(Tracked::entry)
                .toList();
    }

    private void promised(int from, GenuineMessage.Promise promise) {
        if (promise.ballot() != promised || joined == promised) {
            return;
        }
        promises.put(from, promise);
        if (promises.size() >= groups.quorum(group)) {
            long latest = promises.values().stream().mapToLong(GenuineMessage.Promise::clock).max().orElseThrow();
            List<GenuineMessage.Entry> rest = parts.ahead(promised, chosen(promises.values()), this::sendToGroup);
            sendToGroup(new GenuineMessage.Install(promised, latest, rest));
        }
    }

    /** With what to go on. */
    Collection<GenuineMessage.Entry> chosen(Collection<GenuineMessage.Promise> of) {
        return GenuineMessage.Promise.chosen(of);
    }

    private void install(int from, GenuineMessage.Install install) {
        if (group < 0 || install.ballot() < promised || install.ballot() <= joined
                || groups.leader(group, install.ballot()) != from) {
            return;
        }
        promised = install.ballot();
        joined = promised;
        heard = Math.max(heard, promised);
        leading = false;
        installed.headMap(joined).clear();
        clock.seen(install.clock());
        replace(install.entries());
        installed.computeIfAbsent(joined, _ -> new HashSet<>()).add(from);
        sendToGroup(new GenuineMessage.Installed(joined));
    }

    private void replace(List<GenuineMessage.Entry> entries) {
        queue.clear();
        Set<TransactionId> kept = new HashSet<>();
        for (GenuineMessage.Entry entry : entries) {
            Tracked message = track(entry.id());
            kept.add(entry.id());
            message.groups = entry.groups();
            message.payload = entry.payload();
            message.proposal = entry.proposal();
            message.stamp = Math.max(message.stamp, entry.stamp());
            message.accepted = true;
            message.acknowledged = null;
            message.accepts.remove(group);
            // Delivered, and forgotten since, perhaps.
            message.delivered = message.stamp > 0 && message.stamp <= deliveredStamp;
            clock.seen(message.bound());
            if (!message.delivered) {
                queue.put(message.bound(), message);
            }
        }
        for (Tracked message : List.copyOf(messages.values())) {
            if (kept.contains(message.id)) {
                continue;
            }
            if (message.stamp > 0 && !message.delivered) {
                throw new IllegalStateException("the state of ballot " + joined + " lacks " + message);
            }
            message.proposal = 0;
            message.accepted = false;
            message.acknowledged = null;
            message.accepts.remove(group);
            if (message.delivered || (message.accepts.isEmpty() && message.acks.isEmpty())) {
                messages.remove(message.id);
            }
        }
    }

    private void installed(int from, long ballot) {
        if (ballot < joined) {
            return;
        }
        installed.computeIfAbsent(ballot, _ -> new HashSet<>()).add(from);
        if (ballot != joined || !isCurrent() || !isStable()) {
            return;
        }
        if (groups.leader(group, joined) == self && !leading) {
            leading = true;
            messages.values().stream().filter(message -> message.proposal > 0)
                    .sorted(Comparator.comparingLong(message -> message.proposal))
                    .forEach(message -> propose(message, new byte[0]));
        }
        deliver();
    }

    // ------------------------------------------------------------------------------------------ what is over

    private void finish(TransactionId id, long stamp) {
        if (outbox.finish(id)) {
            world.finished(id, stamp);
        }
    }

    private void forget() {
        messages.values().removeIf(message -> message.delivered && reports.isOver(message, everybody(message.groups)));
    }
}
