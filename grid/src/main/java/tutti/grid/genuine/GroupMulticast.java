package tutti.grid.genuine;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
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
 * <b>When a leader is gone, or members come and go.</b> The group goes on in a higher ballot, with another leader or other members, and a state that has all that more than half of the members of any ballot before have
 * accepted: see {@link Ballots}. When more than half have installed it, the ballot is <em>stable</em>: then its leader proposes, the same stamps for what the state holds, and its members deliver.
 *
 * <p>
 * <b>What it stands on.</b> Channels between nodes that live are reliable and first in, first out. Nodes stop, and lose what they had. More
 * than half of each group live and take part. For progress, but not for safety, somebody who lives must lead each group in the end ({@link #lead}).
 *
 * <p>
 * <b>Members.</b> Each ballot says which lives of which nodes take part in it; only one life of a node does. So an acknowledgement, which names the ballots of all groups, needs to say nothing of lives or members; but who counts acknowledgements
 * must know who takes part in the ballots that they name. A leader tells that to each node before it proposes anything to it in its ballot ({@link Memberships}); and who does not know it of a ballot, acknowledges nothing of it and counts nothing for it. So whoever acknowledges a proposal knows all
 * members to whom that is to be told. Where it says "more than half of a group" below, it is more than half of the members of the ballot in which they have done something.
 *
 * <p>
 * <b>Further groups</b> are founded by a message that is delivered here, of which the multicast need not know more than the members ({@link #founded}). The first ones take part as soon as they hear of it ({@link #found}), with that message's stamp as that of the last delivery. No message goes to the group with a lower one, since all clocks of its members have seen it. What comes to a member before it
 * takes part is lost; it comes from members of other groups only, of whom nothing is counted on but that they say it again.
 *
 * <p>
 * <b>What a life delivers</b> is what its leader had delivered up to the stamp up to which it was given all, and then what is above: the ballot that takes it in has what is final above that stamp, and what may become final. So it is, from then on, a member that was slow. What others
 * have sent to the life before is lost. It asks for that by sending a message again that it waits for: leaders and members then say again what they have said, and its own leader says that it has delivered it.
 *
 * <p>
 * <b>One stamp of each group.</b> If more than half of a group have accepted a proposal, all later ballots keep it ({@link Ballots}). So final stamps agree, whichever ballots they are counted in.
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
 * in the state of b (p would know); nor is it in any later one, since b was stable when p delivered, so all later ones descend from it, and what
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
 * delivery, by which it is known: no message that is yet to come can have such a one, as shown above. What is sent again by others than its sender carries no stamp; a leader knows what is over by what its sender has
 * said; or by its name, if the sender was gone: it may live, and come to a life that has never heard that it was gone. Names are given on to other lives, and kept as long as the sender's life may be a member; from one that is none nothing new is taken. Members that have crashed stand
 * in the way until they are {@link #gone}, or begin another life ({@link #begins}); but more than half of each group must be through with it, so that a life that is taken in later can be given what came of it. What a leader has proposed to
 * other groups only, before it crashed together with the sender, these drop after some time.
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

        /** A message that was delivered here is not kept any more: all members of its groups are through with it, as {@link #announce} tells. */
        default void forgotten(TransactionId id) {
            // What is kept besides is none of the multicast's business.
        }

        /** Who is a member of some group has changed, as far as this node knows: see {@link #members}. */
        default void membersChanged() {
            // Whoever sends finds them.
        }

        /** This life is no member of its group any more: it takes part in nothing. */
        default void over() {
            // It was taken out because it is to go, or another one has come.
        }
    }

    /** After so many ticks something was lost with a life that is over, and is not merely late. */
    static final int TICKS_BEFORE_LOST = 4;

    private final int self;
    private Groups groups;
    private final int group;
    private final World world;
    private final LamportClock clock;
    private final Messages messages = new Messages();
    private final Deque<GenuineMessage> toSelf = new ArrayDeque<>();
    private boolean working;
    private final Memberships memberships;
    private final Ballots ballots;
    /** Of other groups: who seems to lead them. */
    private final Map<Integer, Integer> leaders = new HashMap<>();
    // What others need no more.
    private long deliveredStamp;
    private final Outbox outbox = new Outbox();
    private final Reports reports = new Reports();
    private final Parts parts;
    /** Who has asked how far this node is. */
    private final Set<Integer> waiting = new TreeSet<>();
    private Set<Integer> unheard = Set.of();

    /**
     * Which messages are over, so that nobody takes them for new ones.
     *
     * @param finishedBelow of a life of a node: the first message that is not known to be ordered everywhere
     * @param messages besides; without what they carry
     */
    public record Over(List<TransactionId> finishedBelow, List<GenuineMessage.Entry> messages) {
        /** None. */
        public static final Over NOTHING = new Over(List.of(), List.of());

        /** Keeps copies. */
        public Over {
            finishedBelow = List.copyOf(finishedBelow);
            messages = List.copyOf(messages);
        }
    }

    /** With a clock of its own. */
    public GroupMulticast(int self, Groups groups, World world) {
        this(self, groups, world, new Parts(Parts.BYTES));
    }

    /** The same, for tests with other parts. */
    GroupMulticast(int self, Groups groups, World world, Parts parts) {
        this(self, groups, new LamportClock(Math.max(groups.groupOf(self), 0)), world, parts, 0);
    }

    /**
     * In the first ballot, 0, which the first member of each group leads.
     *
     * @param clock of this node's group, so that stamps of different groups differ; it may see other stamps besides
     */
    public GroupMulticast(int self, Groups groups, LamportClock clock, World world) {
        this(self, groups, clock, world, 0);
    }

    /**
     * The same, of any life.
     *
     * @param process 0 of the first life of a node, which takes part from the start; otherwise a number that no other life has of this node, which takes
     *     part when its group has taken it in: see {@link #given}
     */
    public GroupMulticast(int self, Groups groups, LamportClock clock, World world, long process) {
        this(self, groups, clock, world, new Parts(Parts.BYTES), process);
    }

    /** The same, for tests with other parts. */
    GroupMulticast(int self, Groups groups, LamportClock clock, World world, Parts parts, long process) {
        this.self = self;
        this.parts = parts;
        this.groups = groups;
        this.group = groups.groupOf(self);
        this.world = world;
        this.clock = clock;
        this.memberships = new Memberships(groups);
        this.ballots = new Ballots(self, groups, clock, memberships, reports, parts, process, new OfBallots());
    }

    /**
     * Sends a message.
     *
     * @param id of this node, with a larger serial than any before
     * @param to groups, at least one
     */
    public void send(TransactionId id, Set<Integer> to, byte[] payload) {
        if (!ballots.takesPart()) {
            throw new IllegalStateException("node " + self + " takes part in nothing");
        }
        if (to.isEmpty() || id.node() != self || !outbox.isNext(id)
                || !memberships.groups().containsAll(to)) {
            throw new IllegalArgumentException("cannot send " + id + " to groups " + to + " from node " + self);
        }
        GenuineMessage.Data data = new GenuineMessage.Data(id, new TreeSet<>(to).stream()
                .mapToInt(Integer::intValue).toArray(), payload);
        outbox.add(data);
        for (int one : data.groups()) {
            // Somebody else may lead it by now; whoever does is asked by tick.
            send(one == group ? ballots.leader() : leaders.getOrDefault(one, Groups.leader(memberships.ballot(one))),
                    data);
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
        if (group < 0 || !ballots.takesPart()) {
            throw new IllegalStateException("node " + self + " takes part in no group");
        }
        ballots.lead();
        work();
    }

    // ------------------------------------------------------------------------------------------ members

    /** Whether this node is one of its group: from the start, or since it was taken in; and it was not taken out. */
    public boolean takesPart() {
        return ballots.takesPart();
    }

    /** What this life sends has serials from this on, which no life before has had. */
    public long firstSerial() {
        return ballots.firstSerial();
    }

    /** The stamp of what was delivered last, here or by who has {@linkplain #given given} what it had; 0 if nothing was. */
    public long deliveredStamp() {
        return deliveredStamp;
    }

    /** Who takes part in the ballot that this node has joined, of its group. */
    public Configuration configuration() {
        return ballots.configuration();
    }

    /** The groups of which this node knows members. */
    public Collection<Integer> groups() {
        return memberships.groups();
    }

    /** The members of a group, as far as this node knows: of its own, those of the ballot that it has joined, if it takes part. */
    public Configuration members(int of) {
        return of == group && ballots.takesPart() ? ballots.configuration() : memberships.latest(of);
    }

    /**
     * As the leader: a life of a node that is no member begins to copy what this node has at this instant, so from now on this node keeps for it all that it has.
     *
     * @return null if this node does not lead, or the other one is a member or cannot be one
     */
    public @Nullable Over give(int member, long itsProcess) {
        return groups.groupOf(member) == group ? ballots.give(member, itsProcess) : null;
    }

    /** Who copies does so no more, or was taken in. */
    public void stopGiving() {
        ballots.stopGiving();
    }

    /**
     * It has all: it is to be taken in, by a ballot in which this node goes on leading. Nobody may be asked for the same life again: if it is not taken in, another one begins.
     *
     * @param address where it listens
     * @return false if nothing is asked
     */
    public boolean takeIn(int member, long itsProcess, String address) {
        boolean asks = ballots.takeIn(member, itsProcess, address);
        work();
        return asks;
    }

    /**
     * As the leader: another member is to be taken out, by a ballot in which this node goes on leading. It should be one that leaves, or whose life is over; more than half of the others should live.
     *
     * @return false if nothing is asked
     */
    public boolean takeOut(int member) {
        boolean asks = ballots.takeOut(member);
        work();
        return asks;
    }

    /**
     * This life has copied what its leader had when it had delivered all up to a stamp. It takes part from the ballot on in which it is taken in, of which the state has all
     * that was delivered since.
     */
    public void given(long delivered, Over over) {
        ballots.given();
        deliveredStamp = delivered;
        reports.given(over);
    }

    /** From now on this node talks to another life of a node, for which nothing need be kept before it was taken in. What the one before was told last may be lost. */
    public void begins(int node, long itsProcess) {
        gone(node);
        ballots.begins(node, itsProcess);
        work();
    }

    /** Tells a node who the members of all groups are, as far as this one knows. */
    public void introduce(int node) {
        for (int one : memberships.groups()) {
            if (one == group) {
                ballots.tell(node);
            } else if (!groups.isFirst(one) || memberships.ballot(one) != groups.firstBallot(one)) {
                send(node, new GenuineMessage.Members(one, memberships.ballot(one), memberships.latest(one)));
            }
        }
        work();
    }

    /**
     * A further group is founded, says a message that is being delivered here. Each node that has delivered it tells all others who the first members are, so that whoever is sent something by it that goes to the group knows them.
     *
     * @param nodes that may be its members
     */
    public void founded(int of, Collection<Integer> nodes, Configuration first) {
        groups = groups.with(of, nodes);
        boolean _ = memberships.learn(of, first.nodes().getFirst(), first);
        GenuineMessage.Members told = new GenuineMessage.Members(of, memberships.ballot(of), memberships.latest(of));
        memberships.groups().stream().flatMap(one -> memberships.nodes(one).stream()).filter(node -> node != self)
                .forEach(node -> send(node, told));
    }

    /**
     * This life is one of the first members of a further group, which is founded by a message that others have delivered. It takes part from now on, as if it had delivered that message, and nothing before. It must hear of that from each of the others before it hears anything else from there: what
     * it does not take as long as it takes no part would be missing. The first of them leads.
     */
    public void found(long stamp, Configuration first) {
        clock.seen(stamp);
        deliveredStamp = stamp;
        ballots.found(first);
        work();
    }

    /** Whether something that goes to one of these groups is not delivered here, or, if this node has sent it, not ordered everywhere. */
    public boolean hasOpen(Set<Integer> some) {
        return messages.hasOpen(some) || outbox.all().stream().anyMatch(data -> Messages.goesTo(data.groups(), some));
    }

    /** Whether nothing is kept here that was sent to this node's group. */
    public boolean keepsNothing() {
        return messages.size() == 0;
    }

    /**
     * A group has been dissolved, and its members are there no more.
     *
     * @return false if something is kept still that has gone there
     */
    public boolean dissolved(int of) {
        if (messages.keeps(of)) {
            return false;
        }
        memberships.dissolved(of);
        return true;
    }

    /** The group of a node, as far as this one knows; -1 if it has none. */
    public int groupOf(int node) {
        return groups.groupOf(node);
    }

    /** A node that was {@linkplain #gone gone} is a member again, as another life. */
    public void there(int node) {
        reports.there(node);
    }

    /** These are not heard: nothing is said again to them before they are, or what waits to be sent there would grow for as long as they are not. */
    public void unheard(Set<Integer> nodes) {
        unheard = Set.copyOf(nodes);
    }

    /** Time has passed: sends again what should have been delivered since. To be called now and then. */
    public void tick() {
        if (!ballots.takesPart()) {
            return;
        }
        ballots.tick();
        // Its own group knows nothing of it, so its sender is gone, perhaps, and the others have lost it. If not, what is dropped here will be said again.
        messages.all().removeIf(message -> message.proposal == 0 && ++message.ticks > TICKS_BEFORE_LOST);
        outbox.due().forEach(this::repeat);
        for (Tracked message : messages.waiting()) {
            if (++message.ticks >= Outbox.TICKS_BEFORE_REPETITION && message.stamp == 0) {
                repeat(new GenuineMessage.Data(message.id, message.groups, message.payload));
            }
        }
        work();
    }

    private void repeat(GenuineMessage.Data data) {
        memberships.everybody(data.groups()).stream().filter(node -> !unheard.contains(node))
                .forEach(node -> send(node, data));
    }

    /** Tells that this node is through with all that it has delivered. */
    public void announce() {
        announce(deliveredStamp, Long.MAX_VALUE);
    }

    /**
     * Tells those with whom this node has messages in common how far it is, so that they need not keep them.
     *
     * @param through up to which stamp it needs nothing more about what it has delivered; never smaller than before
     * @param waitingFor the lowest serial of a message of its own of which it may ask what has become of it; the largest number if there is none
     */
    public void announce(long through, long waitingFor) {
        if (!ballots.takesPart()) {
            return;
        }
        // By node: up to where it must have told that it is through. A life that was begun meanwhile may not know that anybody waits for it.
        Map<Integer, Long> to = new TreeMap<>();
        messages.all().stream().filter(message -> message.delivered).forEach(message -> {
            memberships.everybody(message.groups).forEach(node -> to.merge(node, message.stamp, Math::max));
            if (reports.isWaitedFor(message.id.node(), 0)) {
                to.putIfAbsent(message.id.node(), 0L);
            }
        });
        long unfinished = Math.min(outbox.unfinished(), waitingFor);
        outbox.told(unfinished).forEach(of -> memberships.everybody(of).forEach(node -> to.putIfAbsent(node, 0L)));
        waiting.forEach(node -> to.putIfAbsent(node, 0L));
        waiting.clear();
        // Who waits for it asks.
        to.keySet().removeAll(unheard);
        to.forEach((node, stamp) -> send(node, new GenuineMessage.Progress(through, unfinished,
                node != self && reports.isWaitedFor(node, stamp))));
        work();
    }

    /** A life of a node is over, and nothing of it comes any more. */
    public void gone(int node) {
        ballots.gone(node);
        reports.gone(node);
        waiting.remove(node);
        parts.gone(node);
        forget();
    }

    /** How many messages are kept, those that this node may have to send again among them. */
    public int size() {
        return messages.size() + outbox.size();
    }

    /** How many bytes are kept of what was delivered and went to a group: some of its members may need it still. */
    public long keptBytes(int of) {
        return messages.keptBytes(of);
    }

    /** The ballot in which this node takes part, of its group. */
    public long ballot() {
        return ballots.joined();
    }

    /** Who leads that ballot. */
    public int leader() {
        return ballots.leader();
    }

    /** Whether this node leads its group, as far as it knows. */
    public boolean isLeading() {
        return ballots.isLeading();
    }

    /** Whether this node waits for another ballot of its group, in which somebody wanted to lead. If that lasts, somebody must. */
    public boolean isWaiting() {
        return ballots.isWaiting();
    }

    /** The lowest stamp at which something that waits here may be delivered; the largest number if nothing waits. */
    public long lowestPending() {
        return messages.lowestWaiting();
    }

    /** What waits for delivery here, for people. */
    public List<String> pending() {
        return messages.waiting().stream().map(Tracked::toString).toList();
    }

    // ------------------------------------------------------------------------------------------ messages

    private void send(int to, GenuineMessage message) {
        if (to == self) {
            toSelf.add(message);
        } else {
            world.send(to, message);
        }
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
        if (!ballots.takesPart() && !(message instanceof GenuineMessage.Install
                || message instanceof GenuineMessage.Part || message instanceof GenuineMessage.Members)) {
            return;
        }
        switch (message) {
            case GenuineMessage.Data data -> data(from, data);
            case GenuineMessage.Accept accept -> proposed(from, accept);
            case GenuineMessage.Ack ack -> acknowledged(from, ack);
            case GenuineMessage.Delivered done -> {
                if (messages.get(done.id()) == null) {
                    leaders.put(groups.groupOf(from), from);
                }
                ordered(from, done);
                if (done.id().node() == self) {
                    finish(done.id(), done.stamp());
                }
            }
            case GenuineMessage.Prepare prepare -> ballots.prepare(from, prepare);
            case GenuineMessage.Part part -> ballots.part(from, part);
            case GenuineMessage.Promise promise -> ballots.promised(from, parts.whole(from, promise));
            case GenuineMessage.Install install -> ballots.install(from, parts.whole(from, install));
            case GenuineMessage.Installed done -> ballots.installed(from, done);
            case GenuineMessage.Passed passed -> ballots.passed(passed);
            case GenuineMessage.Members members -> members(from, members);
            case GenuineMessage.Progress how -> {
                reports.reported(from, how);
                if (how.asks()) {
                    waiting.add(from);
                }
                forget();
            }
        }
    }

    // ------------------------------------------------------------------------------------------ without crashes

    /** Who takes part in a ballot that is stable. */
    private void members(int from, GenuineMessage.Members of) {
        if (memberships.isDissolved(of.group())) {
            return;
        }
        if (of.group() == group) {
            ballots.members(of);
        }
        if (of.group() != group && !groups.isFirst(of.group())) {
            groups = groups.with(of.group(), of.configuration().nodes());
        }
        if (from == Groups.leader(of.ballot()) && of.ballot() >= memberships.ballot(of.group())) {
            // It leads from now on. What was sent to who led before may be lost.
            leaders.put(of.group(), from);
            outbox.all().stream().filter(data -> Arrays.binarySearch(data.groups(), of.group()) >= 0)
                    .forEach(data -> send(from, data));
        }
        if (memberships.learn(of.group(), of.ballot(), of.configuration())) {
            world.membersChanged();
            // What could not be acknowledged or counted before.
            messages.copy().forEach(message -> {
                accept(message);
                commit(message);
            });
        }
    }

    private void data(int from, GenuineMessage.Data data) {
        Tracked message = messages.get(data.id());
        if (message != null && message.proposal > 0) {
            again(from, message);
            return;
        }
        if (group < 0 || !isLeading() || reports.isForgotten(data.id()) || !memberships.knows(data.groups())
                || (from == data.id().node() && isPast(data.id()))) {
            ballots.tell(from);
            long stamp = reports.stampOf(data.id());
            if (stamp > 0 && from == data.id().node() && isLeading()) {
                // It was given up before it heard of that, and lives.
                send(from, new GenuineMessage.Delivered(data.id(), stamp));
            }
            return;
        }
        message = messages.track(data.id());
        messages.begin(message, data.groups(), data.payload(), clock.next());
        propose(message, data.payload());
    }

    /** Somebody waits for a message: tells what this node has said about it, since that may have been lost with a life before. */
    void again(int from, Tracked message) {
        if (from == self) {
            return;
        }
        boolean isDestination = memberships.everybody(message.groups).contains(from);
        if (message.delivered && (isDestination || isLeading())) {
            send(from, new GenuineMessage.Delivered(message.id, message.stamp));
        } else if (isLeading() && isDestination) {
            ballots.tell(from);
            send(from, proposal(message, from, message.payload));
        }
        GenuineMessage.Ack own = message.acks.get(self);
        if (isDestination && message.acknowledged != null && own != null) {
            send(from, own);
        }
    }

    private void propose(Tracked message, byte[] payload) {
        memberships.everybody(message.groups).forEach(node -> {
            ballots.tell(node);
            send(node, proposal(message, node, payload));
        });
    }

    private GenuineMessage.Accept proposal(Tracked message, int to, byte[] payload) {
        boolean lacksIt = groups.groupOf(to) == group;
        return new GenuineMessage.Accept(message.id, message.groups, group, ballots.joined(), message.proposal,
                message.stamp, lacksIt ? payload : new byte[0]);
    }

    private void proposed(int from, GenuineMessage.Accept accept) {
        if (group < 0 || groups.groupOf(from) != accept.group() || Groups.leader(accept.ballot()) != from) {
            return;
        }
        leaders.put(accept.group(), from);
        Tracked known = messages.get(accept.id());
        boolean unknown = known == null || known.proposal == 0;
        if (accept.group() == group) {
            if (accept.ballot() < ballots.promised()) {
                send(from, new GenuineMessage.Passed(ballots.promised()));
            }
            if (accept.ballot() != ballots.joined() || !ballots.isCurrent()
                    || (unknown && accept.stamp() <= deliveredStamp)) {
                return;
            }
        } else if (unknown && accept.last() > 0 && accept.last() <= deliveredStamp) {
            return;
        }
        Tracked message = messages.track(accept.id());
        message.accepts.merge(accept.group(), accept, (one, other) -> one.ballot() > other.ballot() ? one : other);
        if (accept.group() == group && message.proposal == 0) {
            messages.begin(message, accept.groups(), accept.payload(), accept.stamp());
        }
        accept(message);
    }

    /** Accepts the proposals for a message, if they are all there, of the present ballot in this group. */
    private void accept(Tracked message) {
        GenuineMessage.Accept own = message.accepts.get(group);
        if (message.proposal == 0 || own == null || own.ballot() != ballots.joined() || !ballots.isCurrent()
                || message.accepts.size() < message.groups.length) {
            return;
        }
        long[] named = new long[message.groups.length];
        List<Long> proposals = new ArrayList<>();
        for (int i = 0; i < named.length; i++) {
            GenuineMessage.Accept accept = message.accepts.get(message.groups[i]);
            if (accept == null) {
                throw new IllegalStateException("a proposal of a group that " + message + " does not go to");
            }
            if (memberships.at(message.groups[i], accept.ballot()) == null) {
                return;
            }
            named[i] = accept.ballot();
            proposals.add(accept.stamp());
        }
        if (Arrays.equals(message.acknowledged, named)) {
            return;
        }
        long last = finalStamp(proposals);
        message.accepted = true;
        message.acknowledged = named;
        sawAccepted(last);
        GenuineMessage.Ack ack = new GenuineMessage.Ack(message.id, named, last);
        memberships.everybody(message.groups).forEach(node -> send(node, ack));
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
        Tracked message = messages.track(ack.id());
        message.acks.put(from, ack);
        commit(message);
    }

    /** Commits a message, if enough members of each group have accepted the same proposals, the own leader among them. */
    private void commit(Tracked message) {
        if (message.stamp > 0 || message.proposal == 0 || !ballots.isCurrent()) {
            return;
        }
        GenuineMessage.Ack own = decisive(message);
        if (own == null || own.ballots()[Arrays.binarySearch(message.groups, group)] != ballots.joined()) {
            return;
        }
        for (int i = 0; i < message.groups.length; i++) {
            Configuration members = counted(message.groups[i], own.ballots()[i]);
            if (members == null) {
                return;
            }
            int count = 0;
            for (Configuration.Member member : members.members()) {
                GenuineMessage.Ack ack = message.acks.get(member.node());
                count += ack != null && Arrays.equals(ack.ballots(), own.ballots()) ? 1 : 0;
            }
            if (count < quorum(members)) {
                return;
            }
        }
        order(message, own.stamp());
    }

    private void order(Tracked message, long stamp) {
        messages.order(message, stamp);
        clock.seen(stamp);
        deliver();
    }

    /**
     * Another destination has delivered a message. If it is the leader of this group, what it has proposed before its clock saw the final stamp has come here before, as with its acknowledgement; if this node
     * is, it knows what it has proposed.
     */
    private void ordered(int from, GenuineMessage.Delivered done) {
        Tracked message = messages.get(done.id());
        if (group >= 0 && message != null && message.proposal > 0 && message.stamp == 0 && ballots.isCurrent()
                && (ballots.leader() == from || isLeading())) {
            order(message, done.stamp());
        }
    }

    /** What the own leader has acknowledged: what it has proposed before its clock saw the final stamp has come here before. */
    GenuineMessage.@Nullable Ack decisive(Tracked message) {
        return message.acks.get(ballots.leader());
    }

    /** Whose acknowledgements count in a ballot of a group; null if that is not known. */
    @Nullable
    Configuration counted(int of, long ballot) {
        return memberships.at(of, ballot);
    }

    /** How many of them must have said the same. */
    int quorum(Configuration of) {
        return of.quorum();
    }

    private void deliver() {
        while (ballots.isCurrent() && isStable()) {
            Tracked first = messages.next();
            if (first == null) {
                return;
            }
            if (first.stamp <= deliveredStamp) {
                throw new IllegalStateException(first + " would be delivered after " + deliveredStamp);
            }
            first.delivered = true;
            deliveredStamp = first.stamp;
            world.delivered(first.id, first.stamp, first.payload);
            if (first.id.node() == self) {
                finish(first.id, first.stamp);
            } else if (isLeading() && !memberships.everybody(first.groups).contains(first.id.node())) {
                ballots.tell(first.id.node());
                send(first.id.node(), new GenuineMessage.Delivered(first.id, first.stamp));
            }
        }
    }

    // ------------------------------------------------------------------------------------------ ballots

    /** What ballots are made of, and what they do here. */
    private final class OfBallots implements Ballots.Multicast {
        @Override
        public void send(int to, GenuineMessage message) {
            GroupMulticast.this.send(to, message);
        }

        @Override
        public long deliveredStamp() {
            return deliveredStamp;
        }

        @Override
        public List<GenuineMessage.Entry> remembered() {
            return GroupMulticast.this.remembered();
        }

        @Override
        public Collection<GenuineMessage.Entry> chosen(Collection<GenuineMessage.Promise> of) {
            return GroupMulticast.this.chosen(of);
        }

        @Override
        public GenuineMessage.Promise parent(Collection<GenuineMessage.Promise> of) {
            return GroupMulticast.this.parent(of);
        }

        @Override
        public boolean mayChange() {
            return GroupMulticast.this.mayChange();
        }

        @Override
        public boolean isStable() {
            return GroupMulticast.this.isStable();
        }

        @Override
        public void replace(Collection<GenuineMessage.Entry> entries) {
            messages.replace(entries, group, deliveredStamp, clock).forEach(GroupMulticast.this::forgotten);
        }

        @Override
        public void leads() {
            messages.all().stream().filter(message -> message.proposal > 0)
                    .sorted(Comparator.comparingLong(message -> message.proposal))
                    .forEach(message -> propose(message, new byte[0]));
        }

        @Override
        public void deliver() {
            GroupMulticast.this.deliver();
        }

        @Override
        public void takesPart() {
            outbox.startAt(firstSerial());
        }

        @Override
        public void changed() {
            world.membersChanged();
        }

        @Override
        public void over() {
            world.over();
        }
    }

    /** Whether this node, as who asks for a ballot, brings its state to members that are heard. */
    public boolean isBringing() {
        return ballots.isBringing(unheard);
    }

    /** Whether more than half of the group go on in the ballot that this node has joined. */
    public boolean isStable() {
        return ballots.isStable();
    }

    /** Whether this node may ask for another configuration of its group. */
    boolean mayChange() {
        return isLeading();
    }

    /** What this node has accepted or knows to be final. What was only proposed to it may be proposed otherwise. */
    List<GenuineMessage.Entry> remembered() {
        return messages.remembered();
    }

    /** With what to go on. */
    Collection<GenuineMessage.Entry> chosen(Collection<GenuineMessage.Promise> of) {
        return GenuineMessage.Promise.chosen(of);
    }

    /** From whose ballot to go on. */
    GenuineMessage.Promise parent(Collection<GenuineMessage.Promise> of) {
        return Collections.max(of, Comparator.comparingLong(GenuineMessage.Promise::joined));
    }

    /** Whether this ballot would take in this life, if it was {@linkplain #given given} what was delivered up to a stamp. */
    public boolean wouldTakeIn(int from, GenuineMessage.Install install, long delivered) {
        return ballots.wouldTakeIn(from, install, delivered);
    }

    // ------------------------------------------------------------------------------------------ what is over

    private void finish(TransactionId id, long stamp) {
        if (outbox.finish(id)) {
            world.finished(id, stamp);
        }
    }

    private void forget() {
        messages.all().removeIf(message -> {
            boolean isOver = message.delivered && reports.isOver(message, memberships);
            if (isOver) {
                forgotten(message);
            }
            return isOver;
        });
        reports.forget(memberships, this::isPast);
    }

    private void forgotten(Tracked message) {
        reports.forgotten(message);
        world.forgotten(message.id);
    }

    /** Whether the life that has sent a message is a member no more, for good. Nothing new is taken from there: others may have forgotten its messages, names and all. */
    private boolean isPast(TransactionId id) {
        int of = groups.groupOf(id.node());
        return of >= 0 && (of != group || ballots.isStable()) && memberships.isPast(of, id);
    }
}
