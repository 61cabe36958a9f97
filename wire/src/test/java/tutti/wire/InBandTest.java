package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import java.util.concurrent.CompletableFuture;
import tutti.core.txn.AbortReason;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.Frontend;
import tutti.wire.InBandFixture.Way;

/** What statements tell of the rows that they change is what the triggers would have captured, and no client sees it. */
@Timeout(240)
class InBandTest extends InBandTables {
    @ParameterizedTest
    @ValueSource(strings = {"update account set balance = balance + 1 where id = 1",
            "delete from child using account a where a.id = 1",
            "insert into account (id, balance) values ($1, $2)",
            "INSERT INTO copied SELECT id, balance, note FROM account",
            "update only public.account as a set note = c.code from child c where c.account = a.id returning a.id",
            "insert into copied values (1, 2, 'x') -- a comment", "delete from account where id = 3 ; ",
            "update \"Odd Name\" set \"select\" = 'now' where \"Key\" = 1",
            "select * from account where id = 1 for update",
            "update child set account = 2 where id = 1", "update account set at = now(), mood = 'happy'",
            "update account set note = upper(note) where id in (select account from child where code like 'c%')",
            "insert into copied default values returning *", "update account set (balance, note) = (1, 'x')",
            "delete from log", "insert into event (odd, amount) values ($1, $2)",
            "update event set note = 'x' where odd = 1",
            "delete from event", "update account set balance = case when id > 3 then 1 else 2 end",
            "update account set balance = l.b from unnest($1::int[], $2::int[]) as l (i, \"b\") where id = l.i",
            "insert into copied select l.n, l.i, l.t from unnest($1::int[], $2::text[]) with ordinality as l (i, t, n)"})
    void isProven(String sql) {
        assertTrue(fixture.proven(sql), sql);
    }

    @ParameterizedTest
    @ValueSource(strings = {"delete from dir where id = 1", "update dir set id = 2 where id = 1",
            "insert into later values (1, 1)", "insert into dir values (3)",
            "insert into part values (1)", "insert into part_low values (1)", "update base set id = 2",
            "insert into derived values (1)",
            "insert into guarded values (1)", "delete from ruled", "insert into watched values (1)",
            "update account set balance = writes(1)",
            "insert into computed values (1)", "insert into accounts (id, balance) values (20, 1)",
            "insert into place values (1, '(1,2)')",
            "with x as (delete from dir returning id) delete from account",
            "with x as (select writes(1)) delete from log",
            "with x as (insert into watched values (1)) delete from log",
            "with x as (select 1) select * into y from x", "with x as (update nothing set x = 1) delete from log",
            "with x as (insert into log values (1) on conflict do nothing) delete from child",
            "insert into dir values (1) on conflict (id) do update set id = 2",
            "insert into watched values (1) on conflict do nothing",
            "insert into account (id, balance) values (1, 1) on conflict (id) do update set balance = writes(1)",
            "insert into account (id, balance) values (1, 1) on conflict (id) do update set balance = 1 returning old.balance",
            "insert into account new (id, balance) values (1, 1) on conflict (id) do update set balance = 1",
            "insert into account as new (id, balance) values (1, 1) on conflict (id) do update set balance = 1",
            "insert into copied select id, balance, (select 1 on conflict) from account",
            "update account set balance = 1 on conflict do nothing",
            "update secret set word = 'y'",
            "update account set note = query_to_xml('delete from log', true, true, '')::text",
            "select writes(1)", "select id into x from account for update",
            "update account set balance = 1; update account set balance = 2",
            "insert into copied with ordinality as (select 1) select * from ordinality",
            "insert into log select cast('1' as account (3))", "update account set note = l.t from x as l (1)",
            "merge into dir d using log l on d.id = l.id when matched then delete",
            "merge into dir d using log l on d.id = l.id when matched then update set id = 5",
            "merge into watched w using log l on w.id = l.id when not matched then insert values (l.id)",
            "merge into account a using log l on a.id = l.id when matched then update set balance = writes(1)",
            "merge into account a using (select writes(1) as id) l on a.id = l.id when matched then delete",
            "merge into account old using log l on old.id = l.id when matched then delete",
            "merge into account a using log l on a.id = l.id when matched then update set balance = 1 returning new.balance",
            "merge into accounts a using log l on a.id = l.id when matched then delete",
            "update account a set note = (a).writes",
            "update nothing set x = 1", "update account new set id = 5 where id = 4", "truncate account",
            "update pg_class set relname = 'x'",
            "insert into log values (\"writes\"(1))", "delete from log where public.writes(id) = 1",
            "update account set balance = 1 where (id = 1",
            "update other.account set balance = 1", "do $$ begin end $$", "copy account from stdin", "execute x",
            "update account set note = set_config('a.b', 'c', true)"})
    void isNotProven(String sql) {
        assertFalse(fixture.proven(sql), sql);
    }

    @ParameterizedTest
    @ValueSource(strings = {"insert into account (id, balance) values (1, 1) on conflict do nothing",
            "insert into account (id, balance) values (1, 1) on conflict (id) do update set balance = 2",
            "insert into child as c (account, code) values (1, 'x') on conflict (code) do update set account = excluded.account",
            "with x as (select 1) delete from log",
            "with x (i) as (values (1)), y as not materialized (select i from x)"
                    + " insert into copied select i, i, 'y' from y",
            "merge into account a using child c on a.id = c.id when matched then delete",
            "merge into account a using child c on a.id = c.id when matched then update set balance = 1 when not matched then"
                    + " insert (id, balance) values (c.id, 1)",
            "with s as (select 1 as id) merge into account a using s on a.id = s.id when matched then do nothing",
            "with recursive n(i) as (select 1 union all select i + 1 from n where i < 3) update account set balance = i from n where id = i",
            "with account as (select 1 as id) update account set balance = 1",
            "with a as (select 1 as id) update account a set balance = 1",
            "with next as (select id from account order by id for update skip locked limit 1)"
                    + " update account a set balance = 0 from next where a.id = next.id returning a.id"})
    void tellsItsRows(String sql) {
        InBandStatement proof = fixture.proof(sql);
        assertTrue(proof != null && proof.tellsChanges(), sql);
    }

    /** What WITH names changes rows, or something is called that may. */
    @ParameterizedTest
    @ValueSource(strings = {"with x as (delete from log returning id) delete from account",
            "with x as (select 1), y as (insert into copied values (1) returning id) delete from log",
            "with x as (select 1) select * from x",
            "with x as (select 1) insert into log select 1 from x on conflict do nothing; select 1",
            "with x as (select writes(1)) delete from log",
            "with x as (with y as (select 1) select 1) delete from log"})
    void doesNotTellItsRows(String sql) {
        InBandStatement proof = fixture.proof(sql);
        assertFalse(proof != null && proof.tellsChanges(), sql);
    }

    /** The node asks before the engine has answered the client's Bind of COMMIT, which the client hears when the transaction has lost. */
    @Test
    void aPreparedCommitThatHasLostIsRunAgain() throws Exception {
        BackendConnection client = fixture.client(Way.EITHER);
        Conversation.get(Conversation.send(client, out -> {
            Frontend.parse(out, "change", "update account set balance = balance + 1 where id = 1");
            Frontend.parse(out, "commit", "commit");
            Frontend.sync(out);
        }));
        for (int round = 0; round < 5; round++) {
            fixture.node.manual = false;
            Conversation.simple(client, "begin");
            assertEquals("2C(UPDATE 1)/T", Conversation.get(Conversation.send(client, out -> {
                Frontend.bind(out, "", "change");
                Frontend.execute(out, "", 0);
                Frontend.sync(out);
            })));
            fixture.node.manual = true;
            CompletableFuture<String> answer = Conversation.send(client, out -> {
                Frontend.bind(out, "", "commit");
                Frontend.execute(out, "", 0);
                Frontend.sync(out);
            });
            ScriptedNode.take(fixture.node.asked).rollBack(new AbortReason.LostCertification(0, 7));
            ScriptedNode.take(fixture.node.asked).commit();
            assertEquals("2C(COMMIT)/I", Conversation.get(answer));
        }
        client.close();
    }

    /** Which change several tables do not tell their rows, and leave alone what others have been prepared as. */
    @ParameterizedTest
    @ValueSource(strings = {"with x as (delete from log returning id) delete from account where id = 99",
            "with a as (update account set balance = 1 where id = 1 returning id), c as (insert into copied (id, account)"
                    + " select id + 50, id from a) select * from a"})
    void whatChangesSeveralTablesLeavesTheProofsOfOthers(String several) throws Exception {
        BackendConnection client = fixture.client(Way.IN_BAND);
        assertEquals("1/I", Conversation.get(Conversation.send(client, out -> {
            Frontend.parse(out, "s", "update account set balance = balance + 1 where id = 1");
            Frontend.sync(out);
        })));
        for (int i = 0; i < 8; i++) {
            Conversation.simple(client, "begin");
            assertFalse(Conversation.simple(client, several).contains("E("));
            Conversation.simple(client, "rollback");
            assertEquals("2C(UPDATE 1)/I", Conversation.get(Conversation.send(client, out -> {
                Frontend.bind(out, "", "s");
                Frontend.execute(out, "", 0);
                Frontend.sync(out);
            })));
        }
        assertEquals(8, fixture.committed().size());
        client.close();
    }

    // ------------------------------------------------------------------------------------------ conversations

    /** What the engine has answered by then does not say that it is in a transaction. */
    @ParameterizedTest
    @EnumSource(Way.class)
    void whatWasAnsweredAtFlushIsCommittedAtSync(Way way) throws Exception {
        BackendConnection client = fixture.client(way);
        for (int id = 501; id < 503; id++) {
            String insert = "insert into document values (" + id + ") returning id";
            assertEquals("12DC(INSERT 0 1)/I",
                    Conversation.flushed(client, out -> Frontend.statement(out, insert), Frontend::sync));
            assertEquals(1, fixture.committed().size());
        }
        assertEquals("12C(BEGIN)12DC(DELETE 1)12C(COMMIT)/I", Conversation.flushed(client, out -> {
            Frontend.statement(out, "begin");
            Frontend.statement(out, "delete from document where id = 501 returning id");
        }, out -> {
            Frontend.statement(out, "commit");
            Frontend.sync(out);
        }));
        assertEquals(1, fixture.committed().size());
        assertEquals("C(DELETE 1)/I", Conversation.simple(client, "delete from document where id in (501, 502)"));
        assertEquals(1, fixture.committed().size());
        client.close();
    }

    /** What a transaction of each kind tells of an update of one column. */
    private static List<String> told() throws Exception {
        List<String> all = new ArrayList<>();
        for (Way way : List.of(Way.IN_BAND, Way.TRIGGERS)) {
            BackendConnection client = fixture.client(way);
            client.execute("update account set balance = balance + 1 where id = 1", InBandFixture.PATIENCE);
            client.execute("update document set reads = reads + 1", InBandFixture.PATIENCE);
            client.close();
            fixture.committed().forEach(each -> all.add(each.substring(0, each.indexOf(','))));
            reset();
        }
        return all;
    }

    @Test
    void rowsAreToldWholeAsLongAsSomeNodeNeedsThat() throws Exception {
        List<String> some = List.of("update account(1", "columns 03 document(1", "update account(1",
                "columns 03 document(1");
        assertEquals(some, told());
        fixture.engine.leaveOut(() -> false);
        try {
            assertEquals(List.of("update account(1", "update document(1", "update account(1", "update document(1"),
                    told());
        } finally {
            fixture.engine.leaveOut(() -> true);
        }
        assertEquals(some, told());
    }

    /** A statement that has been prepared to tell some columns is prepared anew. */
    @Test
    void preparedStatementsTellWholeRowsWhenANodeComesThatNeedsThat() throws Exception {
        try (Connection connection = DriverManager.getConnection(fixture.url(Way.EITHER) + "&prepareThreshold=1");
                PreparedStatement update = connection
                        .prepareStatement("update document set reads = reads + 1")) {
            update.executeUpdate();
            fixture.engine.leaveOut(() -> false);
            update.executeUpdate();
            fixture.engine.leaveOut(() -> true);
            update.executeUpdate();
        } finally {
            fixture.engine.leaveOut(() -> true);
        }
        List<String> told = fixture.committed();
        assertTrue(told.get(0).startsWith("columns"), told.get(0));
        assertTrue(told.get(1).startsWith("update"), told.get(1));
        assertTrue(told.get(2).startsWith("columns"), told.get(2));
    }

    /** Also by a statement that has been prepared before. */
    @Test
    void columnsAreLeftOutOnceARowHasGrownLarge() throws Exception {
        try (Connection connection = DriverManager.getConnection(fixture.url(Way.IN_BAND) + "&prepareThreshold=1");
                PreparedStatement update = connection.prepareStatement("update growing set reads = reads + 1");
                Statement grows = connection.createStatement()) {
            update.executeUpdate();
            grows.execute("update growing set body = repeat('x', 5000)");
            update.executeUpdate();
            update.executeUpdate();
        }
        List<String> told = fixture.committed();
        assertTrue(told.get(0).startsWith("update growing(1,1,"), told.get(0));
        assertTrue(told.get(1).startsWith("update growing(1,1,xxx"), told.get(1));
        assertTrue(told.get(2).startsWith("columns 03 growing(1,2,)"), told.get(2));
        assertTrue(told.get(3).startsWith("columns 03 growing(1,3,)"), told.get(3));
    }

    /** Nodes that get the row cannot assign an identity that is always generated: they delete the row and insert it. */
    @Test
    void anIdentityThatIsDrawnAnewIsToldWithBothRows() throws Exception {
        try (Connection connection = DriverManager.getConnection(fixture.url(Way.IN_BAND));
                Statement statement = connection.createStatement()) {
            statement.execute("update revised set body = 'b'");
            statement.execute("update revised set (body, rev) = ('c', default)");
        }
        List<String> told = fixture.committed();
        assertTrue(told.get(0).startsWith("update revised(1,1,b)"), told.get(0));
        assertTrue(told.get(1).matches("rekey revised\\(1,1,b\\)\\(1,\\d+,c\\)\n(?s).*"), told.get(1));
    }

    private static void simple(Way way, String... queries) throws Exception {
        Conversation.Batch[] batches = new Conversation.Batch[queries.length];
        for (int i = 0; i < queries.length; i++) {
            String sql = queries[i];
            batches[i] = out -> Frontend.query(out, sql);
        }
        sameBothWays(way, 1, batches);
    }

    private static void extended(Way way, String... statements) throws Exception {
        Conversation.Batch[] batches = new Conversation.Batch[statements.length];
        for (int i = 0; i < statements.length; i++) {
            String sql = statements[i];
            batches[i] = out -> {
                Frontend.parse(out, "", sql);
                describeStatement(out, "");
                Frontend.bind(out, "", "");
                Frontend.describePortal(out, "");
                Frontend.execute(out, "", 0);
                Frontend.sync(out);
            };
        }
        sameBothWays(way, 1, batches);
    }

    private static final String[] STATEMENTS = {"update account set balance = balance + 1 where id <= 3",
            "insert into account (id, balance, note) values (20, 1, 'ä \"quoted\" (x,y) \\ end'), (21, 2, null) returning id, note",
            "insert into copied select id, balance, note from account where id < 4",
            "update account a set note = c.code from child c where c.account = a.id returning a.id, c.code, a.*",
            "delete from child using account a where a.id = child.account and a.balance > 200 returning *",
            "update \"Odd Name\" o set \"select\" = 'now', \"Key\" = 10 where \"Key\" = 1",
            "update child set account = 2 where id = 1",
            "update account set id = id + 100 where id > 8", "update account set id = id, note = 'same key'",
            "update account set balance = 5 where false",
            "update copied c set account = account + 1, note = 'ä \"quoted\" (x,y) \\ end' where id = 2 returning *",
            "update copied set note = null where id = 1", "update copied set account = 9",
            "insert into child (account, code) values (1, 'new') returning id",
            "select * from account where id = 1 for update", "delete from copied",
            "update account set note = case when balance is distinct from 100 then 'a' else 'b' end, id = 77 where id = 7 -- end",
            "insert into \"Odd Name\" (\"Key\") values (9) ; ",
            "insert into event values (2, 7.5, 'ä (x,y)', 0.1, timestamptz '2026-05-01 10:00+02'), (9, 1, null, null, null)",
            "update event set amount = amount + 1 where note = 'same'",
            "update event set note = 'other' where odd = 9 returning *",
            "update event set odd = 2 where false", "delete from event where amount > 7 returning amount",
            "insert into account (id, balance) values (1, 5), (30, 6) on conflict do nothing",
            "insert into account (id, balance) values (2, 5), (31, 6) on conflict (id) do update"
                    + " set balance = account.balance + excluded.balance, note = 'ä (upsert)' returning id, balance",
            "insert into account as a (id, balance) values (3, 1) on conflict (id) do update set balance = 0 where a.balance < -5000",
            "insert into account (id, balance) select i, i from generate_series(28, 33) i on conflict on constraint account_pkey"
                    + " do update set (balance, note) = (7, excluded.balance::text)",
            "insert into child (account, code) values (5, 'c1'), (4, 'new, too') on conflict (code)"
                    + " do update set account = excluded.account returning *",
            "insert into \"Odd Name\" as o values (10, 'z'), (11, 'y') on conflict (\"Key\") do update set \"Key\" = o.\"Key\" + 100",
            "with x as (select id from account where id < 3 for update) update account a set note = 'w' from x where a.id = x.id returning a.id",
            "with recursive n(i) as (values (200) union all select i + 1 from n where i < 203) insert into copied select i, i, 'n'"
                    + " from n on conflict do nothing returning id",
            "with account as (select 1 as id) update account set note = 'of the table' where id = 3 returning *",
            "with a as (select 40 as id, 1 as balance) insert into account as a (id, balance) select id, balance from a returning a.*",
            "with few as materialized (select id from copied where id in (201, 202)) delete from copied using few"
                    + " where copied.id = few.id",
            "merge into account a using (values (1, 5), (60, 6)) as s (id, n) on a.id = s.id when matched then update"
                    + " set balance = a.balance + s.n when not matched then insert (id, balance, note) values (s.id, s.n, 'ä (new)')",
            "merge into \"Odd Name\" as o using account a on a.id = o.\"Key\" when matched and a.id = 9 then delete"
                    + " when matched and a.id = 2 then do nothing when matched then update"
                    + " set \"select\" = case when o.\"Key\" > 1 then 'b' else 'c' end, \"Key\" = o.\"Key\" + 1000"
                    + " when not matched and a.id < 8 then insert values (a.id, a.note, a.balance) when not matched then do nothing"
                    + " returning merge_action(), o.*, a.id",
            "merge into only \"Odd Name\" using (select 11 as key) s on \"Key\" = key when matched then update set odd = odd + 1"
                    + " when not matched by source and odd is null then delete when not matched by target then insert (\"Key\") values (key)",
            "merge into event e using account a on e.odd = a.id when matched then update set note = 'merged' when not matched by source then delete",
            "with s as (select 3 as id) merge into account a using s on a.id = s.id when matched then update set id = 333 returning a.id"};

    @Test
    void statementsTellWhatTriggersCapture() throws Exception {
        simple(Way.IN_BAND, STATEMENTS);
        reset();
        extended(Way.IN_BAND, STATEMENTS);
    }

    @Test
    void blocksTellWhatTriggersCapture() throws Exception {
        List<String> block = new ArrayList<>(List.of("begin"));
        block.addAll(List.of(STATEMENTS));
        block.removeIf(sql -> sql.endsWith("for update")); // triggers tell nothing of what is locked: LockedRowsTest
        block.addAll(List.of("savepoint a", "update account set note = 'in a'", "release a",
                "select count(*) from account", "commit"));
        simple(Way.IN_BAND, block.toArray(String[]::new));
        reset();
        extended(Way.IN_BAND, block.toArray(String[]::new));
    }

    @Test
    void whatIsNotProvenIsCapturedByTriggers() throws Exception {
        for (String[] block : List.of(
                new String[]{"update account set balance = 7 where id = 1", "delete from dir where id = 1"},
                new String[]{"update account set balance = 7 where id = 1", "insert into watched values (1)"},
                new String[]{"update account set balance = writes(7) where id = 1"},
                new String[]{"insert into computed values (1)", "update account set balance = 8 where id = 1"},
                new String[]{"update account set balance = 1 where id = 1", "savepoint s",
                        "update account set balance = 2 where id = 2",
                        "rollback to s", "update account set balance = 3 where id = 3"},
                new String[]{"set local datestyle = 'German'", "update account set balance = 1 where id = 1"},
                new String[]{"set local extra_float_digits = 0", "update account set balance = 1 where id = 1"},
                new String[]{"set local bytea_output = 'escape'", "update account set balance = 1 where id = 1"},
                new String[]{"set local intervalstyle = 'sql_standard'", "update account set balance = 1 where id = 1"},
                new String[]{"update secret set word = 'known'"}, new String[]{"insert into secret values (2, 'new')"},
                new String[]{"create temporary table account (id int primary key, balance int)",
                        "insert into account values (1, 1)",
                        "update public.account set balance = 9 where id = 1"},
                new String[]{"update account set note = repeat('x', 600000) where id < 3"},
                new String[]{
                        "insert into account (id, balance) values (1, 1) on conflict (id) do update set balance = writes(11)"},
                new String[]{"insert into document values (1, 1) on conflict (id) do update set reads = 11"},
                new String[]{
                        "with gone as (delete from child returning id) update account set balance = (select count(*) from gone) where id = 1"},
                new String[]{"set constraints all immediate", "update account set balance = 1 where id = 1"})) {
            List<String> all = new ArrayList<>(List.of("begin"));
            all.addAll(List.of(block));
            all.add("commit");
            simple(Way.EITHER, all.toArray(String[]::new));
            reset();
            extended(Way.EITHER, all.toArray(String[]::new));
            reset();
        }
    }

    @Test
    void errorsArePlacedInTheClientsText() throws Exception {
        String[] wrong = {"update account set balance = nothing where id = 1", "update account set balance = 1 where",
                "update account set balance = 1 where ;", "insert into account (id, balance) values (1, 1)",
                "insert into account (id) values (99)",
                "update account set balance = 1 returning", "update account set balance = 1 returning id,",
                "update account set balance = -5000",
                "delete from account where note = 'ä' and", "update account set nothing = 1 -- ä",
                "delete from account where id = 1",
                "update account set balance = 1 where id = 'x'", "insert into account (id, balance) values (1,",
                "update account set balance = 1 returning new.balance, nope",
                "update account balance = 1", "insert into account (id, balance) values (1, 1) on conflict",
                "insert into account (id, balance) values (1, 1) on conflict (id) do update set nothing = 1",
                "insert into account (id, balance) values (1, 1) on conflict (note) do nothing",
                "insert into account (id, balance) values (1, 1), (1, 2) on conflict (id) do update set balance = 1 returning",
                "insert into account (id, balance) values (77, 1), (77, 2) on conflict (id) do update set balance = 1",
                "with x as (select nothing) delete from log", "with x as (select 1) delete from log where"};
        simple(Way.EITHER, wrong);
        reset();
        extended(Way.EITHER, wrong);
    }

    // ------------------------------------------------------------------------------------------ the extended protocol

    private static void bindFormats(ByteBuf out, String portal, String statement, int... formats) {
        int length = 4 + portal.length() + 1 + statement.length() + 1 + 2 + 2 + 2 + 2 * formats.length;
        out.writeByte('B').writeInt(length)
                .writeBytes((portal + "\0" + statement + "\0").getBytes(StandardCharsets.UTF_8)).writeShort(0)
                .writeShort(0).writeShort(formats.length);
        for (int format : formats) {
            out.writeShort(format);
        }
    }

    private static void describeStatement(ByteBuf out, String name) {
        out.writeByte('D').writeInt(4 + 1 + name.length() + 1)
                .writeBytes(("S" + name + "\0").getBytes(StandardCharsets.UTF_8));
    }

    @Test
    void resultsHaveTheFormatsThatTheClientAskedFor() throws Exception {
        String returning = "update account set balance = balance + 1 where id < 4 returning id, note, balance";
        for (int[] formats : new int[][]{{}, {0}, {1}, {1, 0, 1}, {0, 1, 0}}) {
            sameBothWays(Way.IN_BAND, 1, out -> {
                Frontend.parse(out, "s", returning);
                bindFormats(out, "", "s", formats);
                Frontend.describePortal(out, "");
                Frontend.execute(out, "", 0);
                Frontend.sync(out);
            });
            reset();
        }
        for (int[] formats : new int[][]{{}, {0}, {1}, {1, 0, 1}}) {
            sameBothWays(Way.IN_BAND, 1, out -> {
                Frontend.parse(out, "s", "update account set balance = balance + 1 where id < 4");
                bindFormats(out, "", "s", formats);
                Frontend.describePortal(out, "");
                Frontend.execute(out, "", 1);
                Frontend.sync(out);
            });
            reset();
        }
    }

    @Test
    void portalsGiveTheirRowsInParts() throws Exception {
        sameBothWays(Way.EITHER, 1, out -> Frontend.query(out, "begin"), out -> {
            Frontend.parse(out, "s", "update account set balance = balance + 1 where id < 8 returning id, note");
            describeStatement(out, "s");
            Frontend.bind(out, "p", "s");
            Frontend.describePortal(out, "p");
            Frontend.execute(out, "p", 3);
            Frontend.execute(out, "p", 3);
            Frontend.sync(out);
        }, out -> {
            Frontend.execute(out, "p", 3);
            Frontend.execute(out, "p", 3);
            Frontend.closePortal(out, "p");
            Frontend.sync(out);
        }, out -> Frontend.query(out, "commit"));
    }

    @Test
    void pipelinesAreCommittedWithTheirLastStatement() throws Exception {
        sameBothWays(Way.IN_BAND, 1, out -> {
            Frontend.statement(out, "begin");
            Frontend.statement(out, "update account set balance = 1 where id = 1");
            Frontend.statement(out, "insert into copied values (1, 1, 'x') returning id");
            Frontend.statement(out, "commit");
            Frontend.sync(out);
        }, out -> {
            Frontend.statement(out, "update account set balance = 2 where id = 2");
            Frontend.statement(out, "update account set balance = 3 where id = 3 returning balance");
            Frontend.sync(out);
        });
        reset();
        sameBothWays(Way.EITHER, 1, out -> {
            Frontend.statement(out, "update account set balance = 2 where id = 2");
            Frontend.statement(out, "insert into account (id, balance) values (1, 1)");
            Frontend.statement(out, "update account set balance = 3 where id = 3 returning balance");
            Frontend.sync(out);
        }, out -> {
            Frontend.statement(out, "update account set balance = 2 where id = 2");
            Frontend.sync(out);
        });
    }

    /** The engine skips what follows an error: a name stands for what it stood for before. */
    @Test
    void namesAreThoseThatTheEngineKnows() throws Exception {
        sameBothWays(Way.EITHER, 1, out -> {
            Frontend.parse(out, "s", "select id from account where id < 3 order by id");
            Frontend.sync(out);
        }, out -> {
            Frontend.parse(out, "bad", "select nothing");
            Frontend.closeStatement(out, "s");
            Frontend.parse(out, "s", "update account set balance = 1 where id = 1");
            Frontend.sync(out);
        }, out -> {
            Frontend.bind(out, "", "s");
            Frontend.execute(out, "", 0);
            Frontend.sync(out);
        }, out -> {
            Frontend.parse(out, "s", "update account set balance = 1 where id = 1");
            Frontend.sync(out);
        }, out -> {
            Frontend.bind(out, "", "s");
            Frontend.execute(out, "", 0);
            Frontend.sync(out);
        }, out -> {
            Frontend.parse(out, "u", "update account set balance = 1 where id = 1");
            Frontend.sync(out);
        }, out -> {
            Frontend.parse(out, "u", "select id, note from account where id = 2");
            Frontend.sync(out);
        }, out -> {
            Frontend.bind(out, "", "u");
            Frontend.describePortal(out, "");
            Frontend.execute(out, "", 0);
            Frontend.sync(out);
        }, out -> {
            Frontend.closeStatement(out, "u");
            Frontend.bind(out, "", "u");
            Frontend.sync(out);
        });
    }

    // ------------------------------------------------------------------------------------------ drivers

    private static String throughDriver(Way way, String mode) throws Exception {
        StringBuilder all = new StringBuilder();
        try (Connection connection = DriverManager.getConnection(
                fixture.url(way) + "&prepareThreshold=2&preferQueryMode=" + mode)) {
            connection.setAutoCommit(false);
            try (PreparedStatement update = connection
                    .prepareStatement("update account set balance = balance + ? where id = ?");
                    PreparedStatement insert = connection.prepareStatement(
                            "insert into child (account, code) values (?, ?)",
                            Statement.RETURN_GENERATED_KEYS);
                    PreparedStatement returning = connection.prepareStatement(
                            "update account set note = ? where id < ? returning id, at, raw, rate, amount, note")) {
                for (int i = 1; i <= 6; i++) {
                    update.setInt(1, i);
                    update.setInt(2, i);
                    all.append(update.executeUpdate());
                    insert.setInt(1, i);
                    insert.setString(2, "driver " + i);
                    all.append(insert.executeUpdate());
                    try (ResultSet keys = insert.getGeneratedKeys()) {
                        while (keys.next()) {
                            all.append(keys.getLong(1)).append(' ').append(keys.getMetaData().getColumnCount());
                        }
                    }
                    returning.setString(1, "round " + i);
                    returning.setInt(2, i);
                    returning.setFetchSize(i % 2 == 0 ? 2 : 0);
                    try (ResultSet rows = returning.executeQuery()) {
                        while (rows.next()) {
                            all.append(rows.getInt(1)).append(rows.getTimestamp(2)).append(rows.getDouble(4))
                                    .append(rows.getString(6));
                        }
                        all.append(rows.getMetaData().getColumnCount()).append('\n');
                    }
                    if (i % 3 == 0) {
                        connection.rollback();
                    } else {
                        connection.commit();
                    }
                }
                for (int i = 1; i <= 20; i++) {
                    update.setInt(1, i);
                    update.setInt(2, 1 + i % 10);
                    update.addBatch();
                    insert.setInt(1, 1 + i % 10);
                    insert.setString(2, "batch " + i);
                    insert.addBatch();
                }
                all.append(java.util.Arrays.toString(update.executeBatch()))
                        .append(java.util.Arrays.toString(insert.executeBatch())).append('\n');
                connection.commit();
            }
        }
        all.append(String.join("----\n", fixture.committed()));
        return all.toString();
    }

    @ParameterizedTest
    @ValueSource(strings = {"extended", "simple", "extendedForPrepared", "extendedCacheEverything"})
    void driversSeeTheSame(String mode) throws Exception {
        String inBand = throughDriver(Way.EITHER, mode);
        reset();
        assertEquals(InBandFixture.withColumns(throughDriver(Way.TRIGGERS, mode), inBand), inBand);
    }

    // ------------------------------------------------------------------------------------------ a random one

    @Tag("long")
    @Test
    void anyStatementsTellWhatTriggersCapture() throws Exception {
        for (long seed = 1; seed <= 25; seed++) {
            String[] statements = random(new Random(seed));
            if (seed % 2 == 0) {
                simple(Way.EITHER, statements);
            } else {
                extended(Way.EITHER, statements);
            }
            reset();
        }
    }

    private static String[] random(Random random) {
        List<String> all = new ArrayList<>();
        boolean block = random.nextBoolean();
        if (block) {
            all.add("begin");
        }
        for (int i = 0; i < 8; i++) {
            int id = 1 + random.nextInt(12);
            String condition = switch (random.nextInt(4)) {
                case 0 -> " where id = " + id;
                case 1 -> " where id between " + id + " and " + (id + 2);
                case 2 -> " where id in (select account from child where code > 'c" + id + "')";
                default -> "";
            };
            String set = switch (random.nextInt(9)) {
                case 0 -> "balance = balance + " + id;
                case 1 -> "note = null, at = null";
                case 2 -> "note = 'it''s, (\"" + id + "\") \\', raw = '\\x0" + (id % 8) + "'";
                case 3 -> "rate = id / 7.0, amount = " + id + ".5";
                case 4 -> "numbers = array[" + id + ", null, 3], mood = 'happy'";
                case 5 -> "id = id + 1000";
                case 6 ->
                    "span = interval '" + id + " months 3 hours', at = timestamptz '2026-02-0" + (1 + id % 8) + "'";
                case 7 -> "(balance, note) = (" + id + ", upper(note))";
                default -> "id = id, balance = 3";
            };
            String returning = random.nextInt(3) == 0 ? " returning id, note, *" : "";
            all.add(switch (random.nextInt(10)) {
                case 8 -> "insert into account (id, balance) select i, i from generate_series(" + id + ", " + (id + 3)
                        + ") i on conflict (id) do "
                        + (random.nextBoolean() ? "nothing" : "update set balance = account.balance + 1") + returning;
                case 9 -> "with x as (select id from account" + condition + ") update account a set " + set
                        + " from x where x.id = a.id";
                case 0 -> "insert into account (id, balance, rate) values (" + (100 * i + id) + ", 1, " + id + " / 3.0)"
                        + returning;
                case 1 -> "insert into child (account, code) select id, 'i" + i + "-' || id from account" + condition;
                case 2 -> "delete from child" + (random.nextBoolean() ? " where account = " + id : "") + " returning *";
                case 3 ->
                    "delete from account where id not in (select account from child where account is not null) and id > "
                            + id + returning;
                case 4 -> "update child set code = code || '" + i + "', account = "
                        + (random.nextBoolean() ? id : "null") + " where id = " + id;
                case 5 -> block ? "savepoint s" + i : "select count(*) from account";
                default -> "update account set " + set + condition + returning;
            });
        }
        if (block) {
            all.add(random.nextInt(6) == 0 ? "rollback" : "commit");
        }
        return all.toArray(String[]::new);
    }
}
