package tutti.wire;

import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.Frontend;
import tutti.wire.sql.Variables;

/**
 * {@code tutti.read_level}: how new what a session's transactions see is at least. On the session's event loop.
 *
 * <p>
 * A snapshot is taken by the first statement of a transaction, or of a cycle outside of one. So the first message of such a cycle waits, before
 * anybody looks at it, until all is visible that was ordered before it came; and so does the message behind a {@code SET LOCAL}, which must be
 * the first of its block. A client that gets no answer in time, since no majority can be reached, hears so at the next statement that could look at
 * something, and may choose another level.
 */
final class ReadLevel {
    /** The variable that says which. */
    static final String NAME = "tutti.read_level";
    private static final String VARIABLE = "read_level";
    private static final Pattern LOOKS_AT_NOTHING = Pattern.compile(
            "\\s*(?:set|reset|show|discard|begin|start|commit|end|rollback|abort)\\b.*",
            Pattern.CASE_INSENSITIVE | Pattern.DOTALL);

    /** Which. */
    enum Level {
        /** What the node shows. */
        LOCAL,
        /** All that the client can have seen, or been told of, before the session began or asked for this. */
        CAUSAL,
        /** All that any client was told of before the transaction began. */
        LINEARIZABLE
    }

    /** What the next message waits for. */
    private enum Wait {
        /** Nothing. */
        NONE,
        /** The node has been asked. */
        ASKED,
        /** All is visible, or the node could not tell: the next message is taken. */
        OVER
    }

    private final Session session;
    private final SessionVariable<Level> level;
    private Wait wait = Wait.NONE;
    /** Whether something must be waited for once: for the session, which is causal, or for the block. */
    private boolean due;
    private @Nullable ErrorFields failure;
    /** Whether nothing of the client's present cycle, or of the one that is about to begin, has come that may look at something. */
    private boolean fresh;

    ReadLevel(Session session, Map<String, String> parameters) {
        this.session = session;
        this.level = new SessionVariable<>(VARIABLE, Level.LOCAL, _ -> null, (value, local) -> inBlock(local));
        ErrorFields refused = level.begin(parameters);
        due = refused == null && level.now() != Level.LOCAL;
    }

    /** Why a start-up packet is refused; null if it is not. */
    static @Nullable ErrorFields refusal(Map<String, String> parameters) {
        return new SessionVariable<>(VARIABLE, Level.LOCAL, _ -> null, (_, _) -> null).begin(parameters);
    }

    private @Nullable ErrorFields inBlock(boolean local) {
        if (!local) {
            return Errors.error("25001", NAME + " cannot be set in a transaction block for the session")
                    .with('H', "Set it before BEGIN, or use SET LOCAL.");
        }
        return session.transaction().work().hasLooked()
                ? Errors.error("25001", NAME + " must be set before any query of the transaction")
                        .with('H', "BEGIN; SET LOCAL " + NAME + " = 'linearizable'; SELECT …")
                : null;
    }

    /** A statement by itself may set it. Returns why that is refused, or null. */
    @Nullable
    ErrorFields statement(String sql, boolean inTransaction) {
        ErrorFields refusal = level.statement(sql, inTransaction);
        if (refusal == null && Variables.read(sql, VARIABLE) != null) {
            due = level.now() != Level.LOCAL;
        }
        return refusal;
    }

    /** A statement of a query of several may set it, which comes too late for what follows. */
    @Nullable
    ErrorFields part(String sql) {
        Variables.Setting set = Variables.read(sql, VARIABLE);
        return set == null || set.all()
                ? null
                : Errors.error("25001", NAME + " is set by a statement of its own, not in a query of several")
                        .with('H', "Send it before the others.");
    }

    /** The transaction is over. */
    void transactionOver() {
        level.transactionOver();
        due &= level.now() != Level.LOCAL;
    }

    /**
     * Whether the client's next message has to wait. The node is asked if it has not been.
     *
     * @param type of that message
     */
    boolean waits(byte type) {
        fresh |= session.cycle().none();
        if (wait != Wait.NONE || !concerns(type)) {
            return wait == Wait.ASKED;
        }
        boolean begins = fresh && !session.transaction().isOpen() && session.backend().outsideOfTransaction();
        if (!session.replicated() || !(due || (begins && level.now() == Level.LINEARIZABLE))) {
            return false;
        }
        wait = Wait.ASKED;
        session.node().awaitAll(new Completion<>() {
            @Override
            public void succeeded(Long visible) {
                session.onLoop(() -> told(null));
            }

            @Override
            public void failed(EngineFailure why) {
                session.onLoop(() -> told(Errors.error(why.sqlState(), "what is read here may be old: "
                        + why.message()).with('H', "Use another node, or SET " + NAME + " = 'local'.")));
            }
        });
        return wait == Wait.ASKED;
    }

    private static boolean concerns(byte type) {
        return type == Frontend.QUERY || type == Frontend.PARSE || type == Frontend.BIND
                || type == Frontend.FUNCTION_CALL;
    }

    private void told(@Nullable ErrorFields why) {
        wait = Wait.OVER;
        failure = why;
        due = why != null;
    }

    /** Whether the client's next message waits now. */
    boolean waiting() {
        return wait == Wait.ASKED;
    }

    /** The statement that a Bind message names. */
    @FunctionalInterface
    interface Statements {
        /** As {@link ExtendedMessages#bound}. */
        Prepared bound(ByteBuf buffer, int start, int bodyLength);
    }

    /**
     * The message that has waited is taken.
     *
     * @return why it is refused; null if it is not
     */
    @Nullable
    ErrorFields taken(byte type, ByteBuf buffer, int start, int bodyLength, Statements statements) {
        if (!concerns(type)) {
            return null;
        }
        fresh = false;
        if (wait != Wait.OVER) {
            return null;
        }
        wait = Wait.NONE;
        ErrorFields why = failure;
        failure = null;
        return why == null || looksAtNothing(type, buffer, start, bodyLength, statements) ? null : why;
    }

    private static boolean looksAtNothing(byte type, ByteBuf buffer, int start, int bodyLength,
            Statements statements) {
        if (type == Frontend.BIND) {
            StatementKind kind = statements.bound(buffer, start, bodyLength).kind();
            return kind == StatementKind.SESSION || kind == StatementKind.FORGET || kind == StatementKind.EMPTY
                    || kind.controlsTransaction();
        }
        if (type != Frontend.QUERY && type != Frontend.PARSE) {
            return false;
        }
        String text = buffer.toString(start, Math.min(bodyLength, 200), StandardCharsets.ISO_8859_1);
        String sql = type == Frontend.PARSE ? text.substring(text.indexOf('\0') + 1) : text;
        int semicolon = sql.indexOf(';');
        return LOOKS_AT_NOTHING.matcher(sql).matches()
                && (semicolon < 0 || sql.substring(semicolon + 1).replace('\0', ' ').isBlank());
    }
}
