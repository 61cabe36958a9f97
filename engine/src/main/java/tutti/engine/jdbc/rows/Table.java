package tutti.engine.jdbc.rows;

import java.sql.SQLException;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.engine.postgres.catalog.KeyHash;

/**
 * A table as capture and appliers know it. Columns are counted from 0 in the order of the table.
 *
 * @param schema as the engine spells it
 * @param name as the engine spells it
 * @param columns names
 * @param forms how each column's values are compared
 * @param types of the columns, as {@link java.sql.Types} has them
 * @param primaryKey null if it has none
 * @param uniqueKeys all of them, the primary key included
 * @param foreignKeys what it refers to
 * @param hash the key of the table itself
 * @param unsupported why the engine's rows of this table cannot be replicated, to be said after its name; null if they can
 */
public record Table(String schema, String name, List<String> columns, List<ValueForm> forms,
        List<Integer> types, @Nullable UniqueKey primaryKey, List<UniqueKey> uniqueKeys, List<ForeignKey> foreignKeys,
        long hash, @Nullable String unsupported) {

    /**
     * Why its rows must not be changed: {@code 55000} without a primary key, {@code 0A000} if the engine cannot tell what
     * has changed. Null if they may.
     */
    public @Nullable SQLException refusal() {
        if (unsupported != null) {
            return new SQLException("table " + displayName() + " " + unsupported, "0A000");
        }
        return primaryKey == null
                ? new SQLException(
                        "table " + displayName() + " has no primary key, so its changes cannot be replicated: "
                                + "ALTER TABLE ... ADD PRIMARY KEY first",
                        "55000")
                : null;
    }

    /** For each column whether some unique or foreign key has it. */
    public boolean[] inKeys() {
        boolean[] in = inUniqueKeys();
        foreignKeys.forEach(key -> key.columns().forEach(column -> in[column] = true));
        return in;
    }

    /** For each column whether some unique key has it. */
    public boolean[] inUniqueKeys() {
        boolean[] in = new boolean[columns.size()];
        uniqueKeys.forEach(key -> key.columns().forEach(column -> in[column] = true));
        return in;
    }

    /**
     * A set of columns whose values tell rows apart. Named by the columns, not by the constraint, so that a foreign key
     * finds it.
     *
     * @param columns by name, so that two ways to write the same key have the same hash
     * @param seed where its hashes begin
     * @param opaque whether all its values count as one
     * @param nullsDistinct whether a key with a null meets no other
     */
    public record UniqueKey(List<Integer> columns, long seed, boolean opaque, boolean nullsDistinct) {}

    /**
     * A reference to another table's unique key.
     *
     * @param columns of this table, in the order of the parent's key
     * @param forms how the parent compares them
     * @param parent the parent's name for a person
     * @param parentColumns names
     * @param parentSeed the seed of the parent's key
     * @param opaque whether the parent's key is
     * @param cascades whether rows of this table change with the parent's
     */
    public record ForeignKey(List<Integer> columns, List<ValueForm> forms, String parent, List<String> parentColumns,
            long parentSeed, boolean opaque, boolean cascades) {}

    /** Of the names, which tell the tables of a database apart; tables are keys of maps, several times for each row. */
    @Override
    public int hashCode() {
        return 31 * schema.hashCode() + name.hashCode();
    }

    /** The table as a person reads it. */
    public String displayName() {
        return schema + "." + name;
    }

    static long tableHash(String schema, String name) {
        return KeyHash.finish(KeyHash.seed("table " + quote(schema) + "." + quote(name)));
    }

    /** The seed of the key of that table with these columns, sorted. */
    static long keySeed(String schema, String name, List<String> columns) {
        return KeyHash.seed("key " + quote(schema) + "." + quote(name) + " "
                + columns.stream().map(Table::quote).toList());
    }

    private static String quote(String name) {
        return '"' + name.replace("\"", "\"\"") + '"';
    }
}
