package tutti.eval;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import tutti.model.ModelRun;
import tutti.model.RequestKind;
import tutti.model.RunResult;
import tutti.model.TraceFile;
import tutti.model.scenario.ScenarioReader;
import tutti.yaml.UnusableFileException;

/**
 * Some of the numbers in docs/figures are computed again, from one seed each: what was drawn with another model, or with other
 * protocols, is found, and has to be made anew with {@code ./tutti sim figures}.
 */
class FiguresAreCurrentTest {
    private static final Path FIGURES = Path.of("..", "docs", "figures");
    /** One run lies within so many half widths of the mean over ten, unless it is one in thousands: sqrt(11), twice. */
    private static final double HALF_WIDTHS = 6.6;
    /** Of the value. */
    private static final double NEAR = 0.05;
    /** Half of the last digit that tables have. */
    private static final double ROUNDING = 0.005;

    private static FigureRun three(String... keysAndValues) {
        FigureRun run = new FigureRun("gorda-lan-3", Map.of("run.transactions", "10000"));
        for (int i = 0; i < keysAndValues.length; i += 2) {
            run = run.with(keysAndValues[i], keysAndValues[i + 1]);
        }
        return run;
    }

    private static RunResult run(FigureRun setting) throws UnusableFileException {
        return new ModelRun(ScenarioReader.read(setting.scenario(), setting.keys()).config(), 1, new TraceFile(0),
                List.of()).run();
    }

    /** A cell like {@code 6.24 ± 0.22}. */
    private static void isCurrent(String file, String row, int column, RunResult result,
            ToDoubleFunction<RunResult> value) throws IOException {
        List<String> cells = Files.readAllLines(FIGURES.resolve(file)).stream()
                .filter(line -> line.startsWith(row + ","))
                .flatMap(line -> Arrays.stream(line.split(",", -1))).toList();
        String[] drawn = cells.get(column).split(" ± ", -1);
        double mean = Double.parseDouble(drawn[0]);
        double most = HALF_WIDTHS * (Double.parseDouble(drawn[1]) + ROUNDING);
        double now = value.applyAsDouble(result);
        assertTrue(Math.abs(now - mean) <= most, () -> file + ", " + row + ", says " + String.join(" ± ", drawn)
                + ", and is now " + now + " with seed 1: make the figures anew, and look at what is said of them");
    }

    @Tag("long")
    @Test
    void faultsOfThreeSites() throws Exception {
        RunResult calm = run(three());
        isCurrent("gorda-table-3.4.csv", "no faults", 2, calm, result -> 100 * result.codeShare());
        isCurrent("gorda-table-3.5.csv", "all", 2, calm, GordaFigures::aborts);
        RunResult lossy = run(three("faults", GordaFaults.RANDOM, "workload.whole-history", "true"));
        isCurrent("gorda-table-3.5-history.csv", "payment", 4, lossy,
                result -> 100 * result.of(RequestKind.PAYMENT).abortRate());
        isCurrent("gorda-table-3.5-history.csv", "all", 4, lossy, GordaFigures::aborts);
    }

    /** A value of one seed and a long run, as curves have them: a shorter run comes as near as this. */
    private static void isNear(String file, String row, int column, RunResult result) throws IOException {
        double drawn = Files.readAllLines(FIGURES.resolve(file)).stream().filter(line -> line.startsWith(row + ","))
                .mapToDouble(line -> Double.parseDouble(line.split(",", -1)[column])).sum();
        assertEquals(drawn, result.tpm(), NEAR * drawn, () -> file + ", " + row
                + ", is another now: make the figures anew, and look at what is said of them");
    }

    @Tag("long")
    @Test
    void throughputOfOtherFigures() throws Exception {
        Map<String, String> length = Map.of("run.transactions", "10000", "workload.clients", "3960");
        isNear("akara-7a.csv", "3960", 1, run(new FigureRun("akara-lan", length).with("protocol.name", "si")));
        isNear("gorda-3.3a.csv", "3960", 2, run(new FigureRun("gorda-lan", length).with("protocol.name", "nodo")));
        isCurrent("scaling.csv", "si 92 %", 3,
                run(ScalingFigures.at(new FigureRun("scaling", Map.of("run.transactions", "3000")), 3, 92)),
                RunResult::tpm);
    }

    @Tag("long")
    @Test
    void abortsOfMacroDdb() throws Exception {
        // The name has three commas of its own.
        isCurrent("macroddb-values.csv", "5.8,\"50-50, 8 nodes, 16 clients, aborts %\"", 6,
                run(new MacroDdbFigures(5000).at(MacroDdbFigures.Mix.FIFTY, 8, 2)), GordaFigures::aborts);
    }
}
