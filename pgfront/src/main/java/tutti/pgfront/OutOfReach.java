package tutti.pgfront;

import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tutti.wire.sql.SqlTokens;

/**
 * Tells statements of clients that would reach what is not theirs: files and sessions of the node, Java code in its process, and the schema in which
 * the node notes what it has applied. Both engines would do it, since they take all clients for their administrator. What is looked at is what the engine gets: the
 * words of its text, after all translation, which is made anew from them.
 *
 * <p>
 * <b>Read alike.</b> What the engines could read otherwise than as these words is refused, since behind it anything may be hidden: signs that PostgreSQL does not
 * have outside of strings, of which H2 has quoted names, and JDBC escapes; {@code //}, behind which both have a comment; white space beyond ASCII; strings with escapes, or in several pieces. Names
 * are compared as the engines make them, in capitals.
 */
final class OutOfReach {
    /** In which the node notes what it has applied. */
    static final String OWN_SCHEMA = "tutti";
    /** Functions that use files, other databases or sessions, at the node where they run. */
    private static final Set<String> OF_THE_NODE = Set.of("file_read", "file_write", "csvread", "csvwrite",
            "link_schema", "abort_session", "cancel_session", "load_file", "database_path");
    private static final String INFORMATION_SCHEMA = "information_schema";
    /** What engines tell in that schema of the node's process, its files, and of what other clients do. */
    private static final Set<String> TOLD_OF_THE_NODE = Set.of("settings", "sessions", "session_state", "locks",
            "in_doubt", "query_statistics");
    /** Likewise; HSQLDB finds them without their schema, too. */
    private static final Set<String> SYSTEM_TABLES = Set.of("system_sessions", "system_sessioninfo", "system_cacheinfo",
            "system_properties",
            "system_connection_properties", "system_connectionproperties", "system_texttables", "system_parameters");
    private static final Set<String> CHANGES = Set.of("insert", "update", "delete", "merge", "replace");
    /** What CREATE makes of Java code, or of what lies outside of the database. */
    private static final Set<String> JAVA = Set.of("alias", "aggregate", "linked", "text");
    /** What ALTER would change of the server's. */
    private static final Set<String> OF_THE_SERVER = Set.of("session", "catalog");
    /** With what statements begin in the body of a routine or trigger, behind a semicolon. */
    private static final Set<String> IN_BODIES = Set.of("insert", "update", "delete", "merge", "select", "set",
            "declare",
            "call", "return", "if", "elseif", "else", "end", "while", "loop", "repeat", "until", "for", "case", "when",
            "signal", "resignal", "leave", "iterate", "open", "fetch", "close", "begin");
    private static final String SIGNS = "()[],;:.+-*/<>=~!@#%^&|?";
    /** A number, or what stands of it before the sign of its exponent. */
    private static final Pattern NUMBER = Pattern
            .compile("[0-9][0-9_]*(\\.[0-9_]*)?([eE][0-9_]*)?|0[xXoObB][0-9a-fA-F_]+");
    private static final Pattern STRING = Pattern.compile("([nNxXbB]|[uU]&)?'([^']|'')*'");
    private static final String SAFE = "; a node would do it with its own rights, and by itself";

    private OutOfReach() {}

    /**
     * Why it is refused, or null.
     *
     * @param tokens of the text that the engine is to get
     * @param catalog whether it is for the catalog that the node plays, which clients only read
     */
    static @Nullable String refusal(List<Token> tokens, boolean catalog) {
        String first = first(tokens);
        // A query may read the schema: the catalog has relations of ours, such as the driver asks for. H2 has queries of what a change has changed.
        boolean reads = first.equals("select") && tokens.stream().noneMatch(token -> CHANGES.contains(folded(token)));
        for (int i = 0; i < tokens.size(); i++) {
            Token token = tokens.get(i);
            Token before = i > 0 ? tokens.get(i - 1) : token;
            Token next = i + 1 < tokens.size() ? tokens.get(i + 1) : token;
            String refusal = readOtherwise(token, next);
            if (refusal == null && token.is(';')) {
                refusal = inBody(tokens, i + 1);
            } else if (refusal == null && token.name()) {
                refusal = named(tokens, i, next, reads);
            }
            if (refusal == null && catalog && before.is('(') && !next.is('(') && CHANGES.contains(folded(token))) {
                refusal = "the catalog is only read";
            }
            if (refusal != null) {
                return refusal;
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

    private static String first(List<Token> tokens) {
        int at = 0;
        while (at < tokens.size() - 1 && tokens.get(at).is('(')) {
            at++;
        }
        return folded(tokens.get(at));
    }

    /** As the engines have a name that is not quoted: letters that become one of ASCII's in capitals are that. */
    private static String folded(Token token) {
        return token.value().toUpperCase(Locale.ROOT).toLowerCase(Locale.ROOT);
    }

    private static boolean is(Token token, String word) {
        return token.kind() == SqlTokens.WORD && folded(token).equals(word);
    }

    // ------------------------------------------------------------------------------------------ read alike

    private static @Nullable String readOtherwise(Token token, Token next) {
        if (token.kind() == SqlTokens.QUOTED && !token.text().startsWith("\"")) {
            return "names with escapes (U&\"...\") are not supported: write their characters";
        }
        boolean alike = switch (token.kind()) {
            case SqlTokens.WORD -> token.text().codePoints().allMatch(OutOfReach::isOfWords);
            case SqlTokens.STRING -> STRING.matcher(token.text()).matches();
            case SqlTokens.NUMBER -> NUMBER.matcher(token.text()).matches();
            case SqlTokens.QUOTED -> token.text().length() > 1 && token.text().endsWith("\"");
            case Token.PARAMETER -> true;
            case '/' -> !(next.is('/') && !next.gap());
            default -> SIGNS.indexOf(token.kind()) >= 0;
        };
        return alike ? null : PgStatement.SYNTAX_ERROR + " at or near \"" + token.text() + "\"";
    }

    private static boolean isOfWords(int letter) {
        return letter == '_' || letter == '$' || Character.isLetterOrDigit(letter)
                || Character.getType(letter) == Character.NON_SPACING_MARK
                || Character.getType(letter) == Character.COMBINING_SPACING_MARK;
    }

    // ------------------------------------------------------------------------------------------ what is named

    private static @Nullable String named(List<Token> tokens, int at, Token next, boolean reads) {
        Token token = tokens.get(at);
        String name = folded(token);
        if (OF_THE_NODE.contains(name) && next.is('(')) {
            return name.toUpperCase(Locale.ROOT) + " uses files or sessions of the node" + SAFE;
        }
        if (token.kind() == SqlTokens.QUOTED && name.indexOf('.') > 0 && next.is('(')) {
            return token.text() + " is not called: it may be a method in Java, which would run in the node" + SAFE;
        }
        if (SYSTEM_TABLES.contains(name) || (TOLD_OF_THE_NODE.contains(name) && at > 1 && tokens.get(at - 1).is('.')
                && tokens.get(at - 2).name() && folded(tokens.get(at - 2)).equals(INFORMATION_SCHEMA))) {
            return name.toUpperCase(Locale.ROOT) + " tells of the node's process, its files and other clients";
        }
        if (name.equals(INFORMATION_SCHEMA) && first(tokens).equals("set")) {
            return "what is in INFORMATION_SCHEMA is read by names with their schema";
        }
        return !reads && name.equals(OWN_SCHEMA) && (next.is('.') || isSchema(tokens, at))
                ? "the schema " + OWN_SCHEMA + " is the node's own"
                : null;
    }

    private static boolean second(List<Token> tokens, String word) {
        return tokens.size() > 1 && is(tokens.get(1), word);
    }

    private static boolean isSchema(List<Token> tokens, int at) {
        int before = at - 1;
        while (before > 0 && (is(tokens.get(before), "if") || is(tokens.get(before), "not")
                || is(tokens.get(before), "exists"))) {
            before--;
        }
        return before >= 0 && is(tokens.get(before), "schema");
    }

    /** Behind the end of the body both engines would execute another statement, whatever it is. */
    private static @Nullable String inBody(List<Token> tokens, int at) {
        if (at == tokens.size()) {
            return null;
        }
        String word = folded(tokens.get(at));
        Token next = at + 1 < tokens.size() ? tokens.get(at + 1) : tokens.get(at);
        Token behind = at + 2 < tokens.size() ? tokens.get(at + 2) : next;
        boolean labels = tokens.get(at).name() && next.is(':');
        boolean sets = !word.equals("set") || next.is('(')
                || (next.name() && (behind.is('=') || behind.is('.') || behind.is('[')));
        return labels || (tokens.get(at).kind() == SqlTokens.WORD && IN_BODIES.contains(word) && sets)
                ? null
                : PgStatement.SYNTAX_ERROR + " at or near \"" + tokens.get(at).text() + "\"";
    }

    private static @Nullable String creates(List<Token> tokens) {
        boolean trigger = false;
        int depth = 0;
        for (int i = 1; i < tokens.size(); i++) {
            Token token = tokens.get(i);
            Token before = tokens.get(i - 1);
            Token next = i + 1 < tokens.size() ? tokens.get(i + 1) : token;
            depth += token.is('(') ? 1 : token.is(')') ? -1 : 0;
            trigger |= depth == 0 && i < 5 && is(token, "trigger");
            boolean java = (i < 5 && JAVA.contains(folded(token)) && isKind(tokens, i))
                    || (depth == 0 && is(token, "java") && is(before, "language"))
                    || (depth == 0 && is(token, "name") && is(before, "external"))
                    || (depth == 0 && is(token, "engine") && next.kind() == SqlTokens.QUOTED)
                    || (trigger && (is(token, "call") || is(token, "as"))
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
        return tokens.subList(1, at).stream().allMatch(token -> Set
                .of("or", "replace", "force", "if", "not", "exists", "global", "local", "temporary", "temp")
                .contains(folded(token)));
    }
}
