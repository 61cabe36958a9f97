package tutti.command;

import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.IThrowableProxy;
import ch.qos.logback.classic.spi.ThrowableProxyUtil;
import ch.qos.logback.core.Appender;
import ch.qos.logback.core.OutputStreamAppender;
import ch.qos.logback.core.encoder.EncoderBase;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Iterator;
import java.util.Map;
import java.util.TreeMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The log as JSON, one object a line, with the names of fields of the Elastic Common Schema, which collectors know: {@code @timestamp},
 * {@code log.level}, {@code message}, {@code log.logger}, {@code process.thread.name}, {@code error.type}, {@code error.message},
 * {@code error.stack_trace}, and what the program says of itself, such as {@code service.node.name}.
 */
public final class JsonLog extends EncoderBase<ILoggingEvent> {
    private final Map<String, String> always;

    private JsonLog(Map<String, String> always) {
        this.always = new TreeMap<>(always);
    }

    /**
     * From now on the log of this virtual machine is written so, to wherever it was written.
     *
     * @param always fields that each line has
     */
    public static void use(Map<String, String> always) {
        LoggerContext context = (LoggerContext) LoggerFactory.getILoggerFactory();
        for (Iterator<Appender<ILoggingEvent>> all = context.getLogger(Logger.ROOT_LOGGER_NAME)
                .iteratorForAppenders(); all.hasNext();) {
            if (all.next() instanceof OutputStreamAppender<ILoggingEvent> stream) {
                JsonLog encoder = new JsonLog(always);
                encoder.setContext(context);
                encoder.start();
                stream.setEncoder(encoder);
            }
        }
    }

    /** One that nothing is written with yet. */
    static JsonLog of(Map<String, String> always) {
        return new JsonLog(always);
    }

    @Override
    public byte[] headerBytes() {
        return new byte[0];
    }

    @Override
    public byte[] footerBytes() {
        return new byte[0];
    }

    @Override
    public byte[] encode(ILoggingEvent event) {
        StringBuilder line = new StringBuilder(256).append('{');
        field(line, "@timestamp", Instant.ofEpochMilli(event.getTimeStamp()).toString());
        field(line, "log.level", event.getLevel().toString());
        field(line, "message", event.getFormattedMessage());
        field(line, "log.logger", event.getLoggerName());
        field(line, "process.thread.name", event.getThreadName());
        always.forEach((name, value) -> field(line, name, value));
        IThrowableProxy thrown = event.getThrowableProxy();
        if (thrown != null) {
            field(line, "error.type", thrown.getClassName());
            field(line, "error.message", thrown.getMessage() == null ? "" : thrown.getMessage());
            field(line, "error.stack_trace", ThrowableProxyUtil.asString(thrown));
        }
        return line.append("}\n").toString().getBytes(StandardCharsets.UTF_8);
    }

    private static void field(StringBuilder line, String name, String value) {
        if (line.length() > 1) {
            line.append(',');
        }
        text(line, name);
        line.append(':');
        text(line, value);
    }

    /** As RFC 8259 has strings. */
    private static void text(StringBuilder line, String text) {
        line.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            switch (c) {
                case '"' -> line.append("\\\"");
                case '\\' -> line.append("\\\\");
                case '\n' -> line.append("\\n");
                case '\r' -> line.append("\\r");
                case '\t' -> line.append("\\t");
                default -> {
                    if (c < ' ' || Character.isSurrogate(c)) {
                        line.append(String.format("\\u%04x", (int) c));
                    } else {
                        line.append(c);
                    }
                }
            }
        }
        line.append('"');
    }
}
