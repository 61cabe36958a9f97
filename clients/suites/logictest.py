#!/usr/bin/env python3
"""Runs sqllogictest files against a server, record by record, and writes what came of each as a line of JSON.

Usage: logictest.py URL OUTCOMES FILE ... (names are relative to the working directory). Each file has a schema of its own, and a session of its
own that sends each record as one simple query. The files are of several databases' dialects, so what they expect is not what is compared: a
record has passed if the server has executed it, or has refused it where an error is expected; its name ends with a digest of the answer (columns, rows, tag,
SQLSTATE), so that another answer is another test. Rows are sorted where the file says so, or says nothing of their order.
"""

import hashlib
import json
import pathlib
import re
import sys

import psycopg

STATEMENT_TIMEOUT_MS = 20_000


def records(text):
    """Yields (line, kind, SQL, sorted?) of each record for PostgreSQL."""
    lines = text.splitlines()
    at = 0
    mine = True
    while at < len(lines):
        line = lines[at].strip()
        words = line.split()
        at += 1
        if words[:1] == ["halt"] and mine:
            return
        if words[:1] == ["onlyif"]:
            mine &= words[1].lower().startswith("postgres")
        elif words[:1] == ["skipif"]:
            mine &= not words[1].lower().startswith("postgres")
        elif words[:1] in (["statement"], ["query"]):
            begun = at
            sql = []
            while at < len(lines) and lines[at].strip() and lines[at].strip() != "----":
                sql.append(lines[at])
                at += 1
            if at < len(lines) and lines[at].strip() == "----":
                while at < len(lines) and lines[at].strip():
                    at += 1
            failing = words[1:2] == ["error"]
            if mine and sql:
                yield begun, "error" if failing else words[0], "\n".join(sql), "nosort" not in words
            mine = True


def answer(connection, sql):
    """What a server says to a query, as text, and its SQLSTATE if it has failed."""
    try:
        cursor = connection.execute(sql.encode(), prepare=False)
    except psycopg.Error as failed:
        return f"{failed.sqlstate} {failed}", failed.sqlstate or "lost"
    said = []
    while True:
        columns = [(column.name, column.type_code) for column in cursor.description or ()]
        said.append([columns, cursor.fetchall() if columns else [], cursor.statusmessage])
        if not cursor.nextset():
            return said, None


def digest(said, in_any_order):
    if not isinstance(said, str):
        said = [[columns, sorted(map(repr, rows)) if in_any_order else list(map(repr, rows)), tag] for columns, rows, tag in said]
    return hashlib.sha256(repr(said).encode()).hexdigest()[:12]


def run(url, file, write):
    schema = "slt_" + re.sub(r"\W", "_", file)[-50:].lower()
    with psycopg.connect(url, autocommit=True, cursor_factory=psycopg.ClientCursor) as connection:
        connection.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
        connection.execute(f"CREATE SCHEMA {schema}")
        connection.execute(f"SET search_path = {schema}")
        connection.execute(f"SET statement_timeout = {STATEMENT_TIMEOUT_MS}")
        text = pathlib.Path(file).read_text(encoding="utf-8", errors="replace")
        for line, kind, sql, in_any_order in records(text):
            said, failed = answer(connection, sql)
            # an error's text has the schema's name and is not ours to compare with the file's: its SQLSTATE is
            name = f"{file}:{line}:{digest(said if failed is None else failed, in_any_order)}"
            as_expected = (failed is not None) == (kind == "error") and failed != "lost"
            write(name, "passed" if as_expected else "failed", "" if failed is None else str(said))
            if connection.broken:
                return
        connection.execute("ROLLBACK")
        connection.execute(f"DROP SCHEMA {schema} CASCADE")


def main():
    url, outcomes, *files = sys.argv[1:]
    with open(outcomes, "a", encoding="utf-8") as out:
        def write(test, outcome, message):
            out.write(json.dumps({"test": test, "outcome": outcome, "message": message[-600:]}) + "\n")
            out.flush()

        for file in files:
            try:
                run(url, file, write)
            except psycopg.Error as failed:
                write(file, "failed", str(failed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
