package tutti.core.protocol;

import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import tutti.core.schema.Field;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;

/**
 * How far the replicas have come, for protocols in which every replica certifies every transaction: below which position
 * nothing is certified any more, so that all may forget, and forget alike; and how a replica that has nothing to say says
 * so. {@link SnapshotIsolation} and {@link DatabaseStateMachine} use it.
 *
 * <p>
 * <b>The floor.</b> A replica's horizon is a position below which no transaction has begun that it will ask to certify from
 * then on. It tells its horizon with each of these, and in a {@link Progress} if there are none. The floor is the smallest
 * horizon that was told last by any replica, alive or not, but at least the window's edge, and as high as it takes for the index to hold so many
 * keys at most ({@link tutti.core.certify.CertificationIndex#bound}). Horizons are told in the total order,
 * so at the same position all replicas have the same floor. Let T be delivered at p with b, the position before it began,
 * and let f be the floor at p. If b &ge; f, nothing that T is compared with has been forgotten: the floor never falls. If
 * b &lt; f, T is refused, by all replicas alike. While its sender lives that does not happen inside the window: T is sent
 * with a horizon at or below b, what its sender told before was lower still, and the floor is no higher than
 * what the sender has told.
 *
 * <p>
 * <b>Replicas that come and go.</b> One that has come counts from the first horizon on that it tells, at the same position for all. If that
 * is below the floor, what was forgotten stays so ({@link tutti.core.certify.CertificationIndex#forget}), and what it asks for that has
 * begun below is refused although it lives: its client tries again. The last horizon of one
 * that has gone stays, as that of one that is away, so that from then on the floor is the window's edge.
 *
 * <p>
 * <b>Progress.</b> What the others wait to hear is that this replica is past the last position at which something was noted that
 * could be forgotten ({@link #matters}). As long as it has not told so, a timer runs; when it runs out, the replica
 * tells its horizon if it has risen. Each replica's horizon rises to every position, sooner or later, so each tells it in the
 * end, and then is silent: progress messages have positions, too, but do not matter. If they did, each would be answered by
 * the others for ever.
 */
final class Horizons {
    /** Says how far a replica has come, when it has had nothing else to say. */
    record Progress(long horizon) implements Message {
        static final Schema<Progress> SCHEMA = Schema
                .message("progress", 3, Progress.class, "How far a replica has come that has had nothing else to say.")
                .of(
                        Field.of("horizon", Types.NATURAL, Progress::horizon), Progress::new);
    }

    private final long windowPositions;
    private final long intervalNanos;
    private final long timer;
    /** By replica: what it has told last. */
    private final TreeMap<Integer, Long> reached = new TreeMap<>();
    /** The last position at which something was noted, or could have been. */
    private long mattered;
    /** No transaction that this replica asks to certify from now on has begun below it. */
    private long own;
    /** What this replica has told last. */
    private long told;
    private boolean timerRuns;

    /**
     * At the beginning of the order.
     *
     * @param replicas all with which the order began, alive or not
     * @param windowPositions how far the floor is behind at most, in positions
     * @param intervalNanos after how long an otherwise silent replica says how far it has come, in nanoseconds
     * @param timer number of the timer that is used for it
     */
    Horizons(Set<Integer> replicas, long windowPositions, long intervalNanos, long timer) {
        this.windowPositions = windowPositions;
        this.intervalNanos = intervalNanos;
        this.timer = timer;
        replicas.forEach(replica -> reached.put(replica, 0L));
    }

    /** The world has told of a horizon of this replica. */
    void rise(long horizon) {
        own = Math.max(own, horizon);
    }

    /** This replica's horizon, which is being told to the others. */
    long tell() {
        told = own;
        return own;
    }

    /** This replica's horizon. */
    long own() {
        return own;
    }

    /** A replica has told its horizon, in the order. */
    void reached(int sender, long horizon) {
        reached.merge(sender, horizon, Math::max);
    }

    /** At this position something may have been noted that is to be forgotten one day. */
    void matters(long position) {
        mattered = position;
    }

    /** No message after position {@code delivered} is certified against positions up to this one. */
    long floor(long delivered) {
        long lowest = Long.MAX_VALUE;
        for (long position : reached.values()) {
            lowest = Math.min(lowest, position);
        }
        return Math.max(lowest, delivered - windowPositions);
    }

    /** Has the timer run, if this replica has something to tell. */
    void watch(ReplicaWorld world) {
        if (!timerRuns && mattered > told) {
            timerRuns = true;
            world.timer(timer, intervalNanos);
        }
    }

    /** The timer has run out. */
    void ranOut(ReplicaWorld world) {
        timerRuns = false;
        if (mattered > told && own > told) {
            world.order(new Progress(tell()));
        } else {
            watch(world);
        }
    }

    /** What is a function of the ordered prefix: what each replica has told last. */
    Map<Integer, Long> told() {
        return new TreeMap<>(reached);
    }

    /** Begins from what {@link #told} gave, as of position {@code delivered}. */
    void restore(Map<Integer, Long> told, long delivered) {
        mattered = delivered;
        reached.clear();
        reached.putAll(told);
    }
}
