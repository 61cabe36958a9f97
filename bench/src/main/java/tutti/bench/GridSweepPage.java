package tutti.bench;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import tutti.grid.IsolationLevel;
import tutti.report.DocsSection;

/** The section of docs/grid-sweep.md: what was measured in each world side by side, and the figures drawn of it. */
final class GridSweepPage {
    private static final DocsSection SECTION = new DocsSection("grid sweep",
            "./tutti grid bench --docs docs/grid-sweep.md");

    private GridSweepPage() {}

    /** What is in one table: everything but nodes and protocol is the same. */
    private record Group(GridScript.Workload workload, int keys, int degree, IsolationLevel level) {
        static Group of(GridFigures.Measured one) {
            return new Group(one.workload(), one.keys(), one.degree(), one.level());
        }
    }

    /**
     * Replaces the section.
     *
     * @param parts the conditions of each part of the measurement, as lines
     * @param seconds of each measurement, by what it is called
     * @param figures where those are that were drawn; null if none were
     */
    static void write(Path page, List<List<String>> parts, String seconds, List<GridFigures.Measured> all,
            @Nullable Path figures) throws IOException {
        SECTION.replace(page, lines(page, parts, seconds, all, figures));
    }

    static List<String> lines(Path page, List<List<String>> parts, String seconds, List<GridFigures.Measured> all,
            @Nullable Path figures) {
        List<String> lines = new ArrayList<>();
        lines.add("");
        parts.stream().flatMap(List::stream).distinct().forEach(line -> lines.add(line + "  "));
        lines.add(seconds
                + ". Each cell: commits in a second; aborts; median and 99th percentile of a commit in ms.");
        List<GridFigures.World> worlds = all.stream().map(GridFigures.Measured::world).distinct().sorted().toList();
        List<GridContender> contenders = all.stream().map(GridFigures.Measured::protocol).distinct().sorted().toList();
        for (Group group : all.stream().map(Group::of).distinct().toList()) {
            List<GridFigures.Measured> of = all.stream().filter(one -> Group.of(one).equals(group)).toList();
            lines.add("");
            lines.add("### " + title(group));
            lines.add("");
            lines.addAll(DocsSection.table(rows(of, worlds, contenders)));
        }
        if (figures != null) {
            lines.add("");
            lines.add("### Figures");
            lines.add("");
            all.stream().map(GridBenchCommand.Kind::of).distinct()
                    .forEach(kind -> lines.addAll(images(page, figures, kind)));
        }
        lines.add("");
        return lines;
    }

    private static String title(Group group) {
        return (group.workload == GridScript.Workload.TPCC
                ? "TPC-C"
                : String.format(Locale.ROOT, "%,d keys", group.keys))
                + ", degree " + group.degree + ", `" + group.level + "`";
    }

    private static List<List<String>> rows(List<GridFigures.Measured> of, List<GridFigures.World> worlds,
            List<GridContender> contenders) {
        List<List<String>> rows = new ArrayList<>();
        List<String> heads = new ArrayList<>(List.of("nodes", "world"));
        contenders.forEach(contender -> heads.add("`" + contender + "`"));
        rows.add(heads);
        for (int nodes : of.stream().map(GridFigures.Measured::nodes).distinct().sorted(Comparator.naturalOrder())
                .toList()) {
            for (GridFigures.World world : worlds) {
                Function<GridContender, Optional<GridFigures.Measured>> cell = contender -> of.stream()
                        .filter(one -> one.nodes() == nodes && one.world() == world && one.protocol() == contender)
                        .findFirst();
                if (contenders.stream().map(cell).anyMatch(Optional::isPresent)) {
                    List<String> row = new ArrayList<>(
                            List.of(Integer.toString(nodes), world.name().toLowerCase(Locale.ROOT)));
                    contenders.forEach(contender -> row.add(cell.apply(contender).map(GridSweepPage::text).orElse("")));
                    rows.add(row);
                }
            }
        }
        return rows;
    }

    private static String text(GridFigures.Measured of) {
        if (of.commitsPerSecond() == 0) {
            return "none";
        }
        String spread = of.leastCommitsPerSecond() == of.mostCommitsPerSecond()
                ? ""
                : String.format(Locale.ROOT, " (%,.0f to %,.0f)", of.leastCommitsPerSecond(),
                        of.mostCommitsPerSecond());
        return String.format(Locale.ROOT, "%,.0f%s; %.2f %%; %.2f, %.2f", of.commitsPerSecond(), spread,
                of.abortPercent(), of.commitMillisMedian(), of.commitMillis99());
    }

    private static List<String> images(Path page, Path figures, GridBenchCommand.Kind kind) {
        Path from = page.toAbsolutePath().getParent();
        List<String> lines = new ArrayList<>();
        for (String figure : GridBenchCommand.FIGURES.keySet()) {
            Path file = figures.toAbsolutePath().resolve(kind.file(figure));
            String shown = from == null ? file.toString() : from.relativize(file).toString();
            lines.add("![" + kind.title() + ": " + figure + "](" + shown + ")");
        }
        lines.add("");
        return lines;
    }
}
