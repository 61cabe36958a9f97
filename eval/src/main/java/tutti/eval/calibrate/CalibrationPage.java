package tutti.eval.calibrate;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import tutti.report.Page;

/** A calibration as a page: D5.1's tables 2.4 and 2.5 and its appendix A. */
final class CalibrationPage {
    private CalibrationPage() {}

    static String html(CalibrationResult result) {
        CalibrationText text = new CalibrationText(result);
        Page page = new Page("Calibration", result.settings().getOrDefault("server", "") + ", " + result.startedAt());
        Map<String, String> figures = new LinkedHashMap<>();
        result.profile().costs().forEach((kind, cost) -> figures.put(kind.label() + ", latency alone",
                String.format(Locale.ROOT, "%.2f ms", cost.latency().meanNanos() / 1e6)));
        page.figures(figures);
        page.heading("What was fitted").table(text.table());
        page.heading("Log and network").table(pairs("measured", text.storage()));
        text.forEach((what, kind, fits) -> {
            String title = what + ", " + kind;
            page.heading(title).chart(Charts.histogram("How often", fits))
                    .chart(Charts.quantiles("Q-Q plot", fits));
        });
        page.heading("Settings").table(pairs("setting", result.settings()));
        page.heading("Machine").table(pairs("part", result.machine()));
        return page.html();
    }

    /** A table of two columns. */
    static List<List<String>> pairs(String heading, Map<String, String> values) {
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of(heading, ""));
        values.forEach((name, value) -> rows.add(List.of(name, value)));
        return rows;
    }
}
