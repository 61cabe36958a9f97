package tutti.pgfront;

import java.sql.Types;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tutti.engine.jdbc.SqlDialect;

/**
 * The types of PostgreSQL that values of the engines are told as, with their object ids of {@code pg_type}.
 */
enum PgType {
    BOOL(16, 1000, 1, 'B', "boolean"), BYTEA(17, 1001, -1, 'U', "bytea"), INT8(20, 1016, 8, 'N', "bigint"), INT2(21,
            1005, 2, 'N', "smallint"),
    INT4(23, 1007, 4, 'N', "integer"), TEXT(25, 1009, -1, 'S', "text"), OID(26, 1028,
            4, 'N', "oid"),
    JSON(114, 199, -1, 'U', "json"), FLOAT4(700, 1021, 4, 'N', "real"), FLOAT8(701,
            1022, 8, 'N', "double precision"),
    UNKNOWN(705, 0, -2, 'X', "unknown"), BPCHAR(1042, 1014,
            -1, 'S', "character"),
    VARCHAR(1043, 1015, -1, 'S', "character varying"), DATE(1082,
            1182, 4, 'D', "date"),
    TIME(1083, 1183, 8, 'D',
            "time without time zone"),
    TIMESTAMP(1114, 1115, 8, 'D',
            "timestamp without time zone"),
    TIMESTAMPTZ(1184, 1185, 8,
            'D', "timestamp with time zone"),
    INTERVAL(1186,
            1187, 16, 'T', "interval"),
    TIMETZ(1266,
            1270, 12, 'D',
            "time with time zone"),
    NUMERIC(
            1700, 1231, -1, 'N',
            "numeric"),
    UUID(2950, 2951,
            16, 'U', "uuid"),
    JSONB(3802, 3807, -1, 'U', "jsonb");

    /** From this length on a character type is told as text: it is what the engines make of a type without a limit. */
    private static final int UNLIMITED = 1 << 20;
    private static final int NUMERIC_PRECISION_MAX = 1000;
    /** Names that are neither the internal nor the displayed one. */
    private static final Map<String, String> SQL_NAMES = Map.of("int", "int4", "decimal", "numeric", "dec", "numeric",
            "char", "bpchar", "float", "float8", "string", "text");
    private static final Map<Integer, PgType> BY_OID = new HashMap<>();
    private static final Map<Integer, PgType> BY_ARRAY_OID = new HashMap<>();

    static {
        for (PgType type : values()) {
            BY_OID.put(type.oid, type);
            if (type.arrayOid != 0) {
                BY_ARRAY_OID.put(type.arrayOid, type);
            }
        }
    }

    private final int oid;
    private final int arrayOid;
    private final int size;
    private final char category;
    private final String display;

    PgType(int oid, int arrayOid, int size, char category, String display) {
        this.oid = oid;
        this.arrayOid = arrayOid;
        this.size = size;
        this.category = category;
        this.display = display;
    }

    int oid() {
        return oid;
    }

    /** Of the type of its arrays; 0 if there is none. */
    int arrayOid() {
        return arrayOid;
    }

    /** Bytes of a value; negative if it varies. */
    int size() {
        return size;
    }

    /** As {@code pg_type.typcategory} has it. */
    char category() {
        return category;
    }

    /** As PostgreSQL's {@code format_type} writes it. */
    String display() {
        return display;
    }

    /** As {@code pg_type.typname} has it. */
    String internalName() {
        return name().toLowerCase(Locale.ROOT);
    }

    boolean character() {
        return this == TEXT || this == VARCHAR || this == BPCHAR || this == UNKNOWN || this == JSON || this == JSONB;
    }

    /** Null if the front end does not know it. */
    static @Nullable PgType ofOid(int oid) {
        return BY_OID.get(oid);
    }

    /** As it is called in a cast, in lower case; null if the front end does not know it. */
    static @Nullable PgType ofName(String name) {
        String internal = SQL_NAMES.getOrDefault(name, name);
        for (PgType type : values()) {
            if (type.internalName().equals(internal) || type.display.equals(internal)) {
                return type;
            }
        }
        return null;
    }

    /** The type of the elements if this is the type of an array, else null. */
    static @Nullable PgType ofArrayOid(int oid) {
        return BY_ARRAY_OID.get(oid);
    }

    /**
     * A column or parameter as it is told.
     *
     * @param array whether values are arrays of the type
     * @param modifier PostgreSQL's type modifier; -1 for none
     */
    record Column(PgType type, boolean array, int modifier) {
        static Column of(PgType type) {
            return new Column(type, false, -1);
        }

        int oid() {
            return array ? type.arrayOid() : type.oid();
        }

        int size() {
            return array ? -1 : type.size();
        }
    }

    /**
     * What a column of the engine is told as.
     *
     * @param jdbc as {@link Types}
     * @param name as the engine calls the type
     * @param precision as JDBC tells it: characters or digits; 0 if there is none
     * @param scale digits behind the point
     */
    static Column of(int jdbc, @Nullable String name, int precision, int scale) {
        String upper = name == null ? "" : name.toUpperCase(Locale.ROOT);
        if (upper.startsWith("INTERVAL")) {
            return Column.of(INTERVAL);
        }
        return switch (jdbc) {
            case Types.BOOLEAN, Types.BIT -> Column.of(BOOL);
            case Types.TINYINT, Types.SMALLINT -> Column.of(INT2);
            case Types.INTEGER -> Column.of(INT4);
            case Types.BIGINT -> Column.of(INT8);
            case Types.REAL -> Column.of(FLOAT4);
            case Types.FLOAT, Types.DOUBLE -> Column.of(FLOAT8);
            case Types.NUMERIC, Types.DECIMAL -> new Column(NUMERIC, false,
                    precision > 0 && precision <= NUMERIC_PRECISION_MAX && !upper.equals("DECFLOAT")
                            && scale != SqlDialect.UNLIMITED_SCALE ? (precision << 16 | scale) + 4 : -1);
            case Types.CHAR, Types.NCHAR -> upper.equals("UUID")
                    ? Column.of(UUID)
                    : new Column(BPCHAR, false, length(precision));
            case Types.VARCHAR, Types.NVARCHAR -> precision > 0 && precision < UNLIMITED
                    ? new Column(VARCHAR, false, length(precision))
                    : Column.of(TEXT);
            case Types.DATE -> Column.of(DATE);
            case Types.TIME -> Column.of(TIME);
            case Types.TIMESTAMP -> Column.of(TIMESTAMP);
            case Types.TIME_WITH_TIMEZONE -> Column.of(TIMETZ);
            case Types.TIMESTAMP_WITH_TIMEZONE -> Column.of(TIMESTAMPTZ);
            case Types.BINARY, Types.VARBINARY, Types.LONGVARBINARY, Types.BLOB -> upper.equals("UUID")
                    ? Column.of(UUID)
                    : Column.of(BYTEA);
            case Types.ARRAY -> array(upper);
            default -> Column.of(upper.equals("UUID") ? UUID : upper.startsWith("JSON") ? JSON : TEXT);
        };
    }

    private static int length(int precision) {
        return precision > 0 ? precision + 4 : -1;
    }

    private static Column array(String name) {
        String element = name.replaceFirst("\\(.*| ARRAY.*", "").strip();
        PgType type = switch (element) {
            case "BOOLEAN" -> BOOL;
            case "TINYINT", "SMALLINT" -> INT2;
            case "INTEGER" -> INT4;
            case "BIGINT" -> INT8;
            case "REAL" -> FLOAT4;
            case "DOUBLE", "DOUBLE PRECISION", "FLOAT" -> FLOAT8;
            case "NUMERIC", "DECIMAL", "DECFLOAT" -> NUMERIC;
            case "DATE" -> DATE;
            case "TIMESTAMP" -> TIMESTAMP;
            case "UUID" -> UUID;
            default -> TEXT;
        };
        return new Column(type, true, -1);
    }
}
