package tutti.engine.postgres.apply;

import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import tutti.engine.postgres.capture.Changes.Change;
import tutti.engine.postgres.capture.Changes.TableName;
import tutti.engine.postgres.catalog.CatalogQuery;
import tutti.engine.postgres.catalog.TableCatalog;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.QueryResult;

/**
 * What an applier knows of the database, as of one moment. Immutable.
 *
 * @param catalog its tables
 * @param functions what writes their rows
 * @param elsewhere those tables whose rows other nodes keep
 */
public record AppliedSchema(TableCatalog catalog, ApplyFunctions functions, Set<TableName> elsewhere) {
    /** Of an empty database. */
    public static final AppliedSchema EMPTY = new AppliedSchema(TableCatalog.EMPTY, ApplyFunctions.NONE, Set.of());
    /** Asks for {@link #elsewhere}; the same under any settings and search path. */
    public static final String ELSEWHERE = "SELECT schema_name, table_name FROM tutti.placed_elsewhere";

    /** Keeps a copy. */
    public AppliedSchema {
        elsewhere = Set.copyOf(elsewhere);
    }

    /** From the results of {@link CatalogQuery#SQL}, {@link ApplyFunctions#SQL} and {@link #ELSEWHERE}. */
    public static AppliedSchema of(QueryResult tables, QueryResult functions, QueryResult elsewhere) {
        return new AppliedSchema(CatalogQuery.read(tables), ApplyFunctions.read(functions),
                elsewhere.rows().stream().map(row -> new TableName(String.valueOf(row.get(0)), String.valueOf(row.get(1))))
                        .collect(Collectors.toSet()));
    }

    /** Reads it, as the connection's session sees it. */
    public static CompletableFuture<AppliedSchema> read(BackendConnection connection) {
        return connection.query(CatalogQuery.SQL).thenCompose(tables -> connection.query(ApplyFunctions.SQL)
                .thenCompose(functions -> connection.query(ELSEWHERE)
                        .thenApply(elsewhere -> of(tables, functions, elsewhere))));
    }

    /** Those of some changes that are made here: not of rows that are kept elsewhere. */
    List<Change> kept(List<Change> changes) {
        return elsewhere.isEmpty()
                ? changes
                : changes.stream().filter(change -> {
                    TableName table = change.table();
                    return table == null || !elsewhere.contains(table);
                }).toList();
    }
}
