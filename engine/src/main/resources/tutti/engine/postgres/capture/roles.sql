-- Run by CaptureInstaller, as a superuser with search_path = pg_catalog, before install.sql and whenever these roles cannot connect.
-- The roles that apply, or one that executes, or builds indexes, for a role. Their password is derived from the secret. Whatever somebody has made of them is taken back.
DO $block$
DECLARE
    name text;
    f regprocedure;
    g record;
BEGIN
    PERFORM set_config('session_preload_libraries', '', true);
    FOREACH name IN ARRAY ARRAY[<names>] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) THEN
            EXECUTE format('CREATE ROLE %I', name);
        END IF;
        EXECUTE format('ALTER ROLE %I WITH LOGIN NOSUPERUSER NOINHERIT NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS '
            'CONNECTION LIMIT -1 PASSWORD %L VALID UNTIL ''infinity''', name, '<verifier>');
        EXECUTE format('ALTER ROLE %I RESET ALL', name);
        EXECUTE format('ALTER ROLE %I IN DATABASE %I RESET ALL', name, current_database());
        -- Not in the database, which pg_dump --create would tell of; what is set for all roles in it counts less all the same.
        EXECUTE format('ALTER ROLE %I SET session_preload_libraries FROM CURRENT', name);
        EXECUTE format('ALTER ROLE %I SET session_replication_role = %L', name,
            CASE name WHEN '<applier>' THEN 'replica' ELSE 'origin' END);
        -- An event trigger on login would keep them out; tutti.begin_as() has event triggers fire again. Indexes are built without any.
        IF (name IN ('<applier>', '<executor>') OR name LIKE '%\_index') AND current_setting('event_triggers', true) IS NOT NULL THEN
            EXECUTE format('ALTER ROLE %I SET event_triggers = off', name);
        END IF;
        -- A role that has just been made may not call yet what it is there for (tutti.adopt_application()).
        FOR f IN SELECT p.oid FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
                WHERE name = '<applier>' AND n.nspname = 'tutti' AND p.proname ~ '^apply_[a-z_]+_[0-9]+$' AND p.proname !~ '^apply_check_'
                AND NOT has_function_privilege(name, p.oid, 'EXECUTE') LOOP
            EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', f, name);
        END LOOP;
        -- Only where it is needed, since pg_dump --create tells of it as well. Where all roles lose this right, the first of these that cannot connect has them made anew.
        IF NOT has_database_privilege('public', current_database(), 'CONNECT') THEN
            EXECUTE format('GRANT CONNECT ON DATABASE %I TO %I', current_database(), name);
        ELSIF EXISTS (SELECT FROM pg_database d, aclexplode(d.datacl) a WHERE d.datname = current_database() AND a.grantee = name::regrole) THEN
            EXECUTE format('REVOKE CONNECT ON DATABASE %I FROM %I', current_database(), name);
        END IF;
        FOR g IN SELECT m.roleid::regrole AS role, m.member::regrole AS member, m.grantor::regrole AS grantor
                FROM pg_auth_members m WHERE name::regrole IN (m.roleid, m.member) LOOP
            EXECUTE format('REVOKE %s FROM %s GRANTED BY %s CASCADE', g.role, g.member, g.grantor);
        END LOOP;
    END LOOP;
END
$block$;
