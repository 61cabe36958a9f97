-- Sequences: a part of install.sql. Each node draws from shares of its own of a sequence's values, one after the other, with the
-- increment that was declared (docs/decisions/0030-shares-of-sequences.md):
--  * tutti.sequences.free is the first value that no node has been given. It follows from the order alone: it moves when a node is granted
--    a share at a position, and when a sequence is made or restarted.
--  * A share is granted to one life of a node, and forgotten when the server may have lost what was drawn from it.
--  * The end of this node's share is the sequence's bound in the server's own catalog, so nextval() refuses what is beyond it
--    (2200H), however it is called. The node then asks for another share, and runs the transaction again.
-- What was declared is shown by pg_sequence, which is a view from now on; the server finds its own tables by their object ids.

CREATE TABLE IF NOT EXISTS tutti.sequences (
    sequence oid PRIMARY KEY,
    low bigint NOT NULL,
    high bigint NOT NULL,
    cycles boolean NOT NULL,
    step bigint NOT NULL,
    free numeric NOT NULL,
    -- the last value of this node's share; null if it has none
    own numeric,
    file oid NOT NULL,
    -- an ALTER is under way: the catalog says what is declared
    opened boolean NOT NULL DEFAULT false,
    -- what is given next, if nothing has been given when it was opened
    idle bigint
);

-- Whose shares they are. A crash empties the table, together with what it loses of the values that were drawn.
CREATE UNLOGGED TABLE IF NOT EXISTS tutti.shares (
    node_index bigint NOT NULL
);

-- Calls of setval(), as inserted by whoever calls it; the trigger leaves no rows. Nobody but the server fills in the role.
CREATE TABLE IF NOT EXISTS tutti.restarts (
    sequence oid NOT NULL,
    last bigint NOT NULL,
    called boolean NOT NULL,
    role name NOT NULL DEFAULT current_user
);

SET LOCAL allow_system_table_mods = on;
DO $block$
BEGIN
    IF EXISTS (SELECT FROM pg_class WHERE oid = 2224 AND relname = 'pg_sequence') THEN
        ALTER TABLE pg_catalog.pg_sequence RENAME TO pg_sequence_here;
        ALTER FUNCTION pg_catalog.pg_get_sequence_data(regclass) RENAME TO pg_get_sequence_data_here;
        CREATE VIEW pg_catalog.pg_sequence AS
            SELECT q.seqrelid, q.seqtypid, q.seqstart, q.seqincrement, CASE WHEN s.opened IS FALSE THEN s.high ELSE q.seqmax END AS seqmax,
                    CASE WHEN s.opened IS FALSE THEN s.low ELSE q.seqmin END AS seqmin, q.seqcache,
                    CASE WHEN s.opened IS FALSE THEN s.cycles ELSE q.seqcycle END AS seqcycle
                FROM pg_catalog.pg_sequence_here q LEFT JOIN tutti.sequences s ON s.sequence = q.seqrelid;
        GRANT SELECT ON pg_catalog.pg_sequence TO PUBLIC;
        INSERT INTO pg_init_privs (objoid, classoid, objsubid, privtype, initprivs)
            SELECT oid, 'pg_class'::regclass, 0, 'i', relacl FROM pg_class WHERE oid = 'pg_catalog.pg_sequence'::regclass;
    END IF;
END
$block$;

-- Where a sequence stands, as a dump has to tell it: beyond all values that some node may have drawn.
CREATE OR REPLACE FUNCTION pg_catalog.pg_get_sequence_data(sequence_oid regclass, OUT last_value bigint, OUT is_called boolean)
    RETURNS record LANGUAGE plpgsql STRICT SECURITY DEFINER <fixed settings> AS $function$
DECLARE
    s tutti.sequences%ROWTYPE;
BEGIN
    SELECT d.last_value, d.is_called INTO last_value, is_called FROM pg_get_sequence_data_here($1) d;
    SELECT * INTO s FROM tutti.sequences WHERE sequence = $1;
    IF FOUND AND (s.own IS NULL OR s.own + s.step <> s.free OR last_value NOT BETWEEN s.low AND s.high) THEN
        last_value := greatest(s.low, least(s.high, s.free - s.step));
        is_called := s.free - s.step BETWEEN s.low AND s.high;
    END IF;
    IF NOT has_sequence_privilege(session_user, $1, 'SELECT') THEN
        last_value := NULL;
        is_called := NULL;
    END IF;
END
$function$;
SET LOCAL allow_system_table_mods = off;

-- For clients of every engine.
CREATE OR REPLACE VIEW tutti.declared_sequences AS SELECT * FROM information_schema.sequences;

-- How many values a share has: at most as many as a transaction may insert rows, less if there are not so many.
CREATE OR REPLACE FUNCTION tutti.share(low bigint, high bigint, step bigint) RETURNS numeric LANGUAGE sql IMMUTABLE
    <fixed settings> AS $function$
    SELECT least(262144, greatest(32, trunc((trunc((high::numeric - low) / abs(step::numeric)) + 1) / 64)))
$function$;

-- The last value of a share that begins with this one; before it, if there are no more.
CREATE OR REPLACE FUNCTION tutti.last_of(s tutti.sequences, first numeric, factor bigint) RETURNS numeric LANGUAGE sql IMMUTABLE
    <fixed settings> AS $function$
    SELECT CASE WHEN first NOT BETWEEN s.low AND s.high THEN first - s.step
        WHEN s.step > 0 THEN least(s.high, first + s.step * (factor * tutti.share(s.low, s.high, s.step) - 1))
        ELSE greatest(s.low, first + s.step * (factor * tutti.share(s.low, s.high, s.step) - 1)) END
$function$;

-- What nextval() keeps to.
CREATE OR REPLACE FUNCTION tutti.bound(bounded oid, low bigint, high bigint, cycles boolean) RETURNS void LANGUAGE sql
    <fixed settings> AS $function$
    UPDATE pg_sequence_here q SET seqmin = low, seqmax = high, seqcycle = cycles
        WHERE q.seqrelid = bounded AND (q.seqmin, q.seqmax, q.seqcycle) IS DISTINCT FROM (low, high, cycles)
$function$;

-- Lets a sequence give values up to this one; none, if it is null or lies before the first.
CREATE OR REPLACE FUNCTION tutti.bound_to(s tutti.sequences, own numeric) RETURNS void LANGUAGE sql
    <fixed settings> AS $function$
    SELECT tutti.bound(s.sequence,
        CASE WHEN s.step > 0 THEN s.low WHEN own BETWEEN s.low AND s.high THEN own::bigint ELSE 9223372036854775807 END,
        CASE WHEN s.step < 0 THEN s.high WHEN own BETWEEN s.low AND s.high THEN own::bigint ELSE -9223372036854775808 END, false)
$function$;

CREATE OR REPLACE FUNCTION tutti.state(sequence oid, OUT last bigint, OUT called boolean) LANGUAGE plpgsql
    <fixed settings> AS $function$
BEGIN
    EXECUTE format('SELECT last_value, is_called FROM %s', sequence::regclass) INTO STRICT last, called;
END
$function$;

-- The node has no share of it any more. What it would have given next without a look at its bound is skipped.
CREATE OR REPLACE FUNCTION tutti.void_share(s tutti.sequences) RETURNS void LANGUAGE plpgsql
    <fixed settings> AS $function$
BEGIN
    IF NOT (SELECT called FROM tutti.state(s.sequence)) THEN
        PERFORM nextval(s.sequence::regclass);
    END IF;
    PERFORM tutti.bound_to(s, NULL);
END
$function$;

-- A sequence is made or restarted: whoever does it has the first share, and nobody else has one. The one here stands there already.
CREATE OR REPLACE FUNCTION tutti.restart(restarted oid, last bigint, called boolean, here boolean) RETURNS void LANGUAGE plpgsql
    <fixed settings> AS $function$
DECLARE
    s tutti.sequences%ROWTYPE;
    first numeric;
    final numeric;
BEGIN
    SELECT * INTO STRICT s FROM tutti.sequences WHERE sequence = restarted FOR UPDATE;
    first := last::numeric + CASE WHEN called THEN s.step ELSE 0 END;
    final := tutti.last_of(s, first, 1);
    UPDATE tutti.sequences SET free = final + s.step, own = CASE WHEN here THEN final END,
        file = pg_relation_filenode(restarted), opened = false, idle = NULL WHERE sequence = restarted;
    IF here THEN
        PERFORM tutti.bound_to(s, final);
    ELSE
        PERFORM tutti.void_share(s);
    END IF;
END
$function$;

-- Whether the statement under way comes from this life of this node: clients' own sessions are here, appliers are told.
CREATE OR REPLACE FUNCTION tutti.is_here() RETURNS boolean LANGUAGE sql STABLE <fixed settings> AS $function$
    SELECT CASE WHEN current_setting('tutti.origin', true) <> '' THEN current_setting('tutti.origin') = life
        ELSE current_setting('session_replication_role') <> 'replica' END FROM tutti.node
$function$;

-- All nodes grant the next values to one life of a node.
CREATE OR REPLACE FUNCTION tutti.grant_share(secret bytea, schema_name text, name text, life text, factor text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER <fixed settings> AS $function$
DECLARE
    s tutti.sequences%ROWTYPE;
    first numeric;
    final numeric;
BEGIN
    <refuse without the secret>
    SELECT * INTO s FROM tutti.sequences WHERE sequence = to_regclass(format('%I.%I', schema_name, name)) FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    first := s.free;
    IF s.cycles AND first NOT BETWEEN s.low AND s.high THEN
        first := CASE WHEN s.step > 0 THEN s.low ELSE s.high END;
    END IF;
    final := tutti.last_of(s, first, factor::bigint);
    UPDATE tutti.sequences SET free = final + s.step WHERE sequence = s.sequence;
    IF final = first - s.step OR NOT EXISTS (SELECT FROM tutti.node n WHERE n.life = $4) THEN
        RETURN;
    END IF;
    IF s.own IS DISTINCT FROM first - s.step THEN
        -- A bound that keeps the sequence from giving anything is the one that a rollback brings back.
        IF first - s.step BETWEEN -9223372036854775808 AND 9223372036854775807 THEN
            PERFORM tutti.bound(s.sequence, least(s.low, first - s.step)::bigint, greatest(s.high, first - s.step)::bigint, false);
            PERFORM setval_here(s.sequence::regclass, (first - s.step)::bigint, true);
        ELSE
            PERFORM tutti.bound(s.sequence, s.low, s.high, false);
            PERFORM setval_here(s.sequence::regclass, first::bigint, false);
        END IF;
    END IF;
    PERFORM tutti.bound_to(s, final);
    UPDATE tutti.sequences SET own = final WHERE sequence = s.sequence;
END
$function$;

-- Sequences with values that no node has been given; and whether this node will soon need them, and get them without a gap.
CREATE OR REPLACE VIEW tutti.asked_for AS
    SELECT n.nspname AS schema_name, c.relname AS name, coalesce(s.own + s.step = s.free
            AND 4 * abs(s.own - pg_sequence_last_value(s.sequence)) / abs(s.step::numeric) < 3 * tutti.share(s.low, s.high, s.step),
            false) AS low
        FROM tutti.sequences s JOIN pg_class c ON c.oid = s.sequence JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE NOT s.opened AND (s.cycles OR s.free BETWEEN s.low AND s.high);

-- What has been drawn from this node's shares is known only if the server has neither crashed since nor come from elsewhere.
CREATE OR REPLACE FUNCTION tutti.forget_shares(node_index bigint) RETURNS void LANGUAGE plpgsql
    <fixed settings> AS $function$
BEGIN
    IF EXISTS (SELECT FROM tutti.shares s WHERE s.node_index = $1) THEN
        RETURN;
    END IF;
    DELETE FROM tutti.sequences s WHERE NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = s.sequence AND c.relkind = 'S');
    PERFORM tutti.void_share(s) FROM tutti.sequences s;
    UPDATE tutti.sequences SET own = NULL;
    DELETE FROM tutti.shares;
    INSERT INTO tutti.shares VALUES ($1);
END
$function$;

-- Whether a text, lower case, may name something.
CREATE OR REPLACE FUNCTION tutti.in_text(name text, words text[], whole text) RETURNS boolean LANGUAGE sql IMMUTABLE <fixed settings>
    AS $function$ SELECT CASE WHEN lower(name) ~ '^[\w$]+$' THEN lower(name) = ANY (words) ELSE strpos(whole, lower(name)) > 0 END $function$;

-- ALTER is to see what was declared. Those of the sequences whose names, or whose tables' names, are in its text as words, or, of names that
-- are no words, at all; if nothing but the type of a column changes, only of an identity of that name. One more loses its first value if that has
-- not been drawn, since nothing keeps others from it meanwhile.
CREATE OR REPLACE FUNCTION tutti.open_named(text) RETURNS void LANGUAGE plpgsql <fixed settings> AS $function$
DECLARE
    whole text := lower(replace($1, '""', '"'));
    words text[] := regexp_split_to_array(lower($1), '[^\w$]+');
    beyond_types boolean := $1 ~* '\m(sequence|restart|generated|identity|minvalue|maxvalue|increment|start|cycle|logged|unlogged)\M';
BEGIN
    IF beyond_types OR $1 ~* '\mtype\M' THEN
        PERFORM tutti.open_sequence(s) FROM tutti.sequences s JOIN pg_class c ON c.oid = s.sequence
            LEFT JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = s.sequence AND d.deptype IN ('a', 'i')
                AND d.refclassid = 'pg_class'::regclass
            LEFT JOIN pg_class t ON t.oid = d.refobjid
            LEFT JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
            WHERE (beyond_types OR d.deptype = 'i' AND tutti.in_text(a.attname, words, whole))
                AND (tutti.in_text(c.relname, words, whole) OR tutti.in_text(t.relname, words, whole));
    END IF;
END
$function$;

CREATE OR REPLACE FUNCTION tutti.open_sequence(s tutti.sequences) RETURNS void LANGUAGE plpgsql
    <fixed settings> AS $function$
DECLARE
    next bigint;
BEGIN
    IF NOT (SELECT called FROM tutti.state(s.sequence)) THEN
        next := nextval(s.sequence::regclass);
    END IF;
    PERFORM tutti.bound(s.sequence, s.low, s.high, s.cycles);
    UPDATE tutti.sequences SET opened = true, idle = next WHERE sequence = s.sequence;
END
$function$;

-- After an ALTER: keeps the sequence to the node's share again, which is another one if it was restarted.
CREATE OR REPLACE FUNCTION tutti.close_sequence(s tutti.sequences) RETURNS void LANGUAGE plpgsql
    <fixed settings> AS $function$
DECLARE
    q record;
    state record;
    step_before bigint := s.step;
    given bigint := s.idle;
BEGIN
    SELECT * INTO STRICT q FROM pg_sequence_here WHERE seqrelid = s.sequence;
    state := tutti.state(s.sequence);
    UPDATE tutti.sequences SET low = q.seqmin, high = q.seqmax, cycles = q.seqcycle, step = q.seqincrement, opened = false, idle = NULL,
        file = pg_relation_filenode(s.sequence) WHERE sequence = s.sequence RETURNING * INTO s;
    IF NOT state.called THEN
        PERFORM tutti.restart(s.sequence, state.last, false, tutti.is_here());
        RETURN;
    END IF;
    IF sign(s.step::numeric) <> sign(step_before::numeric) THEN
        state.last := greatest(s.low, least(s.high, s.free - step_before));
        PERFORM setval_here(s.sequence::regclass, state.last, true), tutti.restart(s.sequence, state.last, true, tutti.is_here());
        RETURN;
    END IF;
    -- Nobody else draws from it while ALTER holds its lock.
    IF state.last = given AND EXISTS (SELECT FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'relation'
            AND relation = s.sequence AND mode IN ('ShareRowExclusiveLock', 'AccessExclusiveLock')) THEN
        PERFORM setval_here(s.sequence::regclass, given, false);
    END IF;
    PERFORM tutti.bound_to(s, CASE WHEN s.own IS NULL THEN NULL WHEN s.step > 0 THEN least(s.own, s.high)
        ELSE greatest(s.own, s.low) END);
END
$function$;

CREATE OR REPLACE FUNCTION tutti.adopt_sequences() RETURNS void LANGUAGE plpgsql <fixed settings> AS $function$
DECLARE
    s tutti.sequences%ROWTYPE;
    made record;
BEGIN
    DELETE FROM tutti.sequences a WHERE NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = a.sequence AND c.relkind = 'S');
    FOR s IN SELECT a.* FROM tutti.sequences a WHERE a.opened LOOP
        PERFORM tutti.close_sequence(s);
    END LOOP;
    FOR s IN SELECT a.* FROM tutti.sequences a WHERE a.file <> pg_relation_filenode(a.sequence) LOOP
        RAISE EXCEPTION USING ERRCODE = '0A000', MESSAGE = format('this change of sequence %s cannot be followed', s.sequence::regclass),
            HINT = 'Name the sequence, or the table that owns it, as it is written in the catalog.';
    END LOOP;
    -- OFFSET 0 has the state asked of new sequences only
    FOR made IN SELECT q.*, v.last, v.called FROM (SELECT h.* FROM pg_sequence_here h
                JOIN pg_class c ON c.oid = h.seqrelid AND c.relpersistence <> 't'
                JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname <> 'tutti'
            WHERE NOT EXISTS (SELECT FROM tutti.sequences a WHERE a.sequence = h.seqrelid) OFFSET 0) q, tutti.state(q.seqrelid) v LOOP
        INSERT INTO tutti.sequences VALUES (made.seqrelid, made.seqmin, made.seqmax, made.seqcycle, made.seqincrement, 0, NULL,
            pg_relation_filenode(made.seqrelid));
        PERFORM tutti.restart(made.seqrelid, made.last, made.called, tutti.is_here());
    END LOOP;
END
$function$;

-- A transaction has restarted a sequence by TRUNCATE or setval(): other nodes hear where it stands.
CREATE OR REPLACE FUNCTION tutti.note_restart(restarted oid) RETURNS void LANGUAGE plpgsql <fixed settings> AS $function$
DECLARE
    state record := tutti.state(restarted);
BEGIN
    PERFORM tutti.restart(restarted, state.last, state.called, tutti.is_here()),
        tutti.note((SELECT concat('q', string_agg(concat(octet_length(part), ':', part), '' ORDER BY place))
            FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace,
                unnest(ARRAY[n.nspname::text, c.relname::text, state.last::text, state.called::text]) WITH ORDINALITY p(part, place)
            WHERE c.oid = restarted));
END
$function$;

CREATE OR REPLACE FUNCTION tutti.apply_restart(secret bytea, schema_name text, name text, last text, called text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER <fixed settings> AS $function$
DECLARE
    restarted oid := to_regclass(format('%I.%I', schema_name, name));
    before text := current_setting('<mark>');
BEGIN
    <refuse without the secret>
    IF NOT EXISTS (SELECT FROM tutti.sequences WHERE sequence = restarted) THEN
        RETURN;
    END IF;
    -- Locks out who has drawn from it and not ended its transaction: it would not look at the bound again.
    PERFORM set_config('<mark>', 'tutti adopting', true);
    EXECUTE format('ALTER SEQUENCE %s OWNER TO %s', restarted::regclass, (SELECT relowner::regrole FROM pg_class WHERE oid = restarted));
    PERFORM set_config('<mark>', before, true);
    PERFORM tutti.restart(restarted, last::bigint, called::boolean, false);
END
$function$;

-- setval() takes effect at its transaction's position, at all nodes; here it is done at once, and undone if the transaction is rolled back.
CREATE OR REPLACE FUNCTION tutti.set_value() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER <fixed settings> AS $function$
DECLARE
    s tutti.sequences%ROWTYPE;
    before text := current_setting('<mark>');
BEGIN
    IF NOT has_sequence_privilege(NEW.role, NEW.sequence, 'UPDATE') THEN
        RAISE EXCEPTION USING ERRCODE = '42501', MESSAGE = format('permission denied for sequence %s', NEW.sequence::regclass);
    END IF;
    SELECT * INTO STRICT s FROM tutti.sequences WHERE sequence = NEW.sequence FOR UPDATE;
    IF NEW.last NOT BETWEEN s.low AND s.high THEN
        RAISE EXCEPTION USING ERRCODE = '22003', MESSAGE = format('setval: value %s is out of bounds for sequence "%s" (%s..%s)', NEW.last,
            (SELECT relname FROM pg_class WHERE oid = NEW.sequence), s.low, s.high);
    END IF;
    PERFORM tutti.open_sequence(s);
    PERFORM set_config('<mark>', 'tutti adopting', true);
    EXECUTE format('ALTER SEQUENCE %s RESTART', NEW.sequence::regclass);
    PERFORM set_config('<mark>', before, true), setval_here(NEW.sequence::regclass, NEW.last, NEW.called);
    PERFORM tutti.note_restart(NEW.sequence);
    RETURN NULL;
END
$function$;
CREATE OR REPLACE TRIGGER set_value BEFORE INSERT ON tutti.restarts FOR EACH ROW EXECUTE FUNCTION tutti.set_value();

-- A temporary sequence is set as the server does it, by its caller's rights (largeobjects.sql says how an aggregate does that).
CREATE OR REPLACE FUNCTION tutti.unless_permanent(before regclass, sequence regclass) RETURNS regclass LANGUAGE sql STABLE <fixed settings>
    AS $function$
    SELECT CASE WHEN NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = $2 AND c.relkind = 'S' AND c.relpersistence <> 't') THEN $2 END
$function$;
CREATE OR REPLACE AGGREGATE tutti.setval(bigint, boolean ORDER BY regclass)
    (SFUNC = tutti.unless_permanent, STYPE = regclass, FINALFUNC = setval_here);

CREATE OR REPLACE FUNCTION pg_catalog.setval(regclass, bigint, boolean) RETURNS bigint LANGUAGE plpgsql STRICT
    <fixed settings> AS $function$
BEGIN
    IF EXISTS (SELECT FROM pg_class WHERE oid = $1 AND relkind = 'S' AND relpersistence <> 't') THEN
        INSERT INTO tutti.restarts (sequence, last, called) VALUES ($1, $2, $3);
        RETURN $2;
    END IF;
    RETURN (SELECT tutti.setval($2, $3) WITHIN GROUP (ORDER BY $1));
END
$function$;
CREATE OR REPLACE FUNCTION pg_catalog.setval(regclass, bigint) RETURNS bigint LANGUAGE sql STRICT
    AS $function$ SELECT pg_catalog.setval($1, $2, true) $function$;
