package tutti.engine.postgres.apply;

import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine.PlacementPlan;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.WriteSet;
import tutti.engine.postgres.capture.Changes;
import tutti.engine.postgres.capture.Changes.TableName;
import tutti.engine.postgres.capture.Statement;
import tutti.engine.postgres.catalog.Table;
import tutti.engine.postgres.catalog.TableCatalog;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.PostgresException;

/** Tables that are kept on some nodes only, as the nodes speak of them (docs/decisions/0115). */
public final class Placements {
    private static final KeySet KEYS = new KeySet.Builder().add(TableCatalog.SCHEMA_KEY, KeyKind.EXCLUSIVE).build();
    private static final int PARTS_MAX = 2;

    private Placements() {}

    /**
     * Which tables' rows a write set changes, by the keys that it names them by. What is no row, every node makes: it is of the schema.
     *
     * @throws IllegalArgumentException if it is damaged
     */
    public static Set<Long> changedTables(WriteSet writes) {
        Set<Long> changed = new TreeSet<>();
        new Changes.Reader(writes.changes()).forEachRemaining(change -> {
            TableName table = change.table();
            changed.add(table == null
                    ? TableCatalog.SCHEMA_KEY
                    : TableCatalog.tableKey(table.schema(), table.name()));
        });
        return changed;
    }

    /**
     * Finds out what places tables, and whether it can be done.
     *
     * @param tables as a person names them
     * @param keepers none to forget a placement
     * @return fails with what the server says if it cannot
     */
    public static CompletableFuture<PlacementPlan> prepare(BackendConnection connection, List<String> tables,
            Set<Integer> keepers) {
        String sql = tables.stream().map(Placements::parsed)
                .collect(Collectors.joining(" UNION ALL "));
        return connection.query(sql).thenCompose(result -> {
            SortedMap<String, TableName> names = new TreeMap<>();
            for (List<@Nullable String> row : result.rows()) {
                if (Integer.parseInt(String.valueOf(row.get(2))) > PARTS_MAX) {
                    throw new PostgresException(ErrorFields.of("ERROR", "42601",
                            "a table is named by its schema and its name, in this order and with a period between"));
                }
                names.put(String.valueOf(row.get(3)),
                        new TableName(String.valueOf(row.get(0)), String.valueOf(row.get(1))));
            }
            return plan(connection, names, keepers);
        });
    }

    /** Asks for a name as SQL has it, in the schema public if it does not say another one; the last column is as SQL needs it. */
    private static String parsed(String table) {
        return """
                SELECT schema, name, size, pg_catalog.concat(pg_catalog.quote_ident(schema), '.', pg_catalog.quote_ident(name))
                    FROM (SELECT CASE pg_catalog.cardinality(parts) WHEN 1 THEN 'public' ELSE parts[1] END,
                            parts[pg_catalog.cardinality(parts)], pg_catalog.cardinality(parts)
                        FROM pg_catalog.parse_ident(%s) AS parts) AS parsed(schema, name, size)"""
                .formatted(Table.literal(table));
    }

    private static CompletableFuture<PlacementPlan> plan(BackendConnection connection,
            SortedMap<String, TableName> names, Set<Integer> keepers) {
        List<String> parts = names.values().stream().flatMap(name -> Stream.of(name.schema(), name.name())).toList();
        String nodes = new TreeSet<>(keepers).stream().map(String::valueOf).collect(Collectors.joining(", "));
        TreeMap<String, Long> keys = new TreeMap<>();
        names.forEach((shown, name) -> keys.put(shown, TableCatalog.tableKey(name.schema(), name.name())));
        return connection.query("SELECT tutti.check_placement(" + Table.literal(array(parts)) + ", "
                + Table.literal(nodes) + ")")
                .thenApply(_ -> new PlacementPlan(keys, Statement.placement(parts, nodes).toBytes(), KEYS));
    }

    /** Tells what came of it. */
    public static void tell(CompletableFuture<PlacementPlan> prepared, Completion<PlacementPlan> done) {
        CompletableFuture<Void> _ = prepared.handle((plan, failed) -> {
            Throwable cause = failed instanceof CompletionException && failed.getCause() != null
                    ? failed.getCause()
                    : failed;
            if (plan != null) {
                done.succeeded(plan);
            } else if (cause instanceof PostgresException refused) {
                String hint = refused.fields().get('H');
                done.failed(new EngineFailure(refused.sqlState(),
                        refused.fields().message() + (hint == null ? "" : ". " + hint), false));
            } else {
                done.failed(new EngineFailure("08006", String.valueOf(cause), EngineFailure.Kind.TROUBLE));
            }
            return null;
        });
    }

    /** An array of texts as SQL has it. */
    static String array(Collection<String> texts) {
        return texts.stream().map(text -> '"' + text.replace("\\", "\\\\").replace("\"", "\\\"") + '"')
                .collect(Collectors.joining(",", "{", "}"));
    }
}
