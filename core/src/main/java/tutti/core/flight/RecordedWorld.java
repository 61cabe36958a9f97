package tutti.core.flight;

import java.util.function.Consumer;
import tutti.core.protocol.PassingWorld;
import tutti.core.protocol.ReplicaWorld;

/** Writes down what a protocol asks for, and asks its world for it. */
final class RecordedWorld extends PassingWorld {
    private final FlightRecorder recorder;

    RecordedWorld(FlightRecorder recorder, ReplicaWorld world) {
        super(world);
        this.recorder = recorder;
    }

    @Override
    protected void ask(Consumer<ReplicaWorld> effect) {
        recorder.effect(effect::accept);
        effect.accept(world);
    }
}
