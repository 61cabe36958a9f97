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

-- What the client's node accepts must be what the others accept (docs/decisions/0238-rows-that-others-would-refuse.md).

-- Whether a condition of a CHECK may come out differently by when, where and for whom it is checked: something in it is not immutable. What users have declared as immutable
-- is theirs to see to.
CREATE OR REPLACE FUNCTION tutti.condition_varies(tree text) RETURNS boolean LANGUAGE plpgsql STABLE <fixed settings> AS $function$
BEGIN
    RETURN tree ~ 'SQLVALUEFUNCTION'
        OR EXISTS (SELECT FROM regexp_matches(tree, ':(?:op)?funcid (\d+)', 'g') m JOIN pg_proc p ON p.oid = m[1]::oid WHERE p.provolatile <> 'i')
        OR tree ~ 'COERCEVIAIO' AND EXISTS (SELECT FROM regexp_matches(tree, ':(?:(?:var|const|result|opresult|funcresult)type|typeId) (\d+)', 'g') m
            JOIN pg_type t ON t.oid = m[1]::oid JOIN pg_proc p ON p.oid IN (t.typinput, t.typoutput) WHERE p.provolatile <> 'i');
END
$function$;

-- Refuses a CHECK that asks for the moment, or for what only the session knows: whoever executes the row later, or for another, may find it false. It is refused when it is made. (What executes
-- a text is tried with each row, as functions of users are: docs/decisions/0170.)
CREATE OR REPLACE FUNCTION tutti.check_conditions(ordered boolean) RETURNS void LANGUAGE plpgsql <fixed settings> AS $function$
DECLARE
    refused record;
BEGIN
    IF NOT ordered AND current_setting('session_replication_role') = 'replica' THEN
        RETURN;
    END IF;
    SELECT c.conname, coalesce(r.oid::regclass::text, format_type(c.contypid, NULL)) AS object INTO refused FROM pg_constraint c LEFT JOIN pg_class r ON r.oid = c.conrelid
        WHERE c.contype = 'c' AND age(c.xmin) <= age(pg_current_xact_id()::xid) AND r.relpersistence IS DISTINCT FROM 't' AND c.connamespace <> pg_my_temp_schema()
            AND (c.conbin::text ~ 'SQLVALUEFUNCTION :op (?:[0-8]|12)\M' OR EXISTS (
                SELECT FROM regexp_matches(c.conbin::text, ':(?:op)?funcid (\d+)', 'g') m JOIN pg_proc p ON p.oid = m[1]::oid AND p.oid < 16384
                WHERE p.provolatile = 'v' AND p.proname !~ '_to_xml|^ts_(?:stat|rewrite)' OR p.provolatile = 's' AND (p.proname IN ('now', 'transaction_timestamp', 'statement_timestamp', 'current_setting', 'session_user', 'version')
                    OR p.proname = 'age' AND p.pronargs = 1 OR p.proname ~ '^(?:inet_(?:client|server)|txid_|pg_(?:backend|my_temp|postmaster|conf_load|current|safe_snapshot|trigger|is_other))')))
        LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = '0A000',
            MESSAGE = format('CHECK %I of %s asks for the time, a random value, or what only a session knows, and cannot be replicated', refused.conname, refused.object),
            DETAIL = 'Every node checks a row when it gets it, which may be later, by another clock, and in another session.',
            HINT = 'Check it in a trigger, which fires once, at the node that executes the statement.';
    END IF;
END
$function$;

-- Whether conditions that are checked for a table's rows vary.
CREATE OR REPLACE FUNCTION tutti.checks_vary(table_oid oid) RETURNS boolean LANGUAGE plpgsql STABLE <fixed settings> AS $function$
BEGIN
    RETURN EXISTS (SELECT FROM pg_constraint c WHERE c.conrelid = table_oid AND c.contype = 'c' AND tutti.condition_varies(c.conbin::text))
        OR tutti.has_parts(table_oid)
            AND EXISTS (SELECT FROM tutti.types_within(table_oid) part JOIN pg_constraint c ON c.contypid = part AND c.contype = 'c' WHERE tutti.condition_varies(c.conbin::text));
END
$function$;

-- Whether the text of a value that a table has may be refused by its own type, a domain whose condition has come later (NOT VALID) or varies, or which takes no NULL and is a part of another one.
CREATE OR REPLACE FUNCTION tutti.refuses_own(table_oid oid) RETURNS boolean LANGUAGE plpgsql STABLE <fixed settings> AS $function$
BEGIN
    RETURN tutti.has_parts(table_oid) AND EXISTS (SELECT FROM tutti.types_within(table_oid) part JOIN pg_type t ON t.oid = part AND t.typtype = 'd'
        WHERE EXISTS (SELECT FROM pg_constraint c WHERE c.contypid = t.oid AND (NOT c.convalidated OR c.contype = 'c' AND tutti.condition_varies(c.conbin::text)))
            OR t.typnotnull AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = table_oid AND a.attnum > 0 AND NOT a.attisdropped AND a.atttypid = t.oid));
END
$function$;

-- A condition that is true of a row if one of its columns has NULL, as an outer join may give it, and a domain that takes none; NULL if no column can.
CREATE OR REPLACE FUNCTION tutti.null_in_domain(table_oid oid, row_name text) RETURNS text LANGUAGE sql STABLE <fixed settings> AS $function$
    SELECT string_agg(format('%s.%I IS NULL', row_name, a.attname), ' OR ' ORDER BY a.attnum) FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid AND t.typnotnull
        WHERE a.attrelid = table_oid AND a.attnum > 0 AND NOT a.attisdropped AND NOT a.attnotnull AND a.attgenerated <> 'v'
$function$;

-- A condition that is true of a row if it names a relation that only this node, or this session, calls so; NULL if it has no such column.
CREATE OR REPLACE FUNCTION tutti.names_own(table_oid oid, row_name text) RETURNS text LANGUAGE sql STABLE <fixed settings> AS $function$
    SELECT format('EXISTS (SELECT FROM pg_catalog.pg_class AS own WHERE own.oid OPERATOR(pg_catalog.=) ANY (ARRAY[%s]) AND (own.relpersistence OPERATOR(pg_catalog.=) '
            '''t''::pg_catalog."char" OR own.relnamespace OPERATOR(pg_catalog.=) 99::pg_catalog.oid))',
            string_agg(format('%s.%I::pg_catalog.oid', row_name, a.attname), ', ' ORDER BY a.attnum))
        FROM pg_attribute a WHERE a.attrelid = table_oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated <> 'v' AND a.atttypid = 'regclass'::regtype HAVING count(*) > 0
$function$;

-- When a table's rows are tried at the client's node (`watched`: code of a user's may be called); NULL if they are not. What is told of an old row may be refused, too.
CREATE OR REPLACE FUNCTION tutti.check_fires(table_oid oid, watched boolean, OUT events text, OUT condition text) LANGUAGE plpgsql STABLE <fixed settings> AS $function$
DECLARE
    nulls CONSTANT text := tutti.null_in_domain(table_oid, 'NEW');
BEGIN
    IF tutti.refuses_own(table_oid) THEN
        events := 'AFTER INSERT OR UPDATE OR DELETE';
    ELSIF tutti.tells_names(table_oid) OR tutti.checks_vary(table_oid)
            OR NOT tutti.runs_no_code(table_oid) AND (watched OR EXISTS (SELECT FROM tutti.computed_columns(table_oid))) THEN
        events := 'AFTER INSERT OR UPDATE';
    ELSIF nulls IS NOT NULL THEN
        events := 'AFTER INSERT OR UPDATE';
        condition := format('WHEN (%s)', nulls);
    END IF;
END
$function$;

-- Statements that read, at the node of the client, what others are told of an old row: where it is deleted, or has another key. Nothing else of a deleted row is tried.
CREATE OR REPLACE FUNCTION tutti.reread_old(table_oid oid) RETURNS text LANGUAGE sql STABLE <fixed settings> AS $function$
    SELECT format($text$
    IF TG_OP OPERATOR(pg_catalog.=) 'DELETE' THEN
        PERFORM OLD::pg_catalog.text::%1$I.%2$I;
        RETURN NULL;
    ELSIF TG_OP OPERATOR(pg_catalog.=) 'UPDATE' AND (%3$s) THEN
        PERFORM OLD::pg_catalog.text::%1$I.%2$I;
    END IF;
    $text$, u.schema_name, u.table_name, coalesce((SELECT string_agg(format('ROW(OLD.%1$I)::pg_catalog.text OPERATOR(pg_catalog.<>) ROW(NEW.%1$I)::pg_catalog.text', a.attname), ' OR ')
            FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey) WHERE i.indexrelid = u.key), 'true'))
    FROM tutti.user_tables u WHERE u.table_oid = $1 AND tutti.refuses_own(table_oid)
$function$;

-- Statements that check, at the node of the client, what others will check for its row NEW, as they will.
CREATE OR REPLACE FUNCTION tutti.compare_checks(table_oid oid) RETURNS text LANGUAGE sql STABLE <fixed settings> AS $function$
    SELECT concat((SELECT format($text$
    IF %s THEN
        RAISE EXCEPTION USING ERRCODE = '0A000', MESSAGE = %L;
    END IF;
    $text$, tutti.names_own(table_oid, 'NEW'), format('a row of table %I.%I that names a temporary relation, or one whose name the server has chosen (pg_toast), cannot be replicated',
            n.nspname, r.relname)) WHERE tutti.names_own(table_oid, 'NEW') IS NOT NULL),
        (SELECT string_agg(format($text$
    IF EXISTS (SELECT FROM %1$s AS %2$I WHERE (%3$s) IS FALSE) THEN
        RAISE EXCEPTION USING ERRCODE = '23514', SCHEMA = %4$L, TABLE = %5$L, CONSTRAINT = %6$L, MESSAGE = %7$L,
            DETAIL = 'They check it as the owner of the table, under settings of their own (TimeZone is UTC there).';
    END IF;
    $text$, tutti.row_elsewhere(table_oid), r.relname, pg_get_expr(c.conbin, c.conrelid), n.nspname, r.relname, c.conname,
                format('new row for relation "%s" violates check constraint "%s" at other nodes', r.relname, c.conname)), '' ORDER BY c.conname)
            FROM pg_constraint c WHERE c.conrelid = table_oid AND c.contype = 'c' AND c.conbin::text !~ ':varattno -' AND tutti.condition_varies(c.conbin::text)))
        FROM pg_class r JOIN pg_namespace n ON n.oid = r.relnamespace WHERE r.oid = table_oid
$function$;

-- Refuses the rows of a table that a query has made, if others could not read them. No code of a user's is called with the node's rights for that.
CREATE OR REPLACE FUNCTION tutti.check_query_rows(table_oid oid) RETURNS void LANGUAGE plpgsql <fixed settings> AS $function$
DECLARE
    wrong CONSTANT text := concat_ws(' OR ', tutti.null_in_domain(table_oid, 't'), tutti.names_own(table_oid, 't'), CASE WHEN tutti.refuses_own(table_oid) THEN 'true' END);
    found boolean := false;
BEGIN
    IF wrong <> '' THEN
        EXECUTE format('SELECT EXISTS (SELECT FROM ONLY %s AS t WHERE %s)', table_oid::regclass, wrong) INTO found;
    END IF;
    IF found THEN
        RAISE EXCEPTION USING ERRCODE = '0A000',
            MESSAGE = format('table %s cannot be made from this query: other nodes could not read its rows', table_oid::regclass),
            DETAIL = 'A domain in it takes no NULL, or has a condition that is NOT VALID or varies; or a row names a temporary relation, or one whose name the server has chosen (pg_toast).',
            HINT = 'Cast such columns to the type of the domain, or to text.';
    END IF;
END
$function$;
