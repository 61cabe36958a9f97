package tutti.pgfront;

import java.sql.SQLException;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.pgwire.ProtocolViolation;
import tutti.wire.KeptBytes;

/** A statement with its parameters, perhaps executed. One thread. */
final class Portal implements AutoCloseable {
    /** What one takes in any case, and each of its values beside what the client has sent; estimated. */
    private static final int BYTES_MIN = 256;
    private static final int BYTES_OF_VALUE = 32;

    final Prepared prepared;
    final @Nullable Object[] values;
    final short[] formats;
    /** What is read from it, as soon as it has been executed. */
    @Nullable
    Rows rows;
    /** It has been executed, and has no rows that could be read on. */
    boolean over;

    private final KeptBytes room;
    /** What of the room it has, without its rows. */
    private long taken;

    private Portal(Prepared prepared, @Nullable Object[] values, short[] formats, KeptBytes room) {
        this.room = room;
        this.prepared = prepared;
        this.values = values;
        this.formats = formats;
    }

    /**
     * One that has not been executed.
     *
     * @param formats of the columns: none, one for all, or one for each
     * @param room what results of all clients have, and what they come from
     * @param bytes of the values
     * @throws SQLException with {@code 08P01} if there are not as many columns, with {@code 53200} if there is no room
     */
    static Portal of(Prepared prepared, @Nullable Object[] values, short[] formats, KeptBytes room, long bytes)
            throws SQLException {
        List<PgType.Column> columns = prepared.columns();
        if (columns != null && formats.length > 1 && formats.length != columns.size()) {
            throw new SQLException("bind message has " + formats.length + " result formats but query has "
                    + columns.size() + " columns", ProtocolViolation.SQL_STATE);
        }
        Portal portal = new Portal(prepared, values, formats, room);
        portal.taken = NamedObjects.take(room, BYTES_MIN + bytes + (long) BYTES_OF_VALUE * values.length);
        return portal;
    }

    @Override
    public void close() {
        room.insist(-taken);
        taken = 0;
        if (rows != null) {
            rows.close();
        }
    }
}
