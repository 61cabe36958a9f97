SET LOCAL search_path = pg_catalog;
WITH namespaces AS (
    SELECT oid, nspname FROM pg_catalog.pg_namespace
    WHERE nspname <> 'tutti' AND nspname <> 'information_schema' AND nspname NOT LIKE 'pg\_%'
), lines AS (
    SELECT pg_catalog.format('relation %I.%I %s %s %s', n.nspname, c.relname, c.relkind, c.relpersistence,
            CASE WHEN c.relkind IN ('v', 'm') THEN pg_catalog.pg_get_viewdef(c.oid) END) AS line
        FROM pg_catalog.pg_class c JOIN namespaces n ON n.oid = c.relnamespace
        WHERE c.relpersistence <> 't' AND c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f', 'c')
    UNION ALL
    SELECT pg_catalog.format('column %I.%I %s %I %s %s %s %s %s', n.nspname, c.relname,
            pg_catalog.row_number() OVER (PARTITION BY c.oid ORDER BY a.attnum), a.attname,
            pg_catalog.format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity, a.attgenerated,
            pg_catalog.pg_get_expr(d.adbin, d.adrelid))
        FROM pg_catalog.pg_class c JOIN namespaces n ON n.oid = c.relnamespace
        JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
        WHERE c.relpersistence <> 't' AND c.relkind IN ('r', 'p', 'c')
    UNION ALL
    SELECT pg_catalog.format('constraint %s %I %s %s', f.conrelid::pg_catalog.regclass, f.conname,
            pg_catalog.pg_get_constraintdef(f.oid), f.convalidated)
        FROM pg_catalog.pg_constraint f JOIN namespaces n ON n.oid = f.connamespace WHERE f.contype <> 't'
    UNION ALL
    SELECT 'index ' || pg_catalog.pg_get_indexdef(i.indexrelid)
        FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indrelid AND c.relpersistence <> 't'
        JOIN namespaces n ON n.oid = c.relnamespace
        JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid AND x.relname <> 'tutti_elsewhere_' || i.indrelid
            AND x.relname OPERATOR(pg_catalog.!~) <built names>
    UNION ALL
    SELECT 'trigger ' || pg_catalog.pg_get_triggerdef(g.oid) || g.tgenabled::text
        FROM pg_catalog.pg_trigger g JOIN pg_catalog.pg_class c ON c.oid = g.tgrelid
        JOIN namespaces n ON n.oid = c.relnamespace WHERE NOT g.tgisinternal AND g.tgname NOT LIKE 'tutti\_%'
    UNION ALL
    SELECT 'function ' || CASE WHEN p.prokind IN ('f', 'p') THEN pg_catalog.pg_get_functiondef(p.oid)
            ELSE pg_catalog.pg_get_function_identity_arguments(p.oid) END
        FROM pg_catalog.pg_proc p JOIN namespaces n ON n.oid = p.pronamespace
    UNION ALL
    SELECT pg_catalog.format('type %I.%I %s %s', n.nspname, t.typname, t.typtype,
            (SELECT pg_catalog.string_agg(e.enumlabel, ',' ORDER BY e.enumsortorder)
                FROM pg_catalog.pg_enum e WHERE e.enumtypid = t.oid))
        FROM pg_catalog.pg_type t JOIN namespaces n ON n.oid = t.typnamespace WHERE t.typtype IN ('e', 'd', 'r')
    UNION ALL
    SELECT 'extension ' || extname || ' ' || extversion FROM pg_catalog.pg_extension WHERE extname <> 'tutti'
    UNION ALL
    SELECT 'schema ' || nspname FROM namespaces
)
SELECT pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(
    coalesce(pg_catalog.string_agg(line, E'\n' ORDER BY line COLLATE "C"), ''), 'UTF8')), 'hex') FROM lines
