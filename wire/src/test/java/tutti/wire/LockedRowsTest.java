package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.Frontend;
import tutti.wire.InBandFixture.Way;

/** Queries with a locking clause tell the node which rows they lock, and their clients nothing of it. */
class LockedRowsTest extends InBandTables {
    private static final String[] TOLD = {"select * from account where id = 1 for update",
            "SELECT id, note FROM public.account WHERE id IN (1, 3) ORDER BY 2 DESC FOR NO KEY UPDATE",
            "select a.id, c.code from account a join child c on c.account = a.id where a.id < 4 for share of c for key share of a",
            "select a.note is distinct from 'x' as \"from\", extract(hour from a.at) as from from account as a for update",
            "select \"Key\" from \"Odd Name\" \"o\" for update skip locked",
            "select id from account limit 2 for update nowait",
            "select id from account for update limit 2", "select ä.id from account ä order by id for update; ",
            "select a.id from account a left join child c using (id) where a.id = 1 for update of a -- a comment",
            "select id from account a, (select 1 as one) x, generate_series(1, 2) g where a.id = 1 for update of a",
            "select id from watched for update", "select id from guarded for share",
            "select id from part_low for update",
            "select id from leaf where id = (select max(id) from leaf) for update",
            "select writes(id) from account where id = 1 for update",
            "select a.order from (select 1 as \"order\") a, account for update of account"};
    /** Which the server refuses, or does not. */
    private static final String[] WRONG = {"select nothing from account where id = 1 for update",
            "select id from account where nothing = 1 for update", "select id, from account for update",
            "select id from account where ä = 1 for update", "select count(*) from account for update",
            "select generate_series(1, 2) from account for update", "select id from account group by id for update",
            "select id from account for update of child",
            "select c.id from account a left join child c on true for update",
            "select id from account where id = 1 for update where", "select id from account having true for update",
            "select rank() over () from account for update", "select 1 / (id - 1) from account for update"};

    @ParameterizedTest
    @ValueSource(strings = {"select distinct id from account for update", "select id from accounts for update",
            "select id from part for update", "select id from base for update", "select 1 from pg_class for update",
            "select id from nothing for update", "select x.id from account as x (id) for update",
            "select id from (select * from account) x for update", "select id from account union select 1 for update",
            "select id from account, (select 1) x for update", "with a as (select 1) select id from account for update",
            "select id into x from account for update", "select id from account",
            "select id from other.account for update",
            "select id from account; select id from account for update", "select from account for update",
            "update account set note = 'select from account for update'", "select id from only (account) for update"})
    void isNotTold(String sql) {
        assertFalse(fixture.tellsLocks(sql, "alice"), sql);
    }

    @Test
    void whoMayNotReadIsNotAsked() {
        assertTrue(fixture.tellsLocks("select 1 from account for update", "alice"));
        assertFalse(fixture.tellsLocks("select 1 from account for update", "bob"));
        assertFalse(fixture.tellsLocks("select 1 from secret for update", "alice"));
    }

    @Test
    void clientsSeeWhatTheirOwnTextsShow() throws Exception {
        for (String sql : TOLD) {
            assertTrue(fixture.tellsLocks(sql, "alice"), sql);
        }
        for (String[] statements : List.of(TOLD, WRONG)) {
            for (String sql : statements) {
                same(out -> Frontend.query(out, sql));
                same(out -> {
                    Frontend.parse(out, "s", sql);
                    out.writeByte('D').writeInt(4 + 3).writeByte('S').writeByte('s').writeByte(0);
                    Frontend.bind(out, "", "s");
                    Frontend.describePortal(out, "");
                    Frontend.execute(out, "", 1);
                    Frontend.execute(out, "", 0);
                    Frontend.sync(out);
                });
            }
        }
    }

    private static void same(Conversation.Batch batch) throws Exception {
        StringBuilder[] heard = {new StringBuilder(), new StringBuilder()};
        for (int i = 0; i < heard.length; i++) {
            BackendConnection client = fixture.client(i == 0 ? Way.EITHER : Way.TRIGGERS);
            heard[i].append(InBandFixture.hears(client, out -> Frontend.query(out, "begin"), 1))
                    .append(InBandFixture.hears(client, batch, 1))
                    // what comes next must not meet its locks
                    .append(InBandFixture.hears(client, out -> Frontend.query(out, "rollback"), 1));
            client.close();
        }
        assertEquals(heard[1].toString(), heard[0].toString());
    }

    /** Of what the transactions lock that a client makes; each changes something, too. */
    private static List<KeySet> keys(String... statements) throws Exception {
        reset();
        BackendConnection client = fixture.client(Way.EITHER);
        for (String sql : statements) {
            client.execute(sql, InBandFixture.PATIENCE);
        }
        client.close();
        return fixture.node.begun.stream().map(open -> open.writes.keys()).filter(keys -> keys.size() > 0).toList();
    }

    private static long count(KeySet keys, KeyKind kind) {
        return java.util.stream.IntStream.range(0, keys.size()).filter(i -> keys.kind(i) == kind).count();
    }

    private static boolean locks(KeySet keys) {
        return java.util.stream.IntStream.range(0, keys.size()).anyMatch(i -> keys.hash(i) == KeySet.LOCKS);
    }

    /** A temporary view may have a table's name, and a column with the name of what tells a table's rows apart: nobody else is kept from that table's rows. */
    @Test
    void aViewThatPassesForATableLocksNoneOfItsRows() throws Exception {
        String query = "select id from account where id = 1 for update";
        List<KeySet> told = keys("create temporary table scratch (id int)", "insert into scratch values (1)", "begin",
                query, "insert into copied values (17, 1, 'x')", "commit",
                "create temporary view account as select id, "
                        + fixture.engine.catalog().table("public", "account").oid() + "::oid as tableoid from scratch",
                "begin", query, "insert into copied values (18, 1, 'x')", "commit");
        assertTrue(locks(told.getFirst()));
        assertFalse(locks(told.getLast()));
        assertEquals(2, told.size());
    }

    /** To ask for them ends the portal that the client has bound its COMMIT as. */
    @Test
    void aPreparedCommitIsExecutedWhereAdvisoryLocksAreAskedFor() throws Exception {
        reset();
        BackendConnection client = fixture.client(Way.EITHER);
        client.execute("set tutti.advisory_locks = 'cluster'", InBandFixture.PATIENCE);
        Conversation.get(Conversation.send(client, out -> {
            Frontend.parse(out, "change", "update account set balance = balance + 1 where id = 1");
            Frontend.parse(out, "commit", "commit");
            Frontend.sync(out);
        }));
        for (int round = 0; round < 3; round++) {
            client.execute("begin", InBandFixture.PATIENCE);
            for (String name : List.of("change", "commit")) {
                Conversation.get(Conversation.send(client, out -> {
                    Frontend.bind(out, "", name);
                    Frontend.execute(out, "", 0);
                    Frontend.sync(out);
                }));
            }
        }
        client.close();
        assertEquals(3, fixture.node.drainCommitted().size());
        assertEquals(List.of(), List.copyOf(fixture.node.failures));
    }

    @Test
    void whatIsLockedIsCertifiedWithWhatIsChanged() throws Exception {
        String change = "insert into copied values (7, 1, 'x')";
        KeySet plain = keys("begin", change, "commit").getFirst();
        assertFalse(locks(plain));
        // two rows: three exclusive keys each
        KeySet update = keys("begin", "select id from account where id < 3 for update", change, "commit").getFirst();
        assertTrue(locks(update));
        assertEquals(count(plain, KeyKind.EXCLUSIVE) + 6, count(update, KeyKind.EXCLUSIVE));
        // each once, as strong as it is locked most
        KeySet both = keys("begin", "select id from account where id < 3 for share",
                "select id from account where id = 1 for no key update", change, "commit").getFirst();
        assertEquals(1, count(both, KeyKind.UPDATE) - (fixture.node.takesReads ? 0 : 1),
                "the other row is shared, which excludes where no reads are compared");
        assertEquals(List.of(), keys("begin", "select id from account for update", "commit"));
        // by triggers, and by a function that changes something
        assertTrue(locks(keys("begin", "select writes(id) from account where id = 1 for update", "commit").getFirst()));
        assertFalse(locks(keys("begin", "select id from account for update", "rollback", "begin", change, "commit")
                .getFirst()), "of the transaction before");
        assertFalse(locks(keys("select id from account for update", change).getFirst()));
    }

    @Test
    void valuesThatAreWrittenInAnotherWayLockTheWholeTable() throws Exception {
        String change = "insert into copied values (8, 1, 'x')";
        String lock = "select at from dated for update";
        KeySet row = keys("begin", lock, change, "commit").getFirst();
        KeySet whole = keys("begin", "set local datestyle = 'german'", lock, change, "commit").getFirst();
        assertEquals(count(row, KeyKind.EXCLUSIVE) - 2, count(whole, KeyKind.EXCLUSIVE));
    }
}
