package tutti.wire.jdbc;

import java.util.Locale;
import java.util.Map;

/** In which words the engines differ from PostgreSQL. */
public enum Dialect {
    /** H2 in its PostgreSQL mode. */
    H2("H2"),
    /** HSQLDB with PostgreSQL syntax. */
    HSQLDB("HSQLDB");

    /** What the engines call types of PostgreSQL. */
    private static final Map<Dialect, Map<String, String>> TYPES = Map.of(H2, Map.of("timestamptz",
            "timestamp with time zone", "timetz", "time with time zone", "jsonb", "json", "text", "varchar", "bytea",
            "varbinary", "bpchar", "char"), HSQLDB,
            Map.ofEntries(Map.entry("timestamptz", "timestamp with time zone"),
                    Map.entry("timetz", "time with time zone"), Map.entry("json", "varchar(16777216)"),
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
    String castType(String word) {
        return this == HSQLDB && (word.equalsIgnoreCase("varchar") || word.equalsIgnoreCase("character varying"))
                ? "varchar(16777216)"
                : type(word);
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
