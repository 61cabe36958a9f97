package tutti.wire;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import org.jspecify.annotations.Nullable;
import tutti.pgwire.Frontend;

/**
 * What does the front end say to the engine on a session's connection, between the client's own messages? Prepared
 * statements under names of our own, so that the client's unnamed statement and portal stay untouched. Constants are
 * encoded once; writers append to a buffer and note what will be answered.
 */
final class OwnMessages {
    private static final String INVALID = "tutti_refused";
    private final byte[] prepare;
    private final byte[] begin;
    private final byte[] closing;
    private final byte[] commit;
    private final String secret;
    private final byte[] catalog;
    private static final byte[] LOCKS = encode(out -> {
        collected(out, "SELECT DISTINCT relation FROM pg_catalog.pg_locks WHERE locktype = 'relation'"
                + " AND pid = pg_catalog.pg_backend_pid()");
        Frontend.sync(out);
    });
    private static final byte[] ROLLBACK = encode(out -> Frontend.query(out, "ROLLBACK"));
    private static final byte[] ROLLBACK_PREPARED = run("tutti_rollback");
    private static final byte[] INVALID_PARSE = encode(out -> Frontend.parse(out, INVALID, INVALID));
    private static final byte[] INVALID_QUERY = encode(out -> Frontend.query(out, INVALID));
    private static final int STATEMENTS = 7;

    OwnMessages(Capture.Sql sql) {
        prepare = encode(out -> {
            prepare(out, "tutti_begin", "BEGIN");
            prepare(out, "tutti_close", sql.close());
            prepare(out, "tutti_before", sql.beforeCommit());
            prepare(out, "tutti_commit", "COMMIT");
            prepare(out, "tutti_rollback", "ROLLBACK");
            prepare(out, "tutti_settings", sql.settings());
            prepare(out, "tutti_allow", sql.allow());
        });
        begin = run("tutti_begin");
        secret = sql.secret();
        catalog = encode(out -> {
            sql.catalog().forEach(statement -> collected(out, statement));
            Frontend.sync(out);
        });
        closing = encode(out -> {
            int start = Frontend.beginBind(out, "tutti_close", "tutti_close", false, 1);
            Frontend.parameter(out, secret);
            Frontend.endBind(out, start, true);
            Frontend.execute(out, "tutti_close", 0);
        });
        commit = run("tutti_commit");
    }

    private interface Writer {
        void write(ByteBuf out);
    }

    private static byte[] encode(Writer writer) {
        ByteBuf out = Unpooled.buffer();
        writer.write(out);
        byte[] bytes = new byte[out.readableBytes()];
        out.readBytes(bytes);
        return bytes;
    }

    private static void prepare(ByteBuf out, String name, String sql) {
        Frontend.closeStatement(out, name);
        Frontend.parse(out, name, sql);
    }

    private static void collected(ByteBuf out, String statement) {
        prepare(out, "tutti_catalog", statement);
        Frontend.bind(out, "tutti_catalog", "tutti_catalog");
        Frontend.describePortal(out, "tutti_catalog");
        Frontend.execute(out, "tutti_catalog", 0);
        Frontend.closePortal(out, "tutti_catalog");
    }

    private static byte[] run(String name) {
        return encode(out -> {
            Frontend.bind(out, name, name);
            Frontend.execute(out, name, 0);
        });
    }

    /** Prepares our statements, also when they exist. */
    void prepare(ByteBuf out, Operations operations) {
        out.writeBytes(prepare);
        for (int i = 0; i < STATEMENTS; i++) {
            operations.add(Operations.OWN_CLOSE);
            operations.add(i < STATEMENTS - 1 ? Operations.OWN_PARSE : Operations.OWN_PREPARED);
        }
    }

    void begin(ByteBuf out, Operations operations) {
        out.writeBytes(begin);
        operations.add(Operations.OWN_BIND);
        operations.add(Operations.OWN_EXECUTE);
    }

    void closing(ByteBuf out, Operations operations) {
        out.writeBytes(closing);
        operations.add(Operations.OWN_BIND);
        operations.add(Operations.OWN_CLOSING);
    }

    /**
     * Reads what a statement depends on.
     *
     * @param target a relation that may be temporary
     */
    void settings(ByteBuf out, Operations operations, @Nullable String target) {
        int start = Frontend.beginBind(out, "tutti_settings", "tutti_settings", false, 1);
        Frontend.parameter(out, target);
        Frontend.endBind(out, start, false);
        Frontend.execute(out, "tutti_settings", 0);
        Frontend.closePortal(out, "tutti_settings");
        operations.add(Operations.OWN_BIND);
        operations.add(Operations.OWN_SETTINGS);
        operations.add(Operations.OWN_CLOSE);
    }

    /** Runs a statement under a name of ours, so that the client's unnamed statement stays as it is. */
    void once(ByteBuf out, Operations operations, String sql, byte execute) {
        prepare(out, "tutti_once", sql);
        Frontend.bind(out, "tutti_once", "tutti_once");
        Frontend.execute(out, "tutti_once", 0);
        Frontend.closePortal(out, "tutti_once");
        operations.add(Operations.OWN_CLOSE);
        operations.add(Operations.OWN_PARSE);
        operations.add(Operations.OWN_BIND);
        operations.add(execute);
        operations.add(Operations.OWN_CLOSE);
    }

    /** Lets the transaction's next statement change the schema. */
    void allow(ByteBuf out, Operations operations, byte[] statement) {
        int start = Frontend.beginBind(out, "tutti_allow", "tutti_allow", false, 2);
        Frontend.parameter(out, secret);
        Frontend.parameter(out, statement);
        Frontend.endBind(out, start, false);
        Frontend.execute(out, "tutti_allow", 0);
        Frontend.closePortal(out, "tutti_allow");
        operations.add(Operations.OWN_BIND);
        operations.add(Operations.OWN_EXECUTE);
        operations.add(Operations.OWN_CLOSE);
    }

    /** A COMMIT; with a position recorded in it unless that is null. */
    void commit(ByteBuf out, Operations operations, @Nullable CharSequence position) {
        if (position != null) {
            int start = Frontend.beginBind(out, "tutti_before", "tutti_before", false, 2);
            Frontend.parameter(out, secret);
            Frontend.parameter(out, position);
            Frontend.endBind(out, start, false);
            Frontend.execute(out, "tutti_before", 0);
            operations.add(Operations.OWN_BIND);
            operations.add(Operations.OWN_EXECUTE);
        }
        out.writeBytes(commit);
        operations.add(Operations.OWN_BIND);
        operations.add(Operations.OWN_COMMIT);
    }

    /** Reads the catalog; does not disturb the client's unnamed statement and portal, as a simple query would. */
    void catalog(ByteBuf out, Operations operations) {
        out.writeBytes(catalog);
        operations.add(Operations.OWN_COLLECTED);
    }

    /** Asks which relations the open transaction has used. */
    void locks(ByteBuf out, Operations operations) {
        out.writeBytes(LOCKS);
        operations.add(Operations.OWN_COLLECTED);
    }

    void sync(ByteBuf out, Operations operations) {
        Frontend.sync(out);
        operations.add(Operations.OWN_SYNC);
    }

    /** Rolls back and leaves the client's unnamed statement as it is; only if our statements are prepared. */
    void rollbackPrepared(ByteBuf out, Operations operations) {
        out.writeBytes(ROLLBACK_PREPARED);
        operations.add(Operations.OWN_BIND);
        operations.add(Operations.OWN_EXECUTE);
        sync(out, operations);
    }

    void rollback(ByteBuf out, Operations operations) {
        out.writeBytes(ROLLBACK);
        operations.add(Operations.OWN_QUERY);
    }

    /** Fails, and in a transaction block makes it fail. */
    void invalidParse(ByteBuf out, Operations operations, byte operation) {
        out.writeBytes(INVALID_PARSE);
        operations.add(operation);
    }

    /** Fails, and in a transaction block makes it fail. */
    void invalidQuery(ByteBuf out, Operations operations, byte operation) {
        out.writeBytes(INVALID_QUERY);
        operations.add(operation);
    }
}
