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
import tutti.wire.KeptBytes;

/**
 * The answer of a statement: DataRow messages, ready to be sent, and how many rows it was about. The engines have a whole
 * result in memory anyway; as messages it takes about as much again, until the client has fetched the last of it: that is bounded for all
 * clients of a node together. One thread.
 */
final class Rows implements AutoCloseable {
    /** Most bytes of one result. */
    private static final int BYTES_MAX = 1 << 30;
    private @Nullable ByteBuf messages;
    private final long count;
    private final @Nullable KeptBytes room;
    /** What of the room it has. */
    private long taken;
    private final @Nullable String ticket;

    private Rows(@Nullable ByteBuf messages, long count, @Nullable String ticket, @Nullable KeptBytes room,
            long taken) {
        this.messages = messages;
        this.count = count;
        this.ticket = ticket;
        this.room = room;
        this.taken = taken;
    }

    /** So many rows were changed. */
    static Rows changed(long count) {
        return new Rows(null, count, null, null, 0);
    }

    /**
     * The statement will be executed.
     *
     * @param ticket its name
     */
    static Rows logged(String ticket) {
        return new Rows(null, 0, ticket, null, 0);
    }

    /**
     * All rows of a result.
     *
     * @param formats of the columns: 0 text, 1 binary; none for all text, one for all
     * @param room what results of all clients have, of which it takes a part
     * @throws SQLException also with {@code 54000} if it is too large, and with {@code 53200} if there is no room; then it has taken none
     */
    static Rows of(ResultSet results, List<PgType.Column> columns, short[] formats, ZoneId zone, KeptBytes room)
            throws SQLException {
        Rows rows = new Rows(null, 0, null, room, 0);
        try {
            ByteBuf out = Unpooled.buffer();
            long count = rows.read(results, columns, formats, zone, out);
            Rows whole = new Rows(out, count, null, room, rows.taken);
            rows.taken = 0;
            return whole;
        } finally {
            rows.close();
        }
    }

    private long read(ResultSet results, List<PgType.Column> columns, short[] formats, ZoneId zone, ByteBuf out)
            throws SQLException {
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
            take(out.capacity());
        }
        return count;
    }

    private void take(int bytes) throws SQLException {
        KeptBytes from = room;
        if (from == null || bytes <= taken) {
            return;
        }
        long most = Math.min(BYTES_MAX, from.most());
        if (bytes > most) {
            throw new SQLException(
                    "the result is larger than " + most + " bytes, which results of this node's clients may"
                            + " have: ask for less of it at a time",
                    "54000");
        }
        if (!from.take(bytes - taken)) {
            throw new SQLException("results that clients of this node have not read to their ends leave no room for"
                    + " this one: try again later, ask for less at a time, or close portals", "53200");
        }
        taken = bytes;
    }

    /** What has not been sent is forgotten. */
    @Override
    public void close() {
        if (messages != null) {
            messages = Unpooled.EMPTY_BUFFER;
        }
        if (room != null) {
            room.insist(-taken);
            taken = 0;
        }
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
        if (done()) {
            close();
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
