package tutti.engine.jdbc;

import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Words of H2's and HSQLDB's SQL whose value differs from run to run, or from session to session. */
final class VaryingWords {
    /** What is no word: strings, quoted names, comments. */
    private static final Pattern OTHER = Pattern
            .compile("'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\\*.*?\\*/", Pattern.DOTALL);
    private static final Pattern WORD = Pattern.compile("([A-Za-z_][A-Za-z_0-9]*)(\\s*\\(|\\s+value\\s+for\\b)?",
            Pattern.CASE_INSENSITIVE);
    /** By themselves. */
    private static final Set<String> PLAIN = Set.of("current_timestamp", "current_time", "current_date", "localtime",
            "localtimestamp", "sysdate", "systimestamp", "current_user", "session_user", "system_user",
            "current_schema", "current_catalog", "current_role", "nextval", "currval", "information_schema");
    /** With a parenthesis behind them. */
    private static final Set<String> CALLED = Set.of("rand", "random", "secure_rand", "random_uuid", "uuid", "newid",
            "gen_random_uuid", "sys_guid", "now", "today", "sysdate", "curdate", "curtime", "unix_millis",
            "unix_timestamp", "nextval", "currval", "lastval", "identity", "scope_identity", "session_id",
            "transaction_id", "session_isolation_level", "user", "current_session", "memory_free", "memory_used",
            "statement_timestamp", "transaction_timestamp", "clock_timestamp", "timeofday");

    private VaryingWords() {}

    /** The first of them in a statement; null if there is none. */
    static @Nullable String in(String sql) {
        Matcher word = WORD.matcher(OTHER.matcher(sql).replaceAll(" ? "));
        while (word.find()) {
            String name = word.group(1).toLowerCase(Locale.ROOT);
            boolean more = word.group(2) != null;
            if (PLAIN.contains(name)
                    || (more && (name.equals("next") || name.equals("current") || CALLED.contains(name)))) {
                return name;
            }
        }
        return null;
    }
}
