package tutti.pgfront;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import tutti.wire.sql.SqlTokens;

/**
 * A word of SQL, without the comments before it.
 *
 * @param kind as {@link SqlTokens}; {@link #PARAMETER} for {@code $n}
 * @param text as it stands there
 * @param gap whether white space or a comment stands before it
 */
record Token(int kind, String text, boolean gap) {
    /** A parameter. */
    static final int PARAMETER = -1;

    /** The statements of a text: what stands between its semicolons. Those with nothing in them are empty lists. */
    static List<List<Token>> statements(String sql) {
        byte[] bytes = sql.getBytes(StandardCharsets.UTF_8);
        SqlTokens tokens = new SqlTokens();
        tokens.reset(bytes, 0, bytes.length, true);
        List<List<Token>> statements = new ArrayList<>();
        List<Token> current = new ArrayList<>();
        int before = 0;
        boolean body = false;
        for (int kind = tokens.next(); kind != SqlTokens.END; kind = tokens.next()) {
            String text = new String(bytes, tokens.start(), tokens.position() - tokens.start(), StandardCharsets.UTF_8);
            if (kind == ';' && !body) {
                statements.add(current);
                current = new ArrayList<>();
            } else {
                boolean parameter = kind == SqlTokens.NUMBER && text.charAt(0) == '$';
                Token token = new Token(parameter ? PARAMETER : kind,
                        kind == SqlTokens.STRING ? inOnePiece(text) : text, tokens.start() > before);
                current.add(token);
                // A procedure's body has semicolons of its own; such a statement reaches to the end of the text.
                body |= token.is("atomic") && current.getFirst().is("create")
                        && current.get(current.size() - 2).is("begin");
            }
            before = tokens.position();
        }
        if (!current.isEmpty() || statements.isEmpty()) {
            statements.add(current);
        }
        return statements;
    }

    /** A string whose pieces may stand on lines of their own, with comments between them, as the one that it is. */
    private static String inOnePiece(String text) {
        int quote = text.indexOf('\'');
        if (text.startsWith("$") || quote < 0) {
            return text;
        }
        boolean backslashes = text.charAt(0) == 'e' || text.charAt(0) == 'E';
        StringBuilder piece = new StringBuilder(text.length()).append(text, 0, quote + 1);
        int at = quote + 1;
        while (at < text.length()) {
            char letter = text.charAt(at++);
            boolean two = at < text.length()
                    && ((backslashes && letter == '\\') || (letter == '\'' && text.charAt(at) == '\''));
            if (two) {
                piece.append(letter).append(text.charAt(at++));
            } else if (letter == '\'' && at < text.length()) {
                at = nextPiece(text, at);
            } else {
                piece.append(letter);
            }
        }
        return piece.toString();
    }

    /** Behind the quote with which the next one begins. */
    private static int nextPiece(String text, int from) {
        int at = from;
        while (at < text.length() && text.charAt(at) != '\'') {
            if (text.charAt(at) == '-') {
                while (at < text.length() && text.charAt(at) != '\n' && text.charAt(at) != '\r') {
                    at++;
                }
            } else {
                at++;
            }
        }
        return at + 1;
    }

    /** Whether it is this unquoted word; given in lower case. */
    boolean is(String word) {
        return kind == SqlTokens.WORD && text.equalsIgnoreCase(word);
    }

    boolean is(char punctuation) {
        return kind == punctuation;
    }

    boolean name() {
        return kind == SqlTokens.WORD || kind == SqlTokens.QUOTED;
    }

    boolean string() {
        return kind == SqlTokens.STRING;
    }

    /** An unquoted word in lower case; otherwise the text. */
    String lower() {
        return kind == SqlTokens.WORD ? text.toLowerCase(Locale.ROOT) : text;
    }

    Token with(String other) {
        return new Token(kind, other, gap);
    }

    /** A string in its place. */
    Token string(String value) {
        return new Token(SqlTokens.STRING, '\'' + value.replace("'", "''") + '\'', gap);
    }

    /** The value of a string, whatever its notation; of a quoted name, the name; otherwise the text. */
    String value() {
        if (kind == SqlTokens.QUOTED && text.startsWith("\"")) {
            return text.substring(1, text.length() - 1).replace("\"\"", "\"");
        }
        if (kind != SqlTokens.STRING) {
            return text;
        }
        if (text.startsWith("$")) {
            int tag = text.indexOf('$', 1) + 1;
            return text.length() >= 2 * tag ? text.substring(tag, text.length() - tag) : "";
        }
        int quote = text.indexOf('\'');
        String inner = text.substring(quote + 1, Math.max(quote + 1, text.length() - 1));
        return text.charAt(0) == 'e' || text.charAt(0) == 'E' ? unescaped(inner) : inner.replace("''", "'");
    }

    private static String unescaped(String text) {
        StringBuilder plain = new StringBuilder(text.length());
        for (int i = 0; i < text.length(); i++) {
            char at = text.charAt(i);
            if (at == '\'') {
                i++;
                plain.append(at);
            } else if (at != '\\' || i + 1 == text.length()) {
                plain.append(at);
            } else {
                char next = text.charAt(++i);
                plain.append(switch (next) {
                    case 'n' -> '\n';
                    case 't' -> '\t';
                    case 'r' -> '\r';
                    case 'b' -> '\b';
                    case 'f' -> '\f';
                    default -> next;
                });
            }
        }
        return plain.toString();
    }

    /** One statement again. */
    static String text(List<Token> tokens) {
        StringBuilder text = new StringBuilder();
        for (Token token : tokens) {
            if (token.gap && !text.isEmpty()) {
                text.append(' ');
            }
            text.append(token.text);
        }
        return text.toString();
    }
}
