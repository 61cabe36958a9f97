package tutti.engine.postgres.capture;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.function.Supplier;
import tutti.engine.postgres.catalog.RowText;

/**
 * Where the keys of a transaction come from, for people: eight bytes for each key, beside the captured text in which their rows are. Not safe for use
 * by several threads while keys are added.
 */
public final class Origins {
    private static final int VALUE_LIMIT = 100;

    /**
     * What the keys of one kind have in common.
     *
     * @param table as a person reads it
     * @param columns names; without any it is a table, or a row that is not named
     * @param places the columns' places in the row
     */
    record Kind(String table, List<String> columns, List<Integer> places) {}

    private final byte[] text;
    private final List<Kind> kinds = new ArrayList<>();
    private final IdentityHashMap<Object, Integer> numbers = new IdentityHashMap<>();
    private int[] kindOf = new int[16];
    /** Where the row begins in the text, or -1 if it is not a row's key. */
    private int[] rows = new int[16];
    private int size;

    /** None, of keys whose rows are in this text, which must not be modified. */
    Origins(byte[] text) {
        this.text = text;
    }

    /** How many keys. */
    int size() {
        return size;
    }

    /**
     * Where the next key comes from.
     *
     * @param kind the object by which that kind is known
     * @param made what it is, asked for once
     * @param row where the row begins in the text; -1 if it is not a row's key
     */
    void add(Object kind, Supplier<Kind> made, int row) {
        Integer number = numbers.get(kind);
        if (number == null) {
            number = kinds.size();
            kinds.add(made.get());
            numbers.put(kind, number);
        }
        if (size == rows.length) {
            rows = Arrays.copyOf(rows, 2 * size);
            kindOf = Arrays.copyOf(kindOf, 2 * size);
        }
        rows[size] = row;
        kindOf[size++] = number;
    }

    /** In words. */
    String describe(int key) {
        Kind kind = kinds.get(kindOf[key]);
        if (rows[key] < 0) {
            return kind.table();
        }
        if (kind.columns().isEmpty()) {
            return "table " + kind.table();
        }
        RowText values = new RowText().parse(text, rows[key]);
        List<String> shown = new ArrayList<>();
        for (int place : kind.places()) {
            byte[] value = values.value(place);
            String word = value == null ? "null" : new String(value, StandardCharsets.UTF_8);
            shown.add(word.length() > VALUE_LIMIT ? word.substring(0, VALUE_LIMIT) + "…" : word);
        }
        return "table " + kind.table() + ", key (" + String.join(", ", kind.columns()) + ") = ("
                + String.join(", ", shown) + ")";
    }
}
