-- Indexes that this node builds beside the order, for a CREATE INDEX CONCURRENTLY that has not come to its position yet (docs/decisions/0220). Part of install.sql.
--
-- Such an index has a name of our own, in the schema of its table, and is not valid: rows are entered into it, but no query uses it, no foreign key or ON CONFLICT
-- can rest on it, and no dump tells of it. Other nodes may not have it.
CREATE OR REPLACE FUNCTION tutti.built_names() RETURNS text LANGUAGE sql IMMUTABLE AS $function$ SELECT <built names> $function$;

DROP VIEW IF EXISTS tutti.built;
CREATE VIEW tutti.built AS
    SELECT i.indexrelid, i.indrelid, x.relname AS name, i.indisvalid AS valid FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid
        WHERE x.relkind = 'i' AND x.relname ~ <built names> AND NOT EXISTS (SELECT FROM pg_constraint c WHERE c.conindid = x.oid AND c.contype <> 'f');

-- Gives one its name, as CREATE INDEX would at the same position. It fails if that would, or if it cannot be told. Queries that are planned already are planned anew: so
-- the table's own row changes. The table is not locked, as another index of it may be built just now; what that, or VACUUM, writes into the same row without a regard for
-- transactions waits for this one's end (since PostgreSQL 18).
CREATE OR REPLACE FUNCTION tutti.name_built(secret bytea, built text, name text, role text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
    <fixed settings> AS $function$
DECLARE
    i record;
BEGIN
    <refuse without the secret>
    SELECT b.indexrelid, b.indrelid INTO STRICT i FROM tutti.built b JOIN pg_class c ON c.oid = b.indrelid
        WHERE b.indexrelid = built::oid AND pg_has_role(role, c.relowner, 'USAGE') AND has_schema_privilege(role, c.relnamespace, 'CREATE');
    PERFORM set_config('<mark>', 'tutti adopting', true);
    UPDATE pg_index SET indisvalid = true WHERE indexrelid = i.indexrelid AND indisready AND indislive;
    UPDATE pg_class SET relhasindex = true WHERE oid = i.indrelid;
    EXECUTE format('ALTER INDEX %s RENAME TO %I', i.indexrelid::regclass, name);
    PERFORM set_config('<mark>', '', true);
    PERFORM tutti.adopt(tutti.with_relatives(ARRAY[i.indrelid]));
END
$function$;

-- Drops all that there are, in the open transaction, which is then the same at all nodes. Nobody builds meanwhile.
CREATE OR REPLACE FUNCTION tutti.drop_built(secret bytea) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
    <fixed settings> AS $function$
DECLARE
    i record;
    before text := current_setting('<mark>');
BEGIN
    <refuse without the secret>
    PERFORM set_config('<mark>', 'tutti adopting', true);
    FOR i IN SELECT indexrelid::regclass AS index FROM tutti.built LOOP
        EXECUTE format('DROP INDEX %s', i.index);
    END LOOP;
    PERFORM set_config('<mark>', before, true);
END
$function$;

-- What a schema change, which has just been made, must not have to do with one: other nodes would make something else of it. Where a node makes a change of others there
-- are none, and nobody else may give one such a name. In an event trigger only.
CREATE OR REPLACE FUNCTION tutti.check_built() RETURNS void LANGUAGE plpgsql <fixed settings> AS $function$
DECLARE
    met text;
BEGIN
    SELECT b.name INTO met FROM tutti.built b
        WHERE b.indexrelid IN (SELECT d.objid FROM pg_event_trigger_ddl_commands() d WHERE d.classid = 'pg_class'::regclass)
            OR EXISTS (SELECT FROM pg_inherits h WHERE h.inhrelid = b.indexrelid)
            OR EXISTS (SELECT FROM pg_index i WHERE i.indexrelid = b.indexrelid AND (i.indisreplident OR i.indisclustered));
    IF FOUND THEN
        PERFORM tutti.refuse_built(met);
    END IF;
    -- a constraint has such a name: its index would be taken for none
    SELECT x.relname INTO met FROM pg_class x JOIN pg_constraint c ON c.conindid = x.oid AND c.contype <> 'f'
        WHERE x.relname ~ <built names> AND age(c.xmin) <= age(pg_current_xact_id()::xid);
    IF FOUND THEN
        PERFORM tutti.refuse_built(met);
    END IF;
    -- one that is being built, and has got another name
    SELECT x.relname INTO met FROM pg_event_trigger_ddl_commands() d JOIN pg_index i ON d.classid = 'pg_class'::regclass AND i.indexrelid = d.objid
        JOIN pg_class x ON x.oid = i.indexrelid WHERE x.relkind = 'i' AND NOT i.indisvalid;
    IF FOUND THEN
        PERFORM tutti.refuse_built(met);
    END IF;
END
$function$;

CREATE OR REPLACE FUNCTION tutti.refuse_built(name text) RETURNS void LANGUAGE plpgsql AS $function$
BEGIN
    RAISE EXCEPTION USING ERRCODE = '55006',
        MESSAGE = pg_catalog.format('index %I is one that this node builds, or has the name of one', name),
        HINT = 'Try again when CREATE INDEX CONCURRENTLY is done, or cancel that.';
END
$function$;
