package tutti.order.raft;

import io.microraft.RaftRole;
import io.microraft.impl.RaftNodeImpl;
import io.microraft.impl.state.RaftState;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.runtime.Loop;

/**
 * Begins elections that MicroRaft would begin too late, or never. On Raft's loop.
 *
 * <p>
 * <b>A leader whose process has ended</b> is not waited for: its connections are closed at once, and nobody listens at its port any more.
 * Each follower that sees both takes its silence for as long as it has to be, and asks the others whether they miss the leader, too (the
 * pre-vote of Ongaro's thesis, section 9.6). One that still hears the leader says no, and nothing has happened. So that two do not
 * vote for themselves, they begin one after the other, the one behind the leader first; whoever was asked before it had seen it itself is asked
 * again. A leader of which nothing is heard any more, its host or its network gone, is missed after the failure timeout as ever.
 */
final class Elections {
    private static final Logger LOGGER = LoggerFactory.getLogger(Elections.class);
    /** The first node waits until the others can have seen it, too. */
    private static final long FIRST_NANOS = TimeUnit.MILLISECONDS.toNanos(30);
    /** The next ones follow, each when an election that the one before has begun is over, on slow disks as well. */
    private static final long STEP_NANOS = TimeUnit.MILLISECONDS.toNanos(120);
    /** So often a node asks the others. */
    private static final int TRIES = 3;

    private final RaftOrderConfig config;
    private final Loop loop;
    private final RaftTime time;
    private final RaftNodeImpl raft;
    private final Runnable over;
    private boolean underWay;
    private long number;

    /** @param over called when an election that was begun early has had its time */
    Elections(RaftOrderConfig config, Loop loop, RaftTime time, RaftNodeImpl raft, Runnable over) {
        this.config = config;
        this.loop = loop;
        this.time = time;
        this.raft = raft;
        this.over = over;
    }

    /** Begins to look. */
    void watch() {
        checkForgottenPreVote();
    }

    /**
     * MicroRaft 0.7 does not look for a silent leader while it has a pre-vote open, and never closes a pre-vote that was
     * open when it learned of a leader in the same term: that follower would never miss its leader. Becoming a follower
     * of the same term again closes it, keeps the vote and forgets the leader.
     */
    private void checkForgottenPreVote() {
        RaftState now = raft.state();
        if (now.role() == RaftRole.FOLLOWER && now.leader() != null && now.preCandidateState() != null
                && raft.isLeaderHeartbeatTimeoutElapsed()) {
            raft.toFollower(now.term());
            raft.runPreVote();
        }
        time.schedule(this::checkForgottenPreVote, RaftSettings.HEARTBEAT, TimeUnit.SECONDS);
    }

    /** The process of a node has ended. */
    void gone(int node) {
        RaftState now = raft.state();
        if (now.role() != RaftRole.FOLLOWER || now.leader() == null || Node.id(now.leader()) != node) {
            return;
        }
        LOGGER.info("node {}: the leader, node {}, is gone", config.self(), node);
        time.missLeader();
        TreeSet<Integer> voters = new TreeSet<>(GroupChange.ids(now.effectiveGroupMembers().getVotingMembers()));
        voters.remove(node);
        if (!voters.contains(config.self())) {
            return;
        }
        underWay = true;
        long mine = ++number;
        int turn = config.self() > node
                ? voters.subSet(node, config.self()).size()
                : voters.tailSet(node).size() + voters.headSet(config.self()).size();
        var _ = loop.schedule(FIRST_NANOS + STEP_NANOS * turn,
                () -> ask(node, now.term(), STEP_NANOS * voters.size(), TRIES));
        var _ = loop.schedule(config.failureTimeout().toNanos(), () -> ended(mine));
    }

    private void ask(int missed, int term, long pauseNanos, int tries) {
        RaftState now = raft.state();
        if (tries == 0 || now.role() != RaftRole.FOLLOWER || now.term() != term
                || (now.leader() != null && Node.id(now.leader()) != missed)
                || !raft.isLeaderHeartbeatTimeoutElapsed()) {
            return;
        }
        if (now.leader() != null) {
            raft.leader(null);
        }
        raft.runPreVote();
        var _ = loop.schedule(pauseNanos, () -> ask(missed, term, pauseNanos, tries - 1));
    }

    private void ended(long which) {
        if (which == number) {
            underWay = false;
            over.run();
        }
    }

    /**
     * Whether another leader is to be expected soon, although none is known: one that was there is gone, a majority is there, and the
     * failure timeout has not passed since.
     *
     * @param reachable nodes that can be reached, with this one
     */
    boolean underWay(Set<Integer> reachable) {
        Set<Integer> voters = GroupChange.ids(raft.state().effectiveGroupMembers().getVotingMembers());
        return underWay && voters.stream().filter(reachable::contains).count() > voters.size() / 2;
    }
}
