"""Does psycopg 3 work at a node with H2 or HSQLDB, unmodified?

Argument: the URL of the node.
"""

import datetime
import decimal
import sys
import threading
import uuid

import psycopg
from psycopg import errors
from psycopg.types import TypeInfo
from psycopg.types.json import Jsonb

URL = sys.argv[1]
NOW = datetime.datetime(2024, 2, 29, 1, 2, 3, 456789)
VALUES = {
    "b": ("boolean", True),
    "s": ("smallint", 3),
    "i": ("int", 70000),
    "l": ("bigint", 5_000_000_000),
    "d": ("double precision", 2.25),
    "n": ("numeric", decimal.Decimal("12.3456")),
    "t": ("text", "t\u00e4xt \\ 'quoted'"),
    "y": ("bytea", b"\x00\xff"),
    "da": ("date", NOW.date()),
    "ti": ("time", NOW.time()),
    "ts": ("timestamp", NOW),
    "tz": ("timestamptz", NOW.replace(tzinfo=datetime.timezone.utc)),
    "u": ("uuid", uuid.UUID("12345678-1234-5678-1234-567812345678")),
}


def connect(**options):
    return psycopg.connect(URL, connect_timeout=10, options="-c statement_timeout=20s", **options)


def fails(sqlstate, work):
    try:
        work()
    except psycopg.Error as error:
        assert error.sqlstate == sqlstate, f"{error.sqlstate} {error}, expected {sqlstate}"
    else:
        raise AssertionError(f"{sqlstate} was expected")


def schema():
    with connect(autocommit=True) as db:
        columns = ", ".join(f"{name} {sql}" for name, (sql, _) in VALUES.items())
        db.execute(f"CREATE TABLE py_value (id int PRIMARY KEY, {columns})")
        db.execute("CREATE TABLE py_item (id serial PRIMARY KEY, name text UNIQUE, n int NOT NULL DEFAULT 1, made timestamptz)")
        assert TypeInfo.fetch(db, "int4").oid == 23


def values():
    written = [value for _, value in VALUES.values()]
    with connect() as db:
        for key, binary in ((1, False), (2, True)):
            cursor = db.cursor(binary=binary)
            place = "%b" if binary else "%s"
            cursor.execute(f"INSERT INTO py_value VALUES (%s, {', '.join([place] * len(written))})", [key, *written])
            read = list(cursor.execute("SELECT * FROM py_value WHERE id = %s", [key]).fetchone())
            assert read == [key, *written], read
            for name, (sql, value) in VALUES.items():
                (same,) = cursor.execute(f"SELECT {place}::{sql}", [value]).fetchone()
                assert same == value, f"{name}: {same}, expected {value}"
                (count,) = cursor.execute(f"SELECT count(*) FROM py_value WHERE {name} = {place}", [value]).fetchone()
                assert count == key, f"{count} rows of {name}"
        assert db.execute("SELECT %s, %s", [1, "a"]).fetchone() == (1, "a")
        assert db.execute("SELECT count(*) FROM py_value WHERE id = ANY(%s)", [[1, 2, 3]]).fetchone() == (2,)
        assert len(db.execute("SELECT id FROM py_value ORDER BY id LIMIT %s OFFSET %s", [1, 1]).fetchall()) == 1


def statements():
    with connect() as db:
        (first,) = db.execute("INSERT INTO py_item (name, made) VALUES (%s, now()) RETURNING id", ["first"]).fetchone()
        cursor = db.cursor()
        cursor.executemany("INSERT INTO py_item (name, n) VALUES (%s, %s)", [(f"many {i}", i) for i in range(200)])
        assert cursor.rowcount == 200
        for i in range(10):
            assert db.execute("SELECT n FROM py_item WHERE id = %s", [first], prepare=True).fetchone() == (1,)
        assert sum(1 for _ in db.cursor().stream("SELECT name FROM py_item")) == 201
        assert db.execute("SELECT count(*) FROM py_item WHERE made > now() - interval '1 hour'").fetchone() == (1,)


def transactions():
    with connect() as db:
        with db.transaction():
            db.execute("INSERT INTO py_item (name) VALUES ('kept')")
            try:
                with db.transaction():
                    db.execute("INSERT INTO py_item (name) VALUES ('lost')")
                    db.execute("INSERT INTO py_item (name) VALUES ('lost')")
            except errors.UniqueViolation:
                pass
        assert db.execute("SELECT name FROM py_item WHERE name IN ('kept', 'lost')").fetchall() == [("kept",)]
        db.rollback()
        db.isolation_level = psycopg.IsolationLevel.SERIALIZABLE
        fails("0A000", lambda: db.execute("SELECT 1"))
        db.rollback()
        db.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        db.read_only = True
        assert db.execute("SHOW transaction_read_only").fetchone() == ("on",)
    with connect() as one, connect() as other:
        # A transaction that has lost is run again, unless its client has seen what the other one has changed.
        for seen in ("count(*)", "sum(n)"):
            for db in (one, other):
                db.execute(f"SELECT {seen} FROM py_item").fetchone()
            one.execute("UPDATE py_item SET n = 5 WHERE name = 'first'")
            one.commit()
            change = lambda: (other.execute("UPDATE py_item SET n = 6 WHERE name = 'first'"), other.commit())
            if seen == "count(*)":
                change()
            else:
                fails("40001", change)


def pipeline():
    with connect(autocommit=True) as db:
        with db.pipeline():
            cursors = [db.execute("SELECT %s::int", [i]) for i in range(10)]
            assert [cursor.fetchone()[0] for cursor in cursors] == list(range(10))
        # What is wrong is told before Sync, or this would wait for ever.
        fails("42P01", lambda: db.cursor().executemany("INSERT INTO py_nothing VALUES (%s) RETURNING id", [[1]], returning=True))
        assert db.execute("SELECT 1").fetchone() == (1,)


def copy():
    rows = [(f"copied {i}\t\n\\", i) for i in range(500)]
    for options in ("", " (FORMAT BINARY)"):
        with connect() as db:
            with db.cursor().copy(f"COPY py_item (name, n) FROM STDIN{options}") as copying:
                copying.set_types(["text", "int4"])
                for row in rows:
                    copying.write_row(row)
            query = "SELECT name, n FROM py_item WHERE name LIKE 'copied%' ORDER BY n"
            assert db.execute(query).fetchall() == rows
            with db.cursor().copy(f"COPY ({query}) TO STDOUT{options}") as copying:
                copying.set_types(["text", "int4"])
                assert list(copying.rows()) == rows
            db.rollback()


def refusals():
    with connect(autocommit=True) as db:
        for sqlstate, sql in (("42P01", "SELECT * FROM py_nothing"), ("42601", "SELEC 1"), ("22012", "SELECT 1 / 0"),
                              ("23505", "INSERT INTO py_item (name) VALUES ('first')"), ("0A000", "LISTEN a"),
                              ("23502", "INSERT INTO py_item (n) VALUES (NULL)"), ("26000", "DEALLOCATE nothing")):
            fails(sqlstate, lambda sql=sql: db.execute(sql))
        fails("22P02", lambda: db.execute("INSERT INTO py_item (n) VALUES (%s)", ["many"]))
        fails("0A000", lambda: db.cursor("named").execute("SELECT 1"))
        timer = threading.Timer(0.2, db.cancel)
        timer.start()
        fails("57014", lambda: db.execute("SELECT a.id FROM py_item a, py_item b, py_item c, py_item d WHERE a.n + b.n + c.n + d.n < 0"))
        timer.join()
        db.execute("SET statement_timeout = 100")
        fails("57014", lambda: db.execute("SELECT a.id FROM py_item a, py_item b, py_item c, py_item d WHERE a.n + b.n + c.n + d.n < 0"))


for part in (schema, values, statements, transactions, pipeline, copy, refusals):
    part()
    print(part.__name__, flush=True)
