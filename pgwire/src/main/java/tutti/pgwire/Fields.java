package tutti.pgwire;

import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Reads parts of message bodies. All methods read at the buffer's reader index, advance it, and throw
 * {@link ProtocolViolation} when the buffer ends too early.
 */
public final class Fields {
    private Fields() {}

    /** Text up to a zero byte, UTF-8. */
    public static String cString(ByteBuf body) {
        int length = body.bytesBefore((byte) 0);
        if (length < 0) {
            throw new ProtocolViolation("a string in a message has no end");
        }
        String text = body.toString(body.readerIndex(), length, StandardCharsets.UTF_8);
        body.skipBytes(length + 1);
        return text;
    }

    /** A 32-bit number. */
    public static int int32(ByteBuf body) {
        need(body, 4);
        return body.readInt();
    }

    /** A signed 16-bit number. */
    public static int int16(ByteBuf body) {
        need(body, 2);
        return body.readShort();
    }

    /** One byte. */
    public static byte int8(ByteBuf body) {
        need(body, 1);
        return body.readByte();
    }

    /** All that is left. */
    public static byte[] rest(ByteBuf body) {
        byte[] bytes = new byte[body.readableBytes()];
        body.readBytes(bytes);
        return bytes;
    }

    /** The columns that a RowDescription tells. */
    public static List<Column> rowDescription(ByteBuf body) {
        int count = int16(body) & 0xffff;
        List<Column> columns = new ArrayList<>(Math.min(count, 64));
        for (int i = 0; i < count; i++) {
            String name = cString(body);
            need(body, 18);
            columns.add(new Column(name, body.readInt(), body.readShort(), body.readInt(), body.readShort(),
                    body.readInt(), body.readShort() != 0));
        }
        return columns;
    }

    /** The values of a DataRow in text form. */
    public static List<@Nullable String> dataRow(ByteBuf body) {
        int count = int16(body) & 0xffff;
        List<@Nullable String> values = new ArrayList<>(Math.min(count, 64));
        for (int i = 0; i < count; i++) {
            int length = int32(body);
            if (length == -1) {
                values.add(null);
            } else {
                need(body, length);
                values.add(body.readCharSequence(length, StandardCharsets.UTF_8).toString());
            }
        }
        return values;
    }

    /** A value as it was sent, which is all of a FunctionCallResponse, or null for SQL NULL. */
    public static byte @Nullable [] value(ByteBuf body) {
        int length = int32(body);
        if (length == -1) {
            return null;
        }
        need(body, length);
        byte[] value = new byte[length];
        body.readBytes(value);
        return value;
    }

    private static void need(ByteBuf body, int length) {
        if (length < 0 || body.readableBytes() < length) {
            throw new ProtocolViolation("a message is shorter than its contents say");
        }
    }

    /**
     * A column of a result.
     *
     * @param name as the statement names it
     * @param table its table's object id, or 0
     * @param number its number in that table, or 0
     * @param type its type's object id
     * @param size of the type in bytes, negative if it varies
     * @param modifier of the type
     * @param binary whether values come in binary form
     */
    public record Column(String name, int table, int number, int type, int size, int modifier, boolean binary) {}
}
