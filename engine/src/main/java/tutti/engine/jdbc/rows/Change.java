package tutti.engine.jdbc.rows;

import org.jspecify.annotations.Nullable;

/**
 * One row of a write set, as an applier makes it.
 *
 * @param row a value for each column; of a {@link Operation#DELETE} only those of the primary key, of an
 *            {@link Operation#UPDATE} {@link #KEPT} for those that stay as they are
 */
public record Change(Operation operation, Table table, @Nullable Object[] row) {
    /** In the place of a column's value: it stays as it is. */
    public static final Object KEPT = new Object() {
        @Override
        public String toString() {
            return "KEPT";
        }
    };

    /** What is done with the row; it is found by its primary key. */
    public enum Operation {
        /** It must be there, and is gone afterwards. */
        DELETE,
        /** It must be there; no unique key changes. */
        UPDATE,
        /** It must be there; some unique key other than the primary one changes. */
        REPLACE,
        /** It must not be there. */
        INSERT;

        private static final Operation[] VALUES = values();

        static Operation of(int ordinal) {
            if (ordinal < 0 || ordinal >= VALUES.length) {
                throw new IllegalArgumentException("no such operation on a row: " + ordinal);
            }
            return VALUES[ordinal];
        }
    }
}
