package tutti.wire;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.engine.postgres.capture.Statement.DatabaseChange;
import tutti.engine.postgres.catalog.Table;

/**
 * CREATE DATABASE or DROP DATABASE, as every node executes it.
 *
 * @param change what is to become of the database; of no meaning if it is refused
 * @param forced whether clients that are connected to a dropped database are sent away
 * @param refusal why it is not executed; null if it is
 */
record DatabaseStatement(DatabaseChange change, boolean forced, @Nullable String refusal) {
    private static final int NAME_BYTES_MAX = 63;
    private static final Set<String> PASSED_ON = Set.of("owner", "locale", "lc_collate", "lc_ctype", "locale_provider",
            "icu_locale", "icu_rules", "builtin_locale", "collation_version", "strategy");
    private static final Set<String> TEMPLATES = Set.of("template0", "template1", "default");
    private static final Set<String> ENCODINGS = Set.of("utf8", "utf-8", "unicode", "default", "6");
    private static final Set<String> TABLESPACES = Set.of("pg_default", "default");
    private static final Set<String> YES = Set.of("true", "on", "1", "yes");
    private static final Set<String> NO = Set.of("false", "off", "0", "no");

    /**
     * Reads one that the {@link Classifier} has found.
     *
     * @param standardStrings the session's {@code standard_conforming_strings}
     */
    static DatabaseStatement of(String sql, boolean standardStrings) {
        return new Reading(sql, standardStrings).statement();
    }

    /** What PostgreSQL calls it. */
    String command() {
        return change.creates() ? "CREATE DATABASE" : "DROP DATABASE";
    }

    private static DatabaseStatement refused(boolean creates, String why) {
        return new DatabaseStatement(new DatabaseChange(creates, "", false, ""), false, why);
    }

    /** Reads one. */
    private static final class Reading {
        private final byte[] bytes;
        private final SqlCursor sql = new SqlCursor();

        Reading(String text, boolean standardStrings) {
            bytes = text.getBytes(StandardCharsets.UTF_8);
            sql.reset(bytes, 0, bytes.length, standardStrings);
        }

        private String next() {
            String token = new String(bytes, sql.start(), sql.position() - sql.start(), StandardCharsets.UTF_8);
            sql.advance();
            return token;
        }

        private String word() {
            return next().toLowerCase(Locale.ROOT);
        }

        private boolean at(String word) {
            return sql.atWord() && new String(bytes, sql.start(), sql.position() - sql.start(), StandardCharsets.UTF_8)
                    .equalsIgnoreCase(word);
        }

        private boolean skip(String word) {
            boolean here = at(word);
            if (here) {
                sql.advance();
            }
            return here;
        }

        /** An identifier as SQL writes it, but for those with escapes; null if there is none. */
        private @Nullable String name() {
            if (!sql.atWord() && !(sql.atQuoted() && bytes[sql.start()] == '"')) {
                return null;
            }
            String written = next();
            return cut(written.startsWith("\"")
                    ? written.substring(1, written.length() - 1).replace("\"\"", "\"")
                    : lower(written));
        }

        /** As PostgreSQL cuts names that are too long for it. */
        private static String cut(String name) {
            int end = name.length();
            while (name.substring(0, end).getBytes(StandardCharsets.UTF_8).length > NAME_BYTES_MAX) {
                end = name.offsetByCodePoints(end, -1);
            }
            return name.substring(0, end);
        }

        private static String lower(String written) {
            StringBuilder lower = new StringBuilder();
            written.chars().map(c -> c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c).forEach(c -> lower.append((char) c));
            return lower.toString();
        }

        DatabaseStatement statement() {
            boolean creates = word().equals("create");
            sql.advance();
            return creates ? create() : drop();
        }

        private DatabaseStatement create() {
            String name = name();
            if (name == null) {
                return refused(true, "CREATE DATABASE needs the name of a database, without U&");
            }
            skip("with");
            List<String> options = new ArrayList<>();
            while (sql.inStatement()) {
                String option = word();
                if (option.equals("connection")) {
                    option += " " + word();
                }
                if (sql.at('=')) {
                    sql.advance();
                }
                boolean negative = sql.at('-');
                if (negative) {
                    sql.advance();
                }
                String value = (negative ? "-" : "") + next();
                String refusal = option(option, value, options);
                if (refusal != null) {
                    return refused(true, refusal);
                }
            }
            return new DatabaseStatement(new DatabaseChange(true, name, false, "CREATE DATABASE " + Table.quote(name)
                    + " TEMPLATE template0 ENCODING 'UTF8'" + String.join("", options)), false, null);
        }

        /** Takes an option; answers why it cannot be. */
        private static @Nullable String option(String option, String value, List<String> options) {
            String plain = lower(value.replace("'", "").replace("\"", ""));
            // nodes execute it in sessions of their own, where another standard_conforming_strings could end the string elsewhere
            if (value.contains("\\")) {
                return "values of CREATE DATABASE have no backslashes: leave out " + option.toUpperCase(Locale.ROOT) + " "
                        + value;
            }
            if (PASSED_ON.contains(option)) {
                if (!plain.equals("default")) {
                    options.add(" " + option + " = " + value);
                }
                return null;
            }
            boolean usual = switch (option) {
                case "template" -> TEMPLATES.contains(plain);
                case "encoding" -> ENCODINGS.contains(plain);
                case "tablespace" -> TABLESPACES.contains(plain);
                case "connection limit" -> plain.equals("-1");
                case "allow_connections" -> YES.contains(plain);
                case "is_template" -> NO.contains(plain);
                default -> false;
            };
            return usual
                    ? null
                    : "a database of a cluster is made from template0, with encoding UTF8, in the default tablespace, for any number of"
                            + " connections, and is no template: leave out " + option.toUpperCase(Locale.ROOT) + " "
                            + value;
        }

        private DatabaseStatement drop() {
            boolean lenient = skip("if") && skip("exists");
            String name = name();
            if (name == null) {
                return refused(false, "DROP DATABASE needs the name of a database, without U&");
            }
            boolean forced = false;
            while (sql.inStatement()) {
                forced |= at("force");
                sql.advance();
            }
            return new DatabaseStatement(new DatabaseChange(false, name, lenient, ""), forced, null);
        }
    }
}
