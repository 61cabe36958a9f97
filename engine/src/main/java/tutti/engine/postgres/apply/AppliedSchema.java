package tutti.engine.postgres.apply;

import java.util.concurrent.CompletableFuture;
import tutti.engine.postgres.catalog.CatalogQuery;
import tutti.engine.postgres.catalog.TableCatalog;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.QueryResult;

/**
 * What an applier knows of the database, as of one moment. Immutable.
 *
 * @param catalog its tables
 * @param functions what writes their rows
 * @param placed which of the tables some nodes lack
 */
public record AppliedSchema(TableCatalog catalog, ApplyFunctions functions, PlacedTables placed) {
    /** Of an empty database. */
    public static final AppliedSchema EMPTY = new AppliedSchema(TableCatalog.EMPTY, ApplyFunctions.NONE,
            PlacedTables.NONE);

    /** From the results of {@link CatalogQuery#SQL}, {@link ApplyFunctions#SQL} and {@link PlacedTables#SQL}. */
    public static AppliedSchema of(QueryResult tables, QueryResult functions, QueryResult placed) {
        return new AppliedSchema(CatalogQuery.read(tables), ApplyFunctions.read(functions), PlacedTables.read(placed));
    }

    /** Reads it, as the connection's session sees it. */
    public static CompletableFuture<AppliedSchema> read(BackendConnection connection) {
        return connection.query(CatalogQuery.SQL).thenCompose(tables -> connection.query(ApplyFunctions.SQL)
                .thenCompose(functions -> connection.query(PlacedTables.SQL)
                        .thenApply(placed -> of(tables, functions, placed))));
    }
}
