package tutti.order.raft;

import io.microraft.impl.RaftNodeImpl;
import io.microraft.impl.state.RaftGroupMembersState;
import io.microraft.impl.state.RaftState;
import java.io.IOException;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.spi.Group;
import tutti.order.peer.PeerNetwork;
import tutti.runtime.Directory;
import tutti.runtime.Loop;

/**
 * Sees to it that who takes part in Raft becomes what the {@link MemberList} says, as the leader: by one {@link GroupChange} after the
 * other, each when the last one is committed, and when an entry of the leader's own term is (Ongaro's correction of 2015); MicroRaft
 * refuses any other. A node that leads and is to go hands over first.
 *
 * <p>
 * <b>Why that is safe.</b> Raft decides by itself, by a majority of those who take part, whatever a list says and whoever believes it;
 * lists only say what is asked for. Any two groups that follow each other differ by one node. A list is told when the message that
 * changes it is delivered, and so committed: no leader asks for what may yet not be.
 *
 * <p>
 * <b>Who was removed</b> takes part until that is committed; until then it is connected, since its voice may be needed. Then it is told
 * when it connects the next time. Of Raft's loop.
 */
final class Membership {
    private static final Logger LOGGER = LoggerFactory.getLogger(Membership.class);

    private final int self;
    private final Directory files;
    private final VotingGroups groups;
    private final PeerNetwork peers;
    private final Loop loop;
    private final RaftNodeImpl raft;
    private final RaftTransport.Host host;
    private volatile MemberList list;
    private boolean asks;

    Membership(int self, Directory files, MemberList list, VotingGroups groups, PeerNetwork peers, Loop loop,
            RaftNodeImpl raft, RaftTransport.Host host) {
        this.self = self;
        this.files = files;
        this.list = list;
        this.groups = groups;
        this.peers = peers;
        this.loop = loop;
        this.raft = raft;
        this.host = host;
    }

    /** Any thread. */
    MemberList list() {
        return list;
    }

    /** All that are members or take part. */
    Set<Integer> all() {
        return list.concerned(groups.last());
    }

    /** As of which entries who took part. */
    VotingGroups.Image groups() {
        return groups.image();
    }

    /** A message in the order, or another node, has told of a list; answers whether it is newer than what was known. */
    boolean told(Group.Members now) {
        if (host.isStopped() || now.number() <= list.now().number()) {
            return false;
        }
        try {
            MemberList next = list.with(now);
            next.write(files);
            list = next;
        } catch (IOException broken) {
            host.fail(broken);
            return false;
        }
        LOGGER.info("node {}: as of position {} the members are {}{}", self, now.number(), now.addresses(),
                now.learners().isEmpty() ? "" : ", of which " + now.learners() + " catch up");
        changed();
        return true;
    }

    /** The list, or who takes part, is another. */
    void changed() {
        if (!host.isStopped()) {
            peers.others(list.others(self, groups.last()));
            ask();
        }
    }

    /** As the leader: asks for what is to be changed next, if the last change is committed. */
    void ask() {
        RaftState now = raft.state();
        RaftGroupMembersState group = now.committedGroupMembers();
        if (asks || host.isStopped() || !host.isLeader() || !list.changed() || now.leaderState() == null
                || group.getLogIndex() != now.effectiveGroupMembers().getLogIndex()) {
            return;
        }
        VotingGroups.Group present = new VotingGroups.Group(group.getLogIndex(),
                GroupChange.ids(group.getMembers()), GroupChange.ids(group.getVotingMembers()));
        Set<Integer> there = new TreeSet<>(peers.reachable());
        there.add(self);
        list.first(present, there).ifPresent(node -> {
            GroupChange.Step step = Objects.requireNonNull(list.next(present, node));
            if (step == GroupChange.Step.GOES && node == self) {
                handOver(present);
            } else {
                ask(node, step, present.index());
            }
        });
    }

    private void ask(int node, GroupChange.Step step, long last) {
        asks = true;
        var _ = raft.changeMembership(new Node(node), step.mode(), last)
                .whenComplete((_, failed) -> loop.execute(() -> {
                    asks = false;
                    if (failed == null) {
                        ask();
                    } else {
                        LOGGER.info("node {}: that node {} {} is asked for again later: {}", self, node, step,
                                failed.toString());
                    }
                }));
    }

    private void handOver(VotingGroups.Group group) {
        Set<Integer> reachable = peers.reachable();
        group.voters().stream().filter(id -> id != self && reachable.contains(id)).findFirst()
                .ifPresent(to -> {
                    var _ = raft.transferLeadership(new Node(to)).exceptionally(e -> {
                        LOGGER.info("node {}: leads on for now: {}", self, e.toString());
                        return null;
                    });
                });
    }

    /**
     * Whether a majority of the voters can be reached, where others could hide its loss: MicroRaft's leader takes what those
     * answer for a sign that it still leads.
     */
    boolean quorum(Set<Integer> reachable) {
        RaftGroupMembersState now = raft.state().effectiveGroupMembers();
        Set<Integer> voters = GroupChange.ids(now.getVotingMembers());
        return voters.size() == now.getMembers().size()
                || voters.stream().filter(reachable::contains).count() > voters.size() / 2;
    }
}
