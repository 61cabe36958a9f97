package tutti.check;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Reads the tables of a database that is in a node's own process, through its front end: nothing else can look at it. Rows
 * are read as they are and sorted here.
 */
final class JdbcTableReader extends TableReader {
    private static final int FETCH_ROWS = 1000;
    private static final Comparator<byte[]> BYTES = Arrays::compareUnsigned;
    private final Connection connection;
    private final Set<String> excluded;

    JdbcTableReader(String name, Connection connection, Set<String> bookkeepingSchemas) throws SQLException {
        super(name, connection, bookkeepingSchemas);
        this.connection = connection;
        this.excluded = bookkeepingSchemas;
        // Under protocols that order transactions before they run, one that might write would wait for that of the other replica's.
        connection.setReadOnly(true);
        connection.setAutoCommit(false);
    }

    private static String quoted(String name) {
        return '"' + name.replace("\"", "\"\"") + '"';
    }

    @Override
    Map<String, Table> tables() throws SQLException {
        DatabaseMetaData metaData = connection.getMetaData();
        List<List<String>> names = new ArrayList<>();
        try (ResultSet rows = metaData.getTables(null, null, "%", new String[]{"TABLE"})) {
            while (rows.next()) {
                String schema = rows.getString("TABLE_SCHEM");
                if (!excluded.contains(schema) && !schema.startsWith("pg_")) {
                    names.add(List.of(schema, rows.getString("TABLE_NAME")));
                }
            }
        }
        Map<String, Table> tables = new TreeMap<>();
        for (List<String> name : names) {
            Table table = table(metaData, name.getFirst(), name.getLast());
            tables.put(table.name(), table);
        }
        return tables;
    }

    private static Table table(DatabaseMetaData metaData, String schema, String name) throws SQLException {
        Set<String> definition = new TreeSet<>();
        List<String> columns = new ArrayList<>();
        try (ResultSet rows = metaData.getColumns(null, schema, name, "%")) {
            while (rows.next()) {
                columns.add(quoted(rows.getString("COLUMN_NAME")));
                definition.add("column " + rows.getString("COLUMN_NAME") + " " + rows.getString("TYPE_NAME") + "("
                        + rows.getInt("COLUMN_SIZE") + "," + rows.getInt("DECIMAL_DIGITS") + ")"
                        + (rows.getInt("NULLABLE") == DatabaseMetaData.columnNoNulls ? " not null" : "") + " default "
                        + rows.getString("COLUMN_DEF"));
            }
        }
        TreeMap<Integer, String> key = new TreeMap<>();
        try (ResultSet rows = metaData.getPrimaryKeys(null, schema, name)) {
            while (rows.next()) {
                key.put(rows.getInt("KEY_SEQ"), quoted(rows.getString("COLUMN_NAME")));
            }
        }
        try (ResultSet rows = metaData.getIndexInfo(null, schema, name, false, true)) {
            while (rows.next()) {
                definition.add("index " + rows.getString("INDEX_NAME") + " " + rows.getInt("ORDINAL_POSITION") + " "
                        + rows.getString("COLUMN_NAME") + (rows.getBoolean("NON_UNIQUE") ? "" : " unique"));
            }
        }
        try (ResultSet rows = metaData.getImportedKeys(null, schema, name)) {
            while (rows.next()) {
                definition.add("constraint " + rows.getString("FK_NAME") + " " + rows.getInt("KEY_SEQ") + " "
                        + rows.getString("FKCOLUMN_NAME") + " references " + rows.getString("PKTABLE_NAME") + "."
                        + rows.getString("PKCOLUMN_NAME"));
            }
        }
        return new Table(quoted(schema) + "." + quoted(name), true, columns, List.copyOf(key.values()), definition);
    }

    /** What is done with each row. */
    private interface Consumer {
        void row(String key, String row);
    }

    private void read(Table table, Consumer consumer) throws SQLException {
        int[] key = table.primaryKey().stream().mapToInt(table.columns()::indexOf).toArray();
        try (Statement statement = connection.createStatement()) {
            statement.setFetchSize(FETCH_ROWS);
            try (ResultSet rows = statement
                    .executeQuery("select " + String.join(", ", table.columns()) + " from " + table.name())) {
                int count = table.columns().size();
                while (rows.next()) {
                    List<String> values = new ArrayList<>(count);
                    for (int i = 1; i <= count; i++) {
                        values.add(String.valueOf(rows.getString(i)));
                    }
                    List<String> named = key.length == 0
                            ? values
                            : Arrays.stream(key).mapToObj(values::get).toList();
                    consumer.row("(" + String.join(",", named) + ")", "(" + String.join(",", values) + ")");
                }
            }
        }
    }

    @Override
    Map<String, Digest> digests(List<Table> tables) throws SQLException {
        Map<String, Digest> digests = new TreeMap<>();
        for (Table table : tables) {
            MessageDigest hash = sha256();
            long[] count = {0};
            BigInteger[] sum = {BigInteger.ZERO};
            read(table, (_, row) -> {
                count[0]++;
                sum[0] = sum[0].add(new BigInteger(1, hash.digest(row.getBytes(StandardCharsets.UTF_8))));
            });
            digests.put(table.name(), new Digest(count[0], new BigDecimal(sum[0])));
        }
        return digests;
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    private record KeyedRow(byte[] sortKey, String key, String row) {}

    /** All of a table's rows are held in memory; asked for only where two tables differ. */
    @Override
    Rows rows(Table table) throws SQLException {
        List<KeyedRow> all = new ArrayList<>();
        read(table, (key, row) -> all.add(new KeyedRow((key + '\0' + row).getBytes(StandardCharsets.UTF_8), key, row)));
        all.sort(Comparator.comparing(KeyedRow::sortKey, BYTES));
        return new Rows() {
            private int at = -1;

            @Override
            public boolean next() {
                return ++at < all.size();
            }

            @Override
            public String key() {
                return all.get(at).key();
            }

            @Override
            public String row() {
                return all.get(at).row();
            }

            @Override
            public void close() {
                all.clear();
            }
        };
    }
}
