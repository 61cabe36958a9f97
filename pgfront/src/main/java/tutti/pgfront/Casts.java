package tutti.pgfront;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import tutti.wire.sql.SqlTokens;

/** PostgreSQL's {@code operand::type} in words that every engine knows. */
final class Casts {
    /** Words before a parenthesis that are not the name of a function. */
    private static final Set<String> NOT_FUNCTIONS = Set.of("and", "or", "not", "in", "values", "select", "where", "on",
            "when", "then", "else", "case", "from", "by", "as", "having", "limit", "offset", "union", "all", "any",
            "some", "exists", "using", "returning", "set", "like");

    /** A number of at most nine digits, and a unit. */
    private static final Pattern INTERVAL_PART = Pattern
            .compile("\\s*([+-]?\\d{1,9})\\s+(second|minute|hour|day|week|month|year)s?\\s*", Pattern.CASE_INSENSITIVE);
    private static final int DAYS_OF_WEEK = 7;

    private Casts() {}

    /** Where the types of {@code CAST(operand AS type)} begin. */
    static Set<Integer> types(List<Token> tokens) {
        Set<Integer> types = new HashSet<>();
        for (int i = 0; i + 1 < tokens.size(); i++) {
            int depth = tokens.get(i).is("cast") && tokens.get(i + 1).is('(') ? 1 : 0;
            for (int at = i + 2; depth > 0 && at < tokens.size(); at++) {
                depth += tokens.get(at).is('(') ? 1 : tokens.get(at).is(')') ? -1 : 0;
                if (depth == 1 && tokens.get(at).is("as")) {
                    types.add(at + 1);
                }
            }
        }
        return types;
    }

    /** Puts a cast around the operand that the words end with. */
    static void cast(List<Token> written, String type) {
        int start = operand(written);
        Token first = written.get(start);
        written.set(start, new Token(first.kind(), first.text(), false));
        written.add(start, new Token('(', "(", false));
        written.add(start, new Token(SqlTokens.WORD, "CAST", first.gap()));
        written.add(new Token(SqlTokens.WORD, "AS", true));
        written.add(new Token(SqlTokens.WORD, type, true));
        written.add(new Token(')', ")", false));
    }

    /** Where the operand begins that the words end with. */
    static int operand(List<Token> written) {
        int at = written.size() - 1;
        if (at < 0) {
            return 0;
        }
        if (written.get(at).is(')') || written.get(at).is(']')) {
            int depth = 0;
            do {
                Token token = written.get(at);
                depth += token.is(')') || token.is(']') ? 1 : token.is('(') || token.is('[') ? -1 : 0;
                at--;
            } while (at >= 0 && depth > 0);
            at++;
            if (at == 0 || !written.get(at - 1).name() || NOT_FUNCTIONS.contains(written.get(at - 1).lower())) {
                return at;
            }
            at--;
        }
        while (at >= 2 && written.get(at - 1).is('.') && written.get(at - 2).name()) {
            at -= 2;
        }
        return at;
    }

    /**
     * An interval as the engines write it, {@code INTERVAL '1' DAY}, if the string behind the word is one of one unit or more
     * of those that can be added.
     *
     * @return whether it was one, and has been written
     */
    static boolean interval(List<Token> written, Token string) {
        if (written.isEmpty() || !written.getLast().is("interval")) {
            return false;
        }
        List<String> parts = new ArrayList<>();
        Matcher part = INTERVAL_PART.matcher(string.value());
        while (part.lookingAt()) {
            String unit = part.group(2).toUpperCase(Locale.ROOT);
            boolean week = unit.equals("WEEK");
            long number = Long.parseLong(part.group(1)) * (week ? DAYS_OF_WEEK : 1);
            parts.add("INTERVAL '" + number + "' " + (week ? "DAY" : unit) + "("
                    + String.valueOf(Math.abs(number)).length()
                    + ")");
            part.region(part.end(), string.value().length());
        }
        if (parts.isEmpty() || part.regionStart() < string.value().length()) {
            return false;
        }
        Token word = written.removeLast();
        written.add(new Token(SqlTokens.WORD, "(" + String.join(" + ", parts) + ")", word.gap()));
        return true;
    }

    /** {@code = ANY (array)} and {@code <> ALL (array)} as HSQLDB knows them, which has these for subqueries only. */
    static List<Token> unnested(List<Token> tokens) {
        List<Token> out = new ArrayList<>(tokens.size());
        int closing = -1;
        for (int i = 0; i < tokens.size(); i++) {
            Token token = tokens.get(i);
            boolean array = closing < 0 && i + 2 < tokens.size() && tokens.get(i + 1).is('(')
                    && !tokens.get(i + 2).is("select") && !tokens.get(i + 2).is("values")
                    && !tokens.get(i + 2).is("with") && !tokens.get(i + 2).is("table");
            if (array && (token.is("any") || token.is("some")) && ends(out, "=")) {
                closing = open(out, "IN (UNNEST", tokens, i + 1);
            } else if (array && token.is("all") && (ends(out, "<>") || ends(out, "!="))) {
                closing = open(out, "NOT IN (UNNEST", tokens, i + 1);
            } else {
                out.add(token);
                if (i == closing) {
                    out.add(new Token(')', ")", false));
                    closing = -1;
                }
            }
        }
        return out;
    }

    private static boolean ends(List<Token> tokens, String operator) {
        String before = "";
        for (int i = tokens.size() - 1; i >= 0 && "=<>!".contains(tokens.get(i).text()); i--) {
            before = tokens.get(i).text() + before;
        }
        return before.equals(operator);
    }

    /** Replaces the operator that the words end with; answers where the parenthesis ends that follows. */
    private static int open(List<Token> out, String words, List<Token> tokens, int parenthesis) {
        while ("=<>!".contains(out.getLast().text())) {
            out.removeLast();
        }
        out.add(new Token(SqlTokens.WORD, words, true));
        int depth = 0;
        int at = parenthesis;
        do {
            depth += tokens.get(at).is('(') ? 1 : tokens.get(at).is(')') ? -1 : 0;
            at++;
        } while (at < tokens.size() && depth > 0);
        return at - 1;
    }

    /** A string in the one notation that every engine knows. */
    static Token plainString(Token token) {
        return switch (token.text().charAt(0)) {
            case 'e', 'E', '$' -> token.with("'" + token.value().replace("'", "''") + "'");
            default -> token;
        };
    }
}
