package tutti.bench;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import tutti.bench.MacroCommand.Measured;

/** What {@link MacroCommand} has measured, for people. */
final class MacroTable {
    private static final int ROW_HEIGHT = 16;
    private static final int LABEL_WIDTH = 240;
    private static final int BAR_WIDTH = 520;

    private MacroTable() {}

    /** One measurement for each system and mix: that with the median throughput. */
    static List<Measured> medians(List<Measured> all) {
        Map<String, List<Measured>> groups = new LinkedHashMap<>();
        for (Measured measured : all) {
            groups.computeIfAbsent(measured.kind().display() + " " + measured.mix() + " " + measured.clients(),
                    _ -> new ArrayList<>()).add(measured);
        }
        List<Measured> medians = new ArrayList<>();
        for (List<Measured> group : groups.values()) {
            group.sort(Comparator.comparingDouble(Measured::perMinute));
            medians.add(group.get(group.size() / 2));
        }
        return medians;
    }

    /** A table. */
    static List<List<String>> rows(List<Measured> medians) {
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("system", "mix", "clients", "tpm", "of standalone", "aborted %", "reads/writes",
                "still ms", "gc ms"));
        for (Measured measured : medians) {
            rows.add(List.of(measured.kind().display(), measured.mix(), String.valueOf(measured.clients()),
                    String.format(Locale.ROOT, "%,.0f", measured.perMinute()),
                    of(medians, "standalone", measured.mix()).map(standalone -> String.format(Locale.ROOT, "%.2f",
                            measured.perMinute() / standalone.perMinute())).orElse(""),
                    String.format(Locale.ROOT, "%.1f", measured.abortPercent()),
                    measured.readWriteRatio() == 0
                            ? ""
                            : String.format(Locale.ROOT, "%.2f", measured.readWriteRatio()),
                    String.format(Locale.ROOT, "%.0f", measured.standstillMillis()),
                    String.valueOf(measured.collectionMillis())));
        }
        return rows;
    }

    /** The one with the fewest clients. */
    private static Optional<Measured> of(List<Measured> medians, String name, String mix) {
        return medians.stream()
                .filter(measured -> measured.kind().display().equals(name) && measured.mix().equals(mix))
                .min(Comparator.comparingInt(Measured::clients));
    }

    /** What a transaction costs in one system after the other (figures 5.2 and 5.3). */
    static List<String> overhead(MacroOverhead.Cost cost, List<MacroSystem.Kind> kinds) {
        List<String> lines = new ArrayList<>();
        double[] micros = cost.micros();
        lines.add(String.format(Locale.ROOT,
                "%-6s one client: %,.0f us in the engine, %+,.0f us with sessions and capture,"
                        + " %+,.0f us with order and certification",
                cost.mix(), micros[0], micros[1] - micros[0],
                micros[2] - micros[1]));
        for (int i = 1; i < micros.length; i++) {
            lines.add(String.format(Locale.ROOT, "         %-16s %,7.0f us, %.3f of standalone (%.3f to %.3f)",
                    kinds.get(i).display(), micros[i], cost.middle()[i], cost.least()[i], cost.most()[i]));
        }
        lines.add(
                "         in the engine: " + cost.kindsMicros().entrySet().stream().filter(kind -> kind.getValue() > 0)
                        .map(kind -> String.format(Locale.ROOT, "%s %,.0f us",
                                kind.getKey().name().toLowerCase(Locale.ROOT).replace("_", ""), kind.getValue()))
                        .collect(Collectors.joining(", ")));
        return lines;
    }

    /** What a MacroDB takes (figure 5.4), with one replica, with two, ... */
    static List<String> memory(List<Long> bytes) {
        List<String> lines = new ArrayList<>();
        for (int i = 0; i < bytes.size(); i++) {
            lines.add(String.format(Locale.ROOT, "memory of %d replicas: %,.0f MiB, %.2f times that of one", i + 1,
                    bytes.get(i) / 1048576.0, (double) bytes.get(i) / bytes.getFirst()));
        }
        return lines;
    }

    /** Where most was aborted (figure 5.8). */
    static List<String> findings(List<Measured> medians) {
        List<String> lines = new ArrayList<>();
        for (String mix : medians.stream().map(Measured::mix).distinct().toList()) {
            for (String protocol : medians.stream().map(Measured::protocol).distinct().toList()) {
                medians.stream().filter(each -> each.mix().equals(mix) && each.protocol().equals(protocol))
                        .max(Comparator.comparingDouble(Measured::abortPercent))
                        .filter(each -> each.abortPercent() > 0)
                        .ifPresent(most -> lines.add(String.format(Locale.ROOT,
                                "%-6s most aborts with %s: %.1f %%, %s, %d clients", mix, protocol,
                                most.abortPercent(), most.kind().display(), most.clients())));
            }
        }
        return lines;
    }

    /** Throughput as bars, of each mix in a scale of its own. */
    static String svg(List<Measured> medians) {
        List<String> mixes = medians.stream().map(Measured::mix).distinct().toList();
        StringBuilder svg = new StringBuilder();
        int y = ROW_HEIGHT;
        for (String mix : mixes) {
            double most = medians.stream().filter(each -> each.mix().equals(mix)).mapToDouble(Measured::perMinute)
                    .max().orElse(1);
            svg.append(text(4, y + 12, mix + " reading/writing: transactions per minute", "title"));
            y += ROW_HEIGHT + 6;
            for (Measured measured : medians) {
                if (measured.mix().equals(mix)) {
                    int width = (int) Math.max(1, BAR_WIDTH * measured.perMinute() / most);
                    svg.append(
                            text(16, y + 12, measured.kind().display() + ", " + measured.clients() + " clients", ""));
                    svg.append("<rect x=\"").append(LABEL_WIDTH).append("\" y=\"").append(y + 2).append("\" width=\"")
                            .append(width).append("\" height=\"").append(ROW_HEIGHT - 4).append("\"/>");
                    svg.append(text(LABEL_WIDTH + width + 6, y + 12,
                            String.format(Locale.ROOT, "%,.0f", measured.perMinute()), ""));
                    y += ROW_HEIGHT;
                }
            }
            y += ROW_HEIGHT;
        }
        return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + (LABEL_WIDTH + BAR_WIDTH + 90) + "\" height=\""
                + y
                + "\"><style>text{font:11.5px system-ui,sans-serif;fill:#1b1f24}.title{font-weight:600}rect{fill:#3566c8}"
                + ".paper{fill:#fff}</style><rect class=\"paper\" width=\"100%\" height=\"100%\"/>" + svg + "</svg>\n";
    }

    private static String text(int x, int y, String text, String style) {
        return "<text x=\"" + x + "\" y=\"" + y + "\" class=\"" + style + "\">" + text + "</text>";
    }
}
