-- Tables that are kept on some nodes only (docs/decisions/0115, 0165). Part of install.sql.
--
-- Every node has such a table, with its keys, triggers and functions, since every node certifies its rows. A node that does not keep it has it empty, and
-- passes over its rows. What tells clients so is an index, the guard: of no column, and of an expression that raises the error. The planner simplifies the expressions of
-- all indexes of each table that it plans, so nothing that reads or writes the table gets past it: views, functions, statements prepared before, superusers.
-- Only COPY of the table to somewhere plans nothing; it is refused by its text.

-- Who keeps which table, by node numbers; all nodes have the same rows. A table may be placed that does not exist any more, and is made again. The
-- object id, this node's own, is null then.
CREATE TABLE IF NOT EXISTS tutti.placed (
    schema_name text NOT NULL,
    table_name text NOT NULL,
    keepers text NOT NULL,
    table_oid oid,
    PRIMARY KEY (schema_name, table_name)
);

-- Those that this node does not keep.
CREATE OR REPLACE VIEW tutti.placed_elsewhere AS
    SELECT p.schema_name, p.table_name, p.keepers, p.table_oid FROM tutti.placed p
        WHERE NOT EXISTS (SELECT FROM tutti.node n WHERE n.node_index = ANY (string_to_array(p.keepers, ', ')::bigint[]));

-- Refuses the use of a table. Always, but for this node's appliers, which make what every node makes of an empty table, too, and while the guard itself is made: whoever it has once
-- answered is not asked again, until the index changes.
CREATE OR REPLACE FUNCTION tutti.elsewhere(name text, keepers text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE SECURITY DEFINER
    AS $function$
BEGIN
    IF SESSION_USER OPERATOR(pg_catalog.=) '<applier>'
            OR pg_catalog.current_setting('<mark>') OPERATOR(pg_catalog.=) 'tutti adopting' THEN
        RETURN true;
    END IF;
    RAISE EXCEPTION USING ERRCODE = '0A000',
        MESSAGE = pg_catalog.concat('table ', name, ' is not kept on this node, only on ', tutti.nodes(keepers)),
        HINT = 'Connect to a node that keeps all tables which the transaction names.';
END
$function$;

CREATE OR REPLACE FUNCTION tutti.nodes(keepers text) RETURNS text LANGUAGE sql IMMUTABLE
    AS $function$ SELECT pg_catalog.concat(CASE WHEN pg_catalog.strpos(keepers, ',') OPERATOR(pg_catalog.=) 0 THEN 'node ' ELSE 'nodes ' END, keepers) $function$;

-- Refuses a placement for what all nodes have in common, whatever they keep. `tables`: of each its schema and its name. No keepers: it is to be forgotten.
CREATE OR REPLACE FUNCTION tutti.check_placement(tables text[], keepers text) RETURNS void LANGUAGE plpgsql STABLE
    <fixed settings> AS $function$
DECLARE
    t record;
    ids oid[] := '{}';
BEGIN
    FOR t IN SELECT format('%I.%I', tables[i], tables[i + 1]) AS name, u.table_oid, c.oid, c.relkind, p.keepers AS before,
                c.relispartition OR EXISTS (SELECT FROM pg_inherits h WHERE c.oid IN (h.inhrelid, h.inhparent)) AS family
            FROM generate_series(1, cardinality(tables), 2) i
                LEFT JOIN pg_namespace n ON n.nspname = tables[i]
                LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = tables[i + 1] AND c.relkind IN ('r', 'p')
                LEFT JOIN tutti.user_tables u ON u.table_oid = c.oid
                LEFT JOIN tutti.placed p ON p.schema_name = tables[i] AND p.table_name = tables[i + 1] LOOP
        IF keepers = '' THEN
            IF t.before IS NOT NULL AND t.oid IS NOT NULL THEN
                RAISE EXCEPTION USING ERRCODE = '0A000',
                    MESSAGE = format('table %s is kept on %s only, and that is forgotten of a table that does not exist', t.name, tutti.nodes(t.before)),
                    HINT = 'To have it on more nodes, name these and one more, again and again.';
            END IF;
            CONTINUE;
        ELSIF t.before = keepers AND t.oid IS NULL THEN
            CONTINUE; -- it was made once, and the table has been dropped since
        END IF;
        IF t.table_oid IS NULL AND t.relkind IS DISTINCT FROM 'p' THEN
            RAISE EXCEPTION USING ERRCODE = '42P01', MESSAGE = format('table %s does not exist, or is none of an application', t.name);
        ELSIF t.family OR t.relkind = 'p' THEN
            RAISE EXCEPTION USING ERRCODE = '0A000',
                MESSAGE = format('table %s cannot be kept on some nodes only: it is divided, a part of another table, or has or is a child', t.name);
        END IF;
        ids := ids || t.table_oid;
    END LOOP;
    PERFORM tutti.check_placed_together(ids, keepers);
END
$function$;

-- Tables that a foreign key joins are kept together. `changed` are about to be kept on other nodes.
CREATE OR REPLACE FUNCTION tutti.check_placed_together(changed oid[], keepers text) RETURNS void LANGUAGE plpgsql STABLE
    <fixed settings> AS $function$
DECLARE
    f record;
BEGIN
    SELECT o.conname AS name, o.conrelid::regclass AS child, o.confrelid::regclass AS parent INTO f
        FROM pg_constraint o
            LEFT JOIN tutti.placed c ON c.table_oid = o.conrelid
            LEFT JOIN tutti.placed p ON p.table_oid = o.confrelid
        WHERE o.contype = 'f'
            AND CASE WHEN o.conrelid = ANY (changed) THEN check_placed_together.keepers ELSE c.keepers END
                IS DISTINCT FROM CASE WHEN o.confrelid = ANY (changed) THEN check_placed_together.keepers ELSE p.keepers END
        ORDER BY o.conname LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = '0A000',
            MESSAGE = format('foreign key %I joins table %s to table %s, which would be kept on other nodes', f.name, f.child, f.parent),
            HINT = 'Keep both on the same nodes, or do without the foreign key.';
    END IF;
END
$function$;

-- Places tables, at one position of the order at all nodes; see check_placement, whose array `names` is the text of.
CREATE OR REPLACE FUNCTION tutti.place(secret bytea, names text, keepers text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
    <fixed settings> AS $function$
DECLARE
    tables text[] := names;
BEGIN
    <refuse without the secret>
    PERFORM tutti.check_placement(tables, keepers);
    IF keepers = '' THEN
        DELETE FROM tutti.placed p USING generate_series(1, cardinality(tables), 2) i
            WHERE p.schema_name = tables[i] AND p.table_name = tables[i + 1];
    ELSE
        INSERT INTO tutti.placed (schema_name, table_name, keepers)
            SELECT tables[i], tables[i + 1], place.keepers FROM generate_series(1, cardinality(tables), 2) i
            ON CONFLICT (schema_name, table_name) DO UPDATE SET keepers = excluded.keepers;
    END IF;
    PERFORM tutti.settle_placed();
END
$function$;

-- Makes this node's tables what the placement says: empties what it does not keep, and sets the guards.
CREATE OR REPLACE FUNCTION tutti.settle_placed() RETURNS void LANGUAGE plpgsql <fixed settings> AS $function$
DECLARE
    t record;
    before text := current_setting('<mark>');
    role text := current_setting('session_replication_role');
    emptied text;
BEGIN
    UPDATE tutti.placed p SET table_oid = u.table_oid
        FROM tutti.placed q LEFT JOIN tutti.user_tables u ON u.schema_name = q.schema_name AND u.table_name = q.table_name
        WHERE q.schema_name = p.schema_name AND q.table_name = p.table_name AND p.table_oid IS DISTINCT FROM u.table_oid;
    SELECT concat(p.schema_name, '.', p.table_name) AS name, p.keepers INTO t FROM tutti.placed p
        WHERE to_regclass(format('%I.%I', p.schema_name, tutti.guard_name(p.table_oid))) IS NOT NULL
            AND NOT EXISTS (SELECT FROM tutti.placed_elsewhere e WHERE e.table_oid = p.table_oid);
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = '<needs a copy>',
            MESSAGE = format('table %s should be kept on this node, and its rows are not in this database', t.name),
            HINT = format('Copy the database of another node that keeps it: %s.', tutti.nodes(t.keepers));
    END IF;
    PERFORM set_config('<mark>', 'tutti adopting', true);
    SELECT string_agg(format('ONLY %I.%I', e.schema_name, e.table_name), ', ') INTO emptied FROM tutti.placed_elsewhere e
        WHERE e.table_oid IS NOT NULL AND to_regclass(format('%I.%I', e.schema_name, tutti.guard_name(e.table_oid))) IS NULL;
    IF emptied IS NOT NULL THEN
        -- not for others to see. The file is a new one then, so that no older snapshot passes over the guard.
        PERFORM set_config('session_replication_role', 'replica', true);
        EXECUTE concat('TRUNCATE ', emptied);
        PERFORM set_config('session_replication_role', role, true);
    END IF;
    FOR t IN SELECT e.*, g.indexrelid AS guard, format('%I.%I', e.schema_name, e.table_name) AS name,
                concat(e.schema_name, '.', e.table_name) AS shown
            FROM tutti.placed_elsewhere e
                LEFT JOIN pg_index g ON g.indexrelid = to_regclass(format('%I.%I', e.schema_name, tutti.guard_name(e.table_oid)))
            WHERE e.table_oid IS NOT NULL AND pg_get_expr(g.indexprs, g.indrelid)
                IS DISTINCT FROM tutti.guard_expression(e.schema_name, e.table_name, e.keepers) LOOP
        IF t.guard IS NOT NULL THEN
            EXECUTE format('DROP INDEX %s', t.guard::regclass);
        END IF;
        EXECUTE format('CREATE INDEX %I ON %s ((tutti.elsewhere(%L, %L)))', tutti.guard_name(t.table_oid), t.name, t.shown, t.keepers);
    END LOOP;
    -- One that nothing is entered into is neither dumped nor vacuumed nor analysed, but planned with. And the session that has made it forgets what it knows of it.
    UPDATE pg_index SET indisready = false WHERE indisready AND indexrelid IN (
        SELECT to_regclass(format('%I.%I', e.schema_name, tutti.guard_name(e.table_oid))) FROM tutti.placed_elsewhere e);
    PERFORM set_config('<mark>', before, true);
END
$function$;

CREATE OR REPLACE FUNCTION tutti.guard_expression(schema_name text, table_name text, keepers text) RETURNS text LANGUAGE sql IMMUTABLE <fixed settings>
    AS $function$ SELECT format('tutti.elsewhere(%L::text, %L::text)', concat(schema_name, '.', table_name), keepers) $function$;

-- Whether an index is a guard, and not one that has its name.
CREATE OR REPLACE FUNCTION tutti.is_guard(i pg_index) RETURNS boolean LANGUAGE sql STABLE <fixed settings> AS $function$
    SELECT i.indpred IS NULL AND EXISTS (SELECT FROM tutti.placed_elsewhere e WHERE e.table_oid = i.indrelid
        AND pg_get_expr(i.indexprs, i.indrelid) = tutti.guard_expression(e.schema_name, e.table_name, e.keepers))
$function$;

CREATE OR REPLACE FUNCTION tutti.guard_name(table_oid oid) RETURNS text LANGUAGE sql IMMUTABLE
    AS $function$ SELECT pg_catalog.concat('tutti_elsewhere_', table_oid) $function$;

-- What a schema change, which has just been made, must not have done with tables that some nodes lack. In an event trigger only. `ordered`: every node makes it at
-- a position of its own, and none has looked yet; `here`: only this node executes it, and others get the rows.
CREATE OR REPLACE FUNCTION tutti.check_placed(tag text, ordered boolean, here boolean) RETURNS void LANGUAGE plpgsql <fixed settings> AS $function$
DECLARE
    t record;
    concerned oid[];
    replica boolean := current_setting('session_replication_role') = 'replica';
BEGIN
    IF EXISTS (SELECT FROM pg_depend d JOIN pg_index i ON i.indexrelid = d.objid JOIN pg_class x ON x.oid = d.objid
            WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_proc'::regclass
                AND d.refobjid = 'tutti.elsewhere(text,text)'::regprocedure AND x.relname <> tutti.guard_name(i.indrelid)) THEN
        PERFORM tutti.refuse_guard(tag);
    ELSIF NOT EXISTS (SELECT FROM tutti.placed) THEN
        RETURN;
    END IF;
    SELECT concat(p.schema_name, '.', p.table_name) AS name, p.keepers,
            (n.nspname, c.relname) IS DISTINCT FROM (p.schema_name::name, p.table_name::name) AS renamed INTO t
        FROM tutti.placed p JOIN pg_class c ON c.oid = p.table_oid JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE (n.nspname, c.relname) IS DISTINCT FROM (p.schema_name::name, p.table_name::name) OR c.relispartition
            OR EXISTS (SELECT FROM pg_inherits h WHERE c.oid IN (h.inhrelid, h.inhparent));
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = '0A000', MESSAGE = format('table %s is kept on %s only, so it cannot %s', t.name, tutti.nodes(t.keepers),
            CASE WHEN t.renamed THEN 'get another name or schema' ELSE 'become a part, a parent or a child of another table' END);
    END IF;
    PERFORM tutti.check_placed_together('{}', '');
    IF tag ~ '^(CREATE (VIEW|FUNCTION|PROCEDURE|TRIGGER|RULE|POLICY|STATISTICS|SEQUENCE)|COMMENT|GRANT|REVOKE|SECURITY LABEL|ALTER (VIEW|FUNCTION|PROCEDURE|TRIGGER|POLICY|SEQUENCE|DEFAULT PRIVILEGES))$'
            OR tag = 'CREATE TABLE' AND NOT EXISTS (SELECT FROM pg_event_trigger_ddl_commands() d JOIN pg_class c ON c.oid = d.objid
                WHERE d.classid = 'pg_class'::regclass AND c.relispartition)
            OR here OR NOT ordered AND replica THEN
        RETURN; -- nothing of it depends on rows, or its origin has looked, or only its origin executes it
    END IF;
    concerned := CASE WHEN NOT ordered THEN coalesce(tutti.changed_tables(), '{}') END;
    FOR t IN SELECT l.*, e.table_oid IS NOT NULL AS lacked FROM tutti.used_placed() l LEFT JOIN tutti.placed_elsewhere e USING (table_oid) LOOP
        IF NOT ordered AND t.lacked AND t.table_oid = ANY (concerned) THEN
            PERFORM tutti.elsewhere(t.name, t.keepers);
        ELSIF ordered OR t.table_oid <> ALL (concerned) THEN
            RAISE EXCEPTION USING ERRCODE = '0A000',
                MESSAGE = format('%s uses table %s, which is kept on %s only', tag, t.name, tutti.nodes(t.keepers)),
                DETAIL = 'What every node executes must not depend on rows that some of them lack.',
                HINT = CASE WHEN ordered THEN 'If it changes this table, or makes another from it: BEGIN, the statement, and COMMIT, at a node that keeps the table.'
                    ELSE 'Change the schema in a transaction of its own; what reads the table cannot be made by every node.' END;
        END IF;
    END LOOP;
END
$function$;

-- Tables kept on some nodes only that the transaction has used: who uses a table has it locked until the end.
CREATE OR REPLACE FUNCTION tutti.used_placed() RETURNS TABLE (table_oid oid, name text, keepers text) LANGUAGE sql STABLE <fixed settings>
    AS $function$
    SELECT p.table_oid, concat(p.schema_name, '.', p.table_name), p.keepers FROM tutti.placed p
        WHERE p.table_oid IN (SELECT l.relation FROM pg_locks l WHERE l.pid = pg_backend_pid() AND l.locktype = 'relation' AND l.granted
            AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()))
        ORDER BY 2
$function$;

-- Every node has executed a request of a client's. Whether it lacks a table or not, the request fails if it has used it.
CREATE OR REPLACE FUNCTION tutti.check_request() RETURNS void LANGUAGE plpgsql <fixed settings> AS $function$
DECLARE
    t record;
BEGIN
    IF NOT EXISTS (SELECT FROM tutti.placed) THEN
        RETURN;
    END IF;
    SELECT * INTO t FROM tutti.used_placed();
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = '0A000',
            MESSAGE = format('a request that every node executes uses table %s, which is kept on %s only', t.name, tutti.nodes(t.keepers)),
            HINT = 'Execute it at a node that keeps the table, and have its changes shipped.';
    END IF;
END
$function$;

CREATE OR REPLACE FUNCTION tutti.refuse_guard(tag text) RETURNS void LANGUAGE plpgsql AS $function$
BEGIN
    RAISE EXCEPTION USING ERRCODE = '42501',
        MESSAGE = pg_catalog.concat(tag, ' is refused: the index by which a node refuses what uses a table that it does not keep is its own');
END
$function$;
