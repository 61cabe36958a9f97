package tutti.wire;

import tutti.wire.sql.SqlTokens;

/** Judges ALTER DATABASE: what of it every node can do alike. Reused, with the {@link SchemaStatement} that has read its first word. */
final class AlterDatabase {
    private static final long RENAME = SqlTokens.key("rename");
    private static final long OWNER = SqlTokens.key("owner");
    private static final long SET = SqlTokens.key("set");
    private static final long RESET = SqlTokens.key("reset");
    private static final long TABLESPACE = SqlTokens.key("tablespace");
    private static final long REFRESH = SqlTokens.key("refresh");
    private static final long WITH = SqlTokens.key("with");
    private static final long CONNECTION = SqlTokens.key("connection");
    private static final long LIMIT = SqlTokens.key("limit");
    private static final long ALLOW = SqlTokens.key("allow_connections");
    private static final long TEMPLATE = SqlTokens.key("is_template");
    private static final long[] YES = SqlCursor.keys("true on yes");
    private static final long[] NO = SqlCursor.keys("false off no");
    private static final String SERVERS_OWN = "tablespaces and versions of collations belong to one server: change them on every node's PostgreSQL";
    private static final String OPTIONS = "a database of a cluster is open to any number of connections, and is no template:"
            + " limits.sessions, or ALTER ROLE ... CONNECTION LIMIT, limit connections, and REVOKE CONNECT keeps clients out";

    private final SqlCursor sql;
    private String refusal = "";

    AlterDatabase(SqlCursor sql) {
        this.sql = sql;
    }

    /** Why the statement judged last is refused. */
    String refusal() {
        return refusal;
    }

    private StatementKind refuse(String reason) {
        refusal = reason;
        return StatementKind.REFUSED;
    }

    /** Judges what stands behind ALTER: SCHEMA if it can be done in a transaction, as other schema changes; goes on to what stands behind the name, or SET. */
    StatementKind judge() {
        sql.advance();
        if (!sql.atWord() && !sql.atQuoted()) {
            return StatementKind.SCHEMA;
        }
        sql.advance();
        if (sql.atWord(RENAME)) {
            while (sql.inStatement()) {
                sql.advance();
            }
            return StatementKind.DATABASE;
        }
        if (sql.atWord(SET)) {
            return set();
        }
        if (sql.atWord(OWNER) || sql.atWord(RESET)) {
            return StatementKind.SCHEMA;
        }
        return sql.atWord(REFRESH) ? refuse(SERVERS_OWN) : options();
    }

    private StatementKind set() {
        sql.advance();
        return sql.atWord(TABLESPACE) ? refuse(SERVERS_OWN) : StatementKind.SCHEMA;
    }

    /** Those that say what is so. */
    private StatementKind options() {
        if (sql.atWord(WITH)) {
            sql.advance();
        }
        while (sql.inStatement()) {
            boolean connection = sql.atWord(CONNECTION);
            boolean allow = sql.atWord(ALLOW);
            boolean template = sql.atWord(TEMPLATE);
            sql.advance();
            if (connection && sql.atWord(LIMIT)) {
                sql.advance();
            }
            if (sql.at('=')) {
                sql.advance();
            }
            boolean usual = connection ? sql.at('-') : (allow && sql.named(YES)) || (template && sql.named(NO));
            if (!usual) {
                return refuse(OPTIONS);
            }
            sql.advance();
            if (connection) {
                sql.advance();
            }
        }
        return StatementKind.SCHEMA;
    }
}
