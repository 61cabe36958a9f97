package tutti.wire.sql;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/**
 * A piece of SQL as a list of tokens with their texts: what is looked at when it matters which tables and rows a statement
 * touches. Immutable.
 */
final class SqlText {
    /**
     * One token.
     *
     * @param kind as of {@link SqlTokens}: a kind, or a punctuation character
     * @param text of a word in lower case, of a quoted identifier without its quotes, of a plain string its value, of
     *            anything else as written
     * @param plain of a string, whether {@code text} is its value for certain; of an identifier, whether it is its name
     */
    record Token(int kind, String text, boolean plain) {
        boolean isWord(String word) {
            return kind == SqlTokens.WORD && text.equals(word);
        }

        boolean isWordOf(Set<String> words) {
            return kind == SqlTokens.WORD && words.contains(text);
        }

        boolean is(char punctuation) {
            return kind == punctuation;
        }

        boolean isName() {
            return kind == SqlTokens.WORD || kind == SqlTokens.QUOTED;
        }
    }

    private final List<Token> tokens;

    private SqlText(List<Token> tokens) {
        this.tokens = List.copyOf(tokens);
    }

    List<Token> tokens() {
        return tokens;
    }

    /** The tokens of its statements, without the semicolons between them; empty ones are left out. */
    List<List<Token>> statements() {
        List<List<Token>> statements = new ArrayList<>();
        int start = 0;
        for (int i = 0; i <= tokens.size(); i++) {
            if (i == tokens.size() || tokens.get(i).is(';')) {
                if (i > start) {
                    statements.add(tokens.subList(start, i));
                }
                start = i + 1;
            }
        }
        return statements;
    }

    /** How often a name stands for something else than the qualifier of a column. */
    static long mentions(List<Token> tokens, String name) {
        long count = 0;
        for (int i = 0; i < tokens.size(); i++) {
            if (tokens.get(i).isName() && tokens.get(i).text().equals(name)
                    && (i + 1 == tokens.size() || !tokens.get(i + 1).is('.'))) {
                count++;
            }
        }
        return count;
    }

    static SqlText of(String sql) {
        byte[] bytes = sql.getBytes(StandardCharsets.UTF_8);
        return of(bytes, 0, bytes.length, true);
    }

    static SqlText of(byte[] sql, int from, int to, boolean standardStrings) {
        SqlTokens reader = new SqlTokens();
        reader.reset(sql, from, to, standardStrings);
        List<Token> tokens = new ArrayList<>();
        for (int kind = reader.next(); kind != SqlTokens.END; kind = reader.next()) {
            String raw = new String(sql, reader.start(), reader.position() - reader.start(), StandardCharsets.UTF_8);
            tokens.add(token(kind, raw, standardStrings));
        }
        return new SqlText(tokens);
    }

    private static Token token(int kind, String raw, boolean standardStrings) {
        return switch (kind) {
            case SqlTokens.WORD -> new Token(kind, raw.toLowerCase(Locale.ROOT), true);
            case SqlTokens.QUOTED -> raw.startsWith("\"")
                    ? new Token(kind, raw.substring(1, Math.max(1, raw.length() - 1)).replace("\"\"", "\""), true)
                    : new Token(kind, raw, false);
            case SqlTokens.STRING -> string(raw, standardStrings);
            default -> new Token(kind, raw, true);
        };
    }

    private static Token string(String raw, boolean standardStrings) {
        if (raw.startsWith("$")) {
            int tag = raw.indexOf('$', 1) + 1;
            return raw.length() >= 2 * tag
                    ? new Token(SqlTokens.STRING, raw.substring(tag, raw.length() - tag), true)
                    : new Token(SqlTokens.STRING, raw, false);
        }
        boolean plain = raw.length() >= 2 && raw.startsWith("'") && raw.endsWith("'")
                && (standardStrings || raw.indexOf('\\') < 0) && raw.indexOf('\n') < 0;
        return new Token(SqlTokens.STRING,
                plain ? raw.substring(1, raw.length() - 1).replace("''", "'") : raw, plain);
    }
}
