package tutti.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tutti.core.recorded.RecordedNode;
import tutti.core.recorded.RecordedTransaction;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.ReadSet;
import tutti.model.scenario.ScenarioReader;
import tutti.yaml.UnusableFileException;

class RecordedWorkloadTest {
    private static final long MILLI = 1_000_000;
    private static final long SCHEMA = 1;
    private static final long TABLE = 2;
    private static final long OTHER_TABLE = 3;

    @TempDir
    private Path directory = Path.of("");

    /** Updates of one row of a table, or of any row of another; every fourth transaction only reads. */
    private static RecordedTransaction transaction(int number) {
        long began = number * 10L * MILLI;
        if (number % 4 == 3) {
            return new RecordedTransaction(began, MILLI, false, ConflictClasses.ALL, KeySet.EMPTY, 0, ReadSet.EMPTY);
        }
        boolean hot = number % 4 == 0;
        return new RecordedTransaction(began, 15 * MILLI, false, ConflictClasses.ALL,
                new KeySet.Builder().add(SCHEMA, KeyKind.REFERENCE).add(hot ? TABLE : OTHER_TABLE, KeyKind.REFERENCE)
                        .add(hot ? 1000 : 2000 + number, KeyKind.UPDATE).build(),
                300, ReadSet.EMPTY);
    }

    private void record(int node, long beganMillis) throws IOException {
        ByteArrayOutputStream file = new ByteArrayOutputStream();
        file.writeBytes(RecordedNode.header(node, beganMillis));
        for (int i = 0; i < 400; i++) {
            file.writeBytes(RecordedNode.entry(transaction(i)));
        }
        Files.write(directory.resolve("node" + node + RecordedNode.SUFFIX), file.toByteArray());
    }

    private RunResult run(String... more) throws UnusableFileException {
        Map<String, String> keys = new HashMap<>(Map.of("workload.recorded", directory.toString(), "run.warm-up",
                "0s"));
        for (int i = 0; i < more.length; i += 2) {
            keys.put(more[i], more[i + 1]);
        }
        RunResult result = new ModelRun(ScenarioReader.read("gorda-cluster", keys).config(), 1, new TraceFile(0),
                List.of()).run();
        assertEquals("", result.safety());
        return result;
    }

    @Test
    void arrivesAsItWasRecordedUnderAnyProtocol() throws IOException, UnusableFileException {
        record(1, 5000);
        record(2, 5003);
        for (String protocol : List.of("si", "postgres-r", "2pc", "passive", "active")) {
            RunResult result = run("protocol.name", protocol);
            assertEquals(800, result.total().committed() + result.total().aborted(), protocol);
            assertEquals(200, result.of(RequestKind.READ).committed());
            assertTrue(result.seconds() >= 3.99, protocol);
            // The others are behind at the end: locks are handed on slowly, or everything is executed one by one.
            assertTrue(result.seconds() < 4.1 || protocol.equals("2pc") || protocol.equals("active"), protocol);
        }
        RunResult twice = run("workload.speed-up", "2", "workload.cpu-share", "0.1");
        assertEquals(2, twice.seconds(), 0.1);
        assertEquals(3, run("workload.from", "1s").seconds(), 0.1);
        assertTrue(twice.of(RequestKind.UPDATE).latencies().meanMillis() > 15, "the rest of its time passes as well");
        assertTrue(twice.cpuShare() < 0.1, () -> "it uses " + twice.cpuShare() + " of the processors");
    }

    /** Both nodes write the hot row every 40 ms at nearly the same time: first committer wins, or they take turns. */
    @Test
    void conflictsAreThoseOfTheRecordedKeys() throws IOException, UnusableFileException {
        record(0, 5000);
        record(1, 5003);
        RunResult optimistic = run("protocol.name", "si");
        assertTrue(optimistic.total().aborted() >= 90, () -> "aborted " + optimistic.total().aborts());
        RunResult conservative = run("protocol.name", "nodo");
        assertEquals(0, conservative.total().aborted(), () -> "aborted " + conservative.total().aborts());
        assertTrue(conservative.of(RequestKind.UPDATE).latencies()
                .meanMillis() > optimistic.of(RequestKind.UPDATE).latencies()
                        .meanMillis() + 3,
                "tables are classes");
    }

    @Test
    void whatCannotBeReadIsSaid() throws IOException {
        Files.writeString(directory.resolve("x" + RecordedNode.SUFFIX), "nothing of the kind, and long enough");
        UnusableFileException wrong = assertThrows(UnusableFileException.class, () -> run());
        assertTrue(wrong.getMessage().contains("is no recording of a workload"), wrong.getMessage());
        UnusableFileException missing = assertThrows(UnusableFileException.class,
                () -> run("workload.recorded", directory.resolve("none").toString()));
        assertTrue(missing.getMessage().contains("there is no "), missing.getMessage());
    }
}
