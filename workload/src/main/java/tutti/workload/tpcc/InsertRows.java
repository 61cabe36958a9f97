package tutti.workload.tpcc;

import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Rows as batches of INSERT, for engines without COPY; cut into chunks of a bounded number of rows. One thread. */
final class InsertRows implements RowWriter {
    /** Takes a full chunk. */
    interface Sink {
        void chunk(List<@Nullable Object[]> rows);
    }

    private final int rowsPerChunk;
    private final Sink sink;
    private final List<@Nullable Object> row = new ArrayList<>();
    private final List<@Nullable Object[]> rows = new ArrayList<>();

    InsertRows(int rowsPerChunk, Sink sink) {
        this.rowsPerChunk = rowsPerChunk;
        this.sink = sink;
    }

    /** Inserts one chunk, without committing. */
    static void insert(Connection connection, TpccTable table, List<@Nullable Object[]> rows) throws SQLException {
        List<String> columns = table.columns();
        String sql = "insert into " + table.sqlName() + " (" + String.join(", ", columns) + ") values ("
                + String.join(", ", Collections.nCopies(columns.size(), "?")) + ")";
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            for (@Nullable
            Object[] values : rows) {
                for (int i = 0; i < values.length; i++) {
                    switch (values[i]) {
                        case null -> statement.setNull(i + 1, Types.NULL);
                        case Object value -> statement.setObject(i + 1, value);
                    }
                }
                statement.addBatch();
            }
            statement.executeBatch();
        }
    }

    /** Inserts one chunk by one statement whose text contains all values; it commits by itself. */
    static void insertAsText(Connection connection, TpccTable table, List<@Nullable Object[]> rows)
            throws SQLException {
        StringBuilder sql = new StringBuilder("insert into ").append(table.sqlName()).append(" (")
                .append(String.join(", ", table.columns())).append(") values ");
        for (int i = 0; i < rows.size(); i++) {
            sql.append(i == 0 ? "(" : ", (");
            @Nullable
            Object[] values = rows.get(i);
            for (int j = 0; j < values.length; j++) {
                sql.append(j == 0 ? "" : ", ");
                switch (values[j]) {
                    case null -> sql.append("null");
                    case Number number -> sql.append(number);
                    case Object other -> sql.append('\'').append(other.toString().replace("'", "''")).append('\'');
                }
            }
            sql.append(')');
        }
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql.toString());
        }
    }

    @Override
    public void integer(long value) {
        row.add(value);
    }

    @Override
    public void decimal(long unscaled, int scale) {
        row.add(BigDecimal.valueOf(unscaled, scale));
    }

    @Override
    public void text(String value) {
        row.add(value);
    }

    @Override
    public void timestamp(LocalDateTime value) {
        row.add(value);
    }

    @Override
    public void nothing() {
        row.add(null);
    }

    @Override
    public void endRow() {
        rows.add(row.toArray());
        row.clear();
        if (rows.size() == rowsPerChunk) {
            flush();
        }
    }

    /** Hands over what there is. */
    void flush() {
        if (!rows.isEmpty()) {
            sink.chunk(List.copyOf(rows));
            rows.clear();
        }
    }
}
