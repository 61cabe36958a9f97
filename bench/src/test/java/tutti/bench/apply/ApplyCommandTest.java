package tutti.bench.apply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

class ApplyCommandTest {
    @TempDir
    private Path directory;

    @Test
    void theTableComparesMediansWithTheAppliers() {
        List<List<String>> rows = ApplyCommand.rows(List.of(
                ApplyBenchmark.Found.of("1 row", "applier", new double[]{30, 10, 20}),
                ApplyBenchmark.Found.of("1 row", "worker", new double[]{5, 6, 4}),
                ApplyBenchmark.Found.of("2 rows", "applier", new double[]{40})));
        assertEquals(List.of("1 row", "applier", "10.0", "20.0", "30.0", "1.00"), rows.get(1));
        assertEquals(List.of("0.25", "1.00"), rows.stream().skip(2).map(List::getLast).toList());
    }

    /** All contenders come to the same rows, and the worker's progress is what it has applied. */
    @Test
    @Tag("long")
    void appliersAndTheServersWorkerMakeTheSameOfTheSameTransactions() {
        StringWriter out = new StringWriter();
        CommandLine line = new CommandLine(new ApplyCommand());
        line.setOut(new PrintWriter(out));
        Path json = directory.resolve("apply.json");
        assertEquals(0,
                line.execute("--rounds", "1", "--transactions", "8", "--no-experiments", "--json", json.toString()),
                out::toString);
        assertTrue(out.toString().contains("all databases are equal"), out::toString);
        assertTrue(json.toFile().length() > 0);
    }

    /** What a crash takes of the worker's transactions it asks for again, and it asks for nothing that it has. */
    @Test
    @Tag("long")
    void theWorkersProgressIsWhatItHasApplied() throws Exception {
        try (ApplyServer server = new ApplyServer(directory);
                WorkerExperiments experiments = new WorkerExperiments(server)) {
            assertTrue(experiments.survives((statement, worker) -> statement
                    .execute("SELECT pg_catalog.pg_terminate_backend(" + worker + ")")), "terminated");
            assertTrue(experiments.survives((_, _) -> server.crash()), "killed");
        }
    }
}
