package tutti.order.raft;

import io.microraft.RaftRole;
import io.microraft.impl.RaftNodeImpl;
import io.microraft.impl.state.RaftState;
import io.microraft.impl.task.LeaderElectionTimeoutTask;
import io.microraft.impl.task.PreVoteTimeoutTask;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.runtime.Clock;
import tutti.runtime.Loop;

/**
 * Begins elections that MicroRaft would begin too late, or never, and ends those that it would not let end. On Raft's loop.
 *
 * <p>
 * <b>A leader whose process has ended</b> is not waited for: its connections are closed at once, and nobody listens at its port any more.
 * Each follower that sees both takes its silence for as long as it has to be, and asks the others whether they miss the leader, too (the
 * pre-vote of Ongaro's thesis, section 9.6). One that still hears the leader says no, and nothing has happened. So that two do not
 * vote for themselves, they begin one after the other, the one behind the leader first; whoever was asked before it had seen it itself is asked
 * again. A leader of which nothing is heard any more, its host or its network gone, is missed after the failure timeout as ever.
 *
 * <p>
 * <b>An election that takes long</b> is given longer the next time. Each forces the votes to disks one after the other, and on a machine whose
 * disks or processors are busy that can take more than MicroRaft's time for it, which is always the same: then all would be begun
 * and none would end, for as long as the machine is busy. So the time doubles with each term in which no leader has stayed, up to
 * {@link #DOUBLED_MAX} times. For as long, whoever has voted for another asks for no votes itself, which would end that election before its time. And
 * whoever was not elected in time asks the others anew whether they miss the leader, where MicroRaft would take one term after the other,
 * each of which deposes whoever leads.
 */
final class Elections {
    private static final Logger LOGGER = LoggerFactory.getLogger(Elections.class);
    /** The first node waits until the others can have seen it, too. */
    private static final long FIRST_NANOS = TimeUnit.MILLISECONDS.toNanos(30);
    /** The next ones follow, each when an election that the one before has begun is over, on slow disks as well. */
    private static final long STEP_NANOS = TimeUnit.MILLISECONDS.toNanos(120);
    /** So often a node asks the others. */
    private static final int TRIES = 3;
    /** So often the time for an election doubles: up to some 16 failure timeouts. */
    private static final int DOUBLED_MAX = 5;
    /** So many failure timeouts must a leader have stayed until elections are given as little time as at first. */
    private static final int CALM = 10;

    private final RaftOrderConfig config;
    private final Loop loop;
    private final Clock clock;
    private final RaftTime time;
    private final RaftNodeImpl raft;
    private final Runnable over;
    private boolean underWay;
    private long number;
    /** The last term in which a leader has stayed; at first the one with which the node was started. */
    private int calmTerm;
    private Loop.@Nullable Timer preVoteTime;
    private Loop.@Nullable Timer electionTime;
    /** Until then another node is being elected, as far as is known here; null if none is. */
    private @Nullable Long otherUntilNanos;

    /** @param over called when an election that was begun early has had its time */
    Elections(RaftOrderConfig config, Loop loop, Clock clock, RaftTime time, RaftNodeImpl raft, Runnable over) {
        this.config = config;
        this.loop = loop;
        this.clock = clock;
        this.time = time;
        this.raft = raft;
        this.over = over;
        calmTerm = raft.state().term();
        time.elections(this);
    }

    /** There is a leader. */
    void led(int term) {
        otherUntilNanos = null;
        if (term != calmTerm) {
            var _ = loop.schedule(CALM * config.failureTimeout().toNanos(), () -> {
                if (term == raft.state().term()) {
                    calmTerm = term;
                }
            });
        }
    }

    private long stretched(long nanos) {
        return nanos << Math.clamp(raft.state().term() - calmTerm - 1L, 0, DOUBLED_MAX);
    }

    /**
     * Whether a task of MicroRaft's is the end of the time for a pre-vote or an election, which is then kept here, in place of the one before.
     *
     * @param delayNanos MicroRaft's time for it
     */
    boolean keeps(Runnable task, long delayNanos) {
        switch (task) {
            case PreVoteTimeoutTask _ -> preVoteTime = instead(preVoteTime, delayNanos, task);
            case LeaderElectionTimeoutTask _ ->
                electionTime = instead(electionTime, stretched(delayNanos), this::notElected);
            default -> {
                return false;
            }
        }
        return true;
    }

    private Loop.Timer instead(Loop.@Nullable Timer before, long delayNanos, Runnable task) {
        if (before != null) {
            before.cancel();
        }
        return loop.schedule(delayNanos, task);
    }

    private void notElected() {
        RaftState now = raft.state();
        if (now.role() == RaftRole.CANDIDATE) {
            LOGGER.info("node {}: was not elected in term {} in time", config.self(), now.term());
            raft.toFollower(now.term());
            raft.runPreVote();
        }
    }

    /** This node votes for another. */
    void voted() {
        otherUntilNanos = clock.nanoTime()
                + stretched(time.nanos(RaftSettings.ELECTION_MILLIS_MAX, TimeUnit.MILLISECONDS));
    }

    /** Whether this node has voted for another, that may still be elected. */
    boolean waitsForAnother() {
        return otherUntilNanos != null && clock.nanoTime() - otherUntilNanos < 0;
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
