package tutti.engine.jdbc;

import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.engine.jdbc.rows.PortableValues;

/** What the statements of a {@link ClientRequest} answer, one after the other. */
public record ClientAnswer(List<Part> parts) {
    /** Most values of one answer. */
    private static final int VALUES_MAX = 1_000_000;

    /** What one statement answers. */
    public sealed interface Part {}

    /** So many rows were changed. */
    public record Changed(long rows) implements Part {}

    /**
     * Rows.
     *
     * @param columns their labels
     * @param rows numbers are {@link Long}, {@link java.math.BigDecimal} or {@link Double}; dates, times and the like are in words
     */
    public record Rows(List<String> columns, List<List<? extends @Nullable Object>> rows) implements Part {}

    /** In the form that the response carries. */
    byte[] toBytes() {
        List<@Nullable Object> all = new ArrayList<>();
        for (Part part : parts) {
            switch (part) {
                case Changed(long rows) -> all.add(rows);
                case Rows(var columns, var rows) -> {
                    all.add(columns);
                    all.add(rows);
                }
            }
        }
        return PortableValues.toBytes(all);
    }

    /**
     * Reads it.
     *
     * @throws IllegalArgumentException if it is damaged
     */
    public static ClientAnswer of(byte[] bytes) {
        List<Part> parts = new ArrayList<>();
        var all = PortableValues.read(bytes).iterator();
        while (all.hasNext()) {
            Object next = all.next();
            if (next instanceof Long rows) {
                parts.add(new Changed(rows));
            } else if (next instanceof List<?> columns && all.hasNext() && all.next() instanceof List<?> rows) {
                parts.add(new Rows(columns.stream().map(String::valueOf).toList(), rows.stream()
                        .<List<? extends @Nullable Object>>map(
                                row -> row instanceof List<?> values ? values : List.of())
                        .toList()));
            } else {
                throw new IllegalArgumentException("a damaged answer");
            }
        }
        return new ClientAnswer(parts);
    }

    /**
     * All rows of a result.
     *
     * @throws SQLException with {@code 54000} if there are too many
     */
    static Rows rows(ResultSet results) throws SQLException {
        ResultSetMetaData metaData = results.getMetaData();
        List<String> columns = new ArrayList<>();
        for (int i = 1; i <= metaData.getColumnCount(); i++) {
            columns.add(metaData.getColumnLabel(i));
        }
        List<List<? extends @Nullable Object>> rows = new ArrayList<>();
        while (results.next()) {
            List<@Nullable Object> row = new ArrayList<>();
            for (int i = 1; i <= columns.size(); i++) {
                row.add(results.getObject(i));
            }
            rows.add(PortableValues.of(row));
            if ((long) rows.size() * columns.size() > VALUES_MAX) {
                throw new SQLException("the answer of a request has more than " + VALUES_MAX
                        + " values: ask for less, or in a transaction of several statements", "54000");
            }
        }
        return new Rows(columns, rows);
    }
}
