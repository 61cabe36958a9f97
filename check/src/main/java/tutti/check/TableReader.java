package tutti.check;

import java.math.BigDecimal;
import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Tells what tables one database has, how they are defined and what is in them; of a PostgreSQL server (of another database,
 * {@link JdbcTableReader}): all in one snapshot, with the
 * settings pinned that the text form of values depends on. One thread at a time.
 */
class TableReader implements AutoCloseable {
    private static final int FETCH_ROWS = 2_000;
    private static final String SETTINGS = """
            set datestyle to 'ISO, YMD'; set intervalstyle to 'postgres'; set timezone to 'UTC';
            set extra_float_digits to 1; set bytea_output to 'hex'; set xmlbinary to 'base64';
            set lc_monetary to 'C'; set search_path to pg_catalog; set statement_timeout to 0;
            set default_transaction_isolation to 'repeatable read'; set default_transaction_read_only to on""";
    private static final String TABLES = """
            select c.oid::bigint, quote_ident(n.nspname) || '.' || quote_ident(c.relname), c.relkind = 'r'
            from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
            where c.relkind in ('r', 'p') and c.relpersistence <> 't' and n.nspname not like 'pg\\_%'
            and n.nspname <> 'information_schema' and n.nspname <> all (?)""";
    private static final String COLUMNS = """
            select quote_ident(a.attname), 'column ' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
            || case when a.attcollation <> t.typcollation then ' collate ' || a.attcollation::regcollation::text else '' end
            || case when a.attnotnull then ' not null' else '' end || case a.attidentity when '' then ''
            else ' identity ' || a.attidentity::text end || case a.attgenerated when '' then ''
            else ' generated ' || a.attgenerated::text end
            || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '')
            from pg_attribute as a join pg_type as t on t.oid = a.atttypid
            left join pg_attrdef as d on d.adrelid = a.attrelid and d.adnum = a.attnum
            where a.attrelid = ?::oid and a.attnum > 0 and not a.attisdropped order by a.attnum""";
    private static final String REST = """
            select 'constraint ' || conname || ' ' || pg_get_constraintdef(oid) from pg_constraint
            where conrelid = ?::oid and contype <> 'n'
            union all select 'index ' || pg_get_indexdef(indexrelid) || case when indisvalid then '' else ' (invalid)' end
            from pg_index where indrelid = ?::oid""";
    private static final String KEY = """
            select quote_ident(a.attname) from pg_index as i cross join lateral unnest(i.indkey) with ordinality as k (n, o)
            join pg_attribute as a on a.attrelid = i.indrelid and a.attnum = k.n
            where i.indrelid = ?::oid and i.indisprimary order by k.o""";

    private static final String LARGE_OBJECTS = "select exists (select from pg_largeobject_metadata)"
            + " and has_table_privilege('pg_largeobject', 'select')";
    /** Where large objects lie, and whose they are; roles have other object ids at each server. */
    private static final List<Table> OF_LARGE_OBJECTS = List.of(
            new Table("pg_catalog.pg_largeobject", true, List.of("loid", "pageno", "data"), List.of("loid", "pageno"),
                    Set.of()),
            new Table("pg_catalog.pg_largeobject_metadata", true, List.of("oid", "pg_get_userbyid(lomowner)",
                    """
                            (select string_agg(concat(pg_get_userbyid(a.grantee), a.privilege_type, a.is_grantable), ',' order by
                            a.grantee = 0, pg_get_userbyid(a.grantee), a.privilege_type) from aclexplode(lomacl) as a)"""),
                    List.of("oid"), Set.of()));

    private final String name;
    private final Connection connection;
    private final Set<String> bookkeepingSchemas;

    TableReader(String name, Connection connection, Set<String> bookkeepingSchemas) {
        this.name = name;
        this.connection = connection;
        this.bookkeepingSchemas = bookkeepingSchemas;
    }

    /**
     * A table.
     *
     * @param name with its schema, quoted as SQL needs it
     * @param holdsRows whether it has rows of its own, as a partitioned table has not
     * @param columns in order, quoted as SQL needs them
     * @param primaryKey its columns, quoted as SQL needs them; empty if there is none
     * @param definition everything else that must be the same, one text per column, constraint and index
     */
    record Table(String name, boolean holdsRows, List<String> columns, List<String> primaryKey,
            Set<String> definition) {
        /** Text of a whole row. */
        String rowText() {
            return "row(" + String.join(", ", columns) + ")::text";
        }

        /** Text of what names a row: its key, or all of it if it has none. */
        String keyText() {
            return primaryKey.isEmpty() ? rowText() : "row(" + String.join(", ", primaryKey) + ")::text";
        }
    }

    /** What a table holds, whatever the order. */
    record Digest(long rows, BigDecimal sum) {}

    /** Takes the connection over. */
    static TableReader open(String name, Connection connection, Set<String> bookkeepingSchemas) throws SQLException {
        if (connection.getMetaData().getDatabaseProductVersion().contains("Tutti")) {
            return new JdbcTableReader(name, connection, bookkeepingSchemas);
        }
        TableReader reader = new TableReader(name, connection, bookkeepingSchemas);
        try (Statement statement = connection.createStatement()) {
            statement.execute(SETTINGS);
        } catch (SQLException e) {
            connection.close();
            throw e;
        }
        connection.setAutoCommit(false);
        return reader;
    }

    String name() {
        return name;
    }

    /** By name. */
    Map<String, Table> tables() throws SQLException {
        Map<String, Table> tables = new TreeMap<>();
        Array excluded = connection.createArrayOf("text", bookkeepingSchemas.toArray());
        try (PreparedStatement statement = connection.prepareStatement(TABLES)) {
            statement.setArray(1, excluded);
            try (ResultSet row = statement.executeQuery()) {
                while (row.next()) {
                    long oid = row.getLong(1);
                    Set<String> definition = new TreeSet<>(texts(REST, 1, oid, oid));
                    definition.addAll(texts(COLUMNS, 2, oid));
                    tables.put(row.getString(2), new Table(row.getString(2), row.getBoolean(3), texts(COLUMNS, 1, oid),
                            texts(KEY, 1, oid), definition));
                }
            }
        }
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(LARGE_OBJECTS)) {
            if (row.next() && row.getBoolean(1)) {
                OF_LARGE_OBJECTS.forEach(table -> tables.put(table.name(), table));
            }
        }
        return tables;
    }

    private List<String> texts(String sql, int column, long... oids) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            for (int i = 0; i < oids.length; i++) {
                statement.setLong(i + 1, oids[i]);
            }
            List<String> texts = new ArrayList<>();
            try (ResultSet row = statement.executeQuery()) {
                while (row.next()) {
                    texts.add(row.getString(column));
                }
            }
            return texts;
        }
    }

    /** Digests of these tables, by name. */
    Map<String, Digest> digests(List<Table> tables) throws SQLException {
        Map<String, Digest> digests = new TreeMap<>();
        try (Statement statement = connection.createStatement()) {
            for (Table table : tables) {
                try (ResultSet row = statement.executeQuery("select count(*), coalesce(sum(('x' || left(md5("
                        + table.rowText() + "), 16))::bit(64)::bigint), 0) from only " + table.name())) {
                    row.next();
                    digests.put(table.name(), new Digest(row.getLong(1), row.getBigDecimal(2)));
                }
            }
        }
        return digests;
    }

    /** All rows as (key text, row text), in the order of the UTF-8 bytes of the two. The caller closes the result. */
    Rows rows(Table table) throws SQLException {
        Statement statement = connection.createStatement();
        try {
            statement.setFetchSize(FETCH_ROWS);
            return new SortedRows(statement, statement.executeQuery("select " + table.keyText() + " collate \"C\", "
                    + table.rowText() + " collate \"C\" from only " + table.name() + " order by 1, 2"));
        } catch (SQLException e) {
            statement.close();
            throw e;
        }
    }

    /** A stream of rows. */
    interface Rows extends AutoCloseable {
        /** Goes to the next row; false at the end. */
        boolean next() throws SQLException;

        String key() throws SQLException;

        String row() throws SQLException;

        @Override
        void close() throws SQLException;
    }

    /** Rows as the server sorts them. */
    private record SortedRows(Statement statement, ResultSet result) implements Rows {
        @Override
        public boolean next() throws SQLException {
            return result.next();
        }

        @Override
        public String key() throws SQLException {
            return result.getString(1);
        }

        @Override
        public String row() throws SQLException {
            return result.getString(2);
        }

        @Override
        public void close() throws SQLException {
            statement.close();
        }
    }

    @Override
    public void close() throws SQLException {
        connection.close();
    }
}
