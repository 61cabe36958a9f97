"""Does psycopg 3 work against a Tutti cluster, unmodified?

Argument: the URLs of the nodes. Each change is made on one node and looked for on the others.
"""

import contextlib
import hashlib
import random
import sys
import threading
import time

import psycopg
from psycopg import errors
from psycopg.rows import dict_row

NODES = sys.argv[1:]
PATIENCE_S = 20


def connect(node, **options):
    return psycopg.connect(NODES[node % len(NODES)], connect_timeout=10, **options)


def answer(connection, sql):
    try:
        return connection.execute(sql).fetchall()
    except errors.UndefinedTable:
        return "no table yet"


def everywhere(sql, expected):
    """Waits until every node answers the query as expected."""
    for node in range(len(NODES)):
        with connect(node, autocommit=True) as other:
            deadline = time.monotonic() + PATIENCE_S
            while (seen := answer(other, sql)) != expected:
                assert time.monotonic() < deadline, f"node {node}: {sql}: {seen}, expected {expected}"
                other.execute("SELECT pg_sleep(0.01)")


def settled(sql):
    """Writes on every node until none takes the write for concurrent with the schema change."""
    for node in range(len(NODES)):
        with connect(node, autocommit=True) as db:
            for attempt in range(1000):
                try:
                    db.execute(sql)
                    break
                except errors.SerializationFailure:
                    assert attempt < 999, f"node {node}: {sql} fails again and again"


def refused(connection, sql, sqlstate):
    try:
        connection.execute(sql)
    except psycopg.Error as error:
        assert error.sqlstate == sqlstate, f"{sql}: {error.sqlstate} {error}"
        return str(error)
    raise AssertionError(f"{sql} was not refused")


def schema():
    """A migration: tables, rows and changes of the tables in one transaction."""
    with connect(0) as db:
        db.execute("DROP TABLE IF EXISTS py_item, py_owner, py_big")
        db.execute("CREATE TABLE py_owner (id int PRIMARY KEY, name text)")
        db.execute("INSERT INTO py_owner VALUES (1, 'first'), (2, 'second')")
        db.execute("ALTER TABLE py_owner ADD COLUMN rank int DEFAULT 7")
        db.execute("INSERT INTO py_owner VALUES (%s, %s, %s)", (3, "third", 9))
        db.execute("ALTER TABLE py_owner DROP COLUMN name")
        db.execute("UPDATE py_owner SET rank = rank + 1 WHERE id = 3")
        db.execute(
            "CREATE TABLE py_item (id serial PRIMARY KEY, owner int REFERENCES py_owner DEFERRABLE, value jsonb, at timestamptz)"
        )
        db.execute("CREATE INDEX ON py_item (owner)")
        db.execute("INSERT INTO py_item (owner, value) VALUES (1, '{\"a\": 1}')")
        db.execute("CREATE TABLE py_big (id int PRIMARY KEY, data bytea)")
    everywhere("SELECT id, rank FROM py_owner ORDER BY id", [(1, 7), (2, 7), (3, 10)])
    everywhere("SELECT value FROM py_item", [({"a": 1},)])
    settled("UPDATE py_owner SET rank = rank")


def transactions():
    with connect(1) as db:
        with db.transaction():
            db.execute("INSERT INTO py_owner VALUES (10, 1)")
            try:
                with db.transaction():
                    db.execute("INSERT INTO py_owner VALUES (11, 1)")
                    db.execute("SELECT 1 / 0")
            except errors.DivisionByZero:
                pass
            db.execute("INSERT INTO py_owner VALUES (12, 1)")
    everywhere("SELECT id FROM py_owner WHERE id BETWEEN 10 AND 19 ORDER BY id", [(10,), (12,)])
    with connect(2) as db:
        db.execute("INSERT INTO py_owner VALUES (13, 1)")
        refused(db, "SELECT no_such_function()", "42883")
        refused(db, "SELECT 1", "25P02")
        db.rollback()
        db.execute("INSERT INTO py_item (owner) VALUES (1)")
        db.execute("SET CONSTRAINTS ALL IMMEDIATE")
        refused(db, "INSERT INTO py_item (owner) VALUES (999)", "23503")
        db.rollback()
    everywhere("SELECT count(*) FROM py_owner WHERE id = 13", [(0,)])


def pipeline():
    with connect(0, autocommit=True) as db, db.pipeline() as pipe:
        results = [db.execute("INSERT INTO py_owner VALUES (%s, 0) RETURNING id", (i,)) for i in range(100, 150)]
        pipe.sync()
        assert [r.fetchone()[0] for r in results] == list(range(100, 150))
    everywhere("SELECT count(*) FROM py_owner WHERE id BETWEEN 100 AND 149", [(50,)])
    with connect(1) as db:
        with db.pipeline(), db.transaction():
            db.execute("DELETE FROM py_owner WHERE id >= 125 AND id < 150")
            db.execute("UPDATE py_owner SET rank = 5 WHERE id >= 100", prepare=True)
    everywhere("SELECT count(*), sum(rank) FROM py_owner WHERE id >= 100", [(25, 125)])


def copy():
    with connect(2) as db:
        with db.cursor().copy("COPY py_owner (id, rank) FROM STDIN") as into:
            for i in range(1000, 11000):
                into.write_row((i, i % 7))
    everywhere("SELECT count(*), sum(rank) FROM py_owner WHERE id >= 1000", [(10000, sum(i % 7 for i in range(1000, 11000)))])
    with connect(0) as db:
        with db.cursor().copy("COPY (SELECT id FROM py_owner WHERE id >= 1000) TO STDOUT") as out:
            assert sum(1 for _ in out.rows()) == 10000
    with connect(0) as db:
        try:
            with db.cursor().copy("COPY py_owner (id, rank) FROM STDIN") as into:
                into.write_row((20000, 1))
                into.write_row((1, 1))
        except errors.UniqueViolation:
            pass
        else:
            raise AssertionError("a duplicate was copied in")
    everywhere("SELECT count(*) FROM py_owner WHERE id = 20000", [(0,)])


def emptying():
    with connect(0) as db:
        db.execute("DROP TABLE IF EXISTS py_emptied")
        db.execute("CREATE TABLE py_emptied (id int PRIMARY KEY)")
        db.commit()
        db.execute("INSERT INTO py_emptied VALUES (%s)", (1,))
        for prepare in (False, True):
            db.execute("TRUNCATE py_emptied", prepare=prepare)
            db.execute("INSERT INTO py_emptied VALUES (%s), (%s)", (2, 3))
    everywhere("SELECT id FROM py_emptied ORDER BY id", [(2,), (3,)])


def cursors():
    with connect(1) as db:
        with db.cursor("server_side", row_factory=dict_row) as cursor:
            cursor.itersize = 100
            cursor.execute("SELECT id FROM py_owner WHERE id >= 1000 ORDER BY id")
            assert [row["id"] for row in cursor] == list(range(1000, 11000))


def conflicts():
    """Counters that all nodes increment: 40001 is retried, and nothing is lost."""
    with connect(0, autocommit=True) as db:
        db.execute("INSERT INTO py_owner VALUES (50, 0), (51, 0)")
    everywhere("SELECT count(*) FROM py_owner WHERE id IN (50, 51)", [(2,)])
    failures = []

    def increment(node):
        try:
            with connect(node) as db:
                done = 0
                attempts = 0
                while done < 15:
                    attempts += 1
                    assert attempts < 5000, "too many retries"
                    try:
                        with db.transaction():
                            db.execute("UPDATE py_owner SET rank = rank + 1 WHERE id = %s", (50 + random.randrange(2),))
                        done += 1
                    except errors.SerializationFailure:
                        continue
        except BaseException as failure:  # reported by the main thread
            failures.append(failure)

    threads = [threading.Thread(target=increment, args=(node,)) for node in range(len(NODES))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures
    everywhere("SELECT sum(rank) FROM py_owner WHERE id IN (50, 51)", [(15 * len(NODES),)])


def sequences():
    """Values of a serial column never collide, whichever node gives them."""
    for node in range(len(NODES)):
        with connect(node) as db:
            for _ in range(20):
                db.execute("INSERT INTO py_item (owner) VALUES (2)")
    everywhere("SELECT count(*), count(DISTINCT id) FROM py_item WHERE owner = 2", [(20 * len(NODES),) * 2])
    with connect(0, autocommit=True) as db:
        db.execute("INSERT INTO py_owner VALUES (2, 70) ON CONFLICT (id) DO UPDATE SET rank = excluded.rank")
        db.execute("INSERT INTO py_owner VALUES (2, 71) ON CONFLICT DO NOTHING")
    everywhere("SELECT rank FROM py_owner WHERE id = 2", [(70,)])


def large():
    data = random.Random(1).randbytes(5_000_000)
    with connect(1) as db:
        db.execute("INSERT INTO py_big VALUES (1, %b)", (data,))
    everywhere("SELECT md5(data) FROM py_big WHERE id = 1", [(hashlib.md5(data).hexdigest(),)])
    with connect(0) as db:
        try:
            db.execute("INSERT INTO py_big SELECT i, decode(repeat('00', 1000000), 'hex') FROM generate_series(2, 40) i")
            db.commit()
        except errors.ProgramLimitExceeded as error:
            assert error.sqlstate == "54000", error.sqlstate
        else:
            raise AssertionError("a transaction beyond the limit was committed")
    everywhere("SELECT count(*) FROM py_big", [(1,)])


def notifications():
    with connect(0, autocommit=True) as teller, contextlib.ExitStack() as stack:
        listeners = [stack.enter_context(connect(node, autocommit=True)) for node in range(len(NODES))]
        for listener in listeners:
            listener.execute("LISTEN py_told")
        teller.execute("DROP TABLE IF EXISTS py_tell")
        teller.execute("CREATE TABLE py_tell (id int PRIMARY KEY)")
        teller.execute("""CREATE OR REPLACE FUNCTION py_tell() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN PERFORM pg_notify('py_told', NEW.id::text); RETURN NULL; END $$""")
        teller.execute("CREATE TRIGGER tell AFTER INSERT ON py_tell FOR EACH ROW EXECUTE FUNCTION py_tell()")
        with teller.transaction():
            teller.execute("INSERT INTO py_tell VALUES (1)")
            teller.execute("NOTIFY py_told, 'all'")
        try:
            with teller.transaction():
                teller.execute("NOTIFY py_told, 'never'")
                raise KeyError
        except KeyError:
            pass
        teller.execute("NOTIFY py_told, 'last'")
        for node, listener in enumerate(listeners):
            told = []
            while not told or told[-1] != "last":
                batch = [one.payload for one in listener.notifies(timeout=PATIENCE_S, stop_after=1)]
                assert batch, f"node {node} is told nothing after {told}"
                told += batch
                assert listener.execute("SELECT id FROM py_tell").fetchall() == [(1,)], "it is not visible yet"
            assert sorted(told[:2]) + told[2:] == ["1", "all", "last"], f"node {node}: {told}"


def refusals():
    with connect(0, autocommit=True) as db:
        db.execute("DROP TABLE IF EXISTS py_keyless")
        db.execute("CREATE TABLE py_keyless (a int)")
        db.execute("INSERT INTO py_keyless VALUES (1)")
        for sql in (
            "CREATE DATABASE other TEMPLATE postgres",
            "DO $$ BEGIN EXECUTE 'CREATE TABLE py_no (a int); CREATE TABLE py_nor (a int)'; END $$",
            "ALTER TABLE py_owner ADD COLUMN number serial CHECK (number < 100000)",
        ):
            refused(db, sql, "0A000")
        db.execute("ALTER TABLE py_owner ADD COLUMN made timestamptz DEFAULT clock_timestamp()")
        made = db.execute("SELECT array_agg(made ORDER BY id) FROM py_owner").fetchone()
        everywhere("SELECT array_agg(made ORDER BY id) FROM py_owner", [made])
        db.execute("ALTER TABLE py_owner DROP COLUMN made")
        db.execute("INSERT INTO py_keyless VALUES (2), (3)")
        for table, key in (("py_owner", "serial"), ("py_keyless", "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY")):
            db.execute(f"ALTER TABLE {table} ADD COLUMN number {key}")
            drawn = db.execute(f"SELECT string_agg(t::text, ' ' ORDER BY number) FROM {table} t").fetchone()
            everywhere(f"SELECT string_agg(t::text, ' ' ORDER BY number) FROM {table} t", [drawn])
        db.execute("ALTER TABLE py_owner DROP COLUMN number")
        db.execute("DO $$ BEGIN CREATE TABLE py_done (a int PRIMARY KEY); DROP TABLE py_done; END $$")
        db.execute("CREATE INDEX CONCURRENTLY py_ranked ON py_owner (rank)")
        db.execute("DROP INDEX CONCURRENTLY py_ranked")
        db.execute("DROP TABLE py_keyless")
        db.execute("CREATE TEMP TABLE passing (a int)")
        db.execute("CREATE INDEX passing_a ON passing (a)")
        db.execute("INSERT INTO passing VALUES (1)")
        db.execute("DROP INDEX passing_a")
        db.execute("DROP TABLE passing")
        db.execute("CREATE TYPE py_mood AS ENUM ('sad', 'happy')")
        db.execute("CREATE DOMAIN py_positive AS int CHECK (VALUE > 0)")
        db.execute("CREATE TABLE py_person (id int PRIMARY KEY, mood py_mood, age py_positive)")
        db.execute("INSERT INTO py_person VALUES (1, 'happy', 20)")
        db.execute("DISCARD ALL")
        db.execute("INSERT INTO py_person VALUES (2, 'sad', 21)")
    everywhere("SELECT mood::text, age FROM py_person ORDER BY id", [("happy", 20), ("sad", 21)])
    settled("UPDATE py_person SET age = age")
    with connect(1, autocommit=True) as db:
        db.execute("TRUNCATE py_person")
        db.execute("DROP TABLE py_person")
        db.execute("DROP DOMAIN py_positive")
        db.execute("DROP TYPE py_mood")
    try:
        psycopg.connect(NODES[0], password="wrong")
    except psycopg.OperationalError as error:
        assert "password" in str(error), error
    else:
        raise AssertionError("a wrong password was accepted")


def cancelling():
    with connect(0, autocommit=True) as db:
        timer = threading.Timer(0.3, db.cancel)
        timer.start()
        refused(db, "SELECT pg_sleep(30)", "57014")
        timer.join()
        assert db.execute("SELECT 1").fetchone() == (1,)


for part in (schema, transactions, pipeline, copy, emptying, cursors, conflicts, sequences, large, notifications, refusals, cancelling):
    started = time.monotonic()
    part()
    print(f"{part.__name__}: {time.monotonic() - started:.1f} s", flush=True)
