package tutti.engine.postgres.apply;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import tutti.engine.postgres.capture.Changes.Change;
import tutti.engine.postgres.capture.Changes.TableName;
import tutti.pgwire.QueryResult;

/** Tables that some nodes lack (docs/decisions/0115), as one node's database knows them. Immutable. */
public final class PlacedTables {
    /** What {@link #read} understands; the same under any settings and search path. */
    public static final String SQL = """
            SELECT p.schema_name, p.table_name, tutti.nodes(p.keepers), e.table_name IS NULL
                FROM tutti.placed p LEFT JOIN tutti.placed_elsewhere e USING (schema_name, table_name)""";
    /** All nodes keep all tables. */
    public static final PlacedTables NONE = new PlacedTables(Map.of());

    private final Map<TableName, Placed> tables;

    /**
     * How one is placed.
     *
     * @param keepers the nodes that keep it, in words
     * @param here whether this node is one of them
     */
    private record Placed(String keepers, boolean here) {}

    private PlacedTables(Map<TableName, Placed> tables) {
        this.tables = Map.copyOf(tables);
    }

    /** From the result of {@link #SQL}. */
    static PlacedTables read(QueryResult result) {
        return result.rows().isEmpty()
                ? NONE
                : new PlacedTables(result.rows().stream().collect(Collectors.toMap(
                        row -> new TableName(String.valueOf(row.get(0)), String.valueOf(row.get(1))),
                        row -> new Placed(String.valueOf(row.get(2)), "t".equals(row.get(3))))));
    }

    /** Those of some changes that are made here: not of rows that only other nodes keep. */
    List<Change> kept(List<Change> changes) {
        return tables.isEmpty() ? changes : changes.stream().filter(change -> keeps(change.table())).toList();
    }

    private boolean keeps(@Nullable TableName name) {
        Placed table = name == null ? null : tables.get(name);
        return table == null || table.here();
    }

    /**
     * Why a statement is refused that reads a table without telling the engine's planner; null if it is not.
     *
     * @param named whether it names a table, by the last part of its name as the catalog has it
     */
    public @Nullable String lacked(Predicate<String> named) {
        Map<String, String> found = new TreeMap<>();
        tables.forEach((name, placed) -> {
            if (!placed.here() && named.test(name.name())) {
                found.put(name.schema() + "." + name.name(), placed.keepers());
            }
        });
        return found.entrySet().stream().findFirst().map(table -> "table " + table.getKey()
                + " is not kept on this node, only on " + table.getValue()).orElse(null);
    }

    /**
     * Whether some nodes lack a table of this name, whatever its schema.
     *
     * @param written the name, as a statement has it
     */
    public boolean mayBe(String written) {
        String last = written.substring(written.lastIndexOf('.') + 1).replace("\"", "").strip();
        return tables.keySet().stream().anyMatch(name -> name.name().equalsIgnoreCase(last));
    }
}
