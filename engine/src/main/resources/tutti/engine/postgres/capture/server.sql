-- Changes of what belongs to the server and not to a database: roles, their memberships and settings, databases, tablespaces, rights to them. No event
-- trigger tells of them. Part of install.sql. (docs/decisions/0126-hidden-changes-of-the-server.md)

-- Whether the transaction has changed something of the server that nobody has told: no statement of the client's own, and none that is recorded. Asked
-- only if the session's counters say that it may: they count for longer than a transaction. What tells this transaction's changes from those before
-- are locks, which are kept to its end, and where they are not, rows as young as it is.
CREATE OR REPLACE FUNCTION tutti.server_changed() RETURNS boolean LANGUAGE plpgsql STABLE <fixed settings> AS $function$
DECLARE
    young CONSTANT int := age(pg_current_xact_id()::xid);
BEGIN
    IF session_user IN ('<applier>', '<executor>') OR tutti.server_explained() THEN
        RETURN false;
    END IF;
    RETURN EXISTS (SELECT FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'relation' AND mode = 'RowExclusiveLock'
            AND relation IN (1260, 1261, 1262, 1213, 2396, 2964, 3466))
        OR EXISTS (SELECT FROM pg_database WHERE age(xmin) <= young) OR EXISTS (SELECT FROM pg_tablespace WHERE age(xmin) <= young)
        OR EXISTS (SELECT FROM pg_parameter_acl WHERE age(xmin) <= young) OR EXISTS (SELECT FROM pg_shdepend WHERE age(xmin) <= young
            AND pg_stat_get_xact_tuples_updated(1214) > 0);
END
$function$;

-- Whether all that the session has changed of the server was there when tutti.explain_server() was called last, in this transaction.
CREATE OR REPLACE FUNCTION tutti.server_explained() RETURNS boolean LANGUAGE plpgsql STABLE <fixed settings> AS $function$
BEGIN
    RETURN currval('tutti.explained') = tutti.server_count();
EXCEPTION WHEN object_not_in_prerequisite_state THEN
    RETURN false; -- it has not been called in this session
END
$function$;

-- The transaction, and how much the session has changed of the server; rolling back to a savepoint takes nothing off.
CREATE OR REPLACE FUNCTION tutti.server_count() RETURNS bigint LANGUAGE sql STABLE <fixed settings> AS $function$
    SELECT (pg_current_xact_id()::text::numeric % 1073741824 * 4294967296 + 1 + <server changes>)::bigint
$function$;

-- What has been changed of the server up to now is known: a client's own statement has done so, or one that is recorded.
CREATE OR REPLACE FUNCTION tutti.explain_server() RETURNS void LANGUAGE plpgsql <fixed settings> AS $function$
BEGIN
    IF <server may change> THEN
        PERFORM tutti.adopt_exposed();
        PERFORM setval_here('tutti.explained', tutti.server_count());
    END IF;
END
$function$;

-- A statement comes that may change something of the server: up to here all must be known.
CREATE OR REPLACE FUNCTION tutti.check_server() RETURNS void LANGUAGE plpgsql STABLE <fixed settings> AS $function$
BEGIN
    IF <server may change> AND tutti.server_changed() THEN
        PERFORM tutti.refuse_server_change();
    END IF;
END
$function$;

CREATE OR REPLACE FUNCTION tutti.refuse_server_change() RETURNS text LANGUAGE plpgsql STABLE AS $function$
BEGIN
    RAISE EXCEPTION USING ERRCODE = '0A000',
        MESSAGE = 'a function or DO block has changed roles, owners, databases or event triggers, which cannot be replicated from there',
        HINT = 'Send CREATE ROLE, ALTER ROLE, GRANT, REASSIGN OWNED and the like as statements of their own.';
END
$function$;

-- Functions of users that may do anything: those that are not written in C, which only superusers can make; of these, those that execute a query that
-- they are given. Not those that a superuser's extension has brought along.
CREATE OR REPLACE VIEW tutti.suspects AS
    SELECT p.oid, p.proname, p.provolatile = 'v' AND p.prorettype NOT IN ('trigger'::regtype, 'event_trigger'::regtype) AS changes,
        p.pronargs > 0 AND p.pronargs - p.pronargdefaults <= 1 AND t.typtype IN ('c', 'd', 'p') AS attribute
        FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang LEFT JOIN pg_type t ON t.oid = p.proargtypes[0]
        WHERE p.pronamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace, 'tutti'::regnamespace)
            AND p.prokind <> 'a' AND (l.lanname NOT IN ('c', 'internal') OR p.probin ~ 'tablefunc|pgxml')
            AND NOT EXISTS (SELECT FROM pg_depend d JOIN pg_roles o ON o.oid = p.proowner AND o.rolsuper
                WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e' AND p.probin IS NULL);

-- What calls a function of the server's that executes a text which it is given, or changes something: nothing depends on the server's own functions, so that
-- only the trees of expressions tell. Looked at only if there are suspects that such a text could name. By prefixes of names, which the index of names finds.
CREATE OR REPLACE VIEW tutti.text_callers AS
    WITH callee AS MATERIALIZED (SELECT oid FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace AND EXISTS (SELECT FROM tutti.suspects)
            AND (proname LIKE 'query\_to\_xml%' OR proname LIKE 'cursor\_to\_xml%' OR proname LIKE 'table\_to\_xml%' OR proname LIKE 'schema\_to\_xml%'
                OR proname LIKE 'database\_to\_xml%' OR proname LIKE 'setval%' OR proname LIKE 'pg\_notify%' OR proname LIKE 'lo\_%'
                OR proname IN ('ts_stat', 'ts_rewrite', 'set_config', 'lowrite'))),
        tree(classid, objid, text) AS (
            SELECT 'pg_rewrite'::regclass::oid, w.oid, w.ev_action::text FROM pg_rewrite w JOIN pg_class c ON c.oid = w.ev_class
                WHERE c.relnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace, 'tutti'::regnamespace)
            UNION ALL SELECT 'pg_policy'::regclass, oid, concat(polqual, polwithcheck) FROM pg_policy
            UNION ALL SELECT 'pg_constraint'::regclass, oid, conbin::text FROM pg_constraint WHERE conbin IS NOT NULL),
        pattern AS (SELECT concat(':(?:op)?funcid (?:', string_agg(oid::text, '|'), ')\M') AS of_calls FROM callee HAVING count(*) > 0)
    SELECT t.classid, t.objid FROM pattern CROSS JOIN tree t WHERE t.text ~ of_calls
    UNION ALL SELECT 'pg_operator'::regclass, o.oid FROM pg_operator o JOIN callee ON callee.oid IN (o.oprcode, o.oprrest, o.oprjoin) WHERE o.oid >= 16384
    UNION ALL SELECT 'pg_cast'::regclass, k.oid FROM pg_cast k JOIN callee ON callee.oid = k.castfunc WHERE k.oid >= 16384
    UNION ALL SELECT 'pg_proc'::regclass, a.aggfnoid::oid FROM pg_aggregate a
        JOIN callee ON callee.oid IN (a.aggtransfn, a.aggfinalfn, a.aggcombinefn, a.aggmtransfn, a.aggminvtransfn, a.aggmfinalfn)
        WHERE a.aggfnoid::oid >= 16384 AND NOT EXISTS (SELECT FROM pg_proc p WHERE p.oid = a.aggfnoid AND p.pronamespace = 'tutti'::regnamespace);

-- What brings such a function along, without a statement's naming it: views, tables with policies or with indexes of expressions, operators, casts, domains,
-- comparisons of types, aggregates, and what these are parts of.
CREATE OR REPLACE VIEW tutti.reached AS
    WITH RECURSIVE reached(classid, objid) AS (
        (SELECT 'pg_proc'::regclass::oid, s.oid FROM tutti.suspects s UNION ALL SELECT * FROM tutti.text_callers)
        UNION
        SELECT n.classid, n.objid FROM reached r CROSS JOIN LATERAL (
            SELECT d.classid, d.objid FROM pg_depend d WHERE d.refclassid = r.classid AND d.refobjid = r.objid AND d.classid = ANY (
                ARRAY['pg_proc', 'pg_rewrite', 'pg_policy', 'pg_operator', 'pg_cast', 'pg_type', 'pg_amproc', 'pg_constraint', 'pg_class',
                    'pg_statistic_ext']::regclass[]::oid[])
            UNION ALL SELECT 'pg_class'::regclass, w.ev_class FROM pg_rewrite w JOIN pg_class c ON c.oid = w.ev_class AND c.relkind <> 'm'
                WHERE r.classid = 'pg_rewrite'::regclass AND w.oid = r.objid AND w.ev_type = '1'
            UNION ALL SELECT 'pg_class'::regclass, o.polrelid FROM pg_policy o WHERE r.classid = 'pg_policy'::regclass AND o.oid = r.objid
            UNION ALL SELECT 'pg_class'::regclass, i.indrelid FROM pg_index i WHERE r.classid = 'pg_class'::regclass AND i.indexrelid = r.objid
            UNION ALL SELECT 'pg_class'::regclass, e.stxrelid FROM pg_statistic_ext e WHERE r.classid = 'pg_statistic_ext'::regclass
                AND e.oid = r.objid
        ) n
    )
    SELECT classid, objid FROM reached;

-- A row for each name in whose presence a query may do anything: of relations and functions, the latter where they look like a column ("attribute") or like one
-- of the server's ("function"); without a name if any query may.
CREATE OR REPLACE VIEW tutti.hiding AS
    SELECT CASE r.classid WHEN 'pg_proc'::regclass THEN 'function' ELSE 'name' END AS kind, coalesce(p.proname, c.relname) AS name
        FROM tutti.reached r LEFT JOIN pg_proc p ON r.classid = 'pg_proc'::regclass AND p.oid = r.objid
            LEFT JOIN pg_class c ON r.classid = 'pg_class'::regclass AND c.oid = r.objid AND c.relkind IN ('r', 'p', 'v', 'f')
        WHERE p.oid IS NOT NULL OR c.oid IS NOT NULL
    UNION SELECT 'name', s.proname FROM tutti.suspects s WHERE s.attribute
    UNION SELECT 'any', NULL WHERE EXISTS (SELECT FROM tutti.reached r LEFT JOIN pg_type t ON r.classid = 'pg_type'::regclass AND t.oid = r.objid
            LEFT JOIN pg_constraint o ON r.classid = 'pg_constraint'::regclass AND o.oid = r.objid
        WHERE r.classid IN ('pg_operator'::regclass, 'pg_cast'::regclass, 'pg_amproc'::regclass) OR t.typtype IN ('d', 'r', 'm', 'b') AND t.typelem = 0
            OR o.contypid <> 0);

-- The node does not know temporary objects, of which each session has its own.
CREATE OR REPLACE FUNCTION tutti.check_temporary(object text) RETURNS void LANGUAGE plpgsql <fixed settings> AS $function$
BEGIN
    IF EXISTS (SELECT FROM tutti.reached r LEFT JOIN pg_class c ON r.classid = 'pg_class'::regclass AND c.oid = r.objid
                        AND (c.relkind = 'v' OR c.relrowsecurity)
                LEFT JOIN pg_type t ON r.classid = 'pg_type'::regclass AND t.oid = r.objid AND t.typtype IN ('d', 'r')
                LEFT JOIN pg_operator o ON r.classid = 'pg_operator'::regclass AND o.oid = r.objid
            WHERE pg_my_temp_schema() IN (c.relnamespace, t.typnamespace, o.oprnamespace)) THEN
        RAISE EXCEPTION USING ERRCODE = '0A000',
            MESSAGE = format('the temporary object %s calls a function of a user''s, which may change what no other node would hear of', object),
            HINT = 'Make a permanent view, or a temporary table, in its place.';
    END IF;
END
$function$;

-- Whether the transaction has made a table of which no event trigger was told: EXPLAIN ANALYZE executes what makes it, in a function too. (A materialized view is
-- not noticed, but where a client's own statement says EXPLAIN.)
CREATE OR REPLACE FUNCTION tutti.made_unseen() RETURNS boolean LANGUAGE plpgsql STABLE <fixed settings> AS $function$
BEGIN
    RETURN EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            JOIN tutti.uncaptured u ON u.schema_name = n.nspname AND u.table_name = c.relname
        WHERE c.relkind = 'r' AND age(c.xmin) <= age(pg_current_xact_id()::xid));
END
$function$;

CREATE OR REPLACE FUNCTION tutti.refuse_made() RETURNS text LANGUAGE plpgsql STABLE AS $function$
BEGIN
    RAISE EXCEPTION USING ERRCODE = '0A000',
        MESSAGE = 'EXPLAIN ANALYZE has made a table at this node only, which cannot be replicated',
        HINT = 'Make the table by the statement itself, and explain the query.';
END
$function$;
