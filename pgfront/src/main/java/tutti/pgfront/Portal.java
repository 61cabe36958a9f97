package tutti.pgfront;

import java.sql.SQLException;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.pgwire.ProtocolViolation;

/** A statement with its parameters, perhaps executed. One thread. */
final class Portal {
    final Prepared prepared;
    final @Nullable Object[] values;
    final short[] formats;
    /** What is read from it, as soon as it has been executed. */
    @Nullable
    Rows rows;
    /** It has been executed, and has no rows that could be read on. */
    boolean over;

    private Portal(Prepared prepared, @Nullable Object[] values, short[] formats) {
        this.prepared = prepared;
        this.values = values;
        this.formats = formats;
    }

    /**
     * One that has not been executed.
     *
     * @param formats of the columns: none, one for all, or one for each
     * @throws SQLException with {@code 08P01} if there are not as many columns
     */
    static Portal of(Prepared prepared, @Nullable Object[] values, short[] formats) throws SQLException {
        List<PgType.Column> columns = prepared.columns();
        if (columns != null && formats.length > 1 && formats.length != columns.size()) {
            throw new SQLException("bind message has " + formats.length + " result formats but query has "
                    + columns.size() + " columns", ProtocolViolation.SQL_STATE);
        }
        return new Portal(prepared, values, formats);
    }
}
