package tutti.engine.postgres.catalog;

import java.util.Set;

/**
 * Which queries may call a function that may change something, though they do not name it. Names are taken without their schema, as the catalog
 * writes them. Immutable; {@link InBandQuery} reads it.
 *
 * @param functions names of functions, which count where a name alone would make a query count as a read
 * @param names in whose presence a query may do anything: views, tables with policies or indexes of expressions, functions that are
 *            written like a row's column
 * @param anywhere whether any query may, since an operator, a cast, a domain or a type's comparison calls such a function
 */
public record HiddenCalls(Set<String> functions, Set<String> names, boolean anywhere) {
    /** Of a database without such functions. */
    public static final HiddenCalls NONE = new HiddenCalls(Set.of(), Set.of(), false);

    /** Keeps copies. */
    public HiddenCalls {
        functions = Set.copyOf(functions);
        names = Set.copyOf(names);
    }
}
