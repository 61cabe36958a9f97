package tutti.cli;

import static java.util.Map.entry;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/**
 * Draws the rooms for docs/structure.md from the arrows of {@link Rooms}, which {@link RoomsTest} holds, and sees that the pictures there are
 * those. With {@code -Dtutti.write-manual=true} it writes them. A room stands above all that it may use; an arrow that others
 * together imply is left out.
 */
class RoomsDrawingTest {
    /** As it was before the rooms were divided: revision 0a39fa7. */
    private static final Map<String, Set<String>> BEFORE = new TreeMap<>(Map.ofEntries(
            entry("core", Set.of()),
            entry("sim", Set.of("core", "workload", "check")),
            entry("pgwire", Set.of()),
            entry("order", Set.of("core")),
            entry("engine", Set.of("core", "pgwire")),
            entry("node", Set.of("core", "order", "engine")),
            entry("wire", Set.of("core", "pgwire", "engine", "node")),
            entry("jdbc", Set.of()),
            entry("embedded", Set.of("core", "order", "engine", "node", "jdbc")),
            entry("workload", Set.of("core")),
            entry("check", Set.of("core", "workload")),
            entry("macro", Set.of("core")),
            entry("bench", Set.of("core", "order", "engine", "sim", "macro")),
            entry("cli", Set.of("core", "sim", "pgwire", "order", "engine", "node", "wire", "jdbc", "embedded",
                    "workload", "check", "macro", "bench"))));
    private static final int WIDTH = 92;
    private static final int HEIGHT = 30;
    private static final int ACROSS = 112;
    private static final int DOWN = 74;
    private static final int MARGIN = 12;

    private static final class Drawing {
        private final Map<String, Set<String>> uses;
        private final Map<String, Integer> levels = new TreeMap<>();
        private final List<List<String>> rows = new ArrayList<>();
        private int most;

        Drawing(Map<String, Set<String>> uses) {
            this.uses = uses;
            uses.keySet().forEach(this::level);
            for (int level = 0; level <= levels.values().stream().mapToInt(Integer::intValue).max()
                    .orElse(0); level++) {
                int here = level;
                List<String> row = new ArrayList<>(
                        levels.keySet().stream().filter(room -> levels.get(room) == here).toList());
                row.sort(Comparator.comparingDouble(this::middleOfUsed).thenComparing(Comparator.naturalOrder()));
                rows.add(row);
                most = Math.max(most, row.size());
            }
        }

        private int level(String room) {
            Integer known = levels.get(room);
            if (known != null) {
                return known;
            }
            int level = 1 + uses.get(room).stream().mapToInt(this::level).max().orElse(-1);
            levels.put(room, level);
            return level;
        }

        private double middleOfUsed(String room) {
            return arrows(room).stream().mapToDouble(this::x).average().orElse(0);
        }

        /** Those that no other arrow implies. */
        private List<String> arrows(String room) {
            Set<String> implied = new HashSet<>();
            uses.get(room).forEach(used -> implied.addAll(below(used)));
            return uses.get(room).stream().filter(used -> !implied.contains(used)).sorted().toList();
        }

        private Set<String> below(String room) {
            Set<String> all = new HashSet<>(uses.get(room));
            uses.get(room).forEach(used -> all.addAll(below(used)));
            return all;
        }

        /** The middle of a room. */
        private double x(String room) {
            List<String> row = rows.get(levels.get(room));
            double shift = (Math.max(most, row.size()) - row.size()) / 2.0;
            return MARGIN + (row.indexOf(room) + shift) * ACROSS + WIDTH / 2.0;
        }

        /** The upper edge of a room. */
        private double y(String room) {
            return MARGIN + (rows.size() - 1 - levels.get(room)) * DOWN;
        }

        String svg(String title) {
            StringBuilder svg = new StringBuilder(String.format(Locale.ROOT,
                    """
                            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="%s">
                            <style>rect{fill:#f5f6f8;stroke:#9aa4b0}text{font:13px system-ui,sans-serif;fill:#1b1f24;text-anchor:middle}
                            path{fill:none;stroke:#3566c8;stroke-opacity:.55}.paper{fill:#fff;stroke:none}</style>
                            <rect class="paper" width="100%%" height="100%%"/>
                            """,
                    2 * MARGIN + most * ACROSS, 2 * MARGIN + (rows.size() - 1) * DOWN + HEIGHT, title));
            for (String room : uses.keySet()) {
                for (String used : arrows(room)) {
                    double fromY = y(room) + HEIGHT;
                    double half = (y(used) - fromY) / 2;
                    svg.append(String.format(Locale.ROOT, "<path d=\"M%.0f %.0fC%.0f %.0f %.0f %.0f %.0f %.0f\"/>%n",
                            x(room), fromY, x(room), fromY + half, x(used), y(used) - half, x(used), y(used)));
                }
            }
            for (String room : uses.keySet()) {
                svg.append(String.format(Locale.ROOT,
                        "<rect x=\"%.0f\" y=\"%.0f\" width=\"%d\" height=\"%d\" rx=\"5\"/>"
                                + "<text x=\"%.0f\" y=\"%.0f\">%s</text>%n",
                        x(room) - WIDTH / 2.0, y(room), WIDTH, HEIGHT, x(room), y(room) + 20, room));
            }
            return svg.append("</svg>\n").toString();
        }
    }

    private static void drawn(String file, Map<String, Set<String>> uses, String title) throws IOException {
        Path path = Path.of("..", "docs", "figures", file);
        String svg = new Drawing(uses).svg(title);
        if (Boolean.getBoolean("tutti.write-manual")) {
            Files.writeString(path, svg);
        }
        assertEquals(svg, Files.readString(path), () -> "docs/figures/" + file
                + " is out of date: mvn -pl cli -am verify -Dtutti.write-manual=true draws it anew");
    }

    @Test
    void thePicturesShowTheRooms() throws IOException {
        drawn("rooms-before.svg", BEFORE,
                "Rooms before they were divided; each uses those below it to which a line leads");
        drawn("rooms.svg", Rooms.MAY_USE, "Rooms; each uses those below it to which a line leads");
    }
}
