package tutti.engine.postgres.apply;

import java.util.concurrent.CompletableFuture;
import tutti.engine.postgres.catalog.CatalogQuery;
import tutti.engine.postgres.catalog.TableCatalog;
import tutti.pgwire.BackendConnection;

/**
 * What an applier knows of the database, as of one moment. Immutable.
 *
 * @param catalog its tables
 * @param functions what writes their rows
 */
public record AppliedSchema(TableCatalog catalog, ApplyFunctions functions) {
    /** Of an empty database. */
    public static final AppliedSchema EMPTY = new AppliedSchema(TableCatalog.EMPTY, ApplyFunctions.NONE);

    /** Reads it, as the connection's session sees it. */
    public static CompletableFuture<AppliedSchema> read(BackendConnection connection) {
        return connection.query(CatalogQuery.SQL).thenCompose(tables -> connection.query(ApplyFunctions.SQL)
                .thenApply(functions -> new AppliedSchema(CatalogQuery.read(tables), ApplyFunctions.read(functions))));
    }
}
