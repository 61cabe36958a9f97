package tutti.wire;

import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.function.LongSupplier;
import tutti.node.Transactions;
import tutti.node.metrics.NodeMetrics;
import tutti.node.trace.SessionTrace;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.Frontend;

/**
 * How long a client waits for its statements, and which have lost: the node is told of those that take {@value #SLOW_MILLIS} ms or longer,
 * and of all that lose, with the first {@value #TEXT_BYTES} bytes of their text. A text that speaks of a password is not told. Those of transactions
 * that are followed are told with {@value #TRACED_BYTES} bytes at most, without values ({@link StatementTraces}). For one thread at a time.
 */
public final class StatementTimes {
    private static final int SLOW_MILLIS = 20;
    private static final int TEXT_BYTES = 200;
    private static final int TRACED_BYTES = 2_000;
    /** Of prepared statements by name, of which the rest are told without their text. */
    private static final int NAMES_MAX = 64;
    private static final byte[] NONE = {};

    private final Transactions node;
    private final LongSupplier clock;
    private final StatementTraces traces;
    private final int keptBytes;
    private final Map<String, byte[]> prepared = new HashMap<>();
    /** The name of the statement that was bound last, and its text: mostly it is bound again. */
    private byte[] boundName = NONE;
    private byte[] boundText = NONE;
    private byte[] text = NONE;
    private long begunNanos;
    private boolean underWay;

    /** Of a session that tells this node, by this clock in nanoseconds. */
    public StatementTimes(Transactions node, LongSupplier clock) {
        this.node = node;
        this.clock = clock;
        this.traces = new StatementTraces(node, clock);
        this.keptBytes = traces.on() ? TRACED_BYTES : TEXT_BYTES;
    }

    /** The client has sent a message. */
    public void said(byte type, ByteBuf buffer, int start, int bodyLength) {
        if (!underWay) {
            underWay = true;
            begunNanos = clock.getAsLong();
            text = NONE;
            if (traces.on()) {
                traces.begins(begunNanos);
            }
        }
        int end = start + bodyLength;
        switch (type) {
            case Frontend.QUERY -> {
                text = text(buffer, start, end);
                hears(buffer, start, end);
                executes();
            }
            case Frontend.PARSE -> {
                String name = name(buffer, start, end);
                if (prepared.size() >= NAMES_MAX) {
                    prepared.clear();
                }
                prepared.put(name, text(buffer, start + name.length() + 1, end));
                boundName = NONE;
                hears(buffer, start + name.length() + 1, end);
            }
            case Frontend.BIND -> {
                text = bound(buffer, Math.min(end, end(buffer, start, end) + 1), end);
                executes();
            }
            default -> {
                // it has no text
            }
        }
    }

    /** The text of the statement whose name begins here. */
    private byte[] bound(ByteBuf buffer, int from, int end) {
        int nameEnd = end(buffer, from, end);
        if (nameEnd == from || nameEnd - from != boundName.length || !same(buffer, from)) {
            String name = name(buffer, from, end);
            boundName = name.getBytes(StandardCharsets.ISO_8859_1);
            boundText = prepared.getOrDefault(name, NONE);
        }
        return boundText;
    }

    private boolean same(ByteBuf buffer, int from) {
        for (int i = 0; i < boundName.length; i++) {
            if (buffer.getByte(from + i) != boundName[i]) {
                return false;
            }
        }
        return true;
    }

    /** Where a string ends that begins here. */
    private static int end(ByteBuf buffer, int from, int end) {
        int zero = buffer.indexOf(from, end, (byte) 0);
        return zero < 0 ? end : zero;
    }

    /** A string of a message, a character a byte; up to the end if there is none of its own, which others complain of. */
    private static String name(ByteBuf buffer, int from, int end) {
        return new String(bytes(buffer, Math.min(from, end), end), StandardCharsets.ISO_8859_1);
    }

    private void hears(ByteBuf buffer, int from, int end) {
        if (traces.on()) {
            traces.hears(buffer, Math.min(from, end), end);
        }
    }

    private void executes() {
        if (traces.on()) {
            traces.executes(text);
        }
    }

    private byte[] text(ByteBuf buffer, int from, int end) {
        return bytes(buffer, Math.min(from, end), Math.min(end, from + keptBytes));
    }

    private static byte[] bytes(ByteBuf buffer, int from, int end) {
        byte[] bytes = new byte[end(buffer, from, end) - from];
        buffer.getBytes(from, bytes);
        return bytes;
    }

    /** What is told of the session's transaction. */
    public SessionTrace trace() {
        return traces.on() ? traces : SessionTrace.NONE;
    }

    /** The session is over. */
    public void end() {
        traces.end();
    }

    /**
     * The cycle is over; the client has its answer.
     *
     * @param inTransaction whether a transaction is open
     */
    public void over(boolean inTransaction) {
        if (underWay) {
            if (traces.on()) {
                traces.over(inTransaction);
            }
            underWay = false;
            long nanos = clock.getAsLong() - begunNanos;
            if (nanos >= SLOW_MILLIS * 1_000_000L && text.length > 0) {
                node.slow(nanos, words());
            }
        }
    }

    /** A transaction has lost. */
    public void lost(ErrorFields why, boolean repeated) {
        if (!repeated) {
            traces.failed(why.sqlState());
        }
        String detail = why.get('D');
        node.lost(new NodeMetrics.Loss(why.sqlState(), why.message(), detail == null ? "" : detail, words(), repeated));
    }

    /** The client hears an error: its transaction may have lost in the engine. */
    public void failed(ErrorFields why) {
        traces.failed(why.sqlState());
        if (why.sqlState().equals("40001") || why.sqlState().equals("40P01")) {
            lost(why, false);
        }
    }

    private String words() {
        String words = new String(text, 0, Math.min(text.length, TEXT_BYTES), StandardCharsets.UTF_8);
        return words.toLowerCase(Locale.ROOT).contains("passw") ? "(a statement about a password)" : words;
    }
}
