package tutti.command;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.LoggingEvent;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Lines of the log as JSON. */
class JsonLogTest {
    private static String line(String message, @Nullable Throwable thrown) {
        LoggingEvent event = new LoggingEvent("x", new LoggerContext().getLogger("tutti.node.ReplicaCore"), Level.WARN,
                message, thrown, null);
        event.setThreadName("loop");
        event.setInstant(Instant.ofEpochMilli(1_700_000_000_123L));
        return new String(JsonLog.of(Map.of("service.node.name", "b")).encode(event), StandardCharsets.UTF_8);
    }

    @Test
    void eachIsAnObjectWithNamesThatCollectorsKnow() {
        assertEquals("{\"@timestamp\":\"2023-11-14T22:13:20.123Z\",\"log.level\":\"WARN\",\"message\":\"node 1 waits\","
                + "\"log.logger\":\"tutti.node.ReplicaCore\",\"process.thread.name\":\"loop\","
                + "\"service.node.name\":\"b\"}\n", line("node 1 waits", null));
    }

    @Test
    void whatWouldBreakALineIsEscaped() {
        String line = line("a \"b\" \\ c\nd\te\u0001\ud83d", null);
        assertTrue(line.contains("\"message\":\"a \\\"b\\\" \\\\ c\\nd\\te\\u0001\\ud83d\""), line);
    }

    @Test
    void anErrorIsToldWithItsStack() {
        String line = line("failed", new IllegalStateException("why \"so\""));
        assertTrue(
                line.contains("\"error.type\":\"java.lang.IllegalStateException\",\"error.message\":\"why \\\"so\\\"\","
                        + "\"error.stack_trace\":\"java.lang.IllegalStateException: why"),
                line);
        assertEquals(1, line.lines().count());
    }
}
