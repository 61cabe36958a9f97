package tutti.grid.node;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import tutti.grid.commit.GroupCommit;
import tutti.grid.genuine.Configuration;
import tutti.grid.node.GridMessage.Moving;
import tutti.grid.node.GridMessage.Step;
import tutti.grid.store.GroupLayout;
import tutti.grid.store.GroupOwners;

/**
 * Without views: how a group ends whose members all leave. On the node's loop.
 *
 * <p>
 * When all members that its leader hears want to leave, it has the group dissolved, by a message to all groups: the others get its keys ({@link Handover}). From then on nobody leaves alone. When keys lie elsewhere, its members own nothing; but what was sent before may still go to them, and others could not go
 * on without them. So they stay until nothing does:
 *
 * <p>
 * A node is <em>done</em> with the layout if it goes by it, and knows of nothing that is not delivered, or of its own not ordered, and goes to a group that has no place in the layout. It says so with its heartbeats. When it has heard so of all others it says that, too (<em>done by all</em>). Something that goes to such a group is known to who sends it, until it is ordered everywhere; if that one crashed, to who
 * has got it. Who sends it says that it is done later, by the same channel; who has got it from somebody has got it before that one said so, and is not done itself. So what a node that was heard to be done by all says holds for ever: nothing comes any more from anybody, and a member of the group that has heard it of all can end. A node that was given up sends nothing any more that
 * anybody takes; another life of it says nothing before it has delivered all that was ordered when it was taken in.
 */
final class Dissolving {
    private final int self;
    private final GroupCommit commits;
    private final GroupOwners groups;
    private final Heartbeats heartbeats;
    /** By member of this group: the life that wants to leave. */
    private final Map<Integer, Long> leaving = new HashMap<>();
    /** The same: since when. */
    private final Map<Integer, Long> sinceNanos = new HashMap<>();
    private final long patienceNanos;
    private long asked = -1;

    /** @param patienceNanos so long a member that wants to leave waits for the others, since all may want to */
    Dissolving(int self, GroupCommit commits, GroupOwners groups, Heartbeats heartbeats, long patienceNanos) {
        this.self = self;
        this.patienceNanos = patienceNanos;
        this.commits = commits;
        this.groups = groups;
        this.heartbeats = heartbeats;
    }

    /** A member of this group wants to leave. */
    void leaves(GridMessage.Leave leave, long nowNanos) {
        leaving.put(leave.node(), leave.since());
        sinceNanos.putIfAbsent(leave.node(), nowNanos);
    }

    /** Whether one that wants to leave need not wait for the others any more. */
    boolean mayLeaveAlone(int node, long nowNanos) {
        return !hasBegun() && nowNanos - sinceNanos.getOrDefault(node, nowNanos - patienceNanos) >= patienceNanos;
    }

    /** Whether this node's group is to have no keys, or has none any more: then nobody leaves it alone. */
    boolean hasBegun() {
        GroupLayout layout = groups.layout();
        return !layout.next().contains(groups.groupOf(self));
    }

    /** As the leader: whether all members that are heard want to leave, and so the group was asked to be dissolved. */
    boolean dissolve(Set<Integer> silent) {
        GroupLayout layout = groups.layout();
        Configuration of = commits.configuration();
        List<Configuration.Member> heard = of.members().stream().filter(one -> !silent.contains(one.node())).toList();
        boolean all = heard.size() >= of.quorum()
                && heard.stream().allMatch(one -> leaving.getOrDefault(one.node(), -1L) == one.since());
        if (!all || !commits.isLeading() || layout.isMoving() || layout.owning().size() == 1 || hasBegun()) {
            return false;
        }
        if (asked < layout.number()) {
            asked = layout.number();
            commits.dissolve(groups.groupOf(self));
        }
        return true;
    }

    /** Groups of which this node knows members, and that have no place in the layout. */
    private Set<Integer> ended() {
        Set<Integer> ended = new TreeSet<>(commits.groups());
        ended.removeAll(groups.layout().groups());
        return ended;
    }

    private boolean isSilent(int group, Set<Integer> silent) {
        return silent.containsAll(commits.members(group).nodes());
    }

    /**
     * What this node says of itself.
     *
     * @param silent who was not heard for a while
     * @param gone who was given up
     */
    Moving moving(Set<Integer> silent, Set<Integer> gone) {
        GroupLayout layout = groups.layout();
        if (layout.number() == 0 || layout.isMoving()) {
            return Moving.NOTHING;
        }
        return new Moving(step(silent, gone), Step.OPEN, layout.number(), false, false);
    }

    private Step step(Set<Integer> silent, Set<Integer> gone) {
        if (commits.hasOpen(ended())) {
            return Step.OPEN;
        }
        return haveAllSaid(Step.DONE, silent, gone) ? Step.DONE_BY_ALL : Step.DONE;
    }

    /** All that are members, but for those of other groups that have ended and are not heard any more. */
    private boolean haveAllSaid(Step least, Set<Integer> silent, Set<Integer> gone) {
        Set<Integer> ended = ended();
        Set<Integer> others = new TreeSet<>();
        commits.groups().stream().filter(group -> group == groups.groupOf(self) || !ended.contains(group)
                || !isSilent(group, silent)).forEach(group -> others.addAll(commits.members(group).nodes()));
        others.removeAll(gone);
        others.remove(self);
        return heartbeats.haveAllSaid(others, said -> said.moving().copied() >= groups.layout().number()
                && said.moving().drained().compareTo(least) >= 0);
    }

    /** Whether this node's group has ended, and nothing goes to it any more. */
    boolean isOver(Set<Integer> silent, Set<Integer> gone) {
        return hasBegun() && !groups.layout().isMoving() && commits.keepsNothing()
                && step(silent, gone) == Step.DONE_BY_ALL && haveAllSaid(Step.DONE_BY_ALL, silent, gone);
    }

    /** Groups that have ended, whose members are there no more. */
    Set<Integer> over(Set<Integer> silent, Set<Integer> gone) {
        Set<Integer> over = ended();
        over.removeIf(group -> group == groups.groupOf(self) || !isSilent(group, silent));
        if (over.isEmpty() || groups.layout().isMoving() || step(silent, gone) != Step.DONE_BY_ALL) {
            over.clear();
        }
        return over;
    }
}
