-- Part of install.sql: large objects (docs/decisions/0050-large-objects.md).
--
-- Nothing fires when a large object is written. So those that take the places of the server's own functions, which write them, note the object before. What a
-- noted object has become is looked at when capture is closed: nobody tells it.
--
-- Those others must call the server's with the rights of whoever calls them, and nobody else may be able to. An aggregate does both: its
-- functions are called by right of its owner, and run as its caller. Its transition notes, its end does.

DROP TABLE IF EXISTS tutti.touched;
CREATE UNLOGGED TABLE tutti.touched (
    transaction xid8,
    object oid,
    -- the object that was there before is not there any more
    unlinked boolean NOT NULL DEFAULT false,
    -- whose it was when that was last recorded, empty if it was gone
    told text,
    PRIMARY KEY (transaction, object)
);

CREATE OR REPLACE FUNCTION tutti.check_touched() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    <fixed settings> AS $function$
BEGIN
    IF NOT starts_with(current_setting('<mark>'), 'tutti.g') AND NOT starts_with(current_setting('<mark>'), 'tutti aw') THEN
        PERFORM tutti.refuse_commit();
    END IF;
    RETURN NULL;
END
$function$;
CREATE CONSTRAINT TRIGGER touched AFTER INSERT ON tutti.touched DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION tutti.check_touched();

-- Serializable transactions find their rows by a list, from which they are taken by ON CONFLICT, and delete them by their places: a search would
-- lock what it passes against the notes of all others, and make conflicts where there are none.
CREATE OR REPLACE FUNCTION tutti.touched_list() RETURNS text LANGUAGE sql <fixed settings> AS $function$
    SELECT concat('tutti.o', left(encode(sha256(n.salt || convert_to(concat('objects', pg_backend_pid()), 'UTF8')), 'hex'), 16))
        FROM tutti.node n WHERE current_setting('transaction_isolation') = 'serializable'
$function$;

CREATE OR REPLACE FUNCTION tutti.touch(object oid) RETURNS void LANGUAGE plpgsql <fixed settings> AS $function$
DECLARE
    list text := tutti.touched_list();
BEGIN
    INSERT INTO tutti.touched VALUES (pg_current_xact_id(), object) ON CONFLICT DO NOTHING;
    IF FOUND AND list IS NOT NULL THEN
        PERFORM set_config(list, concat(current_setting(list, true), ' ', object), true);
    END IF;
END
$function$;

-- What the transaction has noted.
CREATE OR REPLACE FUNCTION tutti.touched_objects() RETURNS oid[] LANGUAGE plpgsql <fixed settings> AS $function$
DECLARE
    list text := tutti.touched_list();
BEGIN
    IF list IS NOT NULL THEN
        RETURN string_to_array(ltrim(current_setting(list, true)), ' ')::oid[];
    END IF;
    RETURN ARRAY(SELECT t.object FROM tutti.touched t WHERE t.transaction = pg_current_xact_id_if_assigned());
END
$function$;

CREATE OR REPLACE FUNCTION tutti.touched_row(noted oid) RETURNS TABLE (transaction xid8, object oid, unlinked boolean, told text) LANGUAGE sql
    <fixed settings> AS $function$
    INSERT INTO tutti.touched AS t VALUES (pg_current_xact_id(), $1)
        ON CONFLICT ON CONSTRAINT touched_pkey DO UPDATE SET told = t.told RETURNING t.*
$function$;

CREATE OR REPLACE FUNCTION tutti.forget_touched(objects oid[]) RETURNS void LANGUAGE plpgsql <fixed settings>
    SET enable_seqscan = off AS $function$
DECLARE
    list text := tutti.touched_list();
    o oid;
    place tid;
BEGIN
    IF list IS NULL THEN
        DELETE FROM tutti.touched t WHERE t.transaction = pg_current_xact_id_if_assigned();
        RETURN;
    END IF;
    FOREACH o IN ARRAY objects LOOP
        INSERT INTO tutti.touched AS t VALUES (pg_current_xact_id(), o)
            ON CONFLICT ON CONSTRAINT touched_pkey DO UPDATE SET told = t.told RETURNING t.ctid INTO place;
        DELETE FROM tutti.touched t WHERE t.ctid = place;
    END LOOP;
    PERFORM set_config(list, '', true);
END
$function$;

CREATE OR REPLACE FUNCTION tutti.note_large_object(before oid, object oid) RETURNS oid LANGUAGE plpgsql SECURITY DEFINER
    <fixed settings> AS $function$
BEGIN
    IF session_user ~ '^tutti_(applier|executor)_' THEN
        RAISE EXCEPTION USING ERRCODE = '0A000', MESSAGE = 'what every node executes cannot use large objects',
            HINT = 'Use them in a transaction that one node executes (SET tutti.mode = passive), or columns of type bytea.';
    ELSIF current_setting('transaction_read_only') = 'off' THEN
        PERFORM tutti.touch(object);
    END IF;
    RETURN object;
END
$function$;

CREATE OR REPLACE FUNCTION tutti.note_unlinked(before oid, object oid) RETURNS oid LANGUAGE plpgsql SECURITY DEFINER
    <fixed settings> AS $function$
BEGIN
    IF tutti.note_large_object(before, object) IS NOT NULL AND current_setting('transaction_read_only') = 'off' THEN
        INSERT INTO tutti.touched VALUES (pg_current_xact_id(), object, true)
            ON CONFLICT ON CONSTRAINT touched_pkey DO UPDATE SET unlinked = true;
    END IF;
    RETURN object;
END
$function$;

-- Nodes' servers would give the same object ids at the same time: one that is left to us is drawn by lot.
CREATE OR REPLACE FUNCTION tutti.note_created(before oid, object oid) RETURNS oid LANGUAGE plpgsql SECURITY DEFINER
    <fixed settings> AS $function$
DECLARE
    drawn int := object::int8::bit(32)::int;
BEGIN
    WHILE drawn = 0 OR object = 0 AND (drawn < 16384 OR EXISTS (SELECT FROM pg_largeobject_metadata m WHERE m.oid = drawn::oid)) LOOP
        drawn := ('x' || substr(gen_random_uuid()::text, 1, 8))::bit(32)::int & 2147483647;
    END LOOP;
    RETURN tutti.note_large_object(before, CASE object WHEN 0 THEN drawn::oid ELSE object END);
END
$function$;

CREATE OR REPLACE AGGREGATE tutti.lo_open(int4 ORDER BY oid) (SFUNC = tutti.note_large_object, STYPE = oid, FINALFUNC = lo_open_here);
CREATE OR REPLACE AGGREGATE tutti.lo_create(ORDER BY oid) (SFUNC = tutti.note_created, STYPE = oid, FINALFUNC = lo_create_here);
CREATE OR REPLACE AGGREGATE tutti.lo_from_bytea(bytea ORDER BY oid)
    (SFUNC = tutti.note_created, STYPE = oid, FINALFUNC = lo_from_bytea_here);
CREATE OR REPLACE AGGREGATE tutti.lo_put(int8, bytea ORDER BY oid)
    (SFUNC = tutti.note_large_object, STYPE = oid, FINALFUNC = lo_put_here);
CREATE OR REPLACE AGGREGATE tutti.lo_unlink(ORDER BY oid) (SFUNC = tutti.note_unlinked, STYPE = oid, FINALFUNC = lo_unlink_here);

CREATE OR REPLACE FUNCTION pg_catalog.lo_open(oid, int4) RETURNS int4 LANGUAGE sql STRICT
    RETURN (SELECT tutti.lo_open($2) WITHIN GROUP (ORDER BY $1));
CREATE OR REPLACE FUNCTION pg_catalog.lo_create(oid) RETURNS oid LANGUAGE sql STRICT
    RETURN (SELECT tutti.lo_create() WITHIN GROUP (ORDER BY $1));
CREATE OR REPLACE FUNCTION pg_catalog.lo_creat(int4) RETURNS oid LANGUAGE sql STRICT
    RETURN (SELECT tutti.lo_create() WITHIN GROUP (ORDER BY 0::oid));
CREATE OR REPLACE FUNCTION pg_catalog.lo_from_bytea(oid, bytea) RETURNS oid LANGUAGE sql STRICT
    RETURN (SELECT tutti.lo_from_bytea($2) WITHIN GROUP (ORDER BY $1));
CREATE OR REPLACE FUNCTION pg_catalog.lo_put(oid, int8, bytea) RETURNS void LANGUAGE sql STRICT
    RETURN (SELECT tutti.lo_put($2, $3) WITHIN GROUP (ORDER BY $1));
CREATE OR REPLACE FUNCTION pg_catalog.lo_unlink(oid) RETURNS int4 LANGUAGE sql STRICT
    RETURN (SELECT tutti.lo_unlink() WITHIN GROUP (ORDER BY $1));

CREATE OR REPLACE FUNCTION tutti.refuse_import() RETURNS oid LANGUAGE plpgsql AS $function$
BEGIN
    RAISE EXCEPTION USING ERRCODE = '0A000', MESSAGE = 'lo_import() reads a file of one node''s server, and cannot be replicated',
        HINT = 'Use lo_from_bytea(), or the \lo_import of psql, which reads a file of the client''s.';
END
$function$;
CREATE OR REPLACE FUNCTION pg_catalog.lo_import(text) RETURNS oid LANGUAGE sql STRICT RETURN tutti.refuse_import();
CREATE OR REPLACE FUNCTION pg_catalog.lo_import(text, oid) RETURNS oid LANGUAGE sql STRICT RETURN tutti.refuse_import();

-- What has become of the existence of the objects that the transaction has noted, since that was last asked.
CREATE OR REPLACE FUNCTION tutti.tell_existence() RETURNS text LANGUAGE plpgsql <fixed settings> AS $function$
DECLARE
    own int := age(pg_current_xact_id_if_assigned()::xid);
    o record;
    m record;
    entries text := '';
BEGIN
    -- none if it is read-only
    FOR o IN SELECT r.* FROM unnest(tutti.touched_objects()) u(object), tutti.touched_row(u.object) r ORDER BY r.object LOOP
        SELECT pg_get_userbyid(d.lomowner)::text AS owner, d.lomacl, age(d.xmin) <= own AS own INTO m
            FROM pg_largeobject_metadata d WHERE d.oid = o.object;
        IF o.unlinked OR m.owner IS NULL AND o.told IS DISTINCT FROM '' THEN
            entries := concat(entries, tutti.large_object_entry(o.object, '', NULL));
        END IF;
        IF m.own AND (o.unlinked OR m.owner IS DISTINCT FROM o.told) THEN
            entries := concat(entries, tutti.large_object_entry(o.object, m.owner, m.lomacl));
        END IF;
        INSERT INTO tutti.touched VALUES (o.transaction, o.object, false, CASE WHEN m.owner IS NULL THEN '' WHEN m.own THEN m.owner END)
            ON CONFLICT ON CONSTRAINT touched_pkey DO UPDATE SET unlinked = false, told = excluded.told;
    END LOOP;
    RETURN entries;
END
$function$;

CREATE OR REPLACE FUNCTION tutti.large_object_entry(object oid, owner text, rights aclitem[]) RETURNS text LANGUAGE sql STABLE
    <fixed settings> AS $function$
    SELECT concat('l', string_agg(concat(octet_length(part), ':', part), '' ORDER BY place))
        FROM unnest(ARRAY[object::text, owner, coalesce(rights::text, '')]) WITH ORDINALITY parts(part, place)
$function$;

-- What is gathered up to the variable of this name, and what has become of large objects. They may also have been unlinked by
-- the C function of the extension lo, which calls no function of SQL: the lock that this takes tells.
CREATE OR REPLACE FUNCTION tutti.collect_with_large_objects(name text) RETURNS bytea LANGUAGE plpgsql <fixed settings>
    AS $function$
DECLARE
    own int := age(pg_current_xact_id_if_assigned()::xid);
    gathered bytea := convert_to(coalesce(tutti.collect(name), ''), 'UTF8');
    objects oid[];
    o record;
    bytes int8;
BEGIN
    PERFORM set_config('<mark>', name, true);
    FOR o IN SELECT DISTINCT l.objid FROM pg_locks l WHERE l.pid = pg_backend_pid() AND l.locktype = 'object'
                AND l.classid = 'pg_largeobject'::regclass AND l.mode = 'AccessExclusiveLock'
                AND NOT EXISTS (SELECT FROM pg_largeobject_metadata d WHERE d.oid = l.objid) LOOP
        PERFORM tutti.touch(o.objid);
    END LOOP;
    PERFORM set_config('<mark>', 'tutti gathered', true);
    objects := tutti.touched_objects();
    IF coalesce(cardinality(objects), 0) = 0 THEN
        RETURN nullif(gathered, '');
    ELSIF EXISTS (SELECT FROM pg_cursors c WHERE c.is_holdable AND c.creation_time >= transaction_timestamp()) THEN
        RAISE EXCEPTION USING ERRCODE = '0A000',
            MESSAGE = 'a transaction that uses large objects cannot commit while a cursor WITH HOLD that it has declared is open',
            HINT = 'CLOSE the cursor, or declare it in a transaction of its own: its query is executed by COMMIT.';
    END IF;
    SELECT sum(octet_length(p.data)) INTO bytes FROM unnest(objects) t(object) JOIN pg_largeobject p ON p.loid = t.object
            JOIN pg_largeobject_metadata d ON d.oid = p.loid
        WHERE age(d.xmin) <= own OR age(p.xmin) <= own;
    IF bytes + octet_length(gathered) > <limit_bytes> THEN
        PERFORM tutti.refuse_size();
    END IF;
    gathered := gathered || convert_to(tutti.tell_existence(), 'UTF8');
    -- 128 pages together; what comes behind the last one goes away
    SELECT gathered || coalesce(string_agg(convert_to(concat('b', octet_length(e.object), ':', e.object, octet_length(e.keeps), ':',
                e.keeps, octet_length(e.pages), ':'), 'UTF8') || e.pages, '' ORDER BY e.object, e.part), '') INTO gathered
        FROM (SELECT p.object::text AS object, p.part,
                CASE WHEN p.part = 0 AND bool_or(p.whole) THEN '0' ELSE concat(max(p.pages), '') END AS keeps,
                coalesce(string_agg(int4send(p.pageno) || int4send(octet_length(p.data)) || p.data, '' ORDER BY p.pageno)
                    FILTER (WHERE p.pageno IS NOT NULL), '') AS pages
            FROM (SELECT d.oid AS object, q.pageno, q.data, age(d.xmin) <= own AS whole,
                    coalesce(((SELECT max(a.pageno) FROM pg_largeobject a WHERE a.loid = d.oid) + 1), 0) AS pages,
                    (row_number() OVER (PARTITION BY d.oid ORDER BY q.pageno) - 1) / 128 AS part
                FROM unnest(objects) t(object) JOIN pg_largeobject_metadata d ON d.oid = t.object
                    LEFT JOIN pg_largeobject q ON q.loid = d.oid AND (age(d.xmin) <= own OR age(q.xmin) <= own)
                WHERE age(d.xmin) <= own OR q.pageno IS NOT NULL) p
            GROUP BY p.object, p.part) e;
    PERFORM tutti.forget_touched(objects);
    RETURN nullif(gathered, '');
END
$function$;

-- Makes an object that another node has made, or unlinks one that another node has unlinked.
CREATE OR REPLACE FUNCTION tutti.apply_large_object(secret bytea, object text, owner text, rights text) RETURNS void LANGUAGE plpgsql
    SECURITY DEFINER <fixed settings> AS $function$
DECLARE
    before text := current_setting('<mark>');
    g record;
BEGIN
    <refuse without the secret>
    IF owner = '' THEN
        PERFORM lo_unlink_here(d.oid) FROM pg_largeobject_metadata d WHERE d.oid = object::oid;
    ELSIF NOT EXISTS (SELECT FROM pg_largeobject_metadata d WHERE d.oid = object::oid) THEN
        PERFORM set_config('<mark>', 'tutti adopting', true), lo_create_here(object::oid);
        EXECUTE format('ALTER LARGE OBJECT %s OWNER TO %I', object::oid, owner);
        FOR g IN SELECT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END AS grantee, a.privilege_type,
                    a.is_grantable
                FROM aclexplode(nullif(rights, '')::aclitem[]) a WHERE a.grantee <> quote_ident(owner)::regrole LOOP
            EXECUTE format('GRANT %s ON LARGE OBJECT %s TO %s%s', g.privilege_type, object::oid, g.grantee,
                CASE WHEN g.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END);
        END LOOP;
        PERFORM set_config('<mark>', before, true);
    END IF;
END
$function$;

-- Pages that another node has written; an object keeps no others from this one on.
CREATE OR REPLACE FUNCTION tutti.apply_large_pages(secret bytea, object text, keeps text, pages bytea) RETURNS void LANGUAGE plpgsql
    SECURITY DEFINER <fixed settings> AS $function$
DECLARE
    place int := 1;
    page int;
    bytes int;
BEGIN
    <refuse without the secret>
    IF NOT EXISTS (SELECT FROM pg_largeobject_metadata d WHERE d.oid = object::oid) THEN
        RAISE EXCEPTION USING ERRCODE = 'XX001',
            MESSAGE = format('large object %s does not exist here: this replica differs from the others', object);
    END IF;
    DELETE FROM pg_largeobject p WHERE p.loid = object::oid AND p.pageno >= keeps::int;
    WHILE place < octet_length(pages) LOOP
        page := ('x' || encode(substr(pages, place, 4), 'hex'))::bit(32)::int;
        bytes := ('x' || encode(substr(pages, place + 4, 4), 'hex'))::bit(32)::int;
        DELETE FROM pg_largeobject p WHERE p.loid = object::oid AND p.pageno = page;
        INSERT INTO pg_largeobject VALUES (object::oid, page, substr(pages, place + 8, bytes));
        place := place + 8 + bytes;
    END LOOP;
END
$function$;
