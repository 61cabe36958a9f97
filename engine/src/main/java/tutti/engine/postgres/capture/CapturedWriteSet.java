package tutti.engine.postgres.capture;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.WriteSet;
import tutti.engine.postgres.catalog.RowText;

/**
 * A write set, together with what its keys mean in words, for the error that a client gets when one of them is lost.
 *
 * @param writes what travels
 * @param origins where each key comes from
 * @param takenWithoutKey tables of which rows were updated or deleted that no key names, as a person reads them
 */
public record CapturedWriteSet(WriteSet writes, List<Origin> origins, Set<String> takenWithoutKey) {
    private static final int VALUE_LIMIT = 100;

    /**
     * In words: {@code table public.district, key (d_w_id, d_id) = (1, 7)}.
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
     * @param columns names
     * @param places the columns' places in the row
     * @param text what holds the row; null for a key that is no row's
     * @param row where it begins
     */
    public record Origin(String table, List<String> columns, List<Integer> places, byte @Nullable [] text, int row) {
        String describe() {
            if (text == null) {
                return table;
            }
            RowText values = new RowText().parse(text, row);
            List<String> shown = new ArrayList<>();
            for (int place : places) {
                byte[] value = values.value(place);
                String word = value == null ? "null" : new String(value, StandardCharsets.UTF_8);
                shown.add(word.length() > VALUE_LIMIT ? word.substring(0, VALUE_LIMIT) + "…" : word);
            }
            return columns.isEmpty()
                    ? "table " + table
                    : "table " + table + ", key (" + String.join(", ", columns) + ") = (" + String.join(", ", shown)
                            + ")";
        }
    }
}
