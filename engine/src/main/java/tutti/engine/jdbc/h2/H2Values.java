package tutti.engine.jdbc.h2;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import org.h2.engine.SessionLocal;
import org.h2.table.Column;
import org.h2.value.TypeInfo;
import org.h2.value.Value;
import org.h2.value.ValueArray;
import org.h2.value.ValueBigint;
import org.h2.value.ValueBoolean;
import org.h2.value.ValueDouble;
import org.h2.value.ValueGeometry;
import org.h2.value.ValueJavaObject;
import org.h2.value.ValueJson;
import org.h2.value.ValueNull;
import org.h2.value.ValueNumeric;
import org.h2.value.ValueRow;
import org.h2.value.ValueVarbinary;
import org.h2.value.ValueVarchar;
import org.jspecify.annotations.Nullable;

/** H2's values in the form in which they travel, and back. */
final class H2Values {
    private H2Values() {}

    static @Nullable Object travelling(Value value) {
        return switch (value.getValueType()) {
            case Value.NULL -> null;
            case Value.BOOLEAN -> value.getBoolean();
            case Value.TINYINT, Value.SMALLINT, Value.INTEGER, Value.BIGINT -> value.getLong();
            case Value.NUMERIC -> value.getBigDecimal();
            case Value.REAL, Value.DOUBLE -> value.getDouble();
            case Value.BINARY, Value.VARBINARY, Value.BLOB, Value.JAVA_OBJECT, Value.GEOMETRY, Value.JSON ->
                value.getBytes();
            case Value.ARRAY -> list(((ValueArray) value).getList());
            case Value.ROW -> list(((ValueRow) value).getList());
            default -> value.getString();
        };
    }

    private static List<@Nullable Object> list(Value[] values) {
        List<@Nullable Object> list = new ArrayList<>(values.length);
        for (Value value : values) {
            list.add(travelling(value));
        }
        return list;
    }

    /** The value for a column. */
    static Value value(SessionLocal session, Column column, @Nullable Object travelling) {
        return raw(session, column.getType(), travelling).convertForAssignTo(column.getType(), session, column);
    }

    private static Value raw(SessionLocal session, TypeInfo type, @Nullable Object travelling) {
        return switch (travelling) {
            case null -> ValueNull.INSTANCE;
            case Boolean flag -> ValueBoolean.get(flag);
            case Long number -> ValueBigint.get(number);
            case BigDecimal number -> ValueNumeric.getAnyScale(number);
            case Double number -> ValueDouble.get(number);
            case String text -> ValueVarchar.get(text, session);
            case byte[] bytes -> switch (type.getValueType()) {
                case Value.JSON -> ValueJson.fromJson(bytes);
                case Value.GEOMETRY -> ValueGeometry.getFromEWKB(bytes);
                case Value.JAVA_OBJECT -> ValueJavaObject.getNoCopy(bytes);
                default -> ValueVarbinary.getNoCopy(bytes);
            };
            case List<?> elements -> list(session, type, elements);
            default -> throw new IllegalArgumentException("no value of a column: " + travelling.getClass());
        };
    }

    private static Value list(SessionLocal session, TypeInfo type, List<?> elements) {
        if (!(type.getExtTypeInfo() instanceof TypeInfo element)) {
            throw new IllegalArgumentException("columns of type " + type + " are not replicated");
        }
        Value[] values = new Value[elements.size()];
        for (int i = 0; i < values.length; i++) {
            values[i] = raw(session, element, elements.get(i)).convertTo(element, session);
        }
        return ValueArray.get(element, values, session);
    }
}
