package tutti.pgfront;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.pgwire.Backend;

/**
 * The answer of a statement: DataRow messages, ready to be sent, and how many rows it was about. The engines have a whole
 * result in memory anyway; as messages it takes about as much again, for as long as the client fetches.
 */
final class Rows {
    /** Most bytes of one result. */
    private static final int BYTES_MAX = 1 << 30;
    private final @Nullable ByteBuf messages;
    private final long count;
    private final @Nullable String ticket;

    private Rows(@Nullable ByteBuf messages, long count, @Nullable String ticket) {
        this.messages = messages;
        this.count = count;
        this.ticket = ticket;
    }

    /** So many rows were changed. */
    static Rows changed(long count) {
        return new Rows(null, count, null);
    }

    /**
     * The statement will be executed.
     *
     * @param ticket its name
     */
    static Rows logged(String ticket) {
        return new Rows(null, 0, ticket);
    }

    /**
     * All rows of a result.
     *
     * @param formats of the columns: 0 text, 1 binary; none for all text, one for all
     */
    static Rows of(ResultSet results, List<PgType.Column> columns, short[] formats, ZoneId zone) throws SQLException {
        ByteBuf out = Unpooled.buffer();
        long count = 0;
        int width = columns.size();
        boolean[] binary = new boolean[width];
        for (int i = 0; i < width; i++) {
            binary[i] = binary(formats, i);
        }
        while (results.next()) {
            int start = out.writerIndex();
            out.writeByte(Backend.DATA_ROW).writeInt(0).writeShort(width);
            for (int i = 0; i < width; i++) {
                PgType.Column column = columns.get(i);
                PgValues.write(out, PgValues.read(results, i + 1, column), column, binary[i], zone);
            }
            out.setInt(start + 1, out.writerIndex() - start - 1);
            count++;
            if (out.writerIndex() > BYTES_MAX) {
                throw new SQLException("the result is larger than 1 GiB: ask for less of it at a time", "54000");
            }
        }
        return new Rows(out, count, null);
    }

    static boolean binary(short[] formats, int column) {
        return formats.length > 0 && formats[formats.length == 1 ? 0 : column] == 1;
    }

    /** The columns of a result as they are told. */
    static List<PgType.Column> columns(ResultSetMetaData metaData) throws SQLException {
        List<PgType.Column> columns = new ArrayList<>();
        for (int i = 1; i <= metaData.getColumnCount(); i++) {
            columns.add(PgType.of(metaData.getColumnType(i), metaData.getColumnTypeName(i), metaData.getPrecision(i),
                    metaData.getScale(i)));
        }
        return columns;
    }

    /** Whether it has rows to be sent, be it none. */
    boolean answered() {
        return messages != null;
    }

    /** The name of a request that is logged and will be executed; null if this one has been. */
    @Nullable
    String ticket() {
        return ticket;
    }

    /** Rows of the answer, or changed ones. */
    long count() {
        return count;
    }

    /** Appends up to that many of the rows that have not been sent yet, 0 for all; answers how many. */
    long send(ClientConnection client, int limit) throws InterruptedException {
        ByteBuf from = messages;
        long sent = 0;
        while (from != null && from.isReadable() && (limit == 0 || sent < limit)) {
            int length = from.getInt(from.readerIndex() + 1) + 1;
            client.out().writeBytes(from, length);
            sent++;
            client.mayFlush();
        }
        return sent;
    }

    /** The values of the next row that has not been sent, in the form in which they were asked for; null if there is none. */
    @Nullable
    List<byte @Nullable []> next() {
        ByteBuf from = messages;
        if (from == null || !from.isReadable()) {
            return null;
        }
        from.skipBytes(5);
        int width = from.readShort();
        List<byte @Nullable []> values = new ArrayList<>(width);
        for (int i = 0; i < width; i++) {
            int length = from.readInt();
            byte[] value = length < 0 ? null : new byte[length];
            if (value != null) {
                from.readBytes(value);
            }
            values.add(value);
        }
        return values;
    }

    /** Whether all rows have been sent. */
    boolean done() {
        return messages == null || !messages.isReadable();
    }
}
