package tutti.server.http;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.json.JsonMapper;
import tutti.core.txn.WriteSet;
import tutti.engine.postgres.capture.Changes;
import tutti.engine.postgres.capture.Changes.Change;
import tutti.engine.postgres.capture.Changes.TableName;
import tutti.engine.postgres.capture.ColumnBits;
import tutti.engine.postgres.capture.Statement;
import tutti.engine.postgres.catalog.RowText;
import tutti.engine.postgres.catalog.Table;
import tutti.engine.postgres.catalog.TableCatalog;

/** What a node tells of changes, a line of JSON for each transaction. Values are texts, as PostgreSQL writes them; null is NULL. */
public final class ChangesJson {
    private static final JsonMapper MAPPER = JsonMapper.shared();

    private ChangesJson() {}

    /** How the server's telling stands. */
    public static String state(boolean on, String from, long keptBytes, boolean lost,
            List<String> untold) {
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("on", on);
        all.put("confirmed", from);
        all.put("keptBytes", keptBytes);
        all.put("lost", lost);
        all.put("untold", untold);
        return line(all);
    }

    /**
     * A transaction.
     *
     * @param position from which to go on
     * @param ordered its position in the order; 0 for none, then it is left out
     * @param catalog names columns; of rows that do not fit it the values come as a list
     */
    public static String transaction(String position, long ordered, WriteSet writes, TableCatalog catalog) {
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("position", position);
        if (ordered > 0) {
            all.put("ordered", ordered);
        }
        List<Map<String, Object>> changes = new ArrayList<>();
        for (Change change : Changes.read(writes.changes())) {
            changes.add(change(change, catalog));
        }
        all.put("changes", changes);
        return line(all);
    }

    private static Map<String, Object> change(Change change, TableCatalog catalog) {
        return switch (change) {
            case Change.Insert(TableName table, byte[] row) -> rows("insert", table, catalog, null, null, row);
            case Change.Update(TableName table, byte[] row) -> rows("update", table, catalog, null, null, row);
            case Change.Columns(TableName table, byte[] columns, byte[] row) ->
                rows("update", table, catalog, columns, null, row);
            case Change.Rekey(TableName table, byte[] before, byte[] after) ->
                rows("update", table, catalog, null, before, after);
            case Change.Delete(TableName table, byte[] row) -> rows("delete", table, catalog, null, row, null);
            case Change.Truncate(TableName table) -> rows("truncate", table, catalog, null, null, null);
            case Change.Execute(byte[] statement) -> of("statement", "sql", Statement.of(statement).sql());
            case Change.Notify(byte[] channel, byte[] payload) -> {
                Map<String, Object> told = of("notification", "channel", text(channel));
                told.put("payload", text(payload));
                yield told;
            }
            case Change.Prepare prepare -> of("prepared transaction", "identifier", prepare.identifier());
            case Change.Restart restart ->
                of("sequence restart", "sequence", restart.schema() + "." + restart.name());
            case Change.LargeObject object -> of("large object", "object", object.object());
            case Change.LargePages pages -> of("large object", "object", pages.object());
        };
    }

    private static Map<String, Object> of(String what, String name, String value) {
        Map<String, Object> told = new LinkedHashMap<>();
        told.put("change", what);
        told.put(name, value);
        return told;
    }

    private static Map<String, Object> rows(String what, TableName name, TableCatalog catalog,
            byte @Nullable [] columns,
            byte @Nullable [] before, byte @Nullable [] row) {
        Map<String, Object> told = of(what, "table", name.schema() + "." + name.name());
        Table table = catalog.table(name.schema(), name.name());
        if (before != null) {
            told.put("before", values(table, null, before));
        }
        if (row != null) {
            told.put("row", values(table, columns, row));
        }
        return told;
    }

    /** Values by name; of columns only those that are told. */
    private static Object values(@Nullable Table table, byte @Nullable [] columns, byte[] row) {
        RowText text = new RowText().parse(row, 0);
        if (table == null || table.columns().size() != text.columns()) {
            List<@Nullable String> values = new ArrayList<>();
            for (int i = 0; i < text.columns(); i++) {
                values.add(text(text.value(i)));
            }
            return values;
        }
        Map<String, @Nullable String> values = new LinkedHashMap<>();
        for (int i = 0; i < text.columns(); i++) {
            if (columns == null || ColumnBits.has(columns, i)) {
                values.put(table.columns().get(i).name(), text(text.value(i)));
            }
        }
        return values;
    }

    private static @Nullable String text(byte @Nullable [] value) {
        return value == null ? null : new String(value, StandardCharsets.UTF_8);
    }

    private static String line(Map<String, ?> all) {
        return MAPPER.writeValueAsString(all) + "\n";
    }
}
