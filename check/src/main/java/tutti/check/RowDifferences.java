package tutti.check;

import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Finds rows of a table that are not the same in several databases. Merges the sorted streams of all of them, so memory
 * is bounded whatever the size of the table.
 *
 * @param count keys whose rows differ
 * @param rows the first of them: the key, then the row by database
 */
record RowDifferences(long count, List<Map<String, String>> rows) {
    private static final String ABSENT = "(not there)";

    /** One database's stream, standing at a key. */
    private static final class Cursor implements AutoCloseable {
        private final String name;
        private final TableReader.Rows rows;
        private @Nullable String key;
        private byte[] keyBytes = {};
        private String row = "";

        Cursor(String name, TableReader.Rows rows) {
            this.name = name;
            this.rows = rows;
        }

        void advance() throws SQLException {
            if (rows.next()) {
                key = rows.key();
                row = rows.row();
                keyBytes = rows.key().getBytes(StandardCharsets.UTF_8);
            } else {
                key = null;
            }
        }

        /** All rows of the present key as one text, and on to the next key. Without a primary key there may be several. */
        String take() throws SQLException {
            String of = key;
            StringBuilder text = new StringBuilder(row);
            advance();
            while (key != null && key.equals(of)) {
                text.append(" and ").append(row);
                advance();
            }
            return text.toString();
        }

        @Override
        public void close() throws SQLException {
            rows.close();
        }
    }

    static RowDifferences find(TableReader.Table table, List<TableReader> readers, int rowsShown) throws SQLException {
        List<Cursor> cursors = new ArrayList<>();
        try {
            for (TableReader reader : readers) {
                Cursor cursor = new Cursor(reader.name(), reader.rows(table));
                cursors.add(cursor);
                cursor.advance();
            }
            return merge(cursors, rowsShown);
        } finally {
            for (Cursor cursor : cursors) {
                cursor.close();
            }
        }
    }

    private static RowDifferences merge(List<Cursor> cursors, int rowsShown) throws SQLException {
        long count = 0;
        List<Map<String, String>> rows = new ArrayList<>();
        while (true) {
            List<Cursor> live = cursors.stream().filter(cursor -> cursor.key != null).toList();
            if (live.isEmpty()) {
                return new RowDifferences(count, rows);
            }
            Cursor least = Collections.min(live, (a, b) -> Arrays.compareUnsigned(a.keyBytes, b.keyBytes));
            String key = String.valueOf(least.key);
            Map<String, String> values = new LinkedHashMap<>();
            values.put("key", key);
            for (Cursor cursor : cursors) {
                values.put(cursor.name, key.equals(cursor.key) ? cursor.take() : ABSENT);
            }
            if (values.values().stream().skip(1).distinct().count() > 1) {
                count++;
                if (rows.size() < rowsShown) {
                    rows.add(values);
                }
            }
        }
    }
}
