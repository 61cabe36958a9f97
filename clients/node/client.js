// Does node-postgres work against a Tutti cluster, unmodified?
// Arguments: the URLs of the nodes. Each change is made on one node and looked for on the others.
'use strict';

const assert = require('node:assert/strict');
const { Client, Pool } = require('pg');

const nodes = process.argv.slice(2);
const PATIENCE_MS = 20000;

async function withClient(node, work) {
  const client = new Client({ connectionString: nodes[node % nodes.length], connectionTimeoutMillis: 10000 });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Waits until every node answers the query with these rows. */
async function everywhere(sql, expected) {
  for (let node = 0; node < nodes.length; node++) {
    await withClient(node, async (client) => {
      const deadline = Date.now() + PATIENCE_MS;
      for (;;) {
        const seen = await client.query({ text: sql, rowMode: 'array' }).then((r) => r.rows, (error) => {
          if (error.code !== '42P01') throw error; // the table is not there yet
          return undefined;
        });
        if (seen && JSON.stringify(seen) === JSON.stringify(expected)) return;
        assert.ok(Date.now() < deadline, `node ${node}: ${sql}: ${JSON.stringify(seen)}, expected ${JSON.stringify(expected)}`);
        await client.query('SELECT pg_sleep(0.01)');
      }
    });
  }
}

async function schema() {
  await withClient(0, async (client) => {
    await client.query('DROP TABLE IF EXISTS js_item');
    await client.query('BEGIN; CREATE TABLE js_item (id serial PRIMARY KEY, name text UNIQUE, data jsonb);'
      + " INSERT INTO js_item (name) VALUES ('one'); ALTER TABLE js_item ADD COLUMN n int NOT NULL DEFAULT 1;"
      + " INSERT INTO js_item (name, n) VALUES ('two', 2); COMMIT");
  });
  await everywhere('SELECT name, n FROM js_item ORDER BY name', [['one', 1], ['two', 2]]);
  await settled('UPDATE js_item SET n = n');
}

/** Writes on every node until none takes the write for concurrent with the schema change. */
async function settled(sql) {
  for (let node = 0; node < nodes.length; node++) {
    await withClient(node, async (client) => {
      for (let attempt = 0; ; attempt++) {
        try {
          await client.query(sql);
          return;
        } catch (error) {
          if (error.code !== '40001' || attempt > 1000) throw error;
        }
      }
    });
  }
}

async function prepared() {
  await withClient(1, async (client) => {
    for (let i = 0; i < 20; i++) {
      const result = await client.query({
        name: 'insert-item',
        text: 'INSERT INTO js_item (name, data) VALUES ($1, $2) RETURNING id',
        values: [`prepared ${i}`, { i }],
      });
      assert.equal(result.rowCount, 1);
    }
    await assert.rejects(client.query({ name: 'insert-item', text: 'INSERT INTO js_item (name, data) VALUES ($1, $2) RETURNING id',
      values: ['prepared 3', {}] }), { code: '23505' });
  });
  await everywhere("SELECT count(*)::int, sum((data->>'i')::int)::int FROM js_item WHERE name LIKE 'prepared%'", [[20, 190]]);
}

async function transactions() {
  await withClient(2, async (client) => {
    await client.query('BEGIN');
    await client.query("INSERT INTO js_item (name) VALUES ('kept')");
    await client.query('SAVEPOINT s');
    await assert.rejects(client.query('SELECT 1 / 0'), { code: '22012' });
    await assert.rejects(client.query('SELECT 1'), { code: '25P02' });
    await client.query('ROLLBACK TO s');
    await client.query('COMMIT');
    await client.query('BEGIN');
    await client.query("INSERT INTO js_item (name) VALUES ('lost')");
    await client.query('ROLLBACK');
  });
  await everywhere("SELECT name FROM js_item WHERE name IN ('kept', 'lost')", [['kept']]);
}

/** A pool per node; all of them increment one row, and retry what lost. */
async function pools() {
  await withClient(0, (client) => client.query("INSERT INTO js_item (name, n) VALUES ('counter', 0)"));
  await everywhere("SELECT n FROM js_item WHERE name = 'counter'", [[0]]);
  const all = nodes.map((url) => new Pool({ connectionString: url, max: 3 }));
  const increment = async (pool) => {
    for (let attempt = 0; attempt < 2000; attempt++) {
      const client = await pool.connect();
      try {
        await client.query('BEGIN');
        await client.query("UPDATE js_item SET n = n + 1 WHERE name = 'counter'");
        await client.query('COMMIT');
        return;
      } catch (error) {
        await client.query('ROLLBACK');
        assert.equal(error.code, '40001', error.message);
      } finally {
        client.release();
      }
    }
    assert.fail('too many retries');
  };
  await Promise.all(all.flatMap((pool) => Array.from({ length: 10 }, () => increment(pool))));
  await Promise.all(all.map((pool) => pool.end()));
  await everywhere("SELECT n FROM js_item WHERE name = 'counter'", [[10 * nodes.length]]);
}

async function refusals() {
  await withClient(0, async (client) => {
    await client.query('LISTEN a');
    const told = new Promise((resolve) => client.once('notification', resolve));
    await client.query({ text: "NOTIFY a, 'b'", name: 'notify' });
    assert.equal((await told).payload, 'b');
    await assert.rejects(client.query('CREATE DATABASE other TEMPLATE postgres'), { code: '0A000' });
  });
  const wrong = new Client({ connectionString: nodes[0].replace(/:[^:@/]+@/, ':wrong@') });
  await assert.rejects(wrong.connect(), { code: '28P01' });
}

async function main() {
  for (const part of [schema, prepared, transactions, pools, refusals]) {
    const started = Date.now();
    await part();
    console.log(`${part.name}: ${(Date.now() - started) / 1000} s`);
  }
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
