-- Everything that Tutti keeps in a replicated database. Run by CaptureInstaller in one transaction, as a superuser, with
-- search_path = pg_catalog; may be run again at any time. Words in angle brackets are replaced before.
--
-- Row changes are captured by DEFERRED constraint triggers. They run inside tutti.finish(), which the commit pipeline
-- calls before a commit; when a commit gets past the pipeline they run all the same, find themselves not armed, and
-- refuse it. Events of rolled back subtransactions never run. docs/decisions/0003-capture.md has the measurements.
--
-- What decides about replication must be out of reach of clients' roles, of their functions and of their triggers:
--  * Whether capture is armed, or a schema change allowed, is kept in <mark>: a setting of the server's that only superusers
--    can read and set, and that has no effect once a session has begun. Its value is one of
--        tutti.g<16 hexadecimal digits>_<n>    (or g, w and 15 digits: rows are told whole) armed; the next row is appended to the session variable of this name
--        tutti aw...                           rows go to variables of which it does not tell (tutti.begin_aside)
--        tutti gathered                        the node has all that is to be committed
--        tutti.p<number>                       the node has seen the rows that are committed; no more of them than tutti.counted counts up to here
--        tutti.p                               nobody reads the rows: every node executes what has changed them
--        tutti allowed ...                     the next schema change may happen, or that of an extension is under way; with "ordered" behind it
--                                              if all nodes make it at a position of its own, or the number of the entry that tells it
--        tutti adopting                        our own schema changes
--    A variable's name is therefore as secret as a key: variables that were not declared by a library are listed nowhere. Members of pg_read_all_settings can
--    read it, too: where there are such roles, no code of a client's runs while it has a name (tutti.exposed).
--    The rows' order and limit, and that they vanish with a savepoint, come with transaction-local variables.
--  * Functions that read or set it are SECURITY DEFINER. Nobody but their owner may call them, except for those that are
--    given the cluster's secret by the node, which calls them by their object id, so that no name can be redirected.
--  * Such a function either runs with search_path = pg_catalog, or names the schema of every function, operator and type.
--  * Settings that change what such a function means or shows are fixed together with the search path (<fixed settings>): a client may set
--    debug_print_plan, and is then sent the plans of our statements, values of variables included; and standard_conforming_strings, by which
--    literals with a backslash mean something else. A function without them, since it is called often, has expressions only (PL/pgSQL plans
--    those without values: not PERFORM, SELECT INTO or another statement) when a name or the secret is in them, and no backslash.
--  * No trigger of a client's runs inside a SECURITY DEFINER function of ours: tutti.flush() runs our own ones by name, and
--    nobody else's may have such a name.
--
-- What other nodes have executed is applied by roles that may do nothing (docs/decisions/0016-least-rights.md):
--  * <applier> writes rows, by calling the functions that tutti.adopt() keeps for each table. Such a function belongs to the table's
--    owner and is SECURITY DEFINER: constraints, index expressions and triggers run as the owner, who has put them there, and no
--    code can change the role in it (PostgreSQL refuses SET ROLE and RESET ROLE there). It does nothing without the secret.
--  * <executor> executes requests, and <applier> schema changes, as the role that sent them: tutti.begin_as() makes it a member
--    of this role until the transaction's end. Code that resets the role is left with a role that may do nothing.
--  * Nobody but us changes what is in the schema tutti, whoever owns it.

-- What an earlier installation has hidden may be replaced (hidden.sql).
DELETE FROM pg_init_privs WHERE (classoid, objoid) IN (SELECT classid, objid FROM pg_depend
    WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
        AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'tutti'));
DELETE FROM pg_depend WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
    AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'tutti');
DROP EVENT TRIGGER IF EXISTS tutti_asked;
DROP EVENT TRIGGER IF EXISTS tutti_before_schema_change;
DROP EVENT TRIGGER IF EXISTS tutti_after_schema_change;
DROP EVENT TRIGGER IF EXISTS tutti_after_drop;
DROP EVENT TRIGGER IF EXISTS tutti_before_rewrite;
SELECT set_config('<mark>', 'tutti adopting', true);
CREATE SCHEMA IF NOT EXISTS tutti;
GRANT USAGE ON SCHEMA tutti TO PUBLIC;

-- What an earlier release had in another form.
DO $block$
BEGIN
    IF EXISTS (SELECT FROM pg_attribute WHERE attrelid = to_regclass('tutti.sequences') AND attname = 'increment') THEN
        RAISE EXCEPTION USING ERRCODE = '55000', MESSAGE = 'this database was replicated by a release in which sequences counted in strides',
            HINT = 'Dump it with that release, and restore it into a new cluster.';
    END IF;
END
$block$;
DROP SEQUENCE IF EXISTS tutti.events;
DROP VIEW IF EXISTS tutti.placed_elsewhere;
DROP TABLE IF EXISTS tutti.node, tutti.pending, tutti.life;
DROP FUNCTION IF EXISTS tutti.runs_users_code(oid), tutti.check_function(oid), tutti.apply_functions(oid), tutti.adopt_application(oid), tutti.adopt_check(oid),
    tutti.note_refilled(oid), tutti.show_triggers();
DROP FUNCTION IF EXISTS tutti.refuse_secret(), tutti.arm(), tutti.disarm(), tutti.guard(), tutti.finish(bytea),
    tutti.collect(), tutti.before_set_constraints(), tutti.after_set_constraints(), tutti.check_filled(regclass, smallint);

CREATE TABLE tutti.node (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    node_index bigint NOT NULL,
    life text NOT NULL,
    salt bytea NOT NULL
);
INSERT INTO tutti.node (node_index, life, salt) VALUES (<node_index>, gen_random_uuid()::text,
        sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())));

-- Positions of the total order whose effects are in this database: a row is inserted by the transaction that makes them
-- (or those of several positions, of which it is the last). The last row tells how far the database has come.
CREATE TABLE IF NOT EXISTS tutti.applied (
    position bigint PRIMARY KEY
);

-- Those of them at which nothing was made, since most nodes could not make it.
CREATE TABLE IF NOT EXISTS tutti.skipped (
    position bigint PRIMARY KEY
);

-- What the node has written here since it read the position: a crash empties the table together with the commits that it loses.
CREATE UNLOGGED TABLE tutti.life (
    token text NOT NULL
);

-- The id of the cluster whose order these positions are of; no row if it has none.
CREATE TABLE IF NOT EXISTS tutti.cluster (
    id text PRIMARY KEY
);

-- In the configured database: those that the cluster has besides it (docs/decisions/0179), by the position at which each was made. What is neither in
-- a transaction with its position is noted here before it is begun.
CREATE TABLE IF NOT EXISTS tutti.databases (
    id bigint PRIMARY KEY,
    name text NOT NULL UNIQUE,
    state text NOT NULL CHECK (state IN ('making', 'open', 'dropping'))
);

-- Transactions that clients have prepared and neither committed nor rolled back (docs/decisions/0036): their changes, as they travel.
CREATE TABLE IF NOT EXISTS tutti.prepared (
    identifier text PRIMARY KEY,
    owner text NOT NULL,
    since timestamptz NOT NULL,
    token text NOT NULL,
    keys bytea NOT NULL,
    changes bytea NOT NULL
);

-- Functions of the server's that write what nothing else tells, or tell it at one node only: large objects, sequences, notifications. They get other names, which
-- only superusers may call, and others that other nodes hear of take their places. (The server calls its own functions by their object ids, whatever the
-- catalog says of them.)
DO $block$
DECLARE
    f record;
BEGIN
    FOR f IN SELECT p.oid, p.proname FROM pg_proc p WHERE p.oid = ANY (ARRAY[952, 715, 957, 3457, 3460, 964, 764, 767, 1576, 1765, 3036]) LOOP
        IF NOT f.proname LIKE '%\_here' THEN
            EXECUTE format('ALTER FUNCTION %s RENAME TO %I', f.oid::regprocedure, f.proname || '_here');
        END IF;
        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', f.oid::regprocedure);
        -- as if it had always been so: dumps contain nothing of that
        DELETE FROM pg_init_privs WHERE objoid = f.oid AND classoid = 'pg_proc'::regclass;
        INSERT INTO pg_init_privs SELECT oid, 'pg_proc'::regclass, 0, 'i', proacl FROM pg_proc WHERE oid = f.oid;
    END LOOP;
END
$block$;

-- Numbers what a session notes; no number comes again in it. The sequence is not asked for its next value: lastval() would be that.
CREATE UNLOGGED SEQUENCE IF NOT EXISTS tutti.noted;
CREATE OR REPLACE FUNCTION tutti.next_number() RETURNS bigint LANGUAGE plpgsql <fixed settings> AS $function$
BEGIN
    RETURN setval_here('tutti.noted', currval('tutti.noted') + 1);
EXCEPTION WHEN object_not_in_prerequisite_state THEN
    RETURN setval_here('tutti.noted', 1); -- the first in this session
END
$function$;

-- What was captured before the end of a transaction: the rows before a schema change or TRUNCATE, and these themselves.
-- The deferred trigger adds the entry to what is gathered, in its place; if capture is not armed it refuses the commit.
CREATE UNLOGGED TABLE tutti.pending (
    transaction xid8 NOT NULL,
    entry text NOT NULL,
    number bigint NOT NULL DEFAULT tutti.next_number(),
    PRIMARY KEY (transaction, number)
);

-- Its value in a session counts the rows that captures have passed because the node has seen them in band
-- (docs/decisions/0019-in-band-capture.md). Only its owner may set it, so nobody else can count. It is never asked for its next value: lastval() would be that.
CREATE UNLOGGED SEQUENCE IF NOT EXISTS tutti.counted;

-- Its value in a session: which transaction's changes of the server have been looked at, and how many they were (tutti.explain_server).
CREATE UNLOGGED SEQUENCE IF NOT EXISTS tutti.explained;

CREATE OR REPLACE FUNCTION tutti.limit_bytes() RETURNS bigint LANGUAGE sql IMMUTABLE AS $function$ SELECT <limit_bytes>::int8 $function$;

CREATE OR REPLACE FUNCTION tutti.refuse_commit() RETURNS text LANGUAGE plpgsql STABLE AS $function$
BEGIN
    RAISE EXCEPTION USING ERRCODE = '55000',
        MESSAGE = 'this transaction would commit without being certified',
        DETAIL = 'Row changes are committed through a Tutti node only. COMMIT inside a procedure, SET CONSTRAINTS or '
            'RESET ALL inside a function and direct connections to a replica do not go through it.',
        HINT = 'Connect to a Tutti node and end the transaction with COMMIT there.';
END
$function$;

CREATE OR REPLACE FUNCTION tutti.refuse_secret() RETURNS text LANGUAGE plpgsql STABLE AS $function$
BEGIN
    RAISE EXCEPTION USING ERRCODE = '28000', MESSAGE = 'this is not the secret of the cluster';
END
$function$;

CREATE OR REPLACE FUNCTION tutti.refuse_role() RETURNS text LANGUAGE plpgsql STABLE AS $function$
BEGIN
    RAISE EXCEPTION USING ERRCODE = '55000',
        MESSAGE = 'a transaction with session_replication_role other than origin is not replicated, so it cannot commit',
        HINT = 'RESET session_replication_role, and see whether ALTER ROLE or the connection''s options set it.';
END
$function$;

CREATE OR REPLACE FUNCTION tutti.refuse_isolation() RETURNS text LANGUAGE plpgsql STABLE AS $function$
BEGIN
    RAISE EXCEPTION USING ERRCODE = '0A000',
        MESSAGE = 'the cluster''s protocol guarantees snapshot isolation, not SERIALIZABLE, so the transaction cannot commit',
        HINT = 'Use REPEATABLE READ, or a cluster whose protocol is serializable, such as dbsm.';
END
$function$;

CREATE OR REPLACE FUNCTION tutti.refuse_size() RETURNS void LANGUAGE plpgsql STABLE AS $function$
BEGIN
    RAISE EXCEPTION USING ERRCODE = '54000',
        MESSAGE = 'the transaction changes more than <limit_bytes> bytes of rows, which is the limit of one transaction',
        HINT = 'Split it into smaller transactions, or raise the limit in the configuration of every node.';
END
$function$;

-- Steps on to the variable after this one; from the tenth on, what has been gathered is weighed. A variable of more than
-- some 512 bytes is followed by the next one: each append copies a variable's value several times and measures its length
-- byte by byte. Variables stay in the session when their values are gone, so the limit grows with the digits of their
-- number: 1, 2, 3, ... times 512 bytes.
CREATE OR REPLACE FUNCTION tutti.next_text(name text) RETURNS text LANGUAGE plpgsql STABLE AS $function$
DECLARE
    total pg_catalog.text := pg_catalog.concat(pg_catalog.substr(name, 1, 24), 'bytes');
    told pg_catalog.text;
    bytes pg_catalog.int8 := pg_catalog.octet_length(pg_catalog.current_setting(name, true)) OPERATOR(pg_catalog.+)
        CASE WHEN pg_catalog.octet_length(pg_catalog.current_setting(total, true)) OPERATOR(pg_catalog.>) 0
            THEN pg_catalog.current_setting(total)::pg_catalog.int8 ELSE 0 END;
BEGIN
    IF pg_catalog.starts_with(name, 'tutti aw') THEN
        RETURN name;
    ELSIF bytes OPERATOR(pg_catalog.>) <limit_bytes> THEN
        PERFORM tutti.refuse_size();
    END IF;
    told := pg_catalog.set_config(total, bytes::pg_catalog.text, true);
    RETURN pg_catalog.set_config('<mark>', pg_catalog.concat(pg_catalog.substr(name, 1, 24),
        pg_catalog.substr(name, 25)::pg_catalog.int4 OPERATOR(pg_catalog.+) 1), true);
END
$function$;

-- A capture is one expression whose value is always NULL, not several statements: PL/pgSQL prepares each expression anew
-- in every transaction.
CREATE OR REPLACE FUNCTION tutti.capture_insert() RETURNS trigger LANGUAGE plpgsql STABLE SECURITY DEFINER AS $function$
BEGIN
    <pass what is seen in band>
    DECLARE
        name pg_catalog.text := pg_catalog.current_setting('<mark>');
    BEGIN
        RETURN <append before>pg_catalog.concat(pg_catalog.current_setting(name, true), 'i', TG_RELID, NEW)<append after>;
    END;
END
$function$;

-- A row that the transaction has made itself is told with its version (update_function says what for).
CREATE OR REPLACE FUNCTION tutti.capture_delete() RETURNS trigger LANGUAGE plpgsql STABLE SECURITY DEFINER AS $function$
BEGIN
    <pass what is seen in band>
    DECLARE
        name pg_catalog.text := pg_catalog.current_setting('<mark>');
    BEGIN
        RETURN <append before>pg_catalog.concat(pg_catalog.current_setting(name, true),
            CASE WHEN <own version> THEN pg_catalog.concat('e', TG_RELID, OLD.ctid) ELSE pg_catalog.concat('d', TG_RELID) END,
            OLD)<append after>;
    END;
END
$function$;

-- The same for tables with values that are told by a name, with its schema only if the search path does not have it (tutti.tells_names).
DO $block$
DECLARE
    made text;
BEGIN
    FOREACH made IN ARRAY ARRAY['capture_insert', 'capture_delete'] LOOP
        EXECUTE replace(pg_get_functiondef(format('tutti.%I()', made)::regprocedure), concat(made, '()'), concat(made, '_named()'));
        EXECUTE format('ALTER FUNCTION tutti.%I() SET search_path = pg_catalog, pg_temp', concat(made, '_named'));
    END LOOP;
END
$block$;

-- Whether a table has columns of types that consist of others, of domains, or of names: most have none, and are not looked at further.
CREATE OR REPLACE FUNCTION tutti.has_parts(table_oid oid) RETURNS boolean LANGUAGE plpgsql STABLE <fixed settings> AS $function$
BEGIN
    RETURN EXISTS (SELECT FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid WHERE a.attrelid = table_oid AND a.attnum > 0 AND NOT a.attisdropped
        AND (t.typtype NOT IN ('b', 'e') OR t.typcategory = 'A' OR t.typnamespace <> 'pg_catalog'::regnamespace OR t.typname ~ '^reg'));
END
$function$;

-- Of what the values of these types consist, themselves among it, and whether that is within an array of something made by a user.
CREATE OR REPLACE FUNCTION tutti.parts(types oid[]) RETURNS TABLE (id oid, buried boolean) LANGUAGE sql STABLE <fixed settings> AS $function$
    WITH RECURSIVE part(id, buried) AS (
        SELECT unnest(types), false
        UNION
        SELECT n.id, part.buried OR n.id = t.typelem AND n.id IN (SELECT e.oid FROM pg_type e WHERE e.typtype IN ('c', 'd'))
            FROM part JOIN pg_type t ON t.oid = part.id CROSS JOIN LATERAL (
            SELECT t.typelem UNION ALL SELECT t.typbasetype
            UNION ALL SELECT r.rngsubtype FROM pg_range r WHERE t.oid IN (r.rngtypid, r.rngmultitypid)
            UNION ALL SELECT a.atttypid FROM pg_attribute a WHERE a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped
        ) n(id) WHERE n.id <> 0
    )
    SELECT * FROM part
$function$;

-- The types of a table's columns, and those of which they consist.
CREATE OR REPLACE FUNCTION tutti.types_within(table_oid oid) RETURNS SETOF oid LANGUAGE sql STABLE ROWS 8 <fixed settings> AS $function$
    SELECT DISTINCT id FROM tutti.parts(ARRAY(SELECT a.atttypid FROM pg_attribute a WHERE a.attrelid = table_oid AND a.attnum > 0 AND NOT a.attisdropped))
$function$;

-- Whether a table has columns with such values: regclass and its like, also as parts of others.
CREATE OR REPLACE FUNCTION tutti.tells_names(table_oid oid) RETURNS boolean LANGUAGE plpgsql STABLE <fixed settings> AS $function$
BEGIN
    RETURN tutti.has_parts(table_oid) AND EXISTS (SELECT FROM tutti.types_within(table_oid) part JOIN pg_type t ON t.oid = part
        WHERE t.typnamespace = 'pg_catalog'::regnamespace AND t.typtype = 'b' AND t.typname ~ '^reg');
END
$function$;

-- An expression whose text says all of a value, of a type that is not the server's own, or is xml: that is written without its declaration, which it has, and its text is
-- written with it (docs/decisions/0239). Casts are the server's own: for an array of a domain of his own a user can make another one, and check_relation() refuses it.
CREATE OR REPLACE FUNCTION tutti.exact_made(type oid, value text) RETURNS text LANGUAGE plpgsql STABLE <fixed settings> AS $function$
DECLARE
    t pg_type;
    parts text;
BEGIN
    SELECT * INTO t FROM pg_type p WHERE p.oid = type;
    IF t.oid = 'xml'::regtype THEN
        RETURN format('(%s)::pg_catalog.text', value);
    ELSIF t.oid = 'xml[]'::regtype THEN
        RETURN format('(%s)::pg_catalog.text[]', value);
    ELSIF t.typtype = 'd' THEN
        RETURN tutti.exact_made(t.typbasetype, value);
    ELSIF t.typtype = 'c' AND EXISTS (SELECT FROM tutti.parts(ARRAY[type]) p WHERE p.id = 'xml'::regtype) THEN
        SELECT string_agg(tutti.exact_made(a.atttypid, format('(%s).%I', value, a.attname)), ', ' ORDER BY a.attnum) INTO parts
            FROM pg_attribute a WHERE a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped;
        RETURN format('CASE WHEN (%s) IS DISTINCT FROM NULL THEN ROW(%s) END', value, parts);
    END IF;
    RETURN value;
END
$function$;
-- The same of any type. Without settings of its own, so that it is a part of the query that calls it: most types cost nothing.
CREATE OR REPLACE FUNCTION tutti.exact(type oid, value text) RETURNS text LANGUAGE sql STABLE AS $function$
    SELECT CASE WHEN type OPERATOR(pg_catalog.<) 16384::pg_catalog.oid AND type OPERATOR(pg_catalog.<>) ALL ('{xml,xml[]}'::pg_catalog.regtype[]::pg_catalog.oid[])
        THEN value ELSE tutti.exact_made(type, value) END
$function$;

-- The columns of a row that is in a variable of this name, or a table's alias, as a list of such expressions.
CREATE OR REPLACE FUNCTION tutti.exact_columns(table_oid oid, variable text) RETURNS text LANGUAGE sql STABLE <fixed settings> AS $function$
    SELECT string_agg(CASE WHEN a.attgenerated = 'v' THEN 'NULL' ELSE tutti.exact(a.atttypid, format('%s.%I', variable, a.attname)) END, ', ' ORDER BY a.attnum)
        FROM pg_attribute a WHERE a.attrelid = table_oid AND a.attnum > 0 AND NOT a.attisdropped
$function$;

-- What has the text of a row that is in a variable: itself, unless it has xml.
CREATE OR REPLACE FUNCTION tutti.exact_row(table_oid oid, variable text) RETURNS text LANGUAGE sql STABLE <fixed settings> AS $function$
    SELECT CASE WHEN bool_or(tutti.exact(a.atttypid, '') <> '') THEN format('ROW(%s)', tutti.exact_columns(table_oid, variable)) ELSE variable END
        FROM pg_attribute a WHERE a.attrelid = table_oid AND a.attnum > 0 AND NOT a.attisdropped
$function$;

-- Each table has an update function of its own, made by tutti.adopt(), which tells updates of key columns apart.

-- Refuses a write to a table without columns. Replicas' appliers do not fire it.
CREATE OR REPLACE FUNCTION tutti.refuse_write() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
    RAISE EXCEPTION USING ERRCODE = '0A000',
        MESSAGE = pg_catalog.format('table %I.%I cannot be written: it has no columns', TG_TABLE_SCHEMA, TG_TABLE_NAME),
        HINT = pg_catalog.format('ALTER TABLE %I.%I ADD COLUMN ...', TG_TABLE_SCHEMA, TG_TABLE_NAME),
        SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME;
END
$function$;

-- All that was gathered up to the variable of this name. Few variables are put together by expressions: a query would be planned in each
-- transaction, since PL/pgSQL forgets the plan when it was made for one number of variables.
CREATE OR REPLACE FUNCTION tutti.collect(name text) RETURNS text LANGUAGE plpgsql STABLE AS $function$
DECLARE
    gathered pg_catalog.text := '';
BEGIN
    IF pg_catalog.octet_length(name) OPERATOR(pg_catalog.>) 25 THEN
        RETURN tutti.collect_many(name);
    END IF;
    FOR i IN 1..pg_catalog.substr(name, 25)::pg_catalog.int4 LOOP
        gathered := gathered OPERATOR(pg_catalog.||)
            coalesce(pg_catalog.current_setting(pg_catalog.concat(pg_catalog.substr(name, 1, 24), i), true), '');
    END LOOP;
    IF pg_catalog.octet_length(gathered) OPERATOR(pg_catalog.>) <limit_bytes> THEN
        PERFORM tutti.refuse_size();
    END IF;
    RETURN gathered;
END
$function$;

-- The same of any number.
CREATE OR REPLACE FUNCTION tutti.collect_many(name text) RETURNS text LANGUAGE plpgsql STABLE <fixed settings>
    AS $function$
DECLARE
    gathered text;
BEGIN
    SELECT string_agg(current_setting(concat(substr(name, 1, 24), i), true), '' ORDER BY i)
        INTO gathered FROM generate_series(1, substr(name, 25)::int) i;
    IF octet_length(gathered) > <limit_bytes> THEN
        PERFORM tutti.refuse_size();
    END IF;
    RETURN gathered;
END
$function$;

-- What is gathered begins with a z if the transaction is SERIALIZABLE: then the node needs what it has read, too.
CREATE OR REPLACE FUNCTION tutti.tell_serializable(name text) RETURNS text LANGUAGE sql AS $function$
    SELECT CASE WHEN pg_catalog.octet_length(pg_catalog.current_setting(name, true)) OPERATOR(pg_catalog.>) 0
        THEN '' ELSE pg_catalog.set_config(name, 'z', true) END
$function$;

-- Captures may run from here on. Tells whether rows in text form have the form that replicas expect under the session's
-- settings. The key is the node's, 16 hexadecimal digits that this session's clients do not know; the first is a w if rows are to be told whole.
CREATE OR REPLACE FUNCTION tutti.open_capture(secret bytea, session_key text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER AS $function$
BEGIN
    RETURN CASE WHEN pg_catalog.sha256(secret) OPERATOR(pg_catalog.<>) <secret_hash>::pg_catalog.bytea
        THEN tutti.refuse_secret() IS NULL
        WHEN pg_catalog.current_setting('session_replication_role') OPERATOR(pg_catalog.<>) 'origin'
        THEN tutti.refuse_role() IS NULL
        WHEN <snapshots_only> AND pg_catalog.current_setting('transaction_isolation') OPERATOR(pg_catalog.=) 'serializable'
        THEN tutti.refuse_isolation() IS NULL
        ELSE pg_catalog.set_config('<mark>', pg_catalog.concat('tutti.g', session_key, '_1'), true) IS NOT NULL
            AND (pg_catalog.current_setting('transaction_isolation') OPERATOR(pg_catalog.<>) 'serializable'
                OR tutti.tell_serializable(pg_catalog.concat('tutti.g', session_key, '_1')) IS NOT NULL)
            AND pg_catalog.starts_with(pg_catalog.current_setting('DateStyle'), 'ISO')
            AND pg_catalog.current_setting('IntervalStyle') OPERATOR(pg_catalog.=) 'postgres'
            AND pg_catalog.current_setting('extra_float_digits') OPERATOR(pg_catalog.=) ANY (ARRAY['1', '2', '3'])
            AND pg_catalog.current_setting('bytea_output') OPERATOR(pg_catalog.=) 'hex'
            AND pg_catalog.current_setting('lc_monetary') OPERATOR(pg_catalog.=) 'C'
        END;
END
$function$;

-- Everything that was captured, in UTF-8, or NULL if nothing was.
CREATE OR REPLACE FUNCTION tutti.gathered(secret bytea) RETURNS bytea LANGUAGE plpgsql SECURITY DEFINER AS $function$
DECLARE
    name pg_catalog.text := pg_catalog.current_setting('<mark>');
BEGIN
    RETURN CASE
        WHEN pg_catalog.sha256(secret) OPERATOR(pg_catalog.<>) <secret_hash>::pg_catalog.bytea
            THEN tutti.refuse_secret()::pg_catalog.bytea
        WHEN NOT pg_catalog.starts_with(name, 'tutti.g') THEN tutti.refuse_commit()::pg_catalog.bytea
        WHEN <server may change> AND tutti.server_changed() THEN tutti.refuse_server_change()::pg_catalog.bytea
        WHEN pg_catalog.pg_stat_get_xact_tuples_inserted(1259) OPERATOR(pg_catalog.>) 0 AND tutti.made_unseen()
            THEN tutti.refuse_made()::pg_catalog.bytea
        WHEN pg_catalog.set_config('<mark>', 'tutti gathered', true) IS NULL THEN NULL
        WHEN pg_catalog.pg_stat_get_xact_tuples_inserted('tutti.touched'::pg_catalog.regclass) OPERATOR(pg_catalog.+)
                pg_catalog.pg_stat_get_xact_tuples_deleted(2995) OPERATOR(pg_catalog.>) 0
                OR pg_catalog.current_setting('track_counts') OPERATOR(pg_catalog.=) 'off'
            THEN tutti.collect_with_large_objects(name)
        WHEN pg_catalog.substr(name, 25) OPERATOR(pg_catalog.<>) '1'
            THEN pg_catalog.convert_to(tutti.collect(name), 'UTF8')
        WHEN pg_catalog.octet_length(pg_catalog.current_setting(name, true)) OPERATOR(pg_catalog.>) 0
            THEN pg_catalog.convert_to(pg_catalog.current_setting(name, true), 'UTF8') END;
END
$function$;

-- What the commit pipeline calls: checks all deferred constraints, captures, and returns everything that was changed.
-- Runs as the client's role, since its triggers run inside.
CREATE OR REPLACE FUNCTION tutti.finish(secret bytea, session_key text) RETURNS bytea LANGUAGE plpgsql AS $function$
BEGIN
    IF tutti.exposed() THEN
        RETURN tutti.finish_aside(secret, session_key);
    ELSIF tutti.open_capture(secret, session_key) THEN
        SET CONSTRAINTS ALL IMMEDIATE;
    ELSE
        PERFORM tutti.finish_pinned();
    END IF;
    RETURN tutti.gathered(secret);
END
$function$;

-- The same of what every node executes: nobody reads its rows, so captures pass them.
CREATE OR REPLACE FUNCTION tutti.finish_unread(secret bytea) RETURNS void LANGUAGE plpgsql AS $function$
BEGIN
    IF tutti.open_unread(secret) THEN
        SET CONSTRAINTS ALL IMMEDIATE;
        IF NOT tutti.close_unread(secret) THEN
            PERFORM tutti.refuse_commit();
        END IF;
    END IF;
END
$function$;

CREATE OR REPLACE FUNCTION tutti.open_unread(secret bytea) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER AS $function$
BEGIN
    RETURN CASE WHEN pg_catalog.sha256(secret) OPERATOR(pg_catalog.<>) <secret_hash>::pg_catalog.bytea
        THEN tutti.refuse_secret() IS NULL
        WHEN pg_catalog.current_setting('session_replication_role') OPERATOR(pg_catalog.<>) 'origin'
        THEN tutti.refuse_role() IS NULL
        ELSE pg_catalog.set_config('<mark>', 'tutti.p', true) IS NOT NULL END;
END
$function$;

CREATE OR REPLACE FUNCTION tutti.close_unread(secret bytea) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER AS $function$
BEGIN
    RETURN CASE WHEN pg_catalog.sha256(secret) OPERATOR(pg_catalog.<>) <secret_hash>::pg_catalog.bytea
        THEN tutti.refuse_secret() IS NULL
        ELSE pg_catalog.set_config('<mark>', 'tutti gathered', true) IS NOT NULL END;
END
$function$;

-- Gives up the advisory locks of the session that outlive its transaction, and tells one of them, or NULL. That is the only way to know them: pg_locks
-- shows them like those of the transaction, of which the server warns that they cannot be given up.
CREATE OR REPLACE FUNCTION tutti.give_up_session_locks() RETURNS text LANGUAGE plpgsql SECURITY DEFINER <fixed settings>
    SET client_min_messages = 'error' SET log_min_messages = 'error' AS $function$
DECLARE
    l record;
    told text;
BEGIN
    FOR l IN SELECT k.mode = 'ShareLock' AS shared, k.objsubid = 1 AS single, k.classid::int8 << 32 | k.objid::int8 AS key,
                k.classid::int8::bit(32)::int AS first, k.objid::int8::bit(32)::int AS second
            FROM pg_locks k WHERE k.locktype = 'advisory' AND k.granted AND k.pid = pg_backend_pid() LOOP
        WHILE CASE
                WHEN l.single AND l.shared THEN pg_advisory_unlock_shared(l.key)
                WHEN l.single THEN pg_advisory_unlock(l.key)
                WHEN l.shared THEN pg_advisory_unlock_shared(l.first, l.second)
                ELSE pg_advisory_unlock(l.first, l.second) END LOOP
            told := CASE WHEN l.single THEN l.key::text ELSE concat(l.first, ', ', l.second) END;
        END LOOP;
    END LOOP;
    RETURN told;
END
$function$;

-- Rows in text form must not depend on the session's settings.
CREATE OR REPLACE FUNCTION tutti.finish_pinned() RETURNS void LANGUAGE plpgsql
    SET datestyle = 'ISO, MDY' SET intervalstyle = 'postgres' SET extra_float_digits = 1 SET bytea_output = 'hex'
    SET lc_monetary = 'C' SET xmlbinary = 'base64' AS $function$
BEGIN
    SET CONSTRAINTS ALL IMMEDIATE;
END
$function$;

-- Our deferred triggers, as SET CONSTRAINTS lists them; NULL if there are none. One constraint of a name is looked at in each schema, by the index of
-- names: subqueries that stand for a value are not made joins, in which all of them would be looked at.
CREATE OR REPLACE FUNCTION tutti.constraints_within(schemas oid[]) RETURNS text LANGUAGE sql STABLE <fixed settings> AS $function$
    SELECT string_agg(format('%I.%I', n.nspname, names.name), ', ' ORDER BY n.nspname, names.name)
        FROM pg_namespace n CROSS JOIN unnest(ARRAY['tutti_insert', 'tutti_update', 'tutti_delete']::name[]) names(name)
        WHERE n.oid = ANY (schemas) AND (SELECT true FROM pg_constraint c
                WHERE c.conname = names.name AND c.connamespace = n.oid AND c.contype = 't'
                    AND (SELECT p.pronamespace FROM pg_trigger g JOIN pg_proc p ON p.oid = g.tgfoid
                        WHERE g.tgconstraint = c.oid LIMIT 1) = 'tutti'::regnamespace
                LIMIT 1)
$function$;

CREATE OR REPLACE FUNCTION tutti.constraints() RETURNS text LANGUAGE sql STABLE <fixed settings> AS $function$
    SELECT tutti.constraints_within(ARRAY(SELECT oid FROM pg_namespace))
$function$;

-- Those that may wait, which are of schemas in whose tables this transaction has changed rows: whoever does has this lock on the table until the transaction ends,
-- or the change is undone. (SET CONSTRAINTS looks at all tables of a schema that have a constraint of the name.)
CREATE OR REPLACE FUNCTION tutti.waiting_constraints() RETURNS text LANGUAGE sql VOLATILE <fixed settings> AS $function$
    SELECT tutti.constraints_within(ARRAY(SELECT DISTINCT c.relnamespace FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
        WHERE l.pid = pg_backend_pid() AND l.locktype = 'relation' AND l.mode = 'RowExclusiveLock' AND c.relkind IN ('r', 'p') AND c.oid >= 16384 AND c.relnamespace <> 'tutti'::regnamespace))
$function$;

-- Makes an entry of what is gathered, and disarms.
CREATE OR REPLACE FUNCTION tutti.set_aside() RETURNS void LANGUAGE plpgsql <fixed settings> AS $function$
DECLARE
    name text := current_setting('<mark>');
    gathered text;
BEGIN
    IF NOT starts_with(name, 'tutti.g') THEN
        PERFORM tutti.refuse_commit();
    END IF;
    gathered := tutti.collect(name);
    PERFORM set_config(concat(substr(name, 1, 24), i), '', true) FROM generate_series(1, substr(name, 25)::int) i;
    PERFORM set_config(concat(substr(name, 1, 24), 'bytes'), '', true), set_config('<mark>', '', true);
    SET CONSTRAINTS tutti.pending, tutti.touched DEFERRED;
    IF gathered <> '' THEN
        INSERT INTO tutti.pending VALUES (pg_current_xact_id(), gathered);
    END IF;
END
$function$;

-- What the names of variables begin with that this server process uses for nothing else.
CREATE OR REPLACE FUNCTION tutti.own_variables() RETURNS text LANGUAGE sql STABLE <fixed settings> AS $function$
    SELECT concat('tutti.gw', left(encode(sha256(n.salt || convert_to(pg_backend_pid()::text, 'UTF8')), 'hex'), 15), '_') FROM tutti.node n
$function$;

-- Arms capture outside of tutti.finish(), with those variables. Rows are told whole: whether that need not be only
-- the node knows.
CREATE OR REPLACE FUNCTION tutti.arm() RETURNS void LANGUAGE sql <fixed settings> AS $function$
    SELECT set_config('<mark>', concat(tutti.own_variables(), '1'), true)
$function$;

-- Brings what is gathered into the order of statements: deferred captures so far are run, and may run unarmed no more.
CREATE OR REPLACE FUNCTION tutti.flush() RETURNS void LANGUAGE plpgsql <fixed settings>
    SET datestyle = 'ISO, MDY' SET intervalstyle = 'postgres' SET extra_float_digits = 1 SET bytea_output = 'hex'
    SET lc_monetary = 'C' SET xmlbinary = 'base64' AS $function$
DECLARE
    constraints text;
    before text := current_setting('<mark>');
    large_objects text;
BEGIN
    IF starts_with(before, 'tutti.g') THEN
        RETURN;
    ELSIF starts_with(before, 'tutti aw') THEN
        PERFORM tutti.note_aside();
        RETURN;
    END IF;
    constraints := tutti.waiting_constraints();
    IF constraints IS NOT NULL THEN
        PERFORM tutti.arm();
        EXECUTE concat('SET CONSTRAINTS ', constraints, ' IMMEDIATE');
        EXECUTE concat('SET CONSTRAINTS ', constraints, ' DEFERRED');
        PERFORM tutti.set_aside();
        PERFORM set_config('<mark>', before, true);
    END IF;
    large_objects := tutti.tell_existence();
    IF large_objects <> '' THEN
        INSERT INTO tutti.pending VALUES (pg_current_xact_id(), large_objects);
    END IF;
END
$function$;

-- TRUNCATE is an entry among the rows. It follows a flush, since PostgreSQL truncates no table with pending events.
CREATE OR REPLACE FUNCTION tutti.capture_truncate() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    <fixed settings> AS $function$
BEGIN
    PERFORM tutti.note(concat('t', TG_RELID, ';'));
    PERFORM tutti.note_restart(s.sequence) FROM pg_depend d JOIN tutti.sequences s ON s.sequence = d.objid
        WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid = TG_RELID
            AND d.deptype IN ('a', 'i') AND s.file <> pg_relation_filenode(s.sequence);
    RETURN NULL;
END
$function$;

-- Makes an entry that is not a row, after everything so far.
CREATE OR REPLACE FUNCTION tutti.note(entry text) RETURNS void LANGUAGE plpgsql <fixed settings> AS $function$
BEGIN
    PERFORM tutti.flush();
    INSERT INTO tutti.pending VALUES (pg_current_xact_id(), entry);
END
$function$;

-- An entry's place among what is gathered has come.
CREATE OR REPLACE FUNCTION tutti.check_pending() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    <fixed settings> AS $function$
DECLARE
    name text := current_setting('<mark>');
BEGIN
    IF starts_with(name, 'tutti aw') THEN
        RETURN NULL; -- end_aside() sees to it
    ELSIF NOT starts_with(name, 'tutti.g') AND name <> 'tutti.p' THEN
        PERFORM tutti.refuse_commit();
    END IF;
    DELETE FROM tutti.pending WHERE transaction = NEW.transaction AND number = NEW.number;
    IF NOT FOUND OR name = 'tutti.p' THEN
        RETURN NULL; -- it was taken back, or nobody reads it
    END IF;
    IF octet_length(set_config(name, concat(current_setting(name, true), NEW.entry), true)) > 512 * (octet_length(name) - 24) THEN
        PERFORM tutti.next_text(name);
    END IF;
    RETURN NULL;
END
$function$;

-- What a client's own SET CONSTRAINTS ... IMMEDIATE is surrounded with: before it, and after it.
CREATE OR REPLACE FUNCTION tutti.before_set_constraints(secret bytea) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
    <fixed settings> AS $function$
BEGIN
    <refuse without the secret>
    IF tutti.exposed() THEN
        PERFORM tutti.begin_aside(secret);
    ELSE
        PERFORM tutti.flush();
        PERFORM tutti.arm();
    END IF;
END
$function$;

CREATE OR REPLACE FUNCTION tutti.after_set_constraints(secret bytea) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
    <fixed settings> AS $function$
DECLARE
    constraints text := tutti.constraints();
BEGIN
    <refuse without the secret>
    IF starts_with(current_setting('<mark>'), 'tutti aw') THEN
        PERFORM tutti.end_aside(secret);
    ELSE
        PERFORM tutti.set_aside();
    END IF;
    IF constraints IS NOT NULL THEN
        EXECUTE concat('SET CONSTRAINTS ', constraints, ' DEFERRED');
    END IF;
END
$function$;

-- Whether anybody but superusers can read <mark>: whether pg_read_all_settings (3374) has members. A constant, since it is asked at each commit; adopt_exposed()
-- makes it what it should be.
CREATE OR REPLACE FUNCTION tutti.exposed() RETURNS boolean LANGUAGE sql IMMUTABLE AS $function$ SELECT false $function$;
CREATE OR REPLACE FUNCTION tutti.adopt_exposed() RETURNS void LANGUAGE plpgsql <fixed settings> AS $function$
DECLARE
    before text := current_setting('<mark>');
    answer text;
BEGIN
    WITH RECURSIVE reader(id) AS (
        SELECT m.member FROM pg_auth_members m WHERE m.roleid = 3374
        UNION SELECT m.member FROM reader r JOIN pg_auth_members m ON m.roleid = r.id
    )
    SELECT CASE WHEN EXISTS (SELECT FROM reader r JOIN pg_roles o ON o.oid = r.id WHERE NOT o.rolsuper AND o.oid >= 16384)
        THEN ' SELECT true ' ELSE ' SELECT false ' END INTO answer;
    IF answer <> (SELECT p.prosrc FROM pg_proc p WHERE p.oid = 'tutti.exposed()'::regprocedure) THEN
        PERFORM set_config('<mark>', 'tutti adopting', true);
        EXECUTE format('CREATE OR REPLACE FUNCTION tutti.exposed() RETURNS boolean LANGUAGE sql IMMUTABLE AS %L', answer);
        PERFORM set_config('<mark>', before, true);
    END IF;
END
$function$;

-- What finish() does then. Captures so far are run while no code of a client's runs. Those of the rows that deferred triggers of clients' change, when these run,
-- leave them in variables of which <mark> does not tell, one for each row. What such code has deferred once more is run when all is gathered, and may change
-- nothing.
CREATE OR REPLACE FUNCTION tutti.finish_aside(secret bytea, session_key text) RETURNS bytea LANGUAGE plpgsql
    SET datestyle = 'ISO, MDY' SET intervalstyle = 'postgres' SET extra_float_digits = 1 SET bytea_output = 'hex'
    SET lc_monetary = 'C' SET xmlbinary = 'base64' AS $function$
DECLARE
    all_of_it pg_catalog.bytea;
    done pg_catalog.bool;
BEGIN
    -- expressions: clients' triggers may have switched debug_print_plan on
    done := tutti.begin_aside(secret) IS NULL;
    SET CONSTRAINTS ALL IMMEDIATE;
    done := tutti.end_aside(secret) IS NULL;
    done := tutti.open_capture(secret, session_key);
    SET CONSTRAINTS tutti.pending, tutti.touched IMMEDIATE;
    all_of_it := tutti.gathered(secret);
    SET CONSTRAINTS ALL IMMEDIATE;
    RETURN all_of_it;
END
$function$;

CREATE OR REPLACE FUNCTION tutti.begin_aside(secret bytea) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
    <fixed settings> AS $function$
BEGIN
    <refuse without the secret>
    PERFORM tutti.flush();
    -- as long as the name of a variable whose successor is asked for, and rows are told whole
    PERFORM set_config('<mark>', rpad('tutti aw', 32, '.'), true);
END
$function$;

-- The variable for a row that is captured while <mark> names none.
CREATE OR REPLACE FUNCTION tutti.unarmed(name text) RETURNS text LANGUAGE plpgsql <fixed settings> AS $function$
DECLARE
    own text;
    number int;
BEGIN
    IF NOT starts_with(name, 'tutti aw') THEN
        PERFORM tutti.refuse_commit();
    END IF;
    own := tutti.own_variables();
    number := coalesce(nullif(current_setting(concat(own, 'rows'), true), ''), '0')::int + 1;
    PERFORM set_config(concat(own, 'rows'), number::text, true);
    RETURN concat(own, number);
END
$function$;

-- Makes an entry of the rows in these variables.
CREATE OR REPLACE FUNCTION tutti.note_aside() RETURNS void LANGUAGE plpgsql <fixed settings> AS $function$
DECLARE
    own text := tutti.own_variables();
    number text := nullif(current_setting(concat(own, 'rows'), true), '');
BEGIN
    IF number IS NOT NULL THEN
        INSERT INTO tutti.pending VALUES (pg_current_xact_id(), tutti.collect(concat(own, number)));
        PERFORM set_config(concat(own, i), '', true) FROM generate_series(1, number::int) i;
        PERFORM set_config(concat(own, 'rows'), '', true);
    END IF;
END
$function$;

-- Makes one entry of all that there are, in their order, whose place is to come.
CREATE OR REPLACE FUNCTION tutti.end_aside(secret bytea) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
    <fixed settings> AS $function$
DECLARE
    entries text;
BEGIN
    <refuse without the secret>
    IF NOT starts_with(current_setting('<mark>'), 'tutti aw') THEN
        PERFORM tutti.refuse_commit();
    END IF;
    PERFORM tutti.note_aside();
    PERFORM set_config('<mark>', '', true);
    SET CONSTRAINTS tutti.pending, tutti.touched DEFERRED;
    -- a serializable transaction that looked would meet the entries of others
    IF pg_stat_get_xact_tuples_inserted('tutti.pending'::regclass) = 0 AND current_setting('track_counts') = 'on'
            OR NOT EXISTS (SELECT FROM tutti.pending p WHERE p.transaction = pg_current_xact_id_if_assigned()) THEN
        RETURN;
    END IF;
    WITH taken AS (DELETE FROM tutti.pending p WHERE p.transaction = pg_current_xact_id() RETURNING p.*)
        SELECT string_agg(entry, '' ORDER BY number) INTO entries FROM taken;
    IF octet_length(entries) > <limit_bytes> THEN
        PERFORM tutti.refuse_size();
    ELSIF entries <> '' THEN
        INSERT INTO tutti.pending VALUES (pg_current_xact_id(), entries);
    END IF;
END
$function$;

-- Lets the transaction's next schema change happen, and records the statement among the row changes. One without a text makes a
-- table from a query, which runs here only: it is recorded when the table is there, with its rows. The empty text says that the last one has
-- been executed: what has changed of the server since then is its doing. The text "ordered" says that all nodes execute it, and nothing is to be recorded.
CREATE OR REPLACE FUNCTION tutti.allow_statement(secret bytea, statement text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
    <fixed settings> AS $function$
BEGIN
    <refuse without the secret>
    IF statement = '' THEN
        PERFORM tutti.explain_server();
        RETURN;
    ELSIF statement = 'ordered' THEN
        PERFORM set_config('<mark>', 'tutti allowed ordered', true);
        RETURN;
    END IF;
    PERFORM tutti.check_server();
    IF substr(statement, tutti.text_place(statement), 2) = '0:' THEN
        PERFORM set_config('<mark>', concat_ws(chr(10), 'tutti allowed', '', '', '', statement), true);
        RETURN;
    END IF;
    IF statement IS NULL THEN
        PERFORM set_config('<mark>', 'tutti allowed', true);
        RETURN;
    END IF;
    PERFORM tutti.note(concat('s', octet_length(statement), ':', statement));
    PERFORM set_config('<mark>', concat('tutti allowed ', currval('tutti.noted')), true);
END
$function$;

-- What a notification tells is told at every node, when the transaction is visible there. So that functions and triggers need not know,
-- one that records it besides takes the place of the server's own function. Appliers' sessions record nothing.
CREATE OR REPLACE FUNCTION pg_catalog.pg_notify(text, text) RETURNS void LANGUAGE plpgsql PARALLEL RESTRICTED SECURITY DEFINER
    <fixed settings> AS $function$
BEGIN
    PERFORM pg_notify_here($1, $2);
    IF current_setting('session_replication_role') <> 'replica' THEN
        INSERT INTO tutti.pending VALUES (pg_current_xact_id(), concat('n', octet_length($1), ':', $1,
            octet_length(coalesce($2, '')), ':', $2));
    END IF;
END
$function$;

CREATE OR REPLACE FUNCTION tutti.apply_notify(secret bytea, channel text, payload text) RETURNS void LANGUAGE plpgsql
    SECURITY DEFINER <fixed settings> AS $function$
BEGIN
    <refuse without the secret>
    PERFORM pg_notify_here(channel, payload);
END
$function$;

<large objects>
-- Whether the open transaction may be prepared under this identifier: what PostgreSQL asks, in its words.
CREATE OR REPLACE FUNCTION tutti.may_prepare(identifier text) RETURNS void LANGUAGE plpgsql STABLE SECURITY DEFINER
    <fixed settings> AS $function$
DECLARE
    most int := current_setting('max_prepared_transactions');
BEGIN
    IF octet_length(identifier) >= 200 THEN
        RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format('transaction identifier "%s" is too long', identifier);
    ELSIF most = 0 THEN
        RAISE EXCEPTION USING ERRCODE = '55000', MESSAGE = 'prepared transactions are disabled',
            HINT = 'Set "max_prepared_transactions" to a nonzero value.';
    ELSIF EXISTS (SELECT FROM tutti.prepared p WHERE p.identifier = may_prepare.identifier) THEN
        RAISE EXCEPTION USING ERRCODE = '42710', MESSAGE = format('transaction identifier "%s" is already in use', identifier);
    ELSIF (SELECT count(*) FROM tutti.prepared) >= most THEN
        RAISE EXCEPTION USING ERRCODE = '53200', MESSAGE = 'maximum number of prepared transactions reached',
            HINT = format('Increase "max_prepared_transactions" (currently %s).', most);
    ELSIF pg_my_temp_schema() <> 0 AND EXISTS (SELECT FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
            WHERE l.pid = pg_backend_pid() AND c.relnamespace = pg_my_temp_schema()) THEN
        RAISE EXCEPTION USING ERRCODE = '0A000', MESSAGE = 'cannot PREPARE a transaction that has operated on temporary objects';
    END IF;
END
$function$;

CREATE OR REPLACE FUNCTION tutti.apply_prepare(secret bytea, identifier text, owner text, since text, token text, keys bytea,
    changes bytea) RETURNS void LANGUAGE plpgsql SECURITY DEFINER <fixed settings> AS $function$
BEGIN
    <refuse without the secret>
    INSERT INTO tutti.prepared VALUES (identifier, owner, since::timestamptz, token, keys, changes);
END
$function$;

CREATE OR REPLACE FUNCTION tutti.take_prepared(secret bytea, identifier text, token text, role text) RETURNS bytea
    LANGUAGE plpgsql SECURITY DEFINER <fixed settings> AS $function$
DECLARE
    taken tutti.prepared;
BEGIN
    <refuse without the secret>
    DELETE FROM tutti.prepared p WHERE p.identifier = take_prepared.identifier AND p.token = take_prepared.token
        RETURNING p.* INTO taken;
    IF taken IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = '42704',
            MESSAGE = format('prepared transaction with identifier "%s" does not exist', identifier);
    ELSIF taken.owner <> role AND NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role AND rolsuper) THEN
        RAISE EXCEPTION USING ERRCODE = '42501', MESSAGE = 'permission denied to finish prepared transaction',
            HINT = 'Must be superuser or the user that prepared the transaction.';
    END IF;
    RETURN taken.changes;
END
$function$;

-- What every node executes itself takes no notice of what is promised to prepared transactions.
CREATE OR REPLACE FUNCTION tutti.check_prepared(secret bytea) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
    <fixed settings> AS $function$
BEGIN
    <refuse without the secret>
    IF EXISTS (SELECT FROM tutti.prepared) THEN
        RAISE EXCEPTION USING ERRCODE = '55006',
            MESSAGE = 'transactions are prepared: until they end, the schema cannot be changed, and nothing be executed by every node',
            DETAIL = (SELECT string_agg(quote_literal(identifier), ', ' ORDER BY identifier) FROM tutti.prepared),
            HINT = 'COMMIT PREPARED or ROLLBACK PREPARED them first; pg_prepared_xacts lists them.';
    END IF;
END
$function$;

-- Clients find them where PostgreSQL lists its own.
SET LOCAL allow_system_table_mods = on;
CREATE OR REPLACE VIEW pg_catalog.pg_prepared_xacts AS
    SELECT '0'::xid AS transaction, identifier AS gid, since AS prepared, owner::name COLLATE "C" AS owner,
        current_database() AS database
        FROM tutti.prepared;
SET LOCAL allow_system_table_mods = off;

-- Where a recorded statement's text begins, with its length: after its place and its role.
CREATE OR REPLACE FUNCTION tutti.text_place(statement text) RETURNS int LANGUAGE plpgsql IMMUTABLE STRICT
    <fixed settings> AS $function$
DECLARE
    place int := 1;
    colon int;
BEGIN
    FOR part IN 1..2 LOOP
        colon := strpos(substr(statement, place, 12), ':');
        place := place + colon + substr(statement, place, colon - 1)::int;
    END LOOP;
    IF substr(statement, place, 12) !~ '^[0-9]+:' THEN
        RAISE EXCEPTION USING ERRCODE = 'XX000', MESSAGE = 'a recorded statement is damaged';
    END IF;
    RETURN place;
END
$function$;

-- What makes a table as a query has made it, without its rows.
CREATE OR REPLACE FUNCTION tutti.table_text(table_oid oid) RETURNS text LANGUAGE sql STABLE <fixed settings>
    AS $function$
    SELECT format('CREATE TABLE %I.%I (%s)%s', n.nspname, c.relname,
            (SELECT string_agg(concat(quote_ident(a.attname), ' ', format_type(a.atttypid, a.atttypmod),
                    (SELECT format(' COLLATE %I.%I', m.nspname, l.collname) FROM pg_collation l
                        JOIN pg_namespace m ON m.oid = l.collnamespace JOIN pg_type y ON y.oid = a.atttypid
                        WHERE l.oid = a.attcollation AND y.typcollation <> l.oid)), ', ' ORDER BY a.attnum)
                FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0),
            (SELECT format(' WITH (%s)', string_agg(format('%s = %L', o.option_name, o.option_value), ', '))
                FROM pg_options_to_table(c.reloptions) o HAVING count(*) > 0))
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = table_oid
$function$;

-- Records a table that a query has made, and its rows as INSERT would have.
CREATE OR REPLACE FUNCTION tutti.note_filled(table_oid oid, statement text) RETURNS void LANGUAGE plpgsql
    <fixed settings> SET datestyle = 'ISO, MDY' SET intervalstyle = 'postgres' SET extra_float_digits = 1
    SET bytea_output = 'hex' SET lc_monetary = 'C' SET xmlbinary = 'base64' AS $function$
DECLARE
    place int := tutti.text_place(statement);
    made text := tutti.table_text(table_oid);
    -- the lengths of a statement's parts are in units of UTF-16
    units int := length(made) + length(regexp_replace(made, '[^\U00010000-\U0010FFFF]', '', 'g'));
    gathered text;
BEGIN
    statement := concat(left(statement, place - 1), units, ':', made, substr(statement, place + 2));
    PERFORM tutti.check_query_rows(table_oid);
    PERFORM tutti.note(concat('s', octet_length(statement), ':', statement));
    EXECUTE format('SELECT string_agg(concat(%L, ROW(%s)), NULL) FROM ONLY %s AS t', 'i' || table_oid, tutti.exact_columns(table_oid, 't'), table_oid::regclass)
        INTO gathered;
    IF octet_length(gathered) > <limit_bytes> THEN
        PERFORM tutti.refuse_size();
    ELSIF gathered IS NOT NULL THEN
        PERFORM tutti.note(gathered);
    END IF;
END
$function$;

-- Every node executes ALTER TABLE: rows that it changes besides, by a function that it calls, would be changed twice. (PostgreSQL refuses
-- the triggers that capture in the query of a materialized view.)
CREATE OR REPLACE FUNCTION tutti.check_no_rows() RETURNS void LANGUAGE plpgsql <fixed settings> AS $function$
DECLARE
    entries bigint := (SELECT count(*) FROM tutti.pending WHERE transaction = pg_current_xact_id());
BEGIN
    PERFORM tutti.flush();
    IF entries <> (SELECT count(*) FROM tutti.pending WHERE transaction = pg_current_xact_id()) THEN
        RAISE EXCEPTION USING ERRCODE = '0A000',
            MESSAGE = 'ALTER TABLE cannot be replicated from a transaction block if a function that it calls changes rows',
            HINT = 'Use it outside of a transaction block.';
    END IF;
END
$function$;

-- Records a position of the total order together with the effects of this transaction, whoever its user is. What has
-- been committed at a position cannot be committed there again. What COMMIT itself executes, the queries of a client's cursors that are
-- held and what deferred triggers have deferred once more, can change nothing any more, but where every node executes it. In SQL: a single statement takes less time there than in PL/pgSQL, from PostgreSQL 18 on, which keeps
-- its plan.
CREATE OR REPLACE FUNCTION tutti.record(secret bytea, recorded bigint) RETURNS void LANGUAGE sql SECURITY DEFINER
    AS $function$
    INSERT INTO tutti.applied (position) VALUES (
        CASE WHEN pg_catalog.sha256(secret) OPERATOR(pg_catalog.=) <secret_hash>::pg_catalog.bytea
                AND (pg_catalog.starts_with(SESSION_USER, 'tutti_node') OR pg_catalog.starts_with(SESSION_USER, 'tutti_applier_')
                    OR SESSION_USER OPERATOR(pg_catalog.=) '<executor>'
                    OR pg_catalog.set_config('transaction_read_only', 'on', true) IS NOT NULL)
            THEN recorded ELSE tutti.refuse_secret()::pg_catalog.int8 END)
$function$;

-- Records a position of the total order at which this transaction makes nothing.
CREATE OR REPLACE FUNCTION tutti.skip(secret bytea, recorded bigint) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
    <fixed settings> AS $function$
BEGIN
    PERFORM tutti.record(secret, recorded);
    INSERT INTO tutti.skipped (position) VALUES (recorded);
    DELETE FROM tutti.skipped WHERE position OPERATOR(pg_catalog.<) (recorded OPERATOR(pg_catalog.-) <skipped_kept>);
END
$function$;

-- The position up to which effects are in this database.
CREATE OR REPLACE FUNCTION tutti.position() RETURNS bigint LANGUAGE sql STABLE SECURITY DEFINER
    AS $function$ SELECT coalesce(pg_catalog.max(position), 0) FROM tutti.applied $function$;

-- What clients ask about the cluster, as functions that tools show. All but the first are answered by the node, which says
-- beforehand what the client's next statement is to be told; it concerns nobody but that client. Behind "=" stands what the transaction certainly
-- sees, behind "~" what it sees if its snapshot is new enough, and from which position on it is. What has been waited for in vain is no success.
CREATE OR REPLACE FUNCTION pg_catalog.tutti_position() RETURNS bigint LANGUAGE sql STABLE
    AS $function$ SELECT tutti.position() $function$;
CREATE OR REPLACE FUNCTION tutti.answer(question text) RETURNS text LANGUAGE plpgsql <fixed settings> AS $function$
DECLARE
    asked text := split_part(question, ' ', 1);
    told text := current_setting('tutti.answer', true);
    late boolean := coalesce(starts_with(told, concat(question, '~')), false);
    needed bigint;
    enough bigint;
BEGIN
    IF late OR starts_with(told, concat(question, '=')) THEN
        PERFORM set_config('tutti.answer', '', false);
        told := substr(told, length(question) + 2);
        IF NOT late THEN
            RETURN told;
        END IF;
        enough := split_part(told, ' ', 2);
        told := split_part(told, ' ', 1);
        IF tutti.position() >= enough OR current_setting('transaction_isolation') LIKE 'read %' THEN
            RETURN told;
        END IF;
    ELSE
        told := NULL;
    END IF;
    IF asked = 'wait' THEN
        needed := coalesce(nullif(substr(question, 6), ''), told)::bigint;
        IF tutti.position() >= needed THEN
            RETURN tutti.position();
        END IF;
    END IF;
    IF late THEN
        RAISE EXCEPTION USING ERRCODE = '25001',
            MESSAGE = format('position %s is visible at this node, but not to this transaction, whose snapshot was taken at position %s', needed,
                tutti.position()),
            HINT = 'SELECT tutti_wait() first in the transaction block, or before BEGIN; or BEGIN ISOLATION LEVEL READ COMMITTED.';
    END IF;
    RAISE EXCEPTION USING ERRCODE = '0A000',
        MESSAGE = format('tutti_%s() is answered by the node, and only where it is a statement of its own', asked),
        HINT = format('SELECT tutti_%s(...) by itself, with a literal or a parameter.', asked);
END
$function$;
CREATE OR REPLACE FUNCTION pg_catalog.tutti_wait() RETURNS bigint LANGUAGE plpgsql
    AS $function$ BEGIN RETURN tutti.answer('wait '); END $function$;
CREATE OR REPLACE FUNCTION pg_catalog.tutti_wait("position" bigint) RETURNS bigint LANGUAGE plpgsql STRICT
    AS $function$ BEGIN RETURN tutti.answer(pg_catalog.concat('wait ', $1)); END $function$;
CREATE OR REPLACE FUNCTION pg_catalog.tutti_outcome(transaction text) RETURNS text LANGUAGE plpgsql STRICT
    AS $function$ BEGIN RETURN tutti.answer(pg_catalog.concat('outcome ', $1)); END $function$;

-- What is fixed when a transaction is submitted: its time, in microseconds, and a random value. A request that another node executes
-- brings it along, and values of sequences behind it; otherwise the transaction makes it when it first asks.
CREATE OR REPLACE FUNCTION tutti.submission() RETURNS text LANGUAGE plpgsql STABLE <fixed settings> AS $function$
DECLARE
    told text := current_setting('tutti.submission', true);
BEGIN
    IF told IS NULL OR told = '' THEN
        told := set_config('tutti.submission', <submission>, true);
    END IF;
    RETURN told;
END
$function$;
CREATE OR REPLACE FUNCTION tutti.submitted_chance(number bigint) RETURNS text LANGUAGE sql STABLE <fixed settings>
    AS $function$ SELECT encode(sha256(convert_to(concat(tutti.submission(), ' ', number), 'UTF8')), 'hex') $function$;
CREATE OR REPLACE FUNCTION pg_catalog.tutti_submitted() RETURNS timestamptz LANGUAGE sql STABLE <fixed settings>
    AS $function$ SELECT timestamptz 'epoch' + split_part(tutti.submission(), ' ', 1)::bigint * interval '1 microsecond' $function$;
CREATE OR REPLACE FUNCTION pg_catalog.tutti_random(number bigint) RETURNS double precision LANGUAGE sql STABLE STRICT
    <fixed settings>
    AS $function$ SELECT ('x' || left(tutti.submitted_chance(number), 13))::bit(52)::bigint / 4503599627370496::double precision $function$;
CREATE OR REPLACE FUNCTION pg_catalog.tutti_uuid(number bigint) RETURNS uuid LANGUAGE sql STABLE STRICT <fixed settings>
    AS $function$ SELECT overlay(overlay(left(tutti.submitted_chance(number), 32) placing '4' from 13) placing '8' from 17)::uuid $function$;
CREATE OR REPLACE FUNCTION tutti.sequence_name(sequence regclass) RETURNS text LANGUAGE sql STABLE <fixed settings> AS $function$
    SELECT concat(quote_ident(n.nspname), '.', quote_ident(c.relname)) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.oid = sequence
$function$;
-- Draws values of sequences for requests that are being submitted. Of each request, by its number from 0, it answers a line: values by number, from 1,
-- by sequence.
CREATE OR REPLACE FUNCTION tutti.draw(requests integer[], sequences regclass[], counts integer[]) RETURNS text LANGUAGE sql VOLATILE <fixed settings>
    AS $function$
    SELECT string_agg(coalesce((
            SELECT jsonb_object_agg(tutti.sequence_name(w.sequence), (
                SELECT jsonb_object_agg(number, nextval(w.sequence)) FROM generate_series(1, w.count) AS number))
            FROM unnest(requests, sequences, counts) AS w (request, sequence, count)
            WHERE w.request = r.request)::text, '{}'), E'\n' ORDER BY r.request)
    FROM generate_series(0, (SELECT max(number) FROM unnest(requests) AS number)) AS r (request)
$function$;
-- The value of a sequence with this number that was drawn for the request. In a session of a client, as in a transaction block, it is drawn when it is
-- first asked for; not where a node executes for others: there each would draw another one. STABLE, as all that is fixed at submission.
CREATE OR REPLACE FUNCTION pg_catalog.tutti_nextval(sequence regclass, number integer DEFAULT 1) RETURNS bigint LANGUAGE plpgsql STABLE STRICT
    <fixed settings> AS $function$
DECLARE
    named text := tutti.sequence_name(sequence);
    brought text := substring(tutti.submission() from '^[^ ]+ [^ ]+ (.*)$');
    drawn jsonb := coalesce(brought, nullif(current_setting('tutti.drawn', true), ''), '{}');
    value bigint := drawn -> named ->> number::text;
BEGIN
    IF value IS NULL AND (brought IS NOT NULL OR session_user ~ '^tutti_(applier|executor)_') THEN
        RAISE EXCEPTION 'value % of sequence % was not drawn when the request was submitted', number, named USING ERRCODE = '55000',
            HINT = concat('The function that the request calls says what it draws: ALTER PROCEDURE ... SET tutti.sequences = ''', named, ' ', number, ''';');
    END IF;
    IF value IS NULL THEN
        value := nextval(sequence);
        PERFORM set_config('tutti.drawn', (drawn || jsonb_build_object(named,
            coalesce(drawn -> named, '{}') || jsonb_build_object(number::text, value)))::text, true);
    END IF;
    RETURN value;
END
$function$;
-- Has the owner of a request execute a Java procedure, whose name is among the settings of the function that calls this, when the request's
-- statements have been executed. STABLE, as what is fixed at submission: it comes to the same everywhere.
CREATE OR REPLACE FUNCTION pg_catalog.tutti_java(arguments jsonb) RETURNS void LANGUAGE plpgsql STABLE <fixed settings> AS $function$
DECLARE
    procedure text := coalesce(current_setting('tutti.java', true), '');
    calls text := coalesce(current_setting('tutti.java_calls', true), '');
BEGIN
    IF procedure = '' THEN
        RAISE EXCEPTION 'tutti_java() must be called by a procedure that names one in Java'
            USING ERRCODE = '55000', HINT = 'ALTER PROCEDURE ... SET tutti.java = ''name'', and call that.';
    END IF;
    IF calls = '' THEN
        RAISE EXCEPTION 'procedure % is written in Java, and only the owner of its request log executes that', procedure
            USING ERRCODE = '0A000', HINT = 'Use protocol hybrid, and CALL it outside of a transaction block, alone in its query.';
    END IF;
    IF jsonb_typeof(arguments) IS DISTINCT FROM 'array' THEN
        RAISE EXCEPTION 'the arguments of Java procedure % must be an array', procedure
            USING ERRCODE = '22023', HINT = 'Use jsonb_build_array().';
    END IF;
    PERFORM set_config('tutti.java_calls', (calls::jsonb || jsonb_build_array(jsonb_build_object('name', procedure, 'arguments',
        ARRAY(SELECT jsonb_array_elements_text(arguments)))))::text, true);
END
$function$;

-- The position up to which effects survive a crash as soon as the transaction that asks has committed: all commits
-- before it lie before its own record in the log, which it waits for. Old positions are forgotten on the way.
CREATE OR REPLACE FUNCTION tutti.durable_position() RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER AS $function$
DECLARE
    last bigint := tutti.position();
BEGIN
    DELETE FROM tutti.applied WHERE position OPERATOR(pg_catalog.<) (last OPERATOR(pg_catalog.-) 10000);
    PERFORM pg_catalog.set_config('synchronous_commit', 'local', true),
        pg_catalog.pg_logical_emit_message(true, 'tutti', '');
    RETURN last;
END
$function$;

-- An extension's script is one schema change, whatever statements it has; they are looked at when it is done. While another
-- one is allowed, <mark> tells in further lines what is looked at when it has happened: the tables that it
-- has written anew because of a default, the columns with values in the catalog from before, what was recorded of one in a function, and
-- what is to be recorded of a table that is made from a query.
CREATE OR REPLACE FUNCTION tutti.before_schema_change() RETURNS event_trigger LANGUAGE plpgsql SECURITY DEFINER
    <fixed settings> AS $function$
DECLARE
    mark text := current_setting('<mark>');
    nested text;
BEGIN
    -- Our own changes are parts of one that has been here; each would look for rows at all tables.
    IF mark = 'tutti adopting' THEN
        RETURN;
    END IF;
    IF current_setting('session_replication_role') <> 'replica' THEN
        LOCK TABLE tutti.naming IN ROW SHARE MODE;
        PERFORM tutti.check_server();
        PERFORM tutti.flush();
        IF NOT starts_with(mark, 'tutti') OR mark ~ '^tutti allowed(?: \d+)?$' THEN
            nested := tutti.nested_statement(current_setting('tutti.asked_in'));
        END IF;
        IF nested IS NOT NULL THEN
            PERFORM tutti.begin_nested(TG_TAG, nested);
            mark := current_setting('<mark>');
        ELSIF mark ~ '^tutti allowed \d+$' THEN
            mark := tutti.mark_recorded(TG_TAG, substr(mark, length('tutti allowed ') + 1));
        END IF;
        IF TG_TAG IN ('GRANT', 'REVOKE') AND pg_my_temp_schema() <> 0 THEN
            PERFORM set_config('tutti.asked_rights', concat(tutti.rights_written(), ' ', tutti.temporary_rights()), true);
        END IF;
        IF TG_TAG = 'CREATE TABLE' AND coalesce(nested, current_query()) ~* '\mincluding\M'
                OR TG_TAG = 'ALTER TABLE' AND coalesce(nested, current_query()) ~* '\musing\M.*\mindex\M' THEN
            PERFORM tutti.refuse_built(name) FROM tutti.built;
        END IF;
    END IF;
    IF TG_TAG IN ('CREATE TABLE', 'ALTER TABLE')
            AND (current_setting('session_replication_role') <> 'replica' OR starts_with(mark, 'tutti allowed ordered')) THEN
        PERFORM tutti.check_bounds(TG_TAG, coalesce(nested, current_query()));
        IF TG_TAG = 'ALTER TABLE' THEN
            PERFORM tutti.check_casts(coalesce(nested, current_query()));
        END IF;
    END IF;
    IF TG_TAG IN ('CREATE EXTENSION', 'ALTER EXTENSION') AND starts_with(mark, 'tutti allowed') THEN
        PERFORM set_config('<mark>', 'tutti allowed extension', true);
    ELSIF TG_TAG IN ('ALTER TABLE', 'ALTER TYPE') AND starts_with(mark, 'tutti allowed') AND mark <> 'tutti allowed extension' THEN
        PERFORM set_config('<mark>', concat_ws(chr(10), split_part(mark, chr(10), 1), '', tutti.filled_columns(),
            split_part(mark, chr(10), 4)), true);
    END IF;
    IF TG_TAG IN ('ALTER SEQUENCE', 'ALTER TABLE') THEN
        PERFORM tutti.open_named(coalesce(nested, current_query()));
        IF coalesce(nested, current_query()) ~* '(enable|disable)\s+(always\s+|replica\s+)?trigger' THEN
            PERFORM tutti.show_triggers(coalesce(nested, current_query()), current_setting('tutti.asked_path'));
        END IF;
    END IF;
END
$function$;

-- Columns whose value in older rows is kept in the catalog: ADD COLUMN gave them a default that was evaluated once.
CREATE OR REPLACE FUNCTION tutti.filled_columns() RETURNS text LANGUAGE sql STABLE <fixed settings> AS $function$
    SELECT coalesce(string_agg(concat(' ', attrelid, '.', attnum, ' '), ''), '') FROM pg_attribute WHERE atthasmissing
$function$;

-- Whether a column's default, or that of its domain where it has none, can give different values on different nodes: functions of users may, whatever they are declared as, and
-- what is made of object ids, which are each node's own: reg* types unless they stand by themselves, hashes of enums.
CREATE OR REPLACE FUNCTION tutti.varying_default(relation oid, attribute smallint) RETURNS boolean LANGUAGE plpgsql STABLE
    <fixed settings> AS $function$
BEGIN
    RETURN coalesce((SELECT a.attidentity <> '' FROM pg_attribute a WHERE a.attrelid = relation AND a.attnum = attribute),
            false)
        OR EXISTS (SELECT FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
                CROSS JOIN LATERAL (SELECT coalesce(d.adbin, t.typdefaultbin)::text) e(tree)
            WHERE a.attrelid = relation AND a.attnum = attribute
                AND (e.tree ~ 'SQLVALUEFUNCTION|NEXTVALUEEXPR'
                    OR EXISTS (SELECT FROM regexp_matches(e.tree, ':(?:op)?funcid (\d+)', 'g') m JOIN pg_proc p ON p.oid = m[1]::oid
                        WHERE p.provolatile <> 'i' OR p.proname ~ '^hash(?:enum|_array|_record|_range|_multirange)' OR p.oid >= 16384 AND tutti.function_varies(p.oid, '{}'))
                    OR EXISTS (SELECT FROM regexp_matches(e.tree, ':(?:const|result)type (\d+)', 'g') m JOIN pg_type r ON r.oid = m[1]::oid
                            AND r.typnamespace = 'pg_catalog'::regnamespace AND r.typname ~ '^_?reg')
                        AND EXISTS (SELECT FROM regexp_matches(e.tree, '\{(\w+)', 'g') m WHERE m[1] NOT IN ('CONST', 'COERCETODOMAIN', 'ARRAYEXPR', 'ROWEXPR'))));
END
$function$;

-- Whether a statement may have a literal that the server reads as the moment at which it parses it, such as 'now', '{today}' or 'tomorrow 12:00': each node reads another one. Where a
-- literal could be put together otherwise than it looks (escapes, continued on another line) it may.
CREATE OR REPLACE FUNCTION tutti.names_moment(body text) RETURNS boolean LANGUAGE sql IMMUTABLE <fixed settings>
    AS $function$
    SELECT body ~* '[''$][^''$]*\m(?:now|today|tomorrow|yesterday)\M(?!\s*\()|\me''[^'']*\\[xu0-7]|\mu&''|''\s*[\n\r]\s*''|[''$]\s*[[({][^''$]*\\'
$function$;

-- A value's bytes as they stand in the text of an expression, which has them as numbers, the last one first. Where a machine's characters have signs, so have those.
CREATE OR REPLACE FUNCTION tutti.tree_bytes(value bytea, signed boolean) RETURNS text LANGUAGE sql IMMUTABLE <fixed settings> AS $function$
    SELECT string_agg((b - CASE WHEN signed AND b > 127 THEN 256 ELSE 0 END)::text, ' ' ORDER BY i DESC)
    FROM generate_series(0, length(value) - 1) i CROSS JOIN LATERAL get_byte(value, i) b
$function$;

-- What expressions match that may have the moment in them: dates from yesterday to tomorrow, times of the days around it, the time of day to the microsecond.
CREATE OR REPLACE FUNCTION tutti.moment_pattern() RETURNS text LANGUAGE sql STABLE <fixed settings> AS $function$
    SELECT concat('(?:^|[^-\d])(?:', string_agg(m.bytes, '|'), ')(?!\d)') FROM (VALUES (true), (false)) AS s (signed)
        CROSS JOIN LATERAL (
            SELECT tutti.tree_bytes(int8send((extract(epoch FROM localtime) * 1000000)::int8), s.signed)
            UNION ALL SELECT tutti.tree_bytes(int4send(current_date + d - date '2000-01-01'), s.signed) FROM generate_series(-1, 1) d
            UNION ALL SELECT concat('(?:-?\d+ ){5}', tutti.tree_bytes(substr(int8send(
                    ((extract(epoch FROM now() - timestamptz '2000-01-01 00:00+00') + 86400 * d) * 1000000)::int8), 1, 3), s.signed))
                FROM generate_series(-3, 3) d) AS m (bytes)
$function$;

-- Refuses a statement that may have made the moment at which it was read a constant: of a default, a CHECK, a view, an index, a bound, whatever keeps an expression. It names the moment,
-- and has made an expression with a time of about now. What all nodes execute (`ordered`) must be judged alike by all, whenever they come to it; so any time counts there.
CREATE OR REPLACE FUNCTION tutti.check_moments(tag text, ordered boolean, statement text) RETURNS void LANGUAGE plpgsql <fixed settings> AS $function$
DECLARE
    moments text;
BEGIN
    IF NOT ordered AND current_setting('session_replication_role') = 'replica' OR tag !~ '^(?:CREATE|ALTER) ' OR NOT tutti.names_moment(statement) THEN
        RETURN;
    END IF;
    moments := CASE WHEN NOT ordered THEN tutti.moment_pattern() END;
    IF EXISTS (WITH trees AS MATERIALIZED (
            SELECT adrelid AS relation, adbin::text AS tree FROM pg_attrdef WHERE age(xmin) <= age(pg_current_xact_id()::xid)
            UNION ALL SELECT oid, relpartbound::text FROM pg_class WHERE age(xmin) <= age(pg_current_xact_id()::xid)
            UNION ALL SELECT conrelid, conbin::text FROM pg_constraint WHERE age(xmin) <= age(pg_current_xact_id()::xid)
            UNION ALL SELECT indrelid, concat_ws(' ', indexprs, indpred) FROM pg_index WHERE age(xmin) <= age(pg_current_xact_id()::xid)
            UNION ALL SELECT partrelid, partexprs::text FROM pg_partitioned_table WHERE age(xmin) <= age(pg_current_xact_id()::xid)
            UNION ALL SELECT polrelid, concat_ws(' ', polqual, polwithcheck) FROM pg_policy WHERE age(xmin) <= age(pg_current_xact_id()::xid)
            UNION ALL SELECT 0, concat_ws(' ', proargdefaults, prosqlbody) FROM pg_proc WHERE age(xmin) <= age(pg_current_xact_id()::xid)
            UNION ALL SELECT prrelid, prqual::text FROM pg_publication_rel WHERE age(xmin) <= age(pg_current_xact_id()::xid)
            UNION ALL SELECT ev_class, concat_ws(' ', ev_qual, ev_action) FROM pg_rewrite WHERE age(xmin) <= age(pg_current_xact_id()::xid)
            UNION ALL SELECT stxrelid, stxexprs::text FROM pg_statistic_ext WHERE age(xmin) <= age(pg_current_xact_id()::xid)
            UNION ALL SELECT tgrelid, tgqual::text FROM pg_trigger WHERE age(xmin) <= age(pg_current_xact_id()::xid)
            UNION ALL SELECT 0, typdefaultbin::text FROM pg_type WHERE age(xmin) <= age(pg_current_xact_id()::xid))
        SELECT FROM trees LEFT JOIN pg_class c ON c.oid = trees.relation
        WHERE c.relpersistence IS DISTINCT FROM 't' AND CASE WHEN ordered THEN EXISTS (
                SELECT FROM regexp_matches(trees.tree, ':consttype (\d+)', 'g') m JOIN pg_type t ON t.oid = m[1]::oid
                WHERE t.typcategory IN ('A', 'C', 'D', 'R'))
            ELSE trees.tree ~ moments END) THEN
        RAISE EXCEPTION USING ERRCODE = '0A000',
            MESSAGE = format('%s with the moment at which it is read as a constant cannot be replicated', tag),
            DETAIL = 'The server makes a date or time of ''now'', ''today'', ''tomorrow'' and ''yesterday'' where it reads them: each node would make another one.',
            HINT = 'Write now() or CURRENT_DATE, which mean the moment at which they are used, or the date and time itself.';
    END IF;
END
$function$;

-- Whether code of a user's may run where a query on a table is planned, with the rights of who asks: the server computes what is constant in the expressions of all
-- its indexes and statistics.
CREATE OR REPLACE FUNCTION tutti.is_planned_by_code(relation oid) RETURNS boolean LANGUAGE sql STABLE <fixed settings> AS $function$
    SELECT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = relation AND (i.indexprs IS NOT NULL OR i.indpred IS NOT NULL))
        OR EXISTS (SELECT FROM pg_statistic_ext s WHERE s.stxrelid = relation AND s.stxexprs IS NOT NULL)
$function$;

-- Whether a column takes its values from a sequence that this transaction has made for it alone, as serial and identity columns do.
CREATE OR REPLACE FUNCTION tutti.draws(relation oid, attribute smallint) RETURNS boolean LANGUAGE plpgsql STABLE <fixed settings> AS $function$
BEGIN
    RETURN EXISTS (SELECT FROM pg_depend d JOIN pg_class q ON q.oid = d.objid AND age(q.xmin) <= age(pg_current_xact_id()::xid)
                JOIN pg_sequence_here s ON s.seqrelid = q.oid AND NOT s.seqcycle
                JOIN pg_attribute a ON a.attrelid = relation AND a.attnum = attribute AND a.attgenerated = ''
                LEFT JOIN pg_attrdef e ON e.adrelid = relation AND e.adnum = attribute
            WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid = relation AND d.refobjsubid = attribute
                AND d.deptype IN ('a', 'i') AND (a.attidentity <> '' OR EXISTS (SELECT FROM pg_depend u
                        WHERE u.classid = 'pg_attrdef'::regclass AND u.objid = e.oid AND u.refclassid = 'pg_class'::regclass AND u.refobjid = q.oid)
                    AND NOT EXISTS (SELECT FROM regexp_matches(e.adbin::text, '\{(\w+)', 'g') m WHERE m[1] NOT IN ('FUNCEXPR', 'CONST'))
                    AND NOT EXISTS (SELECT FROM regexp_matches(e.adbin::text, ' :funcid (\d+)', 'g') m WHERE NOT EXISTS (SELECT FROM pg_proc p
                        WHERE p.oid = m[1]::oid AND p.pronamespace = 'pg_catalog'::regnamespace AND p.proname IN ('nextval', 'int2', 'int4', 'int8')))));
END
$function$;

-- Whether what ADD COLUMN has given to rows that are there can be told to other nodes as a change of each row (docs/decisions/0210). Each of them fills its rows with values of its
-- own before: the default must have a form that never fails, or draw from its own sequence, nothing else may depend on the column, and rows must be named by other columns.
CREATE OR REPLACE FUNCTION tutti.tells_updated(relation oid, attribute smallint) RETURNS boolean LANGUAGE plpgsql STABLE
    <fixed settings> AS $function$
BEGIN
    RETURN EXISTS (SELECT FROM tutti.user_tables u WHERE u.table_oid = relation AND u.key IS NOT NULL)
        AND (tutti.draws(relation, attribute) AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = relation AND a.attnum = attribute AND a.attidentity = 'a')
            OR EXISTS (SELECT FROM pg_attribute a JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
                JOIN pg_type t ON t.oid = a.atttypid AND t.typtype = 'b' AND t.typnamespace = 'pg_catalog'::regnamespace
            WHERE a.attrelid = relation AND a.attnum = attribute AND a.attidentity = '' AND a.attgenerated = ''
                AND NOT EXISTS (SELECT FROM regexp_matches(d.adbin::text, '\{(\w+)', 'g') m
                    WHERE m[1] NOT IN ('FUNCEXPR', 'OPEXPR', 'CONST', 'SQLVALUEFUNCTION', 'RELABELTYPE', 'COERCEVIAIO'))
                AND NOT EXISTS (SELECT FROM regexp_matches(d.adbin::text, ' :resulttype (\d+)', 'g') m
                    WHERE m[1]::oid NOT IN ('text'::regtype, 'varchar'::regtype))
                AND NOT EXISTS (SELECT FROM regexp_matches(d.adbin::text, ' :(?:op)?funcid (\d+)', 'g') m
                    WHERE NOT EXISTS (SELECT FROM pg_proc p WHERE p.oid = m[1]::oid AND p.pronamespace = 'pg_catalog'::regnamespace
                        AND p.proname IN ('now', 'transaction_timestamp', 'statement_timestamp', 'clock_timestamp', 'timezone', 'date',
                            'timestamp', 'timestamptz', 'time', 'date_trunc', 'date_part', 'extract', 'to_char', 'timestamptz_pl_interval',
                            'timestamptz_mi_interval', 'timestamp_pl_interval', 'timestamp_mi_interval', 'date_pl_interval', 'date_mi_interval',
                            'date_pli', 'date_mii', 'gen_random_uuid', 'uuidv4', 'uuidv7', 'random', 'md5', 'textcat')))))
        AND tutti.used_only_in(relation, attribute, '{n}');
END
$function$;

-- Whether what depends on a column are but its default, its own sequence, and constraints of these kinds.
CREATE OR REPLACE FUNCTION tutti.used_only_in(relation oid, attribute smallint, kinds "char"[]) RETURNS boolean LANGUAGE sql STABLE <fixed settings> AS $function$
    SELECT NOT EXISTS (SELECT FROM pg_depend d LEFT JOIN pg_class q ON d.classid = 'pg_class'::regclass AND q.oid = d.objid
            LEFT JOIN pg_attrdef o ON d.classid = 'pg_attrdef'::regclass AND o.oid = d.objid AND o.adrelid = relation AND o.adnum = attribute
            LEFT JOIN pg_constraint c ON d.classid = 'pg_constraint'::regclass AND c.oid = d.objid AND c.contype = ANY (kinds)
        WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = relation AND d.refobjsubid = attribute
            AND o.oid IS NULL AND c.oid IS NULL AND q.relkind IS DISTINCT FROM 'S')
$function$;

-- Whether it can be told by giving them the origin's rows in the place of theirs. Each of them has as many rows and drawn the same values, though not for the same rows, so that what only asks
-- whether values differ cannot fail there, and the sequence stands where it stands at the origin. The table must be one that can be emptied.
CREATE OR REPLACE FUNCTION tutti.tells_replaced(relation oid, attribute smallint) RETURNS boolean LANGUAGE sql STABLE <fixed settings> AS $function$
    SELECT tutti.draws(relation, attribute) AND tutti.used_only_in(relation, attribute, '{n,p,u}')
        AND NOT EXISTS (SELECT FROM pg_constraint c WHERE c.confrelid = relation AND c.conrelid <> relation)
        AND NOT EXISTS (SELECT FROM pg_inherits h WHERE relation IN (h.inhrelid, h.inhparent))
$function$;

CREATE OR REPLACE FUNCTION tutti.tells_filled(relation oid, attribute smallint) RETURNS boolean LANGUAGE plpgsql STABLE <fixed settings> AS $function$
BEGIN
    RETURN NOT EXISTS (SELECT FROM tutti.placed p WHERE p.table_oid = relation)
        AND NOT tutti.is_planned_by_code(relation) AND pg_table_size(relation) <= tutti.limit_bytes()
        AND (tutti.tells_updated(relation, attribute) OR tutti.tells_replaced(relation, attribute));
END
$function$;

-- ADD COLUMN fills rows that exist, each replica its own; so the values must be the same everywhere, or be told behind it. Tells whether they must be. What all
-- nodes execute at a position of its own (`ordered`) tells nothing; and whoever executes it after the origin is told.
CREATE OR REPLACE FUNCTION tutti.check_filled(relation regclass, attribute smallint, ordered boolean) RETURNS boolean LANGUAGE plpgsql
    <fixed settings> AS $function$
DECLARE
    occupied boolean;
    computed CONSTANT boolean := tutti.is_computed(relation, attribute);
BEGIN
    IF NOT ordered AND current_setting('session_replication_role') = 'replica' OR NOT computed AND NOT tutti.varying_default(relation, attribute) THEN
        RETURN false;
    END IF;
    occupied := EXISTS (SELECT FROM tutti.placed WHERE table_oid = relation);
    IF NOT occupied THEN
        IF tutti.is_planned_by_code(relation) THEN
            occupied := pg_relation_size(relation) > 0;
        ELSE
            EXECUTE format('SELECT EXISTS (SELECT FROM ONLY %s)', relation) INTO occupied;
        END IF;
    END IF;
    IF occupied AND computed AND (ordered OR NOT tutti.tells_computed(relation, attribute)) THEN
        PERFORM tutti.refuse_to_compute(relation, attribute);
    ELSIF occupied AND NOT computed AND (ordered OR NOT tutti.tells_filled(relation, attribute)) THEN
        RAISE EXCEPTION USING ERRCODE = '0A000',
            MESSAGE = format('column %I cannot be added to %s, which has rows or is kept on some nodes only, with this default', (SELECT attname
                FROM pg_attribute WHERE attrelid = relation AND attnum = attribute), relation),
            DETAIL = 'Every replica would fill its rows with values of its own: the default is a sequence, a time or '
                'another function whose result varies.',
            HINT = 'Add the column without a default (DEFAULT NULL, if its domain has one), fill it with UPDATE, and set the default afterwards.';
    END IF;
    RETURN occupied;
END
$function$;

-- Records the rows of a table as the schema change before has left them: as changed ones, or in the place of all that are there.
CREATE OR REPLACE FUNCTION tutti.note_refilled(table_oid oid, replaced boolean) RETURNS void LANGUAGE plpgsql
    <fixed settings> SET datestyle = 'ISO, MDY' SET intervalstyle = 'postgres' SET extra_float_digits = 1
    SET bytea_output = 'hex' SET lc_monetary = 'C' SET xmlbinary = 'base64' AS $function$
DECLARE
    gathered text;
BEGIN
    EXECUTE format('SELECT string_agg(concat(%L, ROW(%s)), NULL) FROM ONLY %s AS t', CASE WHEN replaced THEN 'i' ELSE 'g' END || table_oid,
        tutti.exact_columns(table_oid, 't'), table_oid::regclass) INTO gathered;
    IF octet_length(gathered) > <limit_bytes> THEN
        PERFORM tutti.refuse_size();
    ELSIF gathered IS NOT NULL THEN
        PERFORM tutti.note(concat('t', table_oid, ';')) WHERE replaced;
        PERFORM tutti.note(gathered);
    END IF;
END
$function$;

CREATE OR REPLACE FUNCTION tutti.before_rewrite() RETURNS event_trigger LANGUAGE plpgsql SECURITY DEFINER
    <fixed settings> AS $function$
BEGIN
    -- 2: a default is the reason. The table cannot be read before it is written anew, because its indexes are not made.
    IF (pg_event_trigger_table_rewrite_reason() & 2) <> 0
            AND (SELECT relpersistence FROM pg_class WHERE oid = pg_event_trigger_table_rewrite_oid()) <> 't' THEN
        PERFORM set_config('<mark>', concat_ws(chr(10), split_part(current_setting('<mark>'), chr(10), 1),
                concat(split_part(current_setting('<mark>'), chr(10), 2), ' ', pg_event_trigger_table_rewrite_oid()),
                split_part(current_setting('<mark>'), chr(10), 3), split_part(current_setting('<mark>'), chr(10), 4)), true)
            WHERE starts_with(current_setting('<mark>'), 'tutti allowed')
                AND current_setting('<mark>') <> 'tutti allowed extension';
    END IF;
END
$function$;

CREATE OR REPLACE FUNCTION tutti.refuse_schema_change(tag text, object text) RETURNS void LANGUAGE plpgsql AS $function$
BEGIN
    RAISE EXCEPTION USING ERRCODE = '0A000',
        MESSAGE = pg_catalog.format('%s on %s cannot be replicated from here', tag, object),
        DETAIL = 'A schema change must be sent to a Tutti node, as a statement or in a function or DO block in PL/pgSQL, and is not made by a '
            'deferred trigger, nor while a statement changes the schema, too.',
        HINT = 'Send it as a statement of its own, or make it in LANGUAGE plpgsql.';
END
$function$;

CREATE OR REPLACE FUNCTION tutti.refuse_reserved(tag text, object text) RETURNS void LANGUAGE plpgsql AS $function$
BEGIN
    RAISE EXCEPTION USING ERRCODE = '42501',
        MESSAGE = pg_catalog.format('%s on %s is refused: the schema tutti is the node''s own', tag, object);
END
$function$;

-- Whether a default, trigger, rule or policy is on a temporary relation.
CREATE OR REPLACE FUNCTION tutti.on_temporary(class oid, object oid) RETURNS boolean LANGUAGE sql STABLE
    <fixed settings> AS $function$
    SELECT EXISTS (SELECT FROM pg_class c WHERE c.relpersistence = 't' AND c.oid = CASE class
        WHEN 'pg_attrdef'::regclass THEN (SELECT e.adrelid FROM pg_attrdef e WHERE e.oid = object)
        WHEN 'pg_trigger'::regclass THEN (SELECT g.tgrelid FROM pg_trigger g WHERE g.oid = object)
        WHEN 'pg_rewrite'::regclass THEN (SELECT r.ev_class FROM pg_rewrite r WHERE r.oid = object)
        WHEN 'pg_policy'::regclass THEN (SELECT p.polrelid FROM pg_policy p WHERE p.oid = object) END)
$function$;

-- Whether this transaction has made a table that is partitioned by hashes of object ids. Of an expression the types that it mentions count where the type that is hashed is made of others.
CREATE OR REPLACE FUNCTION tutti.hashes_numbers(relation oid) RETURNS boolean LANGUAGE sql STABLE <fixed settings> AS $function$
    SELECT EXISTS (SELECT FROM pg_partitioned_table p, unnest(p.partattrs::int2[], p.partclass::oid[]) k(attnum, class)
            JOIN pg_opclass o ON o.oid = k.class JOIN pg_type i ON i.oid = o.opcintype
            CROSS JOIN LATERAL tutti.parts(CASE WHEN k.attnum <> 0 THEN ARRAY(SELECT a.atttypid FROM pg_attribute a WHERE a.attrelid = relation AND a.attnum = k.attnum)
                WHEN i.typtype = 'p' OR i.typname = 'oid'
                THEN ARRAY(SELECT DISTINCT m[1]::oid FROM regexp_matches(p.partexprs::text, 'type(?:id)? (\d+)', 'g') m) END) part
            JOIN pg_type t ON t.oid = part.id
        WHERE p.partrelid = relation AND p.partstrat = 'h' AND age(p.xmin) <= age(pg_current_xact_id()::xid)
            AND (t.typtype = 'e' OR t.typnamespace = 'pg_catalog'::regnamespace AND t.typname ~ '^reg'))
$function$;

-- What a schema change made of a relation must not make nodes differ: triggers and rules fire at the node that executes a statement
-- only, and no table is emptied by the crash of one node.
CREATE OR REPLACE FUNCTION tutti.check_relation(relation oid) RETURNS void LANGUAGE plpgsql
    <fixed settings> AS $function$
DECLARE
    c pg_class%ROWTYPE;
    object text;
    before text := current_setting('<mark>');
BEGIN
    SELECT * INTO c FROM pg_class WHERE oid = relation;
    SELECT format('trigger %I', g.tgname) INTO object FROM pg_trigger g
        WHERE g.tgrelid = relation AND NOT g.tgisinternal AND g.tgenabled IN ('A', 'R') LIMIT 1;
    IF object IS NULL THEN
        SELECT format('rule %I', r.rulename) INTO object FROM pg_rewrite r
            WHERE r.ev_class = relation AND r.ev_enabled IN ('A', 'R') LIMIT 1;
    END IF;
    IF object IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = '0A000',
            MESSAGE = format('%s on %s cannot be enabled for replicas', object, relation::regclass),
            DETAIL = 'Other nodes get the rows that it has changed, and would fire it once more for those that they get.',
            HINT = 'ALTER TABLE ... ENABLE TRIGGER, or ENABLE RULE: it then fires once, at the node that executes the statement.';
    END IF;
    SELECT a.attname INTO object FROM pg_attribute a WHERE a.attrelid = relation AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped
        AND a.atttypid >= 16384 AND age(a.xmin) <= age(pg_current_xact_id()::xid) AND EXISTS (SELECT FROM tutti.parts(ARRAY[a.atttypid]) p WHERE p.id = 'xml'::regtype AND p.buried) LIMIT 1;
    IF object IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = '0A000',
            MESSAGE = format('column %I of %s cannot be replicated: it is an array of a composite type or a domain with xml in it', object, relation::regclass),
            DETAIL = 'The server writes such a value without the declarations of its xml, which it has.',
            HINT = 'Use an array of xml, or a table of its own.';
    ELSIF tutti.hashes_numbers(relation) THEN
        RAISE EXCEPTION USING ERRCODE = '0A000',
            MESSAGE = format('table %s cannot be partitioned by the hash of enums, regclass and its like', relation::regclass),
            DETAIL = 'The hash is of object ids, which are each node''s own: a row would belong to other partitions at other nodes.',
            HINT = 'PARTITION BY LIST, or by the hash of another column.';
    END IF;
    SELECT format_type(y.oid, NULL) INTO object FROM pg_attribute a JOIN pg_type y ON y.oid = a.atttypid JOIN pg_proc p ON p.oid = y.typinput
        WHERE c.relkind IN ('r', 'p') AND a.attrelid = relation AND a.attnum > 0 AND p.proname IN ('pg_node_tree_in', 'pg_ndistinct_in', 'pg_dependencies_in', 'pg_mcv_list_in', 'brin_bloom_summary_in',
            'brin_minmax_multi_summary_in', 'gtsvectorin') LIMIT 1;
    IF object IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = '0A000',
            MESSAGE = format('table %s cannot be replicated: no value can be read into its columns of type %s', relation::regclass, object),
            HINT = 'Keep such values as text.';
    END IF;
    IF c.relpersistence = 'u' AND c.relkind IN ('r', 'S') THEN
        PERFORM set_config('<mark>', 'tutti adopting', true);
        EXECUTE format('ALTER %s %s SET LOGGED', CASE c.relkind WHEN 'r' THEN 'TABLE' ELSE 'SEQUENCE' END, relation::regclass);
        PERFORM set_config('<mark>', before, true);
        RAISE NOTICE USING MESSAGE = format('%s is logged, since the crash of one node would empty it there only', relation::regclass);
    END IF;
END
$function$;

CREATE OR REPLACE FUNCTION tutti.after_schema_change() RETURNS event_trigger LANGUAGE plpgsql SECURITY DEFINER
    <fixed settings> AS $function$
DECLARE
    command record;
    mark text := current_setting('<mark>');
    permanent boolean := false;
    filled oid;
    refilled record;
BEGIN
    IF TG_TAG = 'REINDEX' THEN
        -- it makes valid what was not
        PERFORM tutti.refuse_built(name) FROM tutti.built WHERE valid;
        RETURN;
    ELSIF mark = 'tutti adopting'
            OR mark = 'tutti allowed extension' AND TG_TAG NOT IN ('CREATE EXTENSION', 'ALTER EXTENSION') THEN
        RETURN;
    END IF;
    -- Statements of an extension's script are part of CREATE EXTENSION, which is judged itself.
    IF EXISTS (SELECT FROM pg_event_trigger_ddl_commands() WHERE in_extension) THEN
        RETURN;
    END IF;
    FOR command IN SELECT * FROM pg_event_trigger_ddl_commands() LOOP
        IF command.schema_name LIKE 'pg\_temp%' OR tutti.on_temporary(command.classid, command.objid) THEN
            PERFORM tutti.check_temporary(command.object_identity);
            CONTINUE;
        END IF;
        CONTINUE WHEN tutti.grants_temporary(command.command_tag);
        IF command.schema_name = 'tutti' OR command.object_identity = 'tutti' AND command.object_type IN ('schema', 'extension') THEN
            PERFORM tutti.refuse_reserved(command.command_tag, command.object_identity);
        END IF;
        permanent := true;
        IF NOT starts_with(mark, 'tutti allowed') THEN
            PERFORM tutti.refuse_schema_change(command.command_tag, command.object_identity);
        END IF;
        IF command.classid = 'pg_class'::regclass THEN
            PERFORM tutti.check_relation(command.objid);
        END IF;
        IF command.classid = 'pg_proc'::regclass THEN
            PERFORM tutti.adopt_code(command.objid);
        END IF;
        IF split_part(mark, chr(10), 5) <> '' THEN
            filled := command.objid;
        END IF;
    END LOOP;
    IF starts_with(mark, 'tutti allowed') THEN
        PERFORM set_config('<mark>', '', true);
        IF NOT permanent THEN
            PERFORM tutti.take_back(mark);
        END IF;
    END IF;
    IF filled IS NOT NULL THEN
        IF TG_TAG NOT IN ('CREATE TABLE AS', 'SELECT INTO') THEN
            PERFORM tutti.refuse_schema_change(TG_TAG, filled::regclass::text);
        END IF;
        PERFORM tutti.note_filled(filled, substr(mark, length('tutti allowed') + 5));
    ELSIF permanent AND TG_TAG = 'ALTER TABLE' AND current_setting('session_replication_role') <> 'replica' THEN
        PERFORM tutti.check_no_rows();
    END IF;
    IF permanent THEN
        PERFORM tutti.check_own_objects(TG_TAG, coalesce(tutti.nested_statement(current_setting('tutti.asked_in', true)), current_query()));
        PERFORM tutti.check_moments(TG_TAG, starts_with(mark, 'tutti allowed ordered'),
            coalesce(tutti.nested_statement(current_setting('tutti.asked_in', true)), current_query()));
        IF TG_TAG IN ('ALTER TABLE', 'ALTER TYPE') THEN
            FOR refilled IN SELECT a.attrelid AS id, bool_or(tutti.draws(a.attrelid, a.attnum) AND NOT tutti.tells_updated(a.attrelid, a.attnum)) AS replaced FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid AND c.relpersistence <> 't'
                    WHERE a.atthasmissing AND strpos(split_part(mark, chr(10), 3), concat(' ', a.attrelid, '.', a.attnum, ' ')) = 0
                        OR a.attrelid = ANY (string_to_array(ltrim(split_part(mark, chr(10), 2)), ' ')::oid[]) AND a.attnum > 0 AND NOT a.attisdropped
                            AND (a.attgenerated = '' AND age(a.xmin) <= age(pg_current_xact_id()::xid) OR tutti.is_made_computed(a.attrelid, a.attnum))
                    GROUP BY a.attrelid
                    HAVING bool_or(tutti.check_filled(a.attrelid, a.attnum, starts_with(mark, 'tutti allowed ordered'))) LOOP
                PERFORM tutti.note_refilled(refilled.id, refilled.replaced);
            END LOOP;
        END IF;
        PERFORM tutti.check_conditions(starts_with(mark, 'tutti allowed ordered'));
        PERFORM tutti.check_names(starts_with(mark, 'tutti allowed ordered'));
        PERFORM tutti.check_built();
        PERFORM tutti.check_placed(TG_TAG, starts_with(mark, 'tutti allowed ordered'), filled IS NOT NULL);
        PERFORM tutti.adopt(tutti.changed_tables());
    END IF;
    IF current_setting('session_replication_role') <> 'replica' THEN
        PERFORM tutti.explain_server();
    END IF;
END
$function$;

CREATE OR REPLACE FUNCTION tutti.after_drop() RETURNS event_trigger LANGUAGE plpgsql SECURITY DEFINER
    <fixed settings> AS $function$
DECLARE
    dropped record;
    mark text := current_setting('<mark>');
    temporary boolean := false;
    permanent boolean := false;
    tables boolean := false;
BEGIN
    IF mark = 'tutti adopting' THEN
        RETURN;
    END IF;
    FOR dropped IN SELECT * FROM pg_event_trigger_dropped_objects() LOOP
        IF dropped.is_temporary OR cardinality(dropped.address_names) > 1 AND dropped.address_names[1] LIKE 'pg\_temp%' THEN
            temporary := temporary OR dropped.original;
            CONTINUE;
        END IF;
        IF NOT starts_with(mark, 'tutti allowed') THEN
            PERFORM tutti.refuse_schema_change('DROP', dropped.object_identity);
        END IF;
        permanent := true;
        IF dropped.object_type = 'index' AND dropped.original AND dropped.object_name ~ '^tutti_elsewhere_[0-9]+$' THEN
            PERFORM tutti.refuse_guard(TG_TAG);
        ELSIF dropped.object_type = 'index' AND dropped.original AND dropped.object_name ~ tutti.built_names() THEN
            PERFORM tutti.refuse_built(dropped.object_name);
        END IF;
        IF dropped.schema_name = 'tutti' AND NOT EXISTS (
                SELECT FROM regexp_match(dropped.address_names[2], '^(?:update|apply_[a-z_]+)_([0-9]+)$') m
                WHERE m IS NOT NULL AND NOT EXISTS (SELECT FROM tutti.user_tables u WHERE u.table_oid = m[1]::oid))
                OR dropped.object_type = 'schema' AND dropped.object_name = 'tutti' THEN
            PERFORM tutti.refuse_reserved('DROP', dropped.object_identity);
        END IF;
        tables := tables OR dropped.object_type IN ('table', 'index', 'table constraint', 'table column')
            OR dropped.object_type = 'trigger' AND dropped.address_names[3] LIKE 'tutti\_%';
    END LOOP;
    IF permanent AND split_part(mark, chr(10), 4) <> '' THEN
        IF temporary AND starts_with(TG_TAG, 'DROP') THEN
            PERFORM tutti.refuse_temporary(TG_TAG, 'temporary objects, and others', 'Drop them in statements of their own.');
        END IF;
        -- it is not to be taken back
        PERFORM set_config('<mark>', concat_ws(chr(10), split_part(mark, chr(10), 1), split_part(mark, chr(10), 2), split_part(mark, chr(10), 3)), true);
    END IF;
    -- What belongs to a table's owner must not keep him from being dropped; and rows may be named otherwise than before.
    IF tables THEN
        PERFORM tutti.adopt(tutti.tables_of_dropped(TG_TAG));
    END IF;
END
$function$;

-- Tables whose rows are replicated: everything but system, temporary and our own tables. Their key is what their rows are named by:
-- the primary key, or a unique index that comes to one (the first by name, as in CatalogQuery), or null, if they are named by all
-- their values.
DROP VIEW IF EXISTS tutti.uncaptured, tutti.user_tables;
CREATE VIEW tutti.user_tables AS
    SELECT c.oid AS table_oid, n.nspname AS schema_name, c.relname AS table_name,
        EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) AS has_columns,
        <key of c> AS key
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind = 'r' AND c.relpersistence <> 't' AND n.nspname <> 'tutti' AND n.nspname <> 'information_schema'
        AND n.nspname NOT LIKE 'pg\_%';

<placed>
<built>
<nested statements>
<naming of relations>
<server>
-- Columns of values that are stored apart from their rows when they are large, with their places in a row, from 0: those of the other columns are not worth
-- asking. Not of a domain, which may refuse the NULL that stands for what is left out.
CREATE OR REPLACE FUNCTION tutti.large_columns(table_oid oid) RETURNS TABLE (place bigint, name name) LANGUAGE sql STABLE
    <fixed settings> AS $function$
    SELECT c.place, c.attname FROM (SELECT a.*, row_number() OVER (ORDER BY a.attnum) - 1 AS place FROM pg_attribute a
                WHERE a.attrelid = table_oid AND a.attnum > 0 AND NOT a.attisdropped) c
            JOIN pg_type t ON t.oid = c.atttypid AND t.typtype <> 'd'
        WHERE c.attlen = -1 AND c.attstorage IN ('x', 'e') AND c.attgenerated = ''
            AND NOT (c.atttypid IN ('varchar'::regtype, 'bpchar'::regtype) AND c.atttypmod BETWEEN 0 AND 504)
            AND current_setting('server_version_num')::int >= 170000
$function$;

-- The update function's text for a table: compares the columns of its keys, and sends the old row too if one changed, if the table
-- has no key that names its rows, or if the transaction has made the old row itself: what it has changed before is then known. A row of
-- another transaction that is taken for such a one, for its number, does no harm. What is GENERATED ALWAYS AS IDENTITY counts as a column of a key: no UPDATE of other nodes
-- can assign it, so that a row in which it has changed is deleted there, and inserted again.
-- Columns are compared as their indexes compare them, by operators whose schema is named; others by their text in a row, and so are those of which an index
-- has an expression or compares them otherwise, by which equal values may be different ones: a value's own cast to text may be a function
-- of its type's owner, and would be called with the rights of this one.
--
-- Of a table with columns that may be large, those are left out whose values are stored apart (TOAST) and are the same to the byte: a value that no statement
-- has assigned is the same pointer in both rows, and is not read. Such a table's rows are told with the versions that they are, since their texts
-- do not tell the order of changes any more (CaptureReader).
--
-- The function of a table with xml tells of inserted and deleted rows, too: those that do so for other tables take rows as the server writes them (tutti.exact).
CREATE OR REPLACE FUNCTION tutti.update_function(table_oid oid) RETURNS text LANGUAGE sql STABLE
    <fixed settings> AS $function$
    WITH key_columns AS (
        SELECT DISTINCT a.attnum, a.attname, a.attgenerated, a.atttypid, a.attcollation
        FROM pg_attribute a
        WHERE a.attrelid = table_oid AND a.attnum > 0 AND NOT a.attisdropped AND (
            EXISTS (SELECT FROM pg_index i WHERE i.indrelid = table_oid AND (i.indisunique OR i.indisexclusion)
                AND (a.attnum = ANY (i.indkey)
                    OR EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid
                        AND d.refclassid = 'pg_class'::regclass AND d.refobjid = table_oid AND d.refobjsubid = a.attnum)))
            -- once for all columns: no index finds those that name a table
            OR a.attnum IN (SELECT unnest(c.conkey) FROM pg_constraint c WHERE c.conrelid = table_oid AND c.contype = 'f')
            OR a.attnum IN (SELECT unnest(c.confkey) FROM pg_constraint c WHERE c.confrelid = table_oid AND c.contype = 'f')
            OR a.attidentity = 'a')
    ), compared AS (
        SELECT k.attnum, k.attname, k.atttypid, CASE WHEN NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = table_oid AND (i.indisunique OR i.indisexclusion)
                AND (EXISTS (SELECT FROM pg_depend d WHERE (i.indexprs IS NOT NULL OR i.indpred IS NOT NULL) AND d.classid = 'pg_class'::regclass
                        AND d.objid = i.indexrelid AND d.refclassid = 'pg_class'::regclass AND d.refobjid = table_oid AND d.refobjsubid = k.attnum)
                    OR EXISTS (SELECT FROM unnest(i.indkey::int2[], i.indcollation::oid[], i.indclass::oid[]) p(attnum, collation_oid, class)
                        JOIN pg_opclass o ON o.oid = p.class WHERE p.attnum = k.attnum AND (p.collation_oid <> k.attcollation OR NOT o.opcdefault))))
            THEN coalesce(
            (SELECT format('OPERATOR(%I.%s)', n.nspname, p.oprname) FROM pg_opclass o
                    JOIN pg_am m ON m.oid = o.opcmethod AND m.amname IN ('btree', 'hash')
                    JOIN pg_amop e ON e.amopfamily = o.opcfamily AND e.amoplefttype = o.opcintype
                        AND e.amoprighttype = o.opcintype
                        AND e.amopstrategy = CASE m.amname WHEN 'btree' THEN 3 ELSE 1 END
                    JOIN pg_operator p ON p.oid = e.amopopr JOIN pg_namespace n ON n.oid = p.oprnamespace
                WHERE o.opcdefault AND o.opcintype = k.atttypid ORDER BY m.amname LIMIT 1),
            CASE WHEN t.typtype IN ('e', 'r', 'm') OR t.typcategory = 'A' OR t.oid = 'varchar'::regtype
                THEN 'OPERATOR(pg_catalog.=)' END) END AS equal
        FROM key_columns k JOIN pg_type t ON t.oid = k.atttypid
    ), changed AS (
        SELECT coalesce(string_agg(
            CASE WHEN c.equal IS NULL
                THEN format('ROW(%s)::pg_catalog.text OPERATOR(pg_catalog.<>) ROW(%s)::pg_catalog.text', tutti.exact(c.atttypid, format('OLD.%I', c.attname)),
                    tutti.exact(c.atttypid, format('NEW.%I', c.attname)))
                ELSE format('(OLD.%1$I %2$s NEW.%1$I) IS NOT TRUE AND (OLD.%1$I IS NOT NULL OR NEW.%1$I IS NOT NULL)',
                    c.attname, c.equal) END,
            ' OR ' ORDER BY c.attnum), 'false') AS condition
        FROM compared c
    ), large AS (
        SELECT string_agg(format('pg_catalog.pg_column_toast_chunk_id(NEW.%I) IS NULL', l.name), ' AND ' ORDER BY l.place) AS none,
            string_agg(format($text$
            CASE WHEN pg_catalog.pg_column_toast_chunk_id(NEW.%1$I) OPERATOR(pg_catalog.=) pg_catalog.pg_column_toast_chunk_id(OLD.%1$I)
                THEN '%2$s,' WHEN pg_catalog.pg_column_toast_chunk_id(NEW.%1$I) IS NOT NULL
                    AND pg_catalog.pg_column_size(NEW.%1$I) OPERATOR(pg_catalog.=) pg_catalog.pg_column_size(OLD.%1$I)
                    AND ROW(NEW.%1$I)::pg_catalog.record OPERATOR(pg_catalog.*=) ROW(OLD.%1$I)::pg_catalog.record
                THEN '%2$s,' END$text$, l.name, l.place), ',' ORDER BY l.place) AS same
        FROM tutti.large_columns(table_oid) l
    ), left_out AS (
        SELECT string_agg(format(p.pattern, tutti.exact(a.atttypid, format('OLD.%I', a.attname)), l.place), ', ' ORDER BY a.attnum) AS before,
            string_agg(format(p.pattern, tutti.exact(a.atttypid, format('NEW.%I', a.attname)), l.place), ', ' ORDER BY a.attnum) AS after
        FROM pg_attribute a LEFT JOIN tutti.large_columns(table_oid) l ON l.name = a.attname
            CROSS JOIN LATERAL (SELECT CASE WHEN a.attgenerated = 'v' THEN 'NULL' WHEN l.place IS NULL THEN '%1$s'
                ELSE 'CASE WHEN pg_catalog.strpos(same, '',%2$s,'') OPERATOR(pg_catalog.=) 0 THEN %1$s END' END) p(pattern)
        WHERE a.attrelid = table_oid AND a.attnum > 0 AND NOT a.attisdropped
    ), versions AS (
        SELECT tutti.exact_row(table_oid, 'OLD') AS before, tutti.exact_row(table_oid, 'NEW') AS after
    ), others AS (
        SELECT CASE WHEN after <> 'NEW' THEN format($text$
    IF TG_OP OPERATOR(pg_catalog.=) 'INSERT' THEN
        RETURN <append before>pg_catalog.concat(pg_catalog.current_setting(name, true), 'i', TG_RELID, %s)<append after>;
    ELSIF TG_OP OPERATOR(pg_catalog.=) 'DELETE' THEN
        RETURN <append before>pg_catalog.concat(pg_catalog.current_setting(name, true),
            CASE WHEN <own version> THEN pg_catalog.concat('e', TG_RELID, OLD.ctid) ELSE pg_catalog.concat('d', TG_RELID) END,
            %s)<append after>;
    END IF;$text$, after, before) END AS told FROM versions
    ), whole AS (
        SELECT format($text$RETURN <append before>pg_catalog.concat(pg_catalog.current_setting(name, true),
                CASE WHEN %s OR <own version>
                    THEN pg_catalog.concat('x', TG_RELID, '-;', OLD.ctid, NEW.ctid, %s)
                    ELSE pg_catalog.concat('w', TG_RELID, '-;', NEW.ctid) END,
                %s)<append after>;$text$, changed.condition, versions.before, versions.after) AS tells FROM changed, versions
    )
    SELECT CASE WHEN u.key IS NULL OR large.same IS NULL THEN format($text$
BEGIN
    <pass what is seen in band>
    DECLARE
        name pg_catalog.text := pg_catalog.current_setting('<mark>');
    BEGIN%4$s
        RETURN <append before>pg_catalog.concat(pg_catalog.current_setting(name, true),
                CASE WHEN %1$s OR <own version>
                    THEN pg_catalog.concat('k', TG_RELID, %2$s) ELSE pg_catalog.concat('f', TG_RELID) END,
                %3$s)<append after>;
    END;
END
$text$, CASE WHEN u.key IS NULL THEN 'true' ELSE condition END, versions.before, versions.after, others.told) ELSE format($text$
BEGIN
    <pass what is seen in band>
    DECLARE
        name pg_catalog.text := pg_catalog.current_setting('<mark>');
        same pg_catalog.text;
    BEGIN%7$s
    IF %5$s THEN
        %6$s
    END IF;
    same := CASE WHEN pg_catalog.substr(name, 8, 1) OPERATOR(pg_catalog.=) 'w' OR %1$s THEN ',' ELSE pg_catalog.concat(',', %2$s) END;
    IF same OPERATOR(pg_catalog.=) ',' THEN
        %6$s
    END IF;
    RETURN <append before>pg_catalog.concat(pg_catalog.current_setting(name, true),
                CASE WHEN <own version>
                    THEN pg_catalog.concat('x', TG_RELID, '-', same, ';', OLD.ctid, NEW.ctid, ROW(%3$s))
                    ELSE pg_catalog.concat('w', TG_RELID, '-', same, ';', NEW.ctid) END,
                ROW(%4$s))<append after>;
    END;
END
$text$, condition, large.same, left_out.before, left_out.after, large.none, whole.tells, others.told) END
        FROM changed, large, left_out, versions, others, whole, tutti.user_tables u WHERE u.table_oid = $1
$function$;

-- The tables for whose rows code of a user's may be called when they are written: in constraints, domains, indexes, columns that are computed, types. NULL if that
-- may be all. What is reached is walked once for all tables (docs/decisions/0087).
CREATE OR REPLACE FUNCTION tutti.tables_with_users_code() RETURNS oid[] LANGUAGE plpgsql STABLE <fixed settings> AS $function$
BEGIN
    IF NOT EXISTS (SELECT FROM tutti.suspects) THEN
        RETURN '{}';
    END IF;
    RETURN (WITH reached AS MATERIALIZED (SELECT * FROM tutti.reached)
        SELECT CASE WHEN NOT EXISTS (SELECT FROM reached r LEFT JOIN pg_constraint c ON r.classid = 'pg_constraint'::regclass AND c.oid = r.objid
                LEFT JOIN pg_type t ON r.classid = 'pg_type'::regclass AND t.oid = r.objid
            WHERE r.classid IN ('pg_operator'::regclass, 'pg_cast'::regclass, 'pg_amproc'::regclass) OR t.typtype IN ('d', 'r', 'm', 'b')
                OR c.contypid <> 0)
        THEN ARRAY(
            SELECT c.conrelid FROM reached r JOIN pg_constraint c ON c.oid = r.objid WHERE r.classid = 'pg_constraint'::regclass
            UNION SELECT coalesce(i.indrelid, r.objid) FROM reached r LEFT JOIN pg_index i ON i.indexrelid = r.objid
                WHERE r.classid = 'pg_class'::regclass
            UNION SELECT d.adrelid FROM tutti.suspects s
                JOIN pg_depend o ON o.refclassid = 'pg_proc'::regclass AND o.refobjid = s.oid AND o.classid = 'pg_attrdef'::regclass
                JOIN pg_attrdef d ON d.oid = o.objid
                JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum AND a.attgenerated <> '') END);
END
$function$;

-- How many rows the transaction has changed, those of catalogs included, also in what was rolled back.
CREATE OR REPLACE FUNCTION tutti.rows_written() RETURNS int8 LANGUAGE sql <fixed settings> AS $function$
    SELECT sum(n_tup_ins + n_tup_upd + n_tup_del)::int8 FROM pg_stat_xact_all_tables WHERE schemaname <> 'pg_toast'
$function$;

-- How a function of ours says that one of a user's has changed something where rows of this table are written.
CREATE OR REPLACE FUNCTION tutti.refuse_changing_check(name text) RETURNS text LANGUAGE sql IMMUTABLE <fixed settings> AS $function$
    SELECT format($text$RAISE EXCEPTION USING ERRCODE = '0A000', MESSAGE = %L,
            HINT = 'Change other rows in a trigger, which fires at one node.';$text$,
        concat('a function that is called when rows of table ', name, ' are written has changed something itself'))
$function$;

-- The row NEW as another node has it, in a FROM: read from its text, and with its virtual columns, which stand in no row.
CREATE OR REPLACE FUNCTION tutti.row_elsewhere(table_oid oid) RETURNS text LANGUAGE sql STABLE <fixed settings> AS $function$
    SELECT CASE WHEN EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = table_oid AND a.attgenerated = 'v')
            THEN format('(SELECT %s FROM %s AS %I)', (SELECT string_agg(CASE a.attgenerated WHEN 'v'
                        THEN format('CAST(%s AS %s) AS %I', pg_get_expr(e.adbin, e.adrelid), format_type(a.atttypid, a.atttypmod), a.attname)
                        ELSE quote_ident(a.attname) END, ', ' ORDER BY a.attnum)
                    FROM pg_attribute a LEFT JOIN pg_attrdef e ON a.attgenerated = 'v' AND e.adrelid = a.attrelid AND e.adnum = a.attnum
                    WHERE a.attrelid = table_oid AND a.attnum > 0 AND NOT a.attisdropped), plain.row, c.relname)
            ELSE plain.row END
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            CROSS JOIN LATERAL (SELECT format('pg_catalog.unnest(ARRAY[%s::pg_catalog.text::%I.%I])', tutti.exact_row(table_oid, 'NEW'), n.nspname, c.relname)) plain(row)
        WHERE c.oid = table_oid
$function$;

<computed>
-- The function of the trigger that calls, at the node of the client, what the others will call for a row, as they will, reads what they will read, checks what they will check, and computes what
-- they will compute; NULL if there is nothing of that (tutti.check_fires). It refuses the row if that changes anything. Whether it may have is told by the end of the log, which costs nothing to ask for; that others may
-- have moved, so it is tried once more with counters.
CREATE OR REPLACE FUNCTION tutti.check_function(table_oid oid, watched boolean) RETURNS text LANGUAGE plpgsql STABLE <fixed settings> AS $function$
BEGIN
    RETURN (WITH called AS (
        SELECT c.conbin AS tree, c.conrelid AS relation FROM pg_constraint c WHERE c.conrelid = table_oid AND c.contype = 'c'
        UNION ALL SELECT i.indexprs, i.indrelid FROM pg_index i WHERE i.indrelid = table_oid AND i.indexprs IS NOT NULL
        UNION ALL SELECT i.indpred, i.indrelid FROM pg_index i WHERE i.indrelid = table_oid AND i.indpred IS NOT NULL
    ), calls AS (
        SELECT concat(tutti.reread_old(c.oid), tutti.compare_checks(c.oid), format('PERFORM ROW(%s) FROM %s AS %I;', (SELECT string_agg(
                pg_get_expr(tree, relation), ', ') FROM called WHERE tree::text !~ CASE WHEN starts_with(e.row, '(') THEN ':varattno (?:-|0 )' ELSE ':varattno -' END), e.row, c.relname),
                tutti.compare_computed(c.oid)) AS text,
            format('%I.%I', n.nspname, c.relname) AS name
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace CROSS JOIN LATERAL tutti.row_elsewhere(c.oid) e(row) WHERE c.oid = table_oid
    )
    SELECT format($text$
#variable_conflict use_column
DECLARE
    log_end pg_catalog.pg_lsn := pg_catalog.pg_current_wal_insert_lsn();
    others pg_catalog.int8;
    made pg_catalog.text[];
    told pg_catalog.text[];
BEGIN
    %1$s
    IF pg_catalog.pg_current_wal_insert_lsn() OPERATOR(pg_catalog.<>) log_end THEN
        others := tutti.rows_written();
        %1$s
        IF tutti.rows_written() OPERATOR(pg_catalog.<>) others THEN
            %2$s
        END IF;
    END IF;
    RETURN NULL;
END
$text$, calls.text, tutti.refuse_changing_check(calls.name))
        FROM calls WHERE (tutti.check_fires(table_oid, watched)).events IS NOT NULL);
END
$function$;

-- The functions that write rows which another node has captured, as many as the text of an array of rows holds and says in its bounds
-- ([1:2]={...}), or the one row that their second parameter is. They return how many there were, and fail if these are others than so
-- many: nobody need look before the commit. Their first parameter is the secret. Nothing in them but the owner's own
-- code depends on the session: operators are those of the key, and rows become values inside.
--
-- A function that assigns some columns is told by its third parameter which, a bit for each. One function for all sets of columns: what a
-- column is assigned that is not among them is what it has, which of a large value is a pointer, and neither read nor written anew.
--
-- Where code of a user's may be called for them (`watched`), it must not change anything: its node has told what it changed there, and here it would do so once more.
-- What is computed for them must be what their node has computed.
--
-- Without a key a row is deleted that has the same text, column by column; which one of several does not matter, since nothing can tell
-- them apart. Columns of common types are compared as values first, which costs less.
CREATE OR REPLACE FUNCTION tutti.apply_functions(table_oid oid, watched boolean) RETURNS TABLE (name text, source text, settings text[])
    LANGUAGE sql STABLE ROWS 8 -- so that each is looked for in pg_proc, which has as many for every other table
    <fixed settings> AS $function$
    WITH this AS (
        SELECT format('%I.%I', n.nspname, c.relname) AS name
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = table_oid
    ), lists AS (
        SELECT string_agg(format('%I', a.attname), ', ' ORDER BY a.attnum) FILTER (WHERE a.attgenerated = '') AS given,
            string_agg(format('r.%I', a.attname), ', ' ORDER BY a.attnum) FILTER (WHERE a.attgenerated = '') AS given_row,
            string_agg(tutti.exact(a.atttypid, format('r.%I', a.attname)), ', ' ORDER BY a.attnum) FILTER (WHERE a.attgenerated = '') AS given_text,
            coalesce(string_agg(format('%1$I = r.%1$I', a.attname), ', ' ORDER BY a.attnum)
                FILTER (WHERE a.attgenerated = '' AND a.attidentity <> 'a'), '') AS assigned,
            string_agg(format('%1$I = CASE WHEN pg_catalog.get_bit($3, %2$s) OPERATOR(pg_catalog.=) 1 THEN r.%1$I ELSE t.%1$I END', a.attname, a.place),
                ', ' ORDER BY a.attnum) FILTER (WHERE a.attgenerated = '' AND a.attidentity <> 'a') AS chosen,
            string_agg(tutti.exact(a.atttypid, format('t.%I', a.attname)), ', ' ORDER BY a.attnum) FILTER (WHERE a.attgenerated = '') AS stored_text,
            coalesce(string_agg(format('(t.%1$I OPERATOR(pg_catalog.=) r.%1$I OR t.%1$I IS NULL AND r.%1$I IS NULL) AND ',
                a.attname), '' ORDER BY a.attnum) FILTER (WHERE a.attgenerated = '' AND a.atttypid IN ('bool'::regtype,
                'int2'::regtype, 'int4'::regtype, 'int8'::regtype, 'uuid'::regtype, 'date'::regtype, 'timestamp'::regtype,
                'timestamptz'::regtype)), '') AS alike
        FROM (SELECT *, row_number() OVER (ORDER BY attnum) - 1 AS place FROM pg_attribute
            WHERE attrelid = table_oid AND attnum > 0 AND NOT attisdropped) a
    ), key AS (
        SELECT string_agg(format('t.%1$I OPERATOR(%2$I.%3$s) r.%1$I', a.attname, n.nspname, p.oprname), ' AND ' ORDER BY k.place)
                AS same
        FROM pg_index i, unnest(i.indkey::int2[], i.indclass::oid[]) WITH ORDINALITY k(attnum, opclass, place)
            JOIN pg_opclass o ON o.oid = k.opclass
            JOIN pg_amop e ON e.amopfamily = o.opcfamily AND e.amoplefttype = o.opcintype
                AND e.amoprighttype = o.opcintype AND e.amopstrategy = 3
            JOIN pg_operator p ON p.oid = e.amopopr JOIN pg_namespace n ON n.oid = p.oprnamespace, pg_attribute a
        WHERE i.indexrelid = (SELECT u.key FROM tutti.user_tables u WHERE u.table_oid = $1)
            AND a.attrelid = $1 AND a.attnum = k.attnum AND k.place <= i.indnkeyatts
    ), parameter AS (
        SELECT $text$CASE WHEN pg_catalog.sha256($1) OPERATOR(pg_catalog.=) <secret_hash>::pg_catalog.bytea
            THEN pg_catalog.convert_from($2, 'UTF8') END$text$ AS text
    ), statements AS (
        SELECT 'insert' AS operation, '' AS variable, format(
                'INSERT INTO %s AS t (%s) OVERRIDING SYSTEM VALUE SELECT %s FROM pg_catalog.unnest((%s)::%s[]) AS r',
                this.name, given, given_row, parameter.text, this.name) AS sql
            FROM this, lists, parameter
        UNION ALL
        SELECT 'update', '', format('UPDATE ONLY %s AS t SET %s FROM pg_catalog.unnest((%s)::%s[]) AS r WHERE %s',
                this.name, assigned, parameter.text, this.name, same) FROM this, lists, key, parameter
            WHERE assigned <> '' AND same IS NOT NULL
        UNION ALL
        SELECT 'columns', '', format('UPDATE ONLY %s AS t SET %s FROM pg_catalog.unnest((%s)::%s[]) AS r WHERE %s',
                this.name, chosen, parameter.text, this.name, same) FROM this, lists, key, parameter
            WHERE assigned <> '' AND same IS NOT NULL
        UNION ALL
        SELECT 'columns_one', format('r %1$s := (%2$s)::%1$s;', this.name, parameter.text),
                format('UPDATE ONLY %s AS t SET %s WHERE %s', this.name, chosen, same)
            FROM this, lists, key, parameter WHERE assigned <> '' AND same IS NOT NULL
        UNION ALL
        SELECT 'delete', '', format('DELETE FROM ONLY %s AS t USING pg_catalog.unnest((%s)::%s[]) AS r WHERE %s',
                this.name, parameter.text, this.name, same) FROM this, key, parameter WHERE same IS NOT NULL
        UNION ALL
        SELECT 'delete', '', format($text$DELETE FROM ONLY %1$s AS t WHERE t.ctid OPERATOR(pg_catalog.=) ANY (ARRAY(
            SELECT found.place FROM (
                SELECT t.ctid AS place, ROW(%2$s)::pg_catalog.text AS words, pg_catalog.row_number()
                        OVER (PARTITION BY ROW(%2$s)::pg_catalog.text) AS number FROM ONLY %1$s AS t) AS found
                JOIN (SELECT ROW(%3$s)::pg_catalog.text AS words, pg_catalog.count(*) AS number
                        FROM pg_catalog.unnest((%4$s)::%1$s[]) AS r GROUP BY ROW(%3$s)::pg_catalog.text) AS given
                ON given.words OPERATOR(pg_catalog.=) found.words
                    AND found.number OPERATOR(pg_catalog.<=) given.number))$text$,
                this.name, stored_text, given_text, parameter.text) FROM this, lists, key, parameter WHERE same IS NULL
        UNION ALL
        SELECT 'delete_one', format('r %1$s := (%2$s)::%1$s;', this.name, parameter.text),
                format($text$DELETE FROM ONLY %1$s AS t WHERE t.ctid OPERATOR(pg_catalog.=) (SELECT t.ctid FROM ONLY %1$s AS t
                    WHERE %2$sROW(%3$s)::pg_catalog.text OPERATOR(pg_catalog.=) ROW(%4$s)::pg_catalog.text LIMIT 1)$text$,
                this.name, alike, stored_text, given_text) FROM this, lists, key, parameter WHERE same IS NULL
        UNION ALL
        SELECT 'update_one', format('r %1$s := (%2$s)::%1$s;', this.name, parameter.text),
                format('UPDATE ONLY %s AS t SET %s WHERE %s', this.name, assigned, same)
            FROM this, lists, key, parameter WHERE assigned <> '' AND same IS NOT NULL
        UNION ALL
        SELECT 'delete_one', format('r %1$s := (%2$s)::%1$s;', this.name, parameter.text),
                format('DELETE FROM ONLY %s AS t WHERE %s', this.name, same) FROM this, key, parameter WHERE same IS NOT NULL
    ), whole(settings) AS (
        SELECT ARRAY['DateStyle=ISO, MDY', 'extra_float_digits=1',
            'bytea_output=hex', 'xmlbinary=base64', 'IntervalStyle=postgres', 'lc_monetary=C']
    ), guard AS (
        SELECT CASE WHEN watched THEN concat(chr(10), '    others pg_catalog.int8 := tutti.rows_written();') ELSE '' END AS before,
            CASE WHEN watched THEN format($text$
    IF (tutti.rows_written() OPERATOR(pg_catalog.-) others) OPERATOR(pg_catalog.<>) counted THEN
        %s
    END IF;$text$, tutti.refuse_changing_check(this.name)) ELSE '' END AS after
        FROM this
    ), computed AS (
        SELECT string_agg(format('ROW(t.%I)::pg_catalog.text', c.name), ', ' ORDER BY c.place) AS made,
            string_agg(format('ROW(r.%I)::pg_catalog.text', c.name), ', ' ORDER BY c.place) AS told
        FROM tutti.computed_columns(table_oid) c
    ), executed AS (
        SELECT s.operation, s.variable, compared, CASE WHEN compared
            THEN format('WITH written AS (%s RETURNING ARRAY[%s] AS made, %s AS told) SELECT pg_catalog.count(*), pg_catalog.array_agg(w.made), '
                    '%s INTO counted, made, told FROM written AS w', s.sql, c.made,
                CASE s.operation WHEN 'insert' THEN 'NULL' ELSE format('ARRAY[%s]', c.told) END,
                CASE s.operation WHEN 'insert' THEN format('(SELECT pg_catalog.array_agg(ARRAY[%s]) FROM pg_catalog.unnest((%s)::%s[]) AS r)',
                    c.told, p.text, this.name) ELSE 'pg_catalog.array_agg(w.told)' END)
            ELSE concat(s.sql, '; GET DIAGNOSTICS counted = ROW_COUNT') END AS sql
        FROM statements s, computed c, parameter p, this, LATERAL (SELECT c.made IS NOT NULL AND s.operation NOT LIKE 'delete%') k(compared)
    )
    SELECT concat('apply_check_', table_oid), checks, whole.settings FROM whole, tutti.check_function(table_oid, watched) checks WHERE checks IS NOT NULL
    UNION ALL
    SELECT concat('apply_', operation, '_', table_oid), format($text$
#variable_conflict use_variable
DECLARE
    %s
    counted pg_catalog.int8;%s
BEGIN
    %s;%s
    IF counted OPERATOR(pg_catalog.<>) %s THEN
        RAISE EXCEPTION USING ERRCODE = 'XX001', MESSAGE = pg_catalog.concat(%L, %s, ' rows, the engine says ', counted,
            ': this replica differs from the others');
    END IF;%s
    RETURN counted;
END
$text$, variable, concat(guard.before, CASE WHEN compared THEN '
    made pg_catalog.text[];
    told pg_catalog.text[];' END), sql, guard.after, expected.rows, concat(replace(upper(split_part(operation, '_', 1)), 'COLUMNS', 'UPDATE'), ' of table ', this.name,
        ' should have met '), expected.rows, CASE WHEN compared THEN tutti.refuse_computed_call(table_oid) END), CASE WHEN operation <> 'insert' AND same IS NULL THEN whole.settings END
        FROM this, executed, key, LATERAL (SELECT CASE WHEN variable <> '' THEN '1'
            ELSE $text$pg_catalog.split_part(pg_catalog.encode(pg_catalog.substr($2, 4, 8), 'escape'), ']', 1)::pg_catalog.int8$text$
            END AS rows) expected, guard, whole
$function$;

-- Whether no code but the server's own runs when rows are written, as far as can be seen at a glance: columns of plain types, and no
-- constraint, index, trigger or statistics that compute anything.
CREATE OR REPLACE FUNCTION tutti.runs_no_code(table_oid oid) RETURNS boolean LANGUAGE sql STABLE
    <fixed settings> AS $function$
    SELECT NOT EXISTS (SELECT FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
            WHERE a.attrelid = table_oid AND a.attnum > 0 AND NOT a.attisdropped
                AND (a.attgenerated <> '' OR t.typtype <> 'e' AND (t.typtype <> 'b' OR t.typcategory = 'A'
                    OR t.typnamespace <> 'pg_catalog'::regnamespace OR t.typname IN ('interval', 'money', 'xml'))))
        AND NOT EXISTS (SELECT FROM pg_constraint c WHERE c.conrelid = table_oid AND c.contype IN ('c', 'x'))
        AND NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = table_oid
            AND (i.indexprs IS NOT NULL OR i.indpred IS NOT NULL OR EXISTS (SELECT FROM pg_opclass o
                WHERE o.oid = ANY (i.indclass) AND o.opcnamespace <> 'pg_catalog'::regnamespace))
            AND NOT tutti.is_guard(i))
        AND NOT EXISTS (SELECT FROM pg_statistic_ext s WHERE s.stxrelid = table_oid AND s.stxexprs IS NOT NULL)
        AND NOT EXISTS (SELECT FROM pg_trigger g WHERE g.tgrelid = table_oid AND NOT g.tgisinternal
            AND g.tgenabled IN ('R', 'A'))
        AND NOT EXISTS (SELECT FROM pg_rewrite r WHERE r.ev_class = table_oid AND r.ev_enabled IN ('R', 'A'))
        AND NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = table_oid AND c.relispartition)
$function$;

-- Whether a table's owner can write all of its rows.
CREATE OR REPLACE FUNCTION tutti.owner_writes(t pg_class) RETURNS boolean LANGUAGE sql STABLE <fixed settings> AS $function$
    SELECT (SELECT rolsuper FROM pg_roles WHERE oid = t.relowner) OR NOT t.relforcerowsecurity AND has_schema_privilege(t.relowner, t.relnamespace, 'USAGE')
        AND (SELECT bool_and(has_table_privilege(t.relowner, t.oid, p)) FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) p)
$function$;

-- Who writes a table's rows that another node has captured, and under which settings. Code runs as the owner, whatever it runs
-- under at the node that captured; the search path is the one that his own sessions begin with.
CREATE OR REPLACE FUNCTION tutti.applied_as(table_oid oid, OUT owner name, OUT settings text[]) LANGUAGE plpgsql STABLE
    <fixed settings> AS $function$
DECLARE
    plain boolean := tutti.runs_no_code(table_oid);
    t pg_class%ROWTYPE;
    path text;
BEGIN
    SELECT * INTO STRICT t FROM pg_class WHERE oid = table_oid;
    owner := pg_get_userbyid(t.relowner);
    IF EXISTS (SELECT FROM pg_cast k JOIN pg_type y ON y.oid = t.reltype
            WHERE k.castsource = 'text'::regtype AND k.casttarget IN (y.oid, y.typarray)) THEN
        RAISE EXCEPTION USING ERRCODE = '0A000',
            MESSAGE = format('a cast from text to rows of table %s cannot be replicated', t.oid::regclass),
            DETAIL = 'Replicas get its rows as texts, and would read them by this cast.',
            HINT = 'Call the function by its name instead.';
    END IF;
    IF NOT plain THEN
        SELECT substr(entry, 13) INTO path FROM pg_db_role_setting s, unnest(s.setconfig) entry
            WHERE starts_with(entry, 'search_path=') AND s.setrole IN (0, t.relowner)
                AND s.setdatabase IN (0, (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()))
            ORDER BY s.setrole = 0, s.setdatabase = 0 LIMIT 1;
        IF path IS NULL OR path !~ '^("[^",]*"|[a-z_0-9$]+)(, *("[^",]*"|[a-z_0-9$]+))*$' THEN
            path := '"$user", public';
        END IF;
        SELECT ARRAY[concat('search_path=', string_agg(quote_ident(btrim(part, ' "')), ', '), ', pg_temp'),
            'IntervalStyle=postgres', 'lc_monetary=C', 'array_nulls=on', 'xmloption=content'] INTO settings
            FROM unnest(string_to_array(path, ',')) part;
        -- drivers set it, and the node of the client is to compute and to check as the others do
        IF tutti.checks_vary(table_oid) THEN
            settings := settings || ARRAY['TimeZone=UTC', 'lc_time=C', 'lc_numeric=C', 'default_text_search_config=pg_catalog.simple'];
        ELSIF EXISTS (SELECT FROM tutti.computed_columns(table_oid)) THEN
            settings := settings || 'TimeZone=UTC'::text;
        END IF;
    END IF;
    IF NOT tutti.owner_writes(t) THEN
        IF NOT plain THEN
            RAISE EXCEPTION USING ERRCODE = '0A000',
                MESSAGE = format('table %s cannot be replicated: its owner %I cannot write all of its rows', t.oid::regclass, owner),
                DETAIL = 'Replicas write its rows as its owner, since its constraints, columns, indexes or triggers may run code.',
                HINT = format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO %I, GRANT USAGE ON its schema, and do not FORCE ROW '
                    'LEVEL SECURITY.', t.oid::regclass, owner);
        END IF;
        owner := current_user;
    END IF;
    IF EXISTS (SELECT FROM pg_trigger g WHERE g.tgrelid = table_oid AND NOT g.tgisinternal AND g.tgenabled IN ('R', 'A')
            AND (g.tgtype & 32) <> 0) THEN
        RAISE EXCEPTION USING ERRCODE = '0A000',
            MESSAGE = format('the TRUNCATE trigger on %s cannot be enabled for replicas', t.oid::regclass),
            DETAIL = 'Replicas would run it with the rights of the node.',
            HINT = 'ALTER TABLE ... ENABLE TRIGGER: it then runs once, at the node that executes the TRUNCATE.';
    END IF;
END
$function$;

-- Whether those may call a function that applies a table's rows who should: its owner and the appliers, and of a trigger's function its owner alone.
CREATE OR REPLACE FUNCTION tutti.rightly_called(p pg_proc) RETURNS boolean LANGUAGE sql STABLE <fixed settings> AS $function$
    SELECT NOT EXISTS (SELECT FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) g WHERE g.grantee NOT IN (p.proowner, '<applier>'::regrole))
        AND has_function_privilege('<applier>', p.oid, 'EXECUTE') <> starts_with(p.proname, 'apply_check_')
$function$;

-- Tables whose rows are applied by another role than should apply them, or by functions that others may call than should: rights that are granted or revoked name
-- no table, and change nothing else of what is kept for one.
CREATE OR REPLACE FUNCTION tutti.otherwise_applied() RETURNS oid[] LANGUAGE sql STABLE <fixed settings> AS $function$
    WITH writer AS MATERIALIZED (
        SELECT u.table_oid, CASE WHEN tutti.owner_writes(c) THEN c.relowner ELSE current_user::regrole::oid END AS role
        FROM tutti.user_tables u JOIN pg_class c ON c.oid = u.table_oid
    )
    SELECT coalesce(array_agg(DISTINCT w.table_oid), '{}') FROM pg_proc p JOIN writer w ON w.table_oid = substring(p.proname FROM '[0-9]+$')::oid
    WHERE p.pronamespace = 'tutti'::regnamespace AND p.proname ~ '^apply_[a-z_]+_[0-9]+$' AND (p.proowner <> w.role OR NOT tutti.rightly_called(p))
$function$;

-- Makes the functions that apply a table's rows as they should be.
CREATE OR REPLACE FUNCTION tutti.adopt_application(table_oid oid, watched boolean) RETURNS void LANGUAGE plpgsql
    <fixed settings> SET check_function_bodies = off AS $function$
DECLARE
    applied record := tutti.applied_as(table_oid);
    f record;
    given record;
    parameters text;
BEGIN
    FOR f IN SELECT a.name, a.source, s.settings FROM tutti.apply_functions(table_oid, watched) a
                CROSS JOIN LATERAL (SELECT CASE WHEN applied.settings IS NULL THEN a.settings WHEN a.settings IS NULL
                    THEN applied.settings ELSE a.settings[:4] || applied.settings END AS settings) s
                LEFT JOIN pg_proc p ON p.pronamespace = 'tutti'::regnamespace AND p.proname = a.name
            WHERE p.oid IS NULL OR p.prosrc <> a.source OR NOT p.prosecdef OR p.proconfig IS DISTINCT FROM s.settings
                OR pg_get_userbyid(p.proowner) <> applied.owner
                OR NOT tutti.rightly_called(p) LOOP
        parameters := CASE WHEN starts_with(f.name, 'apply_check_') THEN ''
            WHEN starts_with(f.name, 'apply_columns') THEN 'bytea, bytea, bytea' ELSE 'bytea, bytea' END;
        EXECUTE format('CREATE OR REPLACE FUNCTION tutti.%I(%s) RETURNS %s LANGUAGE plpgsql '
                'SECURITY DEFINER %s AS %L',
            f.name, parameters, CASE parameters WHEN '' THEN 'trigger' ELSE 'int8' END,
            (SELECT string_agg(format('SET %I = %s', split_part(s, '=', 1), CASE WHEN starts_with(s, 'search_path=')
                    THEN substr(s, 13) ELSE quote_literal(split_part(s, '=', 2)) END), ' ') FROM unnest(f.settings) s),
            f.source);
        -- Whoever else may call one has the table's triggers and rules for statements run with its owner's rights, though it has no rows without the secret. A
        -- trigger's function is called by its trigger; who might call it could make one of his own with it.
        FOR given IN SELECT DISTINCT CASE g.grantee WHEN 0 THEN 'PUBLIC' ELSE g.grantee::regrole::text END AS role
                FROM pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) g
                WHERE p.oid = format('tutti.%I(%s)', f.name, parameters)::regprocedure AND g.grantee <> p.proowner LOOP
            EXECUTE format('REVOKE ALL ON FUNCTION tutti.%I(%s) FROM %s CASCADE', f.name, parameters, given.role);
        END LOOP;
        IF parameters <> '' THEN
            EXECUTE format('GRANT EXECUTE ON FUNCTION tutti.%I(%s) TO %I', f.name, parameters, '<applier>');
        END IF;
        EXECUTE format('ALTER FUNCTION tutti.%I(%s) OWNER TO %I', f.name, parameters, applied.owner);
        PERFORM tutti.make_part(format('tutti.%I(%s)', f.name, parameters)::regprocedure, table_oid);
    END LOOP;
END
$function$;

-- Empties tables, given by their object ids. As a superuser: TRUNCATE runs no code but triggers, and none may be enabled here.
CREATE OR REPLACE FUNCTION tutti.apply_truncate(secret bytea, tables text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
    <fixed settings> AS $function$
BEGIN
    <refuse without the secret>
    EXECUTE concat('TRUNCATE ', (SELECT string_agg(format('ONLY %s', oid::oid::regclass), ', ')
        FROM unnest(string_to_array(tables, ' ')) oid));
END
$function$;

-- Lets the session's role take this one until end_as(), or until the transaction's end.
CREATE OR REPLACE FUNCTION tutti.begin_as(secret bytea, role_name text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
    <fixed settings> AS $function$
BEGIN
    <refuse without the secret>
    PERFORM tutti.leave_roles();
    EXECUTE format('GRANT %I TO %I WITH ADMIN FALSE, INHERIT FALSE, SET TRUE', role_name, session_user);
    IF current_setting('event_triggers', true) IS NOT NULL THEN
        PERFORM set_config('event_triggers', 'on', true);
    END IF;
END
$function$;

-- Takes back what begin_as() gave and what a statement left, and makes tables captured that it may have made.
CREATE OR REPLACE FUNCTION tutti.end_as(secret bytea) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
    <fixed settings> AS $function$
BEGIN
    <refuse without the secret>
    PERFORM tutti.leave_roles();
    IF EXISTS (SELECT FROM pg_shdepend WHERE refclassid = 'pg_authid'::regclass AND refobjid = session_user::regrole
            AND deptype = 'o') THEN
        RAISE EXCEPTION USING ERRCODE = '42501',
            MESSAGE = 'a function that the statement calls has reset its role, and made what belongs to nobody';
    END IF;
    IF session_user = '<executor>' THEN
        PERFORM tutti.check_request();
    END IF;
    PERFORM set_config('<mark>', '', true);
    -- What a schema change has made is adopted by then, except for tables of extensions, and what roles' settings change.
    PERFORM tutti.adopt(CASE WHEN EXISTS (SELECT FROM tutti.uncaptured) OR EXISTS (SELECT FROM pg_locks
            WHERE pid = pg_backend_pid() AND locktype = 'relation' AND mode = 'RowExclusiveLock'
                AND relation IN ('pg_authid'::regclass, 'pg_db_role_setting'::regclass))
        THEN NULL ELSE '{}'::oid[] END);
END
$function$;

-- The session's role is a member of none.
CREATE OR REPLACE FUNCTION tutti.leave_roles() RETURNS void LANGUAGE plpgsql <fixed settings> AS $function$
DECLARE
    g record;
BEGIN
    FOR g IN SELECT m.roleid::regrole AS role, m.grantor::regrole AS grantor FROM pg_auth_members m
            WHERE m.member = session_user::regrole LOOP
        EXECUTE format('REVOKE %s FROM %I GRANTED BY %s', g.role, session_user, g.grantor);
    END LOOP;
END
$function$;

-- What the others do when a table's rows are written is tried at the client's node, too, where it may come out otherwise (tutti.check_function).
CREATE OR REPLACE FUNCTION tutti.adopt_check(table_oid oid, watched boolean) RETURNS void LANGUAGE plpgsql <fixed settings> AS $function$
DECLARE
    function oid := to_regprocedure(format('tutti.apply_check_%s()', table_oid));
    fires CONSTANT record := tutti.check_fires(table_oid, watched);
    -- the trigger's argument, which tells when it fires
    asked CONSTANT text := concat(fires.events, fires.condition);
    known CONSTANT bytea := (SELECT tgargs FROM pg_trigger WHERE tgrelid = table_oid AND tgname = 'tutti_check');
BEGIN
    IF function IS NULL OR fires.events IS NULL THEN
        IF function IS NOT NULL THEN
            DELETE FROM pg_depend WHERE classid = 'pg_proc'::regclass AND objid = function AND deptype = 'i';
            EXECUTE format('DROP FUNCTION tutti.apply_check_%s() CASCADE', table_oid);
        END IF;
    ELSIF known IS DISTINCT FROM convert_to(asked, getdatabaseencoding()) || '\x00'::bytea THEN
        EXECUTE format('DROP TRIGGER IF EXISTS tutti_check ON %s', table_oid::regclass);
        EXECUTE format('CREATE TRIGGER tutti_check %s ON %s FOR EACH ROW %s EXECUTE FUNCTION tutti.apply_check_%s(%L)',
            fires.events, table_oid::regclass, fires.condition, table_oid, asked);
    END IF;
END
$function$;

<hidden>-- Makes tables captured, and keeps every sequence to this node's share. Does nothing where nothing is to be done. `changed` are the tables to look
-- at, which takes a while where there are many; NULL: all.
CREATE OR REPLACE FUNCTION tutti.adopt(changed oid[]) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
    <fixed settings> SET client_min_messages = 'error' AS $function$
DECLARE
    t record;
    f record;
    text_of_function text;
    named text;
    tells text[];
    before text := current_setting('<mark>');
    with_code oid[];
BEGIN
    PERFORM set_config('<mark>', 'tutti adopting', true);
    <<tables>>
    BEGIN
    EXIT tables WHEN changed = '{}'; -- the queries would find nothing, and take longer than a request that all nodes execute
    IF EXISTS (SELECT FROM pg_trigger g JOIN pg_proc p ON p.oid = g.tgfoid
            WHERE (changed IS NULL OR g.tgrelid = ANY (changed))
                AND NOT g.tgisinternal AND g.tgname LIKE 'tutti\_%' AND p.pronamespace <> 'tutti'::regnamespace) THEN
        RAISE EXCEPTION USING ERRCODE = '42939', MESSAGE = 'names of triggers that begin with tutti_ are reserved',
            HINT = 'Give the trigger another name.';
    ELSIF EXISTS (SELECT FROM pg_trigger g JOIN pg_proc p ON p.oid = g.tgfoid AND p.pronamespace = 'tutti'::regnamespace
                JOIN pg_class c ON c.oid = g.tgrelid AND c.relnamespace <> 'tutti'::regnamespace
                LEFT JOIN pg_constraint o ON o.oid = g.tgconstraint
            WHERE (changed IS NULL OR g.tgrelid = ANY (changed))
                AND (g.tgname NOT LIKE 'tutti\_%' OR o.conname <> g.tgname)) THEN
        RAISE EXCEPTION USING ERRCODE = '42939', MESSAGE = 'the node''s own triggers, and their functions, cannot be used under another name';
    END IF;
    IF EXISTS (SELECT FROM tutti.user_tables u WHERE changed IS NULL OR u.table_oid = ANY (changed)) THEN
        with_code := tutti.tables_with_users_code();
    END IF;
    FOR t IN SELECT u.*, format('%I.%I', u.schema_name, u.table_name) AS name, 'update_' || u.table_oid AS update_name,
                (SELECT array_agg(g.tgname::text || g.tgenabled::text ORDER BY g.tgname) FROM pg_trigger g
                    WHERE g.tgrelid = u.table_oid AND g.tgname LIKE 'tutti\_%' AND g.tgname <> 'tutti_check') AS triggers,
                (SELECT p.proname::text FROM pg_trigger g JOIN pg_proc p ON p.oid = g.tgfoid
                    WHERE g.tgrelid = u.table_oid AND g.tgname = 'tutti_insert') AS inserts
            FROM tutti.user_tables u WHERE changed IS NULL OR u.table_oid = ANY (changed)
            ORDER BY u.schema_name, u.table_name LOOP
        IF NOT t.has_columns THEN
            IF t.triggers IS DISTINCT FROM ARRAY['tutti_refuseO', 'tutti_truncateO'] THEN
                PERFORM tutti.drop_triggers(t.table_oid);
                EXECUTE format('CREATE TRIGGER tutti_refuse BEFORE INSERT OR UPDATE OR DELETE ON %s FOR EACH ROW '
                    'EXECUTE FUNCTION tutti.refuse_write()', t.name);
                EXECUTE format('CREATE TRIGGER tutti_truncate AFTER TRUNCATE ON %s FOR EACH STATEMENT '
                    'EXECUTE FUNCTION tutti.capture_truncate()', t.name);
            END IF;
            CONTINUE;
        END IF;
        text_of_function := tutti.update_function(t.table_oid);
        named := CASE WHEN tutti.tells_names(t.table_oid) THEN '_named' ELSE '' END;
        tells := CASE WHEN tutti.exact_row(t.table_oid, 'NEW') <> 'NEW' THEN ARRAY[t.update_name, t.update_name]
            ELSE ARRAY[concat('capture_insert', named), concat('capture_delete', named)] END;
        SELECT p.prosrc, p.proconfig IS NOT NULL AS named INTO f FROM pg_proc p
            WHERE p.pronamespace = 'tutti'::regnamespace AND p.proname = t.update_name;
        IF f.prosrc IS DISTINCT FROM text_of_function OR f.named <> (named <> '') THEN
            EXECUTE format('CREATE OR REPLACE FUNCTION tutti.%I() RETURNS trigger LANGUAGE plpgsql STABLE SECURITY DEFINER '
                '%s AS %L', t.update_name, CASE WHEN named <> '' THEN 'SET search_path = pg_catalog, pg_temp' END, text_of_function);
            EXECUTE format('REVOKE ALL ON FUNCTION tutti.%I() FROM PUBLIC', t.update_name);
            PERFORM tutti.make_part(format('tutti.%I()', t.update_name)::regprocedure, t.table_oid);
        END IF;
        IF t.triggers IS DISTINCT FROM ARRAY['tutti_deleteO', 'tutti_insertO', 'tutti_truncateO', 'tutti_updateO']
                OR t.inserts <> tells[1] THEN
            PERFORM tutti.drop_triggers(t.table_oid);
            EXECUTE format('CREATE CONSTRAINT TRIGGER tutti_insert AFTER INSERT ON %s DEFERRABLE INITIALLY DEFERRED '
                'FOR EACH ROW EXECUTE FUNCTION tutti.%I()', t.name, tells[1]);
            EXECUTE format('CREATE CONSTRAINT TRIGGER tutti_update AFTER UPDATE ON %s DEFERRABLE INITIALLY DEFERRED '
                'FOR EACH ROW EXECUTE FUNCTION tutti.%I()', t.name, t.update_name);
            EXECUTE format('CREATE CONSTRAINT TRIGGER tutti_delete AFTER DELETE ON %s DEFERRABLE INITIALLY DEFERRED '
                'FOR EACH ROW EXECUTE FUNCTION tutti.%I()', t.name, tells[2]);
            EXECUTE format('CREATE TRIGGER tutti_truncate AFTER TRUNCATE ON %s FOR EACH STATEMENT '
                'EXECUTE FUNCTION tutti.capture_truncate()', t.name);
        END IF;
        PERFORM tutti.adopt_application(t.table_oid, t.table_oid = ANY (with_code) OR with_code IS NULL);
        PERFORM tutti.adopt_check(t.table_oid, t.table_oid = ANY (with_code) OR with_code IS NULL);
    END LOOP;
    FOR f IN SELECT p.oid::regprocedure AS name FROM pg_proc p WHERE p.pronamespace = 'tutti'::regnamespace
            AND (changed IS NULL OR p.oid IN (SELECT d.objid FROM pg_depend d WHERE d.refclassid = 'pg_class'::regclass
                AND d.refobjid = ANY (changed) AND d.classid = 'pg_proc'::regclass AND d.deptype = 'i'))
            AND p.proname ~ '^(update|apply_[a-z_]+)_[0-9]+$'
            AND NOT EXISTS (SELECT FROM tutti.user_tables u WHERE u.has_columns
                AND u.table_oid = substring(p.proname FROM '[0-9]+$')::oid) LOOP
        DELETE FROM pg_depend WHERE classid = 'pg_proc'::regclass AND objid = f.name AND deptype = 'i';
        EXECUTE format('DROP FUNCTION IF EXISTS %s CASCADE', f.name);
    END LOOP;
    END;
    UPDATE pg_trigger SET tgisinternal = true WHERE tgname LIKE 'tutti\_%' AND NOT tgisinternal;
    PERFORM tutti.adopt_sequences();
    PERFORM tutti.adopt_exposed();
    IF EXISTS (SELECT FROM tutti.placed) THEN
        PERFORM tutti.settle_placed();
    END IF;
    PERFORM set_config('<mark>', before, true);
END
$function$;
CREATE OR REPLACE FUNCTION tutti.adopt() RETURNS void LANGUAGE sql <fixed settings>
    AS $function$ SELECT tutti.adopt(NULL) $function$;

<sequences>
-- As tutti.record(), for a transaction whose rows the node has seen in band: so many, and no more, may be committed without being captured.
CREATE OR REPLACE FUNCTION tutti.record_in_band(secret bytea, recorded bigint, rows_seen bigint) RETURNS void
    LANGUAGE sql SECURITY DEFINER AS $function$
    INSERT INTO tutti.applied (position) VALUES (
        CASE WHEN pg_catalog.sha256(secret) OPERATOR(pg_catalog.=) <secret_hash>::pg_catalog.bytea
                AND pg_catalog.set_config('<mark>', pg_catalog.concat('tutti.p',
                    pg_catalog.setval_here('tutti.counted'::pg_catalog.regclass, 1) OPERATOR(pg_catalog.+) rows_seen), true) IS NOT NULL
            THEN recorded ELSE tutti.refuse_secret()::pg_catalog.int8 END)
$function$;

CREATE OR REPLACE FUNCTION tutti.drop_triggers(table_oid oid) RETURNS void LANGUAGE plpgsql
    <fixed settings> AS $function$
DECLARE
    g record;
BEGIN
    FOR g IN SELECT tgname FROM pg_trigger WHERE tgrelid = table_oid AND tgname LIKE 'tutti\_%' LOOP
        EXECUTE format('DROP TRIGGER %I ON %s', g.tgname, table_oid::regclass);
    END LOOP;
END
$function$;

-- The watchdog's question: which tables are not captured as they should be? Empty if all is well.
CREATE OR REPLACE VIEW tutti.uncaptured AS
    SELECT u.schema_name, u.table_name FROM tutti.user_tables u
    WHERE (SELECT array_agg(g.tgname::text || g.tgenabled::text ORDER BY g.tgname) FROM pg_trigger g
            WHERE g.tgrelid = u.table_oid AND g.tgname LIKE 'tutti\_%' AND g.tgname <> 'tutti_check')
        IS DISTINCT FROM CASE WHEN u.has_columns
            THEN ARRAY['tutti_deleteO', 'tutti_insertO', 'tutti_truncateO', 'tutti_updateO']
            ELSE ARRAY['tutti_refuseO', 'tutti_truncateO'] END;

-- What clients' sessions call, at the node's request and with its secret, and what that calls as their role.
-- Default privileges of the installing role give nobody anything.
DO $block$
DECLARE
    given record;
BEGIN
    FOR given IN SELECT format('%s %s FROM %s', o.object, o.name, CASE a.grantee WHEN 0 THEN 'PUBLIC'
                ELSE a.grantee::regrole::text END) AS rights
            FROM (SELECT CASE relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END AS object, oid::regclass::text AS name, relowner AS owner,
                        relacl AS acl
                    FROM pg_class WHERE relnamespace = 'tutti'::regnamespace AND relkind IN ('r', 'v', 'S')
                UNION ALL SELECT 'FUNCTION', oid::regprocedure::text, proowner, proacl
                    FROM pg_proc WHERE pronamespace = 'tutti'::regnamespace AND proname !~ '^apply_[a-z_]+_[0-9]+$') o,
                aclexplode(o.acl) a
            WHERE a.grantee <> o.owner GROUP BY 1 LOOP
        EXECUTE format('REVOKE ALL ON %s', given.rights);
    END LOOP;
END
$block$;
GRANT SELECT ON tutti.declared_sequences, tutti.placed, tutti.placed_elsewhere TO PUBLIC;
GRANT INSERT (sequence, last, called) ON tutti.restarts TO PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA tutti FROM PUBLIC;
GRANT EXECUTE ON FUNCTION tutti.begin_as(bytea, text), tutti.end_as(bytea), tutti.apply_truncate(bytea, text), tutti.apply_notify(bytea, text, text),
    tutti.finish(bytea, text), tutti.finish_unread(bytea), tutti.open_unread(bytea), tutti.close_unread(bytea), tutti.finish_pinned(), tutti.exposed(), tutti.finish_aside(bytea, text),
    tutti.begin_aside(bytea), tutti.end_aside(bytea), tutti.open_capture(bytea, text),
    tutti.gathered(bytea), tutti.before_set_constraints(bytea), tutti.after_set_constraints(bytea),
    tutti.allow_statement(bytea, text), tutti.record(bytea, bigint), tutti.record_in_band(bytea, bigint, bigint),
    tutti.skip(bytea, bigint), tutti.grant_share(bytea, text, text, text, text),
    tutti.apply_restart(bytea, text, text, text, text), tutti.may_prepare(text),
    tutti.apply_large_object(bytea, text, text, text), tutti.apply_large_pages(bytea, text, text, bytea),
    tutti.lo_open(int4, oid), tutti.lo_create(oid), tutti.lo_from_bytea(bytea, oid), tutti.lo_put(int8, bytea, oid), tutti.lo_unlink(oid),
    tutti.refuse_import(), tutti.setval(int8, bool, regclass), tutti.give_up_session_locks(),
    tutti.apply_prepare(bytea, text, text, text, text, bytea, bytea), tutti.take_prepared(bytea, text, text, text),
    tutti.check_prepared(bytea), tutti.place(bytea, text, text), tutti.elsewhere(text, text), tutti.nodes(text),
    tutti.name_built(bytea, text, text, text), tutti.drop_built(bytea), tutti.name_alone(bytea), tutti.name_as_told(bytea, text),
    tutti.execute_shared(text), tutti.note_shared(text, text, text),
    tutti.submission(), tutti.submitted_chance(bigint), tutti.draw(integer[], regclass[], integer[]), tutti.sequence_name(regclass),
    tutti.rows_written(), tutti.position(), tutti.answer(text), tutti.refuse_computed(text, text[], text[], text[]) TO PUBLIC;

-- Roles that may read, or write, the tables of all (pg_read_all_data, pg_write_all_data) see no rows of these and add none; their owner is bound by no policy. Not of
-- restarts, which has no rows and whose trigger asks for the caller's rights: a policy would refuse setval() where row_security is off, as in what pg_dump writes.
DO $block$
DECLARE
    t record;
BEGIN
    FOR t IN SELECT oid::regclass AS name FROM pg_class WHERE relnamespace = 'tutti'::regnamespace AND relkind = 'r' AND relname <> 'restarts' LOOP
        EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', t.name);
    END LOOP;
END
$block$;
DROP POLICY IF EXISTS shown ON tutti.placed;
CREATE POLICY shown ON tutti.placed FOR SELECT USING (true);

CREATE CONSTRAINT TRIGGER pending AFTER INSERT ON tutti.pending DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION tutti.check_pending();

SELECT tutti.forget_shares(<node_index>);
SELECT set_config('tutti.origin', CASE <node_index> WHEN 0 THEN life ELSE 'none' END, true) FROM tutti.node;
SELECT tutti.adopt();
SELECT set_config('tutti.origin', '', true);
SELECT set_config('<mark>', 'tutti adopting', true);

CREATE EVENT TRIGGER tutti_before_rewrite ON table_rewrite EXECUTE FUNCTION tutti.before_rewrite();
ALTER EVENT TRIGGER tutti_before_rewrite ENABLE ALWAYS;
CREATE EVENT TRIGGER tutti_asked ON ddl_command_start EXECUTE FUNCTION tutti.tell_asked();
ALTER EVENT TRIGGER tutti_asked ENABLE ALWAYS;
CREATE EVENT TRIGGER tutti_before_schema_change ON ddl_command_start EXECUTE FUNCTION tutti.before_schema_change();
CREATE EVENT TRIGGER tutti_after_schema_change ON ddl_command_end EXECUTE FUNCTION tutti.after_schema_change();
CREATE EVENT TRIGGER tutti_after_drop ON sql_drop EXECUTE FUNCTION tutti.after_drop();
ALTER EVENT TRIGGER tutti_before_schema_change ENABLE ALWAYS;
ALTER EVENT TRIGGER tutti_after_schema_change ENABLE ALWAYS;
ALTER EVENT TRIGGER tutti_after_drop ENABLE ALWAYS;
SELECT tutti.hide();
