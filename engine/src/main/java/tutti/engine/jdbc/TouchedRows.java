package tutti.engine.jdbc;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tutti.engine.jdbc.rows.RowChange;
import tutti.engine.jdbc.rows.Table;
import tutti.engine.jdbc.rows.Table.UniqueKey;

/**
 * Rows that a transaction may have changed, with what they were before the transaction touched them first. What it has
 * changed is found by looking at them again when it commits.
 *
 * <p>
 * <b>Why that is right whatever has been rolled back.</b> A row is noted when a statement that changes it has succeeded, as
 * it was before that statement. If it is the first note of the row, nothing of this transaction had changed the row before,
 * so that is the committed row. Savepoints and failed statements can only put rows back that are noted already, and looking
 * again shows that they are as they were.
 */
final class TouchedRows {
    private record Name(Table table, List<@Nullable Object> primaryKey) {}

    private record Touch(@Nullable Object[] row, @Nullable Object @Nullable [] before) {}

    private final EmbeddedDatabase.Session session;
    private final Map<Name, Touch> touched = new LinkedHashMap<>();

    TouchedRows(EmbeddedDatabase.Session session) {
        this.session = session;
    }

    /** Rows that were there before a statement changed or deleted them. */
    void existed(Table table, @Nullable Object[] row) {
        touched.putIfAbsent(name(table, row), new Touch(row, row));
    }

    /** Rows that a statement has brought about; noted after those that were there before it. */
    void came(Table table, @Nullable Object[] row) {
        touched.putIfAbsent(name(table, row), new Touch(row, null));
    }

    private static Name name(Table table, @Nullable Object[] row) {
        UniqueKey primary = table.primaryKey();
        List<@Nullable Object> values = new ArrayList<>();
        if (primary == null) {
            values.addAll(Arrays.asList(row));
        } else {
            for (int column : primary.columns()) {
                values.add(row[column] instanceof byte[] bytes ? Arrays.toString(bytes) : row[column]);
            }
        }
        return new Name(table, values);
    }

    List<RowChange> changes() throws SQLException {
        List<RowChange> changes = new ArrayList<>();
        for (Map.Entry<Name, Touch> entry : touched.entrySet()) {
            Table table = entry.getKey().table();
            Touch touch = entry.getValue();
            @Nullable
            Object[] before = touch.before();
            @Nullable
            Object[] after = table.primaryKey() == null ? null : current(table, table.primaryKey(), touch.row());
            if ((before != null || after != null) && !Arrays.deepEquals(before, after)) {
                changes.add(new RowChange(table, before, after));
            }
        }
        return changes;
    }

    private @Nullable Object @Nullable [] current(Table table, UniqueKey primary, @Nullable Object[] row)
            throws SQLException {
        List<@Nullable Object> parameters = new ArrayList<>();
        List<String> conditions = new ArrayList<>();
        for (int column : primary.columns()) {
            conditions.add(quote(table.columns().get(column)) + " = ?");
            parameters.add(row[column]);
        }
        List<@Nullable Object[]> found = session.rows("SELECT " + columns(table) + " FROM " + name(table) + " WHERE "
                + String.join(" AND ", conditions), parameters);
        return found.isEmpty() ? null : found.getFirst();
    }

    void reset() {
        touched.clear();
    }

    static String columns(Table table) {
        return String.join(", ", table.columns().stream().map(TouchedRows::quote).toList());
    }

    static String name(Table table) {
        return quote(table.schema()) + "." + quote(table.name());
    }

    static String quote(String name) {
        return '"' + name.replace("\"", "\"\"") + '"';
    }
}
