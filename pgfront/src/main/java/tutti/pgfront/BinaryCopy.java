package tutti.pgfront;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * COPY's binary format: a signature, flags and the length of an extension; then for each row how many values it has, and
 * each value with its length before it, -1 for null; then -1. Takes data apart that comes in pieces of any size; for one
 * thread at a time.
 */
final class BinaryCopy implements Copy.Reader {
    private static final byte[] SIGNATURE = "PGCOPY\n\u00ff\r\n\0".getBytes(StandardCharsets.ISO_8859_1);
    private static final int HEADER_BYTES = SIGNATURE.length + 8;

    private final int width;
    private final CopyReader.RowTaker taker;
    private final ByteBuf rest = Unpooled.buffer();
    private boolean begun;
    private boolean ended;

    /**
     * A reader.
     *
     * @param width how many values a row has
     */
    BinaryCopy(int width, CopyReader.RowTaker taker) {
        this.width = width;
        this.taker = taker;
    }

    /** What comes before the first row. */
    static byte[] header() {
        return Arrays.copyOf(SIGNATURE, HEADER_BYTES);
    }

    /** What comes behind the last one. */
    static byte[] trailer() {
        return new byte[]{-1, -1};
    }

    /** A row. */
    static byte[] row(List<byte @Nullable []> values) {
        ByteBuf row = Unpooled.buffer().writeShort(values.size());
        for (byte[] value : values) {
            row.writeInt(value == null ? -1 : value.length);
            if (value != null) {
                row.writeBytes(value);
            }
        }
        byte[] bytes = new byte[row.readableBytes()];
        row.readBytes(bytes);
        return bytes;
    }

    @Override
    public void add(ByteBuf data) throws SQLException {
        if (ended) {
            return;
        }
        rest.writeBytes(data);
        if (!begun) {
            if (rest.readableBytes() < HEADER_BYTES || !begin()) {
                return;
            }
        }
        while (!ended && next()) {
            // The next row.
        }
        rest.discardReadBytes();
    }

    /** Passes over what comes before the first row; false if it has not come yet as a whole. */
    private boolean begin() throws SQLException {
        byte[] signature = new byte[SIGNATURE.length];
        rest.getBytes(0, signature);
        if (!Arrays.equals(signature, SIGNATURE)) {
            throw new SQLException("COPY file signature not recognized", BAD_FORMAT);
        }
        int flags = rest.getInt(SIGNATURE.length);
        int extension = rest.getInt(SIGNATURE.length + 4);
        if (flags != 0 || extension < 0 || extension > VALUE_BYTES_MAX) {
            throw new SQLException("invalid COPY file header: unknown flags, or a wrong length", BAD_FORMAT);
        }
        if (rest.readableBytes() < HEADER_BYTES + extension) {
            return false;
        }
        rest.skipBytes(HEADER_BYTES + extension);
        begun = true;
        return true;
    }

    /** Hands the next row on; false if it has not come yet as a whole. */
    private boolean next() throws SQLException {
        int start = rest.readerIndex();
        if (rest.readableBytes() < 2) {
            return false;
        }
        int count = rest.readShort();
        if (count == -1) {
            ended = true;
            return false;
        }
        if (count != width) {
            throw new SQLException("row field count is " + count + ", expected " + width, BAD_FORMAT);
        }
        List<byte @Nullable []> values = new ArrayList<>(width);
        for (int i = 0; i < width; i++) {
            boolean known = rest.readableBytes() >= 4;
            int length = known ? rest.readInt() : 0;
            if (length < -1) {
                throw new SQLException("invalid field size", BAD_FORMAT);
            }
            if (length > VALUE_BYTES_MAX) {
                throw Copy.tooLarge();
            }
            if (!known || length > rest.readableBytes()) {
                rest.readerIndex(start);
                return false;
            }
            byte[] value = length < 0 ? null : new byte[length];
            if (value != null) {
                rest.readBytes(value);
            }
            values.add(value);
        }
        taker.row(values);
        return true;
    }

    @Override
    public void end() throws SQLException {
        if (!begun || (!ended && rest.isReadable())) {
            throw new SQLException("unexpected EOF in COPY data", BAD_FORMAT);
        }
    }
}
