package tutti.pgfront;

import java.sql.SQLException;
import java.time.DateTimeException;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The parameters of a session, as SET, SHOW and RESET know them. Most have no effect here and are kept for clients that
 * set and ask for them. Like PostgreSQL's, what a transaction has set is gone when it is rolled back.
 */
final class SessionParameters {
    /** What clients are told when it changes. */
    private static final Map<String, String> TOLD = Map.of("timezone", "TimeZone", "datestyle", "DateStyle",
            "application_name", "application_name", "client_encoding", "client_encoding", "intervalstyle",
            "IntervalStyle", "standard_conforming_strings", "standard_conforming_strings",
            "default_transaction_read_only", "default_transaction_read_only");
    private static final Set<String> FIXED = Set.of("server_version", "server_version_num", "server_encoding",
            "integer_datetimes", "is_superuser", "session_authorization", "in_hot_standby",
            "max_identifier_length", "lc_collate", "lc_ctype");

    static final String ACKNOWLEDGE = "tutti.acknowledge";
    static final String LOGGED = "logged";
    static final String READ_LEVEL = "tutti.read_level";
    private static final Set<String> READ_LEVELS = Set.of("local", "causal", "linearizable");
    private static final Pattern OPTION = Pattern.compile("(?:^|\\s)(?:-c\\s*|--)([\\w.-]+)=((?:\\\\.|[^\\s\\\\])*)");
    private static final Pattern DURATION = Pattern.compile("\\s*(\\d{1,9})\\s*(ms|s|min|h|d|)\\s*");
    private static final Map<String, Long> UNIT_MILLIS = Map.of("", 1L, "ms", 1L, "s", 1_000L, "min", 60_000L, "h",
            3_600_000L, "d", 86_400_000L);

    private final Map<String, String> defaults = new TreeMap<>();
    private final Map<String, String> values = new TreeMap<>();
    private @Nullable Map<String, String> atBegin;
    private final Map<String, @Nullable String> locals = new HashMap<>();
    /** Something has been executed since these were set. */
    private boolean localsCount;
    private final boolean reports;
    private final boolean logs;
    /** Asked for with each statement, so kept beside the text; see {@link #derive}. */
    private ZoneId zone = ZoneOffset.UTC;
    private long statementTimeoutMillis;

    /**
     * Those of a new session.
     *
     * @param start what the client's start-up packet says
     * @param logs whether the cluster's protocol has request logs
     * @throws SQLException if a parameter cannot have the value that is asked for
     */
    SessionParameters(Dialect dialect, String user, Map<String, String> start, boolean logs) throws SQLException {
        this.logs = logs;
        defaults.putAll(Map.of("server_encoding", "UTF8", "client_encoding", "UTF8", "datestyle", "ISO, MDY",
                "intervalstyle", "postgres", "timezone", "UTC", "integer_datetimes", "on",
                "standard_conforming_strings", "on", "is_superuser", "on", "session_authorization", user,
                "application_name", ""));
        defaults.putAll(Map.of("server_version", PgCatalog.VERSION + " (Tutti, " + dialect.product() + ")",
                "server_version_num", PgCatalog.VERSION_NUMBER, "transaction_isolation", "repeatable read",
                "default_transaction_isolation", "repeatable read", "default_transaction_read_only", "off",
                "transaction_read_only", "off", "search_path", "public", "in_hot_standby", "off",
                "max_identifier_length", "63", "extra_float_digits", "1"));
        defaults.putAll(Map.of("bytea_output", "hex", "statement_timeout", "0", "lock_timeout", "0",
                "client_min_messages", "notice", "lc_collate", "C", "lc_ctype", "C", "row_security", "on",
                "check_function_bodies", "on", READ_LEVEL, "local"));
        defaults.put(ACKNOWLEDGE, "executed");
        values.putAll(defaults);
        reports = start.getOrDefault("options", "").contains("tutti.report=on");
        Map<String, String> all = new LinkedHashMap<>(options(start.getOrDefault("options", "")));
        all.putAll(start);
        for (Map.Entry<String, String> each : all.entrySet()) {
            String key = key(each.getKey());
            if (!FIXED.contains(key) && !key.equals("options")) {
                checkTimeout(key, each.getValue());
                checkAcknowledge(key, each.getValue());
                checkReadLevel(key, each.getValue());
                defaults.put(key, each.getValue());
                values.put(key, each.getValue());
            }
        }
        derive();
    }

    /** What a start-up packet sets as options of a command line: {@code -c name=value} and {@code --name=value}. */
    private static Map<String, String> options(String text) {
        Map<String, String> set = new LinkedHashMap<>();
        Matcher option = OPTION.matcher(text);
        while (option.find()) {
            set.put(option.group(1).replace('-', '_'), option.group(2).replaceAll("\\\\(.)", "$1"));
        }
        return set;
    }

    private static String key(String name) {
        return name.toLowerCase(Locale.ROOT);
    }

    private static ZoneId zoneOrUtc(@Nullable String name) {
        try {
            return name == null ? ZoneOffset.UTC : ZoneId.of(name);
        } catch (DateTimeException unknown) {
            return ZoneOffset.UTC;
        }
    }

    /** Whether the client wants to be told names of transactions and visible positions. */
    boolean reports() {
        return reports;
    }

    /** Where the session's clock is. */
    ZoneId zone() {
        return zone;
    }

    /** The schema in which names are looked up first, as the engine calls it. */
    String schema() {
        for (String name : get("search_path").split(",", -1)) {
            String schema = name.strip().replace("\"", "");
            if (!schema.equals("$user") && !schema.equals("pg_catalog") && !schema.isEmpty()
                    && !schema.equalsIgnoreCase(OutOfReach.OWN_SCHEMA)) {
                return Dialect.fold(schema);
            }
        }
        return "PUBLIC";
    }

    /** Whether transactions may only read unless they say otherwise. */
    boolean readOnlyByDefault() {
        return get("default_transaction_read_only").equals("on");
    }

    /** How long a statement may take, in milliseconds; 0 for as long as it needs. */
    long statementTimeoutMillis() {
        return statementTimeoutMillis;
    }

    private void derive() {
        zone = zoneOrUtc(values.get("timezone"));
        Matcher timeout = DURATION.matcher(get("statement_timeout"));
        statementTimeoutMillis = timeout.matches()
                ? Long.parseLong(timeout.group(1)) * UNIT_MILLIS.getOrDefault(timeout.group(2), 1L)
                : 0;
    }

    /** Whether the client wants to hear of its changes when they can be read at every node. */
    boolean applied() {
        return get(ACKNOWLEDGE).equalsIgnoreCase("applied");
    }

    /** Whether the client wants to hear of what it hands in when that is logged, and no more. */
    boolean logged() {
        return get(ACKNOWLEDGE).equalsIgnoreCase(LOGGED);
    }

    /** How new what transactions see is at least: {@code local}, {@code causal} or {@code linearizable}. */
    String readLevel() {
        return get(READ_LEVEL).toLowerCase(Locale.ROOT);
    }

    private String get(String key) {
        return values.getOrDefault(key, "");
    }

    /** What a new client is told. */
    Map<String, String> told() {
        Map<String, String> told = new TreeMap<>();
        for (String key : List.of("server_version", "server_encoding", "integer_datetimes", "is_superuser",
                "session_authorization", "in_hot_standby")) {
            told.put(key, get(key));
        }
        TOLD.forEach((key, name) -> told.put(name, get(key)));
        return told;
    }

    /** The name under which clients are told of a parameter, or null if they are not. */
    static @Nullable String toldAs(String name) {
        return TOLD.get(key(name));
    }

    /**
     * Its value.
     *
     * @throws SQLException with {@code 42704} if there is no such parameter
     */
    String show(String name) throws SQLException {
        String value = values.get(key(name));
        if (value == null) {
            throw new SQLException("unrecognized configuration parameter \"" + name + "\"", "42704");
        }
        return value;
    }

    /**
     * Sets it.
     *
     * @param value null for its default
     * @param local whether only until the transaction ends
     */
    void set(String name, @Nullable String value, boolean local) throws SQLException {
        String key = key(name);
        if (FIXED.contains(key)) {
            throw new SQLException("parameter \"" + name + "\" cannot be changed", "55P02");
        }
        String wanted = value == null ? defaults.getOrDefault(key, "") : value;
        if (key.equals("timezone")) {
            try {
                ZoneId _ = ZoneId.of(wanted.equalsIgnoreCase("local") || wanted.equalsIgnoreCase("default")
                        ? "UTC"
                        : wanted);
            } catch (DateTimeException unknown) {
                throw new SQLException("invalid value for parameter \"TimeZone\": \"" + wanted + "\"", "22023",
                        unknown);
            }
        }
        if (key.equals("client_encoding") && !wanted.matches("(?i)'?utf-?8'?|unicode|sql_ascii")) {
            throw new SQLException("client encoding " + wanted + " is not supported: use UTF8", "0A000");
        }
        checkAcknowledge(key, wanted);
        checkReadLevel(key, wanted);
        checkTimeout(key, wanted);
        if (local) {
            locals.putIfAbsent(key, values.get(key));
            localsCount = false;
        } else {
            locals.remove(key);
        }
        values.put(key, bool(key, wanted));
        derive();
    }

    private void checkAcknowledge(String key, String wanted) throws SQLException {
        if (!key.equals(ACKNOWLEDGE) || wanted.matches("(?i)executed|applied|")) {
            return;
        }
        if (!wanted.equalsIgnoreCase(LOGGED)) {
            throw new SQLException("invalid value for parameter \"" + ACKNOWLEDGE + "\": \"" + wanted
                    + "\": valid are executed, applied, logged", "22023");
        }
        if (!logs) {
            throw new SQLException("the cluster's protocol has no request logs, so " + ACKNOWLEDGE
                    + " cannot be logged: valid are executed, applied", "0A000");
        }
    }

    private static void checkReadLevel(String key, String wanted) throws SQLException {
        if (key.equals(READ_LEVEL) && !READ_LEVELS.contains(wanted.toLowerCase(Locale.ROOT))) {
            throw new SQLException("invalid value for parameter \"" + READ_LEVEL + "\": \"" + wanted
                    + "\": valid are local, causal, linearizable", "22023");
        }
    }

    private static void checkTimeout(String key, String wanted) throws SQLException {
        if (key.equals("statement_timeout") && !DURATION.matcher(wanted).matches()) {
            throw new SQLException("invalid value for parameter \"statement_timeout\": \"" + wanted
                    + "\": a number of milliseconds, or with a unit: ms, s, min, h, d", "22023");
        }
    }

    private static String bool(String key, String value) {
        return key.endsWith("read_only")
                ? switch (value.toLowerCase(Locale.ROOT)) {
                    case "on", "true", "yes", "1", "t" -> "on";
                    default -> "off";
                }
                : value;
    }

    /** All back to their defaults. */
    void resetAll() {
        values.clear();
        values.putAll(defaults);
        locals.clear();
        derive();
    }

    /** A statement is executed, for which they count. */
    void count() {
        localsCount = true;
    }

    /** Whether something has been set for a transaction which has no statement. */
    boolean setForNothing() {
        return !locals.isEmpty() && !localsCount;
    }

    /** A block begins. What its query has set for the transaction before belongs to it. */
    void begin() {
        Map<String, String> before = new TreeMap<>(values);
        takeBack(before);
        atBegin = before;
    }

    private void takeBack(Map<String, String> from) {
        locals.forEach((key, value) -> {
            if (value == null) {
                from.remove(key);
            } else {
                from.put(key, value);
            }
        });
    }

    /** A transaction has ended, in a block or not. */
    void end(boolean committed) {
        Map<String, String> before = atBegin;
        if (!committed && before != null) {
            values.clear();
            values.putAll(before);
        } else {
            takeBack(values);
        }
        locals.clear();
        atBegin = null;
        derive();
    }
}
