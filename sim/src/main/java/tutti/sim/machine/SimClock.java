package tutti.sim.machine;

import java.time.Instant;
import tutti.runtime.Clock;

/** The clocks of a simulated host, as whoever runs now sees them. */
final class SimClock implements Clock {
    /** When simulations begin, for those who look at wall clocks. */
    private static final Instant BEGINNING = Instant.parse("2025-01-01T00:00:00Z");

    private final SimMachine machine;

    SimClock(SimMachine machine) {
        this.machine = machine;
    }

    @Override
    public long nanoTime() {
        return machine.host().now(machine.ahead());
    }

    @Override
    public Instant now() {
        return BEGINNING.plusNanos(machine.host().wallClock(machine.ahead()));
    }
}
