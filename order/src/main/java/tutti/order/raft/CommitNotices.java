package tutti.order.raft;

import io.microraft.model.message.AppendEntriesRequest;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import tutti.runtime.Clock;
import tutti.runtime.Loop;

/**
 * Decides whether a follower is told at once how far the log is committed. MicroRaft's leader tells each follower after
 * each commit, by an append without entries; the next append with entries says the same. A message wakes threads at the
 * follower and costs more than what it says. So it is kept back for a moment if the next append is likely to come by then, from a
 * follower that has had nothing ordered itself lately: where clients commit, they wait for their own commits, and for those before.
 * How fast commits have come lately, in a mean that forgets, tells when that is likely: a notice is kept back for twice as long, within
 * bounds, and not at all where commits are rare.
 *
 * <p>
 * Raft allows any message to be late or lost, and any append to say a commit index that is lower than it could be; so nothing
 * but the time at which a follower delivers depends on this. What is kept back is sent after {@link #DELAY_NANOS_MAX} at
 * most, and whatever else is sent to the follower in between makes it needless, since it says as much. An append that
 * says nothing new is a sign of life, asks for an answer, or carries entries, and is never kept back.
 *
 * <p>
 * On Raft's loop.
 */
final class CommitNotices {
    /** For how long a message is kept back at least, in nanoseconds, if it is; timers may count whole milliseconds. */
    static final long DELAY_NANOS_MIN = 5_000_000L;
    /** For how long at most; where commits are further apart than that, none is. */
    static final long DELAY_NANOS_MAX = 10_000_000L;
    /** The last time between two commits counts for this part of the mean. */
    private static final int MEAN_PARTS = 4;
    /** So long ago must a follower's last own commit be, in nanoseconds. */
    static final long OWN_NANOS = 100_000_000L;

    /** Sends what was kept back, if it is still true. */
    interface Sender {
        void send(int to, AppendEntriesRequest notice);
    }

    private static final class Follower {
        /** The commit index that the last append to it said. */
        private long told;
        /** When an entry was committed last that it has asked for. */
        private long ownNanos;
        private @Nullable AppendEntriesRequest kept;
        private long dueNanos;

        Follower(long ownNanos) {
            this.ownNanos = ownNanos;
        }
    }

    private final Loop loop;
    private final Clock clock;
    private final Sender sender;
    private final Map<Integer, Follower> followers = new TreeMap<>();
    private long committedNanos;
    /** Between two commits, of which none counts for more than twice the longest delay. */
    private long meanNanos = 2 * DELAY_NANOS_MAX;
    private boolean timerSet;

    CommitNotices(Loop loop, Clock clock, Sender sender) {
        this.loop = loop;
        this.clock = clock;
        this.sender = sender;
        committedNanos = clock.nanoTime();
    }

    private Follower follower(int id) {
        return followers.computeIfAbsent(id, _ -> new Follower(committedNanos - OWN_NANOS));
    }

    /** An entry was committed that that node has asked for, at this {@link Clock#nanoTime}. */
    void committed(int by, long nowNanos) {
        long gapNanos = Math.min(nowNanos - committedNanos, 2 * DELAY_NANOS_MAX);
        meanNanos += (gapNanos - meanNanos) / MEAN_PARTS;
        committedNanos = nowNanos;
        follower(by).ownNanos = nowNanos;
    }

    /** Whether an append that is about to be sent is kept back; if not, it makes needless what was. */
    boolean keeps(int to, AppendEntriesRequest append) {
        Follower follower = follower(to);
        long commit = append.getCommitIndex();
        boolean tells = append.getLogEntries().isEmpty() && append.getFlowControlSequenceNumber() == 0
                && append.getQuerySequenceNumber() == 0 && commit > follower.told;
        if (tells && meanNanos < DELAY_NANOS_MAX && committedNanos - follower.ownNanos >= OWN_NANOS) {
            long delayNanos = Math.clamp(2 * meanNanos, DELAY_NANOS_MIN, DELAY_NANOS_MAX);
            if (follower.kept == null) {
                follower.dueNanos = clock.nanoTime() + delayNanos;
            }
            follower.kept = append;
            setTimer(delayNanos);
            return true;
        }
        follower.kept = null;
        follower.told = commit;
        return false;
    }

    private void setTimer(long nanos) {
        if (!timerSet) {
            timerSet = true;
            var _ = loop.schedule(nanos, this::timerRan);
        }
    }

    private void timerRan() {
        timerSet = false;
        long now = clock.nanoTime();
        long next = Long.MAX_VALUE;
        for (Map.Entry<Integer, Follower> each : followers.entrySet()) {
            Follower follower = each.getValue();
            AppendEntriesRequest notice = follower.kept;
            if (notice == null) {
                continue;
            }
            long left = follower.dueNanos - now;
            if (left > 0) {
                next = Math.min(next, left);
            } else {
                follower.kept = null;
                follower.told = notice.getCommitIndex();
                sender.send(each.getKey(), notice);
            }
        }
        if (next < Long.MAX_VALUE) {
            setTimer(next);
        }
    }
}
