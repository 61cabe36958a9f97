package tutti.engine.jdbc.reads;

import java.sql.Types;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.engine.jdbc.rows.Table;
import tutti.engine.jdbc.rows.WriteSets;

/**
 * A statement looks for one row of a table by its primary key.
 *
 * @param key where the values of the key's columns come from, in their order
 */
record RowLookup(Table table, List<Source> key) {
    private static final Set<Integer> NUMBERS = Set.of(Types.TINYINT, Types.SMALLINT, Types.INTEGER, Types.BIGINT,
            Types.NUMERIC, Types.DECIMAL);
    private static final Set<Integer> TEXTS = Set.of(Types.CHAR, Types.VARCHAR, Types.LONGVARCHAR, Types.NCHAR,
            Types.NVARCHAR);

    /** Where a value comes from. */
    sealed interface Source {
        /** It stands in the statement. */
        record Constant(Object value) implements Source {}

        /** It is bound to a parameter, counted from 0. */
        record Parameter(int index) implements Source {}
    }

    /**
     * The hash of the row's key, or null if it cannot be told for these values.
     *
     * <p>
     * Only for values that compare with the column's as they are: whole numbers with exact numbers, texts with texts. An
     * engine that has to convert one of the two may find a row whose key looks different.
     *
     * @param values bound to the parameters
     */
    @Nullable
    Long hash(List<? extends @Nullable Object> values) {
        List<Object> travelling = new ArrayList<>(key.size());
        for (int i = 0; i < key.size(); i++) {
            Object value = switch (key.get(i)) {
                case Source.Constant(Object constant) -> constant;
                case Source.Parameter(int index) -> index < values.size() ? values.get(index) : null;
            };
            Object normal = travelling(type(i), value);
            if (normal == null) {
                return null;
            }
            travelling.add(normal);
        }
        return WriteSets.primaryKeyHash(table, travelling);
    }

    private int type(int part) {
        Table.UniqueKey primary = table.primaryKey();
        return primary == null ? Types.OTHER : table.types().get(primary.columns().get(part));
    }

    private static @Nullable Object travelling(int type, @Nullable Object value) {
        return switch (value) {
            case Byte number when NUMBERS.contains(type) -> number.longValue();
            case Short number when NUMBERS.contains(type) -> number.longValue();
            case Integer number when NUMBERS.contains(type) -> number.longValue();
            case Long number when NUMBERS.contains(type) -> number;
            case String text when TEXTS.contains(type) -> text;
            case null, default -> null;
        };
    }
}
