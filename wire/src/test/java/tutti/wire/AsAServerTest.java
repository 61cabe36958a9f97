package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.pgwire.Backend;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.BackendSettings;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.Fields;
import tutti.pgwire.Frontend;
import tutti.pgwire.ResponseHandler;

/** Conversations as no driver has them, which a bare server and a node answer in the same words. */
@Timeout(60)
class AsAServerTest {
    private static EngineFixture fixture;
    private static InetSocketAddress address;

    private BackendConnection bare;
    private BackendConnection client;

    @BeforeAll
    static void start() throws Exception {
        String schema = "CREATE TABLE item (id int PRIMARY KEY, name text);"
                + " CREATE FUNCTION adds() RETURNS int LANGUAGE sql AS 'INSERT INTO item VALUES (7) RETURNING id';"
                + " CREATE VIEW adding AS SELECT adds()";
        fixture = new EngineFixture(false, schema);
        address = fixture.frontEnd();
        fixture.admin.execute("CREATE DATABASE bare", EngineFixture.PATIENCE);
        BackendConnection other = fixture.connect(fixture.server.settings().inDatabase("bare"));
        other.execute(schema, EngineFixture.PATIENCE);
        other.close();
    }

    @AfterAll
    static void stop() throws Exception {
        fixture.close();
    }

    @BeforeEach
    void connect() throws Exception {
        bare = fixture.connect(fixture.server.settings().inDatabase("bare")
                .withParameters(Map.of("default_transaction_isolation", "repeatable read")));
        client = fixture.connect(address);
    }

    @AfterEach
    void close() throws Exception {
        bare.close();
        client.close();
        BackendConnection other = fixture.connect(fixture.server.settings().inDatabase("bare"));
        other.execute("TRUNCATE item", EngineFixture.PATIENCE);
        other.close();
        other = fixture.connect(address);
        other.execute("TRUNCATE item", EngineFixture.PATIENCE);
        other.close();
    }

    /** What is answered, in words; the last one is the transaction's status, or why the connection has ended. */
    private static final class Words implements ResponseHandler {
        private final List<String> heard = new ArrayList<>();
        final CompletableFuture<List<String>> end = new CompletableFuture<>();

        private static String words(ErrorFields fields) {
            return fields.severity() + " " + fields.sqlState() + " " + fields.message();
        }

        @Override
        public void message(byte type, ByteBuf body) {
            heard.add(switch (type) {
                case Backend.ERROR_RESPONSE, Backend.NOTICE_RESPONSE -> words(ErrorFields.read(body));
                case Backend.COMMAND_COMPLETE -> Fields.cString(body);
                case Backend.DATA_ROW -> Fields.dataRow(body).toString();
                default -> String.valueOf((char) type);
            });
        }

        @Override
        public void ready(byte status) {
            heard.add(String.valueOf((char) status));
            end.complete(heard);
        }

        @Override
        public void lost(Throwable cause) {
            end.complete(heard);
        }
    }

    private static CompletableFuture<List<String>> send(BackendConnection to, int cycles, Conversation.Batch batch) {
        ByteBuf out = to.buffer();
        batch.write(out);
        Words words = new Words();
        to.send(out, cycles, words);
        return words.end;
    }

    private static String said(BackendConnection to, Conversation.Batch batch) throws Exception {
        return String.join("; ", send(to, 1, batch).get(20, TimeUnit.SECONDS));
    }

    private void bothSay(String expected, Conversation.Batch batch) throws Exception {
        assertEquals(expected, said(bare, batch), "bare");
        assertEquals(expected, said(client, batch), "a node");
    }

    private void bothSay(String expected, String query) throws Exception {
        bothSay(expected, out -> Frontend.query(out, query));
    }

    /** A portal's execution, with what it returns. */
    private static void rows(ByteBuf out, String sql) {
        Frontend.parse(out, "", sql);
        Frontend.bind(out, "", "");
        Frontend.describePortal(out, "");
        Frontend.execute(out, "", 0);
    }

    private static void run(ByteBuf out, String portal) {
        Frontend.execute(out, portal, 0);
        Frontend.sync(out);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {"insert into item values (1, 'x')|INSERT 0 1",
            "update item set name = 'y'|UPDATE 0", "delete from item|DELETE 0", "notify heard|NOTIFY"})
    void aPortalThatReturnsNothingIsRunOnce(String sql, String tag) throws Exception {
        String refusal = "ERROR 55000 portal \"p\" cannot be run; ";
        bothSay("1; 2; " + tag + "; " + refusal + "I", out -> {
            Frontend.parse(out, "", sql);
            Frontend.bind(out, "p", "");
            Frontend.execute(out, "p", 0);
            Frontend.execute(out, "p", 2);
            Frontend.sync(out);
        });
        bothSay("T; [0]; SELECT 1; I", "select count(*) from item");
        bothSay("BEGIN; T", "begin");
        bothSay("1; 2; n; " + tag + "; T", out -> {
            Frontend.parse(out, "", sql);
            Frontend.bind(out, "p", "");
            Frontend.describePortal(out, "p");
            run(out, "p");
        });
        bothSay("n; " + refusal + "E", out -> {
            Frontend.describePortal(out, "p");
            run(out, "p");
        });
        bothSay("ROLLBACK; I", "rollback");
    }

    @ParameterizedTest
    @CsvSource({"declare c cursor for select adds(), DECLARE CURSOR",
            "declare c cursor for select * from adding, DECLARE CURSOR",
            "lock table item, LOCK TABLE", "lock table adding, LOCK TABLE"})
    void whatIsForBlocksIsRefusedOutsideAndMayBePreparedThere(String sql, String command) throws Exception {
        Conversation.Batch executed = out -> {
            Frontend.bind(out, "", "s");
            run(out, "");
        };
        bothSay("1; I", out -> {
            Frontend.parse(out, "s", sql);
            Frontend.sync(out);
        });
        bothSay("2; ERROR 25P01 " + command + " can only be used in transaction blocks; I", executed);
        bothSay("ERROR 25P01 " + command + " can only be used in transaction blocks; I", sql);
        bothSay("BEGIN; T", "begin");
        bothSay("2; " + command + "; T", executed);
        if (sql.startsWith("declare")) {
            bothSay("T; [7]; FETCH 1; T", "fetch 1 from c");
            bothSay("COMMIT; I", "commit");
            bothSay("T; [1]; SELECT 1; I", "select count(*) from item");
        } else {
            bothSay("COMMIT; I", "commit");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"commit", "rollback"})
    void behindTheEndOfATransactionInItsCycleACursorIsInNoBlock(String end) throws Exception {
        bothSay("1; 2; INSERT 0 1; 1; 2; WARNING 25P01 there is no transaction in progress; "
                + end.toUpperCase(Locale.ROOT)
                + "; 1; 2; ERROR 25P01 DECLARE CURSOR can only be used in transaction blocks; I", out -> {
                    Frontend.statement(out, "insert into item values (1, 'x')");
                    Frontend.statement(out, end);
                    Frontend.statement(out, "declare c cursor for select 7");
                    Frontend.sync(out);
                });
        bothSay("T; [" + (end.equals("commit") ? 1 : 0) + "]; SELECT 1; I", "select count(*) from item");
        bothSay("1; 2; BEGIN; 1; 2; DECLARE CURSOR; T", out -> {
            Frontend.statement(out, "begin");
            Frontend.statement(out, "declare c cursor for select 7");
            Frontend.sync(out);
        });
        bothSay("ROLLBACK; I", "rollback");
    }

    @Test
    void behindAnotherStatementOfItsCycleACursorIsInABlock() throws Exception {
        bothSay("1; 2; T; [1]; SELECT 1; 1; 2; DECLARE CURSOR; 1; 2; T; [7]; FETCH 1; I", out -> {
            rows(out, "select 1");
            Frontend.statement(out, "declare c cursor for select adds()");
            rows(out, "fetch 1 from c");
            Frontend.sync(out);
        });
        bothSay("T; [1]; SELECT 1; I", "select count(*) from item");
    }

    /** Whether the block has begun in the engine is not known yet. */
    @Test
    void aNotificationBehindItsBeginIsOfTheBlock() throws Exception {
        bothSay("1; 2; BEGIN; 1; 2; NOTIFY; T", out -> {
            Frontend.statement(out, "begin");
            Frontend.statement(out, "notify heard");
            Frontend.sync(out);
        });
        bothSay("ROLLBACK; I", "rollback");
        bothSay("1; 2; BEGIN; 1; 2; COMMIT; 1; 2; NOTIFY; I", out -> {
            Frontend.statement(out, "begin");
            Frontend.statement(out, "commit");
            Frontend.statement(out, "notify heard");
            Frontend.sync(out);
        });
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {"create table made (a int)|CREATE TABLE", "create role somebody|CREATE ROLE",
            "create database shop|CREATE DATABASE", "drop table item; create table made (a int)|DROP TABLE",
            "comment on table item is 'x'|COMMENT"})
    void aSessionThatReadsOnlyChangesNoSchema(String sql, String command) throws Exception {
        bothSay("SET; I", "set default_transaction_read_only = on");
        bothSay("ERROR 25006 cannot execute " + command + " in a read-only transaction; I", sql);
        if (!sql.contains(";")) {
            bothSay("1; 2; ERROR 25006 cannot execute " + command + " in a read-only transaction; I", out -> {
                Frontend.statement(out, sql);
                Frontend.sync(out);
            });
        }
        bothSay("T; [0]; SELECT 1; I", "select count(*) from item");
    }

    @Test
    void settingsAreReadThatAreNotReplicated() throws Exception {
        EngineCapture capture = fixture.capture();
        bare.execute("set client_min_messages = error; set default_transaction_read_only = on", EngineFixture.PATIENCE);
        List<@Nullable String> row = bare.statement(capture.calls().settings(), "{}").get(20, TimeUnit.SECONDS).rows()
                .getFirst();
        assertEquals("error", capture.leastTold(row));
        assertTrue(capture.readsOnly(row));
        assertFalse(capture.readsOnly(client.statement(capture.calls().settings(), "{}").get(20, TimeUnit.SECONDS)
                .rows().getFirst()));
    }

    @Test
    void anUnnamedPortalEndsWithItsTransaction() throws Exception {
        String gone = "ERROR 34000 portal \"\" does not exist; ";
        bothSay("1; 2; INSERT 0 1; I", out -> {
            Frontend.statement(out, "insert into item values (1, 'x')");
            Frontend.sync(out);
        });
        bothSay(gone + "I", out -> run(out, ""));
        bothSay("BEGIN; T", "begin");
        bothSay("1; 2; INSERT 0 1; 1; 2; COMMIT; " + gone + "I", out -> {
            Frontend.statement(out, "insert into item values (2, 'x')");
            Frontend.parse(out, "", "commit");
            Frontend.bind(out, "c", "");
            Frontend.execute(out, "c", 0);
            run(out, "");
        });
    }

    /** The engine has skipped the Execute. */
    @Test
    void aPortalCanBeRunThatWasNotForAnErrorBeforeIt() throws Exception {
        bothSay("BEGIN; T", "begin");
        bothSay("1; 2; T", out -> {
            Frontend.parse(out, "insert", "insert into item values (1, 'x')");
            Frontend.bind(out, "p", "insert");
            Frontend.sync(out);
        });
        bothSay("SAVEPOINT; T", "savepoint s");
        bothSay("ERROR 42601 syntax error at or near \"nonsense\"; E", out -> {
            Frontend.parse(out, "", "nonsense");
            run(out, "p");
        });
        bothSay("ROLLBACK; T", "rollback to s");
        bothSay("INSERT 0 1; T", out -> run(out, "p"));
        bothSay("COMMIT; I", "commit");
        bothSay("T; [1]; SELECT 1; I", "select count(*) from item");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {"begin|BEGIN; T", "select 1|T; [1]; SELECT 1; I",
            "insert into item values (1, 'x')|INSERT 0 1; I", "notify heard|NOTIFY; I",
            "insert into item values (2, 'x'); notify heard|INSERT 0 1; NOTIFY; I",
            "nonsense|ERROR 42601 syntax error at or near \"nonsense\"; I", "begin; notify heard|BEGIN; NOTIFY; T"})
    void aSimpleQueryEndsTheUnnamedStatement(String query, String answer) throws Exception {
        for (String end : List.of("bind", "describe")) {
            bothSay("1; I", out -> {
                Frontend.parse(out, "", "select 1");
                Frontend.sync(out);
            });
            bothSay(answer, query);
            bothSay("ERROR 26000 unnamed prepared statement does not exist; " + (answer.endsWith("T") ? "E" : "I"),
                    out -> {
                        if (end.equals("bind")) {
                            Frontend.bind(out, "", "");
                        } else {
                            Frontend.describeStatement(out, "");
                        }
                        Frontend.sync(out);
                    });
            said(bare, out -> Frontend.query(out, "rollback; truncate item"));
            said(client, out -> Frontend.query(out, "rollback; truncate item"));
        }
    }

    /** A BEGIN that comes with what follows goes to the engine together with it. */
    @Test
    void aQueryThatGoesWithWhatFollowsEndsTheUnnamedStatement() throws Exception {
        Conversation.Batch parse = out -> {
            Frontend.parse(out, "", "select 1");
            Frontend.sync(out);
        };
        bothSay("1; I", parse);
        for (BackendConnection each : List.of(bare, client)) {
            assertEquals(List.of("BEGIN", "ERROR 26000 unnamed prepared statement does not exist", "E"),
                    send(each, 2, out -> {
                        Frontend.query(out, "BEGIN");
                        Frontend.bind(out, "", "");
                        Frontend.sync(out);
                    }).get(20, TimeUnit.SECONDS));
        }
        bothSay("1; E", out -> {
            Frontend.parse(out, "", "rollback");
            Frontend.sync(out);
        });
        bothSay("2; ROLLBACK; I", out -> {
            Frontend.bind(out, "", "");
            run(out, "");
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"select 1/0", "insert into item values (1, 'x'), (1, 'x')",
            "insert into nowhere values (1)"})
    void aCycleThatFailsLeavesTheUnnamedStatement(String fails) throws Exception {
        bothSay("1; I", out -> {
            Frontend.parse(out, "", "select 7");
            Frontend.sync(out);
        });
        assertEquals(failing(bare, fails), failing(client, fails));
        bothSay("2; T; [7]; SELECT 1; I", out -> {
            Frontend.bind(out, "", "");
            Frontend.describePortal(out, "");
            run(out, "");
        });
    }

    private static String failing(BackendConnection connection, String sql) throws Exception {
        return said(connection, out -> {
            Frontend.parse(out, "own", "insert into item values (5, 'five')");
            Frontend.bind(out, "", "own");
            Frontend.execute(out, "", 0);
            Frontend.parse(out, "other", sql);
            Frontend.bind(out, "", "other");
            run(out, "");
        });
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {"create table made (a int)|CREATE TABLE", "drop table item|DROP TABLE",
            "alter table item add column a int|ALTER TABLE", "comment on table item is 'x'|COMMENT",
            "create table made as select 1 as a|CREATE TABLE AS", "grant select on item to public|GRANT"})
    void aTransactionThatReadsOnlyRefusesToChangeTheSchema(String sql, String command) throws Exception {
        String refusal = "ERROR 25006 cannot execute " + command + " in a read-only transaction; E";
        bothSay("BEGIN; T", "begin read only");
        bothSay(refusal, sql);
        bothSay("ROLLBACK; I", "rollback");
        bothSay("BEGIN; SET; T", "begin; set transaction read only");
        bothSay("1; 2; " + refusal, out -> {
            Frontend.parse(out, "", sql);
            Frontend.bind(out, "", "");
            run(out, "");
        });
        bothSay("ROLLBACK; I", "rollback");
    }

    /** The one does not hear more of its pipeline than the other. */
    @Test
    void whoBreaksOffCopyHearsOfThatAndOfTheEnd() throws Exception {
        String lost = "FATAL 08P01 terminating connection because protocol synchronization was lost";
        bothSay("G; ERROR 08P01 unexpected message type 0x51 during COPY from stdin; " + lost, out -> {
            Frontend.query(out, "copy item from stdin");
            Frontend.copyData(out, Unpooled.copiedBuffer("1\tx\n", StandardCharsets.UTF_8));
            Frontend.query(out, "select 1");
        });
        close();
        connect();
        bothSay("G; ERROR 08P01 unexpected message type 0x50 during COPY from stdin; " + lost, out -> {
            Frontend.query(out, "copy item from stdin");
            Frontend.sync(out);
            Frontend.flush(out);
            Frontend.parse(out, "", "select 1");
        });
        close();
        connect();
        bothSay("1; 2; T; [1]; SELECT 1; 1; 2; INSERT 0 1; 1; 2; G; ERROR 08P01 unexpected message type 0x50 during"
                + " COPY from stdin; " + lost, out -> {
                    rows(out, "select 1");
                    Frontend.statement(out, "insert into item values (1, 'x')");
                    Frontend.statement(out, "copy item from stdin");
                    Frontend.statement(out, "select 1");
                });
        close();
        connect();
        bothSay("T; [0]; SELECT 1; I", "select count(*) from item");
    }

    @Test
    void aSyncBetweenAQueryAndItsDataIsIgnored() throws Exception {
        bothSay("G; COPY 2; I", out -> {
            Frontend.query(out, "copy item from stdin");
            Frontend.sync(out);
            Frontend.copyData(out, Unpooled.copiedBuffer("1\tx\n", StandardCharsets.UTF_8));
            Frontend.flush(out);
            Frontend.sync(out);
            Frontend.copyData(out, Unpooled.copiedBuffer("2\tx\n", StandardCharsets.UTF_8));
            Frontend.copyDone(out);
        });
        bothSay("T; [2]; SELECT 1; I", "select count(*) from item");
    }

    /** A client need not wait for the answer that asks for its data. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
            "notify heard; copy item from stdin; select 1|NOTIFY; G; COPY 1; T; [1]; SELECT 1; I",
            "copy item from stdin; notify heard|G; COPY 1; NOTIFY; I",
            "notify heard; select 1/0; copy item from stdin|NOTIFY; ERROR 22012 division by zero; I",
            "notify heard; copy nowhere from stdin|NOTIFY; ERROR 42P01 relation \"nowhere\" does not exist; I"})
    void dataBehindAQueryIsForItsCopy(String sql, String answer) throws Exception {
        bothSay(answer, out -> {
            Frontend.query(out, sql);
            Frontend.copyData(out, Unpooled.copiedBuffer("1\tx\n", StandardCharsets.UTF_8));
            Frontend.copyDone(out);
        });
        bothSay("T; [" + (answer.contains("COPY 1") ? 1 : 0) + "]; SELECT 1; I", "select count(*) from item");
    }

    @Test
    void formatsAreCountedAsTheClientKnowsTheColumns() throws Exception {
        bothSay("1; ERROR 08P01 bind message has 2 result formats but query has 1 columns; I", out -> {
            Frontend.parse(out, "", "insert into item values (1, 'x') returning id");
            ByteBuf body = Unpooled.buffer().writeZero(2).writeShort(0).writeShort(0).writeShort(2).writeShort(0)
                    .writeShort(1);
            out.writeByte(Frontend.BIND).writeInt(Integer.BYTES + body.readableBytes()).writeBytes(body);
            Frontend.sync(out);
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"commit", "rollback"})
    void whoEndsABlockWhereThereIsNoneIsWarned(String end) throws Exception {
        bothSay("1; 2; INSERT 0 1; 1; 2; WARNING 25P01 there is no transaction in progress; "
                + end.toUpperCase(Locale.ROOT)
                + "; 1; 2; T; [" + (end.equals("commit") ? 1 : 0) + "]; SELECT 1; I", out -> {
                    Frontend.statement(out, "insert into item values (1, 'x')");
                    Frontend.statement(out, end);
                    rows(out, "select count(*) from item");
                    Frontend.sync(out);
                });
        bothSay("1; 2; INSERT 0 1; 1; 2; ERROR 25P01 " + end.toUpperCase(Locale.ROOT)
                + " AND CHAIN can only be used in transaction blocks; I", out -> {
                    Frontend.statement(out, "insert into item values (2, 'x')");
                    Frontend.statement(out, end + " and chain");
                    Frontend.sync(out);
                });
        bothSay("BEGIN; T", "begin");
        bothSay("1; 2; INSERT 0 1; 1; 2; " + end.toUpperCase(Locale.ROOT) + "; I", out -> {
            Frontend.statement(out, "insert into item values (3, 'x')");
            Frontend.statement(out, end);
            Frontend.sync(out);
        });
    }

    @Test
    void aBlockThatCannotBeginBehindAStatementIsNone() throws Exception {
        bothSay("INSERT 0 1; ERROR 25001 SET TRANSACTION ISOLATION LEVEL must be called before any query; I",
                "insert into item values (1, 'x'); begin isolation level read committed; select 1");
        bothSay("T; [0]; SELECT 1; ERROR 25001 SET TRANSACTION ISOLATION LEVEL must be called before any query; I",
                "select count(*) from item; begin isolation level read committed; select 1");
        bothSay("T; [0]; SELECT 1; BEGIN; T; [0]; SELECT 1; T",
                "select count(*) from item; begin; select count(*) from item");
        bothSay("ROLLBACK; I", "rollback");
        bothSay("INSERT 0 1; BEGIN; INSERT 0 1; T",
                "insert into item values (1, 'x'); begin; insert into item values (2, 'x')");
        bothSay("ROLLBACK; I", "rollback");
        bothSay("T; [0]; SELECT 1; I", "select count(*) from item");
    }

    @Test
    void constraintsAreSetForThePipeline() throws Exception {
        bothSay("1; 2; WARNING 25P01 SET CONSTRAINTS can only be used in transaction blocks; SET CONSTRAINTS; 1; 2;"
                + " INSERT 0 1; I", out -> {
                    Frontend.statement(out, "set constraints all immediate");
                    Frontend.statement(out, "insert into item values (1, 'x')");
                    Frontend.sync(out);
                });
        bothSay("1; 2; T; [1]; SELECT 1; 1; 2; SET CONSTRAINTS; 1; 2; INSERT 0 1; I", out -> {
            rows(out, "select count(*) from item");
            Frontend.statement(out, "set constraints all immediate");
            Frontend.statement(out, "insert into item values (2, 'x')");
            Frontend.sync(out);
        });
        bothSay("1; 2; WARNING 25P01 SET CONSTRAINTS can only be used in transaction blocks; SET CONSTRAINTS; I",
                out -> {
                    Frontend.statement(out, "set constraints all deferred");
                    Frontend.sync(out);
                });
    }

    /** That is not what is hidden when the node's own transaction becomes a block. */
    @Test
    void aWarningComesThoughABlockBeginsBehindIt() throws Exception {
        bothSay("1; 2; WARNING 25P01 there is no transaction in progress; COMMIT; 1; 2; INSERT 0 1; 1; 2; BEGIN; T",
                out -> {
                    Frontend.statement(out, "commit");
                    Frontend.statement(out, "insert into item values (1, 'x')");
                    Frontend.statement(out, "begin");
                    Frontend.sync(out);
                });
        bothSay("WARNING 25001 there is already a transaction in progress; BEGIN; T", "begin");
        bothSay("ROLLBACK; I", "rollback");
    }

    /** Such as that a name is too long, or of a database whose locale has changed. */
    @Test
    void whatIsToldAtTheBeginningIsTold() throws Exception {
        for (BackendSettings settings : List.of(fixture.server.settings(), at(address))) {
            BackendConnection named = fixture
                    .connect(settings.withParameters(Map.of("application_name", "a".repeat(70))));
            assertEquals(List.of("NOTICE 42622 identifier \"" + "a".repeat(70) + "\" will be truncated to \""
                    + "a".repeat(63) + "\""), named.startNotices().stream().map(Words::words).toList());
            named.close();
        }
        assertEquals(List.of(), client.startNotices());
    }

    private static BackendSettings at(InetSocketAddress address) {
        BackendSettings settings = fixture.server.settings();
        return BackendSettings.of(address, settings.user(), settings.database(), settings.credentials());
    }
}
