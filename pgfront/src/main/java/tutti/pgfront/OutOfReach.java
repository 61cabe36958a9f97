package tutti.pgfront;

import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.wire.sql.SqlTokens;

/**
 * Tells statements of clients that would reach what is not theirs: files and sessions of the node, Java code in its process, and the schema in which
 * the node notes what it has applied. Both engines would do it, since they take all clients for their administrator. A text is
 * made anew from its words, so that what is looked at is what the engine gets.
 */
final class OutOfReach {
    /** In which the node notes what it has applied. */
    static final String OWN_SCHEMA = "tutti";
    /** Functions that use files, other databases or sessions, at the node where they run. */
    private static final Set<String> OF_THE_NODE = Set.of("file_read", "file_write", "csvread", "csvwrite",
            "link_schema", "abort_session", "cancel_session");
    private static final Set<String> CHANGES = Set.of("insert", "update", "delete", "merge", "replace");
    /** What CREATE makes of Java code, or of what lies outside of the database. */
    private static final Set<String> JAVA = Set.of("alias", "aggregate", "linked", "text");
    /** What ALTER would change of the server's. */
    private static final Set<String> OF_THE_SERVER = Set.of("session", "catalog");
    private static final String SAFE = "; a node would do it with its own rights, and by itself";

    private OutOfReach() {}

    /**
     * Why it is refused, or null.
     *
     * @param first its first word, in lower case
     */
    static @Nullable String refusal(String first, List<Token> tokens) {
        // A query may read the schema: the catalog has relations of ours, such as the driver asks for. H2 has queries of what a change has changed.
        boolean reads = first.equals("select") && tokens.stream()
                .noneMatch(token -> CHANGES.contains(token.value().toLowerCase(Locale.ROOT)));
        for (int i = 0; i < tokens.size(); i++) {
            Token token = tokens.get(i);
            if (!token.name()) {
                continue;
            }
            if (token.kind() == SqlTokens.QUOTED && !token.text().startsWith("\"")) {
                return "names with escapes (U&\"...\") are not supported: write their characters";
            }
            String name = token.value().toLowerCase(Locale.ROOT);
            Token next = i + 1 < tokens.size() ? tokens.get(i + 1) : token;
            if (OF_THE_NODE.contains(name) && next.is('(')) {
                return name.toUpperCase(Locale.ROOT) + " uses files or sessions of the node" + SAFE;
            }
            if (!reads && name.equals(OWN_SCHEMA) && (next.is('.') || isSchema(tokens, i))) {
                return "the schema " + OWN_SCHEMA + " is the node's own";
            }
        }
        return switch (first) {
            case "create" -> creates(tokens);
            case "drop" -> second(tokens, "all")
                    ? "DROP ALL OBJECTS would drop what is the node's own: drop schemas, or tables"
                    : null;
            case "alter" -> OF_THE_SERVER.stream().anyMatch(what -> second(tokens, what))
                    ? "ALTER " + tokens.get(1).text().toUpperCase(Locale.ROOT) + " is of one server" + SAFE
                    : null;
            default -> null;
        };
    }

    private static boolean second(List<Token> tokens, String word) {
        return tokens.size() > 1 && tokens.get(1).is(word);
    }

    private static boolean isSchema(List<Token> tokens, int at) {
        int before = at - 1;
        while (before > 0 && (tokens.get(before).is("if") || tokens.get(before).is("not")
                || tokens.get(before).is("exists"))) {
            before--;
        }
        return before >= 0 && tokens.get(before).is("schema");
    }

    private static @Nullable String creates(List<Token> tokens) {
        boolean trigger = false;
        int depth = 0;
        for (int i = 1; i < tokens.size(); i++) {
            Token token = tokens.get(i);
            Token before = tokens.get(i - 1);
            Token next = i + 1 < tokens.size() ? tokens.get(i + 1) : token;
            depth += token.is('(') ? 1 : token.is(')') ? -1 : 0;
            trigger |= depth == 0 && i < 5 && token.is("trigger");
            boolean java = (i < 5 && JAVA.contains(token.lower()) && isKind(tokens, i))
                    || (depth == 0 && token.is("java") && before.is("language"))
                    || (depth == 0 && token.is("name") && before.is("external"))
                    || (depth == 0 && token.is("engine") && next.kind() == SqlTokens.QUOTED)
                    || (trigger && (token.is("call") || token.is("as"))
                            && (next.string() || next.kind() == SqlTokens.QUOTED)
                            && !(i + 2 < tokens.size() && (tokens.get(i + 2).is('(') || tokens.get(i + 2).is('.'))));
            if (java) {
                return "what is written in Java, or lies outside of the database, is not made by clients: an application makes it over its own"
                        + " embedded node, and procedures in Java are put on the node's class path";
            }
        }
        return null;
    }

    /** Whether only what stands between CREATE and what is made stands before it. */
    private static boolean isKind(List<Token> tokens, int at) {
        for (int i = 1; i < at; i++) {
            if (!Set.of("or", "replace", "force", "if", "not", "exists", "global", "local", "temporary", "temp")
                    .contains(tokens.get(i).lower())) {
                return false;
            }
        }
        return true;
    }
}
