package tutti.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import tutti.command.Screen;

/** A comparison as text: one row per contender, the median of the rounds and in parentheses the least and the most. */
final class OverheadTable {
    private OverheadTable() {}

    /** The table, then the aims. */
    static List<String> lines(OverheadResult result, Screen screen) {
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("", "transactions/s", "of (a)", "tpmC", "NewOrder p50 ms", "p95 ms", "aborted %",
                "CPU ms/trans.",
                "PostgreSQL", "in front", "client", "other work %"));
        for (OverheadResult.Summary row : result.summaries()) {
            rows.add(List.of(row.contender().letter() + " " + row.contender().description(),
                    text(row.transactionsPerSecond(), "%,.0f"),
                    row.ratio() == null ? "-" : text(row.ratio(), "%.2f"), text(row.tpmC(), "%,.0f"),
                    text(row.p50Millis(), "%.1f"),
                    text(row.p95Millis(), "%.1f"), text(row.abortPercent(), "%.1f"),
                    text(row.serverCpuMillis(), "%.2f"), median(row.databaseCpuMillis()),
                    median(row.frontCpuMillis()), median(row.clientCpuMillis()),
                    String.format(Locale.ROOT, "%.0f", row.otherPercent().max())));
        }
        List<String> lines = new ArrayList<>(Screen.table(rows));
        lines.add("median over rounds (least to most); ratios are of the same round");
        lines.add("");
        for (OverheadResult.Summary row : result.summaries()) {
            aim(lines, screen, result.plan(), row);
        }
        return lines;
    }

    /** What its throughput ought to be of that of (a); 0 if nothing was aimed at. */
    private static double aimOf(OverheadPlan plan, Contender.Kind kind) {
        return switch (kind) {
            case B -> plan.ownMachines() ? 0.85 : 0.75;
            case C -> plan.ownMachines() ? 0.75 : 0.55;
            case D -> plan.ownMachines() ? plan.readPercent() >= 95 ? 2.7 : 1.5 : 0.45;
            case A, E, F -> 0;
        };
    }

    private static void aim(List<String> lines, Screen screen, OverheadPlan plan, OverheadResult.Summary row) {
        Contender.Kind kind = row.contender();
        double aim = aimOf(plan, kind);
        OverheadResult.Spread ratio = row.ratio();
        if (aim > 0 && ratio != null) {
            lines.add(verdict(screen, ratio.median() >= aim, String.format(Locale.ROOT,
                    "%s at least %.2f of (a): %.2f", kind.letter(), aim, ratio.median())));
        }
        OverheadResult.Spread toStandbys = row.ratioToStandbys();
        if (toStandbys != null && kind == Contender.Kind.C && !plan.ownMachines()) {
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
