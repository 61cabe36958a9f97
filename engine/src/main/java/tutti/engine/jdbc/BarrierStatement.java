package tutti.engine.jdbc;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

/**
 * A statement that every replica executes at one position of the total order.
 *
 * @param schema the current schema when it is executed, as the engine spells it
 * @param sql one statement
 */
public record BarrierStatement(String schema, String sql) {
    private static final int SQL_BYTES_MAX = 1 << 26;

    /** In the form that {@link tutti.core.spi.Engine.Applier#execute} takes. */
    public byte[] toBytes() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeUTF(schema);
            byte[] text = sql.getBytes(StandardCharsets.UTF_8);
            out.writeInt(text.length);
            out.write(text);
        } catch (IOException impossible) {
            throw new UncheckedIOException(impossible);
        }
        return bytes.toByteArray();
    }

    /**
     * Reads what {@link #toBytes} wrote.
     *
     * @throws IOException if it is damaged
     */
    static BarrierStatement of(byte[] bytes) throws IOException {
        DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes));
        String schema = in.readUTF();
        int length = in.readInt();
        if (length < 0 || length > SQL_BYTES_MAX) {
            throw new IOException("a statement of " + length + " bytes");
        }
        byte[] text = new byte[length];
        in.readFully(text);
        return new BarrierStatement(schema, new String(text, StandardCharsets.UTF_8));
    }
}
