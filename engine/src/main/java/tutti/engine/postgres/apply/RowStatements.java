package tutti.engine.postgres.apply;

import io.netty.buffer.ByteBuf;
import java.util.List;
import java.util.stream.Collectors;
import tutti.engine.postgres.apply.NetEffect.Operation;
import tutti.engine.postgres.catalog.Table;
import tutti.engine.postgres.catalog.Table.Column;

/** The SQL that inserts, updates or deletes an array of rows of one table, and the array in text form. */
final class RowStatements {
    private RowStatements() {}

    /** The statement's text; its one parameter is an array of the table's row type. */
    static String sql(Table table, Operation operation) {
        String name = table.qualifiedName();
        String rows = " pg_catalog.unnest($1::" + name + "[]) AS r";
        return switch (operation) {
            case INSERT -> "INSERT INTO " + name + " (" + given(table, "") + ") OVERRIDING SYSTEM VALUE SELECT "
                    + given(table, "r.") + " FROM" + rows;
            case UPDATE -> "UPDATE ONLY " + name + " AS t SET "
                    + table.columns().stream().filter(column -> !column.generated() && !column.identityAlways())
                            .map(column -> Table.quote(column.name()) + " = r." + Table.quote(column.name()))
                            .collect(Collectors.joining(", "))
                    + " FROM" + rows + " WHERE " + sameKey(table);
            case DELETE -> "DELETE FROM ONLY " + name + " AS t USING" + rows + " WHERE " + sameKey(table);
        };
    }

    private static String given(Table table, String prefix) {
        return table.columns().stream().filter(column -> !column.generated())
                .map(column -> prefix + Table.quote(column.name())).collect(Collectors.joining(", "));
    }

    private static String sameKey(Table table) {
        return table.primaryKey().columns().stream().map(table.columns()::get).map(Column::name)
                .map(name -> "t." + Table.quote(name) + " = r." + Table.quote(name))
                .collect(Collectors.joining(" AND "));
    }

    /** Appends the array of these rows as a Bind parameter: its length and text. */
    static void array(ByteBuf out, List<byte[]> rows) {
        int lengthAt = out.writerIndex();
        out.writeInt(0);
        char separator = '{';
        for (byte[] row : rows) {
            out.writeByte(separator).writeByte('"');
            int from = 0;
            for (int i = 0; i < row.length; i++) {
                if (row[i] == '"' || row[i] == '\\') {
                    out.writeBytes(row, from, i - from).writeByte('\\');
                    from = i;
                }
            }
            out.writeBytes(row, from, row.length - from).writeByte('"');
            separator = ',';
        }
        out.writeByte('}');
        out.setInt(lengthAt, out.writerIndex() - lengthAt - 4);
    }
}
