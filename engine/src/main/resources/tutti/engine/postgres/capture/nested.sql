-- What functions, procedures and DO blocks do besides changing rows (docs/decisions/0046-schema-changes-in-functions.md). Part of install.sql.
--
-- A schema change there has no message of its own that the node could look at. Its text is told by the server's stack of error contexts, so an
-- event trigger finds it, and records it as the node does for a client's own statement.

-- The first of our event triggers before a schema change, by its name: it runs as the role, and with the search path, of who makes it, and
-- tells them to the next one. No code of a client's runs between the two, so that nobody can tell it something else.
CREATE OR REPLACE FUNCTION tutti.tell_asked() RETURNS event_trigger LANGUAGE plpgsql AS $function$
DECLARE
    stack pg_catalog.text;
BEGIN
    GET DIAGNOSTICS stack = PG_CONTEXT;
    PERFORM pg_catalog.set_config('tutti.asked_in', stack, true),
        pg_catalog.set_config('tutti.asked_strings', pg_catalog.current_setting('standard_conforming_strings'), true),
        pg_catalog.set_config('tutti.asked_path', pg_catalog.current_setting('search_path'), true),
        pg_catalog.set_config('tutti.asked_as', CURRENT_USER::pg_catalog.text, true);
END
$function$;

-- The token of SQL or PL/pgSQL that a text begins with, space and comments included; NULL if it has no end. As the server reads it, whatever the database's
-- locale: all letters beyond ASCII are letters, none is space, and a string that goes on in another line goes on as it began.
CREATE OR REPLACE FUNCTION tutti.next_token(rest text) RETURNS text LANGUAGE plpgsql IMMUTABLE <fixed settings>
    AS $function$
DECLARE
    mark text;
    depth int := 1;
    place int := 3;
    step int;
BEGIN
    CASE
        WHEN rest ~ '^[ \t\n\r\f\v]' THEN RETURN substring(rest FROM '^[ \t\n\r\f\v]+');
        WHEN rest ~ '^--' THEN RETURN substring(rest FROM '^--[^\n\r]*');
        WHEN rest ~ '^/\*' THEN
            WHILE depth > 0 LOOP
                step := regexp_instr(rest, '/\*|\*/', place);
                IF step = 0 THEN
                    RETURN NULL;
                END IF;
                depth := depth + CASE substr(rest, step, 1) WHEN '/' THEN 1 ELSE -1 END;
                place := step + 2;
            END LOOP;
            RETURN left(rest, place - 1);
        WHEN rest ~ '^[eE]''' THEN RETURN substring(rest FROM '^[eE]''(?:[^''\\]|\\.|'''')*''(?:'
            '(?:[ \t\f\v]|--[^\n\r]*)*[\n\r](?:[ \t\n\r\f\v]|--[^\n\r]*[\n\r])*''(?:[^''\\]|\\.|'''')*'')*');
        WHEN rest ~ '^''' THEN RETURN substring(rest FROM '^''(?:[^'']|'''')*''');
        WHEN rest ~ '^"' THEN RETURN substring(rest FROM '^"(?:[^"]|"")*"');
        WHEN rest ~ '^\$(?:[^\x01-\x40\x5b-\x5e\x60\x7b-\x7f][^\x01-\x2f\x3a-\x40\x5b-\x5e\x60\x7b-\x7f]*)?\$' THEN
            mark := substring(rest FROM '^\$(?:[^\x01-\x40\x5b-\x5e\x60\x7b-\x7f][^\x01-\x2f\x3a-\x40\x5b-\x5e\x60\x7b-\x7f]*)?\$');
            place := strpos(substr(rest, length(mark) + 1), mark);
            RETURN CASE WHEN place > 0 THEN left(rest, place + 2 * length(mark) - 1) END;
        WHEN rest ~ '^[^\x01-\x40\x5b-\x5e\x60\x7b-\x7f]' THEN RETURN substring(rest FROM '^[^\x01-\x40\x5b-\x5e\x60\x7b-\x7f][^\x01-\x23\x25-\x2f\x3a-\x40\x5b-\x5e\x60\x7b-\x7f]*');
        ELSE RETURN left(rest, 1);
    END CASE;
END
$function$;

-- All tokens of a text; the last one is NULL if it has no end. Each is looked for in a piece of the text, since a long one is read as a whole by every pattern, and in
-- a longer piece if it may go on behind this one: what only its end would tell apart is not taken from the end of a piece.
CREATE OR REPLACE FUNCTION tutti.tokens(body text) RETURNS text[] LANGUAGE plpgsql IMMUTABLE <fixed settings> AS $function$
DECLARE
    found text[] := '{}';
    rest text := body;
    size int := 1000;
    piece text;
    cut boolean;
    token text;
    place int;
BEGIN
    WHILE rest <> '' LOOP
        piece := left(rest, size);
        cut := length(piece) = size;
        place := 1;
        WHILE piece <> '' LOOP
            EXIT WHEN cut AND piece ~ '^(?:[eE]''|\$(?![0-9]))';
            token := tutti.next_token(piece);
            EXIT WHEN cut AND (token IS NULL OR length(token) = length(piece)
                OR token ~ '^[''"]' AND substr(piece, length(token) + 1, 1) = left(token, 1));
            found := array_append(found, token);
            IF token IS NULL THEN
                RETURN found;
            END IF;
            place := place + length(token);
            EXIT WHEN size > 1000;
            piece := substr(piece, length(token) + 1);
        END LOOP;
        size := CASE place WHEN 1 THEN 4 * size ELSE 1000 END;
        rest := substr(rest, place);
    END LOOP;
    RETURN found;
END
$function$;

-- Whether a text is one whole statement, but for what follows its semicolon: space and comments. It is none if it ends in a comment
-- of one line: where a text is cut too early, the line may go on, and the next one with it. (Behind a semicolon it does not matter: no statement
-- begins as a line of PL/pgSQL's does.)
CREATE OR REPLACE FUNCTION tutti.is_one_statement(body text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE
    <fixed settings> AS $function$
DECLARE
    token text;
    word text := '';
    depth int := 0;
    atomic int := 0;
    over boolean := false;
    open_line boolean := false;
BEGIN
    FOREACH token IN ARRAY tutti.tokens(body) LOOP
        IF token IS NULL THEN
            RETURN false;
        END IF;
        open_line := NOT over AND token ~ '^--';
        IF token !~ '^([ \t\n\r\f\v]|--|/\*)' THEN
            IF over AND token <> ';' THEN
                RETURN false;
            END IF;
            token := lower(token);
            depth := depth + CASE token WHEN '(' THEN 1 WHEN ')' THEN -1 ELSE 0 END;
            atomic := atomic + CASE WHEN token = 'atomic' AND word = 'begin' OR token = 'case' AND atomic > 0 THEN 1
                WHEN token = 'end' AND atomic > 0 THEN -1 ELSE 0 END;
            over := over OR token = ';' AND depth = 0 AND atomic = 0;
            word := token;
        END IF;
    END LOOP;
    RETURN NOT open_line;
END
$function$;

-- The statement of a function, procedure or DO block that is under way, by the stack of contexts of what it calls; NULL if a client has
-- sent it, or if the stack does not tell.
CREATE OR REPLACE FUNCTION tutti.nested_statement(stack text) RETURNS text LANGUAGE sql IMMUTABLE <fixed settings>
    AS $function$
    SELECT substring(substr(stack, nullif(strpos(stack, chr(10)), 0) + 1)
        FROM '^SQL statement "(.*?)"(?:\nPL/pgSQL function |$)')
$function$;

-- Whether the server's parser understands a text. Of a function with such a parameter the server only parses it; the function is never made.
CREATE OR REPLACE FUNCTION tutti.parses(body text) RETURNS boolean LANGUAGE plpgsql <fixed settings> SET check_function_bodies = on
    AS $function$
BEGIN
    PERFORM set_config('<mark>', 'tutti adopting', true);
    EXECUTE format('CREATE FUNCTION tutti.parsed(anyelement) RETURNS void LANGUAGE sql AS %L', body);
    RAISE EXCEPTION 'it is taken back';
EXCEPTION
    WHEN syntax_error THEN RETURN false;
    WHEN OTHERS THEN RETURN true;
END
$function$;

-- Whether the statement that the stack tells may be the beginning of a longer one: a name between quotation marks may hold what looks as if the stack went on.
CREATE OR REPLACE FUNCTION tutti.may_be_longer(statement text, stack text, strings text) RETURNS boolean LANGUAGE plpgsql
    <fixed settings> AS $function$
DECLARE
    rest text := substr(stack, strpos(stack, chr(10)) + 1 + length('SQL statement "'));
    place int := length(statement) + 1;
    step int;
BEGIN
    LOOP
        step := regexp_instr(rest, '"(?:\nPL/pgSQL function |$)', place + 1);
        IF step = 0 THEN
            RETURN false;
        ELSIF strings = 'off' AND strpos(left(rest, step - 1), chr(92)) > 0 OR tutti.parses(left(rest, step - 1)) THEN
            RETURN true;
        END IF;
        place := step;
    END LOOP;
END
$function$;

CREATE OR REPLACE FUNCTION tutti.refuse_nested(tag text, hint text) RETURNS void LANGUAGE plpgsql AS $function$
BEGIN
    RAISE EXCEPTION USING ERRCODE = '0A000', MESSAGE = pg_catalog.format('%s cannot be replicated from a function or DO block', tag),
        HINT = hint;
END
$function$;

-- Whether a schema change names what other nodes' sessions would take for something else: SESSION_USER as a role, or the value that a setting has (SET ... FROM CURRENT), if they are
-- not told that one. Expressions may say SESSION_USER. (SessionWords judges clients' own statements alike.)
CREATE OR REPLACE FUNCTION tutti.tells_of_session(statement text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE <fixed settings> AS $function$
DECLARE
    token text;
    words text := ' ';
BEGIN
    IF statement !~* '\msession_user\M|\mcurrent\M' THEN
        RETURN false;
    END IF;
    FOREACH token IN ARRAY tutti.tokens(statement) LOOP
        IF token IS NULL THEN
            RETURN true;
        END IF;
        CONTINUE WHEN token ~ '^([ \t\n\r\f\v]|--|/\*)';
        words := concat(words, CASE WHEN token ~ '^"\w+"$' AND lower(token) <> '"session_user"' THEN lower(btrim(token, '"')) WHEN token ~ '^"' THEN 'a'
            WHEN token ~ '^[eE]?''|^\$.*\$' THEN '''' ELSE lower(token) END, ' ');
    END LOOP;
    RETURN words ~ ' (?:to|from|for|owned by|granted by|role|user|group|authorization|admin) (?:\w+ , )*session_user '
        OR EXISTS (SELECT FROM regexp_matches(words, ' set (\w+(?: \. \w+)*) from current ', 'g') m
            WHERE m[1] <> ALL (SELECT lower(name) FROM unnest(ARRAY[<statement settings>]) name));
END
$function$;

-- The expressions behind USING in ALTER TABLE ... ALTER COLUMN ... TYPE, each with the table's name as the statement gives it; NULL for one that has
-- what the server may read otherwise than next_token: escapes, dollars, and letters beyond ASCII where there are no quotation marks.
CREATE OR REPLACE FUNCTION tutti.transforms(statement text) RETURNS TABLE (table_name text, expression text) LANGUAGE plpgsql IMMUTABLE
    <fixed settings> AS $function$
DECLARE
    token text;
    before text := '';
    depth int := 0;
    head text[] := '{}';
    typed boolean := false;
BEGIN
    IF statement !~* '\mtype\M' OR statement !~* '\musing\M' THEN
        RETURN;
    END IF;
    FOREACH token IN ARRAY tutti.tokens(statement) LOOP
        IF token IS NULL OR token ~ '[\\$]' OR lower(before) = 'u' AND token = '&'
                OR token ~ '[^\x01-\x7f]' AND token !~ '^[''"]' THEN
            expression := NULL;
            RETURN NEXT;
            RETURN;
        END IF;
        before := token;
        IF token ~ '^([ \t\n\r\f\v]|--|/\*)' THEN
            token := ' ';
        END IF;
        depth := depth + CASE WHEN token IN ('(', '[') THEN 1 WHEN token IN (')', ']') THEN -1 ELSE 0 END;
        IF depth = 0 AND token IN (',', ';') THEN
            IF expression IS NOT NULL THEN
                RETURN NEXT;
            END IF;
            expression := NULL;
            typed := false;
        ELSIF expression IS NOT NULL THEN
            expression := expression || token;
        ELSIF depth = 0 AND typed AND lower(token) = 'using' THEN
            expression := '';
        END IF;
        typed := typed OR lower(token) = 'type';
        IF table_name IS NULL AND token <> ' ' THEN
            IF cardinality(head) > 0 AND token <> '.' AND head[cardinality(head)] <> '.' THEN
                table_name := array_to_string(head, '');
            ELSIF cardinality(head) > 0 OR NOT lower(token) = ANY (ARRAY['alter', 'table', 'if', 'exists', 'only']) THEN
                head := head || token;
            END IF;
        END IF;
    END LOOP;
    IF expression IS NOT NULL THEN
        RETURN NEXT;
    END IF;
END
$function$;

-- Whether a function of a user's may have another value at another node, called from these others. One that is called by itself has no more words than it has.
CREATE OR REPLACE FUNCTION tutti.function_varies(function oid, callers oid[]) RETURNS boolean LANGUAGE plpgsql STABLE <fixed settings> AS $function$
DECLARE
    f record;
BEGIN
    SELECT p.pronamespace, p.provolatile, p.prosrc, l.lanname INTO f FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang WHERE p.oid = function;
    IF f.pronamespace IN ('pg_catalog'::regnamespace, 'tutti'::regnamespace, 'information_schema'::regnamespace) OR f.lanname IN ('c', 'internal') THEN
        RETURN f.provolatile = 'v';
    END IF;
    RETURN function <> ALL (callers) AND (f.provolatile = 'v' OR cardinality(callers) > 8 OR f.lanname NOT IN ('sql', 'plpgsql')
        OR tutti.varies_within(coalesce(pg_get_function_sqlbody(function), f.prosrc), callers || function));
END
$function$;

CREATE OR REPLACE FUNCTION tutti.varies_within(expression text, callers oid[]) RETURNS boolean LANGUAGE plpgsql STABLE <fixed settings> AS $function$
DECLARE
    tokens text[];
    token text;
    before text := '';
    word text;
    called boolean;
BEGIN
    IF expression IS NULL OR tutti.names_moment(expression) THEN
        RETURN true;
    END IF;
    tokens := ARRAY(SELECT t.token FROM unnest(tutti.tokens(expression)) WITH ORDINALITY t(token, place)
        WHERE (t.token ~ '^([ \t\n\r\f\v]|--|/\*)') IS NOT TRUE ORDER BY t.place);
    FOR i IN 1 .. cardinality(tokens) LOOP
        token := tokens[i];
        IF token IS NULL THEN
            RETURN true;
        END IF;
        word := CASE WHEN starts_with(token, '"') THEN replace(substr(token, 2, length(token) - 2), '""', '"')
            WHEN token ~ '^[[:alpha:]_]' THEN lower(token) END;
        called := before = '.' OR tokens[i + 1] IS NOT DISTINCT FROM '(';
        IF token !~ '^"' AND word ~ '^(?:current_(?:date|time|timestamp|user|role|catalog|schema)|local(?:time|timestamp)|(?:session_|system_)?user|tableoid|ctid|xmin|xmax)$'
                OR word ~ '^reg(?:class|proc|procedure|oper|operator|type|role|namespace|collation|config|dictionary)$'
                OR cardinality(callers) > 0 AND word IN ('from', 'execute', 'table')
                OR called AND word ~ '^(?:pg_(?!typeof$|catalog$)|inet_|txid_|to_reg|current_setting$|current_query$|version$)'
                OR called AND EXISTS (SELECT FROM pg_proc p WHERE p.proname::text = left(word, 63)
                    AND (p.prosrc IN ('now', 'statement_timestamp') OR tutti.function_varies(p.oid, callers))) THEN
            RETURN true;
        END IF;
        before := token;
    END LOOP;
    RETURN false;
END
$function$;

-- Whether a cast of a user's may give another value at another node.
CREATE OR REPLACE FUNCTION tutti.casts_vary() RETURNS boolean LANGUAGE sql STABLE <fixed settings> AS $function$
    SELECT EXISTS (SELECT FROM pg_cast c WHERE c.oid >= 16384 AND c.castfunc <> 0 AND tutti.function_varies(c.castfunc, '{}'))
$function$;

-- Whether an expression may have another value at another node, by its words: nothing of it is parsed with the rights of this function, since the server
-- runs code where it parses a literal, such as what a domain checks. A word that can be a call counts as all functions of that name, a sign as all operators of that
-- name, and a cast that is a user's as each cast. Functions of a user's that are not in C are looked into, whatever they say of themselves: they vary by the same words, and by reading
-- tables, which nobody certifies.
CREATE OR REPLACE FUNCTION tutti.varies(expression text) RETURNS boolean LANGUAGE sql STABLE <fixed settings> AS $function$
    SELECT tutti.varies_within(expression, '{}') OR tutti.casts_vary()
        OR EXISTS (SELECT FROM pg_operator o WHERE o.oid >= 16384 AND strpos(expression, o.oprname) > 0 AND tutti.function_varies(o.oprcode, '{}'))
$function$;

-- ALTER COLUMN ... TYPE ... USING computes a table's rows anew at each node (docs/decisions/0155). A temporary table is this one's only.
CREATE OR REPLACE FUNCTION tutti.check_transforms(statement text, path text) RETURNS void LANGUAGE plpgsql <fixed settings>
    AS $function$
BEGIN
    PERFORM set_config('search_path', path, true);
    IF EXISTS (SELECT FROM tutti.transforms(statement) t WHERE tutti.varies(t.expression) AND NOT EXISTS (SELECT FROM pg_catalog.pg_class c
            WHERE c.oid OPERATOR(pg_catalog.=) pg_catalog.to_regclass(t.table_name) AND c.relpersistence OPERATOR(pg_catalog.=) 't')) THEN
        PERFORM tutti.refuse_nested('ALTER TABLE with an expression that may have other values at other nodes',
            'Add a column, fill it with UPDATE, and take the old one''s place with it.');
    END IF;
END
$function$;

-- A column that gets another type is computed at each node, by a cast of a user's perhaps, which no text names.
CREATE OR REPLACE FUNCTION tutti.check_casts(statement text) RETURNS void LANGUAGE plpgsql <fixed settings> AS $function$
BEGIN
    IF statement ~* '\mtype\M' AND tutti.casts_vary() THEN
        RAISE EXCEPTION USING ERRCODE = '0A000',
            MESSAGE = 'ALTER TABLE ... TYPE cannot be replicated in this database: a cast in it may give other values at other nodes',
            DETAIL = 'Its function is VOLATILE, reads tables, settings or the clock, or is in a language that is not looked into.',
            HINT = 'Add a column, fill it with UPDATE, and take the old one''s place with it.';
    END IF;
END
$function$;

-- The bounds of a partition are computed when it is made, at each node. Of strings, which no cast of a user's reads, nothing is called.
CREATE OR REPLACE FUNCTION tutti.check_bounds(tag text, statement text) RETURNS void LANGUAGE plpgsql <fixed settings>
    AS $function$
DECLARE
    bounds CONSTANT text := substring(statement FROM '(?i)\mfor\s+values\M(.*)$');
BEGIN
    IF bounds IS NOT NULL AND (tutti.names_moment(bounds) OR bounds !~* concat('^(?:[\s,();]|''(?:[^''\\]|'''')*''|\m(?:from|to|in|minvalue|maxvalue|null)\M',
            '|\mwith\s*\(\s*modulus\s+\d+\s*,\s*remainder\s+\d+\s*\))*$') AND tutti.varies(bounds)) THEN
        RAISE EXCEPTION USING ERRCODE = '0A000',
            MESSAGE = format('%s with bounds of a partition that may have other values at other nodes cannot be replicated', tag),
            HINT = 'Write the bounds as literals.';
    END IF;
END
$function$;

-- A part of a recorded statement, after its length in units of UTF-16.
CREATE OR REPLACE FUNCTION tutti.statement_part(part text) RETURNS text LANGUAGE sql IMMUTABLE <fixed settings>
    AS $function$
    SELECT concat(length(part) + length(regexp_replace(part, '[^\U00010000-\U0010FFFF]', '', 'g')), ':', part)
$function$;

-- The tables as the transaction sees them, in the form that the node reads (CatalogQuery).
CREATE OR REPLACE FUNCTION tutti.catalog_text() RETURNS text LANGUAGE sql STABLE <fixed settings> AS $function$
    SELECT string_agg(catalog_row::text, '') FROM (<catalog>) catalog_row
$function$;

-- A statement as it is recorded (Statement).
CREATE OR REPLACE FUNCTION tutti.nested_text(statement text, role text, path text) RETURNS text LANGUAGE sql STABLE
    <fixed settings> AS $function$
    SELECT concat(tutti.statement_part('<nested>'), tutti.statement_part(role), tutti.statement_part(statement),
        (SELECT string_agg(concat(tutti.statement_part(name), tutti.statement_part(CASE name WHEN 'search_path' THEN path
            ELSE current_setting(name) END)), '' ORDER BY name) FROM unnest(ARRAY[<statement settings>]) name))
$function$;

-- Records a statement among the row changes, whose captures have been flushed. Returns the entry's number.
CREATE OR REPLACE FUNCTION tutti.note_nested(statement text, role text, path text) RETURNS bigint LANGUAGE sql
    <fixed settings> AS $function$
    INSERT INTO tutti.pending SELECT pg_current_xact_id(), concat('s', octet_length(made), ':', made)
        FROM tutti.nested_text(statement, role, path) made
        RETURNING number
$function$;

-- Lets a schema change happen that a function, procedure or DO block makes, and records it among the row changes, with the catalog before it if
-- rows have to be understood by that. What turns out to concern a temporary object is taken back (tutti.take_back).
CREATE OR REPLACE FUNCTION tutti.begin_nested(tag text, statement text) RETURNS void LANGUAGE plpgsql <fixed settings>
    AS $function$
DECLARE
    tables text;
    entries bigint[];
    entry bigint;
    last bigint;
BEGIN
    IF NOT tutti.is_one_statement(statement) THEN
        PERFORM tutti.refuse_nested(tag, 'EXECUTE one statement at a time, and end a comment after -- with a line break.');
    ELSIF tutti.may_be_longer(statement, current_setting('tutti.asked_in'), current_setting('tutti.asked_strings')) THEN
        PERFORM tutti.refuse_nested(tag, 'Send it as a statement of its own, or write its names without line breaks.');
    ELSIF current_setting('tutti.asked_strings') = 'off' AND strpos(statement, chr(92)) > 0 THEN
        PERFORM tutti.refuse_nested(tag, 'SET standard_conforming_strings = on, and write strings with a backslash accordingly.');
    ELSIF starts_with(session_user, '<executor>') THEN
        PERFORM tutti.refuse_nested(tag, 'Every node executes this request: send the schema change as a statement of its own.');
    ELSIF statement ~* 'u&"' THEN
        PERFORM tutti.refuse_nested(tag, 'Write names without U&.');
    ELSIF tag ~ 'SUBSCRIPTION' OR statement ~* 'session_replication_role|\mtutti_(?:node|applier_|executor_)' OR tutti.tells_of_session(statement) THEN
        PERFORM tutti.refuse_nested(tag, 'It is refused as a statement of its own, too.');
    END IF;
    IF tag IN ('CREATE TABLE AS', 'SELECT INTO') THEN
        PERFORM set_config('<mark>', concat_ws(chr(10), 'tutti allowed', '', '', '',
            tutti.nested_text('', current_setting('tutti.asked_as'), current_setting('tutti.asked_path'))), true);
        RETURN;
    END IF;
    IF tag = 'ALTER TABLE' THEN
        PERFORM tutti.check_transforms(statement, current_setting('tutti.asked_path'));
    END IF;
    last := coalesce((SELECT max(p.number) FROM tutti.pending p WHERE p.transaction = pg_current_xact_id() AND left(p.entry, 1) = 's'), 0);
    IF tag ~ '^(?:ALTER|DROP|CREATE INDEX|CREATE EXTENSION)' AND EXISTS (SELECT FROM tutti.pending p
            WHERE p.transaction = pg_current_xact_id() AND p.number > last AND left(p.entry, 1) NOT IN ('s', 'c', 'n', 'q'))
            AND NOT EXISTS (SELECT FROM pg_class c WHERE c.relnamespace = pg_my_temp_schema()
                AND strpos(lower(statement), lower(c.relname)) > 0) THEN
        tables := tutti.catalog_text();
        INSERT INTO tutti.pending VALUES (pg_current_xact_id(), concat('c', octet_length(tables), ':', tables))
            RETURNING number INTO entry;
        entries := ARRAY[entry];
    END IF;
    entry := tutti.note_nested(statement, current_setting('tutti.asked_as'), current_setting('tutti.asked_path'));
    PERFORM tutti.mark_recorded(tag, array_to_string(entries || entry, ' '));
END
$function$;

-- A schema change begins that these entries tell. What DROP OWNED does is not told to event triggers, so that nobody knows whether it has changed nothing.
CREATE OR REPLACE FUNCTION tutti.mark_recorded(tag text, entries text) RETURNS text LANGUAGE sql <fixed settings> AS $function$
    SELECT set_config('<mark>', concat_ws(chr(10), 'tutti allowed', '', '', CASE WHEN tag <> 'DROP OWNED' THEN entries ELSE '' END), true)
$function$;

-- It has changed nothing that is replicated.
CREATE OR REPLACE FUNCTION tutti.take_back(mark text) RETURNS void LANGUAGE sql <fixed settings> AS $function$
    DELETE FROM tutti.pending WHERE transaction = pg_current_xact_id() AND number = ANY (string_to_array(split_part(mark, chr(10), 4), ' ')::bigint[])
$function$;

-- Code with calls of pg_notify() in place of NOTIFY, which nobody could tell to other nodes. Its meaning is the same.
CREATE OR REPLACE FUNCTION tutti.with_notify_calls(code text, verb text) RETURNS text LANGUAGE plpgsql IMMUTABLE
    <fixed settings> AS $function$
DECLARE
    statement CONSTANT text := '^notify\s+([^\x01-\x40\x5b-\x5e\x60\x7b-\x7f][^\x01-\x23\x25-\x2f\x3a-\x40\x5b-\x5e\x60\x7b-\x7f]*|"(?:[^"]|"")+")\s*(?:,\s*(' ||
        '[eE]''(?:[^''\\]|\\.|'''')*''|''(?:[^'']|'''')*'')\s*)?(?:;|$)';
    made text[] := '{}';
    before text := ';';
    token text;
    place int := 1;
    replaced int := 1; -- up to which place
    parts text[];
BEGIN
    IF code !~* 'notify' THEN
        RETURN code;
    END IF;
    FOREACH token IN ARRAY tutti.tokens(code) LOOP
        IF token IS NULL THEN
            RETURN array_to_string(made, '') || substr(code, place);
        ELSIF place >= replaced THEN
            parts := CASE WHEN lower(token) = 'notify' AND before ~ '(?:;|\mbegin|\mthen|\melse|\mloop|> >)$'
                THEN regexp_match(substr(code, place), statement, 'i') END;
            IF parts IS NOT NULL AND lower(parts[1]) <> 'end' THEN
                replaced := place + length(regexp_substr(substr(code, place), statement, 1, 1, 'i'));
                made := array_append(made, concat(verb, ' pg_catalog.pg_notify(', quote_literal(CASE WHEN starts_with(parts[1], '"')
                    THEN replace(substr(parts[1], 2, length(parts[1]) - 2), '""', '"') ELSE lower(parts[1] COLLATE "C") END), ', ',
                    coalesce(parts[2], ''''''), ');'));
                before := ';';
            ELSE
                IF token ~* '^e?''\s*notify\s' AND before ~ '(?:^| )execute(?: format \()?$' THEN
                    PERFORM tutti.refuse_nested('EXECUTE of NOTIFY', 'PERFORM pg_notify(channel, payload) does the same.');
                ELSIF token !~ '^([ \t\n\r\f\v]|--|/\*)' THEN
                    before := right(concat(before, ' ', lower(token)), 40);
                END IF;
                made := array_append(made, token);
            END IF;
        END IF;
        place := place + length(token);
    END LOOP;
    RETURN array_to_string(made, '');
END
$function$;

-- A function or procedure has been made or replaced: what its code does must be told to other nodes. Its text alone is replaced: the server would call
-- code of its owner's with our rights where it parsed the rest again, such as a default of a domain's type.
CREATE OR REPLACE FUNCTION tutti.adopt_code(routine oid) RETURNS void LANGUAGE sql <fixed settings> AS $function$
    UPDATE pg_proc p SET prosrc = made.code
        FROM (SELECT tutti.with_notify_calls(o.prosrc, CASE l.lanname WHEN 'sql' THEN 'SELECT' ELSE 'PERFORM' END) AS code
            FROM pg_proc o JOIN pg_language l ON l.oid = o.prolang
            WHERE o.oid = routine AND l.lanname IN ('plpgsql', 'sql') AND o.prosrc ~* '\mnotify\M' AND o.prokind IN ('f', 'p')) made
        WHERE p.oid = routine AND p.prosrc <> made.code
$function$;

-- Executes what changes roles in a DO block, where the node has put it in the place of the statement. It is recorded before, as the
-- statement of whoever the session is; without a role it has been executed.
CREATE OR REPLACE FUNCTION tutti.execute_shared(statement text) RETURNS void LANGUAGE plpgsql AS $function$
DECLARE
    noted pg_catalog.bool;
BEGIN
    IF pg_catalog.current_setting('standard_conforming_strings') OPERATOR(pg_catalog.=) 'off'
            AND pg_catalog.strpos(statement, pg_catalog.chr(92)) OPERATOR(pg_catalog.>) 0 THEN
        RAISE EXCEPTION USING ERRCODE = '0A000', MESSAGE = 'this statement cannot be replicated from a DO block',
            HINT = 'SET standard_conforming_strings = on, and write strings with a backslash accordingly.';
    END IF;
    noted := tutti.note_shared(statement, CURRENT_USER::pg_catalog.text, pg_catalog.current_setting('search_path'));
    EXECUTE statement;
    noted := tutti.note_shared(statement, '', '');
END
$function$;

-- Only execute_shared() may call this. Its line is the next one of the stack, where no code of a client's can put another one like it: a function
-- in the schema tutti cannot be made, and texts of statements have lines that begin otherwise.
CREATE OR REPLACE FUNCTION tutti.note_shared(statement text, role text, path text) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
    <fixed settings> AS $function$
DECLARE
    stack text;
    kind CONSTANT text := '^\s*(?:(?:create|alter|drop)\s+(?:role|user|group)|grant|revoke|reassign\s+owned|comment\s+on\s+(?:role|user|group))\M';
BEGIN
    GET DIAGNOSTICS stack = PG_CONTEXT;
    IF split_part(stack, chr(10), 2) NOT LIKE 'PL/pgSQL function tutti.execute\_shared(text) line %' THEN
        RAISE EXCEPTION USING ERRCODE = '42501', MESSAGE = 'permission denied for function note_shared',
            HINT = 'Take the schema tutti out of search_path, if a DO block is to change roles.';
    ELSIF role = '' THEN
        PERFORM tutti.explain_server();
        RETURN true;
    ELSIF statement !~* kind OR NOT tutti.is_one_statement(statement) OR tutti.tells_of_session(statement)
            OR statement ~* '\mmapping\M|\muntil\M.*\m(?:now|today|tomorrow|yesterday)\M|u&"|session_replication_role|\mtutti_(?:node|applier_|executor_)|^\s*alter\M.*\mall\M.*\mdatabase\M' THEN
        PERFORM tutti.refuse_nested('this statement', 'Send it as a statement of its own.');
    END IF;
    IF current_setting('session_replication_role') <> 'replica' THEN
        PERFORM tutti.check_server();
        PERFORM tutti.flush();
        PERFORM tutti.note_nested(statement, role, path);
    END IF;
    RETURN true;
END
$function$;

-- Temporary objects are of their session alone: what concerns them is told to nobody, and what others are told must not use them.

CREATE OR REPLACE FUNCTION tutti.refuse_temporary(tag text, what text, hint text) RETURNS void LANGUAGE plpgsql AS $function$
BEGIN
    RAISE EXCEPTION USING ERRCODE = '0A000', MESSAGE = pg_catalog.format('%s of %s cannot be replicated', tag, what),
        DETAIL = 'Temporary objects are of this session alone, and no other node has them.', HINT = hint;
END
$function$;

-- Where the rights to the session's temporary objects stand in catalogs. Whoever grants or revokes writes all rows anew that are concerned.
CREATE OR REPLACE FUNCTION tutti.temporary_rights() RETURNS text[] LANGUAGE sql STABLE <fixed settings> AS $function$
    SELECT ARRAY(SELECT concat('c', c.ctid) FROM pg_class c WHERE c.relnamespace = pg_my_temp_schema()
        UNION ALL SELECT concat('a', a.ctid) FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid WHERE c.relnamespace = pg_my_temp_schema()
        UNION ALL SELECT concat('p', p.ctid) FROM pg_proc p WHERE p.pronamespace = pg_my_temp_schema()
        UNION ALL SELECT concat('t', t.ctid) FROM pg_type t WHERE t.typnamespace = pg_my_temp_schema())
$function$;

-- How many rows of these catalogs the transaction has written anew.
CREATE OR REPLACE FUNCTION tutti.rights_written() RETURNS bigint LANGUAGE sql STABLE <fixed settings> AS $function$
    SELECT sum(pg_stat_get_xact_tuples_updated(c))::bigint FROM unnest(ARRAY['pg_class', 'pg_attribute', 'pg_proc', 'pg_type']::regclass[]) c
$function$;

-- Whether the statement has granted, or revoked, rights to temporary objects, and to no others.
CREATE OR REPLACE FUNCTION tutti.grants_temporary(tag text) RETURNS boolean LANGUAGE plpgsql STABLE <fixed settings> AS $function$
DECLARE
    concerned bigint;
BEGIN
    IF tag NOT IN ('GRANT', 'REVOKE') OR pg_my_temp_schema() = 0 THEN
        RETURN false;
    END IF;
    concerned := (SELECT count(*) FROM unnest(tutti.temporary_rights()) r
        WHERE r <> ALL (substr(current_setting('tutti.asked_rights'), strpos(current_setting('tutti.asked_rights'), ' ') + 1)::text[]));
    IF concerned > 0 AND concerned <> tutti.rights_written() - split_part(current_setting('tutti.asked_rights'), ' ', 1)::bigint THEN
        PERFORM tutti.refuse_temporary(tag, 'rights to temporary objects, and to others', 'Name them in statements of their own.');
    END IF;
    RETURN concerned > 0;
END
$function$;

-- Refuses a schema change, which others are told, that uses temporary objects. What it has made depends on them, but for a table that is made LIKE one; what bodies of functions name is not
-- looked at by others (EngineCalls).
CREATE OR REPLACE FUNCTION tutti.check_own_objects(tag text, statement text) RETURNS void LANGUAGE plpgsql <fixed settings> AS $function$
DECLARE
    used text;
BEGIN
    IF pg_my_temp_schema() = 0 THEN
        RETURN;
    END IF;
    WITH RECURSIVE own(classid, objid) AS (
        SELECT d.classid, d.objid FROM pg_depend d WHERE d.refclassid = 'pg_namespace'::regclass AND d.refobjid = pg_my_temp_schema()
        UNION SELECT d.classid, d.objid FROM own o JOIN pg_depend d ON d.refclassid = o.classid AND d.refobjid = o.objid
    )
    SELECT pg_describe_object(o.classid, o.objid, 0) INTO used FROM own o
        WHERE o.classid = ANY (ARRAY['pg_class', 'pg_type', 'pg_proc', 'pg_attrdef', 'pg_constraint', 'pg_trigger', 'pg_rewrite', 'pg_policy', 'pg_operator', 'pg_cast',
                'pg_statistic_ext']::regclass[]::oid[])
            AND NOT tutti.on_temporary(o.classid, o.objid)
            AND NOT coalesce((SELECT i.schema ~ '^pg_(?:toast_)?temp' FROM pg_identify_object(o.classid, o.objid, 0) i), false)
        LIMIT 1;
    IF used IS NULL AND tag IN ('CREATE TABLE', 'CREATE FOREIGN TABLE', 'CREATE SCHEMA') AND statement ~* '\mlike\M' THEN
        SELECT c.relname INTO used FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
            WHERE l.pid = pg_backend_pid() AND l.locktype = 'relation' AND c.relnamespace = pg_my_temp_schema()
                AND (statement ~* concat('(?:^|\W)', regexp_replace(c.relname, '(\W)', '\\\1', 'g'), '(?:\W|$)') OR statement ~* 'u&"')
            LIMIT 1;
    END IF;
    IF used IS NOT NULL THEN
        PERFORM tutti.refuse_temporary(tag, format('what uses temporary objects (%s)', used), 'Make it without them, or in a session that has none of these names.');
    END IF;
END
$function$;
