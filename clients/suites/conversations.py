"""Random conversations with a PostgreSQL server, message by message: what is made of a seed is always the same.

A conversation is a list of steps: messages that a client sends without waiting for an answer. Messages are what a driver may send, in any order,
those that a server has to refuse included. What is answered follows from the messages alone: no clocks, nothing random, nothing that depends on
where rows lie.
"""

import random
import struct

SETUP = ["CREATE TABLE item (id int PRIMARY KEY, name text, amount int NOT NULL DEFAULT 0 CHECK (amount < 1000))", "CREATE TABLE loose (a int, b text)",
         "CREATE SEQUENCE numbers", "CREATE VIEW dear AS SELECT id, name FROM item WHERE amount > 10",
         """CREATE FUNCTION add_item(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN
            INSERT INTO item VALUES (n, 'added', n); RAISE NOTICE 'added %', n; RETURN n + 1; END $$""",
         """CREATE FUNCTION risky(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN INSERT INTO loose VALUES (n, 'risky'); RETURN 10 / n;
            EXCEPTION WHEN division_by_zero THEN INSERT INTO loose VALUES (n, 'caught'); RETURN NULL; END $$"""]
# made before each conversation
RESET = ["DROP TABLE IF EXISTS made", "TRUNCATE item, loose", "INSERT INTO item SELECT i, 'item ' || i, i * 5 FROM generate_series(1, 5) i",
         "INSERT INTO loose VALUES (1, 'one'), (2, 'two')", "SELECT setval('numbers', 1, false)"]
LEFT = "SELECT 'item', i::text FROM item i UNION ALL SELECT 'loose', l::text FROM loose l ORDER BY 1, 2"

READS = ["SELECT 1", "SELECT id, name FROM item ORDER BY id", "SELECT * FROM loose ORDER BY a, b", "SELECT * FROM dear ORDER BY id", "VALUES (1, 'x'), (2, NULL)",
         "SELECT count(*) FROM item, loose", "SELECT generate_series(1, 4)", "TABLE loose ORDER BY a, b", "SELECT 1/0", "SELECT 10 / (id - 3) FROM item ORDER BY id",
         "SELECT nothing FROM item", "SELECT * FROM nowhere", "SELEC 1", "SELECT 'x'::int", "SELECT id FROM item WHERE name = 'item 2' FOR UPDATE",
         "WITH x AS (SELECT 1 AS a) SELECT * FROM x", "SELECT repeat('y', 5000)", "SELECT", "EXPLAIN (COSTS off) SELECT 1", "SHOW DateStyle", "SHOW nothing.here",
         "SELECT NULL::text, ''::text, true, 1.5, ARRAY[1, NULL]", "COPY (SELECT id FROM item ORDER BY id) TO STDOUT", "COPY item TO STDOUT (FORMAT csv)",
         "SELECT current_setting('application_name')", "SELECT currval('numbers')", "SELECT lastval()", "FETCH 2 FROM c", "FETCH ALL FROM c", "MOVE 1 FROM c", "FETCH ALL FROM h",
         "SELECT * FROM temporary ORDER BY 1", "SELECT pg_typeof(1)", "SELECT id, amount FROM item ORDER BY id LIMIT 2", "SELECT made.* FROM made", "FETCH BACKWARD 1 FROM c"]
WRITES = ["INSERT INTO item VALUES (6, 'six', 6)", "INSERT INTO item VALUES (7, 'seven', 7), (8, 'eight', 8) RETURNING id", "INSERT INTO item VALUES (1, 'again')",
          "INSERT INTO item VALUES (9, 'nine', 5000)", "UPDATE item SET amount = amount + 1", "UPDATE item SET name = 'new' WHERE id = 2 RETURNING *",
          "UPDATE item SET amount = 1 WHERE id = 99", "DELETE FROM item WHERE id = 3", "DELETE FROM item WHERE id = 4 RETURNING name, id", "INSERT INTO loose VALUES (3, 'three')",
          "UPDATE loose SET b = 'other' WHERE a = 1", "DELETE FROM loose WHERE a = 2", "INSERT INTO item VALUES (1, 'x') ON CONFLICT (id) DO UPDATE SET name = excluded.name RETURNING *",
          "INSERT INTO item VALUES (2, 'x') ON CONFLICT DO NOTHING", "WITH gone AS (DELETE FROM loose RETURNING a) SELECT count(*) FROM gone",
          "MERGE INTO item USING (VALUES (1), (20)) s(x) ON id = x WHEN MATCHED THEN UPDATE SET amount = 2 WHEN NOT MATCHED THEN INSERT VALUES (x, 'merged')",
          "SELECT add_item(30)", "SELECT risky(0)", "SELECT risky(5)", "DO $$ BEGIN PERFORM risky(2); RAISE WARNING 'done'; END $$", "SELECT nextval('numbers')", "TRUNCATE loose",
          "INSERT INTO loose SELECT id, name FROM item RETURNING a", "UPDATE item SET amount = 1 / (id - 2)", "INSERT INTO item (id) VALUES ('x')", "INSERT INTO nowhere VALUES (1)",
          "UPDATE item SET nothing = 1", "INSERT INTO item VALUES (NULL)", "DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = 'TU001', DETAIL = 'why', HINT = 'how'; END $$",
          "INSERT INTO made VALUES (1)", "INSERT INTO temporary VALUES (1)", "SELECT setval('numbers', 40)", "INSERT INTO dear VALUES (50, 'by view')", "INSERT INTO item DEFAULT VALUES",
          "SELECT lo_creat(-1) > 0", "LOCK TABLE item", "NOTIFY heard, 'it'", "SELECT pg_notify('heard', 'that')"]
PARAMETERS = ["SELECT $1::int + 1", "SELECT id, name FROM item WHERE id > $1 ORDER BY id", "INSERT INTO item VALUES ($1, 'given', 3)",
              "INSERT INTO item VALUES ($1, 'given', 3) RETURNING id, name", "UPDATE item SET amount = amount + $1", "UPDATE item SET amount = $1 WHERE id = 1 RETURNING amount",
              "DELETE FROM item WHERE id = $1", "INSERT INTO loose VALUES ($1, 'given')", "SELECT add_item($1)", "SELECT $1", "SELECT 10 / $1::int", "SELECT generate_series(1, $1::int)",
              "INSERT INTO loose SELECT i FROM generate_series(1, $1::int) i RETURNING a", "DELETE FROM loose WHERE a < $1 RETURNING *", "SELECT set_config('application_name', $1::text, false)"]
CONTROLS = ["BEGIN", "BEGIN", "BEGIN", "START TRANSACTION READ ONLY", "BEGIN ISOLATION LEVEL SERIALIZABLE", "COMMIT", "COMMIT", "COMMIT", "END", "ROLLBACK", "ABORT", "SAVEPOINT s", "SAVEPOINT s",
            "ROLLBACK TO s", "ROLLBACK TO SAVEPOINT s", "RELEASE s", "COMMIT AND CHAIN", "ROLLBACK AND CHAIN", "SET TRANSACTION READ ONLY", "ROLLBACK PREPARED 'x'", "COMMIT PREPARED 'x'", "SET CONSTRAINTS ALL IMMEDIATE"]
SESSION = ["SET DateStyle = 'German'", "RESET DateStyle", "SET LOCAL DateStyle = 'SQL'", "SET application_name = 'talks'", "SET nothing.here = 5", "RESET ALL", "SET search_path = public, pg_temp",
           "SET statement_timeout = '60s'", "SET work_mem = 'much'", "PREPARE p AS SELECT id FROM item ORDER BY id", "PREPARE p(int) AS INSERT INTO loose VALUES ($1, 'prepared') RETURNING a",
           "EXECUTE p", "EXECUTE p(5)", "DEALLOCATE p", "DEALLOCATE ALL", "DEALLOCATE s1", "DISCARD PLANS", "DISCARD ALL", "LISTEN heard", "UNLISTEN *", "DECLARE c CURSOR FOR SELECT id FROM item ORDER BY id",
           "DECLARE c SCROLL CURSOR FOR SELECT id, name FROM item ORDER BY id", "DECLARE h CURSOR WITH HOLD FOR SELECT id FROM item ORDER BY id", "CLOSE c", "CLOSE h", "CLOSE ALL", "EXECUTE s1",
           "CREATE TEMP TABLE temporary (x int)", "DROP TABLE temporary", "CREATE TEMP TABLE temporary ON COMMIT DROP AS SELECT 1 AS x", "SET client_min_messages = 'warning'", "SET standard_conforming_strings = on"]
SCHEMA = ["CREATE TABLE made (x int PRIMARY KEY)", "CREATE TABLE IF NOT EXISTS made (x int PRIMARY KEY, y text)", "DROP TABLE made", "DROP TABLE IF EXISTS made", "ALTER TABLE made ADD COLUMN z int",
          "CREATE TABLE made AS SELECT id AS x FROM item", "CREATE INDEX made_x ON made (x)", "COMMENT ON TABLE item IS 'things'", "ANALYZE item", "VACUUM loose", "DROP TABLE item_that_is_not",
          "ALTER TABLE item ADD COLUMN gone int; ALTER TABLE item DROP COLUMN gone"]
COPIES = ["COPY item (id, name) FROM STDIN", "COPY loose FROM STDIN", "COPY loose FROM STDIN (FORMAT csv)", "COPY nowhere FROM STDIN"]
# built-in functions by their object ids: int4pl, int4div, and one that is not
FUNCTIONS = [(177, (b"\0\0\0\2", b"\0\0\0\3")), (154, (b"\0\0\0\2", b"\0\0\0\0")), (177, (b"\0\0\0\2",)), (999_999, ())]


SSL, GSS, CANCEL = 80877103, 80877104, 80877102
# how connections begin that go no further: packets without a type
BEGINNINGS = [[(SSL, b"")], [(GSS, b"")], [(GSS, b""), (SSL, b"")], [(SSL, b""), (SSL, b"")], [(GSS, b""), (GSS, b"")], [(CANCEL, b"\0\0\0\1\0\0\0\2")], [(CANCEL, b"")],
              [(2 << 16, b"")], [(4 << 16, b"")], [(0, b"")], [(3 << 16, b"x")], [(3 << 16, b"\0")], [(3 << 16, b"user\0\0")], [(3 << 16, b"user\0postgres\0")],
              [(3 << 16 | 7, b"user\0postgres\0\0")], [(3 << 16, b"user\0postgres\0_pq_.no\0x\0\0")], [(3 << 16, b"user\0nobody\0\0")], [(3 << 16, b"user\0postgres\0\0after")],
              [(SSL, b""), (3 << 16 | 2, b"user\0postgres\0\0")]]
# what a client asks for that has proved who it is
WISHES = [{}, {"application_name": "talks"}, {"DateStyle": "German, DMY"}, {"nothing": "x"}, {"nothing.here": "x"}, {"client_encoding": "LATIN1"}, {"client_encoding": "nonsense"},
          {"options": "-c DateStyle=SQL -c statement_timeout=5s"}, {"options": "-c nothing=1"}, {"options": "--application_name=talks"}, {"options": "-c search_path=a\\ b,public"},
          {"options": "-x"}, {"TimeZone": "Nowhere/There"}, {"database": "no_such_database"}, {"search_path": "public"}, {"extra_float_digits": "3"}, {"client_min_messages": "error"},
          {"replication": "off"}, {"replication": "no"}, {"replication": "perhaps"}, {"role": "nobody"}, {"session_authorization": "nobody"}, {"default_transaction_read_only": "on"},
          {"statement_timeout": "-5"}, {"application_name": "a" * 100}, {"is_superuser": "on"}, {"lc_messages": "C"}, {"database": ""}]


def message(kind, body=b""):
    return kind.encode() + struct.pack("!i", len(body) + 4) + body


def text(value):
    return value.encode() + b"\0"


class Conversations:
    """Of a seed: `steps()` is one conversation, each step a list of (what it says, bytes)."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def pick(self, *among):
        return self.random.choice(among)

    def chance(self, share):
        return self.random.random() < share

    def statement(self, parameters=False):
        pool = self.random.choices([READS, WRITES, CONTROLS, SESSION, SCHEMA, COPIES, PARAMETERS],
                                   [20, 25, 22, 9, 3, 3, 25 if parameters else 1])[0]
        return self.random.choice(pool)

    def steps(self, count):
        made = []
        for _ in range(count):
            made.append(self.random.choices([self.simple, self.cycle, self.cycle, self.anything, self.function], [8, 8, 6, 6, 1])[0]())
        return made

    # ------------------------------------------------------------------------------------------ steps

    def simple(self):
        statements = [self.statement() for _ in range(self.pick(1, 1, 1, 2, 3))]
        sent = "; ".join(statements) + self.pick("", "", ";", "; ;", " -- end")
        step = [self.query(self.pick(sent, sent, sent, sent, sent, "", " ; ", f"/* {'z' * 70_000} */ {sent}"))]
        return step + (self.rows() if any(" FROM STDIN" in each for each in statements) else [])

    def cycle(self):
        """As drivers do: prepared, bound, described and executed, some statements behind each other, and Sync."""
        step = []
        for _ in range(self.pick(1, 1, 1, 2, 3)):
            name, portal, sent = self.pick("", "", "s1", "s2"), self.pick("", "", "", "p1"), self.statement(True)
            if name:
                step += [self.close("S", name)] if self.chance(0.7) else []
            step.append(self.parse(name, sent))
            step += [self.describe("S", name)] if self.chance(0.3) else []
            step.append(self.bind(portal, name, "$1" in sent))
            step += [self.describe("P", portal)] if self.chance(0.5) else []
            step.append(self.execute(portal))
            step += [self.execute(portal) for _ in range(self.pick(0, 0, 0, 1, 2))]
            step += self.rows() if " FROM STDIN" in sent else []
            step += [self.flush()] if self.chance(0.1) else []
            step += [self.sync()] if self.chance(0.2) else []
        return step + [self.sync()]

    def anything(self):
        """Messages as they come; the last one is Sync, mostly."""
        step = [self.pick(
            lambda: self.parse(self.pick("", "s1", "s2"), self.statement(True)), lambda: self.bind(self.pick("", "p1", "p2"), self.pick("", "s1", "s2"), self.chance(0.5)),
            lambda: self.bind(self.pick("", "p1", "p2"), self.pick("", "s1", "s2"), self.chance(0.5)), lambda: self.execute(self.pick("", "p1", "p2")),
            lambda: self.execute(self.pick("", "p1", "p2")), lambda: self.describe(self.pick("S", "P"), self.pick("", "s1", "s2", "p1", "p2")),
            lambda: self.close(self.pick("S", "P"), self.pick("", "s1", "s2", "p1", "p2")), self.flush, self.sync, lambda: self.query(self.statement()),
            lambda: self.rows()[0])() for _ in range(self.random.randint(1, 7))]
        return step + ([self.sync()] if self.chance(0.8) else [self.flush()] if self.chance(0.5) else [])

    def function(self):
        function, arguments = self.random.choice(FUNCTIONS)
        body = struct.pack("!ihhh", function, 1, 1, len(arguments)) + b"".join(struct.pack("!i", len(a)) + a for a in arguments) + struct.pack("!h", 1)
        return [(f"FunctionCall {function}", message("F", body))]

    # ------------------------------------------------------------------------------------------ messages

    def query(self, sent):
        return f"Query {sent if len(sent) < 1000 else '/* long */ ' + sent[-100:]}", message("Q", text(sent))

    def parse(self, name, sent):
        types = self.pick([], [], [], [0], [23], [25], [23, 23]) if "$1" in sent else self.pick([], [], [], [], [], [23])
        return f"Parse {name!r} {sent} {types or ''}", message("P", text(name) + text(sent) + struct.pack(f"!h{len(types)}i", len(types), *types))

    def bind(self, portal, statement, one):
        binary = self.chance(0.3)
        values = [] if not one else [self.pick(struct.pack("!i", self.random.randint(0, 9))) if binary else
                                     self.pick(str(self.random.randint(0, 9)), str(self.random.randint(0, 9)), str(self.random.randint(10, 12)), "x", None)]
        if self.chance(0.03):
            values.append("1")
        coded = [value if value is None or isinstance(value, bytes) else value.encode() for value in values]
        formats = [1] if binary else self.pick([], [0])
        results = self.pick([], [], [0], [1], [1], [0, 1])
        body = text(portal) + text(statement) + struct.pack(f"!h{len(formats)}h", len(formats), *formats) + struct.pack("!h", len(coded))
        body += b"".join(struct.pack("!i", -1) if value is None else struct.pack("!i", len(value)) + value for value in coded)
        return (f"Bind {portal!r} {statement!r} {values} {'binary' if binary else ''} results {results}",
                message("B", body + struct.pack(f"!h{len(results)}h", len(results), *results)))

    def execute(self, portal):
        rows = self.pick(0, 0, 0, 1, 2, 5)
        return f"Execute {portal!r} {rows or ''}", message("E", text(portal) + struct.pack("!i", rows))

    def describe(self, kind, name):
        return f"Describe {kind} {name!r}", message("D", kind.encode() + text(name))

    def close(self, kind, name):
        return f"Close {kind} {name!r}", message("C", kind.encode() + text(name))

    def flush(self):
        return "Flush", message("H")

    def sync(self):
        return "Sync", message("S")

    def rows(self):
        sent = []
        for _ in range(self.random.randint(0, 3)):
            row = self.pick("60\tcopied\n", "61\tcopied\n62\tcopied\n", "1\tagain\n", "x\tno number\n", "63", "\tcopied\n", "64,csv\n", "\\.\n")
            sent.append((f"CopyData {row!r}", message("d", row.encode())))
        end = self.pick("done", "done", "done", "done", "fail", "none")
        if end == "done" or not sent and end == "none":
            sent.append(("CopyDone", message("c")))
        elif end == "fail":
            sent.append(("CopyFail", message("f", text("given up"))))
        return sent
