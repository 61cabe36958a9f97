package tutti.eval;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import tutti.model.RunResult;
import tutti.report.Chart;
import tutti.report.Page;

/** Where figures are drawn: files in a directory, and one page with all of them. */
final class FigurePages {
    private final Path directory;
    private final Map<FigureRun, List<RunResult>> results;
    private final boolean pictures;
    private final Page page;
    private final List<List<String>> values = new ArrayList<>();

    /** @param pictures whether charts are written as PNG as well */
    FigurePages(Path directory, Map<FigureRun, List<RunResult>> results, boolean pictures, Page page) {
        this.directory = directory;
        this.pictures = pictures;
        this.results = results;
        this.page = page;
        values.add(List.of("figure", "what", "paper", "here"));
    }

    /** Of each seed. */
    List<RunResult> results(FigureRun setting) {
        List<RunResult> result = results.get(setting);
        if (result == null) {
            throw new IllegalStateException("a figure uses a run that it has not asked for: " + setting.name());
        }
        return result;
    }

    /** Of the first seed, for what is shown of one run only. */
    RunResult first(FigureRun setting) {
        return results(setting).getFirst();
    }

    Estimate estimate(FigureRun setting, ToDoubleFunction<RunResult> value) {
        return Estimate.of(results(setting), value);
    }

    /** A value with so many decimals, and its interval if there are several seeds. */
    String text(FigureRun setting, ToDoubleFunction<RunResult> value, int decimals) {
        return estimate(setting, value).text(decimals);
    }

    /** A value of some settings over a quantity, with intervals if there are several seeds. */
    Chart.Curve curve(String name, double[] at, List<FigureRun> settings, ToDoubleFunction<RunResult> value) {
        return curve(name, at, settings.stream().map(setting -> estimate(setting, value)).toList());
    }

    /** Estimates over a quantity. */
    static Chart.Curve curve(String name, double[] at, List<Estimate> values) {
        double[] halfWidths = values.stream().anyMatch(one -> one.repetitions() > 1)
                ? values.stream().mapToDouble(Estimate::halfWidth).toArray()
                : new double[0];
        return new Chart.Curve(name, false, at, values.stream().mapToDouble(Estimate::mean).toArray(), halfWidths);
    }

    void heading(String text) {
        page.heading(text);
    }

    /** A chart: as SVG, as CSV, and as PNG if pictures are wanted. */
    void chart(String file, Chart chart) {
        write(file + ".svg", chart.svg());
        write(file + ".csv", chart.csv());
        if (pictures) {
            write(file + ".png", chart.png());
        }
        page.chart(chart);
    }

    /** A table: as CSV; the first row is the heading. */
    void table(String file, List<List<String>> rows) {
        write(file + ".csv", csv(rows));
        page.table(rows);
    }

    private static String csv(List<List<String>> rows) {
        StringBuilder csv = new StringBuilder();
        rows.forEach(row -> csv.append(String.join(",",
                row.stream().map(cell -> cell.contains(",") ? "\"" + cell + "\"" : cell).toList())).append('\n'));
        return csv.toString();
    }

    /** A value that the paper's text or tables give, and what it is here. */
    void compare(String figure, String what, String paper, String here) {
        values.add(List.of(figure, what, paper, here));
    }

    /** All values that were compared, the heading first. */
    List<List<String>> values() {
        return values;
    }

    /** Writes what was compared, and the page. */
    void finish() {
        table("values", values);
        write("index.html", page.html());
    }

    private void write(String file, String text) {
        write(file, text.getBytes(StandardCharsets.UTF_8));
    }

    private void write(String file, byte[] bytes) {
        try {
            Files.write(directory.resolve(file), bytes);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
