package tutti.engine.jdbc.hsqldb;

import java.math.BigDecimal;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.hsqldb.SessionInterface;
import org.hsqldb.types.BinaryData;
import org.hsqldb.types.Type;
import org.hsqldb.types.Types;
import org.jspecify.annotations.Nullable;

/** HSQLDB's values in the form in which they travel, and back. */
final class HsqldbValues {
    private HsqldbValues() {}

    static @Nullable Object travelling(SessionInterface session, Type type, @Nullable Object value) {
        return switch (value) {
            case null -> null;
            case Boolean flag -> flag;
            case BigDecimal number -> number;
            case Double number -> number;
            case Number number -> number.longValue();
            case String text -> text;
            case BinaryData bytes when type.typeCode == Types.SQL_BINARY || type.typeCode == Types.SQL_VARBINARY ->
                bytes.getBytes();
            case Object[] elements -> {
                List<@Nullable Object> list = new ArrayList<>(elements.length);
                for (Object element : elements) {
                    list.add(travelling(session, type.collectionBaseType(), element));
                }
                yield list;
            }
            default -> {
                if (type.isLobType() || type.isObjectType()) {
                    throw new UnsupportedOperationException("values of type " + type.getNameString()
                            + " are not replicated with HSQLDB; use VARCHAR or VARBINARY");
                }
                yield type.convertToString(value);
            }
        };
    }

    /** A value of a query's result, in the same form. */
    static @Nullable Object travelling(ResultSet results, int column) throws SQLException {
        Object value = switch (results.getMetaData().getColumnType(column)) {
            case java.sql.Types.TINYINT, java.sql.Types.SMALLINT, java.sql.Types.INTEGER, java.sql.Types.BIGINT ->
                results.getLong(column);
            case java.sql.Types.NUMERIC, java.sql.Types.DECIMAL -> results.getBigDecimal(column);
            case java.sql.Types.REAL, java.sql.Types.FLOAT, java.sql.Types.DOUBLE -> results.getDouble(column);
            case java.sql.Types.BOOLEAN -> results.getBoolean(column);
            case java.sql.Types.BINARY, java.sql.Types.VARBINARY ->
                results.getMetaData().getColumnTypeName(column).equals("UUID")
                        ? results.getString(column)
                        : results.getBytes(column);
            case java.sql.Types.ARRAY -> throw new SQLException("arrays are captured in mode NOTES only", "0A000");
            default -> results.getString(column);
        };
        return results.wasNull() ? null : value;
    }

    static @Nullable Object value(SessionInterface session, Type type, @Nullable Object travelling) {
        return switch (travelling) {
            case null -> null;
            case byte[] bytes -> new BinaryData(bytes, false);
            case List<?> elements -> {
                @Nullable
                Object[] values = new @Nullable Object[elements.size()];
                for (int i = 0; i < values.length; i++) {
                    values[i] = value(session, type.collectionBaseType(), elements.get(i));
                }
                yield values;
            }
            case String text when type.isCharacterType() -> text;
            case String text -> type.convertToType(session, text, Type.SQL_VARCHAR_DEFAULT);
            case Object other -> type.convertToDefaultType(session, other);
        };
    }
}
