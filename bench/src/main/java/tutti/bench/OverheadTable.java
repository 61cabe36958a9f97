package tutti.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import tutti.command.Screen;

/** A comparison as text: one row per contender, the median of the rounds and in parentheses the least and the most. */
final class OverheadTable {
    private static final double AIM_ONE_NODE = 0.85;
    private static final double AIM_THREE_NODES = 0.6;

    private OverheadTable() {}

    /** The table, then the aims. */
    static List<String> lines(OverheadResult result, Screen screen) {
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("", "tpmC", "of (a)", "NewOrder p50 ms", "p95 ms", "aborted %", "CPU ms/trans.",
                "PostgreSQL", "in front", "client", "other work %"));
        for (OverheadResult.Summary row : result.summaries()) {
            rows.add(List.of(row.contender().letter() + " " + row.contender().description(), text(row.tpmC(), "%,.0f"),
                    row.ratio() == null ? "-" : text(row.ratio(), "%.2f"), text(row.p50Millis(), "%.1f"),
                    text(row.p95Millis(), "%.1f"), text(row.abortPercent(), "%.1f"),
                    text(row.serverCpuMillis(), "%.2f"), median(row.databaseCpuMillis()),
                    median(row.frontCpuMillis()), median(row.clientCpuMillis()),
                    String.format(Locale.ROOT, "%.0f", row.otherPercent().max())));
        }
        List<String> lines = new ArrayList<>(Screen.table(rows));
        lines.add("median over rounds (least to most); ratios are of the same round");
        lines.add("");
        aim(lines, screen, result, Contender.Kind.B, AIM_ONE_NODE);
        aim(lines, screen, result, Contender.Kind.C, AIM_THREE_NODES);
        aim(lines, screen, result, Contender.Kind.D, AIM_THREE_NODES);
        return lines;
    }

    private static void aim(List<String> lines, Screen screen, OverheadResult result, Contender.Kind kind,
            double aim) {
        Optional<OverheadResult.Summary> found = result.summaries().stream().filter(row -> row.contender() == kind)
                .findFirst();
        if (found.isEmpty()) {
            return;
        }
        OverheadResult.Spread ratio = found.get().ratio();
        if (ratio != null) {
            lines.add(verdict(screen, ratio.median() >= aim, String.format(Locale.ROOT,
                    "%s at least %.2f of (a): %.2f", kind.letter(), aim, ratio.median())));
        }
        OverheadResult.Spread toStandbys = found.get().ratioToStandbys();
        if (toStandbys != null && kind.nodes() > 1) {
            lines.add(verdict(screen, toStandbys.median() >= 1, String.format(Locale.ROOT,
                    "%s at least (e): %.2f of it", kind.letter(), toStandbys.median())));
        }
    }

    private static String verdict(Screen screen, boolean met, String what) {
        return (met ? screen.good("aim met:    ") : screen.bad("aim missed: ")) + what;
    }

    @SuppressWarnings("AnnotateFormatMethod") // The annotation would be a library more for one method.
    private static String text(OverheadResult.@Nullable Spread spread, String format) {
        if (spread == null) {
            return "-";
        }
        return spread.min() == spread.max()
                ? String.format(Locale.ROOT, format, spread.median())
                : String.format(Locale.ROOT, format + " (" + format + " to " + format + ")", spread.median(),
                        spread.min(), spread.max());
    }

    private static String median(OverheadResult.Spread spread) {
        return String.format(Locale.ROOT, "%.2f", spread.median());
    }
}
