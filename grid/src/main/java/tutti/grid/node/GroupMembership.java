package tutti.grid.node;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.schema.Encoded;
import tutti.grid.GridConfig;
import tutti.grid.GridException;
import tutti.grid.commit.GroupCommit;
import tutti.grid.genuine.Configuration;
import tutti.grid.genuine.GenuineMessage;
import tutti.grid.multicast.LamportClock;
import tutti.grid.store.GroupLayout;
import tutti.grid.store.GroupOwners;
import tutti.grid.store.Key;
import tutti.grid.view.Layout;
import tutti.grid.view.View;

/**
 * Members of groups, without views. Nothing is agreed on when a node is not heard: the others do without those that they have not heard for the failure timeout, and give them up after ten times as long, or when too much is kept for
 * them, so that nothing need be kept any more; they take part again as other lives ({@link Replacement}), which are not there before they say so. Who is a member of which group is agreed on in the groups, by ballots.
 */
final class GroupMembership implements Membership {
    private static final Logger LOGGER = LoggerFactory.getLogger(GroupMembership.class);
    /** After so many heartbeats without a word another owner is asked. */
    private static final int HEARTBEATS_FOR_ANSWER = 2;
    /** For so many heartbeats a member that leaves waits for the others of its group to do so, too. */
    private static final int HEARTBEATS_TO_LEAVE = 3;

    private final Shared shared;
    private final GroupCommit commits;
    private final Member member;
    private final GroupOwners groups;
    private final Absence absence;
    private final Replacement replacement;
    private final Handover handover;
    private final Founding founding;
    private final Dissolving dissolving;
    private final long life;
    private final boolean isFirstLife;
    /** Who has applied and was told who the members are. */
    private final Set<Integer> introduced = new HashSet<>();
    /** Members of groups, and who may become one. */
    private View view;
    private volatile boolean isBroughtUp;
    private boolean isLeaving;
    /** By node: what it has been told of as present. */
    private final Map<Integer, Long> told = new HashMap<>();

    /**
     * As the founders are, or as a life that is to be taken in.
     *
     * @param life 0 of the first one of this node, otherwise its process
     */
    GroupMembership(Shared shared, GroupCommit commits, Member member, GroupOwners groups, View founders, long life) {
        this.shared = shared;
        this.commits = commits;
        this.member = member;
        this.groups = groups;
        this.view = founders;
        this.life = life;
        this.isFirstLife = life == 0;
        this.isBroughtUp = isFirstLife;
        absence = new Absence(shared.self(), node -> membersOf(groups.groupOf(node)));
        replacement = new Replacement(life, commits, shared.store(), shared.config().failureTimeout().toNanos(),
                member::send, () -> member.excluded(view));
        handover = new Handover(shared.self(), commits, groups, shared.store(),
                shared.config().failureTimeout().toNanos(), member::send, this::isThere);
        dissolving = new Dissolving(shared.self(), commits, groups, shared.heartbeats(),
                HEARTBEATS_TO_LEAVE * shared.config().heartbeat().toNanos());
        founding = new Founding(commits, groups, groups.groupOf(shared.self()), shared.config().degreeMax(),
                shared.config().failureTimeout().toNanos(), this::isMember);
    }

    @Override
    public void begin() {
        long start = isFirstLife ? shared.config().operationTimeout().toNanos() : 0;
        shared.hearing().start(view.members(), shared.machineClock().nanoTime(), start);
        follow();
    }

    // ------------------------------------------------------------------------------------------ what is so

    @Override
    public View view() {
        return view;
    }

    @Override
    public View entered() {
        return view;
    }

    @Override
    public Set<Integer> silent() {
        return absence.silent();
    }

    @Override
    public Set<Integer> joining() {
        return absence.joining();
    }

    private List<Integer> membersOf(int group) {
        return commits.members(group).nodes();
    }

    @Override
    public boolean isMember(int node) {
        return membersOf(groups.groupOf(node)).contains(node);
    }

    /** Whether there was a group and is none any more: who wants to join it is not waited for. */
    private boolean isDissolved(int group) {
        return groups.layout().number() > 0 && !groups.layout().groups().contains(group)
                && membersOf(group).isEmpty();
    }

    private boolean isThere(int node) {
        return view.has(node) && !absence.silent().contains(node);
    }

    @Override
    public boolean isBroughtUp() {
        return isBroughtUp;
    }

    @Override
    public String howFar() {
        if (isBroughtUp) {
            return "";
        }
        Set<Integer> nodes = shared.config().furtherGroup();
        if (!nodes.isEmpty() && groups.layout().number() == 0
                && commits.members(GroupOwners.number(nodes)).members().isEmpty()) {
            return "; its group is founded when enough of its nodes, " + new TreeSet<>(nodes) + ", are there";
        }
        return commits.takesPart()
                ? "; it is taken in, and decides what was on its way"
                : "; it must be taken in anew by more than half of its group, and has copied "
                        + replacement.copied() + " versions";
    }

    @Override
    public boolean hasChanged(int node) {
        return commits.hasChanged(groups.groupOf(node));
    }

    @Override
    public long missing(Set<Integer> asked, int degree) {
        return groups.isEverythingAt(asked) ? 0 : 1;
    }

    @Override
    public boolean mayForget() {
        return isBroughtUp && !commits.isCopying();
    }

    @Override
    public boolean answersFor(Key key) {
        return groups.groupOf(key) == groups.groupOf(shared.self());
    }

    // ------------------------------------------------------------------------------------------ what is asked for

    /** How many members a group must have left when one goes. */
    private int membersMin() {
        return Math.max(GroupCommit.MEMBERS_MIN,
                shared.config().caches().stream().mapToInt(GridConfig.CacheConfig::ownersMin).max().orElse(1));
    }

    @Override
    public void leave() {
        List<Integer> members = commits.configuration().nodes();
        boolean mayLeaveAlone = members.size() > membersMin() && commits.mayTakeOut(shared.self());
        if (!isBroughtUp || (!mayLeaveAlone && groups.layout().owning().size() == 1 && !dissolving.hasBegun())) {
            throw new GridException(GridException.Reason.NOT_ENOUGH_OWNERS, "node " + shared.self()
                    + " cannot leave its group, nodes " + members + ", which is the only one: " + membersMin()
                    + " must be left, and more than half of those be heard; have another node join the group first, or close this one");
        }
        isLeaving = true;
    }

    @Override
    public void remove(int node) {
        Configuration.Member its = commits.members(groups.groupOf(node)).of(node);
        if (its == null || isThere(node)) {
            return;
        }
        List<Integer> members = membersOf(groups.groupOf(node));
        if (members.size() <= membersMin()) {
            throw new GridException(GridException.Reason.NOT_ENOUGH_OWNERS, "node " + node
                    + " cannot be removed from its group, nodes " + members + ": " + membersMin()
                    + " must be left; have another node join the group, which takes its place");
        }
        askToLeave(its, members);
    }

    /** Asks the members of a group to go on without one of them. */
    private void askToLeave(Configuration.Member who, List<Integer> members) {
        GridMessage.Leave leave = new GridMessage.Leave(who.node(), who.since());
        for (int node : members) {
            if (node != shared.self()) {
                member.send(node, leave);
            } else if (node != who.node()) {
                leaves(node, leave);
            }
        }
    }

    private void leaves(int from, GridMessage.Leave leave) {
        if (from == leave.node()) {
            dissolving.leaves(leave, shared.machineClock().nanoTime());
        }
        boolean mayGo = from == leave.node() || !isThere(leave.node());
        boolean isSmaller = commits.configuration().nodes().size() > membersMin();
        boolean mayGoAlone = dissolving.mayLeaveAlone(leave.node(), shared.machineClock().nanoTime());
        if (mayGo && !dissolving.dissolve(absence.silent()) && mayGoAlone && isSmaller) {
            commits.leaves(leave.node(), leave.since());
        }
    }

    // ------------------------------------------------------------------------------------------ who is a member

    /** Who is a member of some group has changed. Called by the state machine: whatever calls that back comes later. */
    @Override
    public void changed() {
        Set<Integer> before = new TreeSet<>(view.members());
        Set<Integer> now = new TreeSet<>();
        for (int group : commits.groups()) {
            for (int node : groups.of(group)) {
                before.add(node);
            }
            groups.members(group, membersOf(group));
            for (Configuration.Member one : commits.members(group).members()) {
                now.add(one.node());
                if (!one.address().isEmpty() && one.node() != shared.self()) {
                    // What is sent to it next must not be lost.
                    shared.links().at(one.node(), PeerLinks.address(one.address()));
                }
            }
        }
        before.removeAll(now);
        before.removeAll(absence.joining());
        before.remove(shared.self());
        if (!before.isEmpty()) {
            LOGGER.info("node {} of grid {} knows that {} are members of no group any more", shared.self(),
                    shared.config().name(), before);
        }
        absence.changed(before, now);
        before.forEach(shared.heartbeats()::left);
        follow();
        member.later(() -> {
            if (!member.isOver()) {
                absence.joining().forEach(commits::introduce);
                lookWhoIsAbsent();
            }
        });
    }

    @Override
    public void layoutChanged(Configuration founded) {
        shared.layouts().next(groups.layout().number(), groups);
        changed();
        tellFounders(groups.layouts(), founded);
    }

    /** Tells the first members of a group that they are. */
    private void tellFounders(List<GroupLayout> layouts, Configuration of) {
        GridMessage.Founded founded = new GridMessage.Founded(layouts, of);
        of.nodes().stream().filter(node -> node != shared.self()).forEach(node -> member.send(node, founded));
    }

    /** As one of them: tells the others before it says anything else to them, so that they miss nothing. */
    private void founded(GridMessage.Founded all) {
        Configuration.Member own = all.first().of(shared.self());
        if (own == null || own.process() != life) {
            return;
        }
        for (Configuration.Member one : all.first().members()) {
            if (one.node() != shared.self()) {
                shared.links().at(one.node(), PeerLinks.address(one.address()));
            }
        }
        tellFounders(all.layouts(), all.first());
        commits.found(all.layouts(), all.first());
        lookWhetherBroughtUp();
    }

    /** Who is there, or may become a member. */
    private void follow() {
        Set<Integer> all = new TreeSet<>(absence.joining());
        all.add(shared.self());
        for (int group : commits.groups()) {
            for (int node : groups.of(group)) {
                all.add(node);
            }
        }
        Map<Integer, View.Member> members = new TreeMap<>();
        all.forEach(node -> members.put(node, new View.Member(0, shared.links().addressOf(node))));
        view = new View(0, members, new Layout(groups.layout().number(),
                groups.layout().isMoving() ? Layout.Phase.COPY : Layout.Phase.STABLE, all, all));
        long now = shared.machineClock().nanoTime();
        all.stream().filter(shared.hearing()::isNew).forEach(node -> shared.hearing().heard(node, now));
    }

    @Override
    public void begins(int node, long process) {
        if (member.isOver() || isDissolved(groups.groupOf(node))) {
            return;
        }
        shared.hearing().heard(node, shared.machineClock().nanoTime());
        absence.begins(node);
        handover.gone(node);
        introduced.remove(node);
        told.remove(node);
        follow();
        commits.begins(node, process);
        member.ownersChanged();
    }

    // ------------------------------------------------------------------------------------------ what has come

    @Override
    public boolean takes(int from, Encoded message, long stamp) {
        if (!commits.takesPart()) {
            shared.clock().seen(stamp);
            copies(from, message);
        } else if (message instanceof GridMessage.Apply apply) {
            applies(from, apply);
        } else if (message instanceof GenuineMessage.Data && !isMember(from)) {
            // It was taken out, and does not know; or it was taken in, and this node will hear of that.
            introduce(from);
        } else {
            return false;
        }
        return true;
    }

    /** As a life that takes no part yet: what it copies, and by what it is taken in. All else is for those that do. */
    private void copies(int from, Encoded message) {
        switch (message) {
            case GenuineMessage.Install install -> {
                replacement.installed(from, install);
                lookWhetherBroughtUp();
            }
            case GridMessage.Founded founded -> founded(founded);
            case GenuineMessage.Part part -> replacement.part(from, part, shared.machineClock().nanoTime());
            case GenuineMessage.Members members -> {
                commits.received(from, members);
                lookWhetherItCanBeReplaced(from, members.configuration());
            }
            case GridMessage.Addresses all -> addresses(all);
            case GridMessage.Apply apply -> shared.links().applied(from, PeerLinks.address(apply.address()));
            case GridMessage.Heartbeat heartbeat -> heartbeat(from, heartbeat, true);
            case GridMessage.Present now -> commits.seen(now.stamp());
            case GridMessage part -> replacement.received(from, part, shared.machineClock().nanoTime());
            default -> {
                // What it would need of it, it asks for later.
            }
        }
    }

    /** What is left of a group without a life of it that is over may be too few to go on without it. */
    private void lookWhetherItCanBeReplaced(int from, Configuration group) {
        if (group.has(shared.self()) && group.has(from) && group.nodes().size() - 1 < GroupCommit.MEMBERS_MIN) {
            LOGGER.error("node {} of grid {} was there before", shared.self(), shared.config().name());
            member.ended(FirstLife.tooFewOthers(shared.self()));
        }
    }

    private void addresses(GridMessage.Addresses all) {
        all.nodes().forEach((node, address) -> {
            if (node != shared.self()) {
                shared.links().at(node, PeerLinks.address(address));
            }
        });
    }

    private String ownAddress() {
        return PeerLinks.text(shared.config().nodes().get(shared.self()));
    }

    /** Tells who wants to become a member who the others are, and where. */
    private void introduce(int node) {
        Map<Integer, String> all = new TreeMap<>();
        view.processes().forEach((other, its) -> all.put(other, its.address()));
        all.put(shared.self(), ownAddress());
        all.values().removeIf(String::isEmpty);
        member.send(node, new GridMessage.Addresses(all));
        commits.introduce(node);
    }

    private void applies(int from, GridMessage.Apply apply) {
        shared.links().applied(from, PeerLinks.address(apply.address()));
        if (introduced.add(from)) {
            introduce(from);
        }
        boolean isFounder = !apply.nodes().isEmpty()
                && !groups.layout().further().containsKey(GroupOwners.number(apply.nodes()));
        if (isFounder) {
            founding.applied(from, apply, shared.machineClock().nanoTime());
        } else if (groups.groupOf(from) == groups.groupOf(shared.self())
                && (apply.nodes().isEmpty() || apply.nodes().contains(groups.groupOf(from)))) {
            replacement.applied(from, apply, absence.gone(), shared.machineClock().nanoTime());
        }
    }

    @Override
    public boolean received(int from, Encoded message) {
        switch (message) {
            case GridMessage.Addresses all -> addresses(all);
            case GridMessage.Leave leave -> leaves(from, leave);
            case GridMessage.Fetch fetch -> replacement.fetch(from, fetch, shared.machineClock().nanoTime());
            case GridMessage.Taken taken -> replacement.taken(from, taken, shared.machineClock().nanoTime());
            case GridMessage.Hand asked -> handover.hand(from, asked);
            case GridMessage.Handed part -> handover.handed(from, part, shared.machineClock().nanoTime());
            case GridMessage.HasCopied has -> handover.hasCopied(from, has);
            case GridMessage.Founded _,GridMessage.Given _,GridMessage.Undecided _,GridMessage.Decided _,GridMessage.Over _,GridMessage.Copies _ -> {
                // It is late: this node takes part.
            }
            default -> {
                return false;
            }
        }
        return true;
    }

    @Override
    public void heartbeat(int from, GridMessage.Heartbeat heartbeat, boolean isPresent) {
        shared.heartbeats().said(from, heartbeat);
        if (absence.there(from)) {
            commits.there(from);
            // What it was told of before, it may have missed.
            told.remove(from);
            follow();
            lookWhoIsAbsent();
        }
        timesHeard();
    }

    private void timesHeard() {
        if (isBroughtUp) {
            long others = view.members().stream().filter(this::isThere).count() - 1;
            shared.times().heardByAll(shared.heartbeats().timesOfOthers(shared.self()), (int) others,
                    view.members().size(), shared.store().timeHorizonMillis());
        }
    }

    // ------------------------------------------------------------------------------------------ time

    @Override
    public GridMessage.Moving tick() {
        lookWhoIsAbsent();
        return GridMessage.Moving.NOTHING;
    }

    /** Goes on without nodes that were not heard, and gives up some of them. */
    private void lookWhoIsAbsent() {
        GridConfig config = shared.config();
        Hearing hearing = shared.hearing();
        Set<Integer> before = absence.silent();
        Set<Integer> unheard = shared.unheard(view.members());
        Set<Integer> givenUp = absence.notHeard(unheard, hearing, config,
                node -> keptBytes(node) > config.unsentBytesMax());
        if (!before.equals(absence.silent())) {
            LOGGER.info("node {} of grid {} does without {}", config.self(), config.name(), absence.silent());
        }
        for (int node : givenUp) {
            if (isMember(node)) {
                shared.links().giveUp(node);
            } else {
                shared.links().left(node);
            }
        }
        for (int node : absence.left(hearing, config)) {
            shared.links().left(node);
            shared.heartbeats().left(node);
            givenUp.add(node);
        }
        commits.unheard(unheard);
        commits.absent(absence.silent(), givenUp);
        member.ownersChanged();
        member.askOthersThan(
                hearing.silent(view.members(), HEARTBEATS_FOR_ANSWER * config.heartbeat().toNanos()));
        long most = Math.max(config.unsentBytesMax(), shared.store().bytes());
        replacement.tick(shared.machineClock().nanoTime(), () -> keptBytes(config.self()) > most);
        handover.tick(shared.machineClock().nanoTime());
        if (isBroughtUp) {
            founding.tick(shared.machineClock().nanoTime());
            lookWhatIsDissolved();
        }
    }

    private void lookWhatIsDissolved() {
        Set<Integer> over = dissolving.over(absence.silent(), absence.gone());
        for (int group : over) {
            commits.absent(absence.silent(), new TreeSet<>(membersOf(group)));
            if (commits.dissolved(group)) {
                LOGGER.info("node {} of grid {} knows that group {} is dissolved", shared.self(),
                        shared.config().name(), group);
                groups.dissolved(group);
                changed();
            }
        }
        if (dissolving.isOver(absence.silent(), absence.gone())) {
            member.ended("the node has left: its group was dissolved");
        }
    }

    /** About how many bytes are kept for a node, or for its group. */
    private long keptBytes(int node) {
        return Math.max(shared.links().unsentBytes(List.of(node)), commits.keptBytes(groups.groupOf(node)));
    }

    /** To be called when something has been decided, or taken in. */
    private void lookWhetherBroughtUp() {
        if (isBroughtUp || !commits.isReady()) {
            return;
        }
        LOGGER.info("node {} of grid {} was taken in anew by its group", shared.self(), shared.config().name());
        isBroughtUp = true;
        // Before it says that it is there.
        view.members().stream().filter(node -> node != shared.self()).forEach(commits::introduce);
        // Of those that had left before, nothing comes any more.
        Set<Integer> others = new TreeSet<>();
        for (int node = 0; node < LamportClock.NODES_MAX; node++) {
            if (!view.has(node)) {
                others.add(node);
            }
        }
        commits.absent(absence.silent(), others);
        timesHeard();
        var _ = say(GridMessage.Moving.NOTHING);
    }

    @Override
    public Set<Integer> say(GridMessage.Moving moving) {
        lookWhetherBroughtUp();
        Set<Integer> members = new TreeSet<>(view.members());
        members.removeAll(absence.gone());
        if (isBroughtUp) {
            sayThatItLives(members);
        } else {
            members.remove(shared.self());
            sayThatItWantsToBeOne(members);
        }
        members.removeAll(absence.joining());
        return members;
    }

    private void sayThatItLives(Set<Integer> members) {
        Configuration.Member own = isLeaving ? commits.configuration().of(shared.self()) : null;
        if (own != null) {
            dissolving.leaves(new GridMessage.Leave(own.node(), own.since()), shared.machineClock().nanoTime());
            boolean _ = dissolving.dissolve(absence.silent());
            askToLeave(own, commits.configuration().nodes());
        }
        GridMessage.Heartbeat heartbeat = member
                .heartbeat(dissolving.moving(absence.silent(), absence.gone()));
        // A node may be waited for as long as somebody must.
        members.stream().filter(node -> node != shared.self() && shared.links().isConnected(node)).forEach(node -> {
            member.send(node, heartbeat);
            tellPresent(node);
        });
    }

    private void tellPresent(int node) {
        if (commits.present() > told.getOrDefault(node, 0L)) {
            told.put(node, commits.present());
            member.send(node, new GridMessage.Present(commits.present()));
        }
    }

    private void sayThatItWantsToBeOne(Set<Integer> members) {
        if (commits.takesPart()) {
            members.stream().filter(shared.links()::isConnected)
                    .forEach(node -> member.send(node, new GridMessage.Present(commits.present())));
            return;
        }
        Set<Integer> known = new TreeSet<>(members);
        known.addAll(shared.config().nodes().keySet());
        known.remove(shared.self());
        replacement.apply(known, ownAddress(), shared.config().furtherGroup());
    }
}
