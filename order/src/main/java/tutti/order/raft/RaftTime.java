package tutti.order.raft;

import io.microraft.executor.RaftNodeExecutor;
import java.time.Clock;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import tutti.runtime.Loop;

/**
 * The loop on which a node's Raft runs, as MicroRaft knows it. MicroRaft counts its timeouts in whole seconds, which is too
 * coarse for a quick fail-over. So its time runs faster here: a delay of one second ends after {@code 1 / speed} seconds of
 * the machine, and {@link #clock} agrees with that.
 */
final class RaftTime implements RaftNodeExecutor {
    private static final double NANOS_PER_MILLI = 1e6;
    /** What the clock shows at first: far enough from zero that MicroRaft's "never" lies in the past. */
    private static final long ORIGIN_MILLIS = 1_000_000_000L;

    private final Loop loop;
    private final tutti.runtime.Clock machine;
    private final double speed;
    private final long originNanos;
    /** By how much {@link #missLeader} has put the clock forward. */
    private long aheadMillis;
    private @Nullable Elections elections;

    /** @param speed how many of MicroRaft's seconds pass in one second of the machine */
    RaftTime(Loop loop, tutti.runtime.Clock machine, double speed) {
        this.loop = loop;
        this.machine = machine;
        this.speed = speed;
        originNanos = machine.nanoTime();
    }

    /** Names who keeps the times of pre-votes and elections. */
    void elections(Elections keeper) {
        elections = keeper;
    }

    /** How many nanoseconds of the machine a time of MicroRaft's takes. */
    long nanos(long delay, TimeUnit unit) {
        return (long) (unit.toNanos(delay) / speed);
    }

    @Override
    public void execute(Runnable task) {
        loop.execute(task);
    }

    @Override
    public void submit(Runnable task) {
        loop.execute(task);
    }

    /** Hands a task in after a delay in MicroRaft's time. */
    @Override
    public void schedule(Runnable task, long delay, TimeUnit unit) {
        long nanos = nanos(delay, unit);
        if (elections == null || !elections.keeps(task, nanos)) {
            var _ = loop.schedule(nanos, task);
        }
    }

    /** Puts the clock forward until a leader that was heard last now is missed. */
    void missLeader() {
        aheadMillis += TimeUnit.SECONDS.toMillis(RaftSettings.HEARTBEATS_MISSED) * RaftSettings.HEARTBEAT;
    }

    /** MicroRaft's clock: it never goes back. */
    Clock clock() {
        return new Clock() {
            @Override
            public long millis() {
                return ORIGIN_MILLIS + aheadMillis
                        + (long) ((machine.nanoTime() - originNanos) * speed / NANOS_PER_MILLI);
            }

            @Override
            public Instant instant() {
                return Instant.ofEpochMilli(millis());
            }

            @Override
            public ZoneId getZone() {
                return ZoneOffset.UTC;
            }

            @Override
            public Clock withZone(ZoneId zone) {
                return this;
            }
        };
    }
}
