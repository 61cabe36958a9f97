package tutti.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tutti.model.scenario.ScenarioReader;
import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.Nanos;
import tutti.yaml.UnusableFileException;

/** Every protocol under every fault of D5.1, table 3.3, over either kind of order: safe, and alive among who is left. */
@Tag("long")
class FaultyRunTest {
    private static final long AT = 2 * Nanos.SECOND;

    @ParameterizedTest
    @CsvSource({"si,gorda-lan-3,all", "dbsm,gorda-lan-3,all", "postgres-r,gorda-lan-3,all", "nodo,gorda-lan-3,all",
            "akara,gorda-lan-3,all", "active,gorda-lan-3,all", "passive,gorda-lan-3,all", "2pc,gorda-lan-3,all",
            "hybrid,gorda-lan-3,all",
            "wice,gorda-wan,all", "wice,gorda-wan,first-cluster"})
    void aProtocolGoesOn(String protocol, String scenario, String members) throws UnusableFileException {
        for (String order : List.of("sequencer", "group")) {
            Map<String, String> keys = new HashMap<>(
                    Map.of("run.transactions", scenario.equals("gorda-wan") ? "600" : "200", "run.warm-up", "1s",
                            "run.at-most", "60s", "workload.clients", "600", "workload.classes", "warehouses"));
            keys.put("protocol.name", protocol);
            keys.put("order.kind", order);
            keys.put("order.members", members);
            ModelConfig calm = ScenarioReader.read(scenario, keys).config();
            Set<Integer> all = calm.topology().all();
            List<Integer> everybody = List.copyOf(all);
            String which = protocol + ", " + order + ", ";
            double usual = slow(run(calm, all, which));
            RunResult randomly = run(with(calm, new ModelFault.RandomLoss(AT, everybody, 0.1)), all,
                    which + "random loss");
            RunResult inBursts = run(with(calm, new ModelFault.BurstyLoss(AT, everybody,
                    new Distribution.Uniform(0, 20 * Nanos.MILLI), new Distribution.Uniform(0, 100 * Nanos.MILLI))),
                    all, which + "bursty loss");
            for (RunResult lossy : List.of(randomly, inBursts)) {
                assertTrue(lossy.traffic().lost() > 0, which + "nothing was lost");
                assertTrue(slow(lossy) > 1.05 * usual, () -> which + slow(lossy) + " ms, without loss " + usual);
            }
            run(with(calm, new ModelFault.ClockDrift(AT, List.of(1), 0.2),
                    new ModelFault.SchedulingLatency(AT, List.of(0), new Distribution.Exponential(Nanos.MILLI))), all,
                    which + "slow clocks");
            Set<Integer> left = new TreeSet<>(all);
            left.remove(0);
            run(with(calm, new ModelFault.Crash(AT, List.of(0)), new ModelFault.RandomLoss(0, everybody, 0.05)), left,
                    which + "crash");
        }
    }

    /** Milliseconds that a fifth of certifications take longer than; where nothing is certified, the mean latency. */
    private static double slow(RunResult result) {
        double certification = result.certification().percentileMillis(0.8);
        return certification > 0 ? certification : result.total().latencies().meanMillis();
    }

    private static ModelConfig with(ModelConfig calm, ModelFault... faults) {
        return new ModelConfig(calm.topology(), calm.calibration(), calm.workload(), calm.policy(), calm.execution(),
                calm.copies(),
                calm.protocol(),
                calm.order(), calm.length(), List.of(faults), calm.charge());
    }

    /** Runs to its end, safely, and with progress at all who should make some until then. */
    private static RunResult run(ModelConfig config, Set<Integer> left, String which) {
        ModelRun run = new ModelRun(config, 1, new TraceFile(0), List.of());
        RunResult result = run.run();
        assertEquals("", result.safety(), which);
        assertTrue(result.total().committed() + result.total().aborted() >= config.length().transactions(),
                () -> which + ": only " + result.total().committed() + " committed");
        long most = left.stream().mapToLong(run::visible).max().orElse(0);
        for (int site : left) {
            assertTrue(run.visible(site) > most / 4, () -> which + ": site " + site + " shows position "
                    + run.visible(site) + " where another shows " + most);
        }
        assertTrue(most > 0, which);
        return result;
    }
}
