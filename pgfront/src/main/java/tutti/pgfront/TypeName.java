package tutti.pgfront;

import java.util.List;
import java.util.Set;

/**
 * The name of a type in a cast.
 *
 * @param name in lower case if unquoted, without schema
 * @param suffix its length and the like, and that it is an array
 * @param end index of the token behind it
 */
record TypeName(String name, String suffix, int end) {
    private static final Set<String> SECOND_WORDS = Set.of("precision", "varying");

    /** Reads it. */
    static TypeName at(List<Token> tokens, int start) {
        int at = start;
        if (at + 2 < tokens.size() && tokens.get(at).is("pg_catalog") && tokens.get(at + 1).is('.')) {
            at += 2;
        }
        if (at >= tokens.size()) {
            return new TypeName("", "", at);
        }
        StringBuilder name = new StringBuilder(tokens.get(at).kind() == tutti.wire.sql.SqlTokens.QUOTED
                ? tokens.get(at).value()
                : tokens.get(at).lower());
        at++;
        if (at < tokens.size() && SECOND_WORDS.contains(tokens.get(at).lower())) {
            name.append(' ').append(tokens.get(at++).lower());
        }
        StringBuilder suffix = new StringBuilder();
        if (at < tokens.size() && tokens.get(at).is('(')) {
            while (at < tokens.size() && !tokens.get(at).is(')')) {
                suffix.append(tokens.get(at++).text());
            }
            suffix.append(')');
            at++;
        }
        if (at + 2 < tokens.size() && (tokens.get(at).is("with") || tokens.get(at).is("without"))
                && tokens.get(at + 1).is("time") && tokens.get(at + 2).is("zone")) {
            suffix.append(' ').append(tokens.get(at).lower()).append(" time zone");
            at += 3;
        }
        while (at + 1 < tokens.size() && tokens.get(at).is('[') && tokens.get(at + 1).is(']')) {
            suffix.append(" ARRAY");
            at += 2;
        }
        return new TypeName(name.toString(), suffix.toString(), at);
    }
}
