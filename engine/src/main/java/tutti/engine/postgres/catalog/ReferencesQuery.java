package tutti.engine.postgres.catalog;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.engine.postgres.catalog.References.Named;
import tutti.pgwire.QueryResult;

/**
 * Reads {@link References} out of a database: one SELECT, whose result {@link #read} understands. Functions in C that are
 * declared IMMUTABLE are left out; others may call what is not, whatever they are declared as. So are those of check constraints, indexes and
 * domains, which must be immutable.
 */
public final class ReferencesQuery {
    private static final String USER = "n.nspname <> 'tutti' AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%'";
    private static final String MAY_READ = "p.provolatile <> 'i' AND p.pronamespace <> 11"
            + " AND p.pronamespace <> 'information_schema'::pg_catalog.regnamespace";

    /**
     * The statement: kind, name, schema or related name or what a function says that it touches or nothing, text or nothing. Functions are looked
     * through once: there are thousands of the server's own, and some of ours for each table.
     */
    public static final String SQL = """
            WITH functions AS MATERIALIZED (
                SELECT p.oid, p.proname, p.pronamespace, p.prolang, p.provolatile, p.prokind, p.proconfig, p.prosrc
                FROM pg_catalog.pg_proc p WHERE (p.provolatile = 'v' OR p.pronamespace <> 11)
                    AND p.pronamespace <> 'tutti'::pg_catalog.regnamespace
            )
            SELECT 't', c.relname::text, n.nspname::text, NULL FROM pg_catalog.pg_class c
                JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                WHERE c.relkind IN ('r', 'p') AND c.relpersistence <> 't' AND %1$s
            UNION ALL SELECT 'u', c.relname, NULL, NULL FROM pg_catalog.pg_class c
                JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'f' AND %1$s
            UNION ALL SELECT 'x', c.relname, NULL, pg_catalog.pg_get_viewdef(c.oid) FROM pg_catalog.pg_class c
                JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('v', 'm') AND %1$s
            UNION ALL SELECT 'x', c.relname, NULL, pg_catalog.pg_get_ruledef(r.oid) FROM pg_catalog.pg_rewrite r
                JOIN pg_catalog.pg_class c ON c.oid = r.ev_class
                JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE r.rulename <> '_RETURN' AND %1$s
            UNION ALL SELECT CASE WHEN l.lanname IN ('sql', 'plpgsql') AND p.prokind <> 'a' THEN 'x' ELSE 'u' END,
                p.proname, (SELECT substring(s from 15) FROM unnest(p.proconfig) AS s WHERE s LIKE 'tutti.classes=%%'),
                CASE WHEN l.lanname IN ('sql', 'plpgsql')
                    THEN coalesce(pg_catalog.pg_get_function_sqlbody(p.oid), p.prosrc) END
                FROM functions p JOIN pg_catalog.pg_language l ON l.oid = p.prolang
                JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
                WHERE (p.provolatile <> 'i' OR l.lanname NOT IN ('c', 'internal')) AND %1$s
            UNION ALL SELECT 'x', p.proname, NULL, (SELECT string_agg(pg_catalog.quote_ident(f.proname), ' ') FROM functions f
                    WHERE f.oid IN (a.aggtransfn, a.aggfinalfn, a.aggcombinefn, a.aggmtransfn, a.aggminvtransfn, a.aggmfinalfn))
                FROM pg_catalog.pg_aggregate a JOIN functions p ON p.oid = a.aggfnoid
                JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace WHERE %1$s
            UNION ALL SELECT 'm', p.proname, NULL, substring(s from 12) FROM functions p
                JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace, unnest(p.proconfig) AS s
                WHERE s LIKE 'tutti.mode=%%' AND %1$s
            UNION ALL SELECT 'j', p.proname, NULL, substring(s from 12) FROM functions p
                JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace, unnest(p.proconfig) AS s
                WHERE s LIKE 'tutti.java=%%' AND %1$s
            UNION ALL SELECT 's', p.proname, NULL, substring(s from 17) FROM functions p
                JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace, unnest(p.proconfig) AS s
                WHERE s LIKE 'tutti.sequences=%%' AND %1$s
            UNION ALL SELECT 'x', c.relname, NULL, concat(pg_catalog.quote_ident(p.proname), ' ',
                    substring(pg_catalog.pg_get_triggerdef(t.oid) from ' WHEN (.*) EXECUTE FUNCTION ')) FROM pg_catalog.pg_trigger t
                JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid
                JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                JOIN pg_catalog.pg_proc p ON p.oid = t.tgfoid
                WHERE NOT t.tgisinternal AND p.pronamespace <> 'tutti'::pg_catalog.regnamespace AND %1$s
            UNION ALL SELECT 'x', c.relname, NULL, concat(pg_catalog.pg_get_expr(o.polqual, o.polrelid), ' ',
                    pg_catalog.pg_get_expr(o.polwithcheck, o.polrelid)) FROM pg_catalog.pg_policy o
                JOIN pg_catalog.pg_class c ON c.oid = o.polrelid
                JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE %1$s
            UNION ALL SELECT 'k', c.relname, n.nspname, concat(a.attname, E'\\t', d.description)
                FROM pg_catalog.pg_description d JOIN pg_catalog.pg_class c ON c.oid = d.objoid
                JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.objsubid
                JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                WHERE d.classoid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.objsubid > 0 AND a.attnotnull
                AND a.atttypid IN (20, 21, 23) AND starts_with(d.description, 'tutti.class ') AND c.relkind = 'r' AND %1$s
            UNION ALL SELECT 'k', c.relname, n.nspname, concat(E'\\t', d.description)
                FROM pg_catalog.pg_description d JOIN pg_catalog.pg_class c ON c.oid = d.objoid
                JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                WHERE d.classoid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.objsubid = 0
                AND starts_with(d.description, 'tutti.class ') AND c.relkind = 'r' AND %1$s
            UNION ALL SELECT 'q', c.relname, NULL, NULL FROM pg_catalog.pg_class c
                JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'S' AND %1$s
            UNION ALL SELECT 'n', p.proname, NULL, NULL FROM functions p
                WHERE p.pronamespace = 11 AND p.provolatile = 'v'
            UNION ALL SELECT 'd', c.relname, NULL, 'nextval()' FROM pg_catalog.pg_attribute a
                JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
                JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                WHERE a.attidentity <> '' AND c.relkind IN ('r', 'p') AND %1$s
            UNION ALL SELECT 'd', c.relname, NULL, pg_catalog.pg_get_expr(d.adbin, d.adrelid) FROM pg_catalog.pg_attrdef d
                JOIN pg_catalog.pg_class c ON c.oid = d.adrelid
                JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE %1$s
            UNION ALL SELECT 'r', c.relname, k.relname, NULL FROM pg_catalog.pg_inherits i
                JOIN pg_catalog.pg_class c ON c.oid = i.inhparent JOIN pg_catalog.pg_class k ON k.oid = i.inhrelid
                JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE %1$s
            UNION ALL SELECT 'c', c.relname, k.relname, NULL FROM pg_catalog.pg_constraint f
                JOIN pg_catalog.pg_class c ON c.oid = f.confrelid JOIN pg_catalog.pg_class k ON k.oid = f.conrelid
                JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                WHERE f.contype = 'f' AND (f.confupdtype NOT IN ('a', 'r') OR f.confdeltype NOT IN ('a', 'r')) AND %1$s
            UNION ALL SELECT 'o', NULL, NULL, NULL FROM pg_catalog.pg_operator o
                JOIN functions p ON p.oid = o.oprcode WHERE %2$s
            UNION ALL SELECT 'o', NULL, NULL, NULL FROM pg_catalog.pg_cast o
                JOIN functions p ON p.oid = o.castfunc WHERE %2$s
            UNION ALL SELECT 'x', '%3$s', NULL, pg_catalog.quote_ident(p.proname) FROM functions p
                JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
                WHERE p.provolatile = 'i' AND (EXISTS (SELECT FROM pg_catalog.pg_operator o WHERE o.oprcode = p.oid)
                    OR EXISTS (SELECT FROM pg_catalog.pg_cast k WHERE k.castfunc = p.oid)) AND %1$s
            """
            .formatted(USER, MAY_READ, References.UNNAMED);

    private final Map<String, Building> names = new HashMap<>();
    private final Set<String> varying = new HashSet<>();
    private final Map<Long, Division> divisions = new HashMap<>();
    private final Set<String> sequences = new HashSet<>();
    private boolean opaque;

    private ReferencesQuery() {}

    /** Understands the result of {@link #SQL}. */
    public static References read(QueryResult result) {
        ReferencesQuery query = new ReferencesQuery();
        result.rows().forEach(query::row);
        Map<String, Named> named = new HashMap<>();
        query.names.forEach((name, building) -> named.put(name, building.finish()));
        return new References(named, query.varying, query.opaque,
                named.values().stream().anyMatch(one -> one.mode() != null), query.divisions, query.sequences);
    }

    private void row(List<@Nullable String> row) {
        String kind = String.valueOf(row.get(0));
        String name = row.get(1);
        String other = row.get(2);
        String text = row.get(3);
        if (name == null) {
            opaque = true;
            return;
        }
        if (kind.equals("k")) {
            String comment = String.valueOf(text);
            int tab = comment.indexOf('\t');
            Division division = Division.of(tab == 0 ? null : comment.substring(0, tab), comment.substring(tab + 1));
            if (division != null) {
                divisions.merge(TableCatalog.tableKey(String.valueOf(other), name), division,
                        (one, another) -> one.column() == null ? another : one);
            }
            return;
        }
        if (kind.equals("q")) {
            sequences.add(name);
            return;
        }
        if (kind.equals("n")) {
            varying.add(name);
            return;
        }
        Building building = names.computeIfAbsent(name, _ -> new Building());
        switch (kind) {
            case "t" -> building.tables.add(TableCatalog.tableKey(String.valueOf(other), name));
            case "r" -> building.related.add(String.valueOf(other));
            case "c" -> building.cascades.add(String.valueOf(other));
            case "d" -> building.defaults.add(String.valueOf(text));
            case "m" -> building.mode = String.valueOf(text);
            case "j" -> building.java = String.valueOf(text);
            case "s" -> building.draws = String.valueOf(text);
            case "x" -> building.runs(text == null ? "" : text, other);
            default -> building.runs(null, other);
        }
    }

    private static final class Building {
        private final Set<Long> tables = new HashSet<>();
        private final Set<String> related = new HashSet<>();
        private final Set<String> cascades = new HashSet<>();
        private final List<String> texts = new ArrayList<>();
        private final List<String> defaults = new ArrayList<>();
        private final List<String> believed = new ArrayList<>();
        private final List<String> lists = new ArrayList<>();
        private boolean unknown;
        private boolean unknownToBelievers;
        private @Nullable String mode;
        private @Nullable String java;
        private @Nullable String draws;

        /**
         * Something runs along.
         *
         * @param text null if it cannot be looked into
         * @param says what it says that it touches, or null
         */
        void runs(@Nullable String text, @Nullable String says) {
            if (text == null) {
                unknown = true;
            } else {
                texts.add(text);
            }
            if (says != null) {
                lists.add(says);
            } else if (text == null) {
                unknownToBelievers = true;
            } else {
                believed.add(text);
            }
        }

        Named finish() {
            return new Named(tables, related, cascades, texts, defaults, unknown,
                    lists.isEmpty() ? null : new References.Declared(believed, lists, unknownToBelievers), mode, java,
                    draws);
        }
    }
}
