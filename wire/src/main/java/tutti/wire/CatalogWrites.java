package tutti.wire;

import tutti.wire.sql.SqlTokens;

/** Tells whether a statement writes a system catalog, or what the node keeps, as if it were a table. */
final class CatalogWrites {
    /** Why it is refused. */
    static final String REFUSAL = "what is written to the system catalogs, or to the schema tutti, directly, would be at one node only: use CREATE,"
            + " ALTER, DROP, GRANT or COMMENT";
    private static final long[] BEFORE_TARGET = SqlCursor.keys("into from only table");
    private static final long PG_CATALOG = SqlTokens.key("pg_catalog");
    private static final long[] CATALOGS = SqlCursor.keys(HarmlessFunctions.CATALOGS);

    private CatalogWrites() {}

    /** Whether the table whose name is about to come is such a one; goes on to behind its name's first parts. */
    static boolean begin(SqlCursor sql) {
        while (sql.atAny(BEFORE_TARGET)) {
            sql.advance();
        }
        if (sql.atString()) {
            return false;
        }
        boolean own = sql.named(SchemaStatement.OWN_SCHEMA);
        boolean catalog = sql.named(CATALOGS);
        if (!catalog && !own && !sql.named(PG_CATALOG)) {
            return false;
        }
        sql.advance();
        if (catalog || !sql.at('.')) {
            return catalog;
        }
        sql.advance();
        return own || sql.named(CATALOGS);
    }
}
