package tutti.engine.jdbc.rows;

import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Types;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import tutti.engine.jdbc.rows.Table.ForeignKey;
import tutti.engine.jdbc.rows.Table.UniqueKey;

/** Reads the tables of a database from what its driver tells of it. */
public final class TablesReader {
    /** Schemas of the engines, and the one that Tutti keeps its own tables in. */
    private static final Set<String> HIDDEN = Set.of("INFORMATION_SCHEMA", "SYSTEM_LOBS", "DEFINITION_SCHEMA",
            "PG_CATALOG", "TUTTI");
    /** Rules by which a child's row is never changed. */
    private static final Set<Integer> STAYS = Set.of(DatabaseMetaData.importedKeyNoAction,
            DatabaseMetaData.importedKeyRestrict);
    private static final Set<String> TYPES = Set.of("TABLE", "BASE TABLE");

    /** What a driver does not tell. */
    public interface Peculiarities {
        /** Whether a column's texts are compared by something else than their characters. */
        boolean collated(String schema, String table, String column);

        /** Whether keys with a null in them may be equal. */
        boolean nullsMeet(String schema, String table, List<String> columns);

        /** Why a table's rows cannot be replicated, to be said after its name; null if they can. */
        @Nullable
        String refusal(String schema, String table);
    }

    private final DatabaseMetaData meta;
    private final Peculiarities peculiarities;

    private TablesReader(DatabaseMetaData meta, Peculiarities peculiarities) {
        this.meta = meta;
        this.peculiarities = peculiarities;
    }

    /** Everything but system tables, views and temporary tables. */
    public static Tables read(Connection connection, Peculiarities peculiarities) throws SQLException {
        return new TablesReader(connection.getMetaData(), peculiarities).read();
    }

    private record Name(String schema, String name) {}

    /**
     * A table's columns and keys.
     *
     * @param comparable which columns' values of the same form are equal, by what is equal here
     * @param keys the columns of each, sorted
     */
    private record Body(List<String> columns, List<ValueForm> forms, List<Integer> types, List<String> comparable,
            List<String> primary,
            Set<List<String>> keys) {}

    private record Pair(String parentColumn, String column) {}

    private record Reference(Name child, Name parent, List<Pair> pairs, boolean cascades) {}

    private Tables read() throws SQLException {
        Map<Name, Body> bodies = new LinkedHashMap<>();
        for (Name name : names()) {
            bodies.put(name, body(name));
        }
        Map<Name, List<Reference>> references = new HashMap<>();
        for (Name name : bodies.keySet()) {
            references.put(name, references(name, bodies));
        }
        references.values().forEach(all -> all.forEach(reference -> makeComparable(reference, bodies)));
        List<Table> tables = new ArrayList<>();
        for (Map.Entry<Name, Body> entry : bodies.entrySet()) {
            Body body = entry.getValue();
            Name name = entry.getKey();
            List<UniqueKey> unique = body.keys().stream().map(key -> key(name, key, body)).toList();
            List<ForeignKey> foreign = references.get(name).stream().map(reference -> foreignKey(reference, bodies))
                    .toList();
            tables.add(new Table(name.schema(), name.name(), body.columns(), List.copyOf(body.forms()), body.types(),
                    body.primary().isEmpty() ? null : unique.getFirst(), unique, foreign,
                    Table.tableHash(name.schema(), name.name()),
                    peculiarities.refusal(name.schema(), name.name())));
        }
        return Tables.of(tables);
    }

    /** Where what a child's column says of its parent has another form than in the parent, all keys of that count as one. */
    private static void makeComparable(Reference reference, Map<Name, Body> bodies) {
        Body child = bodies.get(reference.child());
        Body parent = bodies.get(reference.parent());
        for (Pair pair : reference.pairs()) {
            int own = child.columns().indexOf(pair.column());
            int place = parent.columns().indexOf(pair.parentColumn());
            if (child.forms().get(own) != parent.forms().get(place)
                    || !child.comparable().get(own).equals(parent.comparable().get(place))) {
                parent.forms().set(place, ValueForm.OPAQUE);
            }
        }
    }

    private List<Name> names() throws SQLException {
        List<Name> names = new ArrayList<>();
        try (ResultSet rows = meta.getTables(null, null, "%", null)) {
            while (rows.next()) {
                String schema = rows.getString("TABLE_SCHEM");
                if (TYPES.contains(rows.getString("TABLE_TYPE")) && !HIDDEN.contains(schema)) {
                    names.add(new Name(schema, rows.getString("TABLE_NAME")));
                }
            }
        }
        return names;
    }

    private Body body(Name name) throws SQLException {
        Map<Integer, String> columns = new TreeMap<>();
        Map<Integer, ValueForm> forms = new TreeMap<>();
        Map<Integer, Integer> types = new TreeMap<>();
        Map<Integer, String> comparable = new TreeMap<>();
        try (ResultSet rows = meta.getColumns(null, pattern(name.schema()), pattern(name.name()), "%")) {
            while (rows.next()) {
                int place = rows.getInt("ORDINAL_POSITION");
                String column = rows.getString("COLUMN_NAME");
                columns.put(place, column);
                types.put(place, rows.getInt("DATA_TYPE"));
                forms.put(place, form(name, column, rows.getInt("DATA_TYPE"), rows.getString("TYPE_NAME")));
                comparable.put(place, comparable(rows.getInt("DATA_TYPE"), rows.getString("TYPE_NAME")));
            }
        }
        List<String> primary = sorted(meta.getPrimaryKeys(null, name.schema(), name.name()));
        Set<List<String>> keys = new LinkedHashSet<>();
        if (!primary.isEmpty()) {
            keys.add(primary);
        }
        keys.addAll(uniqueIndexes(name));
        return new Body(List.copyOf(columns.values()), new ArrayList<>(forms.values()), List.copyOf(types.values()),
                List.copyOf(comparable.values()), primary, keys);
    }

    private static List<String> sorted(ResultSet keys) throws SQLException {
        List<String> columns = new ArrayList<>();
        try (keys) {
            while (keys.next()) {
                columns.add(keys.getString("COLUMN_NAME"));
            }
        }
        Collections.sort(columns);
        return columns;
    }

    private List<List<String>> uniqueIndexes(Name name) throws SQLException {
        Map<String, List<String>> indexes = new TreeMap<>();
        try (ResultSet rows = meta.getIndexInfo(null, name.schema(), name.name(), true, true)) {
            while (rows.next()) {
                String column = rows.getString("COLUMN_NAME");
                if (column != null) {
                    indexes.computeIfAbsent(rows.getString("INDEX_NAME"), _ -> new ArrayList<>()).add(column);
                }
            }
        }
        indexes.values().forEach(Collections::sort);
        return List.copyOf(indexes.values());
    }

    private UniqueKey key(Name table, List<String> sorted, Body body) {
        List<Integer> places = sorted.stream().map(body.columns()::indexOf).toList();
        boolean opaque = places.stream().anyMatch(place -> body.forms().get(place) == ValueForm.OPAQUE);
        return new UniqueKey(places, Table.keySeed(table.schema(), table.name(), sorted), opaque,
                !peculiarities.nullsMeet(table.schema(), table.name(), sorted));
    }

    private List<Reference> references(Name name, Map<Name, Body> bodies) throws SQLException {
        Map<String, Name> parents = new HashMap<>();
        Set<String> cascading = new HashSet<>();
        Map<String, List<Pair>> pairs = new TreeMap<>();
        try (ResultSet rows = meta.getImportedKeys(null, name.schema(), name.name())) {
            while (rows.next()) {
                Name parent = new Name(rows.getString("PKTABLE_SCHEM"), rows.getString("PKTABLE_NAME"));
                String constraint = rows.getString("FK_NAME");
                parents.put(constraint, parent);
                if (!STAYS.contains(rows.getInt("DELETE_RULE")) || !STAYS.contains(rows.getInt("UPDATE_RULE"))) {
                    cascading.add(constraint);
                }
                pairs.computeIfAbsent(constraint, _ -> new ArrayList<>())
                        .add(new Pair(rows.getString("PKCOLUMN_NAME"), rows.getString("FKCOLUMN_NAME")));
            }
        }
        List<Reference> references = new ArrayList<>();
        for (Map.Entry<String, List<Pair>> entry : pairs.entrySet()) {
            Name parent = parents.get(entry.getKey());
            if (parent != null && bodies.containsKey(parent)) {
                List<Pair> sorted = new ArrayList<>(entry.getValue());
                sorted.sort(Comparator.comparing(Pair::parentColumn));
                references.add(new Reference(name, parent, sorted, cascading.contains(entry.getKey())));
            }
        }
        return references;
    }

    private static ForeignKey foreignKey(Reference reference, Map<Name, Body> bodies) {
        Name parent = reference.parent();
        Body body = bodies.get(parent);
        Body own = bodies.get(reference.child());
        List<String> parentColumns = reference.pairs().stream().map(Pair::parentColumn).toList();
        List<ValueForm> forms = parentColumns.stream().map(column -> body.forms().get(body.columns().indexOf(column)))
                .toList();
        return new ForeignKey(reference.pairs().stream().map(pair -> own.columns().indexOf(pair.column())).toList(),
                forms,
                parent.schema() + "." + parent.name(), parentColumns,
                Table.keySeed(parent.schema(), parent.name(), parentColumns),
                forms.contains(ValueForm.OPAQUE), reference.cascades());
    }

    /** What is the same of two columns whose values are equal, by the engine, if their forms are: exact numbers by their value, texts, and others of one type. */
    private static String comparable(int type, String typeName) {
        return switch (type) {
            case Types.CHAR, Types.VARCHAR, Types.LONGVARCHAR, Types.NCHAR, Types.NVARCHAR -> "text";
            case Types.TINYINT, Types.SMALLINT, Types.INTEGER, Types.BIGINT -> "number";
            case Types.NUMERIC, Types.DECIMAL ->
                typeName.toUpperCase(Locale.ROOT).contains("DECFLOAT") ? "DECFLOAT" : "number";
            default -> type + typeName.toUpperCase(Locale.ROOT);
        };
    }

    private ValueForm form(Name table, String column, int type, String typeName) {
        return switch (type) {
            case Types.TINYINT, Types.SMALLINT, Types.INTEGER, Types.BIGINT, Types.NUMERIC, Types.DECIMAL, Types.REAL,
                    Types.FLOAT, Types.DOUBLE, Types.BOOLEAN, Types.BIT, Types.BINARY, Types.VARBINARY,
                    Types.LONGVARBINARY, Types.DATE, Types.TIME, Types.TIMESTAMP ->
                ValueForm.PLAIN;
            case Types.CHAR, Types.VARCHAR, Types.LONGVARCHAR, Types.NCHAR, Types.NVARCHAR -> {
                if (peculiarities.collated(table.schema(), table.name(), column)) {
                    yield ValueForm.OPAQUE;
                }
                yield typeName.toUpperCase(Locale.ROOT).contains("IGNORECASE")
                        ? ValueForm.FOLDED
                        : ValueForm.PLAIN;
            }
            default -> typeName.equalsIgnoreCase("UUID") ? ValueForm.PLAIN : ValueForm.OPAQUE;
        };
    }

    /** A name as a pattern that matches nothing else. */
    private String pattern(String name) throws SQLException {
        String escape = meta.getSearchStringEscape();
        return name.replace(escape, escape + escape).replace("_", escape + "_").replace("%", escape + "%");
    }
}
