package tutti.eval;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import tutti.model.ModelConfig;
import tutti.model.ModelRun;
import tutti.model.RequestKind;
import tutti.model.RunResult;
import tutti.model.TraceFile;
import tutti.model.scenario.ScenarioReader;
import tutti.yaml.UnusableFileException;

class ScalingFiguresTest {
    private static final int[] NODES = {1, 2, 3, 4, 6};
    private static final Path DOCS = Path.of("..", "docs");
    /** One run lies within so many half widths of the mean over ten: see {@link FiguresAreCurrentTest}. */
    private static final double HALF_WIDTHS = 6.6;

    private static ModelConfig config(int nodes, int writes) throws UnusableFileException {
        FigureRun run = ScalingFigures.at(new FigureRun("scaling", Map.of()), nodes, writes);
        return ScenarioReader.read(run.scenario(), run.keys()).config();
    }

    @Test
    void itStopsWhereANodeAddsLessThanAFifthOfTheFirst() {
        assertEquals(2, ScalingFigures.stopsAfter(NODES, new double[]{100, 150, 169, 200, 300}));
        assertEquals(4, ScalingFigures.stopsAfter(NODES, new double[]{100, 150, 180, 201, 240}));
        assertEquals(1, ScalingFigures.stopsAfter(NODES, new double[]{100, 60, 50, 40, 30}));
        assertTrue(Double.isNaN(ScalingFigures.stopsAfter(NODES, new double[]{100, 150, 180, 201, 242})));
    }

    @Test
    void kindsKeepTheirSharesWhateverTheShareOfWrites() throws UnusableFileException {
        for (int writes : List.of(1, 50, 92)) {
            ModelConfig config = config(6, writes);
            Map<RequestKind, Double> shares = config.workload().shares();
            assertEquals(6, config.topology().sites());
            assertEquals(writes / 100.0 * 44 / 92, shares.get(RequestKind.NEW_ORDER), 1e-6);
            assertEquals(writes / 100.0 * 4 / 92, shares.get(RequestKind.DELIVERY), 1e-6);
            assertEquals(shares.get(RequestKind.ORDER_STATUS), shares.get(RequestKind.STOCK_LEVEL), 1e-9);
        }
    }

    @Test
    void thePageHasTheTableThatWasComputed() throws IOException {
        String page = Files.readString(DOCS.resolve("evaluation.md"));
        for (String row : Files.readAllLines(DOCS.resolve("figures").resolve("scaling-stops.csv"))) {
            String expected = "| " + row.replace(",", " | ") + " |";
            assertTrue(page.contains(expected), () -> "docs/evaluation.md lacks " + expected);
        }
    }

    /** What three nodes do under {@code si}, once: a model or protocol that has changed is found. */
    @Test
    void theTableIsWhatThisBuildComputes() throws Exception {
        RunResult result = new ModelRun(config(3, 92), 1, new TraceFile(0), List.of()).run();
        List<String> heading = cells("protocol and share; nodes:");
        String[] drawn = cells("si 92 %").get(heading.indexOf("3")).split(" ± ", -1);
        double most = HALF_WIDTHS * Double.parseDouble(drawn[1]);
        assertEquals(Double.parseDouble(drawn[0]), result.tpm(), most,
                "./tutti sim figures --paper scaling makes docs/figures/scaling* anew; look at what is said of them");
    }

    private static List<String> cells(String row) throws IOException {
        return Files.readAllLines(DOCS.resolve("figures").resolve("scaling.csv")).stream()
                .filter(line -> line.startsWith(row + ",")).flatMap(line -> Arrays.stream(line.split(",", -1)))
                .toList();
    }
}
