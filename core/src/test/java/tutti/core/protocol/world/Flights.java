package tutti.core.protocol.world;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import tutti.core.flight.FlightRecorder;
import tutti.core.flight.FlightRecording;
import tutti.core.flight.FlightReplay;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.ReplicaWorld;

/** Runs of the test world with a flight recorder in every replica, in every life of it. */
final class Flights {
    private record Flight(int node, Set<Integer> replicas, FlightRecorder recorder) {}

    private static final FlightReplay.Listener NOBODY = (_, _, _, _) -> {};

    private final Subject subject;
    private long clock;
    private long events;
    private long effects;
    private long states;
    private long replayed;

    Flights(Subject subject) {
        this.subject = subject;
    }

    /**
     * The recorder changes nothing, and every recording is replayed to the same effects and states.
     *
     * @param nanos how far back is kept at least; there are two or three to an event
     */
    void check(long seed, long nanos) {
        List<Flight> flights = new ArrayList<>();
        Subject.Maker recording = (node, replicas, knobs, replica) -> {
            FlightRecorder recorder = new FlightRecorder(new FlightRecording.Subject("any", Map.of(), node, replicas),
                    new FlightRecorder.Limits(1 << 24, nanos), () -> ++clock, why -> {
                        throw new AssertionError(why);
                    });
            flights.add(new Flight(node, replicas, recorder));
            return recorder.attach(replica, world -> subject.maker().create(node, replicas, knobs, world));
        };
        long without = new World(seed, subject, new TreeMap<>()).run();
        assertEquals(without, new World(seed, subject.with(recording), new TreeMap<>()).run(),
                "seed " + seed + ": the recorder has changed what happens");
        for (Flight flight : flights) {
            if (flight.recorder().events() > 0) {
                check(seed, flight);
            }
        }
    }

    private void check(long seed, Flight flight) {
        ByteArrayOutputStream file = new ByteArrayOutputStream();
        flight.recorder().recording(Map.of("seed", Long.toString(seed)))
                .encode(piece -> file.write(piece.array(), piece.arrayOffset() + piece.position(), piece.remaining()));
        FlightRecording recording = FlightRecording.decode(file.toByteArray(), "seed " + seed);
        FlightReplay.Result result = FlightReplay.run(recording, world -> maker(seed, flight, world),
                subject.chosen().messages()::decode, NOBODY);
        assertNull(result.divergence(), () -> "seed " + seed + ", replica " + flight.node() + ": " + result);
        assertNull(result.thrown());
        int segments = recording.segments().size();
        for (int from = 1; from < segments; from++) {
            FlightRecording part = recording.part(from, Math.min(segments, from + 2));
            FlightReplay.Result middle = FlightReplay.run(part, world -> maker(seed, flight, world),
                    subject.chosen().messages()::decode, NOBODY);
            assertNull(middle.divergence(), () -> "seed " + seed + ", replica " + flight.node() + ": " + middle);
        }
        events += flight.recorder().events();
        replayed += result.events();
        effects += result.effects();
        states += result.states();
    }

    private Protocol maker(long seed, Flight flight, ReplicaWorld world) {
        return subject.maker().create(flight.node(), flight.replicas(), new SplittableRandom(seed + 1), world);
    }

    /** Events that were told, replayed or dropped. */
    long events() {
        return events;
    }

    long replayed() {
        return replayed;
    }

    long effects() {
        return effects;
    }

    /** Boundaries of segments at which states were compared. */
    long states() {
        return states;
    }
}
