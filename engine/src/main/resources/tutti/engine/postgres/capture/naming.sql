-- Names that the server chooses: of indexes and sequences whose statement says none (docs/decisions/0233). Part of install.sql.
--
-- The server passes over a name that another transaction has taken, also if that is rolled back later. Other nodes know nothing of that transaction. So a name with a number counts only if
-- the transaction sees the relations which have the names before it; otherwise all nodes are told it, or the statement is executed once more where no other transaction changes the schema.

-- Clients' transactions that change the schema lock it, each beside the others.
CREATE TABLE IF NOT EXISTS tutti.naming ();

-- Tables with an index, or a sequence of a column, that this transaction has made or renamed, and whose name may have been chosen because of what others have not committed. A long name may have
-- been shortened, so that those before it are not known.
CREATE OR REPLACE FUNCTION tutti.named_beside() RETURNS SETOF oid LANGUAGE sql STABLE <fixed settings> AS $function$
    SELECT coalesce(i.indrelid, d.refobjid) FROM pg_class c
        CROSS JOIN LATERAL regexp_match(c.relname, '^(.*_(?:idx|p?key|excl|seq))([1-9][0-9]{0,8})$') m
        LEFT JOIN pg_index i ON i.indexrelid = c.oid
        LEFT JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.refclassid = 'pg_class'::regclass AND d.deptype IN ('a', 'i') AND c.relkind = 'S'
    WHERE c.relkind IN ('i', 'I', 'S') AND c.relpersistence <> 't' AND age(c.xmin) <= age(pg_current_xact_id()::xid) AND m IS NOT NULL
        AND coalesce(i.indrelid, d.refobjid) IS NOT NULL
        AND (octet_length(c.relname) >= 60 OR m[2]::int > 1000 OR EXISTS (SELECT FROM generate_series(0, m[2]::int - 1) n
            WHERE NOT EXISTS (SELECT FROM pg_class o WHERE o.relnamespace = c.relnamespace
                AND o.relname = concat(m[1], nullif(n, 0))::name)))
$function$;

-- Indexes of a table, and sequences of its columns, with what they are, but for their names.
CREATE OR REPLACE FUNCTION tutti.named_of(relation oid) RETURNS TABLE (id oid, kind text, what text, name name) LANGUAGE sql STABLE <fixed settings>
    AS $function$
    SELECT x.oid, 'INDEX', concat((SELECT o.contype FROM pg_constraint o WHERE o.conindid = x.oid AND o.contype IN ('p', 'u', 'x')), ' ', i.indisunique,
            substr(d.text, strpos(d.text, ' INDEX ') + length(' INDEX ') + length(quote_ident(x.relname)))), x.relname
        FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid CROSS JOIN LATERAL pg_get_indexdef(x.oid) d(text)
        WHERE i.indrelid = relation AND x.relname !~ <built names>
    UNION ALL SELECT q.oid, 'SEQUENCE', a.attname::text, q.relname
        FROM pg_depend d JOIN pg_class q ON q.oid = d.objid AND q.relkind = 'S' JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
        WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid = relation AND d.deptype IN ('a', 'i')
$function$;

-- After a schema change. A client's transaction tells the other nodes what its server has chosen, and those have it executed once more, alone, where theirs may have chosen otherwise: so it is
-- as if nobody had been there at the same time.
CREATE OR REPLACE FUNCTION tutti.check_names(everywhere boolean) RETURNS void LANGUAGE plpgsql <fixed settings> AS $function$
BEGIN
    IF NOT EXISTS (SELECT FROM tutti.named_beside()) THEN
        RETURN;
    ELSIF NOT everywhere AND current_setting('session_replication_role') <> 'replica' THEN
        PERFORM tutti.note(concat('s', octet_length(told.entry), ':', told.entry))
            FROM (SELECT concat(tutti.statement_part('<naming>'), tutti.statement_part(''), tutti.statement_part(jsonb_build_array(n.nspname, c.relname,
                    (SELECT jsonb_agg(jsonb_build_array(h.what, h.name)) FROM tutti.named_of(c.oid) h))::text)) AS entry
                FROM (SELECT DISTINCT b FROM tutti.named_beside() b) t JOIN pg_class c ON c.oid = t.b JOIN pg_namespace n ON n.oid = c.relnamespace) told;
    ELSIF NOT EXISTS (SELECT FROM pg_locks WHERE locktype = 'relation' AND pid = pg_backend_pid() AND relation = 'tutti.naming'::regclass
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND mode = 'ExclusiveLock') THEN
        RAISE EXCEPTION USING ERRCODE = '<chosen beside others>', MESSAGE = 'a name may have been chosen because of transactions that are under way at this node only';
    END IF;
END
$function$;

-- No client's transaction that changes the schema is under way any more until this one ends.
CREATE OR REPLACE FUNCTION tutti.name_alone(secret bytea) RETURNS void LANGUAGE plpgsql SECURITY DEFINER <fixed settings> AS $function$
BEGIN
    <refuse without the secret>
    LOCK TABLE tutti.naming IN EXCLUSIVE MODE;
END
$function$;

-- Gives what the schema change before has made the names that another node tells. Of what is alike, it does not matter which one has which name.
CREATE OR REPLACE FUNCTION tutti.name_as_told(secret bytea, told text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER <fixed settings> AS $function$
DECLARE
    parts CONSTANT jsonb := told::jsonb;
    relation oid;
    ids oid[];
    kinds text[];
    names name[];
BEGIN
    <refuse without the secret>
    SELECT c.oid INTO STRICT relation FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = parts ->> 0 AND c.relname = parts ->> 1;
    WITH here AS (SELECT * FROM tutti.named_of(relation)),
        there AS (SELECT t ->> 0 AS what, (t ->> 1)::name AS name FROM jsonb_array_elements(parts -> 2) t),
        misnamed AS (SELECT h.id, h.kind, h.what, row_number() OVER (PARTITION BY h.what ORDER BY h.id) AS place FROM here h
            WHERE NOT EXISTS (SELECT FROM there t WHERE t.what = h.what AND t.name = h.name)),
        missing AS (SELECT t.name, t.what, row_number() OVER (PARTITION BY t.what ORDER BY t.name) AS place FROM there t
            WHERE NOT EXISTS (SELECT FROM here h WHERE h.what = t.what AND h.name = t.name))
        SELECT array_agg(m.id), array_agg(m.kind), array_agg(w.name) INTO ids, kinds, names FROM misnamed m JOIN missing w USING (what, place);
    IF ids IS NULL THEN
        RETURN;
    END IF;
    PERFORM set_config('<mark>', 'tutti adopting', true);
    -- one may have the name that another one is to have
    FOR i IN 1..cardinality(ids) LOOP
        EXECUTE format('ALTER %s %s RENAME TO %I', kinds[i], ids[i]::regclass, concat('tutti_renamed_', ids[i]));
    END LOOP;
    FOR i IN 1..cardinality(ids) LOOP
        EXECUTE format('ALTER %s %s RENAME TO %I', kinds[i], ids[i]::regclass, names[i]);
    END LOOP;
    PERFORM set_config('<mark>', '', true);
    PERFORM tutti.adopt(tutti.with_relatives(ARRAY[relation]));
END
$function$;
