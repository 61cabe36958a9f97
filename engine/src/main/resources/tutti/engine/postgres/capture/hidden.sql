-- What is ours is shown to nobody who dumps or describes the database (docs/decisions/0085): the schema tutti and what is in it, and the event triggers,
-- are members of an extension that came with the server, as its object id says; no dump tells of such a one. Functions that serve one
-- table are parts of the table, and go with it. Triggers on tables are internal ones, as those of foreign keys are.
--
-- The id is one of the pinned ones (below 12000): DROP EXTENSION is refused.
CREATE OR REPLACE FUNCTION tutti.hidden_in() RETURNS oid LANGUAGE sql IMMUTABLE AS $function$ SELECT 11999::pg_catalog.oid $function$;

-- Makes a function part of a table. CREATE OR REPLACE forgets it.
CREATE OR REPLACE FUNCTION tutti.make_part(function oid, table_oid oid) RETURNS void LANGUAGE sql <fixed settings> AS $function$
    INSERT INTO pg_depend (classid, objid, objsubid, refclassid, refobjid, refobjsubid, deptype)
        VALUES ('pg_proc'::regclass, function, 0, 'pg_class'::regclass, table_oid, 0, 'i')
$function$;

-- The table that ALTER TABLE names, as of this search path; NULL if that is not told by plain names.
CREATE OR REPLACE FUNCTION tutti.altered_table(statement text, path text) RETURNS oid LANGUAGE plpgsql <fixed settings> AS $function$
DECLARE
    token text;
    named text := '';
BEGIN
    FOREACH token IN ARRAY tutti.tokens(statement) LOOP
        CONTINUE WHEN token ~ '^([ \t\n\r\f\v]|--|/\*)' OR named = '' AND lower(token) IN ('alter', 'table', 'if', 'exists', 'only');
        EXIT WHEN token IS NULL OR named <> '' AND token <> '.' AND right(named, 1) <> '.';
        named := concat(named, token);
    END LOOP;
    PERFORM set_config('search_path', path, true);
    RETURN CASE WHEN named OPERATOR(pg_catalog.~) '^(?:"(?:[^"]|"")+"|[[:alpha:]_][\w$]*)(?:\.(?:"(?:[^"]|"")+"|[[:alpha:]_][\w$]*))?$' THEN pg_catalog.to_regclass(named) END;
END
$function$;

-- Lets a table's owner say something of all of its triggers, and those of its partitions: he may not of internal ones. adopt() hides them again. A temporary table has none of ours.
CREATE OR REPLACE FUNCTION tutti.show_triggers(statement text, path text) RETURNS void LANGUAGE plpgsql <fixed settings> AS $function$
DECLARE
    altered CONSTANT oid := tutti.altered_table(statement, path);
BEGIN
    IF altered IS NULL AND pg_my_temp_schema() <> 0 OR (SELECT c.relpersistence = 't' FROM pg_class c WHERE c.oid = altered) THEN
        RETURN;
    END IF;
    UPDATE pg_trigger SET tgisinternal = false
        WHERE tgname LIKE 'tutti\_%' AND tgisinternal AND (altered IS NULL OR tgrelid = ANY (tutti.with_relatives(ARRAY[altered])));
END
$function$;

-- Hides the rest when all of it has been made, and parts of tables that an earlier release has made.
CREATE OR REPLACE FUNCTION tutti.hide() RETURNS void LANGUAGE plpgsql <fixed settings> AS $function$
BEGIN
    INSERT INTO pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
        SELECT tutti.hidden_in(), 'tutti', 10, 'tutti'::regnamespace, false, '1'
        WHERE NOT EXISTS (SELECT FROM pg_extension WHERE oid = tutti.hidden_in());
    PERFORM tutti.make_part(p.oid, c.oid)
        FROM pg_proc p JOIN pg_class c ON c.oid = substring(p.proname FROM '[0-9]+$')::oid
        WHERE p.pronamespace = 'tutti'::regnamespace AND p.proname ~ '^(update|apply_[a-z_]+)_[0-9]+$'
            AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'i');
    INSERT INTO pg_depend (classid, objid, objsubid, refclassid, refobjid, refobjsubid, deptype)
        SELECT o.class, o.id, 0, 'pg_extension'::regclass, tutti.hidden_in(), 0, 'e' FROM (
            SELECT 'pg_namespace'::regclass, 'tutti'::regnamespace::oid
            UNION ALL SELECT 'pg_class'::regclass, oid FROM pg_class
                WHERE relnamespace = 'tutti'::regnamespace AND relkind IN ('r', 'v', 'S')
            UNION ALL SELECT 'pg_proc'::regclass, oid FROM pg_proc
                WHERE pronamespace = 'tutti'::regnamespace AND proname !~ '^(update|apply_[a-z_]+)_[0-9]+$'
            UNION ALL SELECT 'pg_event_trigger'::regclass, oid FROM pg_event_trigger WHERE evtname LIKE 'tutti\_%') o(class, id);
    -- rights of an extension's members are dumped if they are others than its script gave
    INSERT INTO pg_init_privs (objoid, classoid, objsubid, privtype, initprivs)
        SELECT oid, 'pg_namespace'::regclass, 0, 'e'::"char", nspacl FROM pg_namespace WHERE nspname = 'tutti' AND nspacl IS NOT NULL
        UNION ALL SELECT oid, 'pg_class'::regclass, 0, 'e', relacl FROM pg_class
            WHERE relnamespace = 'tutti'::regnamespace AND relacl IS NOT NULL
        UNION ALL SELECT a.attrelid, 'pg_class'::regclass, a.attnum, 'e', a.attacl FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
            WHERE c.relnamespace = 'tutti'::regnamespace AND a.attacl IS NOT NULL
        UNION ALL SELECT oid, 'pg_proc'::regclass, 0, 'e', proacl FROM pg_proc
            WHERE pronamespace = 'tutti'::regnamespace AND proacl IS NOT NULL AND proname !~ '^(update|apply_[a-z_]+)_[0-9]+$';
END
$function$;

-- These tables, their partitions and children, and those that foreign keys join to them: whom a change of the first may concern.
CREATE OR REPLACE FUNCTION tutti.with_relatives(tables oid[]) RETURNS oid[] LANGUAGE sql STABLE <fixed settings> AS $function$
    WITH RECURSIVE family AS (
        SELECT unnest(tables) AS id
        UNION SELECT i.inhrelid FROM family f JOIN pg_inherits i ON i.inhparent = f.id
    )
    SELECT coalesce(array_agg(DISTINCT r.id) FILTER (WHERE r.id IS NOT NULL), '{}') FROM (
        SELECT id FROM family
        UNION ALL SELECT c.confrelid FROM family f JOIN pg_constraint c ON c.conrelid = f.id AND c.contype = 'f'
        UNION ALL SELECT c.conrelid FROM family f JOIN pg_constraint c ON c.confrelid = f.id AND c.contype = 'f') r
$function$;

-- Which tables the schema change that is under way concerns; NULL if that may be all of them. In an event trigger only. A command
-- that is not listed may change how tables of others are captured or applied: a type's operators, the name of a schema or an index.
CREATE OR REPLACE FUNCTION tutti.changed_tables() RETURNS oid[] LANGUAGE plpgsql STABLE <fixed settings> AS $function$
DECLARE
    tags CONSTANT text[] := ARRAY(SELECT DISTINCT command_tag FROM pg_event_trigger_ddl_commands());
    tables oid[] := '{}';
BEGIN
    IF NOT tags <@ ARRAY['CREATE TABLE', 'ALTER TABLE', 'CREATE TABLE AS', 'SELECT INTO', 'CREATE INDEX', 'CREATE FOREIGN TABLE', 'ALTER FOREIGN TABLE',
            'CREATE SEQUENCE', 'ALTER SEQUENCE', 'CREATE VIEW', 'ALTER VIEW', 'CREATE MATERIALIZED VIEW', 'ALTER MATERIALIZED VIEW', 'REFRESH MATERIALIZED VIEW',
            'CREATE FUNCTION', 'ALTER FUNCTION', 'CREATE PROCEDURE', 'ALTER PROCEDURE', 'CREATE TRIGGER', 'ALTER TRIGGER', 'CREATE RULE', 'ALTER RULE',
            'CREATE POLICY', 'ALTER POLICY', 'CREATE STATISTICS', 'ALTER STATISTICS', 'CREATE SCHEMA', 'CREATE TYPE', 'COMMENT', 'SECURITY LABEL',
            'ALTER DEFAULT PRIVILEGES', 'GRANT', 'REVOKE'] THEN
        RETURN NULL;
    END IF;
    IF tags && ARRAY['GRANT', 'REVOKE'] THEN
        tables := tutti.otherwise_applied();
    END IF;
    -- what calls a function may call another one, or by another name; a new one is called by nothing, but for the first: texts that the server's own functions
    -- execute (tutti.text_callers) may name it
    IF EXISTS (SELECT FROM pg_event_trigger_ddl_commands() c WHERE c.classid = 'pg_proc'::regclass
            AND (NOT EXISTS (SELECT FROM tutti.suspects s WHERE s.oid <> c.objid) OR EXISTS (SELECT FROM pg_depend d
                WHERE d.refclassid = 'pg_proc'::regclass AND d.refobjid = c.objid AND d.classid NOT IN ('pg_trigger'::regclass, 'pg_rewrite'::regclass)))) THEN
        RETURN NULL;
    END IF;
    RETURN (SELECT tutti.with_relatives(tables || array_agg(CASE classid
            WHEN 'pg_class'::regclass THEN coalesce((SELECT i.indrelid FROM pg_index i WHERE i.indexrelid = objid), objid)
            WHEN 'pg_trigger'::regclass THEN (SELECT g.tgrelid FROM pg_trigger g WHERE g.oid = objid)
            WHEN 'pg_constraint'::regclass THEN (SELECT o.conrelid FROM pg_constraint o WHERE o.oid = objid)
            WHEN 'pg_policy'::regclass THEN (SELECT o.polrelid FROM pg_policy o WHERE o.oid = objid)
            WHEN 'pg_statistic_ext'::regclass THEN (SELECT s.stxrelid FROM pg_statistic_ext s WHERE s.oid = objid)
            WHEN 'pg_rewrite'::regclass THEN (SELECT r.ev_class FROM pg_rewrite r WHERE r.oid = objid) END)
            -- a partition that has been detached is named by nothing
            || CASE WHEN bool_or(objid IN (SELECT c.oid FROM pg_class c WHERE c.relkind = 'p')) THEN ARRAY(
                SELECT c.oid FROM pg_class c WHERE c.relkind IN ('r', 'p') AND age(c.xmin) <= age(pg_current_xact_id()::xid)) END)
    FROM pg_event_trigger_ddl_commands());
END
$function$;

-- The same of what has been dropped. An index does not tell whose it was, unless it has gone with a table, a column or a constraint; a foreign key's
-- triggers tell the table that it named.
CREATE OR REPLACE FUNCTION tutti.tables_of_dropped(tag text) RETURNS oid[] LANGUAGE sql STABLE <fixed settings> AS $function$
    SELECT CASE WHEN tag IN ('DROP TABLE', 'ALTER TABLE', 'DROP VIEW', 'DROP MATERIALIZED VIEW', 'DROP SEQUENCE')
            AND NOT bool_or(schema_name IS DISTINCT FROM 'tutti' AND (object_type = 'index' AND original
                OR object_type IN ('function', 'procedure', 'aggregate', 'operator', 'operator class', 'operator family', 'collation')))
        THEN tutti.with_relatives(array_agg(CASE WHEN object_type = 'table column' THEN objid
            WHEN object_type IN ('table constraint', 'trigger', 'rule', 'default value', 'policy')
                THEN to_regclass(format('%I.%I', address_names[1], address_names[2]))::oid END)) END
    FROM pg_event_trigger_dropped_objects()
$function$;

