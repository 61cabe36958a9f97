package tutti.engine.jdbc;

import java.util.Map;

/**
 * How an engine's SQL differs from PostgreSQL's, as far as a front end has to know that translates one into the other.
 *
 * @param types what the engine calls types of PostgreSQL, by their names in lower case, with the length that PostgreSQL's have
 *            if nothing is said; types that are not in there have the same name
 * @param castTypes likewise for types that have another name in casts only
 * @param explain what stands before a statement that is to be explained
 * @param returnsChangedRows whether RETURNING is possible with UPDATE and DELETE, as it is with INSERT
 * @param comparesWithArrays whether {@code = ANY (array)} and {@code <> ALL (array)} are known; otherwise only with subqueries
 * @param jsonLiterals whether JSON in a string is written {@code JSON '…'}; otherwise it is text
 */
public record SqlDialect(Map<String, String> types, Map<String, String> castTypes, String explain,
        boolean returnsChangedRows, boolean comparesWithArrays, boolean jsonLiterals) {
    /**
     * Digits behind the point of a number without limits, if the engine's types must say how many: the front end leaves the
     * zeros at their end out.
     */
    public static final int UNLIMITED_SCALE = 32;

    public SqlDialect {
        types = Map.copyOf(types);
        castTypes = Map.copyOf(castTypes);
    }
}
