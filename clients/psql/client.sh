#!/usr/bin/env bash
# Does psql work against a Tutti cluster, unmodified? The arguments are the URLs of the nodes. Each change is made on one
# node and looked for on the others.
set -euo pipefail
export PSQLRC=/dev/null
scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT

fail() { printf 'psql: %s\n' "$*" >&2; exit 1; }

# Waits until every node answers a query as expected.
everywhere() {
  local sql=$1 expected=$2 url seen deadline=$((SECONDS + 20))
  for url in "${urls[@]}"; do
    while seen=$(psql -XAtq "$url" -c "$sql" 2>&1) && [ "$seen" != "$expected" ] || [[ $seen == *'does not exist'* ]]; do
      [ "$SECONDS" -lt "$deadline" ] || fail "$sql: $seen, expected $expected"
    done
    [ "$seen" = "$expected" ] || fail "$sql: $seen, expected $expected"
  done
}

# Writes on every node until none takes the write for concurrent with the schema change.
settled() {
  local url deadline=$((SECONDS + 20))
  for url in "${urls[@]}"; do
    until psql -Xq "$url" -c "$1" 2>/dev/null; do
      [ "$SECONDS" -lt "$deadline" ] || fail "$1 fails at $url"
    done
  done
}

contains() { grep -qF -- "$2" "$1" || fail "$2 is missing in: $(cat "$1")"; }

urls=("$@")
seq 1 1000 | sed 's/.*/&,row &/' >"$scratch/in.csv"

psql -X "${urls[0]}" -v ON_ERROR_STOP=1 >"$scratch/out" 2>&1 <<SQL || fail "$(cat "$scratch/out")"
DROP TABLE IF EXISTS sql_item;
CREATE TABLE sql_item (id int PRIMARY KEY, name text);
\copy sql_item FROM '$scratch/in.csv' CSV
\d
\dt+
\d sql_item
\copy (SELECT * FROM sql_item ORDER BY id) TO '$scratch/out.csv' CSV
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM sql_item ORDER BY id;
FETCH 2 FROM c;
MOVE 10 IN c;
FETCH 1 FROM c;
CLOSE c;
COMMIT;
SQL
cmp "$scratch/in.csv" "$scratch/out.csv"
contains "$scratch/out" 'COPY 1000'
contains "$scratch/out" '"sql_item_pkey" PRIMARY KEY'
contains "$scratch/out" ' 13'
everywhere 'SELECT count(*), sum(id) FROM sql_item' '1000|500500'
settled 'UPDATE sql_item SET name = name WHERE id = 1'

psql -X "${urls[1]}" >"$scratch/out" 2>&1 <<'SQL'
BEGIN;
INSERT INTO sql_item VALUES (1001, 'lost');
SELECT 1 / 0;
SELECT 'not executed';
COMMIT;
BEGIN;
INSERT INTO sql_item VALUES (1002, 'kept');
SAVEPOINT s;
INSERT INTO sql_item VALUES (1003, 'undone');
ROLLBACK TO s;
RELEASE s;
COMMIT AND CHAIN;
INSERT INTO sql_item VALUES (1004, 'chained');
COMMIT;
LISTEN a;
NOTIFY a, 'told';
CREATE DATABASE other TEMPLATE postgres;
SQL
contains "$scratch/out" 'ERROR:  division by zero'
contains "$scratch/out" 'ERROR:  current transaction is aborted'
contains "$scratch/out" 'Asynchronous notification "a" with payload "told" received'
contains "$scratch/out" 'ERROR:  a database of a cluster is made from template0'
everywhere 'SELECT id FROM sql_item WHERE id > 1000 ORDER BY id' $'1002\n1004'

# Several statements in one query are one transaction.
psql -Xq "${urls[2]}" -c "INSERT INTO sql_item VALUES (2001, 'a'); INSERT INTO sql_item VALUES (2002, 'b')"
if psql -Xq "${urls[2]}" -c "INSERT INTO sql_item VALUES (2003, 'c'); INSERT INTO sql_item VALUES (1, 'taken')" 2>"$scratch/out"; then
  fail 'a duplicate key was accepted'
fi
contains "$scratch/out" 'duplicate key'
everywhere 'SELECT id FROM sql_item WHERE id > 2000 ORDER BY id' $'2001\n2002'

# A migration as one transaction.
psql -Xq1 -v ON_ERROR_STOP=1 "${urls[0]}" >"$scratch/out" 2>&1 <<'SQL' || fail "$(cat "$scratch/out")"
ALTER TABLE sql_item ADD COLUMN length int;
UPDATE sql_item SET length = length(name);
ALTER TABLE sql_item DROP COLUMN name;
DELETE FROM sql_item WHERE id > 1000;
CREATE TABLE IF NOT EXISTS sql_emptied (id int PRIMARY KEY);
INSERT INTO sql_emptied VALUES (1);
TRUNCATE sql_emptied;
INSERT INTO sql_emptied VALUES (1), (2);
CREATE INDEX ON sql_item (length);
DROP MATERIALIZED VIEW IF EXISTS sql_view;
DROP TABLE IF EXISTS sql_copy;
CREATE TABLE sql_copy AS SELECT id, length, random() AS r FROM sql_item;
CREATE MATERIALIZED VIEW sql_view AS SELECT sum(r) FROM sql_copy;
UPDATE sql_copy SET r = 0 WHERE id = 1;
REFRESH MATERIALIZED VIEW sql_view;
SQL
everywhere 'SELECT (SELECT sum(r) FROM sql_copy WHERE r <> 0) = (TABLE sql_view)' 't'
everywhere 'SELECT count(*), sum(length) FROM sql_item' '1000|6893'
everywhere 'SELECT count(*) FROM sql_emptied' '2'
settled 'UPDATE sql_item SET length = length WHERE id = 1'
psql -Xq "${urls[1]}" -c 'TRUNCATE sql_item'
everywhere 'SELECT count(*) FROM sql_item' '0'
