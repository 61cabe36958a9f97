package tutti.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Every relative link of the pages leads to a file that is there, and to a heading in it; the index names every page. */
class PagesTest {
    private static final Path TOP = Path.of("..").normalize();
    private static final Path INDEX = TOP.resolve("docs/README.md");
    private static final Pattern LINK = Pattern.compile("]\\(([^)\\s]+)\\)");
    private static final Pattern ELSEWHERE = Pattern.compile("[a-z]+:.*");
    private static final Pattern HEADING = Pattern.compile("#{1,6} +(.*)");

    private static List<Path> pages() throws IOException {
        List<Path> pages = new ArrayList<>();
        try (Stream<Path> top = Files.list(TOP); Stream<Path> docs = Files.walk(TOP.resolve("docs"))) {
            Stream.concat(top, docs).filter(page -> page.toString().endsWith(".md")).sorted().forEach(pages::add);
        }
        return pages;
    }

    /** The names by which links call a page's headings. */
    private static Set<String> headings(Path page) throws IOException {
        Set<String> names = new HashSet<>();
        boolean program = false;
        for (String line : Files.readAllLines(page)) {
            program ^= line.startsWith("```");
            Matcher heading = HEADING.matcher(line);
            if (!program && heading.matches()) {
                String name = heading.group(1).strip().replaceAll("\\[([^]]*)]\\([^)]*\\)", "$1")
                        .toLowerCase(Locale.ROOT).replaceAll("[^\\p{L}\\p{N}_ -]", "").replace(' ', '-');
                for (int again = 1; !names.add(again == 1 ? name : name + "-" + (again - 1)); again++) {
                    assertTrue(again < 100, name);
                }
            }
        }
        return names;
    }

    private static List<String> links(Path page) throws IOException {
        return LINK.matcher(Files.readString(page)).results().map(link -> link.group(1))
                .filter(link -> !ELSEWHERE.matcher(link).matches()).toList();
    }

    private static Path target(Path page, String link) {
        String file = link.substring(0, link.indexOf('#') < 0 ? link.length() : link.indexOf('#'));
        return file.isEmpty() ? page : page.resolveSibling(file).normalize();
    }

    @Test
    void linksLeadSomewhere() throws IOException {
        List<String> broken = new ArrayList<>();
        for (Path page : pages()) {
            for (String link : links(page)) {
                Path target = target(page, link);
                int heading = link.indexOf('#');
                if (!Files.exists(target) || (heading >= 0 && target.toString().endsWith(".md")
                        && !headings(target).contains(link.substring(heading + 1)))) {
                    broken.add(page + ": " + link);
                }
            }
        }
        assertEquals(List.of(), broken);
    }

    @Test
    void theIndexNamesEveryPage() throws IOException {
        Set<Path> named = new HashSet<>();
        for (String link : links(INDEX)) {
            named.add(target(INDEX, link));
        }
        try (Stream<Path> docs = Files.list(INDEX.getParent())) {
            assertEquals(List.of(), docs.filter(page -> page.toString().endsWith(".md") && !page.equals(INDEX)
                    && !named.contains(page.normalize())).sorted().toList());
        }
    }
}
