package tutti.pgwire;

import io.netty.buffer.ByteBuf;
import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * What an ErrorResponse or NoticeResponse says: its fields by their one-letter codes. Immutable.
 *
 * @param fields by code, as the protocol defines them: {@code S} severity (translated), {@code V} severity, {@code C}
 *            SQLSTATE, {@code M} message, {@code D} detail, {@code H} hint, …
 */
public record ErrorFields(Map<Character, String> fields) {
    /** Keeps a copy. */
    public ErrorFields {
        fields = Collections.unmodifiableMap(new TreeMap<>(fields));
    }

    /** An error or notice of our own. */
    public static ErrorFields of(String severity, String sqlState, String message) {
        return new ErrorFields(Map.of('S', severity, 'V', severity, 'C', sqlState, 'M', message));
    }

    /** The same with a further field, or without it if the value is null. */
    public ErrorFields with(char code, @Nullable String value) {
        TreeMap<Character, String> more = new TreeMap<>(fields);
        if (value == null) {
            more.remove(code);
        } else {
            more.put(code, value);
        }
        return new ErrorFields(more);
    }

    /** Reads the body of the message, from the buffer's reader index to its end. */
    public static ErrorFields read(ByteBuf body) {
        TreeMap<Character, String> fields = new TreeMap<>();
        while (body.isReadable()) {
            char code = (char) body.readByte();
            if (code == 0) {
                break;
            }
            fields.put(code, Fields.cString(body));
        }
        return new ErrorFields(fields);
    }

    void write(ByteBuf out, byte type) {
        int start = Frontend.begin(out, type);
        fields.forEach((code, value) -> {
            out.writeByte(code);
            Frontend.cString(out, value.replace('\0', ' '));
        });
        out.writeByte(0);
        Frontend.end(out, start);
    }

    /** One field, or null. */
    public @Nullable String get(char code) {
        return fields.get(code);
    }

    /** The severity, untranslated where the server says so. */
    public String severity() {
        String severity = fields.get('V');
        return severity != null ? severity : fields.getOrDefault('S', "");
    }

    /** The SQLSTATE, five characters, or XX000 if the message has none. */
    public String sqlState() {
        return fields.getOrDefault('C', "XX000");
    }

    /** The primary message, or nothing. */
    public String message() {
        return fields.getOrDefault('M', "");
    }

    @Override
    public String toString() {
        String detail = get('D');
        return severity() + ": " + message() + " (SQLSTATE " + sqlState() + ")" + (detail == null ? "" : ": " + detail);
    }
}
