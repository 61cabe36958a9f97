package tutti.engine.jdbc.rows;

import org.jspecify.annotations.Nullable;

/**
 * What a transaction made of one row: the row before it and after it, with a value for each column of the table as
 * {@link WriteSets} describes them. At least one is there. If both are, and the values of all unique keys are the same, then {@link Change#KEPT} may
 * stand in both for a column that has not changed and belongs to no key.
 *
 * @param before null if it was not there
 * @param after null if it is gone
 */
public record RowChange(Table table, @Nullable Object @Nullable [] before, @Nullable Object @Nullable [] after) {
    public RowChange {
        if (before == null && after == null) {
            throw new IllegalArgumentException("a row that was never there");
        }
    }
}
