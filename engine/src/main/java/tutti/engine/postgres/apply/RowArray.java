package tutti.engine.postgres.apply;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** Rows in text form as the text of one array, which says before all else how many it has: {@code [1:2]=\{"(1,a)","(2,b)"\}}. */
final class RowArray {
    private RowArray() {}

    /** The array of these rows. */
    static byte[] of(List<byte[]> rows) {
        byte[] bounds = ("[1:" + rows.size() + "]=").getBytes(StandardCharsets.US_ASCII);
        int length = bounds.length + 1;
        for (byte[] row : rows) {
            length += row.length + row.length / 8 + 3;
        }
        ByteArrayOutputStream out = new ByteArrayOutputStream(length);
        out.writeBytes(bounds);
        char separator = '{';
        for (byte[] row : rows) {
            out.write(separator);
            out.write('"');
            int from = 0;
            for (int i = 0; i < row.length; i++) {
                if (row[i] == '"' || row[i] == '\\') {
                    out.write(row, from, i - from);
                    out.write('\\');
                    from = i;
                }
            }
            out.write(row, from, row.length - from);
            out.write('"');
            separator = ',';
        }
        out.write('}');
        return out.toByteArray();
    }
}
