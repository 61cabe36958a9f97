package tutti.engine.procedure;

import java.math.BigDecimal;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Values that a {@link StoredProcedure} is given: its arguments, or a row. In the engine's text form; numbered from 1. Immutable. */
public final class ProcedureValues {
    private final List<@Nullable String> values;

    /** Of these texts; null stands for NULL. */
    public ProcedureValues(List<? extends @Nullable String> values) {
        this.values = Collections.unmodifiableList(new ArrayList<@Nullable String>(values));
    }

    /** How many there are. */
    public int size() {
        return values.size();
    }

    /**
     * One as text.
     *
     * @return null if it is NULL
     * @throws SQLException with {@code 22023} if there are fewer
     */
    public @Nullable String optional(int number) throws SQLException {
        if (number < 1 || number > values.size()) {
            throw new SQLException("there is no value " + number + ": there are " + values.size(), "22023");
        }
        return values.get(number - 1);
    }

    /**
     * One as text.
     *
     * @throws SQLException with {@code 22023} if there are fewer, {@code 22004} if it is NULL
     */
    public String text(int number) throws SQLException {
        String value = optional(number);
        if (value == null) {
            throw new SQLException("value " + number + " is NULL", "22004");
        }
        return value;
    }

    /**
     * One as a number without fraction.
     *
     * @throws SQLException as {@link #text}, and with {@code 22018} if it is none
     */
    public long number(int number) throws SQLException {
        try {
            return decimal(number).longValueExact();
        } catch (ArithmeticException other) {
            throw new SQLException(
                    "value " + number + " is " + text(number) + ", which is no number of 64 bits without fraction",
                    "22018", other);
        }
    }

    /**
     * One as a number.
     *
     * @throws SQLException as {@link #number}
     */
    public BigDecimal decimal(int number) throws SQLException {
        String text = text(number);
        try {
            return new BigDecimal(text);
        } catch (NumberFormatException other) {
            throw new SQLException("value " + number + " is " + text + ", which is no number", "22018", other);
        }
    }

    /**
     * One as a truth value.
     *
     * @throws SQLException as {@link #number}
     */
    public boolean truth(int number) throws SQLException {
        return switch (text(number)) {
            case "t", "true", "TRUE" -> true;
            case "f", "false", "FALSE" -> false;
            default ->
                throw new SQLException("value " + number + " is " + text(number) + ", which is no boolean", "22018");
        };
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof ProcedureValues that && values.equals(that.values);
    }

    @Override
    public int hashCode() {
        return values.hashCode();
    }

    @Override
    public String toString() {
        return values.toString();
    }
}
