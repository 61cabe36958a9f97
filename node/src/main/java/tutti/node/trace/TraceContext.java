package tutti.node.trace;

import java.util.HexFormat;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tutti.core.schema.Field;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;

/**
 * What one program tells another of a span that its own are to be below: the ids and flags of W3C Trace Context, level 1. Immutable.
 *
 * @param high upper half of the trace's id
 * @param low lower half; not both are 0
 * @param span id of the span, not 0
 * @param flags 0 to 255; the lowest bit says that the trace is recorded
 */
public record TraceContext(long high, long low, long span, int flags) {
    /** As a part of a message. */
    public static final Schema<TraceContext> SCHEMA = Schema.part("trace context", TraceContext.class).of(
            Field.of("high", Types.LONG, TraceContext::high),
            Field.of("low", Types.LONG, TraceContext::low),
            Field.of("span", Types.LONG, TraceContext::span),
            Field.of("flags", Types.u8(0, 255), TraceContext::flags), TraceContext::new);

    private static final int SAMPLED = 1;
    /** Version ff is forbidden; versions to come may have more behind this, which means nothing here. */
    private static final Pattern TEXT = Pattern
            .compile("(?!ff)([0-9a-f]{2})-([0-9a-f]{16})([0-9a-f]{16})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?");
    private static final String FIRST_VERSION = "00";

    public TraceContext {
        if ((high | low) == 0 || span == 0 || flags < 0 || flags > 255) {
            throw new IllegalArgumentException("no trace context: ids of 0, or flags " + flags);
        }
    }

    /** What a header {@code traceparent} says; null if it is none. */
    public static @Nullable TraceContext parse(String traceparent) {
        Matcher text = TEXT.matcher(traceparent);
        if (!text.matches() || (text.group(1).equals(FIRST_VERSION) && text.group(6) != null)) {
            return null;
        }
        long high = HexFormat.fromHexDigitsToLong(text.group(2));
        long low = HexFormat.fromHexDigitsToLong(text.group(3));
        long span = HexFormat.fromHexDigitsToLong(text.group(4));
        return (high | low) == 0 || span == 0
                ? null
                : new TraceContext(high, low, span, HexFormat.fromHexDigits(text.group(5)));
    }

    /** Whether who has begun the trace records it. */
    public boolean sampled() {
        return (flags & SAMPLED) != 0;
    }

    /** Id of the trace, 32 hexadecimal digits. */
    public String traceId() {
        return HexFormat.of().toHexDigits(high) + HexFormat.of().toHexDigits(low);
    }

    /** Id of the span, 16 hexadecimal digits. */
    public String spanId() {
        return HexFormat.of().toHexDigits(span);
    }
}
