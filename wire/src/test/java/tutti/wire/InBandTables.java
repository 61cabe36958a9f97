package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import tutti.pgwire.BackendConnection;
import tutti.wire.InBandFixture.Way;

/** Tables of all kinds, and conversations about them that must come to the same both ways. */
abstract class InBandTables {
    private static final String SCHEMA = """
            CREATE TYPE mood AS ENUM ('sad', 'happy');
            CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL, note text, at timestamptz, raw bytea,
                rate float8, amount numeric(12,2), numbers int[], mood mood, span interval, CHECK (balance > -1000));
            CREATE TABLE child (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, account int REFERENCES account,
                code text UNIQUE, doubled int GENERATED ALWAYS AS (account * 2) STORED);
            CREATE TABLE "Odd Name" ("Key" int PRIMARY KEY, "select" text, odd int DEFAULT 7);
            CREATE TABLE document (id int PRIMARY KEY, reads int, body text);
            INSERT INTO document SELECT 1, 0, string_agg(md5(i::text), '') FROM generate_series(1, 1000) i;
            CREATE TABLE growing (id int PRIMARY KEY, reads int, body text); INSERT INTO growing VALUES (1, 0, '');
            CREATE TABLE revised (id int PRIMARY KEY, rev bigint GENERATED ALWAYS AS IDENTITY, body text);
            INSERT INTO revised (id, body) VALUES (1, 'a');
            CREATE TABLE dir (id int PRIMARY KEY);
            CREATE TABLE leaf (id int PRIMARY KEY, dir int REFERENCES dir ON DELETE CASCADE ON UPDATE CASCADE);
            CREATE TABLE later (id int PRIMARY KEY, dir int REFERENCES dir DEFERRABLE);
            CREATE TABLE part (id int PRIMARY KEY) PARTITION BY RANGE (id);
            CREATE TABLE part_low PARTITION OF part FOR VALUES FROM (0) TO (100);
            CREATE TABLE base (id int PRIMARY KEY);
            CREATE TABLE derived (CHECK (true)) INHERITS (base);
            CREATE TABLE guarded (id int PRIMARY KEY);
            ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;
            CREATE TABLE ruled (id int PRIMARY KEY);
            CREATE RULE quiet AS ON DELETE TO ruled DO INSTEAD NOTHING;
            CREATE TABLE log (id int PRIMARY KEY);
            CREATE TABLE watched (id int PRIMARY KEY);
            CREATE FUNCTION log_it() RETURNS trigger LANGUAGE plpgsql AS
                'BEGIN INSERT INTO log VALUES (NEW.id); RETURN NULL; END';
            CREATE TRIGGER note AFTER INSERT ON watched FOR EACH ROW EXECUTE FUNCTION log_it();
            CREATE FUNCTION writes(n int) RETURNS int LANGUAGE plpgsql AS
                'BEGIN INSERT INTO log VALUES (n); RETURN n; END';
            CREATE TABLE computed (id int PRIMARY KEY, n int DEFAULT writes(1));
            CREATE VIEW accounts AS SELECT * FROM account;
            CREATE TABLE place (id int PRIMARY KEY, location point);
            CREATE TABLE secret (id int PRIMARY KEY, word text);
            CREATE TABLE copied (id int PRIMARY KEY, account int, note text);
            INSERT INTO copied SELECT 1, 0, string_agg(md5(i::text), '') FROM generate_series(1, 200) i;
            CREATE TABLE dated (at date PRIMARY KEY);
            INSERT INTO dated VALUES ('2026-11-26');
            CREATE TABLE event (odd int REFERENCES "Odd Name", amount numeric(8,2), note text, rate float8, at timestamptz);
            REVOKE ALL ON secret FROM PUBLIC; GRANT INSERT, UPDATE ON secret TO alice;
            """;
    private static final String ROWS = """
            TRUNCATE account, child, "Odd Name", leaf, dir, later, log, watched, copied, secret, computed, event;
            INSERT INTO account SELECT i, 100 * i, 'note ' || i, timestamptz '2026-01-01 00:00+00' + i * interval '1 hour',
                decode('00ff', 'hex'), i / 3.0, i, ARRAY[i, NULL], 'sad', interval '1 day' FROM generate_series(1, 10) i;
            INSERT INTO child OVERRIDING SYSTEM VALUE SELECT i, i, 'c' || i FROM generate_series(1, 5) i;
            ALTER SEQUENCE child_id_seq RESTART 1000;
            INSERT INTO "Odd Name" VALUES (1, 'x', 1), (2, 'y', 2); INSERT INTO dir VALUES (1); INSERT INTO leaf VALUES (1, 1);
            INSERT INTO secret VALUES (1, 'x'); INSERT INTO event SELECT 2, 1.50, 'same', 0.1, NULL FROM generate_series(1, 3)
            """;
    static InBandFixture fixture;

    @BeforeAll
    static void start() throws Exception {
        fixture = new InBandFixture(SCHEMA);
    }

    @AfterAll
    static void stop() throws Exception {
        fixture.close();
    }

    @BeforeEach
    void rows() throws Exception {
        fixture.node.reset();
        reset();
    }

    static void reset() throws Exception {
        fixture.admin.execute("SET session_replication_role = replica", InBandFixture.PATIENCE);
        for (String statement : ROWS.split(";", -1)) {
            if (statement.contains("ALTER SEQUENCE")) {
                fixture.admin.execute("SELECT setval_here('child_id_seq', 1001)", InBandFixture.PATIENCE);
            } else {
                fixture.admin.execute(statement, InBandFixture.PATIENCE);
            }
        }
        fixture.admin.execute("RESET session_replication_role", InBandFixture.PATIENCE);
        fixture.node.forget();
        fixture.committed();
    }

    // ------------------------------------------------------------------------------------------ what is proven

    /** What a client says; the same is answered, committed and left in the tables both ways. */
    static void sameBothWays(Way proven, int cycles, Conversation.Batch... batches) throws Exception {
        String inBand = run(proven, cycles, batches);
        reset();
        assertEquals(InBandFixture.withColumns(run(Way.TRIGGERS, cycles, batches), inBand), inBand);
    }

    static String run(Way way, int cycles, Conversation.Batch... batches) throws Exception {
        BackendConnection client = fixture.client(way);
        StringBuilder all = new StringBuilder();
        for (Conversation.Batch batch : batches) {
            all.append(InBandFixture.hears(client, batch, cycles)).append("----\n");
        }
        client.close();
        all.append(String.join("----\n", fixture.committed()));
        for (String table : List.of("account", "child", "\"Odd Name\"", "leaf", "dir", "log", "copied", "secret",
                "event")) {
            all.append(table).append(' ').append(fixture.admin
                    .execute("SELECT string_agg(t::text, ' ' ORDER BY t::text) FROM " + table + " t",
                            InBandFixture.PATIENCE)
                    .value()).append('\n');
        }
        return all.toString();
    }
}
