package tutti.workload.tpcc;

import java.nio.charset.StandardCharsets;
import java.time.LocalDateTime;
import java.util.Arrays;

/** Rows in the text format of PostgreSQL's COPY, cut into chunks of a bounded number of rows. One thread. */
final class CopyRows implements RowWriter {
    /** Takes a full chunk. */
    interface Sink {
        void chunk(byte[] bytes, int length, int rows);
    }

    private final int rowsPerChunk;
    private final Sink sink;
    private byte[] bytes = new byte[1 << 16];
    private int length;
    private int rows;
    private boolean insideRow;

    CopyRows(int rowsPerChunk, Sink sink) {
        this.rowsPerChunk = rowsPerChunk;
        this.sink = sink;
    }

    @Override
    public void integer(long value) {
        separate();
        ascii(Long.toString(value));
    }

    @Override
    public void decimal(long unscaled, int scale) {
        separate();
        if (unscaled < 0) {
            put('-');
        }
        long unit = 1;
        for (int i = 0; i < scale; i++) {
            unit *= 10;
        }
        long magnitude = Math.abs(unscaled);
        ascii(Long.toString(magnitude / unit));
        put('.');
        ascii(Long.toString(unit + magnitude % unit), 1);
    }

    @Override
    public void text(String value) {
        separate();
        ascii(value);
    }

    @Override
    public void timestamp(LocalDateTime value) {
        separate();
        ascii(value.toString());
    }

    @Override
    public void nothing() {
        separate();
        ascii("\\N");
    }

    @Override
    public void endRow() {
        put('\n');
        insideRow = false;
        if (++rows == rowsPerChunk) {
            flush();
        }
    }

    /** Hands over what there is. */
    void flush() {
        if (rows > 0) {
            sink.chunk(bytes, length, rows);
            rows = 0;
            length = 0;
        }
    }

    private void separate() {
        if (insideRow) {
            put('\t');
        }
        insideRow = true;
    }

    private void put(char c) {
        if (length == bytes.length) {
            bytes = Arrays.copyOf(bytes, bytes.length * 2);
        }
        bytes[length++] = (byte) c;
    }

    private void ascii(String text) {
        ascii(text, 0);
    }

    // Generated text is ASCII without backslashes, tabs and line ends: nothing needs to be escaped.
    private void ascii(String text, int from) {
        byte[] encoded = text.getBytes(StandardCharsets.ISO_8859_1);
        int count = encoded.length - from;
        while (length + count > bytes.length) {
            bytes = Arrays.copyOf(bytes, bytes.length * 2);
        }
        System.arraycopy(encoded, from, bytes, length, count);
        length += count;
    }
}
