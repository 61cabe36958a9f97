package tutti.core.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Each protocol has a page, and the table of the first page says what the descriptors do. */
class ProtocolPagesTest {
    private static final Path PAGES = Path.of("..", "docs", "protocols");
    private static final String HEAD = """
            | protocol | idea | must know | gives |
            |---|---|---|---|
            """;
    private static final Pattern TABLE = Pattern.compile(Pattern.quote(HEAD) + "(\\|[^\n]*\n)*");

    /** Every value of every choice, one at a time. */
    private static List<Claims> claims(ProtocolDescriptor descriptor) {
        List<Claims> claims = new ArrayList<>(List.of(new ChosenProtocol(descriptor, Map.of()).claims()));
        for (Parameter parameter : descriptor.parameters()) {
            if (parameter instanceof Parameter.Choice choice) {
                choice.words().forEach(word -> claims
                        .add(new ChosenProtocol(descriptor, Map.of(choice.name(), word)).claims()));
            }
        }
        return claims;
    }

    private static String needs(List<Claims> claims) {
        Map<Trait, String> words = Map.of(Trait.NEEDS_CLASSES, "conflict classes", Trait.NEEDS_READS, "read sets",
                Trait.WHOLE_ONLY, "the whole request");
        String needs = claims.stream().flatMap(one -> one.traits().stream()).distinct().filter(words::containsKey)
                .sorted()
                .map(trait -> words.getOrDefault(trait, "")
                        + (claims.stream().allMatch(one -> one.has(trait)) ? "" : " if serializable"))
                .collect(Collectors.joining(", "));
        return needs.isEmpty() ? "nothing" : needs;
    }

    private static String gives(List<Claims> claims) {
        String gives = claims.stream().map(Claims::guarantee).collect(Collectors.toCollection(TreeSet::new)).stream()
                .map(Guarantee::toString).collect(Collectors.joining(", or "));
        Claims first = claims.getFirst();
        return (gives + (first.restsOnReadLocks()
                ? "; " + first.underReadLocks() + " over engines that lock what is read"
                : "")).replace("one-copy ", "");
    }

    private static String table() {
        StringBuilder text = new StringBuilder(HEAD);
        for (ProtocolDescriptor descriptor : Protocols.STANDARD.all()) {
            List<Claims> claims = claims(descriptor);
            text.append("| [`").append(descriptor.name()).append("`](").append(descriptor.name()).append(".md) | ")
                    .append(descriptor.idea()).append(" | ").append(needs(claims)).append(" | ").append(gives(claims))
                    .append(" |\n");
        }
        return text.toString();
    }

    @Test
    void theTableSaysWhatTheDescriptorsDo() throws IOException {
        Path page = PAGES.resolve("README.md");
        String text = Files.readString(page);
        Matcher there = TABLE.matcher(text);
        assertTrue(there.find(), page + " has no table of protocols");
        String right = there.replaceFirst(Matcher.quoteReplacement(table()));
        if (Boolean.getBoolean("tutti.write-manual")) {
            Files.writeString(page, right);
        }
        assertEquals(right, Files.readString(page),
                page + " is out of date: mvn -pl core verify -Dtutti.write-manual=true renews it");
    }

    @Test
    void everyProtocolHasAPage() throws IOException {
        for (String name : Protocols.STANDARD.names()) {
            assertTrue(Files.readString(PAGES.resolve(name + ".md")).startsWith("# `" + name + "`"), name);
        }
    }
}
