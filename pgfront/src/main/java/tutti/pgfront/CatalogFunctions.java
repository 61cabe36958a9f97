package tutti.pgfront;

import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * PostgreSQL's functions about its catalogs, as far as psql and drivers call them, over {@link PgCatalog}'s tables. Called
 * by its database, by name; a first parameter of type {@link Connection} is the calling one.
 */
public final class CatalogFunctions {
    private static final int UNLIMITED = 4;

    private CatalogFunctions() {}

    /** {@code format_type(oid, modifier)}. */
    public static @Nullable String formatType(Connection connection, @Nullable Integer oid,
            @Nullable Integer modifier) throws SQLException {
        if (oid == null) {
            return null;
        }
        PgType element = PgType.ofArrayOid(oid);
        PgType type = element == null ? PgType.ofOid(oid) : element;
        if (type == null) {
            String name = text(connection, "SELECT typname FROM pg_type WHERE oid = ?", oid);
            return name == null ? "???" : name;
        }
        String length = modifier == null || modifier < UNLIMITED ? "" : switch (type) {
            case VARCHAR, BPCHAR -> "(" + (modifier - UNLIMITED) + ")";
            case NUMERIC -> "(" + ((modifier - UNLIMITED) >> 16) + "," + ((modifier - UNLIMITED) & 0xffff) + ")";
            default -> "";
        };
        return type.display() + length + (element == null ? "" : "[]");
    }

    /** {@code pg_get_expr(expression, relation)}. */
    public static @Nullable String getExpression(@Nullable String expression, @Nullable Integer relation) {
        return expression;
    }

    /** {@code pg_get_expr(expression, relation, pretty)}. */
    public static @Nullable String getExpression(@Nullable String expression, @Nullable Integer relation,
            boolean pretty) {
        return expression;
    }

    /** {@code pg_get_userbyid(oid)}. */
    public static @Nullable String roleName(Connection connection, int oid) throws SQLException {
        return text(connection, "SELECT rolname FROM pg_authid WHERE oid = ?", oid);
    }

    /** {@code pg_table_is_visible(oid)}: in the schema in which names are looked up. */
    public static boolean visible(Connection connection, @Nullable Integer oid) throws SQLException {
        return oid != null && text(connection, "SELECT c.relname FROM pg_class c JOIN pg_namespace n"
                + " ON n.oid = c.relnamespace WHERE c.oid = ? AND n.nspname IN ('public', 'pg_catalog')", oid) != null;
    }

    /** Whether something else than a table is visible: yes. */
    public static boolean always(@Nullable Integer oid) {
        return true;
    }

    /** {@code pg_get_indexdef(oid)}, and of views and sequences. */
    public static @Nullable String definition(Connection connection, @Nullable Integer oid) throws SQLException {
        return oid == null ? null : text(connection, "SELECT definition FROM pg_class WHERE oid = ?", oid);
    }

    /** {@code pg_get_viewdef(oid, pretty)}. */
    public static @Nullable String definition(Connection connection, @Nullable Integer oid, boolean pretty)
            throws SQLException {
        return definition(connection, oid);
    }

    /** {@code pg_get_indexdef(oid, column, pretty)}: the whole, or one column's name. */
    public static @Nullable String definition(Connection connection, @Nullable Integer oid, int column,
            boolean pretty) throws SQLException {
        if (oid == null || column == 0) {
            return definition(connection, oid);
        }
        try (PreparedStatement query = connection
                .prepareStatement("SELECT a.attname FROM pg_index i JOIN pg_attribute a"
                        + " ON a.attrelid = i.indrelid AND a.attnum = i.indkey[?] WHERE i.indexrelid = ?")) {
            query.setInt(1, column);
            query.setInt(2, oid);
            try (ResultSet rows = query.executeQuery()) {
                return rows.next() ? rows.getString(1) : null;
            }
        }
    }

    /** {@code pg_get_constraintdef(oid)}. */
    public static @Nullable String constraint(Connection connection, @Nullable Integer oid) throws SQLException {
        return oid == null ? null : text(connection, "SELECT definition FROM pg_constraint WHERE oid = ?", oid);
    }

    /** {@code pg_get_constraintdef(oid, pretty)}. */
    public static @Nullable String constraint(Connection connection, @Nullable Integer oid, boolean pretty)
            throws SQLException {
        return constraint(connection, oid);
    }

    /** {@code obj_description(oid, catalog)}: the comment on a table. */
    public static @Nullable String description(Connection connection, @Nullable Integer oid,
            @Nullable String catalog) throws SQLException {
        return oid == null
                ? null
                : text(connection, "SELECT description FROM pg_description WHERE objsubid = 0 AND objoid = ?", oid);
    }

    /** {@code col_description(oid, column)}. */
    public static @Nullable String columnDescription(Connection connection, @Nullable Integer oid,
            @Nullable Integer column) throws SQLException {
        return oid == null || column == null
                ? null
                : text(connection, "SELECT description FROM pg_description WHERE objsubid = " + column
                        + " AND objoid = ?", oid);
    }

    /** {@code to_regtype(name)}, and casts of texts to regtype: the number of a type. */
    public static @Nullable Integer typeNumber(Connection connection, @Nullable String name) throws SQLException {
        if (name == null) {
            return null;
        }
        String plain = name.toLowerCase(Locale.ROOT).replaceFirst("^pg_catalog\\.", "").replace("\"", "");
        boolean array = plain.endsWith("[]");
        PgType type = PgType.ofName(array ? plain.substring(0, plain.length() - 2) : plain);
        if (type != null) {
            return array ? type.arrayOid() : type.oid();
        }
        String oid = text(connection, "SELECT CAST(oid AS VARCHAR) FROM pg_type WHERE typname = ?", plain);
        return oid == null ? null : Integer.valueOf(oid);
    }

    /** {@code to_regclass(name)}, and casts to regclass: the number of a table. */
    public static @Nullable Integer relation(Connection connection, @Nullable String name) throws SQLException {
        if (name == null) {
            return null;
        }
        if (name.matches("\\d{1,9}")) {
            return Integer.valueOf(name);
        }
        String[] parts = name.split("\\.", 2);
        String relation = parts[parts.length - 1];
        String plain = relation.startsWith("\"") ? relation.replace("\"", "") : relation.toLowerCase(Locale.ROOT);
        String schema = parts.length == 2 ? parts[0].replace("\"", "") : "public";
        String oid = text(connection, "SELECT CAST(c.oid AS VARCHAR) FROM pg_class c JOIN pg_namespace n"
                + " ON n.oid = c.relnamespace WHERE n.nspname = '" + schema.replace("'", "''") + "' AND c.relname = ?",
                plain);
        return oid == null ? null : Integer.valueOf(oid);
    }

    /** A number cast to regclass: the name. */
    public static @Nullable String relationName(Connection connection, @Nullable Integer oid) throws SQLException {
        return oid == null ? null : text(connection, "SELECT relname FROM pg_class WHERE oid = ?", oid);
    }

    /** {@code array_to_string(array, separator)}. */
    public static @Nullable String join(@Nullable Array array, String separator) throws SQLException {
        if (array == null) {
            return null;
        }
        List<String> parts = new ArrayList<>();
        for (Object part : (Object[]) array.getArray()) {
            if (part != null) {
                parts.add(part.toString());
            }
        }
        return String.join(separator, parts);
    }

    /** An element of an array of numbers, from 1; null beyond its end. */
    public static @Nullable Integer element(@Nullable Array array, int index) throws SQLException {
        Object[] elements = array == null ? new Object[0] : (Object[]) array.getArray();
        return index < 1 || index > elements.length || elements[index - 1] == null
                ? null
                : ((Number) elements[index - 1]).intValue();
    }

    /** {@code pg_partition_ancestors(table)}: there are none. */
    public static @Nullable Integer ancestor(@Nullable String table) {
        return null;
    }

    /** {@code array_upper(array, dimension)}. */
    public static int length(Array array, int dimension) throws SQLException {
        return ((Object[]) array.getArray()).length;
    }

    /** {@code pg_encoding_to_char(encoding)}. */
    public static String encoding(int encoding) {
        return "UTF8";
    }

    /** {@code current_setting(name)}. */
    public static @Nullable String setting(Connection connection, String name) throws SQLException {
        return text(connection, "SELECT setting FROM pg_settings WHERE name = ?", name.toLowerCase(Locale.ROOT));
    }

    /** {@code current_setting(name, missing ok)}. */
    public static @Nullable String setting(Connection connection, String name, boolean missing) throws SQLException {
        return setting(connection, name);
    }

    /** {@code version()}. */
    public static @Nullable String version(Connection connection) throws SQLException {
        return setting(connection, "version");
    }

    /** {@code current_database()}. */
    public static @Nullable String database(Connection connection) throws SQLException {
        return setting(connection, "current_database");
    }

    /** {@code current_schemas(implicit)}. */
    public static String[] schemas(boolean implicit) {
        return implicit ? new String[]{"pg_catalog", "public"} : new String[]{"public"};
    }

    /** {@code has_table_privilege(table, privilege)} and the like: the one role may do everything. */
    public static boolean privileged(@Nullable String thing, @Nullable String privilege) {
        return true;
    }

    /** The same of a named role. */
    public static boolean privileged(@Nullable String role, @Nullable String thing, @Nullable String privilege) {
        return true;
    }

    /** What there is to say of functions, of which the catalog has none. */
    public static @Nullable String nothing(@Nullable Integer oid) {
        return null;
    }

    /** The same, with line breaks or without. */
    public static @Nullable String nothing(@Nullable Integer oid, boolean pretty) {
        return null;
    }

    /** {@code pg_is_in_recovery()}: never, a node that answers has caught up. */
    public static boolean recovering() {
        return false;
    }

    /** {@code pg_relation_size} and the like: not known. */
    public static long size(@Nullable String thing) {
        return 0;
    }

    /** {@code pg_size_pretty(bytes)}. */
    public static String pretty(long bytes) {
        return bytes + " bytes";
    }

    /** {@code quote_ident(name)}. */
    public static @Nullable String quoted(@Nullable String name) {
        return name == null || name.matches("[a-z_][a-z0-9_]*") ? name : '"' + name.replace("\"", "\"\"") + '"';
    }

    private static @Nullable String text(Connection connection, String query, Object parameter) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(query)) {
            statement.setObject(1, parameter);
            try (ResultSet rows = statement.executeQuery()) {
                return rows.next() ? rows.getString(1) : null;
            }
        }
    }
}
