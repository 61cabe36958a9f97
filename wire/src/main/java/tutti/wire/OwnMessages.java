package tutti.wire;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import org.jspecify.annotations.Nullable;
import tutti.pgwire.Frontend;

/**
 * The bytes of what a node says to its engine on a session's connection, between the client's own messages: prepared
 * statements under names of its own, so that the client's unnamed statement and portal stay untouched. Constants are
 * encoded once; methods append to a buffer. {@link BackendRequests} sends it and notes what will be answered. Immutable; safe for use from
 * all event loops.
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

    /** Prepares the node's statements, also when they exist, and notes what will be answered. */
    void prepare(ByteBuf out, UnansweredMessages unanswered) {
        out.writeBytes(prepare);
        for (int i = 0; i < STATEMENTS; i++) {
            unanswered.add(SentMessage.OWN_CLOSE);
            unanswered.add(i < STATEMENTS - 1 ? SentMessage.OWN_PARSE : SentMessage.OWN_PREPARED);
        }
    }

    /** BEGIN. */
    void begin(ByteBuf out) {
        out.writeBytes(begin);
    }

    /** Closes the capture. */
    void closing(ByteBuf out) {
        out.writeBytes(closing);
    }

    /**
     * Reads what a statement depends on.
     *
     * @param target a relation that may be temporary
     */
    void settings(ByteBuf out, @Nullable String target) {
        int start = Frontend.beginBind(out, "tutti_settings", "tutti_settings", false, 1);
        Frontend.parameter(out, target);
        Frontend.endBind(out, start, false);
        Frontend.execute(out, "tutti_settings", 0);
        Frontend.closePortal(out, "tutti_settings");
    }

    /** Runs a statement under a name of the node's, so that the client's unnamed statement stays as it is. */
    void once(ByteBuf out, String sql) {
        prepare(out, "tutti_once", sql);
        Frontend.bind(out, "tutti_once", "tutti_once");
        Frontend.execute(out, "tutti_once", 0);
        Frontend.closePortal(out, "tutti_once");
    }

    /** Lets the transaction's next statement change the schema. */
    void allow(ByteBuf out, byte[] statement) {
        int start = Frontend.beginBind(out, "tutti_allow", "tutti_allow", false, 2);
        Frontend.parameter(out, secret);
        Frontend.parameter(out, statement);
        Frontend.endBind(out, start, false);
        Frontend.execute(out, "tutti_allow", 0);
        Frontend.closePortal(out, "tutti_allow");
    }

    /** Makes the COMMIT that follows record a position. */
    void record(ByteBuf out, CharSequence position) {
        int start = Frontend.beginBind(out, "tutti_before", "tutti_before", false, 2);
        Frontend.parameter(out, secret);
        Frontend.parameter(out, position);
        Frontend.endBind(out, start, false);
        Frontend.execute(out, "tutti_before", 0);
    }

    /** COMMIT. */
    void commit(ByteBuf out) {
        out.writeBytes(commit);
    }

    /** Reads the catalog; does not disturb the client's unnamed statement and portal, as a simple query would. */
    void catalog(ByteBuf out) {
        out.writeBytes(catalog);
    }

    /** Asks which relations the open transaction has used. */
    void locks(ByteBuf out) {
        out.writeBytes(LOCKS);
    }

    /** Rolls back and leaves the client's unnamed statement as it is; only if the node's statements are prepared. */
    void rollbackPrepared(ByteBuf out) {
        out.writeBytes(ROLLBACK_PREPARED);
    }

    /** Rolls back by a simple query. */
    void rollback(ByteBuf out) {
        out.writeBytes(ROLLBACK);
    }

    /** Fails, and in a transaction block makes it fail. */
    void invalidParse(ByteBuf out) {
        out.writeBytes(INVALID_PARSE);
    }

    /** Fails, and in a transaction block makes it fail. */
    void invalidQuery(ByteBuf out) {
        out.writeBytes(INVALID_QUERY);
    }
}
