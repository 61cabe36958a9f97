-- Everything that Tutti keeps in a replicated database. Run by CaptureInstaller in one transaction, as a superuser, with
-- search_path = pg_catalog; may be run again at any time. Words in angle brackets are replaced before.
--
-- Row changes are captured by DEFERRED constraint triggers. They run inside tutti.finish(), which the commit pipeline
-- calls before a commit; when a commit gets past the pipeline they run all the same, find themselves not armed, and
-- refuse it. Events of rolled back subtransactions never run. docs/decisions/0003-capture.md has the measurements.

SELECT set_config('tutti.statement', 'allowed', true), set_config('tutti.adopting', 'on', true);
CREATE SCHEMA IF NOT EXISTS tutti;
GRANT USAGE ON SCHEMA tutti TO PUBLIC;

CREATE TABLE IF NOT EXISTS tutti.node (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    node_index bigint NOT NULL,
    stride bigint NOT NULL,
    armed_hash bytea NOT NULL
);
INSERT INTO tutti.node (node_index, stride, armed_hash) VALUES (<node_index>, <stride>, sha256(<secret>::bytea))
    ON CONFLICT (only_row) DO UPDATE SET node_index = excluded.node_index, stride = excluded.stride,
        armed_hash = excluded.armed_hash;

-- Sequences whose increment has been multiplied by the stride, with the product.
CREATE TABLE IF NOT EXISTS tutti.sequences (
    sequence oid PRIMARY KEY,
    increment bigint NOT NULL
);

-- Stands for a schema change inside a transaction: its deferred trigger refuses a commit past the pipeline.
CREATE UNLOGGED TABLE IF NOT EXISTS tutti.pending (
    transaction xid8 NOT NULL
);

-- The first row of a transaction, and every one after 2 KB: checks that capture is armed, and moves what has been
-- gathered to the end of a list of longer texts, so that a long text is not copied for each row. Returns what is to be gathered further.
CREATE OR REPLACE FUNCTION tutti.gather(gathered text) RETURNS text LANGUAGE plpgsql STABLE AS $function$
DECLARE
    chunks int := 0;
    bytes bigint;
    chunk text;
    ignored text;
BEGIN
    IF gathered IS NULL OR gathered OPERATOR(pg_catalog.=) '' THEN
        RAISE EXCEPTION USING ERRCODE = '55000',
            MESSAGE = 'this transaction would commit without being certified',
            DETAIL = 'Row changes are committed through a Tutti node only. COMMIT inside a procedure, SET CONSTRAINTS '
                'inside a function and direct connections to a replica do not go through it.',
            HINT = 'Connect to a Tutti node and end the transaction with COMMIT there.';
    END IF;
    bytes := pg_catalog.octet_length(gathered) OPERATOR(pg_catalog.+)
        CASE WHEN pg_catalog.current_setting('tutti.bytes', true) OPERATOR(pg_catalog.<>) ''
            THEN pg_catalog.current_setting('tutti.bytes')::pg_catalog.int8 ELSE 0 END;
    IF bytes OPERATOR(pg_catalog.>) <limit_bytes> THEN
        PERFORM tutti.refuse_size();
    END IF;
    ignored := pg_catalog.set_config('tutti.bytes', bytes::pg_catalog.text, true);
    IF pg_catalog.current_setting('tutti.chunks', true) OPERATOR(pg_catalog.<>) '' THEN
        chunks := pg_catalog.current_setting('tutti.chunks')::pg_catalog.int4;
        chunk := pg_catalog.current_setting(pg_catalog.concat('tutti.chunk', chunks));
    END IF;
    IF chunk IS NULL OR pg_catalog.octet_length(chunk) OPERATOR(pg_catalog.>) 16384 THEN
        chunks := chunks OPERATOR(pg_catalog.+) 1;
        chunk := '';
        ignored := pg_catalog.set_config('tutti.chunks', chunks::pg_catalog.text, true);
    END IF;
    ignored := pg_catalog.set_config(pg_catalog.concat('tutti.chunk', chunks), pg_catalog.concat(chunk, gathered), true);
    RETURN '|';
END
$function$;

CREATE OR REPLACE FUNCTION tutti.refuse_size() RETURNS void LANGUAGE plpgsql AS $function$
BEGIN
    RAISE EXCEPTION USING ERRCODE = '54000',
        MESSAGE = 'the transaction changes more than <limit_bytes> bytes of rows, which is the limit of one transaction',
        HINT = 'Split it into smaller transactions, or raise the limit in the configuration of every node.';
END
$function$;

CREATE OR REPLACE FUNCTION tutti.capture_insert() RETURNS trigger LANGUAGE plpgsql STABLE AS $function$
DECLARE
    gathered text := pg_catalog.current_setting('tutti.gathered', true);
BEGIN
    IF pg_catalog.octet_length(gathered) BETWEEN 1 AND 2048 THEN
        gathered := pg_catalog.set_config('tutti.gathered', pg_catalog.concat(gathered, 'i', TG_RELID, NEW), true);
    ELSE
        gathered := pg_catalog.set_config('tutti.gathered',
            pg_catalog.concat(tutti.gather(gathered), 'i', TG_RELID, NEW), true);
    END IF;
    RETURN NULL;
END
$function$;

CREATE OR REPLACE FUNCTION tutti.capture_delete() RETURNS trigger LANGUAGE plpgsql STABLE AS $function$
DECLARE
    gathered text := pg_catalog.current_setting('tutti.gathered', true);
BEGIN
    IF pg_catalog.octet_length(gathered) BETWEEN 1 AND 2048 THEN
        gathered := pg_catalog.set_config('tutti.gathered', pg_catalog.concat(gathered, 'd', TG_RELID, OLD), true);
    ELSE
        gathered := pg_catalog.set_config('tutti.gathered',
            pg_catalog.concat(tutti.gather(gathered), 'd', TG_RELID, OLD), true);
    END IF;
    RETURN NULL;
END
$function$;

-- Each table has an update function of its own, made by tutti.adopt(), which tells updates of key columns apart.

-- Refuses a write to a table whose rows cannot be named. Replicas' appliers do not fire it.
CREATE OR REPLACE FUNCTION tutti.refuse_write() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
    RAISE EXCEPTION USING ERRCODE = '55000',
        MESSAGE = pg_catalog.format('table %I.%I cannot be written: it has no primary key', TG_TABLE_SCHEMA, TG_TABLE_NAME),
        DETAIL = 'Replicas could not tell which row is meant.',
        HINT = pg_catalog.format('ALTER TABLE %I.%I ADD PRIMARY KEY (...)', TG_TABLE_SCHEMA, TG_TABLE_NAME),
        SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME;
END
$function$;

-- Brings what is gathered into the order of statements: deferred captures so far are run, and may run unarmed no more.
CREATE OR REPLACE FUNCTION tutti.flush() RETURNS void LANGUAGE plpgsql
    SET datestyle = 'ISO, MDY' SET intervalstyle = 'postgres' SET extra_float_digits = 1 SET bytea_output = 'hex'
    SET lc_monetary = 'C' SET xmlbinary = 'base64' AS $function$
DECLARE
    gathered text := pg_catalog.current_setting('tutti.gathered', true);
    held text := pg_catalog.current_setting('tutti.held', true);
    constraints text;
BEGIN
    SELECT pg_catalog.string_agg(names.name, ', ') INTO constraints FROM (
        SELECT DISTINCT pg_catalog.concat(pg_catalog.quote_ident(n.nspname), '.', pg_catalog.quote_ident(c.conname)) AS name
        FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.connamespace
        WHERE c.contype OPERATOR(pg_catalog.=) 't' AND c.conname OPERATOR(pg_catalog.=) ANY (
            ARRAY['tutti_insert'::pg_catalog.name, 'tutti_update'::pg_catalog.name, 'tutti_delete'::pg_catalog.name])) names;
    IF constraints IS NULL THEN
        RETURN;
    END IF;
    PERFORM pg_catalog.set_config('tutti.gathered',
        CASE WHEN held OPERATOR(pg_catalog.<>) '' THEN held ELSE '|' END, true);
    EXECUTE pg_catalog.concat('SET CONSTRAINTS ', constraints, ' IMMEDIATE');
    EXECUTE pg_catalog.concat('SET CONSTRAINTS ', constraints, ' DEFERRED');
    PERFORM pg_catalog.set_config('tutti.held', pg_catalog.current_setting('tutti.gathered'), true);
    PERFORM pg_catalog.set_config('tutti.gathered', '', true);
END
$function$;

-- TRUNCATE is an entry among the rows. It follows a flush, since PostgreSQL truncates no table with pending events.
CREATE OR REPLACE FUNCTION tutti.capture_truncate() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog AS $function$
BEGIN
    PERFORM tutti.note(concat('t', TG_RELID, ';'));
    -- RESTART IDENTITY has put the table's sequences on values that belong to another node.
    IF EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass
            AND d.refobjid = TG_RELID AND d.deptype IN ('a', 'i')
            AND EXISTS (SELECT FROM pg_sequence q WHERE q.seqrelid = d.objid)) THEN
        PERFORM tutti.adopt();
    END IF;
    RETURN NULL;
END
$function$;

-- Appends an entry that is not a row, after everything so far, and guards the commit.
CREATE OR REPLACE FUNCTION tutti.note(entry text) RETURNS void LANGUAGE plpgsql AS $function$
DECLARE
    held text;
BEGIN
    PERFORM tutti.flush();
    held := pg_catalog.current_setting('tutti.held', true);
    IF held IS NULL OR held OPERATOR(pg_catalog.=) '' THEN
        held := '|';
    END IF;
    PERFORM pg_catalog.set_config('tutti.held', pg_catalog.concat(held, entry), true);
    PERFORM tutti.guard();
END
$function$;

CREATE OR REPLACE FUNCTION tutti.guard() RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $function$
BEGIN
    IF NOT EXISTS (SELECT FROM tutti.pending WHERE transaction = pg_current_xact_id()) THEN
        INSERT INTO tutti.pending VALUES (pg_current_xact_id());
    END IF;
END
$function$;

CREATE OR REPLACE FUNCTION tutti.check_pending() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog AS $function$
DECLARE
    gathered text := current_setting('tutti.gathered', true);
BEGIN
    IF gathered IS NULL OR gathered = '' THEN
        PERFORM tutti.gather(gathered);
    END IF;
    DELETE FROM tutti.pending WHERE transaction = NEW.transaction;
    RETURN NULL;
END
$function$;

-- What the commit pipeline calls: checks all deferred constraints, captures, and returns everything that was changed in
-- UTF-8, or NULL if nothing was. The argument arms capture; it is the cluster's secret.
CREATE OR REPLACE FUNCTION tutti.finish(secret bytea) RETURNS bytea LANGUAGE plpgsql AS $function$
DECLARE
    gathered text;
BEGIN
    IF pg_catalog.sha256(secret) OPERATOR(pg_catalog.<>) <secret_hash>::pg_catalog.bytea THEN
        RAISE EXCEPTION USING ERRCODE = '28000', MESSAGE = 'this is not the secret of the cluster';
    END IF;
    gathered := pg_catalog.current_setting('tutti.held', true);
    gathered := pg_catalog.set_config('tutti.gathered',
        CASE WHEN gathered OPERATOR(pg_catalog.<>) '' THEN gathered ELSE '|' END, true);
    IF pg_catalog.starts_with(pg_catalog.current_setting('DateStyle'), 'ISO')
        AND pg_catalog.current_setting('IntervalStyle') OPERATOR(pg_catalog.=) 'postgres'
        AND pg_catalog.current_setting('extra_float_digits') IN ('1', '2', '3')
        AND pg_catalog.current_setting('bytea_output') OPERATOR(pg_catalog.=) 'hex'
        AND pg_catalog.current_setting('lc_monetary') OPERATOR(pg_catalog.=) 'C'
    THEN
        SET CONSTRAINTS ALL IMMEDIATE;
    ELSE
        PERFORM tutti.finish_pinned();
    END IF;
    gathered := pg_catalog.current_setting('tutti.gathered');
    IF pg_catalog.current_setting('tutti.chunks', true) OPERATOR(pg_catalog.<>) '' THEN
        SELECT pg_catalog.concat(pg_catalog.string_agg(pg_catalog.current_setting(pg_catalog.concat('tutti.chunk', i)), ''
            ORDER BY i), gathered) INTO gathered
            FROM pg_catalog.generate_series(1, pg_catalog.current_setting('tutti.chunks')::pg_catalog.int4) i;
    ELSIF gathered OPERATOR(pg_catalog.=) '|' THEN
        RETURN NULL;
    END IF;
    IF pg_catalog.octet_length(gathered) OPERATOR(pg_catalog.>) <limit_bytes> THEN
        PERFORM tutti.refuse_size();
    END IF;
    RETURN pg_catalog.convert_to(gathered, 'UTF8');
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

-- What a client's own SET CONSTRAINTS ... IMMEDIATE is surrounded with: before it, and after it.
CREATE OR REPLACE FUNCTION tutti.before_set_constraints() RETURNS void LANGUAGE plpgsql AS $function$
BEGIN
    PERFORM tutti.flush();
    PERFORM pg_catalog.set_config('tutti.gathered',
        CASE WHEN pg_catalog.current_setting('tutti.held', true) OPERATOR(pg_catalog.<>) ''
            THEN pg_catalog.current_setting('tutti.held') ELSE '|' END, true);
END
$function$;

CREATE OR REPLACE FUNCTION tutti.after_set_constraints() RETURNS void LANGUAGE plpgsql AS $function$
BEGIN
    PERFORM pg_catalog.set_config('tutti.held', pg_catalog.current_setting('tutti.gathered'), true);
    PERFORM pg_catalog.set_config('tutti.gathered', '', true);
    PERFORM tutti.flush();
END
$function$;

-- Lets the transaction's next schema changes happen, and records the statement among the row changes.
CREATE OR REPLACE FUNCTION tutti.allow_statement(secret bytea, statement text) RETURNS void LANGUAGE plpgsql AS $function$
BEGIN
    IF pg_catalog.sha256(secret) OPERATOR(pg_catalog.<>) <secret_hash>::pg_catalog.bytea THEN
        RAISE EXCEPTION USING ERRCODE = '28000', MESSAGE = 'this is not the secret of the cluster';
    END IF;
    IF statement IS NOT NULL THEN
        PERFORM tutti.note(pg_catalog.concat('s', pg_catalog.octet_length(statement), ':', statement));
    END IF;
    PERFORM pg_catalog.set_config('tutti.statement', 'allowed', true);
END
$function$;

-- Records a position of the total order in the commit record of this transaction, whoever its user is.
CREATE OR REPLACE FUNCTION tutti.record(secret bytea, recorded pg_lsn) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
    AS $function$
BEGIN
    IF pg_catalog.sha256(secret) OPERATOR(pg_catalog.<>) <secret_hash>::pg_catalog.bytea THEN
        RAISE EXCEPTION USING ERRCODE = '28000', MESSAGE = 'this is not the secret of the cluster';
    END IF;
    IF pg_catalog.pg_replication_origin_session_is_setup() THEN
        PERFORM pg_catalog.pg_replication_origin_session_reset();
    END IF;
    PERFORM pg_catalog.pg_replication_origin_session_setup(<origin>),
        pg_catalog.pg_replication_origin_xact_setup(recorded, pg_catalog.now()), pg_catalog.pg_current_xact_id();
END
$function$;

-- The position up to which effects are in this database, or, if asked to flush, would survive a crash.
CREATE OR REPLACE FUNCTION tutti.position(flush boolean) RETURNS pg_lsn LANGUAGE sql SECURITY DEFINER
    AS $function$ SELECT pg_catalog.pg_replication_origin_progress(<origin>, flush) $function$;

-- Follows the commit, so that the next session can record.
CREATE OR REPLACE FUNCTION tutti.recorded() RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $function$
BEGIN
    IF pg_catalog.pg_replication_origin_session_is_setup() THEN
        PERFORM pg_catalog.pg_replication_origin_session_reset();
    END IF;
END
$function$;

CREATE OR REPLACE FUNCTION tutti.before_schema_change() RETURNS event_trigger LANGUAGE plpgsql AS $function$
BEGIN
    IF pg_catalog.current_setting('session_replication_role') OPERATOR(pg_catalog.<>) 'replica' THEN
        PERFORM tutti.flush();
    END IF;
END
$function$;

CREATE OR REPLACE FUNCTION tutti.refuse_schema_change(tag text, object text) RETURNS void LANGUAGE plpgsql AS $function$
BEGIN
    RAISE EXCEPTION USING ERRCODE = '0A000',
        MESSAGE = pg_catalog.format('%s on %s cannot be replicated from here', tag, object),
        DETAIL = 'A schema change must be a statement of its own, sent to a Tutti node, not part of a function, procedure or DO block.';
END
$function$;

CREATE OR REPLACE FUNCTION tutti.after_schema_change() RETURNS event_trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog AS $function$
DECLARE
    command record;
    permanent boolean := false;
BEGIN
    IF current_setting('tutti.adopting', true) = 'on' THEN
        RETURN;
    END IF;
    FOR command IN SELECT * FROM pg_event_trigger_ddl_commands() LOOP
        IF command.schema_name IS NOT NULL AND command.schema_name LIKE 'pg\_temp%' THEN
            CONTINUE;
        END IF;
        permanent := true;
        IF coalesce(current_setting('tutti.statement', true), '') <> 'allowed' THEN
            PERFORM tutti.refuse_schema_change(command.command_tag, command.object_identity);
        END IF;
    END LOOP;
    PERFORM set_config('tutti.statement', '', true);
    IF permanent THEN
        PERFORM tutti.adopt();
    END IF;
END
$function$;

CREATE OR REPLACE FUNCTION tutti.after_drop() RETURNS event_trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog AS $function$
DECLARE
    dropped record;
BEGIN
    IF current_setting('tutti.adopting', true) = 'on' THEN
        RETURN;
    END IF;
    FOR dropped IN SELECT * FROM pg_event_trigger_dropped_objects() WHERE NOT is_temporary LOOP
        IF coalesce(current_setting('tutti.statement', true), '') <> 'allowed' THEN
            PERFORM tutti.refuse_schema_change('DROP', dropped.object_identity);
        END IF;
    END LOOP;
END
$function$;

-- Tables whose rows are replicated: everything but system, temporary and our own tables.
CREATE OR REPLACE VIEW tutti.user_tables AS
    SELECT c.oid AS table_oid, n.nspname AS schema_name, c.relname AS table_name,
        EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary AND i.indisvalid) AS has_key
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind = 'r' AND c.relpersistence <> 't' AND n.nspname <> 'tutti' AND n.nspname <> 'information_schema'
        AND n.nspname NOT LIKE 'pg\_%';

-- The update function's text for a table: compares the columns of its keys, and sends the old row too if one changed.
-- IS DISTINCT FROM compares as the column's type does; types without equality are compared as text.
CREATE OR REPLACE FUNCTION tutti.update_function(table_oid oid) RETURNS text LANGUAGE sql STABLE
    SET search_path = pg_catalog AS $function$
    WITH key_columns AS (
        SELECT DISTINCT a.attnum, a.attname, a.attgenerated, a.atttypid
        FROM pg_attribute a
        WHERE a.attrelid = table_oid AND a.attnum > 0 AND NOT a.attisdropped AND (
            EXISTS (SELECT FROM pg_index i WHERE i.indrelid = table_oid AND (i.indisunique OR i.indisexclusion)
                AND (a.attnum = ANY (i.indkey)
                    OR EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid
                        AND d.refclassid = 'pg_class'::regclass AND d.refobjid = table_oid AND d.refobjsubid = a.attnum)))
            OR EXISTS (SELECT FROM pg_constraint c WHERE c.conrelid = table_oid AND c.contype = 'f'
                AND a.attnum = ANY (c.conkey))
            OR EXISTS (SELECT FROM pg_constraint c WHERE c.confrelid = table_oid AND c.contype = 'f'
                AND a.attnum = ANY (c.confkey)))
    ), changed AS (
        SELECT coalesce(string_agg(
            CASE WHEN EXISTS (SELECT FROM pg_opclass o JOIN pg_am m ON m.oid = o.opcmethod AND m.amname IN ('btree', 'hash')
                    WHERE o.opcdefault AND (o.opcintype = k.atttypid
                        OR (SELECT t.typtype IN ('e', 'r', 'm', 'd') OR t.typcategory = 'A' OR t.typname IN ('varchar')
                            FROM pg_type t WHERE t.oid = k.atttypid)))
                THEN format('OLD.%1$I IS DISTINCT FROM NEW.%1$I', k.attname)
                ELSE format('OLD.%1$I::pg_catalog.text IS DISTINCT FROM NEW.%1$I::pg_catalog.text', k.attname) END,
            ' OR ' ORDER BY k.attnum), 'false') AS condition
        FROM key_columns k
    )
    SELECT format($text$
DECLARE
    gathered text := pg_catalog.current_setting('tutti.gathered', true);
BEGIN
    IF %1$s THEN
        IF pg_catalog.octet_length(gathered) BETWEEN 1 AND 2048 THEN
            gathered := pg_catalog.set_config('tutti.gathered', pg_catalog.concat(gathered, 'k', TG_RELID, OLD, NEW), true);
        ELSE
            gathered := pg_catalog.set_config('tutti.gathered',
                pg_catalog.concat(tutti.gather(gathered), 'k', TG_RELID, OLD, NEW), true);
        END IF;
    ELSIF pg_catalog.octet_length(gathered) BETWEEN 1 AND 2048 THEN
        gathered := pg_catalog.set_config('tutti.gathered', pg_catalog.concat(gathered, 'u', TG_RELID, NEW), true);
    ELSE
        gathered := pg_catalog.set_config('tutti.gathered',
            pg_catalog.concat(tutti.gather(gathered), 'u', TG_RELID, NEW), true);
    END IF;
    RETURN NULL;
END
$text$, condition) FROM changed
$function$;

-- Makes every table captured and every sequence this node's own. Does nothing where nothing is to be done.
CREATE OR REPLACE FUNCTION tutti.adopt() RETURNS void LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog SET client_min_messages = 'error' AS $function$
DECLARE
    t record;
    s record;
    f record;
    text_of_function text;
    node tutti.node%ROWTYPE;
    base bigint;
    product bigint;
    residue numeric;
    state record;
    next numeric;
BEGIN
    PERFORM set_config('tutti.adopting', 'on', true);
    SELECT * INTO STRICT node FROM tutti.node;
    FOR t IN SELECT u.*, format('%I.%I', u.schema_name, u.table_name) AS name, 'update_' || u.table_oid AS update_name,
                (SELECT array_agg(g.tgname::text || g.tgenabled::text ORDER BY g.tgname) FROM pg_trigger g
                    WHERE g.tgrelid = u.table_oid AND NOT g.tgisinternal AND g.tgname LIKE 'tutti\_%') AS triggers
            FROM tutti.user_tables u ORDER BY u.schema_name, u.table_name LOOP
        IF NOT t.has_key THEN
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
        SELECT p.prosrc INTO f FROM pg_proc p
            WHERE p.pronamespace = 'tutti'::regnamespace AND p.proname = t.update_name;
        IF f.prosrc IS DISTINCT FROM text_of_function THEN
            EXECUTE format('CREATE OR REPLACE FUNCTION tutti.%I() RETURNS trigger LANGUAGE plpgsql STABLE AS %L',
                t.update_name, text_of_function);
        END IF;
        IF t.triggers IS DISTINCT FROM ARRAY['tutti_deleteO', 'tutti_insertO', 'tutti_truncateO', 'tutti_updateO'] THEN
            PERFORM tutti.drop_triggers(t.table_oid);
            EXECUTE format('CREATE CONSTRAINT TRIGGER tutti_insert AFTER INSERT ON %s DEFERRABLE INITIALLY DEFERRED '
                'FOR EACH ROW EXECUTE FUNCTION tutti.capture_insert()', t.name);
            EXECUTE format('CREATE CONSTRAINT TRIGGER tutti_update AFTER UPDATE ON %s DEFERRABLE INITIALLY DEFERRED '
                'FOR EACH ROW EXECUTE FUNCTION tutti.%I()', t.name, t.update_name);
            EXECUTE format('CREATE CONSTRAINT TRIGGER tutti_delete AFTER DELETE ON %s DEFERRABLE INITIALLY DEFERRED '
                'FOR EACH ROW EXECUTE FUNCTION tutti.capture_delete()', t.name);
            EXECUTE format('CREATE TRIGGER tutti_truncate AFTER TRUNCATE ON %s FOR EACH STATEMENT '
                'EXECUTE FUNCTION tutti.capture_truncate()', t.name);
        END IF;
    END LOOP;
    FOR f IN SELECT p.proname FROM pg_proc p WHERE p.pronamespace = 'tutti'::regnamespace
            AND p.proname ~ '^update_[0-9]+$'
            AND NOT EXISTS (SELECT FROM tutti.user_tables u WHERE 'update_' || u.table_oid = p.proname) LOOP
        EXECUTE format('DROP FUNCTION IF EXISTS tutti.%I() CASCADE', f.proname);
    END LOOP;
    DELETE FROM tutti.sequences a WHERE NOT EXISTS (SELECT FROM pg_sequence q WHERE q.seqrelid = a.sequence);
    FOR s IN SELECT q.*, format('%I.%I', n.nspname, c.relname) AS name, a.increment AS adopted
            FROM pg_sequence q JOIN pg_class c ON c.oid = q.seqrelid AND c.relpersistence <> 't'
                JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname <> 'tutti'
                LEFT JOIN tutti.sequences a ON a.sequence = q.seqrelid ORDER BY n.nspname, c.relname LOOP
        IF s.adopted IS NOT DISTINCT FROM s.seqincrement THEN
            product := s.seqincrement;
            base := product / node.stride;
        ELSE
            base := s.seqincrement;
            product := base * node.stride;
            EXECUTE format('ALTER SEQUENCE %s INCREMENT BY %s', s.name, product);
            INSERT INTO tutti.sequences VALUES (s.seqrelid, product)
                ON CONFLICT (sequence) DO UPDATE SET increment = excluded.increment;
        END IF;
        -- The node's values are seqstart + node_index * base + n * product. The next one must be beyond the last value.
        residue := s.seqstart::numeric + node.node_index * base;
        EXECUTE format('SELECT last_value, is_called FROM %s', s.name) INTO STRICT state;
        next := state.last_value + CASE WHEN state.is_called THEN sign(product::numeric) ELSE 0 END;
        next := residue + product * greatest(ceil((next - residue) / product), 0);
        IF NOT state.is_called AND next = state.last_value OR state.is_called AND next - product = state.last_value THEN
            CONTINUE;
        END IF;
        IF next <= s.seqmax AND next >= s.seqmin THEN
            PERFORM setval(s.seqrelid::regclass, next::bigint, false);
        END IF;
    END LOOP;
    PERFORM set_config('tutti.adopting', 'off', true);
END
$function$;

-- Called at each start but the first. A crash may have lost the last values that a sequence gave, while the transactions that used them
-- are in the order and will be replayed; so all sequences go on some steps later.
CREATE OR REPLACE FUNCTION tutti.skip_values(steps bigint) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog AS $function$
DECLARE
    s record;
    state record;
    next numeric;
BEGIN
    FOR s IN SELECT q.seqrelid::regclass AS name, q.seqincrement, q.seqmin, q.seqmax
            FROM tutti.sequences a JOIN pg_sequence q ON q.seqrelid = a.sequence LOOP
        EXECUTE format('SELECT last_value, is_called FROM %s', s.name) INTO STRICT state;
        next := state.last_value + s.seqincrement::numeric * steps;
        IF next BETWEEN s.seqmin AND s.seqmax THEN
            PERFORM setval(s.name, next::bigint, false);
        END IF;
    END LOOP;
END
$function$;

CREATE OR REPLACE FUNCTION tutti.drop_triggers(table_oid oid) RETURNS void LANGUAGE plpgsql
    SET search_path = pg_catalog AS $function$
DECLARE
    g record;
BEGIN
    FOR g IN SELECT tgname FROM pg_trigger WHERE tgrelid = table_oid AND NOT tgisinternal AND tgname LIKE 'tutti\_%' LOOP
        EXECUTE format('DROP TRIGGER %I ON %s', g.tgname, table_oid::regclass);
    END LOOP;
END
$function$;

-- The watchdog's question: which tables are not captured as they should be? Empty if all is well.
CREATE OR REPLACE VIEW tutti.uncaptured AS
    SELECT u.schema_name, u.table_name FROM tutti.user_tables u
    WHERE (SELECT array_agg(g.tgname::text || g.tgenabled::text ORDER BY g.tgname) FROM pg_trigger g
            WHERE g.tgrelid = u.table_oid AND NOT g.tgisinternal AND g.tgname LIKE 'tutti\_%')
        IS DISTINCT FROM CASE WHEN u.has_key
            THEN ARRAY['tutti_deleteO', 'tutti_insertO', 'tutti_truncateO', 'tutti_updateO']
            ELSE ARRAY['tutti_refuseO', 'tutti_truncateO'] END;

REVOKE ALL ON FUNCTION tutti.adopt(), tutti.skip_values(bigint), tutti.drop_triggers(oid), tutti.check_pending() FROM PUBLIC;

DROP TRIGGER IF EXISTS pending ON tutti.pending;
CREATE CONSTRAINT TRIGGER pending AFTER INSERT ON tutti.pending DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION tutti.check_pending();

SELECT pg_replication_origin_create(<origin>) WHERE NOT EXISTS (
    SELECT FROM pg_replication_origin WHERE roname = <origin>);

SELECT tutti.adopt();
SELECT set_config('tutti.adopting', 'on', true);

DROP EVENT TRIGGER IF EXISTS tutti_before_schema_change;
DROP EVENT TRIGGER IF EXISTS tutti_after_schema_change;
DROP EVENT TRIGGER IF EXISTS tutti_after_drop;
CREATE EVENT TRIGGER tutti_before_schema_change ON ddl_command_start EXECUTE FUNCTION tutti.before_schema_change();
CREATE EVENT TRIGGER tutti_after_schema_change ON ddl_command_end EXECUTE FUNCTION tutti.after_schema_change();
CREATE EVENT TRIGGER tutti_after_drop ON sql_drop EXECUTE FUNCTION tutti.after_drop();
ALTER EVENT TRIGGER tutti_before_schema_change ENABLE ALWAYS;
ALTER EVENT TRIGGER tutti_after_schema_change ENABLE ALWAYS;
ALTER EVENT TRIGGER tutti_after_drop ENABLE ALWAYS;
