package tutti.engine.postgres.catalog;

import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What the names in a database stand for, as far as it decides which tables a statement touches: tables, views and
 * functions that may read, and which further names each of them brings along. Names are taken without their schema, so one
 * name may stand for several things, and then stands for all of them. Immutable.
 *
 * @param names by name, as the catalog writes it
 * @param varying functions of pg_catalog that may answer something else each time
 * @param opaque whether anything may hide access to any table: user-defined operators or casts with functions that may
 *            read
 * @param declaresModes whether some function says where it is to be executed
 * @param divisions of tables, by their ("table", name) keys
 * @param sequences which have rows that can be read like those of a table, other ones at each node
 */
public record References(Map<String, Named> names, Set<String> varying, boolean opaque, boolean declaresModes,
        Map<Long, Division> divisions, Set<String> sequences) {
    /** Under this name stands what statements call without naming it: what user-defined operators and casts do, though it is declared IMMUTABLE. */
    public static final String UNNAMED = "";
    /** Of a database with nothing in it. */
    public static final References NONE = new References(Map.of(), Set.of(), false, false, Map.of(), Set.of());

    /** Keeps a copy. */
    public References {
        names = Map.copyOf(names);
        varying = Set.copyOf(varying);
        divisions = Map.copyOf(divisions);
        sequences = Set.copyOf(sequences);
    }

    /** Of functions that say nothing. */
    public References(Map<String, Named> names, Set<String> varying, boolean opaque) {
        this(names, varying, opaque, false, Map.of(), Set.of());
    }

    /** What a name brings along, or null if it is none that matters. */
    public @Nullable Named get(String name) {
        return names.get(name);
    }

    /**
     * What a name brings along.
     *
     * @param tables tables of this name, as ("table", name) keys
     * @param related names that come with it: partitions
     * @param cascades tables that a foreign key changes along with it
     * @param texts SQL that runs along with it: a view's definition, a function's body, policies, triggers
     * @param defaults SQL that runs along with it when rows are inserted
     * @param unknown whether something runs that cannot be looked into
     * @param declared what runs if functions are believed that say what they touch; null if none of this name does
     * @param mode where a function of this name is to be executed as a request: "active", "passive", or null if nothing is
     *            said of it
     * @param java the procedure in Java that a procedure of this name has executed; null if none does
     * @param draws sequences of which a function of this name draws values, as its settings say; null if none does
     */
    public record Named(Set<Long> tables, Set<String> related, Set<String> cascades, List<String> texts,
            List<String> defaults, boolean unknown, @Nullable Declared declared, @Nullable String mode,
            @Nullable String java, @Nullable String draws) {
        /** Of a name of which nothing is declared. */
        public Named(Set<Long> tables, Set<String> related, Set<String> cascades, List<String> texts,
                List<String> defaults, boolean unknown) {
            this(tables, related, cascades, texts, defaults, unknown, null, null, null, null);
        }

        /** Keeps copies. */
        public Named {
            tables = Set.copyOf(tables);
            related = Set.copyOf(related);
            cascades = Set.copyOf(cascades);
            texts = List.copyOf(texts);
            defaults = List.copyOf(defaults);
        }
    }

    /**
     * What runs along with a name of functions that say what they touch: {@code tutti.classes} among their settings.
     *
     * @param texts SQL of those that do not say it
     * @param lists what the others say
     * @param unknown whether something runs that cannot be looked into and says nothing
     */
    public record Declared(List<String> texts, List<String> lists, boolean unknown) {
        /** Keeps copies. */
        public Declared {
            texts = List.copyOf(texts);
            lists = List.copyOf(lists);
        }
    }

}
