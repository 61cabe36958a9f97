package tutti.core.flight;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.ChosenProtocol;
import tutti.core.protocol.Message;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.Protocols;
import tutti.core.protocol.ReplicaWorld;

/**
 * Runs a protocol over a recording: brings it into the state in which the recording begins, tells it one event after the
 * other, and compares what it asks for with what it asked for then, effect by effect; where a segment ends, its whole
 * state too.
 */
public final class FlightReplay {
    private static final int REMEMBERED_MAX = 5;

    /**
     * What came of it.
     *
     * @param events how many were told with the same effects
     * @param effects how many were the same
     * @param states how many states were the same, the first not counted
     * @param nanos from the first event told to the last, in nanoseconds of the recording
     * @param divergence where and how the protocol did something else, in words; null if nowhere
     * @param thrown what the protocol threw in the replay's last event, as recorded or not; null if nothing
     */
    public record Result(long events, long effects, int states, long nanos, @Nullable String divergence,
            @Nullable Throwable thrown) {}

    /** Hears of every event that is replayed. */
    public interface Listener {
        /**
         * An event was told.
         *
         * @param number counted from the first that the recorder saw, which is 1
         * @param nanos since the recording's first event
         * @param event in words
         * @param effects what the protocol asks for now, in words
         */
        void told(long number, long nanos, String event, List<String> effects);
    }

    private final FlightRecording recording;
    private final Listener listener;
    private final Tape tape = new Tape();
    private final Effects world = new Effects(tape);
    private final Protocol protocol;
    private final Function<ByteBuffer, Message> messages;
    private final ArrayDeque<String> before = new ArrayDeque<>();
    private long events;
    private long effects;
    private int states;
    private long firstNanos;
    private long lastNanos;
    private @Nullable Throwable thrown;

    private FlightReplay(FlightRecording recording, Function<ReplicaWorld, Protocol> maker,
            Function<ByteBuffer, Message> messages, Listener listener) {
        this.recording = recording;
        this.listener = listener;
        this.protocol = maker.apply(world);
        this.messages = messages;
    }

    /**
     * Replays with the protocol that the recording names.
     *
     * @param protocols among which it is
     * @throws IllegalArgumentException if the recording is empty, of another build, or names a protocol that is not
     *             there
     */
    public static Result run(FlightRecording recording, Protocols protocols, Listener listener) {
        FlightRecording.Subject subject = recording.subject();
        ChosenProtocol protocol = protocols.choose(subject.protocol(), subject.parameters());
        return run(recording, world -> protocol.create(subject.node(), subject.replicas(), world),
                protocol.messages()::decode,
                listener);
    }

    /**
     * Replays with any protocol.
     *
     * @param maker makes it for the world it is given
     * @param messages reads those of the protocol
     * @throws IllegalArgumentException if the recording is empty, or of another protocol or build
     */
    public static Result run(FlightRecording recording, Function<ReplicaWorld, Protocol> maker,
            Function<ByteBuffer, Message> messages, Listener listener) {
        if (recording.segments().isEmpty()) {
            throw new IllegalArgumentException("the recording has no events");
        }
        FlightReplay replay = new FlightReplay(recording, maker, messages, listener);
        String divergence = replay.replay();
        return new Result(replay.events, replay.effects, replay.states, replay.lastNanos - replay.firstNanos,
                divergence,
                replay.thrown);
    }

    private @Nullable String replay() {
        FlightRecording.Segment first = recording.segments().getFirst();
        firstNanos = first.beganNanos();
        lastNanos = firstNanos;
        StateImage.restore(first.state(), protocol, world);
        for (FlightRecording.Segment segment : recording.segments()) {
            if (segment.firstEvent() > first.firstEvent()) {
                String difference = StateImage.difference(segment.state(), protocol, world);
                if (difference != null) {
                    return told("before event " + segment.firstEvent() + " the states differ: replayed " + difference);
                }
                states++;
            }
            String divergence = replay(segment);
            if (divergence != null) {
                return divergence;
            }
        }
        return null;
    }

    private @Nullable String replay(FlightRecording.Segment segment) {
        ByteBuffer records = ByteBuffer.wrap(segment.records());
        long number = segment.firstEvent();
        try {
            while (records.hasRemaining()) {
                Noted event = next(records);
                List<Noted> expected = new ArrayList<>();
                while (records.hasRemaining() && !kind(records).event()) {
                    expected.add(next(records));
                }
                String divergence = tell(number++, event, expected);
                if (divergence != null) {
                    return divergence;
                }
            }
            return null;
        } catch (BufferUnderflowException | IndexOutOfBoundsException damaged) {
            throw new IllegalArgumentException("event " + number + " cannot be read: " + damaged, damaged);
        }
    }

    private record Noted(RecordKind kind, ByteBuffer payload) {}

    private static RecordKind kind(ByteBuffer records) {
        return RecordKind.of(records.get(records.position() + Integer.BYTES));
    }

    private static Noted next(ByteBuffer records) {
        int length = records.getInt();
        RecordKind kind = RecordKind.of(records.get());
        ByteBuffer payload = records.slice(records.position(), length);
        records.position(records.position() + length);
        return new Noted(kind, payload);
    }

    /** Tells an event; answers how its effects differ, or null. */
    private @Nullable String tell(long number, Noted record, List<Noted> expected) {
        Events.Event event = Events.read(record.kind(), record.payload(), protocol, messages);
        tape.clear();
        thrown = null;
        try {
            byte[] answered = event.again().tell();
            if (record.kind() == RecordKind.SNAPSHOT) {
                world.snapshotTaken(answered);
            }
        } catch (RuntimeException | Error broken) {
            thrown = broken;
            world.threw(broken);
        }
        List<Noted> actual = new ArrayList<>();
        for (ByteBuffer records = ByteBuffer.wrap(tape.copy()); records.hasRemaining();) {
            actual.add(next(records));
        }
        lastNanos = event.nanos();
        listener.told(number, lastNanos - firstNanos, event.words(), actual.stream().map(this::words).toList());
        int same = 0;
        while (same < actual.size() && same < expected.size() && actual.get(same).equals(expected.get(same))) {
            same++;
        }
        effects += same;
        String head = "event " + number + " at " + seconds(lastNanos - firstNanos) + ": " + event.words();
        if (same == actual.size() && same == expected.size()) {
            events++;
            before.add(head);
            if (before.size() > REMEMBERED_MAX) {
                before.remove();
            }
            return null;
        }
        return told(head + "\n  effect " + (same + 1) + " differs, after " + same + " that "
                + (same == 1 ? "is" : "are")
                + " the same\n    recorded: " + words(expected, same) + "\n    replayed: " + words(actual, same));
    }

    private String words(Noted effect) {
        return RecordText.ofEffect(effect.kind(), effect.payload(), messages)
                + (effect.kind() == RecordKind.THREW && thrown != null ? ": " + thrown.getMessage() : "");
    }

    private String words(List<Noted> effects, int index) {
        if (index >= effects.size()) {
            return "nothing more";
        }
        Noted effect = effects.get(index);
        return RecordText.ofEffect(effect.kind(), effect.payload(), messages);
    }

    private String told(String what) {
        StringBuilder text = new StringBuilder(what);
        if (!before.isEmpty()) {
            text.append("\n  what came before, with the same effects:");
            before.forEach(event -> text.append("\n    ").append(event));
        }
        return text.toString();
    }

    private static String seconds(long nanos) {
        return String.format(Locale.ROOT, "%+.6f s", nanos / 1e9);
    }
}
