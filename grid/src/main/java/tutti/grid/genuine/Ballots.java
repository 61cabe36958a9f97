package tutti.grid.genuine;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import tutti.grid.multicast.LamportClock;

/**
 * One member's part in the ballots of its group: who leads it, and who its members are. A part of {@link GroupMulticast}, whose messages it carries from one ballot to the next.
 *
 * <p>
 * <b>A ballot.</b> Who wants to lead asks the members to go on in a higher ballot: PREPARE. Members PROMISE to take part in no lower one, and tell what they have accepted or know to be final, their
 * clocks, and which ballot they have joined last, with its configuration. The highest of these is the ballot's <em>parent</em>. From more than half of the parent's members (the asker asks those that it did not know of as well) the new
 * leader takes: every final stamp; what was accepted by those who had joined the parent; the latest clock. All members of the new ballot INSTALL this state, and have then joined it. When more than
 * half of them have, the ballot is <em>stable</em>: then its leader leads, and its members deliver. Who is asked in a ballot that is over says so: PASSED.
 *
 * <p>
 * <b>Members.</b> The {@link Configuration} of a ballot is that of its parent, or, if its leader has led the parent, when that was stable, one with one member more or less. A member is a life of a node; so a node that is started anew is
 * taken out first, and then in again, by two ballots.
 *
 * <p>
 * <b>What it is for.</b> If a ballot b is stable, no higher ballot b' has a parent below b. <em>Argument</em>, by induction over b'. Suppose that its parent h is below b, and let b be the lowest stable ballot above h. If the configurations of h and b are the same or differ by
 * one member, more than half of each have a member in common: it has promised b' and has joined b, and that before, since it would not afterwards; so it has told of b, and h is not the highest that was told. So they would have to differ by more.
 * Follow parents from b and from h to the first ballot a that both come to. A change on the way from a to b was made by the leader of a stable ballot p on that way. If p is not a, it lies above a, below h (b is the lowest above it; p is not h, or a were h), and not on the way from h: so a
 * ballot on that way, at most h and so below b', lies above p and has its parent below p, which by induction cannot be. So there is one change at most, in the first step from a. In the same way there is one at most on the way from a to h, in the first step from a: another one would be made in a stable ballot q
 * above a, below h, hence below b, and not on the way from b, so a ballot on that way, at most b, would have its parent below q. If one way has a change and the other has none, the configurations differ by one. If both have one, the leader of a has made both. But it has asked for the second after the first, and so has taken no
 * promises for the first any more, or it has joined the first and leads a no more. If a is h or b, the same holds with one way only.
 *
 * <p>
 * So whatever more than half of a ballot's members have done in it, accepted or seen, each later ballot's state has: of the promises of which it was made, one came from who has done it, and b is its parent; or its parent is above b and has it, by induction.
 * Nothing depends on whether those who promise still live, nor on what lives a node has had since.
 *
 * <p>
 * <b>A life that is taken in</b> copies what its leader has delivered up to some stamp and what its node has made of that ({@link #give}, {@link #given}), while the leader keeps all that it delivers since; then the leader asks for a ballot with that life ({@link #takeIn}), and installs its state there as well.
 * That state says above which stamp it has all; a life that was not given all up to there does not take it. So it is, from then on, a member that was slow. It promises nothing before, so more than half of the others do.
 * It installs the ballot first, and the others when it has said so: whoever has joined a ballot with a member more can count on it, even if the leader, who alone kept what the new member lacked, crashes at once. If it does not say so, somebody leads in a higher ballot, without it.
 *
 * <p>
 * <b>A life that is taken out</b> may go on for a while as one that is slow; it hears of it when the ballot without it is stable. The ballot is made only when more than half of those that are left have promised to take part in it: if one of them has crashed, and nobody knows yet, they may be too
 * few, and whoever had joined that ballot could not go back. So somebody leads in a higher one, with the members as they were.
 */
final class Ballots {
    /** What it asks of the multicast that it is a part of. */
    interface Multicast {
        /** To a node, this one too. */
        void send(int to, GenuineMessage message);

        /** The stamp of what was delivered last. */
        long deliveredStamp();

        /** What this node has accepted or knows to be final. */
        List<GenuineMessage.Entry> remembered();

        /** With what to go on. */
        Collection<GenuineMessage.Entry> chosen(Collection<GenuineMessage.Promise> of);

        /** The promise of who has joined the highest ballot. */
        GenuineMessage.Promise parent(Collection<GenuineMessage.Promise> of);

        /** Whether who leads this ballot may ask for another configuration. */
        boolean mayChange();

        /** Whether more than half of the members go on in the ballot that this node has joined. */
        boolean isStable();

        /** Goes on with these. */
        void replace(Collection<GenuineMessage.Entry> entries);

        /** This node leads, in a ballot that is stable. */
        void leads();

        /** Something more may be delivered. */
        void deliver();

        /** This life was taken in. */
        void takesPart();

        /** Who is a member has changed. */
        void changed();

        /** This life is no member any more. */
        void over();
    }

    /** A member that is given what this node, its leader, has: all that was delivered above a stamp is kept for it. */
    private record Joining(int node, long process, long above) {}

    /** What this node asks its group for. */
    private static final class Asking {
        private final long ballot;
        /** The ballot that it had joined; nothing can be changed if that is not the parent. */
        private final long led;
        private final @Nullable Configuration change;
        private final Set<Integer> asked = new HashSet<>();
        private final Map<Integer, GenuineMessage.Promise> promises = new HashMap<>();
        /** Whether enough have promised. */
        private boolean isMade;
        /** Has all others install the ballot, once this node has; null if nobody is waited for. */
        private @Nullable Runnable others;
        private int newcomer = -1;

        Asking(long ballot, long led, @Nullable Configuration change) {
            this.ballot = ballot;
            this.led = led;
            this.change = change;
        }
    }

    private final int self;
    private final int group;
    private final long first;
    /** Whether the group is there from the start, in its first ballot, so that nobody need be told who its members are. */
    private final boolean isFirst;
    private final long process;
    private final LamportClock clock;
    private final Memberships memberships;
    private final Reports reports;
    private final Parts parts;
    private final Multicast multicast;
    /** This life: since when it is a member. */
    private long since;
    private boolean takesPart;
    /** Whether a life that takes no part yet has been given what its group had delivered. */
    private boolean given;
    private @Nullable Joining joining;
    private long promised;
    private long joined;
    private Configuration configuration;
    /** The highest that somebody has heard of, as far as this node knows. */
    private long heard;
    /** By ballot, not below the one that was joined: who goes on in it. */
    private final TreeMap<Long, Set<Integer>> installed = new TreeMap<>();
    private Asking asking = new Asking(-1, -1, null);
    private boolean leading;
    private int ticksBehind;
    /** Who was told who the members of the ballot that this node has joined are. */
    private final Set<Integer> told = new HashSet<>();
    /** Nodes that were members. */
    private final Set<Integer> past = new TreeSet<>();

    Ballots(int self, Groups groups, LamportClock clock, Memberships memberships, Reports reports, Parts parts,
            long process, Multicast multicast) {
        this.self = self;
        this.group = groups.groupOf(self);
        this.clock = clock;
        this.memberships = memberships;
        this.reports = reports;
        this.parts = parts;
        this.process = process;
        this.multicast = multicast;
        this.takesPart = process == 0;
        this.isFirst = group < 0 || groups.isFirst(group);
        this.first = group < 0 ? 0 : groups.firstBallot(group);
        promised = first;
        joined = first;
        heard = first;
        configuration = group < 0 || !isFirst ? Configuration.NOBODY : Configuration.first(groups.of(group));
        if (group >= 0 && takesPart) {
            installed.put(first, new HashSet<>(configuration.nodes()));
            leading = Groups.leader(first) == self;
        }
    }

    // ------------------------------------------------------------------------------------------ what is so

    boolean takesPart() {
        return takesPart;
    }

    /** What this life sends has serials from this on. */
    long firstSerial() {
        return since << Outbox.SERIAL_BITS;
    }

    long joined() {
        return joined;
    }

    long promised() {
        return promised;
    }

    Configuration configuration() {
        return configuration;
    }

    int leader() {
        return Groups.leader(joined);
    }

    boolean isLeading() {
        return leading && !isWaiting();
    }

    boolean isWaiting() {
        return heard > joined;
    }

    /** Whether a ballot that this node has asked for is made, and is on its way to the members, of whom none that must come first is among these. */
    boolean isBringing(Set<Integer> unheard) {
        return isWaiting() && asking.isMade && asking.ballot == heard
                && (asking.others == null || !unheard.contains(asking.newcomer));
    }

    /** Whether this node has promised to take part in no other ballot than that which it has joined. */
    boolean isCurrent() {
        return promised == joined;
    }

    boolean isStable() {
        return installed.getOrDefault(joined, Set.of()).size() >= configuration.quorum();
    }

    /** Whether others go on in a ballot that this node has not been told of. */
    private boolean isBehind() {
        return !installed.isEmpty() && installed.lastKey() > joined;
    }

    // ------------------------------------------------------------------------------------------ what is asked for

    void lead() {
        ask(null);
    }

    private long nextBallot() {
        return Groups.nextBallot(heard, self);
    }

    private void ask(@Nullable Configuration change) {
        asking = new Asking(nextBallot(), joined, change);
        askAlso(configuration.nodes());
        // Those who go on in a ballot that this node has not been told of: perhaps nobody else is left who knows who its members are.
        installed.tailMap(joined, false).values().forEach(this::askAlso);
    }

    private void askAlso(Collection<Integer> others) {
        for (int node : others) {
            if (asking.asked.add(node)) {
                multicast.send(node, new GenuineMessage.Prepare(asking.ballot));
            }
        }
    }

    /** See {@link GroupMulticast#give}. */
    GroupMulticast.@Nullable Over give(int member, long itsProcess) {
        if (!isLeading() || configuration.has(member)) {
            return null;
        }
        stopGiving();
        joining = new Joining(member, itsProcess, multicast.deliveredStamp());
        reports.begins(member);
        reports.keepAllOf(group);
        return reports.over();
    }

    void stopGiving() {
        if (joining != null) {
            reports.gone(joining.node);
            reports.keepAllOf(-1);
            joining = null;
        }
    }

    /** A life of a node is over. */
    void gone(int node) {
        if (joining != null && joining.node == node) {
            stopGiving();
        }
    }

    /** See {@link GroupMulticast#takeIn}. */
    boolean takeIn(int member, long itsProcess, String address) {
        if (!mayChangeNow() || configuration.has(member) || joining == null || joining.node != member
                || joining.process != itsProcess) {
            return false;
        }
        ask(configuration.with(new Configuration.Member(member, nextBallot(), itsProcess, address)));
        return true;
    }

    /** See {@link GroupMulticast#takeOut}. */
    boolean takeOut(int member) {
        if (!mayChangeNow() || member == self || !configuration.has(member)) {
            return false;
        }
        ask(configuration.without(member));
        return true;
    }

    private boolean mayChangeNow() {
        return multicast.mayChange() && takesPart;
    }

    /** See {@link GroupMulticast#given}. */
    void given() {
        if (takesPart) {
            throw new IllegalStateException("node " + self + " takes part already");
        }
        given = true;
    }

    /** This life is one of the first members of a further group: see {@link GroupMulticast#found}. */
    void found(Configuration of) {
        given();
        takesPart = true;
        configuration = of;
        joined = of.nodes().getFirst();
        promised = joined;
        heard = joined;
        installed.put(joined, new HashSet<>(of.nodes()));
        boolean _ = memberships.learn(group, joined, of);
        leading = Groups.leader(joined) == self;
        multicast.takesPart();
    }

    /** This node talks to another life of a node from now on: what was told to the one before last may be lost. */
    void begins(int node, long itsProcess) {
        told.remove(node);
        Configuration.Member member = configuration.of(node);
        boolean mayNotKnow = isLeading() && member != null && member.process() == itsProcess;
        boolean isWaitedFor = asking.others != null && asking.newcomer == node;
        if (takesPart && (mayNotKnow || isWaitedFor)) {
            // It may have been told of this ballot, or of that which is to take it in, as the one before.
            lead();
        }
    }

    /** Tells a node who is a member, if it may not know. */
    void tell(int to) {
        if ((joined != first || !isFirst) && takesPart && to != self && multicast.isStable() && told.add(to)) {
            multicast.send(to, new GenuineMessage.Members(group, joined, configuration));
        }
    }

    /** Time has passed. */
    void tick() {
        if (group >= 0
                && (isBehind() ? ++ticksBehind > GroupMulticast.TICKS_BEFORE_LOST : joined != first && !isStable())) {
            for (Configuration.Member member : configuration.members()) {
                if (member.node() != self) {
                    multicast.send(member.node(), new GenuineMessage.Installed(joined, true));
                }
            }
        }
    }

    // ------------------------------------------------------------------------------------------ what has come

    void prepare(int from, GenuineMessage.Prepare prepare) {
        if (group < 0 || Groups.leader(prepare.ballot()) != from) {
            return;
        }
        if (prepare.ballot() <= promised) {
            multicast.send(from, new GenuineMessage.Passed(promised));
            return;
        }
        promised = prepare.ballot();
        heard = Math.max(heard, promised);
        leading = false;
        List<GenuineMessage.Entry> rest = parts.ahead(promised, multicast.remembered(),
                part -> multicast.send(from, part));
        multicast.send(from,
                new GenuineMessage.Promise(promised, since, joined, configuration, clock.latest(), rest));
    }

    void promised(int from, GenuineMessage.Promise promise) {
        if (promise.ballot() != asking.ballot || promised != asking.ballot || asking.isMade) {
            return;
        }
        asking.promises.put(from, promise);
        Collection<GenuineMessage.Promise> promises = asking.promises.values();
        GenuineMessage.Promise parent = multicast.parent(promises);
        askAlso(parent.configuration().nodes());
        Configuration change = asking.change;
        Configuration next = change != null && parent.joined() == asking.led ? change : parent.configuration();
        Configuration.Member own = next.of(self);
        if (!haveEnoughPromised(parent.configuration()) || !haveEnoughPromised(next) || own == null
                || own.since() != since) {
            return;
        }
        asking.isMade = true;
        long latest = promises.stream().mapToLong(GenuineMessage.Promise::clock).max().orElseThrow();
        Collection<GenuineMessage.Entry> chosen = multicast.chosen(promises);
        GenuineMessage.Install whole = new GenuineMessage.Install(promised, latest, next, above(), List.of());
        List<Integer> others = new ArrayList<>(next.nodes());
        for (Configuration.Member member : next.members()) {
            if (member.since() == promised) {
                // Who is taken in comes first.
                others.remove(Integer.valueOf(member.node()));
                asking.newcomer = member.node();
                asking.others = () -> sendInstall(others, whole, chosen);
                sendInstall(List.of(member.node()), whole, chosen);
                return;
            }
        }
        sendInstall(others, whole, chosen);
    }

    /** More than half of the members; who is taken in need not, since nobody else installs the ballot before it has. */
    private boolean haveEnoughPromised(Configuration of) {
        return of.members().stream().filter(member -> {
            GenuineMessage.Promise its = asking.promises.get(member.node());
            return member.since() == asking.ballot || (its != null && its.since() == member.since());
        }).count() >= of.quorum();
    }

    private void sendInstall(List<Integer> to, GenuineMessage.Install whole, Collection<GenuineMessage.Entry> entries) {
        List<GenuineMessage.Entry> rest = parts.ahead(whole.ballot(), entries, part -> sendTo(to, part));
        sendTo(to, new GenuineMessage.Install(whole.ballot(), whole.clock(), whole.configuration(), whole.above(),
                rest));
    }

    private void sendTo(List<Integer> nodes, GenuineMessage message) {
        nodes.forEach(node -> multicast.send(node, message));
    }

    /** What this node has delivered above is among what it remembers. */
    private long above() {
        long delivered = multicast.deliveredStamp();
        return joining == null ? delivered : Math.min(joining.above, delivered);
    }

    void install(int from, GenuineMessage.Install install) {
        if (group < 0 || install.ballot() < promised || install.ballot() <= joined
                || Groups.leader(install.ballot()) != from) {
            return;
        }
        Configuration of = install.configuration();
        Configuration.Member own = of.of(self);
        if (own == null || (takesPart ? own.since() != since : !isTakenIn(from, install))) {
            if (takesPart && own != null && own.since() > since) {
                isOver();
            }
            return;
        }
        if (!takesPart) {
            since = own.since();
            takesPart = true;
            multicast.takesPart();
        }
        for (Configuration.Member member : of.members()) {
            if (!member.is(configuration.of(member.node()))) {
                reports.begins(member.node());
            }
        }
        Joining before = joining;
        if (before != null) {
            Configuration.Member member = of.of(before.node);
            if (member == null || member.process() != before.process) {
                // What was delivered before this ballot may not be kept any more.
                stopGiving();
            }
            reports.keepAllOf(-1);
            joining = null;
        }
        past.addAll(configuration.nodes());
        configuration = of;
        past.removeAll(of.nodes());
        told.clear();
        promised = install.ballot();
        joined = promised;
        ticksBehind = 0;
        heard = Math.max(heard, promised);
        leading = false;
        installed.headMap(joined).clear();
        clock.seen(install.clock());
        if (memberships.learn(group, joined, of)) {
            multicast.changed();
        }
        multicast.replace(install.entries());
        sendTo(configuration.nodes(), new GenuineMessage.Installed(joined, false));
    }

    boolean wouldTakeIn(int from, GenuineMessage.Install install, long delivered) {
        Configuration.Member own = install.configuration().of(self);
        return !takesPart && Groups.leader(install.ballot()) == from && own != null && own.process() == process
                && install.above() <= delivered;
    }

    private boolean isTakenIn(int from, GenuineMessage.Install install) {
        return given && wouldTakeIn(from, install, multicast.deliveredStamp());
    }

    void installed(int from, GenuineMessage.Installed done) {
        installed(from, done.ballot());
        if (!done.asks()) {
            return;
        }
        if (done.ballot() == joined) {
            multicast.send(from, new GenuineMessage.Installed(joined, false));
        } else if (done.ballot() < joined && !configuration.has(from)) {
            // It may have been told before it was taken in by a ballot that others have passed.
            told.remove(from);
            tell(from);
        } else if (done.ballot() < joined && isLeading()) {
            // It was told of this ballot as the life before.
            lead();
        }
    }

    private void installed(int from, long ballot) {
        if (ballot < joined) {
            return;
        }
        installed.computeIfAbsent(ballot, _ -> new HashSet<>()).add(from);
        Runnable others = asking.others;
        if (others != null && ballot == asking.ballot && from == asking.newcomer) {
            asking.others = null;
            others.run();
        }
        if (ballot != joined || !isCurrent() || !multicast.isStable()) {
            return;
        }
        if (Groups.leader(joined) == self && !leading) {
            leading = true;
            // Whoever waits for this leader, or is no member any more, need not find out.
            past.forEach(this::tell);
            memberships.groups().forEach(one -> memberships.nodes(one).forEach(this::tell));
            multicast.leads();
        }
        multicast.deliver();
    }

    void passed(GenuineMessage.Passed passed) {
        heard = Math.max(heard, passed.ballot());
    }

    void part(int from, GenuineMessage.Part part) {
        ticksBehind = 0;
        parts.came(from, part);
    }

    /** Who takes part in a ballot of this group that is stable. */
    void members(GenuineMessage.Members members) {
        Configuration.Member own = members.configuration().of(self);
        if (takesPart && members.ballot() > joined && (own == null || own.since() != since)) {
            isOver();
        }
    }

    private void isOver() {
        takesPart = false;
        leading = false;
        multicast.over();
    }
}
