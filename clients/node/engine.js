// Does node-postgres work at a node with H2 or HSQLDB, unmodified? Argument: the URL of the node.
'use strict';

const assert = require('node:assert/strict');
const { Client, Pool } = require('pg');

const url = process.argv[2];

async function withClient(work, options = {}) {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 10000, statement_timeout: 20000, ...options });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

async function values(client) {
  await client.query('CREATE TABLE js_item (id serial PRIMARY KEY, name text UNIQUE, n int NOT NULL DEFAULT 1, u uuid, y bytea,'
    + ' f float8, num numeric(10,2), ts timestamptz, ok boolean, big bigint)');
  const row = ['a', 5, '123e4567-e89b-12d3-a456-426614174000', Buffer.from([0, 255]), 1.5, '12.50', new Date(86400123), true,
    '9007199254740993'];
  const inserted = await client.query('INSERT INTO js_item (name, n, u, y, f, num, ts, ok, big)'
    + ' VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING id', row);
  const read = await client.query({ text: 'SELECT * FROM js_item WHERE id = $1', values: [inserted.rows[0].id], rowMode: 'array' });
  assert.deepEqual(read.rows[0].slice(1), row);
  for (const [sql, parameters, expected] of [
    ['SELECT name FROM js_item WHERE name = ANY($1)', [['a', 'b']], ['a']],
    ['SELECT name FROM js_item WHERE n = ANY($1::int[])', [[4, 5]], ['a']],
    ['SELECT name FROM js_item WHERE n IN ($1, $2) LIMIT $3 OFFSET $4', [5, 6, 1, 0], ['a']],
    ['SELECT name FROM js_item WHERE n + $1 = 7 AND ts < $2', [2, new Date()], ['a']],
    ['SELECT CASE WHEN n > $1 THEN $2 ELSE $3 END FROM js_item', [2, 'more', 'less'], ['more']],
    ['SELECT $1', ['word'], ['word']],
    ['SELECT $1::int', [7], [7]],
  ]) {
    const result = await client.query({ text: sql, values: parameters, rowMode: 'array' });
    assert.deepEqual(result.rows.map((each) => each[0]), expected, sql);
  }
  assert.equal((await client.query('UPDATE js_item SET n = COALESCE($1, n) WHERE name = $2', [6, 'a'])).rowCount, 1);
}

async function statements(client) {
  for (let i = 0; i < 10; i++) {
    const result = await client.query({ name: 'by-name', text: 'SELECT n FROM js_item WHERE name = $1', values: ['a'] });
    assert.equal(result.rows[0].n, 6);
  }
  const two = await client.query('SELECT 1 AS x; SELECT 2 AS x');
  assert.deepEqual(two.map((result) => result.rows[0].x), [1, 2]);
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  await client.query("INSERT INTO js_item (name) VALUES ('kept')");
  await client.query('SAVEPOINT s');
  await assert.rejects(client.query('SELECT 1 / 0'), { code: '22012' });
  await assert.rejects(client.query('SELECT 1'), { code: '25P02' });
  await client.query('ROLLBACK TO s');
  await client.query('COMMIT');
  await assert.rejects(client.query('INSERT INTO js_item (name) VALUES ($1)', ['kept']), { code: '23505' });
  await assert.rejects(client.query('SELECT * FROM js_nothing WHERE n = $1', [1]), { code: '42P01' });
}

async function main() {
  await withClient(values);
  await withClient(statements);
  const pool = new Pool({ connectionString: url, max: 3 });
  const all = await Promise.all(Array.from({ length: 10 }, (_, i) => pool.query('SELECT $1::int AS i', [i])));
  assert.deepEqual(all.map((result) => result.rows[0].i), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  await pool.end();
  await assert.rejects(withClient(() => {}, { connectionString: url.replace(/:[^:@/]+@/, ':wrong@') }), { code: '28P01' });
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
