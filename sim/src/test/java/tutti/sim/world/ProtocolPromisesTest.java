package tutti.sim.world;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import tutti.core.flight.FlightRecording;
import tutti.core.flight.FlightReplay;
import tutti.core.protocol.ProtocolDescriptor;
import tutti.core.protocol.Protocols;
import tutti.core.protocol.tenth.FirstCommitter;
import tutti.core.protocol.tenth.FirstCommitterDescriptor;
import tutti.sim.fault.FaultProfile;
import tutti.sim.world.Scenario.OrderKind;

/**
 * What every protocol must do, over an order that is simply there: many short scenarios with random parameters, engines and
 * faults keep what the protocol promises, and what its replicas were told is replayed to the same effects.
 * {@code -Dtutti.seeds=N} runs more seeds.
 */
class ProtocolPromisesTest {
    private static final int SEEDS = Integer.getInteger("tutti.seeds", 24);
    private static final int TRANSACTIONS = 300;
    private static final FlightReplay.Listener NOBODY = (_, _, _, _) -> {};
    private static final Protocols PROTOCOLS = Protocols.STANDARD.with(new FirstCommitterDescriptor());

    /** As what transactions of each protocol must have ended, some of them, besides that others commit. */
    private static final Map<String, Set<String>> ENDS = Map.ofEntries(
            Map.entry("si", Set.of("certification", "first-updater", "victim")),
            Map.entry("dbsm", Set.of("certification", "stale-read", "victim")),
            Map.entry("postgres-r", Set.of("certification", "stale-read", "victim")),
            Map.entry("active", Set.of("refused", "foreign-key")),
            Map.entry("passive", Set.of("certification", "refused", "victim")),
            Map.entry("nodo", Set.of("refused", "foreign-key")),
            Map.entry("akara", Set.of("certification", "stale-read", "victim")),
            Map.entry("2pc", Set.of("distributed-deadlock", "first-updater", "victim")),
            Map.entry("wice", Set.of("certification", "first-updater", "victim")),
            Map.entry("hybrid", Set.of("victim", "foreign-key")),
            Map.entry(FirstCommitter.NAME, Set.of("too-old", "victim")));

    static List<String> protocols() {
        return PROTOCOLS.names();
    }

    private static ScenarioResult run(long seed, ProtocolDescriptor protocol) {
        ScenarioResult result = ScenarioRun.run(Scenario.random(seed, protocol, Map.of(), OrderKind.IDEAL, TRANSACTIONS,
                FaultProfile.parse(seed % 2 == 0 ? "crash,kill" : "all")));
        assertTrue(result.passed(), () -> result.scenario().describe() + ": " + result.failed() + " " + result.why()
                + "\n" + result.scenario().plan());
        return result;
    }

    @ParameterizedTest
    @MethodSource("protocols")
    void aProtocolKeepsItsPromises(String protocol) {
        Map<String, Integer> counts = new TreeMap<>();
        for (long seed = 1; seed <= SEEDS; seed++) {
            run(seed, PROTOCOLS.descriptor(protocol)).counts()
                    .forEach((what, count) -> counts.merge(what, count, Integer::sum));
        }
        assertTrue(counts.getOrDefault("committed", 0) > SEEDS * TRANSACTIONS / 2, counts::toString);
        assertTrue(counts.getOrDefault("end of a life", 0) > 0, counts::toString);
        ENDS.get(protocol).forEach(end -> assertTrue(counts.containsKey("aborted: " + end), () -> end + ": " + counts));
    }

    /** Recordings that begin at a replica's start, and, where little time is kept, such that begin in the middle. */
    @ParameterizedTest
    @MethodSource("protocols")
    void whatItWasToldIsReplayedToTheSameEffects(String protocol) {
        long states = 0;
        long replayed = 0;
        long told = 0;
        for (long seed = 1; seed <= 4; seed++) {
            RecordedDescriptor recorded = new RecordedDescriptor(PROTOCOLS.descriptor(protocol),
                    seed % 2 == 0 ? 300 : 1_000_000);
            assertEquals(run(seed, PROTOCOLS.descriptor(protocol)).traceHash(), run(seed, recorded).traceHash(),
                    "the recorder has changed what happens");
            for (RecordedDescriptor.Flight flight : recorded.flights()) {
                if (flight.recorder().events() == 0) {
                    continue;
                }
                FlightRecording recording = flight.recording();
                FlightReplay.Result result = replay(recording, flight, protocol);
                int segments = recording.segments().size();
                for (int from = 1; from < segments; from++) {
                    replay(recording.part(from, Math.min(segments, from + 2)), flight, protocol);
                }
                states += result.states();
                replayed += result.events();
                told += flight.recorder().events();
            }
        }
        assertTrue(states > 0 && replayed > 0 && replayed < told, states + " states, " + replayed + " of " + told);
    }

    private static FlightReplay.Result replay(FlightRecording recording, RecordedDescriptor.Flight flight,
            String protocol) {
        ProtocolDescriptor descriptor = PROTOCOLS.descriptor(protocol);
        FlightReplay.Result result = FlightReplay.run(recording,
                world -> descriptor.create(flight.where(), flight.values(), world), descriptor.messages()::decode,
                NOBODY);
        assertNull(result.divergence(), () -> protocol + ", replica " + flight.where().node() + ": " + result);
        assertNull(result.thrown());
        return result;
    }
}
