package tutti.engine.postgres.apply;

import java.io.ByteArrayOutputStream;
import java.util.List;

/** Rows in text form as the text of one array. */
final class RowArray {
    private RowArray() {}

    /** The array of these rows. */
    static byte[] of(List<byte[]> rows) {
        int length = 1;
        for (byte[] row : rows) {
            length += row.length + row.length / 8 + 3;
        }
        ByteArrayOutputStream out = new ByteArrayOutputStream(length);
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
