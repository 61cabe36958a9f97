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
 * follower and costs more than what it says. So it is kept back for a moment if the order is busy, from a follower that
 * has had nothing ordered itself lately: where clients commit, they wait for their own commits, and for those before.
 *
 * <p>
 * Raft allows any message to be late or lost, and any append to say a commit index that is lower than it could be; so nothing
 * but the time at which a follower delivers depends on this. What is kept back is sent after {@link #DELAY_NANOS} at
 * most, and whatever else is sent to the follower in between makes it needless, since it says as much. An append that
 * says nothing new is a sign of life, asks for an answer, or carries entries, and is never kept back.
 *
 * <p>
 * On Raft's loop.
 */
final class CommitNotices {
    /** For how long a message is kept back, in nanoseconds; timers may count whole milliseconds. */
    static final long DELAY_NANOS = 5_000_000L;
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
        private long keptNanos;

        Follower(long ownNanos) {
            this.ownNanos = ownNanos;
        }
    }

    private final Loop loop;
    private final Clock clock;
    private final Sender sender;
    private final Map<Integer, Follower> followers = new TreeMap<>();
    private long committedNanos;
    private boolean busy;
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
        busy = nowNanos - committedNanos < DELAY_NANOS;
        committedNanos = nowNanos;
        follower(by).ownNanos = nowNanos;
    }

    /** Whether an append that is about to be sent is kept back; if not, it makes needless what was. */
    boolean keeps(int to, AppendEntriesRequest append) {
        Follower follower = follower(to);
        long commit = append.getCommitIndex();
        boolean tells = append.getLogEntries().isEmpty() && append.getFlowControlSequenceNumber() == 0
                && append.getQuerySequenceNumber() == 0 && commit > follower.told;
        if (tells && busy && committedNanos - follower.ownNanos >= OWN_NANOS) {
            if (follower.kept == null) {
                follower.keptNanos = clock.nanoTime();
            }
            follower.kept = append;
            setTimer(DELAY_NANOS);
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
            long left = follower.keptNanos + DELAY_NANOS - now;
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
