package tutti.eval.calibrate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.Writer;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tutti.command.Screen;
import tutti.model.RequestKind;
import tutti.model.WorkloadModel;
import tutti.model.scenario.ScenarioReader;
import tutti.sim.kernel.Distribution;
import tutti.workload.tpcc.TpccScale;
import tutti.yaml.UnusableFileException;

class RealRunTest {
    private static final int CLIENTS = 4;
    private static final int ROUNDS = 2;

    @TempDir
    private Path directory = Path.of("");

    private final Screen screen = Screen.standard(new PrintWriter(Writer.nullWriter()));

    /** Clients who hardly think, so that their transactions would overlap if they did not take turns. */
    private static RealRun.Plan plan(RealRun.Purpose purpose) throws UnusableFileException {
        WorkloadModel paper = ScenarioReader
                .read("one-database", Map.of("workload.clients", Integer.toString(CLIENTS))).config().workload();
        Map<RequestKind, Distribution> thinking = Map.of(RequestKind.NEW_ORDER, new Distribution.Constant(100_000));
        return new RealRun.Plan(
                new WorkloadModel(CLIENTS, CLIENTS, 0, paper.attachment(), paper.shares(), thinking, paper.arrival(),
                        paper.arrivalsPerSecond(), paper.staying(), false, paper.resubmit(), false, false,
                        paper.maintenance(),
                        paper.granularity(), false, null),
                purpose, 0, ROUNDS, 1, 3, "test");
    }

    @Tag("long")
    @Test
    void profiledTransactionsAreAloneAndTheOthersSeeNoneOfTheirTime() throws Exception {
        try (RealServer server = RealServer.start(directory, TpccScale.reduced(1), 3, screen)) {
            RealRun.Seen both = RealRun.run(server, plan(RealRun.Purpose.BOTH), 3, screen);
            assertFalse(both.alone().isEmpty());
            List<Observation> alone = both.alone().stream().sorted(Comparator.comparingLong(Observation::sinceNanos))
                    .toList();
            for (int i = 0; i < alone.size(); i++) {
                assertTrue(alone.get(i).backendNanos() > 0, alone.get(i)::toString);
                assertTrue(i == 0 || alone.get(i).sinceNanos() >= alone.get(i - 1).nowNanos(), alone.get(i)::toString);
            }
            assertTrue(both.together().stream().allMatch(one -> one.backendNanos() > 0));
            assertEquals(ROUNDS, both.rounds().size());
            for (RealRun.Round round : both.rounds()) {
                assertTrue(round.seconds() >= 1, round::toString);
                List<Observation> free = round.transactions();
                long first = free.stream().mapToLong(Observation::sinceNanos).min().orElseThrow();
                assertTrue(free.getLast().nowNanos() - first <= round.seconds() * 1e9, round::toString);
                assertTrue(free.stream().allMatch(one -> one.backendNanos() == 0), "somebody looked at the server");
            }
        }
    }

    @Test
    void turnsAreJoinedByAClockThatStandsStillBetweenThem() {
        RealRun.Turn first = turn(RealRun.Manner.FREE, 1000, 2000, 1100, 1900);
        RealRun.Turn between = turn(RealRun.Manner.TOGETHER, 2000, 5000, 2500);
        RealRun.Turn second = turn(RealRun.Manner.FREE, 5000, 6500, 5600, 5100);
        RealRun.Round round = RealRun.joined(List.of(first, between, second));
        assertEquals(2.5e-6, round.seconds(), 1e-12);
        assertEquals(List.of(1100L, 1900L, 2100L, 2600L),
                round.transactions().stream().map(Observation::nowNanos).toList());
        assertTrue(round.transactions().stream().allMatch(one -> one.latencyNanos() == 50));
    }

    private static RealRun.Turn turn(RealRun.Manner manner, long since, long until, long... ends) {
        RealRun.Turn turn = new RealRun.Turn(manner);
        turn.sinceNanos = since;
        turn.untilNanos = until;
        for (long end : ends) {
            turn.seen.add(new Observation(RequestKind.PAYMENT, 4, end - 50, end, 10, 0, 20, ""));
        }
        return turn;
    }
}
