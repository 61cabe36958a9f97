package tutti.engine.postgres.catalog;

import java.util.Arrays;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import tutti.engine.postgres.catalog.InBandTables.InBandTable;
import tutti.engine.postgres.catalog.InBandTables.Lockable;
import tutti.engine.postgres.catalog.InBandTables.Lockables;
import tutti.engine.postgres.catalog.InBandTables.Setting;
import tutti.pgwire.QueryResult;

/**
 * Reads {@link InBandTables} out of a database: one SELECT, whose result {@link #read} understands.
 *
 * <p>
 * A function is suspected if it is a user's, unless it is written in C, which only superusers can make, and not volatile. It does not
 * help that it is declared IMMUTABLE: it may still call others. Nothing is known of any table while a suspected function is
 * called by what no statement names (an operator, a cast, a view's definition, a policy, a domain, an index's comparison, a row's
 * attribute), or may change the role or the isolation level of its caller.
 */
public final class InBandQuery {
    private static final String SUSPECTS = """
            SELECT p.oid, p.proname, p.prosrc, p.pronargs, p.proargtypes FROM pg_catalog.pg_proc p
                JOIN pg_catalog.pg_language l ON l.oid = p.prolang
                WHERE p.pronamespace NOT IN ('pg_catalog'::pg_catalog.regnamespace,
                        'information_schema'::pg_catalog.regnamespace, 'tutti'::pg_catalog.regnamespace)
                    AND (l.lanname NOT IN ('c', 'internal') OR p.provolatile = 'v' OR p.prokind = 'a')\
            """;
    /** Functions of the server's own that change something, or execute what they are given. */
    private static final String HARMFUL = "(set_config|setval|_to_xml|query_to|cursor_to|ts_stat|ts_rewrite|pg_notify|\\mlo_"
            + "|lowrite|pg_logical|pg_terminate|pg_cancel|pg_advisory)";

    /**
     * The statement. A row is a function's name, or what hides calls of functions, or the bound of a transaction, or describes a table whose
     * rows can be locked: schema, name, object id, whether its name is the only one, who may read it, and the object id of its rows' type; or one whose changes can be
     * told: schema, name, object id, whether
     * its name is the only one of its kind, whether it may be deleted from, whether its keys may be changed, the types of its
     * columns, who may read it, whether it has large values, the object id of its rows' type, and which columns others compare with what they compute.
     */
    public static final String SQL = """
            WITH suspect AS (%1$s), called AS (
                SELECT d.classid, d.objid FROM pg_catalog.pg_depend d
                    JOIN suspect s ON d.refclassid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND d.refobjid = s.oid
            ), hidden AS (
                SELECT EXISTS (SELECT FROM called WHERE classid = ANY (ARRAY['pg_catalog.pg_rewrite', 'pg_catalog.pg_policy',
                            'pg_catalog.pg_operator', 'pg_catalog.pg_cast', 'pg_catalog.pg_type', 'pg_catalog.pg_amproc']
                            ::pg_catalog.regclass[]::pg_catalog.oid[]))
                    OR EXISTS (SELECT FROM called JOIN pg_catalog.pg_constraint c ON c.oid = called.objid
                        WHERE called.classid = 'pg_catalog.pg_constraint'::pg_catalog.regclass AND c.contypid <> 0)
                    OR EXISTS (SELECT FROM suspect s JOIN pg_catalog.pg_type t ON t.oid = s.proargtypes[0]
                        WHERE s.pronargs = 1 AND t.typtype = 'c')
                    OR EXISTS (SELECT FROM suspect WHERE prosrc ~* 'set_config|isolation|\\mset\\s+(local\\s+|session\\s+)*(role|session|"role|"session)')
                    OR EXISTS (SELECT FROM pg_catalog.pg_db_role_setting s, unnest(s.setconfig) AS entry
                        WHERE split_part(entry, '=', 1) IN ('role', 'session_authorization', 'session_replication_role',
                                'default_transaction_isolation')
                            AND NOT EXISTS (SELECT FROM pg_catalog.pg_roles own WHERE own.oid = s.setrole
                                AND own.rolname LIKE 'tutti\\_%%'))
                    OR pg_catalog.current_setting('server_version_num')::int < 180000 AS yes
            ), readers AS (
                SELECT c.oid, string_agg(DISTINCT r.rolname, ' ') AS names
                FROM pg_catalog.pg_class c,
                    LATERAL (SELECT DISTINCT a.grantee FROM pg_catalog.aclexplode(coalesce(c.relacl,
                        pg_catalog.acldefault('r', c.relowner))) a WHERE a.privilege_type = 'SELECT') g
                    JOIN pg_catalog.pg_roles r ON r.rolcanlogin AND r.rolname !~ '\\s'
                        AND CASE g.grantee WHEN 0 THEN true ELSE pg_catalog.pg_has_role(r.oid, g.grantee, 'USAGE') END
                WHERE c.relkind = 'r' AND c.relpersistence <> 't' GROUP BY c.oid
            )
            SELECT 'function', proname, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM suspect, hidden WHERE NOT yes
            UNION ALL SELECT 'hides', kind, name, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM tutti.hiding
                WHERE EXISTS (SELECT FROM tutti.suspects WHERE changes)
            UNION ALL SELECT 'limit', tutti.limit_bytes()::text, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
            UNION ALL SELECT 'lock', n.nspname, c.relname, c.oid::text,
                (SELECT count(*) = 1 FROM pg_catalog.pg_class o WHERE o.relname = c.relname
                    AND o.relkind IN ('r', 'p', 'v', 'm', 'f') AND o.relpersistence <> 't')::text,
                NULL, NULL, NULL, r.names, NULL, c.reltype::text, NULL
            FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                JOIN readers r ON r.oid = c.oid
            WHERE n.nspname <> 'tutti' AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%%'
                AND NOT EXISTS (SELECT FROM pg_catalog.pg_inherits i WHERE c.oid = i.inhparent)
            UNION ALL SELECT 'table', n.nspname, c.relname, c.oid::text,
                (SELECT count(*) = 1 FROM pg_catalog.pg_class o WHERE o.relname = c.relname
                    AND o.relkind IN ('r', 'p', 'v', 'm', 'f') AND o.relpersistence <> 't')::text,
                (NOT EXISTS (SELECT FROM pg_catalog.pg_constraint f WHERE f.confrelid = c.oid AND f.contype = 'f'
                    AND f.confdeltype NOT IN ('a', 'r')))::text,
                (NOT EXISTS (SELECT FROM pg_catalog.pg_constraint f WHERE f.confrelid = c.oid AND f.contype = 'f'
                    AND f.confupdtype NOT IN ('a', 'r')))::text,
                (SELECT string_agg(CASE WHEN t.typtype = 'e' OR e.typtype = 'e' THEN 'enum'
                        WHEN t.typnamespace <> 'pg_catalog'::pg_catalog.regnamespace OR t.typtype <> 'b' THEN '?'
                        WHEN t.typcategory = 'A' THEN coalesce(e.typname, '?') ELSE t.typname END, ' ')
                    FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
                        LEFT JOIN pg_catalog.pg_type e ON t.typcategory = 'A' AND e.oid = t.typelem
                    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
                r.names, (c.reltoastrelid <> 0 AND pg_catalog.pg_relation_size(c.reltoastrelid) > 0)::text,
                c.reltype::text,
                CASE WHEN EXISTS (SELECT FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attgenerated = 's')
                    THEN (SELECT string_agg(a.place::text, ' ') FROM tutti.computed_columns(c.oid) k
                        JOIN (SELECT attname, row_number() OVER (ORDER BY attnum) - 1 AS place FROM pg_catalog.pg_attribute
                            WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped) a ON a.attname = k.name) END
            FROM hidden, pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                JOIN readers r ON r.oid = c.oid
            WHERE NOT yes AND c.relkind = 'r' AND c.relpersistence <> 't' AND NOT c.relispartition AND NOT c.relhasrules
                AND NOT c.relrowsecurity AND n.nspname <> 'tutti' AND n.nspname <> 'information_schema'
                AND n.nspname NOT LIKE 'pg\\_%%'
                AND NOT EXISTS (SELECT FROM pg_catalog.pg_inherits i WHERE c.oid IN (i.inhparent, i.inhrelid))
                AND NOT EXISTS (SELECT FROM pg_catalog.pg_trigger g JOIN pg_catalog.pg_proc p ON p.oid = g.tgfoid
                    WHERE g.tgrelid = c.oid AND NOT g.tgisinternal AND p.pronamespace <> 'tutti'::pg_catalog.regnamespace)
                AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint f WHERE c.oid IN (f.conrelid, f.confrelid)
                    AND f.condeferrable AND f.contype <> 't')
                AND NOT EXISTS (SELECT FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attgenerated = 'v')
                AND NOT EXISTS (SELECT FROM called, pg_catalog.pg_attrdef d WHERE d.adrelid = c.oid
                    AND called.classid = 'pg_catalog.pg_attrdef'::pg_catalog.regclass AND called.objid = d.oid)
                AND NOT EXISTS (SELECT FROM called, pg_catalog.pg_constraint f WHERE f.conrelid = c.oid
                    AND called.classid = 'pg_catalog.pg_constraint'::pg_catalog.regclass AND called.objid = f.oid)
                AND NOT EXISTS (SELECT FROM called, pg_catalog.pg_index i WHERE i.indrelid = c.oid
                    AND called.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND called.objid = i.indexrelid)
                AND NOT EXISTS (SELECT FROM pg_catalog.pg_attrdef d WHERE d.adrelid = c.oid
                    AND pg_catalog.pg_get_expr(d.adbin, d.adrelid) ~* '%2$s')
                AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint f WHERE f.conrelid = c.oid AND f.contype = 'c'
                    AND pg_catalog.pg_get_constraintdef(f.oid) ~* '%2$s')
                AND NOT EXISTS (SELECT FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid
                    AND (i.indexprs IS NOT NULL OR i.indpred IS NOT NULL)
                    AND pg_catalog.pg_get_indexdef(i.indexrelid) ~* '%2$s')
            """
            .formatted(SUSPECTS, HARMFUL);

    /** Types whose text says all of a value, with what it depends on. */
    private static final Map<String, Set<Setting>> TYPES = types();

    private InBandQuery() {}

    private static Map<String, Set<Setting>> types() {
        Map<String, Set<Setting>> types = new HashMap<>();
        for (String plain : List.of("bool", "int2", "int4", "int8", "numeric", "text", "varchar", "bpchar", "char",
                "name", "uuid", "json", "jsonb", "inet", "cidr", "macaddr", "macaddr8", "oid", "bit", "varbit",
                "tsvector", "tsquery", "enum")) {
            types.put(plain, Set.of());
        }
        for (String date : List.of("date", "time", "timetz", "timestamp", "timestamptz")) {
            types.put(date, Set.of(Setting.DATES));
        }
        types.put("interval", Set.of(Setting.INTERVALS));
        types.put("float4", Set.of(Setting.FLOATS));
        types.put("float8", Set.of(Setting.FLOATS));
        types.put("bytea", Set.of(Setting.BYTES));
        return types;
    }

    /** Understands the result of {@link #SQL}. */
    public static InBandTables read(QueryResult result) {
        Set<String> functions = new HashSet<>();
        Map<String, InBandTable> unique = new HashMap<>();
        Map<String, InBandTable> qualified = new HashMap<>();
        Map<String, Lockable> lockable = new HashMap<>();
        Map<String, Lockable> lockableQualified = new HashMap<>();
        Set<String> hidingFunctions = new HashSet<>();
        Set<String> hidingNames = new HashSet<>();
        boolean anywhere = false;
        long limit = 0;
        for (List<@Nullable String> row : result.rows()) {
            String first = text(row, 1);
            switch (text(row, 0)) {
                case "function" -> functions.add(first);
                case "hides" -> {
                    switch (first) {
                        case "function" -> hidingFunctions.add(text(row, 2));
                        case "name" -> hidingNames.add(text(row, 2));
                        default -> anywhere = true;
                    }
                }
                case "limit" -> limit = Long.parseLong(first);
                case "lock" -> {
                    Lockable table = new Lockable(Long.parseLong(text(row, 3)), Long.parseLong(text(row, 10)),
                            roles(row));
                    lockableQualified.put(InBandTables.qualified(first, text(row, 2)), table);
                    if (flag(row, 4)) {
                        lockable.put(text(row, 2), table);
                    }
                }
                default -> {
                    InBandTable table = table(row);
                    if (table != null) {
                        qualified.put(InBandTables.qualified(first, text(row, 2)), table);
                        if (flag(row, 4)) {
                            unique.put(text(row, 2), table);
                        }
                    }
                }
            }
        }
        return new InBandTables(functions, unique, qualified, limit,
                new Lockables(lockable, lockableQualified), new HiddenCalls(hidingFunctions, hidingNames, anywhere));
    }

    private static @Nullable InBandTable table(List<@Nullable String> row) {
        Set<Setting> settings = EnumSet.noneOf(Setting.class);
        for (String type : text(row, 7).split(" ", -1)) {
            Set<Setting> needed = TYPES.get(type);
            if (needed == null) {
                return null;
            }
            settings.addAll(needed);
        }
        return new InBandTable(Long.parseLong(text(row, 3)), Long.parseLong(text(row, 10)), settings, flag(row, 5),
                flag(row, 6), roles(row), flag(row, 9), places(row.get(11)));
    }

    private static Set<Integer> places(@Nullable String list) {
        return list == null
                ? Set.of()
                : Arrays.stream(list.split(" ", -1)).map(Integer::valueOf).collect(Collectors.toUnmodifiableSet());
    }

    private static Set<String> roles(List<@Nullable String> row) {
        return Set.copyOf(Arrays.asList(text(row, 8).split(" ", -1)));
    }

    /** Which settings the text of a column's values depends on, as far as its values are told apart by their text. */
    public static Set<Setting> settings(Table.Column column) {
        String type = column.type();
        return TYPES.getOrDefault(type.endsWith("[]") ? type.substring(0, type.length() - 2) : type, Set.of());
    }

    private static boolean flag(List<@Nullable String> row, int column) {
        return text(row, column).equals("true");
    }

    private static String text(List<@Nullable String> row, int column) {
        return String.valueOf(row.get(column));
    }
}
