package tutti.wire;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tutti.pgwire.ErrorFields;
import tutti.wire.sql.Variables;

/**
 * When a session's clients want to hear of their whole requests: its variable {@code tutti.acknowledge}. PostgreSQL keeps the variable,
 * for SHOW; here is what follows from it. On the session's event loop.
 */
final class Acknowledgements {
    /** How the variable is called. */
    static final String VARIABLE = "tutti.acknowledge";
    private static final String SHORT = "acknowledge";
    private static final Pattern OPTION = Pattern.compile("(?:-c\\s*|--)tutti\\.acknowledge=(\\S*)");

    /** Its values. */
    enum Level {
        /** When its result is known, and visible at this node. */
        EXECUTED,
        /** When it is in the order, and so will be executed. */
        LOGGED;

        static @Nullable Level of(String value) {
            for (Level level : values()) {
                if (level.toString().equals(value.toLowerCase(Locale.ROOT))) {
                    return level;
                }
            }
            return null;
        }

        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /** Whether the protocol has request logs. */
    private final boolean logs;
    private Level initial = Level.EXECUTED;
    private Level session = Level.EXECUTED;
    private @Nullable Level request;

    Acknowledgements(boolean logs) {
        this.logs = logs;
    }

    /** Whether the client wants to hear that its request is logged, and no more. */
    boolean logged() {
        return (request == null ? session : request) == Level.LOGGED;
    }

    /** What a client's start-up packet asks for. Returns null if that is all right. */
    @Nullable
    ErrorFields begin(Map<String, String> parameters) {
        String value = parameters.get(VARIABLE);
        Matcher option = OPTION.matcher(parameters.getOrDefault("options", ""));
        while (value == null && option.find()) {
            value = option.group(1);
        }
        ErrorFields refusal = value == null ? null : check(value);
        if (refusal == null && value != null) {
            initial = level(value);
            session = initial;
        }
        return refusal;
    }

    private Level level(@Nullable String value) {
        Level level = value == null ? null : Level.of(value);
        return level == null ? initial : level;
    }

    private @Nullable ErrorFields check(String value) {
        Level level = Level.of(value);
        if (level == null) {
            return Errors.error("22023", "invalid value for parameter \"" + VARIABLE + "\": \"" + value + "\"")
                    .with('H', "Available values: " + String.join(", ",
                            List.of(Level.values()).stream().map(Level::toString).toList()) + ".");
        }
        return level == Level.EXECUTED || logs
                ? null
                : Errors.notSupported(
                        "the cluster's protocol has no request logs, so " + VARIABLE + " cannot be " + level)
                        .with('H', "Protocol hybrid has, unless its execution is active.");
    }

    /** The request is over. */
    void requestOver() {
        request = null;
    }

    /**
     * A statement by itself may set the variable.
     *
     * @return why it is refused; null if it is not, or does not concern us
     */
    @Nullable
    ErrorFields statement(String sql, boolean inTransaction) {
        Variables.Setting set = Variables.read(sql, SHORT);
        if (set == null) {
            return null;
        }
        String value = set.value();
        ErrorFields refusal = value == null ? null : check(value);
        if (refusal == null && inTransaction && !set.all()) {
            refusal = Errors.error("25001", VARIABLE + " cannot be set in a transaction block, which is acknowledged"
                    + " when it has committed")
                    .with('H', "Set it before BEGIN, or send all statements of the transaction as one query that begins"
                            + " with SET LOCAL " + VARIABLE + ".");
        }
        if (refusal == null && !set.local()) {
            session = level(value);
        }
        return refusal;
    }

    /**
     * A statement of a query of several may set the variable for the request, if it is the first.
     *
     * @return why it is refused; null if it is not, or does not concern us
     */
    @Nullable
    ErrorFields part(String sql, boolean first) {
        Variables.Setting set = Variables.read(sql, SHORT);
        if (set == null || set.all()) {
            return null;
        }
        String value = set.value();
        if (!first || !set.local()) {
            return Errors.error("25001", "in a query of several statements " + VARIABLE
                    + " can be set by the first one only, with SET LOCAL, and not together with BEGIN or COMMIT");
        }
        ErrorFields refusal = value == null ? null : check(value);
        if (refusal == null) {
            request = level(value);
        }
        return refusal;
    }
}
