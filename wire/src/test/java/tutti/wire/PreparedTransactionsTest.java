package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static tutti.wire.Conversation.extended;
import static tutti.wire.Conversation.simple;

import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tutti.core.txn.AbortReason;
import tutti.core.txn.KeySet;
import tutti.engine.postgres.capture.Promise;
import tutti.pgwire.BackendConnection;

/** PREPARE TRANSACTION, and how what is prepared ends, message by message. */
@Timeout(60)
class PreparedTransactionsTest extends OnFrontEnd {
    private BackendConnection client;

    @BeforeEach
    void connect() throws Exception {
        fixture.capture.promised.clear();
        client = fixture.client();
    }

    @AfterEach
    void disconnect() {
        client.close();
    }

    private static String asked() throws Exception {
        String last = "";
        for (ScriptedNode.Open begun = ScriptedNode.take(fixture.node.begun); begun != null; begun = fixture.node.begun
                .poll()) {
            last = new String(begun.writes.changes(), StandardCharsets.UTF_8);
        }
        return last;
    }

    /** The engine has rolled it back, which is how the node comes to keep it as others do. */
    private static void assertKept(String changes) throws Exception {
        assertEquals(changes, asked());
        assertEquals("25001", ScriptedNode.take(fixture.node.failures));
        assertTrue(fixture.node.committed.isEmpty());
        assertEquals("null", fixture.accounts());
    }

    @Test
    void whatIsPreparedIsOrderedAndRolledBackHere() throws Exception {
        simple(client, "begin");
        simple(client, "insert into account values (1, 10)");
        assertEquals("C(PREPARE TRANSACTION)/I", simple(client, "prepare transaction 'o''ne'"));
        assertKept("alice prepares o'ne: INSERT account (1,10,);");
        assertEquals("TDC(SELECT 1)/I", simple(client, "select 1"));
    }

    @Test
    void itIsPreparedByTheExtendedProtocol() throws Exception {
        assertEquals("12C(BEGIN)12C(INSERT 0 1)12C(PREPARE TRANSACTION)12DC(SELECT 1)/I",
                extended(client, "begin", "insert into account values (1, 10)", "prepare transaction 'two'",
                        "select 1"));
        assertKept("alice prepares two: INSERT account (1,10,);");
    }

    @Test
    void itIsPreparedByOneQueryOfSeveralStatements() throws Exception {
        assertEquals("C(BEGIN)C(INSERT 0 1)C(PREPARE TRANSACTION)/I",
                simple(client, "begin; insert into account values (1, 10); prepare transaction 'three'"));
        assertKept("alice prepares three: INSERT account (1,10,);");
        assertEquals("C(BEGIN)C(SET)E(0A000)/E",
                simple(client, "begin; set work_mem = '1MB'; prepare transaction 'four'"));
        assertEquals("C(ROLLBACK)/I", simple(client, "rollback"));
    }

    @Test
    void aTransactionThatHasChangedNothingIsKeptAllTheSame() throws Exception {
        simple(client, "begin");
        simple(client, "select 1");
        assertEquals("C(PREPARE TRANSACTION)/I", simple(client, "prepare transaction 'nothing'"));
        assertKept("alice prepares nothing: ");
    }

    @Test
    void withoutATransactionOrInAFailedOneItIsAsInPostgresql() throws Exception {
        assertEquals("NC(ROLLBACK)/I", simple(client, "prepare transaction 'none'"));
        assertEquals("12NC(ROLLBACK)/I", extended(client, "prepare transaction 'none'"));
        simple(client, "begin");
        assertEquals("E(22012)/E", simple(client, "select 1 / 0"));
        assertEquals("C(ROLLBACK)/I", simple(client, "prepare transaction 'failed'"));
        simple(client, "begin");
        assertEquals("E(42710)/I", simple(client, "prepare transaction 'used'"));
        assertTrue(fixture.node.failures.isEmpty());
    }

    @Test
    void whatCannotBeKeptIsRefused() throws Exception {
        for (String sets : new String[]{"set work_mem = '1MB'", "reset work_mem", "listen something"}) {
            simple(client, "begin");
            simple(client, sets);
            assertEquals("E(0A000)/E", simple(client, "prepare transaction 'sets'"), sets);
            assertEquals("C(ROLLBACK)/I", simple(client, "rollback"));
        }
        simple(client, "begin");
        simple(client, "set local work_mem = '1MB'");
        assertEquals("C(PREPARE TRANSACTION)/I", simple(client, "prepare transaction 'local'"));
        fixture.node.promises = false;
        simple(client, "begin");
        assertEquals("E(0A000)/E", simple(client, "prepare transaction 'elsewhere'"));
        assertEquals("C(ROLLBACK)/I", simple(client, "rollback"));
        assertEquals("E(0A000)/I", simple(client, "prepare transaction U&'x' uescape '!'"));
    }

    @Test
    void oneThatHasLostIsNotPrepared() throws Exception {
        fixture.node.abort = new AbortReason.Promised(0, "other");
        simple(client, "begin");
        simple(client, "insert into account values (1, 10)");
        assertEquals("E(40001)/I", simple(client, "prepare transaction 'late'"));
        assertEquals("null", fixture.accounts());
    }

    @Test
    void itsEndIsExecutedByEveryNode() throws Exception {
        fixture.capture.promised.put("known", new Promise("known", "token", KeySet.EMPTY));
        assertEquals("C(COMMENT)/I", simple(client, "commit prepared 'known'"));
        assertEquals("alice: COMMENT ON TABLE plain IS 'token true'", ScriptedNode.take(fixture.node.barriers));
        assertEquals("12C(COMMENT)12DC(SELECT 1)/I", extended(client, "rollback prepared 'known'", "select 1"));
        assertEquals("alice: COMMENT ON TABLE plain IS 'token false'", ScriptedNode.take(fixture.node.barriers));
        assertEquals("E(42704)/I", simple(client, "commit prepared 'unknown'"));
        // what another node has prepared just now is waited for
        fixture.node.awaited = () -> fixture.capture.promised.put("new", new Promise("new", "token", KeySet.EMPTY));
        assertEquals("C(COMMENT)/I", simple(client, "commit prepared 'new'"));
    }

    @Test
    void itDoesNotEndInATransactionBlockOrWithOtherStatements() throws Exception {
        simple(client, "begin");
        assertEquals("E(25001)/E", simple(client, "commit prepared 'known'"));
        simple(client, "rollback");
        simple(client, "begin");
        assertEquals("12E(25001)/E", extended(client, "rollback prepared 'known'"));
        simple(client, "rollback");
        assertEquals("TDC(SELECT 1)E(25001)/I", simple(client, "select 1; rollback prepared 'known'"));
        assertTrue(fixture.node.barriers.isEmpty());
    }
}
