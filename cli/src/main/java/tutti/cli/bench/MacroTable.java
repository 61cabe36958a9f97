package tutti.cli.bench;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import tutti.cli.bench.MacroCommand.Measured;

/** What {@link MacroCommand} has measured, for people. */
final class MacroTable {
    private static final int ROW_HEIGHT = 16;
    private static final int LABEL_WIDTH = 240;
    private static final int BAR_WIDTH = 520;

    private MacroTable() {}

    static String name(Measured measured) {
        return switch (measured.system()) {
            case "standalone" -> "standalone";
            case "MacroDB" -> "MacroDB of " + measured.replicas();
            case "MacroDDB-Flat" -> "Flat, " + measured.nodes() + " masters";
            default -> "MacroDDB " + measured.nodes() + " x " + measured.replicas();
        };
    }

    /** One measurement for each system and mix: that with the median throughput. */
    static List<Measured> medians(List<Measured> all) {
        Map<String, List<Measured>> groups = new LinkedHashMap<>();
        for (Measured measured : all) {
            groups.computeIfAbsent(name(measured) + " " + measured.mix(), _ -> new ArrayList<>()).add(measured);
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
        rows.add(List.of("system", "mix", "clients", "tpm", "of standalone", "aborted %", "reads %", "MiB"));
        for (Measured measured : medians) {
            rows.add(List.of(name(measured), measured.mix(), String.valueOf(measured.clients()),
                    String.format(Locale.ROOT, "%,.0f", measured.perMinute()),
                    of(medians, "standalone", measured.mix()).map(standalone -> String.format(Locale.ROOT, "%.2f",
                            measured.perMinute() / standalone.perMinute())).orElse(""),
                    String.format(Locale.ROOT, "%.1f", measured.abortPercent()),
                    String.format(Locale.ROOT, "%.1f", measured.readPercent()),
                    String.valueOf(measured.memoryBytes() >> 20)));
        }
        return rows;
    }

    private static Optional<Measured> of(List<Measured> medians, String name, String mix) {
        return medians.stream().filter(measured -> name(measured).equals(name) && measured.mix().equals(mix))
                .findFirst();
    }

    /** What the thesis asks of it: its overhead and where that comes from (figure 5.3), and its memory (figure 5.4). */
    static List<String> findings(List<Measured> medians) {
        List<String> lines = new ArrayList<>();
        for (String mix : medians.stream().map(Measured::mix).distinct().toList()) {
            Optional<Measured> standalone = of(medians, "standalone", mix);
            Optional<Measured> captured = of(medians, "MacroDB of 1", mix);
            Optional<Measured> node = of(medians, "MacroDDB 1 x 1", mix);
            if (standalone.isPresent() && captured.isPresent() && node.isPresent()) {
                double bare = 6e7 / standalone.get().perMinute() * standalone.get().clients();
                double capture = 6e7 / captured.get().perMinute() * captured.get().clients();
                double whole = 6e7 / node.get().perMinute() * node.get().clients();
                lines.add(String.format(Locale.ROOT, "%-6s a transaction takes %,.0f us in the engine, %+,.0f us with"
                        + " sessions and capture, %+,.0f us with order and certification: overhead %.1f %%", mix, bare,
                        capture - bare, whole - capture, 100 * (whole - bare) / whole));
            }
        }
        Optional<Measured> one = medians.stream().filter(measured -> name(measured).equals("MacroDB of 1")).findFirst();
        Optional<Measured> three = medians.stream().filter(measured -> name(measured).equals("MacroDB of 3"))
                .findFirst();
        if (one.isPresent() && three.isPresent()) {
            lines.add(String.format(Locale.ROOT, "memory of three replicas: %.2f times that of one",
                    (double) three.get().memoryBytes() / one.get().memoryBytes()));
        }
        return lines;
    }

    /** Throughput as bars. */
    static String svg(List<Measured> medians) {
        double most = medians.stream().mapToDouble(Measured::perMinute).max().orElse(1);
        List<String> mixes = medians.stream().map(Measured::mix).distinct().toList();
        StringBuilder svg = new StringBuilder();
        int y = ROW_HEIGHT;
        for (String mix : mixes) {
            svg.append(text(4, y + 12, mix + " reading/writing: transactions per minute", "title"));
            y += ROW_HEIGHT + 6;
            for (Measured measured : medians) {
                if (measured.mix().equals(mix)) {
                    int width = (int) Math.max(1, BAR_WIDTH * measured.perMinute() / most);
                    svg.append(text(16, y + 12, name(measured) + ", " + measured.clients() + " clients", ""));
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
