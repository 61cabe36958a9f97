package tutti.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tutti.grid.GridException;
import tutti.grid.IsolationLevel;

/** The whole command, with few keys and for a moment. */
@Tag("long")
class GridBenchTest {
    private static final List<GridContender> OURS = Arrays.stream(GridContender.values())
            .filter(one -> one.isOurs() && one != GridContender.TWO_PHASE_BLIND)
            .toList();

    @TempDir
    private Path directory;

    @Test
    @Timeout(120)
    void everyProtocolIsMeasuredAndDrawn() throws Exception {
        Path json = directory.resolve("grid.json");
        Path page = Files.writeString(directory.resolve("page.md"),
                "before\n<!-- grid sweep: made by ./tutti grid bench --docs docs/grid-sweep.md -->\n<!-- end of grid sweep -->\nbehind\n");
        List<String> options = List.of("--nodes", "3", "--workloads", "radargun,tpcc", "--worlds", "real,simulated",
                "--degrees", "2", "--keys", "20", "--threads", "2", "--seconds", "0.1", "--lock-timeout", "200",
                "--json",
                json.toString(), "--plots", directory.toString(), "--simulated-seconds", "0.05", "--docs",
                page.toString());
        executed(0, options, List.of());
        JsonNode measured = JsonMapper.shared().readTree(Files.readString(json)).get("measurements");
        assertEquals(2 * 2 * 3 * 2, measured.size());
        for (JsonNode one : measured) {
            boolean ordered = !one.get("protocol").asString().equals("TWO_PHASE");
            long locks = one.get("deadlocks").asLong() + one.get("lockTimeouts").asLong();
            assertTrue(!ordered || locks == 0, one::toString);
        }
        assertTrue(Files.readString(directory.resolve("grid-real-20-keys-degree-2-read-committed-throughput.svg"))
                .contains("TOM_3"));
        assertTrue(Files.exists(directory.resolve(
                "grid-simulated-TPC-C-degree-2-repeatable-read-write-skew-abort.svg")));
        String written = Files.readString(page);
        assertTrue(written.contains("### 20 keys, degree 2, `READ_COMMITTED`"), written);
        assertTrue(written.contains("| 3 | real |") && written.contains("| 3 | simulated |"), written);
        assertTrue(written.contains("(grid-simulated-20-keys-degree-2-read-committed-throughput.svg)"), written);
        assertTrue(written.startsWith("before\n") && written.endsWith("behind\n"), written);

        // Gone on with, nothing is left to measure.
        executed(0, options, List.of("--resume", json.toString()));
        JsonNode again = JsonMapper.shared().readTree(Files.readString(json));
        assertEquals(measured, again.get("measurements"));
        assertEquals(2, again.get("parts").size());
        assertTrue(
                executed(2, options, List.of("--resume", json.toString(), "--crashes", "1")).contains("--crashes 0"));
        assertTrue(executed(2, options, List.of("--resume", page.toString())).contains("is no file of grid bench"));
    }

    /** Real nodes are measured in rounds, which differ; what is simulated comes out the same. */
    @Test
    @Timeout(120)
    void theMedianOfSeveralRoundsCounts() throws Exception {
        Path json = directory.resolve("rounds.json");
        String said = executed(0,
                List.of("--nodes", "2", "--worlds", "real,simulated", "--degrees", "2", "--keys", "20",
                        "--threads", "2", "--seconds", "0.1", "--levels", "read_committed", "--protocols",
                        "tom_2,tom_3",
                        "--json", json.toString()),
                List.of("--rounds", "3"));
        List<String> turns = said.lines().filter(line -> line.startsWith("REAL"))
                .map(line -> line.split(" +", 4)[2]).toList();
        assertEquals(List.of("TOM_2", "TOM_3", "TOM_3", "TOM_2", "TOM_2", "TOM_3"), turns);
        assertEquals(2, said.lines().filter(line -> line.startsWith("SIMULATED")).count());
        JsonNode measured = JsonMapper.shared().readTree(Files.readString(json)).get("measurements");
        assertEquals(4, measured.size());
        for (JsonNode one : measured) {
            double median = one.get("commitsPerSecond").asDouble();
            boolean real = one.get("world").asString().equals("REAL");
            assertEquals(real, one.get("leastCommitsPerSecond").asDouble() < median, one::toString);
            assertEquals(real, one.get("mostCommitsPerSecond").asDouble() > median, one::toString);
        }
        assertTrue(executed(2, List.of("--rounds", "2"), List.of()).contains("--rounds odd"));
    }

    /** What the command says. */
    private static String executed(int status, List<String> options, List<String> more) {
        StringWriter out = new StringWriter();
        CommandLine command = new CommandLine(new GridBenchCommand()).setCaseInsensitiveEnumValuesAllowed(true)
                .setOut(new PrintWriter(out)).setErr(new PrintWriter(out));
        command.setExecutionExceptionHandler((failure, _, _) -> {
            out.append(failure.toString());
            return 2;
        });
        assertEquals(status, command.execute(Stream.concat(options.stream(), more.stream()).toArray(String[]::new)),
                out::toString);
        return out.toString();
    }

    @Test
    @Timeout(120)
    void whatIsSimulatedIsTheSameEachTime() throws Exception {
        for (GridContender protocol : OURS) {
            GridMeasurement plan = new GridMeasurement(GridScript.Workload.RADARGUN, protocol,
                    IsolationLevel.REPEATABLE_READ_WRITE_SKEW, 20, 2, 3, 4,
                    0, Duration.ofMillis(200), 0.03);
            GridFigures.Measured first = new GridSimulation(plan, 1).run();
            assertEquals(first, new GridSimulation(plan, 1).run());
            assertNotEquals(first, new GridSimulation(plan, 2).run());
            assertTrue(first.commits() > 100 && first.conflicts() > 0 && first.otherFailures() == 0, first::toString);
            assertEquals(protocol != GridContender.TWO_PHASE, first.deadlocks() + first.lockTimeouts() == 0,
                    first::toString);
        }
    }

    /** As in the thesis: they last until the lock timeout, and others wait behind them. */
    @Test
    @Timeout(240)
    void deadlocksThatNobodyLooksForCostTheLockTimeout() throws Exception {
        GridFigures.Measured found = tpcc(GridContender.TWO_PHASE, IsolationLevel.READ_COMMITTED);
        GridFigures.Measured blind = new GridSimulation(new GridMeasurement(GridScript.Workload.TPCC,
                GridContender.TWO_PHASE_BLIND, IsolationLevel.READ_COMMITTED, 0, 2, 3, 4, 0, Duration.ofMillis(100),
                0.3), 1)
                .run();
        assertTrue(found.deadlocks() > 0 && blind.deadlocks() == 0 && blind.lockTimeouts() > 0, blind::toString);
        assertTrue(blind.commitsPerSecond() < found.commitsPerSecond(), found + " " + blind);
    }

    /** Measures for a moment, and for longer and longer until enough has committed: how long that takes the machine decides, and what else it does. */
    private static GridFigures.Measured enough(GridMeasurement of, Measuring how) throws Exception {
        GridMeasurement measurement = of;
        GridFigures.Measured measured = how.measure(measurement);
        while (measured.commits() <= 10) {
            measurement = measurement.lasting(2 * measurement.seconds());
            measured = how.measure(measurement);
        }
        return measured;
    }

    private interface Measuring {
        GridFigures.Measured measure(GridMeasurement of) throws Exception;
    }

    @Test
    void nodesAreMeasuredInProcessesOfTheirOwn() throws Exception {
        // Of this workload it is also looked whether what must hold does.
        GridFigures.Measured measured = enough(new GridMeasurement(GridScript.Workload.TPCC,
                GridContender.GROUPS, IsolationLevel.REPEATABLE_READ_WRITE_SKEW, 0, 3, 3, 2, 0,
                Duration.ofMillis(200), 2), GridProcesses::run);
        assertEquals(GridFigures.World.PROCESSES, measured.world());
        assertTrue(measured.messagesPerTransaction() > 1, measured::toString);
        assertEquals(0, measured.otherFailures(), measured::toString);
    }

    @Test
    void figuresComeFromAnotherProcessAsTheyAre() {
        GridFigures figures = new GridFigures();
        figures.committed(1_000_000);
        figures.committed(5_000_000);
        figures.read();
        figures.failed(GridException.Reason.CONFLICT);
        figures.failed(GridException.Reason.LOCK_TIMEOUT);
        GridMeasurement of = new GridMeasurement(GridScript.Workload.RADARGUN, GridContender.TOM_2,
                IsolationLevel.READ_COMMITTED, 20, 2, 3, 1, 0, Duration.ofMillis(200), 1);
        GridMeasurement.Part part = GridMeasurement.Part
                .decoded(new GridMeasurement.Part(figures, 1.5, 7).encoded());
        assertEquals(figures.measured(GridFigures.World.REAL, of, 1.5, 7),
                part.figures().measured(GridFigures.World.REAL, of, part.seconds(), part.messages()));
        assertThrows(IllegalArgumentException.class, () -> GridMeasurement.Part.decoded("cannot go on: no memory"));
    }

    /** The simulation ends with a look at the condition, where the level promises that no update is lost. */
    @Test
    @Timeout(120)
    void ordersAndPaymentsAreConsistentWhereNoUpdateMayBeLost() throws Exception {
        for (GridContender protocol : OURS) {
            GridFigures.Measured skew = tpcc(protocol, IsolationLevel.REPEATABLE_READ_WRITE_SKEW);
            assertTrue(skew.commits() > 10 && skew.conflicts() > 10, skew::toString);
            GridFigures.Measured committed = tpcc(protocol, IsolationLevel.READ_COMMITTED);
            assertEquals(0, committed.conflicts());
            assertEquals(protocol == GridContender.TWO_PHASE, committed.deadlocks() + committed.lockTimeouts() > 0);
        }
        assertTrue(GridTpcc.isConsistent(List.of(7L, List.of(3L, 9L), List.of(4L, 0L))));
        assertFalse(GridTpcc.isConsistent(List.of(7L, List.of(3L, 9L), List.of(3L, 0L))));
    }

    /** Both workloads, and both levels that it has; what it finds in the end is checked. */
    @Test
    void infinispanIsMeasuredBesideIt() throws Exception {
        for (GridScript.Workload workload : GridScript.Workload.values()) {
            for (IsolationLevel level : List.of(IsolationLevel.READ_COMMITTED,
                    IsolationLevel.REPEATABLE_READ_WRITE_SKEW)) {
                GridFigures.Measured measured = enough(new GridMeasurement(workload, GridContender.INFINISPAN, level,
                        20, 2, 3, 2, 0, Duration.ofMillis(200), 1), GridMeasurement::run);
                assertTrue(measured.messagesPerTransaction() > 1, measured::toString);
                assertEquals(0, measured.otherFailures(), measured::toString);
                assertTrue(measured.conflicts() == 0 || level != IsolationLevel.READ_COMMITTED, measured::toString);
            }
        }
    }

    /** The collector's figures are exact to some bytes for so many entries; what other tests have loaded is not counted. */
    @Test
    @Timeout(240)
    void anEntryTakesNoMoreMemoryThanInfinispans() throws Exception {
        int entries = 100_000;
        GridMemory.Measured ours = GridMemory.measure(GridContender.TOM_3, entries);
        GridMemory.Measured other = GridMemory.measure(GridContender.INFINISPAN, entries);
        assertTrue(ours.heapBytes() > ours.dataBytes() && ours.heapBytes() <= other.heapBytes(),
                ours.line() + "\n" + other.line());
    }

    private static GridFigures.Measured tpcc(GridContender protocol, IsolationLevel level) throws IOException {
        return new GridSimulation(new GridMeasurement(GridScript.Workload.TPCC, protocol, level, 0, 2, 3, 4, 0,
                Duration.ofMillis(200), 0.1), 1).run();
    }

    @Test
    void aMeasurementThatCannotBeIsRefused() {
        assertTrue(executed(2, List.of("--threads", "0"), List.of()).contains("--threads"));
        assertTrue(executed(2, List.of("--protocols", "infinispan", "--levels", "serializable"), List.of())
                .contains("INFINISPAN has no level SERIALIZABLE"));
        assertTrue(executed(2, List.of("--protocols", "infinispan", "--worlds", "simulated"), List.of())
                .contains("in one process only"));
    }
}
