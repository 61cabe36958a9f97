-- What a node computes for the rows of others must be what they have computed (docs/decisions/0222-columns-that-nodes-compute.md). Part of install.sql.

-- The stored generated columns of a table of which that is not certain, numbered from 1. It is certain where an expression names nothing but columns of
-- the server's own types, and its own functions and operators, which have object ids below 16384. Others are said to be IMMUTABLE by who has made them, and object ids, in
-- tableoid, regclass and its like, and hashes of enums, are each node's own.
CREATE OR REPLACE FUNCTION tutti.computed_columns(table_oid oid) RETURNS TABLE (place bigint, name name) LANGUAGE sql STABLE <fixed settings> AS $function$
    SELECT row_number() OVER (ORDER BY a.attnum), a.attname
        FROM pg_attribute a JOIN pg_attrdef e ON e.adrelid = a.attrelid AND e.adnum = a.attnum
        WHERE a.attrelid = table_oid AND a.attgenerated = 's' AND (e.adbin::text ~ ':varattno -'
            OR EXISTS (SELECT FROM pg_depend d
                    LEFT JOIN pg_attribute o ON d.refclassid = 'pg_class'::regclass AND o.attrelid = d.refobjid AND o.attnum = d.refobjsubid AND d.refobjid = table_oid
                    LEFT JOIN pg_type t ON t.oid = o.atttypid AND t.typnamespace = 'pg_catalog'::regnamespace AND t.typtype <> 'p' AND t.typname !~ '^_?reg'
                WHERE d.classid = 'pg_attrdef'::regclass AND d.objid = e.oid AND d.refobjid >= 16384 AND t.oid IS NULL))
$function$;

-- Refuses rows if values have been computed that others were told, as texts, for each row those of all such columns.
CREATE OR REPLACE FUNCTION tutti.refuse_computed(table_name text, names text[], made text[], told text[]) RETURNS void LANGUAGE plpgsql
    <fixed settings> AS $function$
DECLARE
    differing CONSTANT text := (SELECT string_agg(DISTINCT n.name, ', ') FROM unnest(names) WITH ORDINALITY n(name, place),
        generate_series(1, array_length(made, 1)) each WHERE made[each][n.place] <> told[each][n.place]);
BEGIN
    RAISE EXCEPTION USING ERRCODE = '0A000',
        MESSAGE = format('column %s of table %s, which is computed, has another value at another node, or under other settings', differing, table_name),
        DETAIL = 'Every node computes it for itself. A function in its expression is declared IMMUTABLE and yet depends on more than its arguments, or has been '
            'replaced since the row was written.',
        HINT = 'Give the function its settings (ALTER FUNCTION ... SET timezone = ...), or compute the column in a trigger.';
END
$function$;

-- The statement that does, where values have been computed and told.
CREATE OR REPLACE FUNCTION tutti.refuse_computed_call(table_oid oid) RETURNS text LANGUAGE sql STABLE <fixed settings> AS $function$
    SELECT format($text$
    IF made OPERATOR(pg_catalog.<>) told THEN
        PERFORM tutti.refuse_computed(%L, %L, made, told);
    END IF;$text$, (SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = table_oid),
            array_agg(c.name ORDER BY c.place)::text[])
        FROM tutti.computed_columns(table_oid) c
$function$;

-- Statements that compute, at the node of the client, what the others will compute for its row NEW; none if there is nothing.
CREATE OR REPLACE FUNCTION tutti.compare_computed(table_oid oid) RETURNS text LANGUAGE sql STABLE <fixed settings> AS $function$
    SELECT format($text$
    SELECT ARRAY[[%1$s]], ARRAY[[%2$s]] INTO made, told FROM pg_catalog.unnest(ARRAY[%6$s::pg_catalog.text::%3$I.%4$I]) AS %4$I;%5$s$text$,
            string_agg(format('ROW(CAST(%s AS %s))::pg_catalog.text', CASE WHEN e.adbin::text ~ ':varattno -' THEN quote_ident(c.name)
                ELSE pg_get_expr(e.adbin, e.adrelid) END, format_type(a.atttypid, a.atttypmod)), ', ' ORDER BY c.place),
            string_agg(format('ROW(NEW.%I)::pg_catalog.text', c.name), ', ' ORDER BY c.place),
            min(n.nspname), min(r.relname), tutti.refuse_computed_call(table_oid), tutti.exact_row(table_oid, 'NEW'))
        FROM tutti.computed_columns(table_oid) c JOIN pg_attribute a ON a.attrelid = table_oid AND a.attname = c.name
            JOIN pg_attrdef e ON e.adrelid = table_oid AND e.adnum = a.attnum
            JOIN pg_class r ON r.oid = table_oid JOIN pg_namespace n ON n.oid = r.relnamespace
        HAVING count(*) > 0
$function$;

-- Whether a column is one of those.
CREATE OR REPLACE FUNCTION tutti.is_computed(relation oid, attribute smallint) RETURNS boolean LANGUAGE sql STABLE <fixed settings> AS $function$
    SELECT EXISTS (SELECT FROM tutti.computed_columns(relation) c JOIN pg_attribute a ON a.attrelid = relation AND a.attname = c.name AND a.attnum = attribute)
$function$;

-- Whether it is one of those by an expression that this transaction has given it.
CREATE OR REPLACE FUNCTION tutti.is_made_computed(relation oid, attribute smallint) RETURNS boolean LANGUAGE sql STABLE <fixed settings> AS $function$
    SELECT EXISTS (SELECT FROM pg_attrdef e WHERE e.adrelid = relation AND e.adnum = attribute AND age(e.xmin) <= age(pg_current_xact_id()::xid))
        AND tutti.is_computed(relation, attribute)
$function$;

-- Whether what ADD COLUMN, or SET EXPRESSION, has computed of rows that are there can be told to other nodes, which then compare it with their own: by another column that names rows.
CREATE OR REPLACE FUNCTION tutti.tells_computed(relation oid, attribute smallint) RETURNS boolean LANGUAGE sql STABLE <fixed settings> AS $function$
    SELECT EXISTS (SELECT FROM tutti.user_tables u JOIN pg_index i ON i.indexrelid = u.key WHERE u.table_oid = relation AND attribute <> ALL (i.indkey::int2[]))
        AND NOT EXISTS (SELECT FROM tutti.placed p WHERE p.table_oid = relation)
        AND NOT tutti.is_planned_by_code(relation)
        AND pg_table_size(relation) <= tutti.limit_bytes()
$function$;

CREATE OR REPLACE FUNCTION tutti.refuse_to_compute(relation regclass, attribute smallint) RETURNS void LANGUAGE plpgsql <fixed settings> AS $function$
BEGIN
    RAISE EXCEPTION USING ERRCODE = '0A000',
        MESSAGE = format('column %I of %s, which has rows or is kept on some nodes only, cannot be computed by this expression', (SELECT attname
            FROM pg_attribute WHERE attrelid = relation AND attnum = attribute), relation),
        DETAIL = 'Every replica would compute the rows that are there for itself, and a function, an operator, a type or object ids in the expression are not the server''s own.',
        HINT = 'Add a plain column, fill it with UPDATE, and compute it in a trigger: every node executes the statement, or the table has no other key by which its rows '
            'could be told, an index or statistics on an expression, or more rows than a transaction may change.';
END
$function$;
