package tutti.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Whoever follows the pages that lead through the source finds what they name. */
class TourTest {
    private static final Path ROOT = Path.of("..");
    /** A class, and perhaps one of its members. */
    private static final Pattern NAMED = Pattern.compile("`([A-Z][A-Za-z0-9]*[a-z][A-Za-z0-9]*)(?:\\.(\\w+))?`");

    private static Map<String, Path> sources() throws IOException {
        try (Stream<Path> files = Files.walk(ROOT, 12)) {
            return files.filter(file -> file.toString().contains("/src/") && file.toString().endsWith(".java"))
                    .collect(Collectors.toMap(file -> file.getFileName().toString().replace(".java", ""), file -> file,
                            (one, _) -> one));
        }
    }

    private static List<String> missing(String page) throws IOException {
        Map<String, Path> sources = sources();
        List<String> missing = new ArrayList<>();
        for (MatchResult named : NAMED.matcher(page).results().toList()) {
            Path source = sources.get(named.group(1));
            String member = named.group(2);
            if (source == null || (member != null && !Pattern.compile("\\b" + member + "\\b")
                    .matcher(Files.readString(source)).find())) {
                missing.add(named.group());
            }
        }
        return missing;
    }

    @ParameterizedTest
    @ValueSource(strings = {"docs/tour.md", "docs/structure.md", "CONTRIBUTING.md"})
    void whatItNamesIsThere(String page) throws IOException {
        String text = Files.readString(ROOT.resolve(page));
        assertEquals(List.of(), missing(text));
    }

    @Test
    void whatIsGoneIsNoticed() throws IOException {
        assertTrue(NAMED.matcher(Files.readString(ROOT.resolve("docs/tour.md"))).results().count() > 30);
        assertEquals(List.of("`ReplicaKernel`", "`RaftOrder.levitate`"),
                missing("`ReplicaKernel`, `RaftOrder`, `RaftOrder.open`, `RaftOrder.levitate`"));
    }
}
