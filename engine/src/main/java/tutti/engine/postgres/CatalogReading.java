package tutti.engine.postgres;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import tutti.engine.postgres.apply.AppliedSchema;
import tutti.engine.postgres.apply.ApplyFunctions;
import tutti.engine.postgres.apply.ExecutorServices;
import tutti.engine.postgres.apply.PlacedTables;
import tutti.engine.postgres.catalog.CatalogQuery;
import tutti.engine.postgres.catalog.InBandQuery;
import tutti.engine.postgres.catalog.InBandTables;
import tutti.engine.postgres.catalog.References;
import tutti.engine.postgres.catalog.ReferencesQuery;
import tutti.pgwire.BackendConnection;

/**
 * What the engine knows of its database's catalog, read anew after each schema change. Its statements are prepared once for each
 * connection, since to plan them takes the server longer than to execute them. Any thread.
 */
final class CatalogReading {
    /** See {@link ExecutorServices#together}; words in strings and behind comments are taken for commands, too: at worst nothing is executed together. */
    static final String TOGETHER = """
            SELECT NOT EXISTS (SELECT FROM pg_catalog.pg_constraint c WHERE c.condeferred
                    AND NOT (c.contype = 't' AND (c.conname LIKE 'tutti\\_%' OR c.connamespace = 'tutti'::pg_catalog.regnamespace)))
                AND NOT EXISTS (SELECT FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_language l ON l.oid = p.prolang
                    WHERE p.pronamespace NOT IN ('pg_catalog'::pg_catalog.regnamespace,
                            'information_schema'::pg_catalog.regnamespace, 'tutti'::pg_catalog.regnamespace)
                        AND l.lanname NOT IN ('c', 'internal')
                        AND (l.lanname NOT IN ('sql', 'plpgsql')
                            OR coalesce(pg_catalog.pg_get_function_sqlbody(p.oid), p.prosrc) ~*
                                '(set_config|\\mtemp(orary)?\\M|\\mreset\\M|\\mset\\s+(local|session|constraints)\\M|(^|;|''|\\*/|--[^\\n]*\\n|\\m(begin|then|else|loop)\\M)\\s*set\\s)'))\
            """;

    /** Plans are made anew after so many readings, since they are made for a catalog of the size that it has then. */
    private static final int READINGS_PER_PLAN = 64;

    /** What a connection executes once before {@link #read}, after capture has been installed. */
    static final String PREPARE = "PREPARE tutti_references AS " + ReferencesQuery.SQL
            + "; PREPARE tutti_in_band AS " + InBandQuery.SQL
            + "; PREPARE tutti_together AS " + TOGETHER
            + "; PREPARE tutti_tables AS " + CatalogQuery.SQL
            + "; PREPARE tutti_functions AS " + ApplyFunctions.SQL
            + "; PREPARE tutti_placed AS " + PlacedTables.SQL;

    private final AtomicInteger readings = new AtomicInteger();
    private volatile AppliedSchema schema = AppliedSchema.EMPTY;
    private volatile boolean together;
    private volatile References references = References.NONE;
    private volatile InBandTables inBandTables = InBandTables.NONE;

    /** What an applier knows of the database. */
    AppliedSchema schema() {
        return schema;
    }

    /** See {@link ExecutorServices#together}. */
    boolean together() {
        return together;
    }

    /** What names stand for, at least as new as {@link #schema()} when that was asked for before. */
    References references() {
        return references;
    }

    /** Which tables' rows can be captured in band, at least as new as {@link #schema()} when that was asked for before. */
    InBandTables inBandTables() {
        return inBandTables;
    }

    /** Reads all of it. */
    CompletableFuture<Void> read(BackendConnection connection) {
        String fresh = readings.incrementAndGet() % READINGS_PER_PLAN == 0 ? "DISCARD PLANS; " : "";
        return connection.query(fresh + "EXECUTE tutti_references").thenCompose(result -> {
            references = ReferencesQuery.read(result);
            return connection.query("EXECUTE tutti_in_band");
        }).thenCompose(result -> {
            inBandTables = InBandQuery.read(result);
            return connection.query("EXECUTE tutti_together");
        }).thenCompose(result -> {
            together = "t".equals(result.value());
            return connection.query("EXECUTE tutti_tables");
        }).thenCompose(tables -> connection.query("EXECUTE tutti_functions").thenCompose(
                functions -> connection.query("EXECUTE tutti_placed").thenAccept(
                        placed -> schema = AppliedSchema.of(tables, functions, placed))));
    }
}
