"""Random statements of SQL over a few tables: what is made of a seed is always the same.

They are mostly valid, as far as can be known without asking a server what has become of those before; errors are answers, too. What they answer
follows from the statements alone: no clocks, no randomness of the server's, nothing that depends on where rows lie.
"""

import random

TABLES = [f"t{i}" for i in range(4)]
COLUMNS = "abcdef"
TYPES = ("int", "bigint", "text", "numeric(10,2)", "boolean", "date", "int[]", "jsonb", "varchar(5)", "timestamptz", "few", "named", "mood")
# of functions that triggers call; what they do depends on their row alone
SETUP = ["""CREATE TABLE told (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, source text, what text)""",
         """CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            INSERT INTO told (source, what) VALUES (TG_TABLE_NAME, TG_OP || coalesce(OLD::text, '') || coalesce(NEW::text, ''));
            RETURN coalesce(NEW, OLD); END $$""",
         """CREATE FUNCTION tell_all() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            INSERT INTO told (source, what) VALUES (TG_TABLE_NAME, TG_OP); RETURN NULL; END $$""",
         """CREATE FUNCTION risky(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN
            INSERT INTO told (source, what) VALUES ('risky', n); RETURN 100 / (n % 4);
            EXCEPTION WHEN division_by_zero THEN INSERT INTO told (source, what) VALUES ('caught', n); RETURN NULL; END $$""",
         "CREATE DOMAIN few AS int CHECK (VALUE <> 7) DEFAULT 3",
         "CREATE DOMAIN named AS varchar(9) NOT NULL CHECK (length(VALUE) > 1)",
         "CREATE TYPE mood AS ENUM ('low', 'mid', 'high')",
         "CREATE VIEW seen AS SELECT source, count(*) AS n FROM told GROUP BY source"]


class Statements:
    """One at a time by `next()`. What it knows of the tables is what it would be if no statement failed."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.tables = {}
        self.open = False
        self.names = 0
        self.kinds = [(kind, weight) for kind, weight in (
            (self.insert, 22), (self.update, 14), (self.delete, 7), (self.merge, 5), (self.partition, 4), (self.select, 22), (self.block, 16), (self.create, 7),
            (self.alter, 8), (self.index, 3), (self.trigger, 2), (self.drop, 1), (self.truncate, 1), (self.view, 2), (self.call, 4),
            (self.cursor, 3), (self.prepared, 3), (self.temporary, 2), (self.copy, 3), (self.settings, 2))]

    def next(self):
        kinds, weights = zip(*self.kinds)
        if len(self.tables) < 2 and not self.open:
            return self.create()
        while True:
            statement = self.random.choices(kinds, weights)[0]()
            if statement is not None:
                return statement

    # ------------------------------------------------------------------------------------------ parts

    def pick(self, *among):
        return self.random.choice(among)

    def chance(self, share):
        return self.random.random() < share

    def table(self):
        return self.random.choice(sorted(self.tables)) if self.tables else None

    def name(self, stem):
        self.names += 1
        return f"{stem}{self.names}"

    def value(self, kind):
        n = self.random.randint(0, 12)
        if self.chance(0.08):
            return "NULL"
        return {"int": f"{n}", "bigint": f"{n} * 1000000007", "text": f"'w{n}' || chr({60 + n})", "numeric(10,2)": f"{n}.{n}5",
                "boolean": self.pick("true", "false"), "date": f"date '2024-02-{10 + n}'", "int[]": f"ARRAY[{n}, NULL, {n + 1}]",
                "jsonb": f"'{{\"k\": [{n}, null, \"{n}\"]}}'::jsonb", "varchar(5)": f"'{'v' * (n % 7)}{n}'",
                "few": f"{n}", "named": f"'{'m' * (n % 5)}{n}'", "mood": f"'{self.pick('low', 'mid', 'high')}'::mood",
                "timestamptz": f"timestamptz '2024-03-{10 + n} 10:0{n % 10}:00+00'"}[kind]

    def condition(self, table, alias=""):
        columns = self.tables[table]
        column = self.random.choice(list(columns))
        kind, name = columns[column], alias + column
        return self.pick(f"{name} = {self.value(kind)}", f"{name} >= {self.value(kind)}", f"{name} IS NULL", f"{name} IS NOT NULL",
                         f"{name}::text LIKE '%1%'", f"{name} IN ({self.value(kind)}, {self.value(kind)})",
                         f"NOT ({name} < {self.value(kind)})")

    def where(self, table, alias=""):
        return f" WHERE {self.condition(table, alias)}" + (f" AND {self.condition(table, alias)}" if self.chance(0.3) else "")

    def returning(self, table):
        return f" RETURNING {self.pick('*', 'count(*)' if self.chance(0.05) else '*', ', '.join(self.tables[table]))}" if self.chance(0.4) else ""

    # ------------------------------------------------------------------------------------------ rows

    def insert(self):
        table = self.table()
        if table is None:
            return None
        columns = [column for column in self.tables[table] if self.chance(0.85)] or list(self.tables[table])[:1]
        other = self.table()
        if self.chance(0.2):
            rows = "SELECT " + ", ".join(self.value(self.tables[table][c]) for c in columns) + f" FROM {other}{self.where(other)} LIMIT 3"
        else:
            rows = "VALUES " + ", ".join("(" + ", ".join("DEFAULT" if self.chance(0.05) else self.value(self.tables[table][c])
                                                         for c in columns) + ")" for _ in range(self.random.randint(1, 5)))
        conflict = ""
        if self.chance(0.35):
            where = self.pick("", "", " WHERE {} IS NOT NULL")
            key = self.pick(*columns)
            conflict = " ON CONFLICT DO NOTHING" if self.chance(0.5) else (
                f" ON CONFLICT ({key}){where.format(key)} DO UPDATE SET {columns[-1]} = {self.pick('excluded', table)}.{columns[-1]}")
        return f"INSERT INTO {table} ({', '.join(columns)}) {rows}{conflict}{self.returning(table)}"

    def assignments(self, table):
        columns = self.random.sample(list(self.tables[table]), min(len(self.tables[table]), self.random.randint(1, 2)))
        return ", ".join(f"{column} = " + (f"{column} + 1" if self.tables[table][column] in ("int", "bigint", "numeric(10,2)")
                                           and self.chance(0.5) else self.value(self.tables[table][column])) for column in columns)

    def update(self):
        table = self.table()
        if table is None:
            return None
        other = self.table()
        if other != table and self.chance(0.15):
            return (f"UPDATE {table} SET {self.assignments(table)} FROM (SELECT DISTINCT {self.pick(*self.tables[other])} AS x FROM {other}) o"
                    f" WHERE o.x::text = {table}.{self.pick(*self.tables[table])}::text")
        return f"UPDATE {table} SET {self.assignments(table)}{self.where(table) if self.chance(0.9) else ''}{self.returning(table)}"

    def delete(self):
        table = self.table()
        return table and f"DELETE FROM {table}{self.where(table)}{self.returning(table)}"

    def merge(self):
        table = self.table()
        if table is None:
            return None
        column, kind = self.random.choice(list(self.tables[table].items()))
        values = ", ".join(sorted({f"({self.value(kind)})" for _ in range(3)}))
        gone = self.pick("", "", f" WHEN NOT MATCHED BY SOURCE AND {self.condition(table, 'm.')} THEN DELETE")
        told = self.pick("", f" RETURNING merge_action(), m.{column}")
        return (f"MERGE INTO {table} m USING (VALUES {values}) s(x) ON m.{column} = s.x WHEN MATCHED AND {self.condition(table, 'm.')} THEN"
                f" {self.pick('DELETE', 'UPDATE SET ' + self.assignments(table))} WHEN NOT MATCHED THEN"
                f" {self.pick('DO NOTHING', f'INSERT ({column}) VALUES (s.x)')}{gone}{told}")

    def truncate(self):
        table = self.table()
        return table and f"TRUNCATE {table}{self.pick('', ' CASCADE', ' RESTART IDENTITY')}"

    def copy(self):
        table = self.table()
        if table is None:
            return None
        if self.chance(0.5):
            return f"COPY (SELECT * FROM {table}) TO STDOUT"
        column = self.random.choice(list(self.tables[table]))
        rows = [self.pick("1", "2", "x", "\\N", "2024-02-11", "true", "{1}") for _ in range(self.random.randint(1, 3))]
        return f"COPY {table} ({column}) FROM STDIN", [*rows, "\\."]

    def select(self):
        table, other = self.table(), self.table()
        if table is None:
            return "SELECT * FROM seen ORDER BY 1"
        column = self.pick(*self.tables[table])
        return self.pick(
            f"SELECT * FROM {table}{self.where(table)}",
            f"SELECT {column}, count(*), max({column}::text) FROM {table} GROUP BY {column}",
            f"SELECT x.{column}, y.* FROM {table} x {self.pick('', 'LEFT ', 'FULL ')}JOIN {other} y"
            f" ON x.{column}::text = y.{self.pick(*self.tables[other])}::text",
            f"SELECT {column}, rank() OVER (ORDER BY {column}) FROM {table}",
            f"SELECT count(*) FROM {table} WHERE EXISTS (SELECT FROM {other}{self.where(other)})",
            f"SELECT {column}::text FROM {table} {self.pick('UNION', 'EXCEPT', 'INTERSECT ALL')} SELECT {self.pick(*self.tables[other])}::text FROM {other}",
            f"WITH gone AS (DELETE FROM {table}{self.where(table)} RETURNING *) SELECT count(*), min({column}::text) FROM gone",
            f"SELECT * FROM {table}{self.where(table)} FOR {self.pick('UPDATE', 'SHARE', 'NO KEY UPDATE', 'KEY SHARE SKIP LOCKED')}",
            f"SELECT sum(1 / {self.random.randint(0, 3)}) FROM {table}", "SELECT source, n FROM seen")

    # ------------------------------------------------------------------------------------------ transactions

    def block(self):
        if not self.open:
            self.open = True
            return self.pick(*["BEGIN"] * 6, "BEGIN ISOLATION LEVEL REPEATABLE READ", "BEGIN ISOLATION LEVEL SERIALIZABLE", "BEGIN READ ONLY")
        statement = self.pick("COMMIT", "COMMIT", "COMMIT", "COMMIT", "COMMIT", "ROLLBACK", "COMMIT AND CHAIN", "SAVEPOINT s", "SAVEPOINT s", "ROLLBACK TO s",
                              "ROLLBACK TO s", "RELEASE s", "SET CONSTRAINTS ALL DEFERRED", "SET CONSTRAINTS ALL IMMEDIATE")
        self.open = statement not in ("COMMIT", "ROLLBACK")
        return statement

    def settings(self):
        return self.pick("SET DateStyle = 'German'", "RESET DateStyle", "SET LOCAL TimeZone = 'Asia/Tokyo'", "SET extra_float_digits = 0",
                         "SET IntervalStyle = 'iso_8601'", "SET bytea_output = 'escape'", "RESET ALL")

    def call(self):
        n = self.random.randint(0, 9)
        return self.pick(f"SELECT risky({n})", f"SELECT sum(risky(i)) FROM generate_series(1, {n}) i",
                         f"DO $$ BEGIN PERFORM risky({n}); IF {n} > 6 THEN RAISE EXCEPTION 'no' USING ERRCODE = 'TU00{n}'; END IF; END $$")

    def cursor(self):
        table = self.table()
        return table and self.pick(f"DECLARE c CURSOR FOR SELECT * FROM {table} ORDER BY {table}::text", "FETCH 2 FROM c", "FETCH ALL FROM c",
                                   f"DECLARE h CURSOR WITH HOLD FOR SELECT * FROM {table} ORDER BY {table}::text", "FETCH 2 FROM h",
                                   "CLOSE h", "CLOSE c")

    def prepared(self):
        table = self.table()
        return table and self.pick(f"PREPARE p(text) AS SELECT count(*) FROM {table} WHERE {self.pick(*self.tables[table])}::text > $1",
                                   "EXECUTE p('1')", "EXECUTE p('v')", "DEALLOCATE p", "DEALLOCATE ALL")

    def temporary(self):
        table = self.table()
        return table and self.pick(f"CREATE TEMP TABLE own AS SELECT * FROM {table}", "SELECT * FROM own", "DROP TABLE own",
                                   f"INSERT INTO own SELECT * FROM {table}", "DELETE FROM own", "CREATE TEMP TABLE own (x int) ON COMMIT DROP")

    # ------------------------------------------------------------------------------------------ the schema

    def create(self):
        table = self.random.choice(TABLES)
        if table in self.tables and self.chance(0.9):
            return None if len(self.tables) > 1 else self.create()
        columns = {c: self.random.choice(TYPES) for c in COLUMNS[:self.random.randint(1, 5)]}
        columns["a"] = self.pick("int", "int", "text", "bigint", "date")
        parts = [f"{c} {kind}" + self.pick("", "", "", " NOT NULL", f" DEFAULT {self.value(kind)}", " UNIQUE" if kind != "jsonb" else "",
                                           f" CHECK ({c} IS DISTINCT FROM {self.value(kind)})") for c, kind in columns.items()]
        parts += self.pick([], ["PRIMARY KEY (a)"], ["PRIMARY KEY (a)"], ["PRIMARY KEY (a)"], ["UNIQUE (a) DEFERRABLE INITIALLY DEFERRED"],
                           [f"PRIMARY KEY ({', '.join(list(columns)[:2])})"])
        others = [other for other in self.tables if other != table and self.tables[other]["a"] == columns["a"]]
        if others and self.chance(0.4):
            parts.append(f"FOREIGN KEY (a) REFERENCES {self.random.choice(sorted(others))} (a)"
                         + self.pick("", " ON DELETE CASCADE", " ON UPDATE CASCADE ON DELETE SET NULL", " DEFERRABLE INITIALLY DEFERRED"))
        if self.chance(0.2):
            columns["g"] = "int"
            parts.append("g int GENERATED ALWAYS AS (octet_length(a::text)) STORED" if columns["a"] != "date"
                         else "g int GENERATED BY DEFAULT AS IDENTITY")
        text = f"CREATE TABLE {self.pick('', 'IF NOT EXISTS ')}{table} ({', '.join(parts)})"
        if table not in self.tables:
            self.tables[table] = columns
        return text

    def alter(self):
        table = self.table()
        if table is None:
            return None
        columns = self.tables[table]
        column = self.random.choice(list(columns))
        free = [c for c in COLUMNS if c not in columns]
        kind = self.random.choice(TYPES)
        which = self.random.randint(0, 8)
        if which == 0 and free:
            columns[free[0]] = kind
            return f"ALTER TABLE {table} ADD COLUMN {free[0]} {kind}" + self.pick("", f" DEFAULT {self.value(kind)}", " NOT NULL")
        if which == 1 and len(columns) > 2 and column != "a":
            del columns[column]
            return f"ALTER TABLE {table} DROP COLUMN {column}{self.pick('', ' CASCADE')}"
        if which == 2 and free and column != "a":
            columns[free[0]] = columns.pop(column)
            return f"ALTER TABLE {table} RENAME COLUMN {column} TO {free[0]}"
        if which == 3 and column != "a":
            columns[column] = "text"
            return f"ALTER TABLE {table} ALTER COLUMN {column} TYPE text{self.pick('', f' USING {column}::text')}"
        return f"ALTER TABLE {table} " + self.pick(
            f"ALTER COLUMN {column} SET NOT NULL", f"ALTER COLUMN {column} DROP NOT NULL",
            f"ALTER COLUMN {column} SET DEFAULT {self.value(columns[column])}",
            f"ALTER COLUMN {column} DROP DEFAULT", f"ADD CONSTRAINT {self.name('k')} UNIQUE ({column})",
            f"ADD CONSTRAINT {self.name('k')} CHECK ({self.condition(table)}){self.pick('', ' NOT VALID')}", f"ADD PRIMARY KEY ({column})",
            f"DROP CONSTRAINT {table}_pkey")

    def partition(self):
        """Of the one table that has any, each of which takes four values of its key, beside those of the rest; they come, go, and are put back."""
        if "p" not in self.tables:
            if self.chance(0.5):
                return None
            self.tables["p"] = {"a": "int", "b": "text", "c": "few", "d": "mood"}
            key = self.pick("", ", PRIMARY KEY (a, b)", ", UNIQUE (a)", ", PRIMARY KEY (a)")
            return f"CREATE TABLE p (a int, b text DEFAULT 'b', c few, d mood{key}) PARTITION BY RANGE (a)"
        first = self.random.randint(0, 3) * 4
        name, bounds = f"p{first}", f"FOR VALUES FROM ({first}) TO ({first + 4})"
        return self.pick(f"CREATE TABLE {name} PARTITION OF p {bounds}", f"CREATE TABLE {name} PARTITION OF p {bounds}",
                         f"CREATE TABLE {name} PARTITION OF p {bounds} PARTITION BY LIST (c)", f"CREATE TABLE {name}_rest PARTITION OF {name} DEFAULT",
                         "CREATE TABLE prest PARTITION OF p DEFAULT", f"ALTER TABLE p DETACH PARTITION {name}", f"ALTER TABLE p DETACH PARTITION {name}",
                         f"ALTER TABLE p ATTACH PARTITION {name} {bounds}", f"ALTER TABLE p ATTACH PARTITION {name} {bounds}",
                         f"INSERT INTO {name} (a, c) VALUES ({first}, 1), ({first + 1}, 2)", f"UPDATE {name} SET b = b || 'n', a = a + {self.random.randint(0, 3)}",
                         f"UPDATE p SET a = a + {self.random.randint(-4, 4)}", f"TRUNCATE {name}", f"DROP TABLE {name}", "ALTER TABLE p ADD COLUMN e int DEFAULT 5",
                         "ALTER TABLE p DROP COLUMN e", f"SELECT tableoid::regclass, * FROM p WHERE a = {first}")

    def index(self):
        table = self.table()
        if table is None:
            return None
        column = self.pick(*self.tables[table])
        return f"CREATE {self.pick('', '', 'UNIQUE ')}INDEX {self.name('i')} ON {table} ({column}){self.pick('', f' WHERE {column} IS NOT NULL')}"

    def trigger(self):
        table = self.table()
        return table and f"CREATE TRIGGER {self.name('g')} " + self.pick(
            f"AFTER INSERT OR UPDATE OR DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION tell()",
            f"BEFORE UPDATE ON {table} FOR EACH ROW EXECUTE FUNCTION tell()",
            f"AFTER {self.pick('INSERT', 'TRUNCATE', 'DELETE')} ON {table} EXECUTE FUNCTION tell_all()")

    def view(self):
        table = self.table()
        return table and f"CREATE OR REPLACE VIEW v{table} AS SELECT {self.pick(*self.tables[table])} AS x FROM {table}"

    def drop(self):
        table = self.table()
        if table is None:
            return None
        del self.tables[table]
        return f"DROP TABLE {table}{self.pick('', ' CASCADE', ' CASCADE')}"
