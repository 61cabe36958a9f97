package tutti.pgfront;

import java.util.Locale;
import tutti.engine.jdbc.SqlDialect;

/** Translates names of types and of things between clients' SQL and an engine's. Immutable, for any thread. */
final class Dialect {
    private final String product;
    private final SqlDialect sql;

    /**
     * That of an engine.
     *
     * @param product what people call the engine
     */
    Dialect(String product, SqlDialect sql) {
        this.product = product;
        this.sql = sql;
    }

    /** What people call the engine. */
    String product() {
        return product;
    }

    /** How it differs from PostgreSQL. */
    SqlDialect sql() {
        return sql;
    }

    private String type(String word) {
        return sql.types().getOrDefault(word.toLowerCase(Locale.ROOT), word);
    }

    /** Whether PostgreSQL's word for a type means something else, or nothing, to the engine. */
    boolean renames(String word) {
        return sql.types().containsKey(word.toLowerCase(Locale.ROOT));
    }

    /** A type in a cast. */
    String castType(TypeName type) {
        String word = type.name();
        String inCasts = sql.castTypes().get(word.toLowerCase(Locale.ROOT));
        String known = inCasts == null ? type(word) : inCasts;
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
