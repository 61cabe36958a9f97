package tutti.pgfront;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.sql.Array;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.OffsetTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.temporal.ChronoField;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import tutti.engine.jdbc.SqlDialect;

/**
 * Values between JDBC and the wire, in PostgreSQL's text and binary forms. Numbers have Java's boxed types, times those of
 * {@code java.time}, bytes are {@code byte[]}, arrays {@code Object[]}, everything else is a {@code String} or a
 * {@code UUID}.
 */
final class PgValues {
    private static final LocalDate EPOCH_DATE = LocalDate.of(2000, 1, 1);
    private static final LocalDateTime EPOCH = EPOCH_DATE.atStartOfDay();
    private static final long NANOS_PER_MICRO = 1000;
    /** Before a {@code jsonb} in binary. */
    private static final byte JSONB_VERSION = 1;

    private PgValues() {}

    // ------------------------------------------------------------------------------------------ from the engine

    /** The value in the current row, or null. */
    static @Nullable Object read(ResultSet rows, int column, PgType.Column type) throws SQLException {
        if (type.array()) {
            Array array = rows.getArray(column);
            return array == null ? null : (Object[]) array.getArray();
        }
        Object value = switch (type.type()) {
            case BOOL -> rows.getBoolean(column);
            case INT2, INT4, OID -> rows.getInt(column);
            case INT8 -> rows.getLong(column);
            case FLOAT4 -> rows.getFloat(column);
            case FLOAT8 -> rows.getDouble(column);
            case NUMERIC -> plain(rows.getBigDecimal(column));
            case BYTEA -> rows.getBytes(column);
            case DATE -> rows.getObject(column, LocalDate.class);
            case TIME -> rows.getObject(column, LocalTime.class);
            case TIMETZ -> rows.getObject(column, OffsetTime.class);
            case TIMESTAMP -> rows.getObject(column, LocalDateTime.class);
            case TIMESTAMPTZ -> rows.getObject(column, OffsetDateTime.class);
            case UUID -> rows.getObject(column, UUID.class);
            case INTERVAL -> PgInterval.read(rows, column);
            case TEXT, VARCHAR, BPCHAR, JSON, JSONB, UNKNOWN -> rows.getString(column);
        };
        return rows.wasNull() ? null : value;
    }

    /** HSQLDB fills numbers of a type without limits up with zeros. */
    private static @Nullable BigDecimal plain(@Nullable BigDecimal value) {
        if (value == null || value.scale() != SqlDialect.UNLIMITED_SCALE) {
            return value;
        }
        BigDecimal stripped = value.stripTrailingZeros();
        return stripped.scale() < 0 ? stripped.setScale(0) : stripped;
    }

    // ------------------------------------------------------------------------------------------ to the client

    /** Appends length and value; -1 for null. */
    static void write(ByteBuf out, @Nullable Object value, PgType.Column type, boolean binary, ZoneId zone) {
        if (value == null) {
            out.writeInt(-1);
            return;
        }
        int start = out.writerIndex();
        out.writeInt(0);
        if (binary) {
            if (type.array()) {
                binaryArray(out, (Object[]) value, type.type(), zone);
            } else {
                binary(out, value, type.type(), zone);
            }
        } else {
            out.writeCharSequence(type.array()
                    ? textArray((Object[]) value, type.type(), zone)
                    : text(value, type.type(), zone), StandardCharsets.UTF_8);
        }
        out.setInt(start, out.writerIndex() - start - 4);
    }

    /** A value as PostgreSQL writes it with {@code DateStyle = ISO}. */
    static String text(Object value, PgType type, ZoneId zone) {
        return switch (type) {
            case BOOL -> (Boolean) value ? "t" : "f";
            case BYTEA -> "\\x" + java.util.HexFormat.of().formatHex((byte[]) value);
            case NUMERIC -> ((BigDecimal) value).toPlainString();
            case FLOAT4, FLOAT8 -> floating(((Number) value).doubleValue(), String.valueOf(value));
            case TIME -> time((LocalTime) value);
            case TIMETZ -> time(((OffsetTime) value).toLocalTime()) + offset(((OffsetTime) value).getOffset());
            case TIMESTAMP -> timestamp((LocalDateTime) value);
            case TIMESTAMPTZ -> {
                OffsetDateTime there = ((OffsetDateTime) value).atZoneSameInstant(zone).toOffsetDateTime();
                yield timestamp(there.toLocalDateTime()) + offset(there.getOffset());
            }
            default -> String.valueOf(value);
        };
    }

    private static String floating(double value, String text) {
        if (Double.isInfinite(value)) {
            return value > 0 ? "Infinity" : "-Infinity";
        }
        if (value == Math.rint(value) && Math.abs(value) < 1e15) {
            return String.valueOf((long) value);
        }
        return text.replace("E", "e");
    }

    private static String timestamp(LocalDateTime value) {
        return value.toLocalDate() + " " + time(value.toLocalTime());
    }

    private static String time(LocalTime value) {
        LocalTime micros = value.truncatedTo(ChronoUnit.MICROS);
        StringBuilder text = new StringBuilder(16).append(twoDigits(micros.getHour())).append(':')
                .append(twoDigits(micros.getMinute())).append(':').append(twoDigits(micros.getSecond()));
        int fractionMicros = micros.get(ChronoField.MICRO_OF_SECOND);
        if (fractionMicros > 0) {
            String fraction = String.format(java.util.Locale.ROOT, "%06d", fractionMicros);
            int end = fraction.length();
            while (fraction.charAt(end - 1) == '0') {
                end--;
            }
            text.append('.').append(fraction, 0, end);
        }
        return text.toString();
    }

    private static String twoDigits(int number) {
        return number < 10 ? "0" + number : String.valueOf(number);
    }

    private static String offset(ZoneOffset offset) {
        int seconds = Math.abs(offset.getTotalSeconds());
        String text = (offset.getTotalSeconds() < 0 ? "-" : "+") + twoDigits(seconds / 3600);
        return seconds % 3600 == 0 ? text : text + ":" + twoDigits(seconds / 60 % 60);
    }

    private static String textArray(Object[] values, PgType type, ZoneId zone) {
        StringBuilder text = new StringBuilder("{");
        for (int i = 0; i < values.length; i++) {
            if (i > 0) {
                text.append(',');
            }
            Object value = values[i];
            if (value == null) {
                text.append("NULL");
            } else {
                String element = text(value, type, zone);
                boolean plain = element.matches("[^\\s\"\\\\{},]+") && !element.equalsIgnoreCase("NULL");
                text.append(plain ? element : '"' + element.replace("\\", "\\\\").replace("\"", "\\\"") + '"');
            }
        }
        return text.append('}').toString();
    }

    private static void binary(ByteBuf out, Object value, PgType type, ZoneId zone) {
        switch (type) {
            case BOOL -> out.writeBoolean((Boolean) value);
            case INT2 -> out.writeShort(((Number) value).shortValue());
            case INT4, OID -> out.writeInt(((Number) value).intValue());
            case INT8 -> out.writeLong(((Number) value).longValue());
            case FLOAT4 -> out.writeFloat(((Number) value).floatValue());
            case FLOAT8 -> out.writeDouble(((Number) value).doubleValue());
            case NUMERIC -> PgNumeric.write(out, (BigDecimal) value);
            case BYTEA -> out.writeBytes((byte[]) value);
            case DATE -> out.writeInt((int) EPOCH_DATE.until((LocalDate) value, ChronoUnit.DAYS));
            case TIME -> out.writeLong(((LocalTime) value).toNanoOfDay() / NANOS_PER_MICRO);
            case TIMETZ -> {
                OffsetTime time = (OffsetTime) value;
                out.writeLong(time.toLocalTime().toNanoOfDay() / NANOS_PER_MICRO);
                out.writeInt(-time.getOffset().getTotalSeconds());
            }
            case TIMESTAMP -> out.writeLong(EPOCH.until((LocalDateTime) value, ChronoUnit.MICROS));
            case TIMESTAMPTZ -> out.writeLong(EPOCH.until(((OffsetDateTime) value)
                    .withOffsetSameInstant(ZoneOffset.UTC).toLocalDateTime(), ChronoUnit.MICROS));
            case UUID -> {
                UUID uuid = (UUID) value;
                out.writeLong(uuid.getMostSignificantBits()).writeLong(uuid.getLeastSignificantBits());
            }
            case JSONB -> {
                out.writeByte(JSONB_VERSION);
                out.writeCharSequence(text(value, type, zone), StandardCharsets.UTF_8);
            }
            case INTERVAL -> ((PgInterval) value).write(out);
            case TEXT, VARCHAR, BPCHAR, JSON, UNKNOWN -> out.writeCharSequence(text(value, type, zone),
                    StandardCharsets.UTF_8);
        }
    }

    private static void binaryArray(ByteBuf out, Object[] values, PgType type, ZoneId zone) {
        out.writeInt(values.length == 0 ? 0 : 1).writeInt(1).writeInt(type.oid());
        if (values.length > 0) {
            out.writeInt(values.length).writeInt(1);
        }
        for (Object value : values) {
            write(out, value, PgType.Column.of(type), true, zone);
        }
    }

    // ------------------------------------------------------------------------------------------ from the client

    /**
     * A parameter.
     *
     * @param oid its type as the client has declared it, or as it was told
     * @throws SQLException with {@code 22P02}, {@code 22P03} or {@code 22007} if it is not of its type
     */
    static Object parameter(ByteBuf bytes, int oid, boolean binary, ZoneId zone) throws SQLException {
        PgType element = PgType.ofArrayOid(oid);
        PgType type = PgType.ofOid(oid);
        try {
            if (element != null) {
                return binary
                        ? arrayFromBinary(bytes, element)
                        : arrayFromText(bytes.toString(StandardCharsets.UTF_8), element, zone);
            }
            PgType known = type == null ? PgType.UNKNOWN : type;
            return binary ? fromBinary(bytes, known) : fromText(bytes.toString(StandardCharsets.UTF_8), known, zone);
        } catch (IndexOutOfBoundsException shorter) {
            throw new SQLException("incorrect binary data format in a bind parameter of type " + oid, "22P03", shorter);
        }
    }

    private static Object fromBinary(ByteBuf bytes, PgType type) throws SQLException {
        int length = bytes.readableBytes();
        if (type.size() > 0 && length != type.size()) {
            throw new SQLException("incorrect binary data format in a bind parameter of type " + type.display(),
                    "22P03");
        }
        return switch (type) {
            case BOOL -> bytes.readBoolean();
            case INT2 -> (int) bytes.readShort();
            case INT4, OID -> bytes.readInt();
            case INT8 -> bytes.readLong();
            case FLOAT4 -> bytes.readFloat();
            case FLOAT8 -> bytes.readDouble();
            case NUMERIC -> PgNumeric.read(bytes);
            case DATE -> EPOCH_DATE.plusDays(bytes.readInt());
            case TIME -> LocalTime.ofNanoOfDay(bytes.readLong() * NANOS_PER_MICRO);
            case TIMETZ -> LocalTime.ofNanoOfDay(bytes.readLong() * NANOS_PER_MICRO)
                    .atOffset(ZoneOffset.ofTotalSeconds(-bytes.readInt()));
            case TIMESTAMP -> EPOCH.plus(bytes.readLong(), ChronoUnit.MICROS);
            case TIMESTAMPTZ -> EPOCH.plus(bytes.readLong(), ChronoUnit.MICROS).atOffset(ZoneOffset.UTC);
            case UUID -> new UUID(bytes.readLong(), bytes.readLong());
            case BYTEA -> {
                byte[] value = new byte[length];
                bytes.readBytes(value);
                yield value;
            }
            case JSONB -> {
                if (length == 0 || bytes.readByte() != JSONB_VERSION) {
                    throw new SQLException("unsupported version of jsonb", "22P03");
                }
                yield bytes.readCharSequence(length - 1, StandardCharsets.UTF_8).toString();
            }
            case INTERVAL -> PgInterval.read(bytes).value();
            case TEXT, VARCHAR, BPCHAR, JSON, UNKNOWN -> bytes.readCharSequence(length, StandardCharsets.UTF_8)
                    .toString();
        };
    }

    /** A value that is told in words, as a value of a type. */
    static Object fromText(String text, PgType type, ZoneId zone) throws SQLException {
        String trimmed = text.strip();
        try {
            return switch (type) {
                case BOOL -> switch (trimmed.toLowerCase(java.util.Locale.ROOT)) {
                    case "t", "true", "y", "yes", "on", "1" -> true;
                    case "f", "false", "n", "no", "off", "0" -> false;
                    default -> throw invalid(text, type, null);
                };
                case INT2 -> (int) Short.parseShort(trimmed);
                case INT4, OID -> Integer.parseInt(trimmed);
                case INT8 -> Long.parseLong(trimmed);
                case FLOAT4 -> Float.parseFloat(trimmed);
                case FLOAT8 -> Double.parseDouble(trimmed);
                case NUMERIC -> new BigDecimal(trimmed);
                case BYTEA -> bytes(text);
                case DATE -> PgTimes.date(trimmed);
                case TIME -> PgTimes.time(trimmed);
                case TIMETZ -> PgTimes.offsetTime(trimmed, zone);
                case TIMESTAMP -> PgTimes.timestamp(trimmed);
                case TIMESTAMPTZ -> PgTimes.offsetTimestamp(trimmed, zone);
                case UUID -> UUID.fromString(trimmed);
                case INTERVAL -> PgInterval.parse(trimmed).value();
                case TEXT, VARCHAR, BPCHAR, JSON, JSONB, UNKNOWN -> text;
            };
        } catch (java.time.DateTimeException notATime) {
            throw new SQLException("invalid input syntax for type " + type.display() + ": \"" + text + "\"", "22007",
                    notATime);
        } catch (IllegalArgumentException wrong) {
            throw invalid(text, type, wrong);
        }
    }

    private static SQLException invalid(String text, PgType type, @Nullable Throwable cause) {
        return new SQLException("invalid input syntax for type " + type.display() + ": \"" + text + "\"", "22P02",
                cause);
    }

    private static byte[] bytes(String text) {
        if (text.startsWith("\\x")) {
            return java.util.HexFormat.of().parseHex(text, 2, text.length());
        }
        ByteBuf out = Unpooled.buffer(text.length());
        for (int i = 0; i < text.length(); i++) {
            char at = text.charAt(i);
            if (at != '\\') {
                out.writeCharSequence(String.valueOf(at), StandardCharsets.UTF_8);
            } else if (i + 1 < text.length() && text.charAt(i + 1) == '\\') {
                out.writeByte('\\');
                i++;
            } else if (i + 3 < text.length()) {
                out.writeByte(Integer.parseInt(text.substring(i + 1, i + 4), 8));
                i += 3;
            } else {
                throw new IllegalArgumentException("a backslash at the end");
            }
        }
        byte[] value = new byte[out.readableBytes()];
        out.readBytes(value);
        return value;
    }

    private static Object[] arrayFromBinary(ByteBuf bytes, PgType type) throws SQLException {
        int dimensions = bytes.readInt();
        bytes.readInt();
        int elementOid = bytes.readInt();
        if (dimensions == 0) {
            return new Object[0];
        }
        if (dimensions > 1) {
            throw new SQLException("arrays of several dimensions are not supported", "0A000");
        }
        int count = bytes.readInt();
        bytes.readInt();
        if (count < 0 || count > bytes.readableBytes() / 4) {
            throw new SQLException("incorrect binary data format in an array", "22P03");
        }
        PgType element = PgType.ofOid(elementOid);
        Object[] values = new Object[count];
        for (int i = 0; i < count; i++) {
            int length = bytes.readInt();
            values[i] = length < 0 ? null : fromBinary(bytes.readSlice(length), element == null ? type : element);
        }
        return values;
    }

    private static Object[] arrayFromText(String text, PgType type, ZoneId zone) throws SQLException {
        if (text.length() < 2 || text.charAt(0) != '{' || text.charAt(text.length() - 1) != '}') {
            throw new SQLException("malformed array literal: \"" + text + "\"", "22P02");
        }
        List<@Nullable Object> values = new ArrayList<>();
        int at = 1;
        while (at < text.length() - 1) {
            StringBuilder element = new StringBuilder();
            boolean quoted = text.charAt(at) == '"';
            if (quoted) {
                at++;
                while (at < text.length() && text.charAt(at) != '"') {
                    if (text.charAt(at) == '\\') {
                        at++;
                    }
                    element.append(text.charAt(at++));
                }
                at++;
            } else {
                while (at < text.length() - 1 && text.charAt(at) != ',') {
                    element.append(text.charAt(at++));
                }
            }
            String value = element.toString();
            values.add(!quoted && value.equalsIgnoreCase("NULL") ? null : fromText(value, type, zone));
            at++;
        }
        return values.toArray();
    }
}
