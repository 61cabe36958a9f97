package tutti.grid.api;

import java.time.Instant;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import tutti.runtime.Background;
import tutti.runtime.Clock;
import tutti.runtime.Loop;
import tutti.runtime.Machine;
import tutti.runtime.Network;
import tutti.runtime.real.RealMachine;

/** The real machine with another wall clock. */
record WallClockMachine(Supplier<Instant> wallClock) implements Machine {
    @Override
    public Clock clock() {
        return new Clock() {
            @Override
            public long nanoTime() {
                return RealMachine.INSTANCE.clock().nanoTime();
            }

            @Override
            public Instant now() {
                return wallClock.get();
            }
        };
    }

    @Override
    public RandomGenerator random(String label) {
        return RealMachine.INSTANCE.random(label);
    }

    @Override
    public Loop loop(String name, Consumer<Throwable> onFailure) {
        return RealMachine.INSTANCE.loop(name, onFailure);
    }

    @Override
    public Network network(String name, Consumer<Throwable> onFailure) {
        return RealMachine.INSTANCE.network(name, onFailure);
    }

    @Override
    public Background background(String name, Work work) {
        return RealMachine.INSTANCE.background(name, work);
    }
}
