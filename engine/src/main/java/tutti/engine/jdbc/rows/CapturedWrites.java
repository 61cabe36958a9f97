package tutti.engine.jdbc.rows;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.WriteSet;

/**
 * A write set, together with what its keys mean in words, for the error that a client gets when one of them is lost.
 *
 * @param writes what travels
 * @param origins where each key comes from
 */
public record CapturedWrites(WriteSet writes, List<Origin> origins) {
    /** Of a transaction that changed nothing. */
    public static final CapturedWrites NOTHING = new CapturedWrites(WriteSet.EMPTY, List.of());

    private static final int VALUE_CHARACTERS_MAX = 100;

    /**
     * In words: {@code table PUBLIC.DISTRICT, key (D_ID, W_ID) = (7, 1)}.
     *
     * @param key its index in the write set's keys
     */
    public String describe(int key) {
        return origins.get(key).describe();
    }

    /**
     * Where a key comes from. Only what is at hand is kept, since a name is hardly ever asked for.
     *
     * @param table whose row was changed; null for the key of the schema
     * @param parent what the row refers to, if it is the parent's key
     * @param places where in the row the key's values are
     * @param row that has the key; null if the key is the table's own, or the schema's
     */
    public record Origin(@Nullable Table table, Table.@Nullable ForeignKey parent, List<Integer> places,
            @Nullable Object @Nullable [] row) {
        /** The schema's. */
        static final Origin SCHEMA = new Origin(null, null, List.of(), null);

        String describe() {
            if (table == null) {
                return "the schema";
            }
            String name = "table " + (parent == null ? table.displayName() : parent.parent());
            if (row == null) {
                return name;
            }
            List<String> columns = parent == null
                    ? places.stream().map(table.columns()::get).toList()
                    : parent.parentColumns();
            List<String> values = new ArrayList<>();
            for (int place : places) {
                String word = String.valueOf(row[place]);
                values.add(word.length() > VALUE_CHARACTERS_MAX ? word.substring(0, VALUE_CHARACTERS_MAX) + "…" : word);
            }
            return name + ", key (" + String.join(", ", columns) + ") = (" + String.join(", ", values) + ")";
        }
    }
}
