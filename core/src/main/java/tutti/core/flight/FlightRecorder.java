package tutti.core.flight;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.ReplicaWorld;

/**
 * Keeps the last part of what a protocol was told and asked for, in memory and within bounds.
 *
 * <pre>
 *   world ──event──► recorded protocol ──► protocol ──effect──► recorded world ──► world
 *                          │                                         │
 *                          └───────────────► ring ◄──────────────────┘
 *      ring:  [state | event effect effect event event …] [state | event …] [state | event … now
 * </pre>
 *
 * <p>
 * The ring is made of segments. Each begins with the whole state of the protocol ({@code StateImage}), so that what is
 * kept can be replayed from the first segment that is still there; the oldest is dropped when there is too much or it is
 * too old. The protocol notices nothing of it. Where a segment ends, the state at the beginning of the next tells
 * a replay whether what it cannot see in the effects is right too.
 *
 * <p>
 * <b>A recorder never harms.</b> If it cannot write something down, or the state alone takes more than half of its bytes, it
 * drops what it has, says so ({@link #trouble}), and tries again after the time of a segment.
 *
 * <p>
 * The recorded protocol is for one thread at a time, as every protocol is; a recording may be asked for by any thread at any
 * time, and waits for the end of the event under way.
 */
public final class FlightRecorder {
    private static final int SEGMENTS = 8;

    /**
     * How much is kept.
     *
     * @param bytes in memory, at least 64 KiB and at most 1 GiB; up to half as much again for moments, and more for
     *            a single event that is larger
     * @param nanos at least so many nanoseconds back are kept, if that is not more bytes; at least 1
     */
    public record Limits(long bytes, long nanos) {
        public Limits {
            if (bytes < 1 << 16 || bytes > 1 << 30 || nanos < 1) {
                throw new IllegalArgumentException("bytes " + bytes + ", nanos " + nanos);
            }
        }
    }

    private final FlightRecording.Subject subject;
    private final Limits limits;
    private final LongSupplier nanos;
    private final Consumer<String> onTrouble;
    private final ArrayDeque<FlightRecording.Segment> closed = new ArrayDeque<>();
    private final Tape tape = new Tape();
    private final Events events;
    private final Effects effects = new Effects(tape);
    private @Nullable Protocol protocol;
    private @Nullable ReplicaWorld recorded;
    private byte[] state = new byte[0];
    private boolean on;
    private long began;
    private long firstEvent;
    private long eventCount;
    private long closedBytes;
    private long retryAt = Long.MIN_VALUE;
    private @Nullable String trouble;

    /**
     * A recorder that has recorded nothing.
     *
     * @param subject whose protocol
     * @param nanos the time, in nanoseconds since any moment, never decreasing; only noted and compared with the limits
     * @param onTrouble told in words each time recording had to be interrupted
     */
    public FlightRecorder(FlightRecording.Subject subject, Limits limits, LongSupplier nanos,
            Consumer<String> onTrouble) {
        this.subject = subject;
        this.limits = limits;
        this.nanos = nanos;
        this.onTrouble = onTrouble;
        this.events = new Events(tape, nanos);
    }

    /**
     * Makes a protocol that is recorded; once.
     *
     * @param world that it lives in
     * @param maker makes it for the world it is given
     * @return to be told events in place of what the maker made
     */
    public Protocol attach(ReplicaWorld world, Function<ReplicaWorld, Protocol> maker) {
        if (protocol != null) {
            throw new IllegalStateException("this recorder has a protocol");
        }
        ReplicaWorld between = new RecordedWorld(this, world);
        Protocol made = maker.apply(between);
        recorded = between;
        protocol = made;
        return new RecordedProtocol(this, made);
    }

    /** Why it does not record at present, in words; null if it does. */
    public synchronized @Nullable String trouble() {
        return trouble;
    }

    /** Bytes kept at present. */
    public synchronized long bytes() {
        return closedBytes + (on ? state.length + tape.bytes() : 0);
    }

    /** Events told since it was made. */
    public synchronized long events() {
        return eventCount;
    }

    /**
     * What is kept, up to the last event. Costs a copy of the last segment; the protocol waits for no more than that.
     *
     * @param notes anything worth knowing about it, by name
     */
    public synchronized FlightRecording recording(Map<String, String> notes) {
        List<FlightRecording.Segment> segments = new ArrayList<>(closed);
        if (on) {
            segments.add(segment());
        }
        return new FlightRecording(subject, notes, segments);
    }

    // ------------------------------------------------------------------------------------------ while it flies

    /** Writes an event down, and before it, if it is time, the state. */
    void event(Consumer<Events> note) {
        eventCount++;
        makeRoom();
        if (on) {
            try {
                note.accept(events);
            } catch (RuntimeException broken) {
                interrupt("cannot record an event: " + broken);
            }
        }
    }

    /** Writes an effect down. */
    void effect(Consumer<Effects> note) {
        if (on) {
            try {
                note.accept(effects);
            } catch (RuntimeException broken) {
                interrupt("cannot record an effect: " + broken);
            }
        }
    }

    private FlightRecording.Segment segment() {
        return new FlightRecording.Segment(firstEvent, began, state, tape.copy());
    }

    private void makeRoom() {
        long now = nanos.getAsLong();
        if (!on) {
            if (now >= retryAt) {
                begin(now);
            }
        } else if (tape.bytes() >= limits.bytes() / SEGMENTS || now - began >= limits.nanos() / (SEGMENTS / 2)
                || bytes() > limits.bytes()) {
            FlightRecording.Segment full = segment();
            closed.add(full);
            closedBytes += full.bytes();
            begin(now);
        }
    }

    private void begin(long now) {
        Protocol of = protocol;
        ReplicaWorld world = recorded;
        if (of == null || world == null) {
            throw new IllegalStateException("this recorder has no protocol");
        }
        tape.clear();
        on = false;
        try {
            state = StateImage.capture(of, world, (int) (limits.bytes() / 2));
        } catch (StateImage.TooLargeException large) {
            interrupt(large.getMessage() + "; a recorder of " + limits.bytes()
                    + " bytes keeps states up to half of that");
            return;
        } catch (RuntimeException broken) {
            interrupt("cannot write the protocol's state down: " + broken);
            return;
        }
        on = true;
        trouble = null;
        began = now;
        firstEvent = eventCount;
        trim(now);
    }

    /** Drops the oldest segments that are too old or too much. */
    private void trim(long now) {
        while (!closed.isEmpty()) {
            long nextBegan = closed.size() == 1 ? began : second().beganNanos();
            if (bytes() <= limits.bytes() && nextBegan > now - limits.nanos()) {
                return;
            }
            closedBytes -= closed.remove().bytes();
        }
    }

    private FlightRecording.Segment second() {
        return closed.stream().skip(1).findFirst().orElseThrow();
    }

    /** Drops everything: a recording with a hole cannot be replayed. */
    private void interrupt(String why) {
        on = false;
        state = new byte[0];
        tape.clear();
        closed.clear();
        closedBytes = 0;
        retryAt = nanos.getAsLong() + limits.nanos() / (SEGMENTS / 2);
        boolean known = why.equals(trouble);
        trouble = why;
        if (!known) {
            onTrouble.accept(why);
        }
    }
}
