package tutti.wire;

import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.wire.sql.SqlTokens;

/**
 * Judges a statement that writes a system catalog, or what the node keeps, as if it were a table: it is refused, for it would be at one node only.
 * But what every node can execute with the same result, and nobody can forge anything by, is a schema change like others, if it stands outside of
 * transaction blocks (docs/decisions/0173):
 *
 * <pre>
 * UPDATE pg_description SET column = value, … WHERE column = value AND …      DELETE FROM pg_description WHERE column = value AND …
 * UPDATE pg_authid SET rolpassword = verifier WHERE rolname = 'name'
 * </pre>
 *
 * A value is a literal that names things by their names: object ids differ between nodes. Who is no superuser is refused by each node's server. Reused,
 * with the {@link Classifier}, which has read the first word.
 */
final class CatalogWrites {
    /** Why others are refused. */
    static final String REFUSAL = "what is written to the system catalogs, or to the schema tutti, directly, would be at one node only: use CREATE,"
            + " ALTER, DROP, GRANT or COMMENT";
    private static final long[] BEFORE_TARGET = SqlCursor.keys("into from only table");
    private static final long PG_CATALOG = SqlTokens.key("pg_catalog");
    private static final long[] CATALOGS = SqlCursor.keys(HarmlessFunctions.CATALOGS);
    private static final long COMMENTS = SqlTokens.key("pg_description");
    private static final long ROLES = SqlTokens.key("pg_authid");
    private static final long SET = SqlTokens.key("set");
    private static final long WHERE = SqlTokens.key("where");
    private static final long AND = SqlTokens.key("and");
    private static final long NULL = SqlTokens.key("null");
    private static final long[] OBJECTS = SqlCursor.keys("objoid classoid");
    private static final long PART = SqlTokens.key("objsubid");
    private static final long COMMENT = SqlTokens.key("description");
    private static final long ROLE = SqlTokens.key("rolname");
    private static final long PASSWORD = SqlTokens.key("rolpassword");
    private static final long[] NAMED = SqlCursor
            .keys("regclass regproc regprocedure regtype regnamespace regcollation regconfig regdictionary");
    /** What passwords are checked against: another text in their place may be somebody's password, and would be in the order's log. */
    private static final List<String> VERIFIERS = List.of("scram-sha-256$", "md5");

    /** What a column is compared with, or becomes. */
    private enum Use {
        SET, WHERE
    }

    private final SqlCursor sql;
    private int nameStart;
    private boolean alike;

    /** @param sql at which the {@link Classifier} reads, too */
    CatalogWrites(SqlCursor sql) {
        this.sql = sql;
    }

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

    /** Another piece of SQL begins. */
    void forget() {
        nameStart = 0;
        alike = false;
    }

    /** Whether the statement judged last is one that every node executes. */
    boolean alike() {
        return alike;
    }

    /** Where the catalog's name begins in a single statement that every node executes, if it does not say that it is in {@code pg_catalog}; otherwise 0. */
    int nameStart() {
        return nameStart;
    }

    /**
     * Judges what stands behind the first word.
     *
     * @param updates whether that is UPDATE
     * @param deletes whether it is DELETE
     * @return null if it is not about a catalog
     */
    @Nullable
    StatementKind judge(boolean updates, boolean deletes) {
        while (sql.atAny(BEFORE_TARGET)) {
            sql.advance();
        }
        boolean qualified = sql.atWord(PG_CATALOG);
        int start = sql.start();
        boolean comments = sql.atWord(COMMENTS);
        boolean roles = sql.atWord(ROLES);
        if (!begin(sql)) {
            return null;
        }
        if (qualified) {
            comments = sql.atWord(COMMENTS);
            roles = sql.atWord(ROLES);
            sql.advance();
        }
        boolean known = updates ? (comments || roles) && list(SET, Use.SET, roles) : deletes && comments;
        if (!known || !list(WHERE, Use.WHERE, roles) || sql.inStatement()) {
            return StatementKind.REFUSED;
        }
        alike = true;
        nameStart = qualified ? 0 : start;
        return StatementKind.SCHEMA;
    }

    /** Reads a list of equations that a word begins. */
    private boolean list(long first, Use use, boolean roles) {
        if (!sql.atWord(first)) {
            return false;
        }
        do {
            sql.advance();
            if (!equation(use, roles)) {
                return false;
            }
        } while (use == Use.SET ? sql.at(',') : sql.atWord(AND));
        return true;
    }

    private boolean equation(Use use, boolean roles) {
        long column = sql.atWord() ? sql.word() : 0;
        sql.advance();
        if (!sql.at('=')) {
            return false;
        }
        sql.advance();
        return roles ? use == Use.SET ? column == PASSWORD && verifier() : column == ROLE && role() : comment(column);
    }

    private boolean verifier() {
        boolean known = sql.atWord(NULL) || (sql.isPlainString() && sql.atStringOfPrefix(VERIFIERS));
        sql.advance();
        return known;
    }

    private boolean role() {
        boolean known = sql.isPlainString() && !sql.atStringOfPrefix(Classifier.RESERVED_PREFIXES);
        sql.advance();
        return known;
    }

    private boolean comment(long column) {
        if (SqlCursor.among(OBJECTS, column)) {
            return object();
        }
        boolean known = column == COMMENT ? sql.atString() : column == PART && sql.isPlainNumber();
        sql.advance();
        return known;
    }

    /** As in {@code 'public.item'::regclass}. */
    private boolean object() {
        boolean named = sql.isPlainString() && sql.beginsLikeName();
        sql.advance();
        for (int i = 0; i < 2; i++) {
            named &= sql.at(':');
            sql.advance();
        }
        named &= sql.atAny(NAMED);
        sql.advance();
        return named;
    }
}
