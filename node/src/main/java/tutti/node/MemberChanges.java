package tutti.node;

import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.protocol.ChosenProtocol;
import tutti.core.protocol.Trait;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.Group;

/**
 * Changes of the members: asks for them, and does what follows from them. Of the replica's loop.
 *
 * <p>
 * <b>A new node</b> is a member from the position of its message on: what it sends counts, and it is let in with a copy. It decides nothing,
 * in ballots, in Raft and about what the log forgets, until it has caught up and says so in the order. So nothing waits for a copy
 * that takes hours.
 *
 * <p>
 * <b>A node that goes</b> is none from that position on: nothing that it has sent counts behind it, so all nodes come to the same result about
 * its transactions, as if its life was fenced there; no ballot waits for it and the log is not kept for it. It serves nobody as soon as it
 * is delivered that itself. It goes on to take part in Raft until that can do without it, which the order sees to ({@link Group#members}).
 */
final class MemberChanges {
    private static final Logger LOG = LoggerFactory.getLogger(MemberChanges.class);
    /** Where a node is. */
    private static final Pattern PLACE = Pattern.compile(".+:(\\d{1,5})");
    private static final long PATIENCE_NANOS = 5_000_000_000L;

    /** What of the node is needed here. */
    interface Node {
        /** Has all nodes told something, in the order. */
        void send(Control control);

        /** Why the node cannot serve; null if it can. */
        @Nullable
        String refusal();

        Group.View view();

        /** Tells the protocol who decides from this position on. */
        void decide(long position, Set<Integer> voters);

        void schedule(long delayNanos, Runnable task);

        /** It takes part in the order only from now on. */
        void exclude(Throwable cause);
    }

    /** By number, as the same may be asked for again. */
    private record Asked(long number, Control.Changed change, Completion<Group.Members> done) {}

    private final int self;
    private final Members members;
    private final Placements placements;
    private final Group group;
    private final ChosenProtocol protocol;
    private final Outcomes outcomes;
    private final LogKeeping logKeeping;
    private final Settlement settlement;
    private final Node node;
    private @Nullable Asked asked;
    private long lastAsked;
    /** Of which list this life has said that it has caught up. */
    private long saidOf = -1;

    MemberChanges(int self, Members members, Placements placements, Group group, ChosenProtocol protocol,
            Outcomes outcomes, LogKeeping logKeeping, Settlement settlement, Node node) {
        this.self = self;
        this.members = members;
        this.placements = placements;
        this.group = group;
        this.protocol = protocol;
        this.outcomes = outcomes;
        this.logKeeping = logKeeping;
        this.settlement = settlement;
        this.node = node;
    }

    /** As {@link ReplicaNode#members}. Any thread. */
    Group.Members list() {
        Group.Members now = members.now();
        Group.Members placed = group.members();
        // Of the same list the order knows better where the nodes are: a restored cluster may be elsewhere.
        return now.number() == 0 || now.number() == placed.number() ? placed : now;
    }

    // ------------------------------------------------------------------------------------------ asking

    /** As {@link ReplicaNode#change}. */
    void ask(ReplicaNode.MemberChange wanted, Completion<Group.Members> done) {
        String impossible = impossible();
        if (impossible != null) {
            done.failed(new EngineFailure("0A000", impossible, false));
            return;
        }
        Control.Changed change = change(wanted);
        String refusal = node.refusal();
        if (refusal == null) {
            refusal = asked == null ? members.refusal(change) : "another change is under way: ask again";
        }
        if (refusal == null) {
            refusal = refusesToLose(change);
        }
        if (refusal == null) {
            refusal = refusal(change);
        }
        if (refusal != null) {
            done.failed(new EngineFailure("55000", refusal, false));
            return;
        }
        long number = ++lastAsked;
        asked = new Asked(number, change, done);
        LOG.info("node {}: asks for a change of the members: node {} {}", self, change.node(), change.step());
        node.send(change);
        node.schedule(PATIENCE_NANOS, () -> {
            if (asked != null && asked.number == number) {
                asked = null;
                done.failed(
                        new EngineFailure("57P03", "the order has not answered in time; `tutti nodes list` tells later"
                                + " whether the change was made", true));
            }
        });
    }

    /** Why the members stay the same whatever happens; null if they may change. */
    private @Nullable String impossible() {
        if (!protocol.has(Trait.MEMBERS_MAY_CHANGE)) {
            return "under protocol " + protocol.name()
                    + " the members stay the same: they decide who votes, owns or leads";
        }
        return group.changesMembers()
                ? null
                : "members stay the same in a cluster of one node, and with an order of this kind";
    }

    private Control.Changed change(ReplicaNode.MemberChange wanted) {
        Group.Members before = list();
        Map<Integer, String> addresses = new TreeMap<>(before.addresses());
        return switch (wanted) {
            case ReplicaNode.MemberChange.Add(int number, String address) -> {
                addresses.putIfAbsent(number, address);
                yield new Control.Changed(before.number(), Control.Changed.Step.ADDED, number, addresses);
            }
            case ReplicaNode.MemberChange.Remove(int number) ->
                new Control.Changed(before.number(), Control.Changed.Step.REMOVED, number, addresses);
            case ReplicaNode.MemberChange.Move(int number, String address) -> {
                addresses.replace(number, address);
                yield new Control.Changed(before.number(), Control.Changed.Step.MOVED, number, addresses);
            }
        };
    }

    /** Whether nobody is left who keeps some table; null if somebody is. */
    private @Nullable String refusesToLose(Control.Changed change) {
        return change.step() == Control.Changed.Step.REMOVED
                ? placements.refusesToLose(change.node(), members.all())
                : null;
    }

    /** What only whoever asks can see: how it would go on. */
    private @Nullable String refusal(Control.Changed change) {
        String address = change.addresses().get(change.node());
        if (change.step() != Control.Changed.Step.REMOVED && !isPlace(address)) {
            return "'" + address + "' is no host:port, with a port of 1 to 65535";
        }
        if (change.addresses().entrySet().stream()
                .anyMatch(each -> each.getKey() != change.node() && each.getValue().equals(address))) {
            return "another node is at " + address;
        }
        if (change.step() != Control.Changed.Step.REMOVED) {
            return null;
        }
        if (change.node() == self) {
            return "a node does not remove itself: ask another one";
        }
        Set<Integer> left = members.voters();
        left.remove(change.node());
        Set<Integer> reached = new TreeSet<>(left);
        reached.retainAll(node.view().members());
        return 2 * reached.size() > left.size()
                ? null
                : "of the nodes " + left + " that would be left, this one reaches " + reached
                        + ", which is no majority: start others first";
    }

    private static boolean isPlace(@Nullable String address) {
        Matcher parts = PLACE.matcher(String.valueOf(address));
        if (!parts.matches()) {
            return false;
        }
        int port = Integer.parseInt(parts.group(1));
        return port >= 1 && port <= 65535;
    }

    // ------------------------------------------------------------------------------------------ what is delivered

    /** Somebody asks for a change. */
    void delivered(long position, int sender, Control.Changed told) {
        String refusal = refusesToLose(told);
        if (refusal == null) {
            refusal = members.changed(position, told);
        }
        if (refusal == null) {
            LOG.info("node {}: as of position {} node {} is {}, the members are {}", self, position, told.node(),
                    told.step(), members.now().addresses());
            if (told.step() == Control.Changed.Step.REMOVED) {
                outcomes.fence(told.node(), outcomes.lastLife(told.node()));
            }
            node.decide(position, members.voters());
            follow(settlement::membersChanged);
        }
        Asked mine = asked;
        if (mine != null && sender == self && told.equals(mine.change)) {
            asked = null;
            if (refusal == null) {
                mine.done.succeeded(members.now());
            } else {
                mine.done.failed(new EngineFailure("55000", refusal, false));
            }
        }
    }

    /** A new node has caught up. */
    void delivered(long position, int sender, Control.CaughtUp told) {
        if (members.caughtUp(position, sender, told.number())) {
            LOG.info("node {}: as of position {} node {} decides with the others", self, position, sender);
            node.decide(position, members.voters());
            follow(settlement::membersChanged);
        }
    }

    /**
     * Whether this node, which shows all that was ordered before it began, may serve. If it is new it says first that it has caught up, and
     * serves when that has come back: from then on the others wait for it, where they wait for all.
     */
    boolean decides() {
        Group.Members now = members.now();
        boolean learner = now.learners().contains(self);
        if (learner && saidOf != now.number()) {
            saidOf = now.number();
            node.send(new Control.CaughtUp(now.number()));
        }
        return !learner && members.has(self);
    }

    /** The node begins, after what a snapshot has told: the order may not have heard of that before a crash. */
    void recovered() {
        if (members.now().number() > 0) {
            follow(settlement::recovered);
        }
    }

    /** @param decide is told who decides */
    private void follow(Consumer<Set<Integer>> decide) {
        group.members(members.now());
        logKeeping.members(members.voters());
        decide.accept(members.voters());
        // A node that came later is on no older list either, and reads these again behind the state that it was given.
        if (members.now().removed().containsKey(self)) {
            node.exclude(new ReplicaNode.RemovedException("this node was removed from the cluster at position "
                    + members.now().number()));
        }
    }
}
