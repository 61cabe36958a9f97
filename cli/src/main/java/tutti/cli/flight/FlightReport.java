package tutti.cli.flight;

import java.nio.file.Path;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tutti.command.Failure;
import tutti.command.Screen;
import tutti.core.flight.FlightRecording;
import tutti.core.flight.FlightReplay;
import tutti.core.protocol.Protocols;
import tutti.node.NodeFlightRecorder;

/** Replays a flight recording, and tells a person what came of it. */
public final class FlightReport {
    private static final int FRAMES_MAX = 12;

    private final FlightRecording recording;
    private final Screen screen;

    private FlightReport(FlightRecording recording, Screen screen) {
        this.recording = recording;
        this.screen = screen;
    }

    /**
     * Replays a file.
     *
     * @param file what to call it
     * @param bytes what is in it
     * @param first number of the first event to be shown
     * @param last number of the last event to be shown; below {@code first} to show none
     * @return whether the protocol has asked for the same effects as it did then
     * @throws Failure if it cannot be replayed by this build
     */
    public static boolean replay(Path file, byte[] bytes, long first, long last, Screen screen) {
        try {
            FlightReport report = new FlightReport(FlightRecording.decode(bytes, file.toString()), screen);
            report.head();
            return report.run(first, last);
        } catch (IllegalArgumentException unusable) {
            throw new Failure(String.valueOf(unusable.getMessage()),
                    "replay it with the build that the node ran, from a complete copy of the file", unusable);
        }
    }

    private void head() {
        FlightRecording.Subject subject = recording.subject();
        screen.line("Flight recording of node " + subject.node() + ", protocol " + subject.protocol()
                + (subject.parameters().isEmpty() ? "" : " " + subject.parameters()) + ", replicas "
                + subject.replicas());
        Map<String, String> notes = recording.notes();
        screen.line("  written " + notes.getOrDefault(NodeFlightRecorder.WRITTEN, "at an unknown time") + ": "
                + notes.getOrDefault(NodeFlightRecorder.REASON, "for an unknown reason"));
        screen.line(String.format(Locale.ROOT, "  %d segments, %.1f MiB%s", recording.segments().size(),
                recording.bytes() / (double) (1 << 20),
                recording.segments().isEmpty() ? "" : ", from event " + recording.segments().getFirst().firstEvent()));
    }

    /** When an event was told, by the clock of the node's machine; null if that is not known. */
    private @Nullable Instant at(long sinceFirstNanos) {
        try {
            Instant written = Instant.parse(recording.notes().getOrDefault(NodeFlightRecorder.WRITTEN, ""));
            long writtenNanos = Long.parseLong(
                    recording.notes().getOrDefault(NodeFlightRecorder.WRITTEN_NANOS, ""));
            return written.minusNanos(
                    writtenNanos - recording.segments().getFirst().beganNanos() - sinceFirstNanos);
        } catch (DateTimeParseException | NumberFormatException _) {
            return null;
        }
    }

    private boolean run(long first, long last) {
        FlightReplay.Result result = FlightReplay.run(recording, Protocols.STANDARD,
                (number, nanos, event, effects) -> {
                    if (number >= first && number <= last) {
                        show(number, nanos, event, effects);
                    }
                });
        screen.line(String.format(Locale.ROOT, "  %,d events over %.3f s%s: %,d effects and %d states are the same",
                result.events(), result.nanos() / 1e9, at(0) == null ? "" : " from " + at(0), result.effects(),
                result.states()));
        String divergence = result.divergence();
        Throwable thrown = result.thrown();
        if (divergence != null) {
            screen.line(screen.bad("DIVERGED"));
            divergence.lines().forEach(screen::line);
        } else {
            screen.line(
                    screen.good("same effects") + (thrown == null ? "" : ", and the protocol threw as it did then:"));
        }
        if (thrown != null) {
            screen.line("  " + thrown);
            StackTraceElement[] frames = thrown.getStackTrace();
            for (int i = 0; i < Math.min(FRAMES_MAX, frames.length); i++) {
                screen.line("    at " + frames[i]);
            }
        }
        return divergence == null;
    }

    private void show(long number, long nanos, String event, List<String> effects) {
        Instant at = at(nanos);
        screen.line(
                number + " " + (at == null ? String.format(Locale.ROOT, "%+.6f s", nanos / 1e9) : at) + " " + event);
        effects.forEach(effect -> screen.line("    " + effect));
    }
}
