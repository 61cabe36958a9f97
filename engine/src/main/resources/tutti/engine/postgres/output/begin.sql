-- Has the server tell what is changed in all replicated tables: which those are, and of each row all that it was.
-- A publication of all tables would have the server refuse changes of tables made later that have no key, so tables are added one
-- by one, with their rows' identity, as they are made.
CREATE TABLE IF NOT EXISTS tutti.told (relation oid PRIMARY KEY, identity "char" NOT NULL, index name);
ALTER TABLE tutti.told ENABLE ROW LEVEL SECURITY; -- as all tables there (install.sql)

CREATE OR REPLACE FUNCTION tutti.untell_table(relation oid) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET event_triggers = off AS $$
DECLARE
    was record;
BEGIN
    SELECT format('%I.%I', n.nspname, c.relname) AS named, t.identity, t.index INTO was FROM tutti.told t
        JOIN pg_class c ON c.oid = t.relation JOIN pg_namespace n ON n.oid = c.relnamespace WHERE t.relation = untell_table.relation;
    IF was.named IS NOT NULL THEN
        IF EXISTS (SELECT FROM pg_publication_rel r JOIN pg_publication p ON p.oid = r.prpubid
                WHERE p.pubname = 'tutti_changes' AND r.prrelid = relation) THEN
            EXECUTE 'ALTER PUBLICATION tutti_changes DROP TABLE ' || was.named;
        END IF;
        EXECUTE 'ALTER TABLE ' || was.named || ' REPLICA IDENTITY ' || CASE was.identity WHEN 'n' THEN 'NOTHING' WHEN 'f' THEN 'FULL'
            -- Another index may have its name by now. Where that is of an expression, the server would compute what is constant in it to refuse it, as whoever asks.
            WHEN 'i' THEN coalesce('USING INDEX ' || (SELECT quote_ident(x.relname) FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid
                WHERE i.indrelid = relation AND x.relname = was.index AND i.indisunique AND i.indimmediate AND i.indisvalid
                    AND NOT i.indisexclusion AND i.indexprs IS NULL AND i.indpred IS NULL
                    AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = i.indrelid AND NOT a.attnotnull
                        AND a.attnum = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1]))), 'DEFAULT') ELSE 'DEFAULT' END;
    END IF;
    DELETE FROM tutti.told t WHERE t.relation = untell_table.relation;
END $$;
REVOKE ALL ON FUNCTION tutti.untell_table(oid) FROM PUBLIC;

CREATE OR REPLACE FUNCTION tutti.tell_table(relation oid) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET event_triggers = off AS $$
DECLARE
    named text;
BEGIN
    SELECT format('%I.%I', n.nspname, c.relname) INTO named FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE c.oid = relation AND c.relkind = 'r' AND c.relpersistence = 'p'
            AND n.nspname NOT IN ('tutti', 'information_schema') AND n.nspname NOT LIKE 'pg\_%';
    IF named IS NULL THEN
        RETURN;
    END IF;
    IF EXISTS (SELECT FROM pg_attribute WHERE attrelid = relation AND attgenerated = 'v') THEN
        -- The server refuses to change such a table while its old rows are to be told whole: it is not told.
        IF EXISTS (SELECT FROM tutti.told t WHERE t.relation = tell_table.relation) THEN
            PERFORM tutti.untell_table(relation);
        END IF;
        RETURN;
    END IF;
    IF EXISTS (SELECT FROM pg_class WHERE oid = relation AND relreplident <> 'f') THEN
        INSERT INTO tutti.told SELECT c.oid, c.relreplident, (SELECT x.relname FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid
            WHERE i.indrelid = c.oid AND i.indisreplident) FROM pg_class c WHERE c.oid = relation ON CONFLICT DO NOTHING;
        EXECUTE 'ALTER TABLE ' || named || ' REPLICA IDENTITY FULL';
    END IF;
    IF NOT EXISTS (SELECT FROM pg_publication_rel r JOIN pg_publication p ON p.oid = r.prpubid
            WHERE p.pubname = 'tutti_changes' AND r.prrelid = relation) THEN
        EXECUTE 'ALTER PUBLICATION tutti_changes ADD TABLE ' || named;
    END IF;
END $$;
REVOKE ALL ON FUNCTION tutti.tell_table(oid) FROM PUBLIC;

CREATE OR REPLACE FUNCTION tutti.tell_made() RETURNS event_trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM tutti.tell_table(made.objid) FROM pg_event_trigger_ddl_commands() made
        WHERE made.classid = 'pg_class'::regclass AND made.objsubid = 0;
END $$;
REVOKE ALL ON FUNCTION tutti.tell_made() FROM PUBLIC;

DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_publication WHERE pubname = 'tutti_changes') THEN
        CREATE PUBLICATION tutti_changes FOR TABLE tutti.applied WITH (publish_generated_columns = stored);
    END IF;
END $$;
DROP EVENT TRIGGER IF EXISTS tutti_tell_made;
CREATE EVENT TRIGGER tutti_tell_made ON ddl_command_end WHEN TAG IN ('CREATE TABLE', 'CREATE TABLE AS', 'SELECT INTO', 'ALTER TABLE')
    EXECUTE FUNCTION tutti.tell_made();
ALTER EVENT TRIGGER tutti_tell_made ENABLE ALWAYS;
SELECT tutti.tell_table(oid) FROM pg_catalog.pg_class WHERE relkind = 'r' AND relpersistence = 'p';
