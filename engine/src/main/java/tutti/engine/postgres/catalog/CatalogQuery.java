package tutti.engine.postgres.catalog;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import tutti.engine.postgres.catalog.Table.Column;
import tutti.engine.postgres.catalog.Table.ForeignKey;
import tutti.engine.postgres.catalog.Table.UniqueKey;
import tutti.pgwire.QueryResult;

/**
 * Reads a {@link TableCatalog} out of a database: one SELECT statement, whose result {@link #read} understands. It is one, so that all
 * of it is of the same moment, while others change the schema. A session that has changed the schema in its transaction sees
 * its own changes.
 */
public final class CatalogQuery {
    private static final String TABLES = """
            c.relkind IN ('r', 'p') AND c.relpersistence <> 't' AND n.nspname <> 'tutti'
            AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%'\
            """;
    /** With what the name of an index begins that a node builds beside the order; 16 digits follow. */
    public static final String BUILT_PREFIX = "tutti_building_";
    /** In SQL, a pattern of the names of indexes that a node builds beside the order, which are none of the database's yet. */
    public static final String BUILT_NAMES = "'^" + BUILT_PREFIX + "[0-9a-f]{16}$'";
    /**
     * In SQL, the object id of the index that names the rows of the table whose object id takes the place of {@code %s}: the primary key,
     * or the first by name of those unique ones that come to one, because they are of columns that are never NULL, and of all rows; in each case
     * only if it is checked at once, since of a deferred key rows have the same values for a while. NULL if there is none. The search path begins with pg_catalog.
     */
    public static final String KEY = """
            (SELECT k.indexrelid FROM pg_catalog.pg_index k JOIN pg_catalog.pg_class kc ON kc.oid = k.indexrelid
                WHERE k.indrelid = %s AND k.indisvalid AND k.indimmediate AND (k.indisprimary OR k.indisunique
                    AND k.indpred IS NULL AND k.indexprs IS NULL
                    AND NOT EXISTS (SELECT FROM pg_catalog.pg_attribute ka WHERE ka.attrelid = k.indrelid
                        AND ka.attnum = ANY ((k.indkey::pg_catalog.int2[])[0:k.indnkeyatts - 1]) AND (NOT ka.attnotnull
                            OR ka.attcollation <> ALL ((k.indcollation::pg_catalog.oid[])[0:k.indnkeyatts - 1])))
                    AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint kn WHERE kn.conrelid = k.indrelid
                        AND kn.contype = 'n' AND NOT kn.convalidated))
                    AND kc.relname OPERATOR(pg_catalog.!~)""" + BUILT_NAMES + """

            ORDER BY NOT k.indisprimary, kc.relname COLLATE "C" LIMIT 1)""";
    private static final String TABLE = "table";
    private static final String TYPE = "type";
    private static final String INDEX = "index";
    private static final String FOREIGN_KEY = "foreign key";
    /** Names in the order of PostgreSQL's collation "C". */
    private static final Comparator<String> NAMES = Comparator.comparing(
            name -> name.getBytes(StandardCharsets.UTF_8), Arrays::compareUnsigned);

    /**
     * The statement. Its result is the same under any settings and search path, but for the order of rows and columns. A row begins with what it is of. Tables, with what names their
     * rows, are looked for once. It is executed behind each schema change, when nothing else goes on: a table is one row, whose columns are rows in text form, since of
     * those there may be tens of thousands.
     */
    public static final String SQL = """
            WITH RECURSIVE base AS (
                SELECT t.oid, t.oid AS base FROM pg_catalog.pg_type t WHERE t.typtype <> 'd'
                UNION ALL
                SELECT t.oid, b.base FROM pg_catalog.pg_type t JOIN base b ON b.oid = t.typbasetype WHERE t.typtype = 'd'
            ), user_table AS MATERIALIZED (
                SELECT c.oid, n.nspname, c.relname, c.relkind, %2$s AS named_by
                FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                WHERE %1$s
            )
            SELECT 'table' AS kind, c.oid::text AS v1, c.nspname::text AS v2, c.relname::text AS v3, c.relkind::text AS v4,
                (SELECT string_agg(ROW(a.attnum, a.attname, a.atttypid,
                        a.attcollation NOT IN (SELECT l.oid FROM pg_catalog.pg_collation l WHERE NOT l.collisdeterministic),
                        a.attgenerated <> '', a.attidentity = 'a')::text, '')
                    FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) AS v5,
                NULL AS v6, NULL AS v7, NULL AS v8, NULL AS v9, NULL AS v10
            FROM user_table c
            UNION ALL
            SELECT 'type', b.oid::text, e.typname::text, e.typtype::text, (t.oid <> e.oid)::text, (e.typnamespace = 11)::text,
                NULL, NULL, NULL, NULL, NULL
            FROM base b
                JOIN pg_catalog.pg_type t ON t.oid = b.base
                JOIN base eb ON eb.oid = CASE WHEN t.typcategory = 'A' AND t.typelem <> 0 THEN t.typelem ELSE t.oid END
                JOIN pg_catalog.pg_type e ON e.oid = eb.base
            WHERE b.oid IN (SELECT a.atttypid FROM pg_catalog.pg_attribute a WHERE a.attnum > 0)
            UNION ALL
            SELECT 'index', i.indrelid::text, i.indexrelid::text, x.relname::text, rn.nspname || '.' || r.relname,
                (SELECT string_agg(k.attnum::text, ' ' ORDER BY k.place)
                    FROM unnest(i.indkey::pg_catalog.int2[]) WITH ORDINALITY k(attnum, place)
                    WHERE k.place <= i.indnkeyatts),
                CASE WHEN i.indexprs IS NOT NULL OR i.indpred IS NOT NULL OR i.indnatts > i.indnkeyatts
                    THEN (SELECT string_agg(DISTINCT d.refobjsubid::text, ' ') FROM pg_catalog.pg_depend d
                        WHERE d.classid = 1259 AND d.objid = i.indexrelid AND d.refclassid = 1259
                            AND d.refobjid = i.indrelid AND d.refobjsubid > 0) END,
                names.rows::text, (NOT i.indnullsnotdistinct)::text,
                (i.indexprs IS NOT NULL OR i.indisexclusion)::text,
                (SELECT string_agg(k.attnum::text, ' ')
                    FROM unnest(i.indkey::pg_catalog.int2[], i.indcollation::pg_catalog.oid[], i.indclass::pg_catalog.oid[])
                            WITH ORDINALITY k(attnum, collation_oid, class, place)
                        JOIN pg_catalog.pg_opclass o ON o.oid = k.class
                        LEFT JOIN pg_catalog.pg_collation l ON l.oid = k.collation_oid
                    WHERE k.place <= i.indnkeyatts AND k.attnum <> 0
                        AND (NOT l.collisdeterministic OR o.opcnamespace <> 11 AND o.opcname <> 'citext_ops'))
            FROM pg_catalog.pg_index i
                JOIN user_table c ON c.oid = i.indrelid
                JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
                JOIN pg_catalog.pg_class r ON r.oid = coalesce(pg_catalog.pg_partition_root(i.indexrelid), i.indexrelid)
                JOIN pg_catalog.pg_namespace rn ON rn.oid = r.relnamespace
                CROSS JOIN LATERAL (SELECT (i.indexrelid IS NOT DISTINCT FROM c.named_by) AS rows) names
            WHERE (i.indisunique OR i.indisexclusion) AND x.relname OPERATOR(pg_catalog.!~) %3$s
            UNION ALL
            SELECT 'foreign key', f.conrelid::text, f.confrelid::text, f.conindid::text, array_to_string(f.conkey, ' '),
                array_to_string(f.confkey, ' '), f.conname::text, f.oid::text, NULL, NULL, NULL
            FROM pg_catalog.pg_constraint f JOIN user_table c ON c.oid = f.conrelid
            WHERE f.contype = 'f'
            """
            .formatted(TABLES, KEY.formatted("c.oid"), BUILT_NAMES);

    private final Map<Long, Type> types = new HashMap<>();
    private final Map<Long, Building> tables = new LinkedHashMap<>();
    private final Map<Long, Index> indexes = new LinkedHashMap<>();

    private CatalogQuery() {}

    /** Makes the catalog from the result of {@link #SQL}. */
    public static TableCatalog read(QueryResult result) {
        return read(result.rows());
    }

    /**
     * Makes the catalog from the rows of the same result, in text form one after the other.
     *
     * @throws IllegalArgumentException if the text is damaged
     */
    public static TableCatalog read(byte[] rows) {
        RowText row = new RowText();
        List<List<@Nullable String>> read = new ArrayList<>();
        for (int at = 0; at < rows.length; at = row.end()) {
            row.parse(rows, at);
            List<@Nullable String> values = new ArrayList<>();
            for (int i = 0; i < row.columns(); i++) {
                byte[] value = row.value(i);
                values.add(value == null ? null : new String(value, StandardCharsets.UTF_8));
            }
            read.add(values);
        }
        return read(read);
    }

    private static TableCatalog read(List<List<@Nullable String>> rows) {
        CatalogQuery query = new CatalogQuery();
        List<List<@Nullable String>> tables = new ArrayList<>();
        List<List<@Nullable String>> indexes = new ArrayList<>();
        List<Foreign> foreignKeys = new ArrayList<>();
        for (List<@Nullable String> row : rows) {
            List<@Nullable String> of = row.subList(1, row.size());
            switch (text(row, 0)) {
                case TABLE -> tables.add(of);
                case TYPE -> query.types.put(number(of, 0),
                        new Type(text(of, 1), text(of, 2).charAt(0), flag(of, 3), flag(of, 4)));
                case INDEX -> indexes.add(of);
                case FOREIGN_KEY -> foreignKeys.add(Foreign.of(of));
                default -> throw new IllegalArgumentException("the catalog query has a row of " + row.getFirst());
            }
        }
        tables.sort(Comparator.comparing((List<@Nullable String> row) -> text(row, 1), NAMES)
                .thenComparing(row -> text(row, 2), NAMES));
        tables.forEach(query::table);
        // The one that names the rows first.
        indexes.sort(Comparator.comparing((List<@Nullable String> row) -> !flag(row, 6))
                .thenComparing(row -> text(row, 2), NAMES));
        indexes.forEach(query::index);
        foreignKeys.sort(Comparator.comparing(Foreign::name, NAMES).thenComparingLong(Foreign::oid));
        foreignKeys.forEach(query::makeComparable);
        foreignKeys.forEach(query::foreignKey);
        LinkedHashMap<Long, Table> finished = new LinkedHashMap<>();
        for (Building building : query.tables.values()) {
            if (building.leaf) {
                finished.put(building.oid, building.finish());
            }
        }
        return new TableCatalog(finished);
    }

    private void table(List<@Nullable String> row) {
        String told = row.get(4);
        if (told == null) {
            // It has no columns.
            return;
        }
        Building table = new Building(number(row, 0), text(row, 1), text(row, 2), text(row, 3).equals("r"));
        tables.put(table.oid, table);
        byte[] columns = told.getBytes(StandardCharsets.UTF_8);
        RowText read = new RowText();
        TreeMap<Integer, Column> byNumber = new TreeMap<>();
        for (int at = 0; at < columns.length; at = read.end()) {
            read.parse(columns, at);
            Type type = types.get(Long.parseLong(part(read, 2)));
            if (type == null) {
                throw new IllegalArgumentException("the catalog query has no row of type " + part(read, 2));
            }
            byNumber.put(Integer.parseInt(part(read, 0)),
                    new Column(part(read, 1), type.form(part(read, 3).equals("t")),
                            type.written(), part(read, 4).equals("t"), part(read, 5).equals("t")));
        }
        table.numbers.addAll(byNumber.keySet());
        table.columns.addAll(byNumber.values());
    }

    private static String part(RowText row, int column) {
        byte[] value = row.value(column);
        if (value == null) {
            throw new IllegalArgumentException("the catalog query has a column with a NULL");
        }
        return new String(value, StandardCharsets.UTF_8);
    }

    /**
     * Of a column.
     *
     * @param name of its elements, if it is an array, beneath all domains
     * @param kind of that
     * @param array whether it is one
     * @param builtIn whether that is PostgreSQL's own
     */
    private record Type(String name, char kind, boolean array, boolean builtIn) {
        ValueForm form(boolean deterministic) {
            return ValueForm.of(name, kind, array, builtIn, deterministic);
        }

        String written() {
            return name + (array ? "[]" : "") + (builtIn ? "" : "*");
        }
    }

    private void index(List<@Nullable String> row) {
        Building table = tables.get(number(row, 0));
        if (table == null) {
            // It has no columns, and a key of constants.
            return;
        }
        Index index = new Index();
        index.name = text(row, 2);
        index.seed = KeyHash.seed("key " + text(row, 3));
        index.namesRows = flag(row, 6);
        index.nullsDistinct = flag(row, 7);
        index.opaque = flag(row, 8);
        int[] widened = numbers(row.get(9));
        for (int number : numbers(row.get(4))) {
            if (number > 0) {
                index.columns.add(table.place(number));
                index.forms.add(Arrays.stream(widened).anyMatch(other -> other == number)
                        ? ValueForm.OPAQUE
                        : table.columns.get(table.place(number)).form());
            }
        }
        index.watched.addAll(index.columns);
        for (int number : numbers(row.get(5))) {
            if (!index.watched.contains(table.place(number))) {
                index.watched.add(table.place(number));
            }
        }
        indexes.put(number(row, 1), index);
        table.indexes.add(index);
    }

    /** Where child and parent compare values of different types, the parent's key is made opaque in that column. */
    private void makeComparable(Foreign foreign) {
        Building child = building(foreign.child);
        Building parent = building(foreign.parent);
        Index index = indexes.get(foreign.index);
        if (index == null) {
            return;
        }
        for (int i = 0; i < foreign.parentColumns.length; i++) {
            int place = index.columns.indexOf(parent.place(foreign.parentColumns[i]));
            Column own = child.columns.get(child.place(foreign.childColumns[i]));
            if (place >= 0 && !own.form().comparableWith(own.type(), index.forms.get(place),
                    parent.columns.get(index.columns.get(place)).type())) {
                for (Index same : indexes.values()) {
                    if (same.seed == index.seed) {
                        same.forms.set(place, ValueForm.OPAQUE);
                    }
                }
            }
        }
    }

    private void foreignKey(Foreign foreign) {
        Building child = building(foreign.child);
        Building parent = building(foreign.parent);
        Index index = indexes.get(foreign.index);
        if (index == null || index.columns.size() != foreign.parentColumns.length) {
            throw new IllegalStateException("a foreign key of " + child.name + " names no key of " + parent.name);
        }
        List<Integer> columns = new ArrayList<>();
        List<String> names = new ArrayList<>();
        List<ValueForm> forms = new ArrayList<>();
        for (int place = 0; place < index.columns.size(); place++) {
            int parentColumn = index.columns.get(place);
            int pair = 0;
            while (parent.place(foreign.parentColumns[pair]) != parentColumn) {
                pair++;
            }
            int own = child.place(foreign.childColumns[pair]);
            columns.add(own);
            names.add(parent.columns.get(parentColumn).name());
            ValueForm form = index.forms.get(place);
            forms.add(form == ValueForm.TEXT && child.columns.get(own).form() == ValueForm.NUMBER
                    ? ValueForm.NUMBER
                    : form);
        }
        ForeignKey key = new ForeignKey(parent.schema + "." + parent.name, names, index.seed, columns, forms,
                index.opaque);
        boolean known = child.foreignKeys.stream()
                .anyMatch(other -> other.parentSeed() == key.parentSeed() && other.columns().equals(key.columns()));
        if (!known) {
            child.foreignKeys.add(key);
        }
    }

    private Building building(long oid) {
        Building table = tables.get(oid);
        if (table == null) {
            throw new IllegalStateException("a key names table " + oid + ", which has no columns");
        }
        return table;
    }

    private static String text(List<@Nullable String> row, int column) {
        String value = row.get(column);
        if (value == null) {
            throw new IllegalArgumentException("the catalog query has a NULL in column " + column);
        }
        return value;
    }

    private static long number(List<@Nullable String> row, int column) {
        return Long.parseLong(text(row, column));
    }

    private static boolean flag(List<@Nullable String> row, int column) {
        return text(row, column).equals("true");
    }

    private static int[] numbers(@Nullable String list) {
        return list == null || list.isEmpty()
                ? new int[0]
                : Arrays.stream(list.split(" ", -1)).mapToInt(Integer::parseInt).toArray();
    }

    private record Foreign(long child, long parent, long index, int[] childColumns, int[] parentColumns, String name,
            long oid) {
        static Foreign of(List<@Nullable String> row) {
            return new Foreign(number(row, 0), number(row, 1), number(row, 2), numbers(row.get(3)),
                    numbers(row.get(4)), text(row, 5), number(row, 6));
        }
    }

    private static final class Index {
        private String name = "";
        private long seed;
        private boolean namesRows;
        private boolean nullsDistinct;
        private boolean opaque;
        private final List<Integer> columns = new ArrayList<>();
        private final List<ValueForm> forms = new ArrayList<>();
        private final List<Integer> watched = new ArrayList<>();
    }

    private static final class Building {
        private final long oid;
        private final String schema;
        private final String name;
        private final boolean leaf;
        private final List<Integer> numbers = new ArrayList<>();
        private final List<Column> columns = new ArrayList<>();
        private final List<Index> indexes = new ArrayList<>();
        private final List<ForeignKey> foreignKeys = new ArrayList<>();

        Building(long oid, String schema, String name, boolean leaf) {
            this.oid = oid;
            this.schema = schema;
            this.name = name;
            this.leaf = leaf;
        }

        int place(int number) {
            int place = numbers.indexOf(number);
            if (place < 0) {
                throw new IllegalStateException("table " + name + " has no column number " + number);
            }
            return place;
        }

        Table finish() {
            List<UniqueKey> keys = indexes.stream().map(index -> new UniqueKey(index.name, index.seed, index.columns,
                    index.forms, index.watched, index.namesRows, index.nullsDistinct, index.opaque)).toList();
            return new Table(oid, schema, name, columns, keys, foreignKeys, TableCatalog.tableKey(schema, name),
                    TableCatalog.rowSeed(schema, name));
        }
    }
}
