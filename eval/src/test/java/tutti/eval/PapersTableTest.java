package tutti.eval;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/**
 * The table of what is reproduced of three papers: docs/figures/papers.csv has the verdicts, the values' files that
 * {@code ./tutti sim figures} writes have the values, and docs/papers.md is made from both. With {@code -Dtutti.write-manual=true} it is written.
 */
class PapersTableTest {
    private static final Path DOCS = Path.of("..", "docs");
    private static final Map<String, String> VALUES = Map.of("AKARA", "akara-values.csv", "GORDA D5.1",
            "gorda-values.csv", "MacroDDB", "macroddb-values.csv");
    private static final List<String> VERDICTS = List.of("reproduced", "differs because ",
            "cannot be reproduced because ", "not yet: ");

    /** A row of papers.csv. */
    private record Verdict(String of, String figure, String what, String paper, String here, String verdict) {
        boolean isAbout(List<String> value) {
            return figure.equals(value.getFirst()) && (what.equals("*") || what.equals(value.get(1)));
        }
    }

    private static List<List<String>> rows(String file) throws IOException {
        return Files.readAllLines(DOCS.resolve("figures").resolve(file)).stream().skip(1).map(PapersTableTest::cells)
                .toList();
    }

    private static List<String> cells(String line) {
        List<String> cells = new ArrayList<>();
        StringBuilder cell = new StringBuilder();
        boolean quoted = false;
        for (int i = 0; i < line.length(); i++) {
            char letter = line.charAt(i);
            if (letter == '"') {
                quoted = !quoted;
            } else if (letter == ',' && !quoted) {
                cells.add(cell.toString());
                cell.setLength(0);
            } else {
                cell.append(letter);
            }
        }
        cells.add(cell.toString());
        return cells;
    }

    private static List<Verdict> verdicts() throws IOException {
        return rows("papers.csv").stream().map(row -> new Verdict(row.getFirst(), row.get(1), row.get(2), row.get(3),
                row.get(4), row.get(5))).toList();
    }

    @Test
    void everyFigureHasAVerdictOfTheFourKinds() throws IOException {
        for (Verdict one : verdicts()) {
            assertTrue(VERDICTS.stream().anyMatch(one.verdict::startsWith), one::toString);
        }
    }

    @Test
    void everyValueThatIsComputedHasOneVerdictAndNoVerdictLacksItsValue() throws IOException {
        for (Map.Entry<String, String> file : VALUES.entrySet()) {
            Set<Verdict> used = new HashSet<>();
            for (List<String> value : rows(file.getValue())) {
                List<Verdict> about = verdicts().stream()
                        .filter(one -> one.of.equals(file.getKey()) && one.isAbout(value)).toList();
                assertEquals(1, about.size(), () -> file.getValue() + " has " + value
                        + ", and docs/figures/papers.csv has not one verdict about it: " + about);
                used.addAll(about);
            }
            for (Verdict one : verdicts()) {
                assertTrue(!one.of.equals(file.getKey()) || !one.here.equals("=") || used.contains(one),
                        () -> "no value in " + file.getValue() + " for " + one);
            }
        }
    }

    @Test
    void thePageIsMadeFromVerdictsAndValues() throws IOException {
        StringBuilder page = new StringBuilder(
                """
                        # What is reproduced of three papers

                        Every figure and table of AKARA, GORDA D5.1 and the MacroDDB thesis that shows a result: the paper's value, ours, and one of four verdicts. `±` is a 95 percent interval (ten seeds); a
                        value without it is of one seed. How each was made: [evaluation.md](evaluation.md), [benchmarks.md](benchmarks.md). This page is made from [papers.csv](figures/papers.csv) and the files of values beside it, and a test compares them.
                        """);
        String of = "";
        for (Verdict one : verdicts()) {
            if (!one.of.equals(of)) {
                of = one.of;
                page.append("\n## ").append(of)
                        .append("\n\n| figure | what | paper | here | verdict |\n|---|---|---|---|---|\n");
            }
            if (!one.here.equals("=")) {
                row(page, one.figure, one.what, one.paper, one.here, one.verdict);
                continue;
            }
            for (List<String> value : rows(VALUES.getOrDefault(of, "none"))) {
                if (one.isAbout(value)) {
                    row(page, value.getFirst(), value.get(1), value.get(2), value.get(3), one.verdict);
                }
            }
        }
        Path file = DOCS.resolve("papers.md");
        if (Boolean.getBoolean("tutti.write-manual")) {
            Files.writeString(file, page);
        }
        assertEquals(page.toString(), Files.readString(file),
                "docs/papers.md is out of date: mvn -pl eval -am verify -Dtutti.write-manual=true renews it");
    }

    private static void row(StringBuilder page, String... cells) {
        page.append("| ").append(String.join(" | ", cells)).append(" |\n");
    }
}
