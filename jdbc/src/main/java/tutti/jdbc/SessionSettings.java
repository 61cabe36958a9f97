package tutti.jdbc;

import java.lang.reflect.Method;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tutti.jdbc.spi.Calls;

/**
 * What an application has set for its session, so that it can be set again at another node: by methods of
 * {@link Connection}, and by SET and RESET. Those of a transaction count once it has committed, as in PostgreSQL. For one
 * thread at a time.
 */
final class SessionSettings {
    private static final Pattern SET = Pattern
            .compile("\\s*(SET|RESET)\\s+(?:SESSION\\s+(?!AUTHORIZATION|CHARACTERISTICS))?"
                    + "(?!LOCAL\\b|TRANSACTION\\b|CONSTRAINTS\\b)([\\w.]+|\"[^\"]+\").*", flags());
    private static final Pattern FORGET = Pattern.compile("\\s*(?:RESET\\s+ALL|DISCARD\\s+ALL)\\b.*", flags());
    private static final Pattern ROLLBACK = Pattern
            .compile("\\s*(?:ROLLBACK|ABORT)\\b(?!.*\\b(?:TO|PREPARED)\\b).*", flags());
    private static final Pattern COMMIT = Pattern.compile("\\s*(?:COMMIT|END)\\b(?!\\s+PREPARED\\b).*", flags());
    private static final Pattern PINNING = Pattern.compile(
            "(?:CREATE|INTO)\\s+(?:LOCAL\\s+|GLOBAL\\s+)?TEMP(?:ORARY)?\\b"
                    + "|\\bpg_(?:try_)?advisory_lock(?:_shared)?\\b|\\A\\s*PREPARE\\b|\\bDECLARE\\b.*\\bWITH\\s+HOLD\\b|\\A\\s*LOAD\\b",
            flags());

    /** A method of {@link Connection} and what it was given. */
    private static final class Call {
        private final Method method;
        private final @Nullable Object @Nullable [] arguments;

        Call(Method method, @Nullable Object @Nullable [] arguments) {
            this.method = method;
            this.arguments = arguments;
        }
    }

    private final Map<String, Call> calls = new LinkedHashMap<>();
    private final Map<String, String> statements = new LinkedHashMap<>();
    private final Map<String, String> ofTransaction = new LinkedHashMap<>();
    private boolean forgetAtCommit;
    private @Nullable String pinnedBy;

    private static int flags() {
        return Pattern.CASE_INSENSITIVE | Pattern.DOTALL;
    }

    /** A method of the connection has been called that sets something for good. */
    void called(Method method, @Nullable Object @Nullable [] arguments) {
        String key = method.getName().equals("setClientInfo") && arguments != null && arguments.length == 2
                ? "setClientInfo " + arguments[0]
                : method.getName();
        calls.remove(key);
        calls.put(key, new Call(method, arguments));
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
        if (ROLLBACK.matcher(sql).matches()) {
            rolledBack();
        } else if (COMMIT.matcher(sql).matches()) {
            committed();
        } else if (FORGET.matcher(sql).matches()) {
            ofTransaction.clear();
            forgetAtCommit = true;
        } else {
            Matcher set = SET.matcher(sql);
            if (set.matches()) {
                String name = set.group(2).toLowerCase(Locale.ROOT);
                ofTransaction.remove(name);
                ofTransaction.put(name, sql);
            }
        }
        if (pinnedBy == null && PINNING.matcher(sql).find()) {
            pinnedBy = sql.length() > 80 ? sql.substring(0, 80) + "..." : sql;
        }
    }

    /** The transaction has committed. */
    void committed() {
        if (forgetAtCommit) {
            statements.clear();
            forgetAtCommit = false;
        }
        ofTransaction.forEach((name, sql) -> {
            statements.remove(name);
            statements.put(name, sql);
        });
        ofTransaction.clear();
    }

    /** The transaction was rolled back. */
    void rolledBack() {
        ofTransaction.clear();
        forgetAtCommit = false;
    }

    /** The statement that has left something in the session which no other node has; null if there is none. */
    @Nullable
    String pinnedBy() {
        return pinnedBy;
    }

    /** Sets everything again, on a connection without a transaction. */
    void apply(Connection to) throws SQLException {
        for (Call call : calls.values()) {
            Calls.call(call.method, to, call.arguments);
        }
        if (!statements.isEmpty()) {
            try (Statement statement = to.createStatement()) {
                for (String sql : statements.values()) {
                    statement.execute(sql);
                }
            }
        }
    }
}
