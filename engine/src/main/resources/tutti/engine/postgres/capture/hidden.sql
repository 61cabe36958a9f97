-- What is ours is shown to nobody who dumps or describes the database (docs/decisions/0085): the schema tutti and what is in it, and the event triggers,
-- are members of an extension that came with the server, as its object id says; no dump tells of such a one. Functions that serve one
-- table are parts of the table, and go with it. Triggers on tables are internal ones, as those of foreign keys are.
--
-- The id is one of the pinned ones (below 12000): DROP EXTENSION is refused.
CREATE OR REPLACE FUNCTION tutti.hidden_in() RETURNS oid LANGUAGE sql IMMUTABLE AS $function$ SELECT 11999::pg_catalog.oid $function$;

-- Hides what belongs to tables: for adopt(), which has just made it. CREATE OR REPLACE forgets whose part a function is.
CREATE OR REPLACE FUNCTION tutti.hide_of_tables() RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog AS $function$
BEGIN
    UPDATE pg_trigger SET tgisinternal = true WHERE tgname LIKE 'tutti\_%' AND NOT tgisinternal;
    INSERT INTO pg_depend (classid, objid, objsubid, refclassid, refobjid, refobjsubid, deptype)
        SELECT 'pg_proc'::regclass, p.oid, 0, 'pg_class'::regclass, c.oid, 0, 'i'
        FROM pg_proc p JOIN pg_class c ON c.oid = substring(p.proname FROM '[0-9]+$')::oid
        WHERE p.pronamespace = 'tutti'::regnamespace AND p.proname ~ '^(update|apply_[a-z_]+)_[0-9]+$'
            AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'i');
END
$function$;

-- Lets a table's owner say something of all of its triggers: he may not of internal ones. adopt() hides them again.
CREATE OR REPLACE FUNCTION tutti.show_triggers() RETURNS void LANGUAGE sql SET search_path = pg_catalog
    AS $function$ UPDATE pg_trigger SET tgisinternal = false WHERE tgname LIKE 'tutti\_%' AND tgisinternal $function$;

-- Hides the rest, when all of it has been made.
CREATE OR REPLACE FUNCTION tutti.hide() RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog AS $function$
BEGIN
    INSERT INTO pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
        SELECT tutti.hidden_in(), 'tutti', 10, 'tutti'::regnamespace, false, '1'
        WHERE NOT EXISTS (SELECT FROM pg_extension WHERE oid = tutti.hidden_in());
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

