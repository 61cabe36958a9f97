package tutti.node.trace;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What W3C Trace Context says of {@code traceparent}. */
class TraceContextTest {
    private static final String TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
    private static final String SPAN = "f0f067aa0ba902b7";

    @Test
    void aParentIsReadWithAllItsBits() {
        TraceContext read = TraceContext.parse("00-" + TRACE + "-" + SPAN + "-01");
        assertNotNull(read);
        assertEquals(TRACE, read.traceId());
        assertEquals(SPAN, read.spanId());
        assertTrue(read.sampled());
        TraceContext other = TraceContext.parse("00-" + TRACE + "-" + SPAN + "-fe");
        assertNotNull(other);
        assertFalse(other.sampled());
    }

    @Test
    void aVersionToComeMayHaveMore() {
        assertNotNull(TraceContext.parse("cc-" + TRACE + "-" + SPAN + "-01-what-is-to-come"));
        assertNull(TraceContext.parse("00-" + TRACE + "-" + SPAN + "-01-more"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "00", "ff-" + TRACE + "-" + SPAN + "-01", "00-" + TRACE + "-0000000000000000-01",
            "00-00000000000000000000000000000000-" + SPAN + "-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-" + SPAN + "-01",
            "00-" + TRACE + "-" + SPAN + "-1", "00-" + TRACE + SPAN + "-01", "0x-" + TRACE + "-" + SPAN + "-01"})
    void whatIsNoneMeansNothing(String text) {
        assertNull(TraceContext.parse(text));
    }

    @Test
    void impossibleOnesCannotBeMade() {
        assertThrows(IllegalArgumentException.class, () -> new TraceContext(0, 0, 1, 1));
        assertThrows(IllegalArgumentException.class, () -> new TraceContext(1, 0, 0, 1));
        assertThrows(IllegalArgumentException.class, () -> new TraceContext(1, 0, 1, 256));
    }
}
