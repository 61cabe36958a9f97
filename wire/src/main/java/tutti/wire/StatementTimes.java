package tutti.wire;

import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.function.LongSupplier;
import tutti.node.Transactions;
import tutti.node.metrics.NodeMetrics;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.Frontend;

/**
 * How long a client waits for its statements, and which have lost: the node is told of those that take {@value #SLOW_MILLIS} ms or longer,
 * and of all that lose, with the first {@value #TEXT_BYTES} bytes of their text. A text that speaks of a password is not told. For one thread
 * at a time.
 */
public final class StatementTimes {
    private static final int SLOW_MILLIS = 20;
    private static final int TEXT_BYTES = 200;
    /** Of prepared statements by name, of which the rest are told without their text. */
    private static final int NAMES_MAX = 64;
    private static final byte[] NONE = {};

    private final Transactions node;
    private final LongSupplier clock;
    private final Map<String, byte[]> prepared = new HashMap<>();
    private byte[] text = NONE;
    private long begunNanos;
    private boolean underWay;

    /** Of a session that tells this node, by this clock in nanoseconds. */
    public StatementTimes(Transactions node, LongSupplier clock) {
        this.node = node;
        this.clock = clock;
    }

    /** The client has sent a message. */
    public void said(byte type, ByteBuf buffer, int start, int bodyLength) {
        if (!underWay) {
            underWay = true;
            begunNanos = clock.getAsLong();
            text = NONE;
        }
        int end = start + bodyLength;
        switch (type) {
            case Frontend.QUERY -> text = text(buffer, start, end);
            case Frontend.PARSE -> {
                String name = name(buffer, start, end);
                if (prepared.size() >= NAMES_MAX) {
                    prepared.clear();
                }
                prepared.put(name, text(buffer, start + name.length() + 1, end));
            }
            case Frontend.BIND -> {
                String portal = name(buffer, start, end);
                text = prepared.getOrDefault(name(buffer, start + portal.length() + 1, end), NONE);
            }
            default -> {
                // it has no text
            }
        }
    }

    /** A string of a message, a character a byte; up to the end if there is none of its own, which others complain of. */
    private static String name(ByteBuf buffer, int from, int end) {
        return new String(bytes(buffer, Math.min(from, end), end), StandardCharsets.ISO_8859_1);
    }

    private static byte[] text(ByteBuf buffer, int from, int end) {
        return bytes(buffer, Math.min(from, end), Math.min(end, from + TEXT_BYTES));
    }

    private static byte[] bytes(ByteBuf buffer, int from, int end) {
        int zero = buffer.indexOf(from, end, (byte) 0);
        byte[] bytes = new byte[(zero < 0 ? end : zero) - from];
        buffer.getBytes(from, bytes);
        return bytes;
    }

    /** The cycle is over; the client has its answer. */
    public void over() {
        if (underWay) {
            underWay = false;
            long nanos = clock.getAsLong() - begunNanos;
            if (nanos >= SLOW_MILLIS * 1_000_000L && text.length > 0) {
                node.slow(nanos, words());
            }
        }
    }

    /** A transaction has lost. */
    public void lost(ErrorFields why, boolean repeated) {
        String detail = why.get('D');
        node.lost(new NodeMetrics.Loss(why.sqlState(), why.message(), detail == null ? "" : detail, words(), repeated));
    }

    /** The client hears an error of the engine's: its transaction may have lost there. */
    public void failed(ErrorFields why) {
        if (why.sqlState().equals("40001") || why.sqlState().equals("40P01")) {
            lost(why, false);
        }
    }

    private String words() {
        String words = new String(text, StandardCharsets.UTF_8);
        return words.toLowerCase(Locale.ROOT).contains("passw") ? "(a statement about a password)" : words;
    }
}
