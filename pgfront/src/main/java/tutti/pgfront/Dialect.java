package tutti.pgfront;

import java.util.Locale;
import java.util.Map;

/** In which words the engines differ from PostgreSQL. */
public enum Dialect {
    /** H2 in its PostgreSQL mode. */
    H2("H2"),
    /** HSQLDB with PostgreSQL syntax. */
    HSQLDB("HSQLDB");

    /** Digits behind the point of HSQLDB's numbers whose type says nothing of it; it would keep none. */
    static final int UNLIMITED_SCALE = 32;
    /** What the engines call types of PostgreSQL, with the length that PostgreSQL's have if nothing is said. */
    private static final Map<Dialect, Map<String, String>> TYPES = Map.of(H2,
            Map.ofEntries(Map.entry("timestamptz", "timestamp with time zone"), Map.entry("time", "time(6)"),
                    Map.entry("timetz", "time(6) with time zone"), Map.entry("jsonb", "json"),
                    Map.entry("text", "varchar"), Map.entry("bytea", "varbinary"), Map.entry("bpchar", "char"),
                    Map.entry("numeric", "decfloat(100)"), Map.entry("decimal", "decfloat(100)"),
                    Map.entry("dec", "decfloat(100)")),
            HSQLDB,
            Map.ofEntries(Map.entry("timestamptz", "timestamp with time zone"), Map.entry("time", "time(6)"),
                    Map.entry("timetz", "time(6) with time zone"), Map.entry("numeric", "decimal(128,32)"),
                    Map.entry("decimal", "decimal(128,32)"), Map.entry("dec", "decimal(128,32)"),
                    Map.entry("json", "varchar(16777216)"),
                    Map.entry("jsonb", "varchar(16777216)"), Map.entry("text", "varchar(16777216)"),
                    Map.entry("bytea", "varbinary(16777216)"), Map.entry("int2", "smallint"),
                    Map.entry("int4", "integer"), Map.entry("int8", "bigint"), Map.entry("float4", "real"),
                    Map.entry("float8", "double"), Map.entry("bool", "boolean"), Map.entry("bpchar", "char")));

    private final String display;

    Dialect(String display) {
        this.display = display;
    }

    private Map<String, String> types() {
        return TYPES.getOrDefault(this, Map.of());
    }

    /** As a person calls it. */
    String display() {
        return display;
    }

    /** What the engine calls a type of PostgreSQL; the same word if it knows it. */
    String type(String word) {
        return types().getOrDefault(word.toLowerCase(Locale.ROOT), word);
    }

    /** Whether PostgreSQL's word for a type means something else, or nothing, to the engine. */
    boolean renames(String word) {
        return types().containsKey(word.toLowerCase(Locale.ROOT));
    }

    /** A type in a cast, which HSQLDB wants with its length. */
    String castType(TypeName type) {
        String word = type.name();
        String known = this == HSQLDB
                && (word.equalsIgnoreCase("varchar") || word.equalsIgnoreCase("character varying"))
                        ? "varchar(16777216)"
                        : type(word);
        if (!type.suffix().startsWith("(")) {
            return known + type.suffix();
        }
        int end = type.suffix().indexOf(')') + 1;
        return withLength(word, known, type.suffix().substring(0, end)) + type.suffix().substring(end);
    }

    /**
     * A type with a length.
     *
     * @param word what PostgreSQL calls it
     * @param known what the engine does, with the length that it has if nothing is said
     * @param length in parentheses
     */
    private static String withLength(String word, String known, String length) {
        if (known.startsWith("decfloat")) {
            return word + length;
        }
        String plain = known.replaceFirst("\\(.*?\\)", "");
        int zone = plain.indexOf(" with ");
        return zone < 0 ? plain + length : plain.substring(0, zone) + length + plain.substring(zone);
    }

    /** Whether changed and deleted rows can be returned; inserted ones always can. */
    boolean returnsChangedRows() {
        return this == H2;
    }

    /**
     * A name as clients see it, or as the engine does: the engines fold unquoted names to upper case, PostgreSQL to lower
     * case. So names all in one case have the other on the other side; others are the same on both.
     */
    static String fold(String name) {
        String upper = name.toUpperCase(Locale.ROOT);
        String lower = name.toLowerCase(Locale.ROOT);
        return name.equals(upper) ? lower : name.equals(lower) ? upper : name;
    }
}
