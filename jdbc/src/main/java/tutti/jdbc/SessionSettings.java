package tutti.jdbc;

import java.lang.reflect.Method;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tutti.jdbc.spi.Calls;

/**
 * What an application has set for its session, so that it can be set again at another node: by methods of
 * {@link Connection}, and by SET and RESET, in the order in which it was said last. What is said in a transaction counts once that has
 * committed, as in PostgreSQL. For one thread at a time.
 */
final class SessionSettings {
    private static final Pattern SET = Pattern
            .compile("(SET|RESET)\\s+(?:SESSION\\s+(?!AUTHORIZATION|CHARACTERISTICS))?"
                    + "(?!LOCAL\\b|TRANSACTION\\b|CONSTRAINTS\\b)(SESSION\\s+CHARACTERISTICS\\b.*|[\\w.]+|\"[^\"]+\").*",
                    flags());
    private static final Pattern FORGET = Pattern.compile("(RESET|DISCARD)\\s+ALL\\b.*", flags());
    private static final Pattern LISTEN = Pattern.compile("(LISTEN|UNLISTEN)\\s+(\\*|\\w+|\"[^\"]+\").*", flags());
    private static final Pattern ROLLBACK = Pattern
            .compile("(?:ROLLBACK|ABORT)\\b(?!.*\\b(?:TO|PREPARED)\\b).*", flags());
    private static final Pattern COMMIT = Pattern.compile("(?:COMMIT|END)\\b(?!\\s+PREPARED\\b).*", flags());
    private static final Pattern PINNING = Pattern.compile(
            "(?:CREATE|REPLACE|INTO)\\s+(?:LOCAL\\s+|GLOBAL\\s+)?TEMP(?:ORARY)?\\b"
                    + "|\\bpg_(?:try_)?advisory_lock(?:_shared)?\\b|\\APREPARE\\b|\\bDECLARE\\b.*\\bWITH\\s+HOLD\\b|\\ALOAD\\b",
            flags());
    /** What pgjdbc keeps itself, so that neither a rollback nor RESET ALL changes it. */
    private static final Set<String> KEPT_BY_PGJDBC = Set.of("setHoldability", "setNetworkTimeout", "setTypeMap");
    /** What RESET ALL leaves as it is. */
    private static final Set<String> ROLES = Set.of("role", "session");

    /** Sets something. */
    private interface Setting {
        void to(Connection connection) throws SQLException;
    }

    private final Map<String, Setting> kept = new LinkedHashMap<>();
    private final Map<String, Setting> settings = new LinkedHashMap<>();
    private final Set<String> channels = new LinkedHashSet<>();
    /** What is to be done with the others when the transaction commits. */
    private final Map<String, Runnable> ofTransaction = new LinkedHashMap<>();
    private @Nullable String pinnedBy;
    private long version;

    private static int flags() {
        return Pattern.CASE_INSENSITIVE | Pattern.DOTALL;
    }

    /** A method of the connection has been called that sets something for good. */
    void called(Method method, @Nullable Object @Nullable [] arguments, boolean inTransaction) {
        String name = method.getName();
        Setting setting = connection -> Calls.call(method, connection, arguments);
        if (KEPT_BY_PGJDBC.contains(name)) {
            kept.put(name, setting);
            version++;
            return;
        }
        set(name.equals("setClientInfo") && arguments != null && arguments.length == 2
                ? name + " " + arguments[0]
                : name, setting);
        if (!inTransaction) {
            committed();
        }
    }

    /** A text of one or several statements has been executed. */
    void executed(String sql, boolean inTransaction) {
        // only what sets something may be said again, not what stood beside it
        SqlText.statements(sql).forEach(this::executed);
        if (!inTransaction) {
            committed();
        }
    }

    private void executed(String sql) {
        Matcher forget = FORGET.matcher(sql);
        Matcher set = SET.matcher(sql);
        Matcher listen = LISTEN.matcher(sql);
        if (ROLLBACK.matcher(sql).matches()) {
            rolledBack();
        } else if (COMMIT.matcher(sql).matches()) {
            committed();
        } else if (forget.matches()) {
            boolean discard = forget.group(1).equalsIgnoreCase("DISCARD");
            atCommit("all", () -> {
                settings.keySet().removeIf(name -> discard || !ROLES.contains(name));
                settings.put("all", statement(sql));
                if (discard) {
                    channels.clear();
                }
            });
        } else if (set.matches()) {
            set(set.group(2).toLowerCase(Locale.ROOT), statement(sql));
        } else if (listen.matches()) {
            String name = listen.group(2);
            String channel = name.startsWith("\"") ? name : name.toLowerCase(Locale.ROOT);
            atCommit(sql, () -> {
                if (listen.group(1).equalsIgnoreCase("LISTEN")) {
                    channels.add(channel);
                } else if (channel.equals("*")) {
                    channels.clear();
                } else {
                    channels.remove(channel);
                }
            });
        }
        if (pinnedBy == null && PINNING.matcher(sql).find()) {
            pinnedBy = sql.length() > 80 ? sql.substring(0, 80) + "..." : sql;
        }
    }

    private static Setting statement(String sql) {
        return connection -> {
            try (Statement statement = connection.createStatement()) {
                statement.execute(sql);
            }
        };
    }

    private void set(String name, Setting setting) {
        atCommit(name, () -> {
            settings.remove(name);
            settings.put(name, setting);
        });
    }

    /** What is said of the same counts once, where it was said last. */
    private void atCommit(String what, Runnable change) {
        ofTransaction.remove(what);
        ofTransaction.put(what, change);
    }

    /** The transaction has committed. */
    void committed() {
        if (!ofTransaction.isEmpty()) {
            ofTransaction.values().forEach(Runnable::run);
            ofTransaction.clear();
            version++;
        }
    }

    /** The transaction was rolled back. */
    void rolledBack() {
        ofTransaction.clear();
    }

    /** The statement that has left something in the session which no other node has; null if there is none. */
    @Nullable
    String pinnedBy() {
        return pinnedBy == null && !channels.isEmpty() ? "LISTEN " + channels.iterator().next() : pinnedBy;
    }

    /** Whether statements of a cycle may be requests by themselves: what became of the first one says nothing of the others. */
    boolean separateRequests() {
        return settings.containsKey("tutti.requests");
    }

    /** Grows with each change of what {@link #apply} sets; 0 if that is nothing. */
    long version() {
        return version;
    }

    /** Sets everything again, on a connection without a transaction. */
    void apply(Connection to) throws SQLException {
        for (Setting setting : kept.values()) {
            setting.to(to);
        }
        for (Setting setting : settings.values()) {
            setting.to(to);
        }
    }
}
