package tutti.minha.jdk.time;

import java.time.Clock;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import tutti.minha.Jvm;
import tutti.sim.kernel.Nanos;

/**
 * The clock of the machine whose thread asks, as {@link Clock} and as {@link java.time.InstantSource}. Its zone is UTC
 * unless another was asked for: the zone of the real machine is not the simulated one's.
 */
public final class SimulatedClock extends Clock {
    private final ZoneId zone;

    private SimulatedClock(ZoneId zone) {
        this.zone = zone;
    }

    /** In UTC. */
    public static Clock systemUTC() {
        return new SimulatedClock(ZoneOffset.UTC);
    }

    /** In UTC, which is the zone of simulated machines. */
    public static Clock systemDefaultZone() {
        return systemUTC();
    }

    /** In a zone. */
    public static Clock system(ZoneId zone) {
        return new SimulatedClock(zone);
    }

    @Override
    public ZoneId getZone() {
        return zone;
    }

    @Override
    public Clock withZone(ZoneId other) {
        return new SimulatedClock(other);
    }

    @Override
    public long millis() {
        return Jvm.current().currentTimeMillis();
    }

    @Override
    public Instant instant() {
        Jvm jvm = Jvm.current();
        long nanos = jvm.nanoTime();
        return Instant.ofEpochMilli(jvm.machine().simulation().epochMillis()).plusSeconds(nanos / Nanos.SECOND)
                .plusNanos(nanos % Nanos.SECOND);
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof SimulatedClock clock && clock.zone.equals(zone);
    }

    @Override
    public int hashCode() {
        return Objects.hash(SimulatedClock.class.getName(), zone);
    }
}
