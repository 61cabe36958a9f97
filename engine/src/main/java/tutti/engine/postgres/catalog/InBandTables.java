package tutti.engine.postgres.catalog;

import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Of which tables a statement's own result tells everything that it changes, and what has to be known of functions to say so of a
 * statement. Immutable; {@link InBandQuery} reads it.
 *
 * @param functions names of the functions that may change something, though nothing shows it: those of users
 * @param tables by name; those whose name stands for nothing else in the database
 * @param qualified by {@link #qualified(String, String)}
 * @param limitBytes most bytes of rows that one transaction may change
 * @param lockable tables of which a query can tell which rows it locks: who locks them (docs/decisions/0128)
 * @param hidden which names bring along calls of functions that a statement does not name
 */
public record InBandTables(Set<String> functions, Map<String, InBandTable> tables, Map<String, InBandTable> qualified,
        long limitBytes, Lockables lockable, HiddenCalls hidden) {
    /** Of a database in which nothing is known of any table, or something may be called without being named. */
    public static final InBandTables NONE = new InBandTables(Set.of(), Map.of(), Map.of(), 0, Lockables.NONE,
            HiddenCalls.NONE);

    /** Keeps copies. */
    public InBandTables {
        functions = Set.copyOf(functions);
        tables = Map.copyOf(tables);
        qualified = Map.copyOf(qualified);
    }

    /**
     * The table of that name, or null.
     *
     * @param schema null if it is not given
     */
    public @Nullable InBandTable table(@Nullable String schema, String name) {
        return schema == null ? tables.get(name) : qualified.get(qualified(schema, name));
    }

    /** What a table is found by if its schema is given: no other schema's table is, whatever signs there are in their names. */
    static String qualified(String schema, String name) {
        return schema + '\0' + name;
    }

    /**
     * A table whose rows change by nothing but what a statement on it says.
     *
     * @param oid its object id
     * @param rowType the object id of its rows' type
     * @param settings which settings the text of its rows depends on, by the letters of {@link Setting}
     * @param deletes whether no other table's rows change when one of its rows vanishes
     * @param rekeys whether no other table's rows change when a key of it changes
     * @param readers names of the roles that may read all of its columns
     * @param large whether some of its rows' values were stored apart, since they are large, when this was read
     * @param computed places, from 0, of the stored generated columns that others compare with what they compute themselves, so that they are told whatever changes
     *            (docs/decisions/0222)
     */
    public record InBandTable(long oid, long rowType, Set<Setting> settings, boolean deletes, boolean rekeys,
            Set<String> readers, boolean large, Set<Integer> computed) {
        /** Keeps copies. */
        public InBandTable {
            settings = Set.copyOf(settings);
            readers = Set.copyOf(readers);
            computed = Set.copyOf(computed);
        }
    }

    /**
     * Tables by name, as above.
     *
     * @param tables those whose name stands for nothing else in the database
     * @param qualified by {@link InBandTables#qualified(String, String)}
     */
    public record Lockables(Map<String, Lockable> tables, Map<String, Lockable> qualified) {
        /** None. */
        public static final Lockables NONE = new Lockables(Map.of(), Map.of());

        /** Keeps copies. */
        public Lockables {
            tables = Map.copyOf(tables);
            qualified = Map.copyOf(qualified);
        }

        /** The table of that name, or null; the schema is null if it is not given. */
        public @Nullable Lockable table(@Nullable String schema, String name) {
            return schema == null ? tables.get(name) : qualified.get(InBandTables.qualified(schema, name));
        }
    }

    /**
     * A table that is no other's parent.
     *
     * @param oid its object id
     * @param rowType the object id of its rows' type
     * @param readers names of the roles that may read all of its columns
     */
    public record Lockable(long oid, long rowType, Set<String> readers) {
        /** Keeps a copy. */
        public Lockable {
            readers = Set.copyOf(readers);
        }
    }

    /** What the text of some types depends on, and how it has to be. */
    public enum Setting {
        /** Of dates and times. */
        DATES("DateStyle", " ISO "),
        /** Of intervals. */
        INTERVALS("IntervalStyle", " postgres "),
        /** Of floating-point numbers: 1 and more are exact. */
        FLOATS("extra_float_digits", " 1 2 3 "),
        /** Of bytea. */
        BYTES("bytea_output", " hex ");

        private final String variable;
        private final String exact;

        Setting(String variable, String exact) {
            this.variable = variable;
            this.exact = exact;
        }

        /** The letter that stands for it. */
        public char letter() {
            return name().charAt(0);
        }

        /** The server's name for it. */
        public String variable() {
            return variable;
        }

        /** Whether rows are written under this value as replicas expect them. */
        public boolean exact(String value) {
            int comma = value.indexOf(',');
            return exact.contains(" " + (comma < 0 ? value : value.substring(0, comma)) + " ");
        }
    }
}
