package tutti.wire;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.engine.postgres.capture.Statement.DatabaseChange;
import tutti.engine.postgres.capture.Statement.DatabaseChange.Kind;
import tutti.engine.postgres.catalog.Table;

/**
 * CREATE DATABASE, ALTER DATABASE or DROP DATABASE, as every node executes it.
 *
 * @param change what is to become of the database; of no meaning if it is refused
 * @param forced whether clients that are connected to a dropped database are sent away
 * @param ofSystem whether it needs a locale of the operating system, which another may lack
 * @param refusal why it is not executed; null if it is
 */
record DatabaseStatement(DatabaseChange change, boolean forced, boolean ofSystem, @Nullable String refusal) {
    private static final int NAME_BYTES_MAX = 63;
    private static final Set<String> PASSED_ON = Set.of("owner", "locale", "lc_collate", "lc_ctype", "locale_provider",
            "icu_locale", "icu_rules", "builtin_locale", "collation_version", "strategy");
    private static final Set<String> LOCALES = Set.of("locale", "lc_collate", "lc_ctype");
    /** Those that every system has. */
    private static final Set<String> EVERYWHERE = Set.of("c", "posix", "default");
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
        return switch (change.kind()) {
            case CREATE -> "CREATE DATABASE";
            case ALTER, RENAME -> "ALTER DATABASE";
            case DROP -> "DROP DATABASE";
        };
    }

    private static DatabaseStatement refused(Kind kind, String why) {
        return new DatabaseStatement(new DatabaseChange(kind, "", false, ""), false, false, why);
    }

    private static DatabaseStatement needsName(Kind kind) {
        return refused(kind, kind + " DATABASE needs the name of a database");
    }

    /** Reads one. */
    private static final class Reading {
        private final byte[] bytes;
        /** Whether something in it means something else in a session with other settings. */
        private final boolean escapes;
        private final SqlCursor sql = new SqlCursor();

        Reading(String text, boolean standardStrings) {
            bytes = text.getBytes(StandardCharsets.UTF_8);
            escapes = !standardStrings && text.indexOf('\\') >= 0;
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
            String first = word();
            sql.advance();
            return switch (first) {
                case "create" -> create();
                case "alter" -> alter();
                default -> drop();
            };
        }

        /** What of ALTER DATABASE can be done has been judged ({@link SchemaStatement}). */
        private DatabaseStatement alter() {
            String name = name();
            if (name == null) {
                return needsName(Kind.ALTER);
            }
            if (skip("rename")) {
                boolean to = skip("to");
                String renamed = name();
                return renamed == null || !to || sql.inStatement()
                        ? refused(Kind.RENAME, "ALTER DATABASE ... RENAME TO needs the new name of the database")
                        : new DatabaseStatement(new DatabaseChange(Kind.RENAME, name, false, renamed), false, false,
                                null);
            }
            if (escapes) {
                return refused(Kind.ALTER, "a backslash in ALTER DATABASE needs standard_conforming_strings = on");
            }
            while (sql.inStatement()) {
                sql.advance();
            }
            // what ends a comment at the end
            String whole = new String(bytes, 0, sql.start(), StandardCharsets.UTF_8) + "\n";
            return new DatabaseStatement(new DatabaseChange(Kind.ALTER, name, false, whole), false, false, null);
        }

        private DatabaseStatement create() {
            String name = name();
            if (name == null) {
                return needsName(Kind.CREATE);
            }
            skip("with");
            List<String> options = new ArrayList<>();
            boolean ofSystem = false;
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
                    return refused(Kind.CREATE, refusal);
                }
                ofSystem |= LOCALES.contains(option) && !EVERYWHERE.contains(plain(value));
            }
            return new DatabaseStatement(
                    new DatabaseChange(Kind.CREATE, name, false, "CREATE DATABASE " + Table.quote(name)
                            + " TEMPLATE template0 ENCODING 'UTF8'" + String.join("", options)),
                    false, ofSystem,
                    null);
        }

        private static String plain(String value) {
            return lower(value.replace("'", "").replace("\"", ""));
        }

        /** Takes an option; answers why it cannot be. */
        private static @Nullable String option(String option, String value, List<String> options) {
            String plain = plain(value);
            // nodes execute it in sessions of their own, where another standard_conforming_strings could end the string elsewhere
            if (value.contains("\\")) {
                return "values of CREATE DATABASE have no backslashes: leave out " + option.toUpperCase(Locale.ROOT)
                        + " "
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
            if (!usual && option.equals("template")) {
                return "a database of a cluster is made from template0: leave TEMPLATE out, and fill it by pg_dump of "
                        + value
                        + " and psql";
            }
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
                return needsName(Kind.DROP);
            }
            boolean forced = false;
            while (sql.inStatement()) {
                forced |= at("force");
                sql.advance();
            }
            return new DatabaseStatement(new DatabaseChange(Kind.DROP, name, lenient, ""), forced, false, null);
        }
    }
}
