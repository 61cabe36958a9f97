package tutti.engine.postgres.catalog;

import java.util.Arrays;
import java.util.Objects;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A table that is divided into several conflict classes by the values of one of its columns, an integer that is never NULL: the
 * column's comment says so, as in {@code COMMENT ON COLUMN stock.s_w_id IS 'tutti.class warehouse/16'}. Tables of the same group
 * are divided alike, so that rows of them with the same value are of the same class. Each value is of exactly one class.
 *
 * <p>
 * <b>Shared.</b> A table whose own comment says so, as in {@code COMMENT ON TABLE item IS 'tutti.class warehouse/16'}, is divided by nothing: who
 * reads it needs one class of the group, whichever, and who changes it needs all. So readers of different classes do not meet, and every reader
 * meets every writer. Immutable.
 */
public final class Division {
    private static final int CLASSES_MAX = 1024;
    private static final Pattern COMMENT = Pattern.compile("tutti\\.class\\s+(\\w+)(?:\\s*/\\s*(\\d{1,4}))?\\s*");
    private static final int CLASSES = 64;

    private final @Nullable String column;
    private final String group;
    private final long[] numbers;
    private final Set<Long> all;

    /**
     * By a column, or by none.
     *
     * @param column the column's name; null if the table is shared
     * @param group which tables share their classes
     * @param classes how many there are, 1 to 1,024
     */
    public Division(@Nullable String column, String group, int classes) {
        this.column = column;
        this.group = group;
        numbers = new long[classes];
        Arrays.setAll(numbers, index -> KeyHash.seed("class " + group + "/" + classes + " " + index));
        all = Arrays.stream(numbers).boxed().collect(Collectors.toUnmodifiableSet());
    }

    /**
     * What the comment of a column, or of a table, says; null if it says nothing of the kind, or more classes than there may be.
     *
     * @param column null for the comment of a table
     */
    public static @Nullable Division of(@Nullable String column, String comment) {
        Matcher matcher = COMMENT.matcher(comment);
        if (!matcher.matches()) {
            return null;
        }
        int classes = matcher.group(2) == null ? CLASSES : Integer.parseInt(matcher.group(2));
        return classes < 1 || classes > CLASSES_MAX ? null : new Division(column, matcher.group(1), classes);
    }

    /** The column's name; null if the table is shared. */
    public @Nullable String column() {
        return column;
    }

    /** Which tables share their classes. */
    public String group() {
        return group;
    }

    /** How many classes there are, 1 to 1,024. */
    public int classes() {
        return numbers.length;
    }

    /** The class of the rows with this value; of a shared table, of those who read on behalf of it. */
    public long of(long value) {
        return numbers[Math.floorMod(value, numbers.length)];
    }

    /** All of them. */
    public Set<Long> all() {
        return all;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof Division that && Objects.equals(column, that.column) && group.equals(that.group)
                && numbers.length == that.numbers.length;
    }

    @Override
    public int hashCode() {
        return Objects.hash(column, group, numbers.length);
    }

    @Override
    public String toString() {
        return "division of " + group + "/" + numbers.length + " by " + column;
    }
}
