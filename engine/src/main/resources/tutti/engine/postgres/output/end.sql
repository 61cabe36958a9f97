-- Undoes begin.sql.
DROP EVENT TRIGGER IF EXISTS tutti_tell_made;
DO $$ BEGIN
    IF pg_catalog.to_regclass('tutti.told') IS NOT NULL THEN
        PERFORM tutti.untell_table(relation) FROM tutti.told;
        DROP TABLE tutti.told;
    END IF;
END $$;
DROP PUBLICATION IF EXISTS tutti_changes;
DROP FUNCTION IF EXISTS tutti.tell_made();
DROP FUNCTION IF EXISTS tutti.tell_table(oid);
DROP FUNCTION IF EXISTS tutti.untell_table(oid);
