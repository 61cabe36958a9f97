#!/usr/bin/env bash
# Does pgbench work against a Tutti cluster, as it is? The arguments are the URLs of the nodes. It makes primary keys after the rows,
# and pgbench_history has none.
set -euo pipefail
export PSQLRC=/dev/null
fail() { printf 'pgbench: %s\n' "$*" >&2; exit 1; }

pgbench -q -i "$1"

# The tables have to be at the other nodes before their clients begin.
for url in "$@"; do
  deadline=$((SECONDS + 20))
  until [ "$(psql -XAtq "$url" -c "SELECT count(*) FROM pg_index WHERE indrelid = to_regclass('pgbench_accounts')
      AND indisprimary")" = 1 ]; do
    [ "$SECONDS" -lt "$deadline" ] || fail "$url does not have the tables"
  done
done

node=0
for protocol in simple extended prepared; do
  urls=("$@")
  out=$(pgbench -n -M "$protocol" -t 50 -c 2 --max-tries=1000 "${urls[node++ % $#]}" 2>&1)
  [[ $out == *'number of failed transactions: 0'* ]] || fail "$out"
done

sum='SELECT (SELECT sum(abalance) FROM pgbench_accounts), (SELECT sum(bbalance) FROM pgbench_branches),
  (SELECT sum(tbalance) FROM pgbench_tellers), (SELECT sum(delta) FROM pgbench_history), count(*) FROM pgbench_history'
for url in "$@"; do
  deadline=$((SECONDS + 20))
  until IFS='|' read -r accounts branches tellers history rows < <(psql -XAtq "$url" -c "$sum") && [ "$rows" = 300 ]; do
    [ "$SECONDS" -lt "$deadline" ] || fail "$url has $rows of 300 rows of history"
  done
  [ "$accounts" = "$branches" ] && [ "$branches" = "$tellers" ] && [ "$tellers" = "$history" ] \
    || fail "$url: balances differ: $accounts $branches $tellers $history"
done
