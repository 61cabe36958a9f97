package tutti.wire;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import tutti.engine.postgres.capture.CaptureInstaller;
import tutti.pgwire.Frontend;

/**
 * The bytes of what a node says to its engine on a session's connection, between the client's own messages. No client can put
 * itself in the place of what is asked: functions are called by their object id, statements are prepared, executed and
 * forgotten together, under a name that cannot be guessed; so there is nothing to close, to redefine or to list. The client's
 * unnamed statement and portal stay untouched. Constants are encoded once; methods append to a buffer.
 * {@link BackendRequests} sends it and notes what will be answered. Immutable; safe for use from all event loops.
 */
final class OwnMessages {
    private static final String INVALID = "tutti_refused";
    private static final SecureRandom RANDOM = new SecureRandom();
    private static final byte[] COMMIT_QUERY = encode(out -> Frontend.query(out, "COMMIT"));
    private static final byte[] INVALID_PARSE = encode(out -> Frontend.parse(out, INVALID, INVALID));
    private static final byte[] INVALID_QUERY = encode(out -> Frontend.query(out, INVALID));
    private final String name = "tutti_" + new String(random(16), StandardCharsets.US_ASCII);
    private final Capture capture;
    private final Capture.Calls calls;
    private final byte[] begin;
    private final byte[] commit;
    private final byte[] rollback;
    private final byte[] catalog;
    private final byte[] locks;

    OwnMessages(Capture capture) {
        this.capture = capture;
        this.calls = capture.calls();
        begin = encode(out -> once(out, "BEGIN"));
        commit = encode(out -> once(out, "COMMIT"));
        rollback = encode(out -> {
            // of a statement that has failed
            Frontend.closePortal(out, name);
            once(out, "ROLLBACK");
        });
        catalog = encode(out -> {
            collected(out, calls.catalog());
            Frontend.sync(out);
        });
        locks = encode(out -> {
            collected(out, "SELECT DISTINCT relation FROM pg_catalog.pg_locks"
                    + " WHERE locktype OPERATOR(pg_catalog.=) 'relation'"
                    + " AND pid OPERATOR(pg_catalog.=) pg_catalog.pg_backend_pid()");
            Frontend.sync(out);
        });
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

    /** That many random hexadecimal digits. */
    private static byte[] random(int digits) {
        byte[] random = new byte[digits / 2];
        RANDOM.nextBytes(random);
        return HexFormat.of().formatHex(random).getBytes(StandardCharsets.US_ASCII);
    }

    /** What names the variables in which a session's changes are gathered; drawn for each session. */
    byte[] sessionKey() {
        return random(16);
    }

    private void collected(ByteBuf out, String statement) {
        Frontend.closeStatement(out, name);
        Frontend.parse(out, name, statement);
        Frontend.bind(out, name, name);
        Frontend.describePortal(out, name);
        Frontend.execute(out, name, 0);
        forget(out);
    }

    private void forget(ByteBuf out) {
        Frontend.closePortal(out, name);
        Frontend.closeStatement(out, name);
    }

    /** Runs a statement: Close, because one that failed has not been forgotten, Parse, Bind, Execute and twice Close. */
    void once(ByteBuf out, String sql, @Nullable CharSequence... parameters) {
        Frontend.closeStatement(out, name);
        Frontend.parse(out, name, sql);
        Frontend.bind(out, name, name, parameters);
        Frontend.execute(out, name, 0);
        forget(out);
    }

    /** BEGIN, as {@link #once}. */
    void begin(ByteBuf out) {
        out.writeBytes(begin);
    }

    /** COMMIT, as {@link #once}. */
    void commit(ByteBuf out) {
        out.writeBytes(commit);
    }

    /** ROLLBACK, as {@link #once}, behind a Close. */
    void rollback(ByteBuf out) {
        out.writeBytes(rollback);
    }

    /** COMMIT by a simple query. */
    void commitQuery(ByteBuf out) {
        out.writeBytes(COMMIT_QUERY);
    }

    /**
     * Closes the capture: a function call.
     *
     * @param sessionKey the session's
     */
    void closing(ByteBuf out, byte[] sessionKey) {
        Frontend.functionCall(out, calls.finish(), calls.secret(),
                capture.leavesOut() ? sessionKey : CaptureInstaller.wholeRows(sessionKey));
    }

    /**
     * Reads what a statement depends on, as {@link #once}.
     *
     * @param targets relations that may be temporary
     */
    void settings(ByteBuf out, List<String> targets) {
        once(out, calls.settings(), targets.stream()
                .map(target -> '"' + target.replace("\\", "\\\\").replace("\"", "\\\"") + '"')
                .collect(Collectors.joining(",", "{", "}")));
    }

    /** Parses a text under a name that is forgotten, which fails if it is no single statement. */
    void parse(ByteBuf out, byte[] sql) {
        Frontend.closeStatement(out, name);
        Frontend.parse(out, name, sql);
    }

    /** Lets the transaction's next statement change the schema: a function call. */
    void allow(ByteBuf out, byte[] statement) {
        Frontend.functionCall(out, calls.allow(), calls.secret(), statement);
    }

    /** Precedes a SET CONSTRAINTS ... IMMEDIATE: a function call. */
    void beforeSetConstraints(ByteBuf out) {
        Frontend.functionCall(out, calls.beforeSetConstraints(), calls.secret());
    }

    /** Follows a SET CONSTRAINTS ... IMMEDIATE: a function call. */
    void afterSetConstraints(ByteBuf out) {
        Frontend.functionCall(out, calls.afterSetConstraints(), calls.secret());
    }

    /** Makes the COMMIT that follows record a position: a function call. */
    void record(ByteBuf out, long position) {
        Frontend.functionCall(out, calls.record(), calls.secret(),
                ByteBuffer.allocate(Long.BYTES).putLong(position).array());
    }

    /** The same, of a transaction of whose rows so many have been seen in band. */
    void recordInBand(ByteBuf out, long position, long rows) {
        Frontend.functionCall(out, calls.recordInBand(), calls.secret(),
                ByteBuffer.allocate(Long.BYTES).putLong(position).array(),
                ByteBuffer.allocate(Long.BYTES).putLong(rows).array());
    }

    /** Reads the catalog, with a Sync. */
    void catalog(ByteBuf out) {
        out.writeBytes(catalog);
    }

    /** Asks which relations the open transaction has used, with a Sync. */
    void locks(ByteBuf out) {
        out.writeBytes(locks);
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
