package tutti.core.flight;

import java.util.function.Consumer;
import tutti.core.protocol.PassingReplica;
import tutti.core.protocol.Replica;

/** Writes down what a protocol asks for, and asks its world for it. */
final class RecordedReplica extends PassingReplica {
    private final FlightRecorder recorder;

    RecordedReplica(FlightRecorder recorder, Replica world) {
        super(world);
        this.recorder = recorder;
    }

    @Override
    protected void ask(Consumer<Replica> effect) {
        recorder.effect(effect::accept);
        effect.accept(world);
    }
}
