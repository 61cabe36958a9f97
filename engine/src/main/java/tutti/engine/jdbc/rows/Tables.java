package tutti.engine.jdbc.rows;

import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** All tables of a database at one time. Immutable. */
public final class Tables {
    /** Of a database without tables. */
    public static final Tables EMPTY = new Tables(Map.of());

    private final Map<Name, Table> byName;
    private final boolean allWritable;

    private record Name(String schema, String name) {}

    private Tables(Map<Name, Table> byName) {
        this.byName = byName;
        this.allWritable = byName.values().stream().allMatch(table -> table.refusal() == null);
    }

    /** Whether the rows of every table may be changed. */
    public boolean allWritable() {
        return allWritable;
    }

    static Tables of(Collection<Table> tables) {
        Map<Name, Table> byName = new LinkedHashMap<>();
        for (Table table : tables) {
            byName.put(new Name(table.schema(), table.name()), table);
        }
        return new Tables(byName);
    }

    /** The table of that name, or null. */
    public @Nullable Table find(String schema, String name) {
        return byName.get(new Name(schema, name));
    }

    /** Every one. */
    public Collection<Table> all() {
        return byName.values();
    }
}
