package tutti.engine.postgres.output;

import java.io.ByteArrayOutputStream;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Writes rows in PostgreSQL's composite text form, to the byte as the server does ({@code record_out}). */
final class RowWriter {
    private RowWriter() {}

    /** All values, in their order. */
    static byte[] text(List<byte @Nullable []> values) {
        int[] places = new int[values.size()];
        for (int i = 0; i < places.length; i++) {
            places[i] = i;
        }
        return text(values, places);
    }

    /** Values in the order of their places; nothing for a place of -1. */
    static byte[] text(List<byte @Nullable []> values, int[] places) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.write('(');
        for (int i = 0; i < places.length; i++) {
            if (i > 0) {
                out.write(',');
            }
            byte[] value = places[i] < 0 ? null : values.get(places[i]);
            if (value != null) {
                write(out, value);
            }
        }
        out.write(')');
        return out.toByteArray();
    }

    private static void write(ByteArrayOutputStream out, byte[] value) {
        boolean quoted = value.length == 0;
        for (int i = 0; i < value.length && !quoted; i++) {
            quoted = switch (value[i]) {
                case '"', '\\', '(', ')', ',', ' ', '\t', '\n', '\r', '\f', 0x0b -> true;
                default -> false;
            };
        }
        if (!quoted) {
            out.writeBytes(value);
            return;
        }
        out.write('"');
        for (byte each : value) {
            if (each == '"' || each == '\\') {
                out.write(each);
            }
            out.write(each);
        }
        out.write('"');
    }
}
