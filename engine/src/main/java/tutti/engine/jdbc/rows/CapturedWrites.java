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
     * Where a key comes from.
     *
     * @param table as a person reads it
     * @param columns names; none if the key is the table's own
     * @param places where in the row their values are
     * @param row that has the key, or null
     */
    public record Origin(String table, List<String> columns, List<Integer> places,
            @Nullable Object @Nullable [] row) {
        String describe() {
            if (row == null) {
                return table;
            }
            List<String> values = new ArrayList<>();
            for (int place : places) {
                String word = String.valueOf(row[place]);
                values.add(word.length() > VALUE_CHARACTERS_MAX ? word.substring(0, VALUE_CHARACTERS_MAX) + "…" : word);
            }
            return "table " + table + ", key (" + String.join(", ", columns) + ") = (" + String.join(", ", values)
                    + ")";
        }
    }
}
