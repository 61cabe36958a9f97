package tutti.wire;

import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import tutti.pgwire.ErrorFields;
import tutti.wire.sql.Variables;

/**
 * A variable of ours that a client may set for its session, a transaction or a request, by the usual ways: a parameter of the
 * start-up packet or in its options, SET, SET LOCAL, RESET. PostgreSQL keeps it, for SHOW; here is what it says. On the session's
 * event loop.
 *
 * @param <E> its values, written in lower case
 */
final class SessionVariable<E extends Enum<E>> {
    private static final String PREFIX = "tutti.";

    private final String name;
    private final E[] values;
    private final Function<E, @Nullable ErrorFields> refused;
    private final BiFunction<E, Boolean, @Nullable ErrorFields> refusedInBlock;
    private final Pattern option;
    private E initial;
    private E session;
    private @Nullable E transaction;
    private @Nullable E request;

    /**
     * Has its usual value.
     *
     * @param name without what all of ours begin with
     * @param usual what it is if nobody says otherwise
     * @param refused why a value is not possible at all, or null
     * @param refusedInBlock why a value cannot be set in a transaction block, for the transaction if the second argument is true
     *            and otherwise for the session; or null
     */
    SessionVariable(String name, E usual, Function<E, @Nullable ErrorFields> refused,
            BiFunction<E, Boolean, @Nullable ErrorFields> refusedInBlock) {
        this.name = name;
        this.values = usual.getDeclaringClass().getEnumConstants();
        this.refused = refused;
        this.refusedInBlock = refusedInBlock;
        this.option = Pattern.compile("(?:-c\\s*|--)" + Pattern.quote(PREFIX + name) + "=(\\S*)");
        this.initial = usual;
        this.session = usual;
    }

    /** A value as clients write it. */
    static String text(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT);
    }

    /** What counts now. */
    E now() {
        E local = request == null ? transaction : request;
        return local == null ? session : local;
    }

    /** The request is over. */
    void requestOver() {
        request = null;
    }

    /** The transaction is over. */
    void transactionOver() {
        transaction = null;
    }

    /** What a client's start-up packet asks for. Returns null if that is all right. */
    @Nullable
    ErrorFields begin(Map<String, String> parameters) {
        String value = parameters.get(PREFIX + name);
        Matcher matcher = option.matcher(parameters.getOrDefault("options", ""));
        while (value == null && matcher.find()) {
            value = matcher.group(1);
        }
        ErrorFields refusal = refusal(value);
        if (refusal == null) {
            initial = value(value);
            session = initial;
        }
        return refusal;
    }

    /**
     * A statement by itself may set the variable.
     *
     * @return why it is refused; null if it is not, or does not concern us
     */
    @Nullable
    ErrorFields statement(String sql, boolean inTransaction) {
        Variables.Setting set = Variables.read(sql, name);
        if (set == null) {
            return null;
        }
        ErrorFields refusal = refusal(set.value());
        E value = value(set.value());
        if (refusal == null && inTransaction && !set.all()) {
            refusal = refusedInBlock.apply(value, set.local());
        }
        if (refusal == null && !set.local()) {
            session = value;
        } else if (refusal == null && inTransaction) {
            transaction = value;
        }
        return refusal;
    }

    /**
     * A statement of a query of several may set the variable for the request, if it is the first.
     *
     * @param first whether it is the first of a query that is a transaction by itself
     * @return why it is refused; null if it is not, or does not concern us
     */
    @Nullable
    ErrorFields part(String sql, boolean first) {
        Variables.Setting set = Variables.read(sql, name);
        if (set == null || set.all()) {
            return null;
        }
        if (!first || !set.local()) {
            return Errors.error("25001", "in a query of several statements " + PREFIX + name
                    + " can be set by the first one only, with SET LOCAL, and not together with BEGIN or COMMIT");
        }
        ErrorFields refusal = refusal(set.value());
        if (refusal == null) {
            request = value(set.value());
        }
        return refusal;
    }

    private @Nullable ErrorFields refusal(@Nullable String written) {
        if (written == null) {
            return null;
        }
        E value = read(written);
        return value != null
                ? refused.apply(value)
                : Errors.error("22023", "invalid value for parameter \"" + PREFIX + name + "\": \"" + written + "\"")
                        .with('H', "Available values: "
                                + Arrays.stream(values).map(SessionVariable::text).collect(Collectors.joining(", "))
                                + ".");
    }

    /** What was written, or what it was when the session began if nothing was. */
    private E value(@Nullable String written) {
        E value = written == null ? null : read(written);
        return value == null ? initial : value;
    }

    private @Nullable E read(String written) {
        for (E value : values) {
            if (text(value).equals(written.toLowerCase(Locale.ROOT))) {
                return value;
            }
        }
        return null;
    }
}
