package tutti.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import tutti.model.scenario.ScenarioReader;
import tutti.sim.host.CpuPool;
import tutti.sim.kernel.Kernel;
import tutti.yaml.UnusableFileException;

class EnginesTest {
    private final Kernel kernel = new Kernel(1);
    private final CpuPool cpu = new CpuPool(kernel, "host", 8, 1000);
    private final List<String> log = new ArrayList<>();

    private Runnable note(String what) {
        return () -> log.add(what + " " + kernel.now());
    }

    private static Work work() {
        return new Work(1, RequestKind.PAYMENT, 0, null, null, false, 1, 0, 0);
    }

    @Test
    void whoIsNotAdmittedWaitsInTurnWhateverProcessorsThereAre() {
        Engines engines = new Engines(cpu, new ModelConfig.Copies(1, 1), _ -> 1);
        Engines.Job first = engines.primary().execute(10, note("first"));
        Engines.Job given = engines.primary().execute(10, note("given up"));
        engines.primary().execute(10, note("third"));
        engines.outside(7, note("outside"));
        engines.cancel(given);
        kernel.runUntil(4);
        engines.cancel(first);
        kernel.runUntil(100);
        assertEquals(List.of("outside 7", "third 14"), log);
    }

    @Test
    void withoutALimitAllComputeAtOnce() {
        Engines engines = new Engines(cpu, ModelConfig.Copies.ONE, _ -> 1);
        engines.primary().execute(10, note("first"));
        engines.primary().execute(10, note("second"));
        kernel.runUntil(100);
        assertEquals(List.of("first 10", "second 10"), log);
    }

    /** Write sets one after the other; who reads has all that was visible when it came, and goes where the fewest read. */
    @Test
    void secondariesAreAsRecentAsTheirReadersAskFor() {
        Engines engines = new Engines(cpu, new ModelConfig.Copies(3, 1), _ -> 10);
        engines.read(_ -> note("before").run());
        engines.visible(1, work());
        engines.visible(2, work());
        List<Engines.Engine> given = new ArrayList<>();
        engines.read(engine -> {
            given.add(engine);
            note("behind two").run();
        });
        kernel.runUntil(100);
        engines.read(engine -> {
            given.add(engine);
            note("later").run();
        });
        assertEquals(List.of("before 0", "behind two 20", "later 100"), log);
        engines.readFrom(given.getFirst());
        engines.read(given::add);
        assertEquals(given.getFirst(), given.getLast());
        assertTrue(given.get(1) != given.getFirst() && given.get(1) != engines.primary());
    }

    private static double readers(int clients, int replicas, int admits) throws UnusableFileException {
        Map<String, String> keys = new HashMap<>(Map.of("run.transactions", "1500", "workload.clients", "" + clients,
                "topology.clusters", "[{name: machine, sites: 1}]", "database.replicas", "" + replicas,
                "database.admits", "" + admits));
        List.of("neworder", "payment", "delivery").forEach(kind -> keys.put("workload.mix." + kind, "0"));
        List.of("orderstatus", "stocklevel").forEach(kind -> keys.put("workload.mix." + kind, "50"));
        RunResult result = new ModelRun(ScenarioReader.read("macroddb", keys).config(), 1, new TraceFile(0), List.of())
                .run();
        assertEquals("", result.safety());
        return result.tpm();
    }

    /** MacroDDB thesis, table 5.2: twice as many clients that only read do twice as much, at one engine that admits one they do not. */
    @Test
    void secondariesServeReadersSideBySide() throws UnusableFileException {
        double one = readers(1, 1, 1);
        assertEquals(1, readers(2, 1, 1) / one, 0.1);
        assertEquals(2, readers(2, 3, 1) / one, 0.2);
        assertEquals(2, readers(2, 1, 0) / one, 0.2);
    }
}
