package tutti.core.flight;

import java.util.function.Consumer;
import tutti.core.protocol.PassingProtocol;
import tutti.core.protocol.Protocol;

/** Writes down what a protocol is told, and tells it. Each event excludes whoever asks the recorder for a recording. */
final class RecordedProtocol extends PassingProtocol {
    private final FlightRecorder recorder;

    RecordedProtocol(FlightRecorder recorder, Protocol protocol) {
        super(protocol);
        this.recorder = recorder;
    }

    @Override
    protected void tell(Consumer<Protocol> event) {
        synchronized (recorder) {
            recorder.event(event::accept);
            try {
                event.accept(protocol);
            } catch (RuntimeException | Error thrown) {
                recorder.effect(to -> to.threw(thrown));
                throw thrown;
            }
        }
    }

    @Override
    public byte[] snapshot() {
        byte[][] taken = new byte[1][];
        tell(to -> {
            byte[] snapshot = to.snapshot();
            if (!(to instanceof Events)) {
                recorder.effect(effects -> effects.snapshotTaken(snapshot));
                taken[0] = snapshot;
            }
        });
        return taken[0];
    }

    /** Is in the state of the first segment, which is written down at the first event. */
    @Override
    public void restore(byte[] snapshot) {
        if (recorder.events() > 0) {
            throw new IllegalStateException("a protocol is restored before its first event");
        }
        protocol.restore(snapshot);
    }
}
