package tutti.engine.postgres.apply;

import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import tutti.engine.postgres.apply.NetEffect.Operation;
import tutti.engine.postgres.catalog.Table;
import tutti.pgwire.QueryResult;

/**
 * Object ids of the functions in the schema {@code tutti} that write rows of one table, which install.sql makes and keeps. Called
 * by id, there is no name that a client could redirect. Immutable.
 */
public final class ApplyFunctions {
    /** What {@link #read} understands; the same under any settings and search path. */
    public static final String SQL = """
            SELECT p.proname, p.oid, coalesce(pg_catalog.array_to_string(p.proconfig, ',') OPERATOR(pg_catalog.~~) '%search_path=%', false)
            FROM pg_catalog.pg_proc p
                JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) p.pronamespace
                    AND n.nspname OPERATOR(pg_catalog.=) 'tutti'
            WHERE pg_catalog.starts_with(p.proname, 'apply_')
            """;
    /** Of a database in which there are none. */
    public static final ApplyFunctions NONE = new ApplyFunctions(Map.of());

    private final Map<String, Function> byName;

    /**
     * A function.
     *
     * @param oid its object id
     * @param runsCode whether clients' code may run in it, which may change the session's settings: then it has a search path of its own
     */
    record Function(int oid, boolean runsCode) {}

    private ApplyFunctions(Map<String, Function> byName) {
        this.byName = byName;
    }

    /** From the result of {@link #SQL}. */
    public static ApplyFunctions read(QueryResult result) {
        Map<String, Function> byName = new HashMap<>();
        result.rows().forEach(row -> byName.put(String.valueOf(row.get(0)),
                new Function(Integer.parseUnsignedInt(String.valueOf(row.get(1))), "t".equals(row.get(2)))));
        return new ApplyFunctions(byName);
    }

    /** Whether there is a function for a single row that costs less than the one for an array. */
    static boolean singly(Operation operation, int rows) {
        return rows == 1 && operation != Operation.INSERT;
    }

    /**
     * The function that does this to that many rows.
     *
     * @param some whether an update assigns some columns only; the function then has a third parameter, which columns
     * @throws IllegalStateException if there is none: the table is not as it was where the rows come from
     */
    Function function(Table table, Operation operation, boolean some, int rows) {
        String name = "apply_" + (some ? "columns" : operation.name().toLowerCase(Locale.ROOT))
                + (singly(operation, rows) ? "_one_" : "_")
                + table.oid();
        Function function = byName.get(name);
        if (function == null) {
            throw new IllegalStateException(
                    "rows of table " + table.displayName() + " cannot be written here: there is no function " + name);
        }
        return function;
    }
}
