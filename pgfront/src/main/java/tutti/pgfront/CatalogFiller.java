package tutti.pgfront;

import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Writes the rows of {@link PgCatalog}'s tables. Used under its lock. */
final class CatalogFiller {
    private static final int NAME_BYTES = 64;
    private static final int FIRST_OID = 16_384;
    private static final int PG_CATALOG = 11;
    private static final int PUBLIC = 2200;
    private static final int INFORMATION_SCHEMA = 13_000;
    private static final Set<String> HIDDEN = Set.of("INFORMATION_SCHEMA", "PG_CATALOG", "TUTTI", "SYSTEM_LOBS",
            "DEFINITION_SCHEMA");
    /** Types that no column has, and that psql and drivers ask for. */
    private static final Map<Integer, String> OTHER_TYPES = Map.of(18, "char", 19, "name", 22, "int2vector", 30,
            "oidvector", 2205, "regclass", 2278, "void", 2249, "record");
    private static final List<String> FILLED = List.of("declared_sequences", "pg_class", "pg_attribute", "pg_attrdef",
            "pg_index",
            "pg_constraint", "pg_description", "pg_depend");

    private final int sequenceStep;
    private final Connection connection;
    private final Map<String, Integer> oids = new HashMap<>();

    CatalogFiller(Connection connection, int sequenceStep) {
        this.sequenceStep = sequenceStep;
        this.connection = connection;
    }

    private int oid(String name) {
        return oids.computeIfAbsent(name, _ -> FIRST_OID + oids.size());
    }

    private void insert(String sql, @Nullable Object... values) throws SQLException {
        try (PreparedStatement insert = connection.prepareStatement(sql)) {
            for (int i = 0; i < values.length; i++) {
                insert.setObject(i + 1, values[i]);
            }
            insert.executeUpdate();
        }
    }

    /** What does not change. */
    void constants(String database, String role) throws SQLException {
        insert("INSERT INTO pg_authid (oid, rolname) VALUES (10, ?)", role);
        insert("INSERT INTO pg_database (oid, datname) VALUES (5, ?)", database);
        insert("INSERT INTO pg_namespace (oid, nspname) VALUES (?, 'pg_catalog'), (?, 'public'),"
                + " (?, 'information_schema')", PG_CATALOG, PUBLIC, INFORMATION_SCHEMA);
        for (PgType type : PgType.values()) {
            type(type.oid(), type.internalName(), type.size(), type.category(), 0, type.arrayOid(), type.display());
            if (type.arrayOid() != 0) {
                type(type.arrayOid(), "_" + type.internalName(), -1, 'A', type.oid(), 0, type.display() + "[]");
            }
        }
        for (Map.Entry<Integer, String> other : OTHER_TYPES.entrySet()) {
            type(other.getKey(), other.getValue(), other.getValue().equals("name") ? NAME_BYTES : -1, 'X', 0, 0,
                    other.getValue());
        }
        int number = 1200;
        for (String table : List.of("pg_class", "pg_attribute", "pg_type", "pg_namespace", "pg_index", "pg_constraint",
                "pg_attrdef", "pg_description", "pg_database", "pg_authid", "pg_proc", "pg_am")) {
            oids.put(PG_CATALOG + "." + table, number++);
        }
    }

    private void type(int oid, String name, int size, char category, int element, int array, String display)
            throws SQLException {
        insert("INSERT INTO pg_type (oid, typname, typlen, typcategory, typelem, typarray, typinput, display)"
                + " VALUES (?, ?, ?, ?, ?, ?, ?, ?)", oid, name, size, String.valueOf(category), element, array,
                category == 'A' ? "array_in" : name + "in", display);
    }

    /** Everything that the schema says. */
    void fill(DatabaseMetaData metaData, Connection engine) throws SQLException {
        connection.setAutoCommit(false);
        try {
            try (Statement statement = connection.createStatement()) {
                for (String table : FILLED) {
                    statement.execute("DELETE FROM " + table);
                }
            }
            for (String table : List.of("pg_class", "pg_attribute", "pg_type", "pg_namespace", "pg_index",
                    "pg_constraint", "pg_attrdef", "pg_description", "pg_database", "pg_authid", "pg_proc", "pg_am")) {
                insert("INSERT INTO pg_class (oid, relname, relnamespace, relkind) VALUES (?, ?, ?, 'r')",
                        oid(PG_CATALOG + "." + table), table, PG_CATALOG);
            }
            tables(metaData, engine);
            sequences(engine);
            connection.commit();
        } finally {
            connection.rollback();
            connection.setAutoCommit(true);
        }
    }

    private record Relation(int oid, int namespace, String schema, String name, Map<String, Integer> columns) {
        String display() {
            return CatalogFunctions.quoted(Dialect.fold(name));
        }

        Object[] numbers(List<String> names) {
            return names.stream().map(column -> columns.getOrDefault(column, 0)).toArray();
        }
    }

    private int namespace(String schema) throws SQLException {
        if (schema.equals("PUBLIC")) {
            return PUBLIC;
        }
        String name = Dialect.fold(schema);
        int oid = oid("schema " + name);
        insert("MERGE INTO pg_namespace (oid, nspname) KEY (oid) VALUES (?, ?)", oid, name);
        return oid;
    }

    private void tables(DatabaseMetaData metaData, Connection engine) throws SQLException {
        Map<String, Relation> relations = new LinkedHashMap<>();
        Map<String, String> views = views(engine);
        try (ResultSet rows = metaData.getTables(null, null, "%", null)) {
            while (rows.next()) {
                String schema = PgCatalog.text(rows, "TABLE_SCHEM");
                String type = PgCatalog.text(rows, "TABLE_TYPE").toUpperCase(Locale.ROOT);
                boolean view = type.equals("VIEW");
                if (HIDDEN.contains(schema) || (!view && !type.equals("TABLE") && !type.equals("BASE TABLE"))) {
                    continue;
                }
                String name = PgCatalog.text(rows, "TABLE_NAME");
                int namespace = namespace(schema);
                Relation relation = new Relation(oid(namespace + "." + Dialect.fold(name)), namespace, schema, name,
                        new HashMap<>());
                relations.put(schema + "." + name, relation);
                insert("INSERT INTO pg_class (oid, relname, relnamespace, relkind, relam, definition)"
                        + " VALUES (?, ?, ?, ?, ?, ?)", relation.oid, Dialect.fold(name), namespace, view ? "v" : "r",
                        view ? 0 : 2, views.get(schema + "." + name));
                comment(relation.oid, 0, rows.getString("REMARKS"));
            }
        }
        for (Relation relation : relations.values()) {
            columns(metaData, relation);
            keysAndIndexes(metaData, relation);
        }
        for (Relation relation : relations.values()) {
            references(metaData, relation, relations);
        }
    }

    private void comment(int oid, int column, @Nullable String text) throws SQLException {
        if (text != null && !text.isEmpty()) {
            insert("INSERT INTO pg_description VALUES (?, ?, ?, ?)", oid, oid(PG_CATALOG + ".pg_class"), column, text);
        }
    }

    private static Map<String, String> views(Connection engine) throws SQLException {
        Map<String, String> views = new HashMap<>();
        try (Statement statement = engine.createStatement();
                ResultSet rows = statement.executeQuery(
                        "SELECT TABLE_SCHEMA, TABLE_NAME, VIEW_DEFINITION FROM INFORMATION_SCHEMA.VIEWS")) {
            while (rows.next()) {
                views.put(rows.getString(1) + "." + rows.getString(2), rows.getString(3));
            }
        }
        return views;
    }

    private void columns(DatabaseMetaData metaData, Relation relation) throws SQLException {
        try (ResultSet rows = metaData.getColumns(null, pattern(relation.schema), pattern(relation.name), "%")) {
            while (rows.next()) {
                String name = PgCatalog.text(rows, "COLUMN_NAME");
                int number = rows.getInt("ORDINAL_POSITION");
                relation.columns.put(name, number);
                PgType.Column type = PgType.of(rows.getInt("DATA_TYPE"), rows.getString("TYPE_NAME"),
                        rows.getInt("COLUMN_SIZE"), rows.getInt("DECIMAL_DIGITS"));
                boolean identity = PgCatalog.text(rows, "IS_AUTOINCREMENT").equals("YES");
                boolean generated = !identity && PgCatalog.text(rows, "IS_GENERATEDCOLUMN").equals("YES");
                String value = identity ? null : rows.getString("COLUMN_DEF");
                insert("INSERT INTO pg_attribute (attrelid, attname, atttypid, attlen, attnum, atttypmod, attnotnull,"
                        + " atthasdef, attidentity, attgenerated, attndims) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                        relation.oid, Dialect.fold(name), type.oid(), type.size(), number, type.modifier(),
                        rows.getInt("NULLABLE") == DatabaseMetaData.columnNoNulls, value != null,
                        identity ? "d" : "", generated ? "s" : "", type.array() ? 1 : 0);
                if (value != null) {
                    insert("INSERT INTO pg_attrdef VALUES (?, ?, ?, ?)", oid("default " + relation.oid + " " + number),
                            relation.oid, number, value);
                }
                comment(relation.oid, number, rows.getString("REMARKS"));
            }
        }
        insert("UPDATE pg_class SET relnatts = ? WHERE oid = ?", relation.columns.size(), relation.oid);
    }

    private static String pattern(String name) {
        return name.replace("\\", "\\\\").replace("_", "\\_").replace("%", "\\%");
    }

    private void keysAndIndexes(DatabaseMetaData metaData, Relation relation) throws SQLException {
        TreeMap<Integer, String> primary = new TreeMap<>();
        String primaryName = null;
        try (ResultSet rows = metaData.getPrimaryKeys(null, relation.schema, relation.name)) {
            while (rows.next()) {
                primary.put(rows.getInt("KEY_SEQ"), PgCatalog.text(rows, "COLUMN_NAME"));
                primaryName = rows.getString("PK_NAME");
            }
        }
        List<String> key = List.copyOf(primary.values());
        if (!key.isEmpty()) {
            String name = Dialect.fold(primaryName == null ? relation.name + "_PKEY" : primaryName);
            int index = index(relation, name, key, true, true);
            insert("INSERT INTO pg_constraint (oid, conname, connamespace, contype, conrelid, conindid, conkey,"
                    + " definition) VALUES (?, ?, ?, 'p', ?, ?, ?, ?)", oid("constraint " + relation.oid + " " + name),
                    name, relation.namespace, relation.oid, index, relation.numbers(key),
                    "PRIMARY KEY (" + list(key) + ")");
        }
        Map<String, TreeMap<Integer, String>> indexes = new LinkedHashMap<>();
        Map<String, Boolean> unique = new HashMap<>();
        try (ResultSet rows = metaData.getIndexInfo(null, relation.schema, relation.name, false, true)) {
            while (rows.next()) {
                String name = rows.getString("INDEX_NAME");
                String column = rows.getString("COLUMN_NAME");
                if (name != null && column != null) {
                    indexes.computeIfAbsent(name, _ -> new TreeMap<>()).put(rows.getInt("ORDINAL_POSITION"), column);
                    unique.put(name, !rows.getBoolean("NON_UNIQUE"));
                }
            }
        }
        boolean backing = false;
        for (Map.Entry<String, TreeMap<Integer, String>> index : indexes.entrySet()) {
            List<String> columns = List.copyOf(index.getValue().values());
            boolean one = unique.getOrDefault(index.getKey(), false);
            if (one && columns.equals(key) && !backing) {
                backing = true;
            } else {
                index(relation, Dialect.fold(index.getKey()), columns, one, false);
            }
        }
    }

    private int index(Relation relation, String name, List<String> columns, boolean unique, boolean primary)
            throws SQLException {
        int oid = oid("index " + relation.namespace + "." + name);
        insert("INSERT INTO pg_class (oid, relname, relnamespace, relkind, relam, relnatts, definition)"
                + " VALUES (?, ?, ?, 'i', 403, ?, ?)", oid, name, relation.namespace, columns.size(),
                "CREATE " + (unique ? "UNIQUE " : "") + "INDEX " + CatalogFunctions.quoted(name) + " ON "
                        + relation.display() + " USING btree (" + list(columns) + ")");
        Integer[] zeros = new Integer[columns.size()];
        java.util.Arrays.fill(zeros, 0);
        insert("INSERT INTO pg_index (indexrelid, indrelid, indnatts, indnkeyatts, indisunique, indisprimary, indkey,"
                + " indoption, indclass, indcollation) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", oid, relation.oid,
                columns.size(), columns.size(), unique, primary, relation.numbers(columns), zeros, zeros, zeros);
        insert("UPDATE pg_class SET relhasindex = TRUE WHERE oid = ?", relation.oid);
        return oid;
    }

    private static String list(List<String> columns) {
        List<String> names = new ArrayList<>();
        columns.forEach(column -> names.add(String.valueOf(CatalogFunctions.quoted(Dialect.fold(column)))));
        return String.join(", ", names);
    }

    private record Reference(String parent, short onUpdate, short onDelete, TreeMap<Integer, String> columns,
            TreeMap<Integer, String> parents) {}

    private void references(DatabaseMetaData metaData, Relation relation, Map<String, Relation> relations)
            throws SQLException {
        Map<String, Reference> references = new LinkedHashMap<>();
        try (ResultSet rows = metaData.getImportedKeys(null, relation.schema, relation.name)) {
            while (rows.next()) {
                String name = PgCatalog.text(rows, "FK_NAME");
                Reference reference = references.get(name);
                if (reference == null) {
                    reference = new Reference(rows.getString("PKTABLE_SCHEM") + "." + rows.getString("PKTABLE_NAME"),
                            rows.getShort("UPDATE_RULE"), rows.getShort("DELETE_RULE"), new TreeMap<>(),
                            new TreeMap<>());
                    references.put(name, reference);
                }
                int place = rows.getInt("KEY_SEQ");
                reference.columns.put(place, PgCatalog.text(rows, "FKCOLUMN_NAME"));
                reference.parents.put(place, PgCatalog.text(rows, "PKCOLUMN_NAME"));
            }
        }
        for (Map.Entry<String, Reference> entry : references.entrySet()) {
            Reference reference = entry.getValue();
            Relation parent = relations.get(reference.parent);
            if (parent == null) {
                continue;
            }
            List<String> columns = List.copyOf(reference.columns.values());
            List<String> parents = List.copyOf(reference.parents.values());
            String name = Dialect.fold(entry.getKey());
            String definition = "FOREIGN KEY (" + list(columns) + ") REFERENCES " + parent.display() + "("
                    + list(parents) + ")" + rule(" ON UPDATE ", reference.onUpdate)
                    + rule(" ON DELETE ", reference.onDelete);
            int oid = oid("constraint " + relation.oid + " " + name);
            int index = keyIndex(parent, parents);
            insert("INSERT INTO pg_constraint (oid, conname, connamespace, contype, conrelid, confrelid, conindid, conkey,"
                    + " confkey, confupdtype, confdeltype, definition) VALUES (?, ?, ?, 'f', ?, ?, ?, ?, ?, ?, ?, ?)",
                    oid,
                    name, relation.namespace, relation.oid, parent.oid, index, relation.numbers(columns),
                    parent.numbers(parents), letter(reference.onUpdate), letter(reference.onDelete), definition);
            insert("INSERT INTO pg_depend VALUES (?, ?, 0, ?, ?, 0, 'n')", oid(PG_CATALOG + ".pg_constraint"), oid,
                    oid(PG_CATALOG + ".pg_class"), index);
            insert("UPDATE pg_class SET relhastriggers = TRUE WHERE oid IN (?, ?)", relation.oid, parent.oid);
        }
    }

    /** The index of the key that a reference names, or 0. */
    private int keyIndex(Relation parent, List<String> columns) throws SQLException {
        try (PreparedStatement query = connection.prepareStatement("SELECT indexrelid FROM pg_index WHERE indrelid = ?"
                + " AND indisunique AND indkey = ? ORDER BY indisprimary DESC")) {
            query.setInt(1, parent.oid);
            query.setObject(2, parent.numbers(columns));
            try (ResultSet rows = query.executeQuery()) {
                return rows.next() ? rows.getInt(1) : 0;
            }
        }
    }

    private static String letter(short rule) {
        return switch (rule) {
            case DatabaseMetaData.importedKeyCascade -> "c";
            case DatabaseMetaData.importedKeySetNull -> "n";
            case DatabaseMetaData.importedKeySetDefault -> "d";
            case DatabaseMetaData.importedKeyRestrict -> "r";
            default -> "a";
        };
    }

    private static String rule(String when, short rule) {
        return switch (rule) {
            case DatabaseMetaData.importedKeyCascade -> when + "CASCADE";
            case DatabaseMetaData.importedKeySetNull -> when + "SET NULL";
            case DatabaseMetaData.importedKeySetDefault -> when + "SET DEFAULT";
            default -> "";
        };
    }

    private void sequences(Connection engine) throws SQLException {
        try (Statement statement = engine.createStatement();
                ResultSet rows = statement.executeQuery(
                        "SELECT SEQUENCE_SCHEMA, SEQUENCE_NAME, CAST(\"INCREMENT\" AS BIGINT), MINIMUM_VALUE, MAXIMUM_VALUE"
                                + " FROM INFORMATION_SCHEMA.SEQUENCES")) {
            while (rows.next()) {
                String schema = rows.getString(1);
                if (!HIDDEN.contains(schema)) {
                    int namespace = namespace(schema);
                    String name = Dialect.fold(rows.getString(2));
                    insert("INSERT INTO pg_class (oid, relname, relnamespace, relkind, relam) VALUES (?, ?, ?, 'S', 0)",
                            oid("sequence " + namespace + "." + name), name, namespace);
                    long increment = rows.getLong(3);
                    insert("INSERT INTO declared_sequences VALUES (CURRENT_DATABASE(), ?, ?, '1', ?, ?, ?)",
                            Dialect.fold(schema), name, rows.getString(4), rows.getString(5),
                            String.valueOf(increment % sequenceStep == 0 ? increment / sequenceStep : increment));
                }
            }
        }
    }
}
