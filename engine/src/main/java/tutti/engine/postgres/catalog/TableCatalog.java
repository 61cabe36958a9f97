package tutti.engine.postgres.catalog;

import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * All replicated tables of a database as they were at one moment. Immutable; after a schema change a new one is loaded.
 */
public final class TableCatalog {
    /** The key ("schema"): referred to by every write set, changed by every schema change. */
    public static final long SCHEMA_KEY = KeyHash.seed("schema");
    private static final long SEQUENCES = KeyHash.seed("sequence");
    private static final long LARGE_OBJECTS = KeyHash.seed("large object");
    /** Of a database without tables. */
    public static final TableCatalog EMPTY = new TableCatalog(Map.of());

    private final Map<Long, Table> byOid;
    /** By schema, then by name. */
    private final Map<String, Map<String, Table>> byName = new HashMap<>();

    TableCatalog(Map<Long, Table> byOid) {
        this.byOid = java.util.Collections.unmodifiableMap(byOid);
        byOid.values().forEach(
                table -> byName.computeIfAbsent(table.schema(), _ -> new HashMap<>()).put(table.name(), table));
    }

    /** The table with that object id at this node, or null. */
    public @Nullable Table table(long oid) {
        return byOid.get(oid);
    }

    /** The table of that name, or null. */
    public @Nullable Table table(String schema, String name) {
        return byName.getOrDefault(schema, Map.of()).get(name);
    }

    /** All tables, by schema and name. */
    public Collection<Table> tables() {
        return byOid.values();
    }

    /** The key ("table", name). */
    public static long tableKey(String schema, String name) {
        return KeyHash.seed("table " + nameKey(schema, name));
    }

    /** The seed of the keys ("row", table name, values). */
    static long rowSeed(String schema, String name) {
        return KeyHash.seed("row " + nameKey(schema, name));
    }

    private static String nameKey(String schema, String name) {
        return Table.quote(schema) + "." + Table.quote(name);
    }

    /** The key that stands for where a sequence stands, and who has which share of it. */
    public static long sequenceKey(String schema, String name) {
        return key(SEQUENCES, List.of(schema, name));
    }

    /** The key that stands for all of a large object, which has this object id. */
    public static long largeObjectKey(String object) {
        return key(LARGE_OBJECTS, List.of(object));
    }

    private static long key(long seed, List<String> parts) {
        long hash = seed;
        for (String part : parts) {
            byte[] bytes = part.getBytes(StandardCharsets.UTF_8);
            hash = KeyHash.part(hash, bytes, 0, bytes.length);
        }
        return KeyHash.finish(hash);
    }
}
