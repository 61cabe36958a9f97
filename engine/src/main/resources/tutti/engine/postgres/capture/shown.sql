-- What is shown in the place of the server's own pg_sequence gets an object id of those that only the server gives, below 16384: clients that
-- dump (pg_dump since 2024) forbid themselves all other views (restrict_nonsystem_relation_kind). In a transaction of its own, since
-- the server keeps in memory what the open one has made.
SELECT set_config('<mark>', 'tutti adopting', true);
SET LOCAL allow_system_table_mods = on;
DO $block$
DECLARE
    shown oid := 'pg_catalog.pg_sequence'::regclass;
    free oid;
    dependents text[];
    dependent text;
BEGIN
    IF shown >= 16384 THEN
        SELECT max(id) INTO STRICT free FROM generate_series(12000, 16383) id WHERE NOT EXISTS (SELECT FROM pg_class WHERE oid = id);
        SELECT array_agg(format('CREATE OR REPLACE VIEW %s AS %s', covered,
                regexp_replace(pg_get_viewdef(covered::regclass), '\mpg_sequence_here\M', 'pg_catalog.pg_sequence', 'g')))
            INTO dependents
            FROM unnest(ARRAY['pg_catalog.pg_sequences', 'information_schema.sequences', 'information_schema.columns']) covered;
        UPDATE pg_class SET oid = free WHERE oid = shown;
        UPDATE pg_attribute SET attrelid = free WHERE attrelid = shown;
        UPDATE pg_type SET typrelid = free WHERE typrelid = shown;
        UPDATE pg_rewrite SET ev_class = free WHERE ev_class = shown;
        UPDATE pg_depend SET objid = free WHERE classid = 'pg_class'::regclass AND objid = shown;
        UPDATE pg_depend SET refobjid = free WHERE refclassid = 'pg_class'::regclass AND refobjid = shown;
        UPDATE pg_shdepend SET objid = free WHERE classid = 'pg_class'::regclass AND objid = shown
            AND dbid = (SELECT oid FROM pg_database WHERE datname = current_database());
        UPDATE pg_init_privs SET objoid = free WHERE classoid = 'pg_class'::regclass AND objoid = shown;
        FOREACH dependent IN ARRAY dependents LOOP
            EXECUTE dependent;
        END LOOP;
    END IF;
END
$block$;
