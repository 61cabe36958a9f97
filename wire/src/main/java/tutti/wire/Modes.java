package tutti.wire;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tutti.node.Transactions;
import tutti.pgwire.ErrorFields;
import tutti.wire.sql.Variables;

/**
 * Where a session wants its whole requests to be executed: its variable {@code tutti.mode}; and {@linkplain Acknowledgements when} it wants
 * to hear of them. PostgreSQL keeps the variable, for SHOW; here is what follows from it. On the session's event loop.
 */
final class Modes {
    /** How the variable is called. */
    static final String VARIABLE = "tutti.mode";
    private static final String SHORT = "mode";
    private static final Pattern OPTION = Pattern.compile("(?:-c\\s*|--)tutti\\.mode=(\\S*)");

    /** Its values. */
    enum Mode {
        /** As the protocol does, or the function that is called says. */
        DEFAULT,
        /** By every node. */
        ACTIVE,
        /** By this node, which ships the changes. */
        PASSIVE;

        static @Nullable Mode of(String value) {
            for (Mode mode : values()) {
                if (mode.toString().equals(value.toLowerCase(Locale.ROOT))) {
                    return mode;
                }
            }
            return null;
        }

        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    private final boolean wholeOnly;
    private final Acknowledgements acknowledgements;
    private Mode initial = Mode.DEFAULT;
    private Mode session = Mode.DEFAULT;
    private @Nullable Mode transaction;
    private @Nullable Mode request;

    /** Of a session of a node under some protocol. */
    Modes(Transactions node) {
        this.wholeOnly = node.wholeOnly();
        this.acknowledgements = new Acknowledgements(node.undertakes());
    }

    /** Whether the client wants to hear that its request is logged, and no more. */
    boolean logged() {
        return acknowledgements.logged();
    }

    /** What a client's start-up packet asks for. Returns null if that is all right. */
    @Nullable
    ErrorFields begin(Map<String, String> parameters) {
        String value = parameters.get(VARIABLE);
        Matcher option = OPTION.matcher(parameters.getOrDefault("options", ""));
        while (value == null && option.find()) {
            value = option.group(1);
        }
        if (value == null) {
            return acknowledgements.begin(parameters);
        }
        ErrorFields refusal = check(value);
        if (refusal == null) {
            refusal = acknowledgements.begin(parameters);
            initial = java.util.Objects.requireNonNull(Mode.of(value));
            session = initial;
        }
        return refusal;
    }

    /** What counts now. */
    Mode now() {
        Mode local = request == null ? transaction : request;
        return local == null ? session : local;
    }

    /** The request is over. */
    void requestOver() {
        request = null;
        acknowledgements.requestOver();
    }

    /** The transaction is over. */
    void transactionOver() {
        transaction = null;
    }

    private @Nullable ErrorFields check(String value) {
        Mode mode = Mode.of(value);
        if (mode == null) {
            return Errors.error("22023", "invalid value for parameter \"" + VARIABLE + "\": \"" + value + "\"")
                    .with('H', "Available values: " + String.join(", ",
                            List.of(Mode.values()).stream().map(Mode::toString).toList()) + ".");
        }
        if (mode == Mode.PASSIVE && wholeOnly) {
            return Errors.notSupported("under protocol active every node executes what changes the database, so "
                    + VARIABLE + " cannot be passive")
                    .with('H', "Protocol akara with either-way: active executes requests everywhere where it can.");
        }
        return null;
    }

    /**
     * A statement by itself may set the variable.
     *
     * @return why it is refused; null if it is not, or does not concern us
     */
    @Nullable
    ErrorFields statement(String sql, boolean inTransaction) {
        ErrorFields other = acknowledgements.statement(sql, inTransaction);
        Variables.Setting set = Variables.read(sql, SHORT);
        if (set == null || other != null) {
            return other;
        }
        String value = set.value();
        ErrorFields refusal = value == null ? null : check(value);
        if (refusal != null) {
            return refusal;
        }
        Mode mode = value == null ? initial : java.util.Objects.requireNonNull(Mode.of(value));
        if (!set.local() && inTransaction && !set.all()) {
            return Errors.error("25001", VARIABLE + " cannot be set in a transaction block for the session")
                    .with('H', "Set it before BEGIN, or use SET LOCAL.");
        }
        if (set.local() && inTransaction && mode == Mode.ACTIVE) {
            return Errors.error("25001", "every node can execute a transaction only if it is handed in whole")
                    .with('H', "Send all its statements as one query that begins with SET LOCAL " + VARIABLE
                            + " = 'active', or call a function or procedure.");
        }
        if (!set.local()) {
            session = mode;
        } else if (inTransaction) {
            transaction = mode;
        }
        return null;
    }

    /**
     * A statement of a query of several may set the variable for the request, if it is the first.
     *
     * @param first whether it is the first of a query that is a transaction by itself
     * @return why it is refused; null if it is not, or does not concern us
     */
    @Nullable
    ErrorFields part(String sql, boolean first) {
        ErrorFields other = acknowledgements.part(sql, first);
        Variables.Setting set = Variables.read(sql, SHORT);
        if (set == null || set.all() || other != null) {
            return other;
        }
        String value = set.value();
        if (!first || !set.local()) {
            return Errors.error("25001", "in a query of several statements " + VARIABLE
                    + " can be set by the first one only, with SET LOCAL, and not together with BEGIN or COMMIT");
        }
        ErrorFields refusal = value == null ? null : check(value);
        if (refusal == null) {
            request = value == null ? initial : java.util.Objects.requireNonNull(Mode.of(value));
        }
        return refusal;
    }
}
