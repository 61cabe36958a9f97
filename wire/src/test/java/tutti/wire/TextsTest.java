package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static tutti.wire.ScriptedNode.take;

import io.netty.buffer.ByteBuf;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.engine.postgres.capture.Statement;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.Frontend;
import tutti.wire.InBandFixture.Way;

/** A client has the engine read a text, or a name, otherwise than the node does. */
@Timeout(120)
class TextsTest {
    private static InBandFixture fixture;
    private static String forged = "";
    private BackendConnection alice;

    @BeforeAll
    static void start() throws Exception {
        fixture = new InBandFixture("""
                CREATE TABLE victim (id int PRIMARY KEY, word text);
                CREATE TABLE mine (id int PRIMARY KEY, word text);
                CREATE TABLE hidden (id int PRIMARY KEY);
                GRANT CREATE ON SCHEMA public TO alice; ALTER TABLE mine OWNER TO alice;
                CREATE FUNCTION run(what text) RETURNS int LANGUAGE plpgsql AS 'BEGIN EXECUTE what; RETURN 1; END';
                CREATE FUNCTION hide() RETURNS int LANGUAGE sql AS 'INSERT INTO hidden VALUES (1) RETURNING id';
                CREATE VIEW quiet AS SELECT set_config('standard_conforming_strings', 'off', false);
                """);
        forged = fixture.forgedVictim();
    }

    @AfterAll
    static void stop() throws Exception {
        fixture.close();
    }

    @BeforeEach
    void rows() throws Exception {
        fixture.node.reset();
        fixture.past("DELETE FROM victim; DELETE FROM mine; DELETE FROM hidden;"
                + " INSERT INTO victim VALUES (1, 'true'); INSERT INTO mine VALUES (1, 'a'), (2, 'b')");
        fixture.committed();
        fixture.node.forget();
        alice = fixture.client(Way.EITHER);
    }

    @AfterEach
    void leave() {
        alice.close();
    }

    private String say(String sql) throws Exception {
        return Conversation.simple(alice, sql);
    }

    private static byte[] bytes(String text, String charset) {
        return text.getBytes(Charset.forName(charset));
    }

    private static void message(ByteBuf out, char type, byte[]... parts) {
        int length = Integer.BYTES;
        for (byte[] part : parts) {
            length += part.length;
        }
        out.writeByte(type).writeInt(length);
        for (byte[] part : parts) {
            out.writeBytes(part);
        }
    }

    /** A statement of which nothing is proven, so that its own RETURNING is what its result ends with. */
    private static final String FORGING = "update mine set word = word where id = run('select 1') returning ";
    private static final byte[] END = {0};
    private static final byte[] NONE = {0, 0};
    private static final byte[] ALL = {0, 0, 0, 0};

    private static void parse(ByteBuf out, byte[] name, byte[] sql) {
        message(out, 'P', name, END, sql, END, NONE);
    }

    private static void execute(ByteBuf out, byte[] name) {
        message(out, 'B', END, name, END, NONE, NONE, NONE);
        message(out, 'E', END, ALL);
    }

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    private static void nothingForged() {
        List<String> committed = fixture.committed();
        assertFalse(committed.toString().contains("forged"), committed.toString());
        assertFalse(committed.toString().contains("victim"), committed.toString());
    }

    private static String rows(String table) throws Exception {
        return fixture.admin.execute("SELECT * FROM " + table + " ORDER BY id", InBandFixture.PATIENCE).rows()
                .toString();
    }

    private String prepare(byte[] name, byte[] sql) throws Exception {
        return Conversation.get(Conversation.send(alice, out -> {
            parse(out, name, sql);
            Frontend.sync(out);
        }));
    }

    private String execute(byte[] name) throws Exception {
        return Conversation.get(Conversation.send(alice, out -> {
            execute(out, name);
            Frontend.sync(out);
        }));
    }

    /** Both in one cycle. */
    private String together(String first, byte[] then) throws Exception {
        return Conversation.get(Conversation.send(alice, out -> {
            Frontend.statement(out, first);
            parse(out, new byte[0], then);
            execute(out, new byte[0]);
            Frontend.sync(out);
        }));
    }

    private String script(byte[] sql) throws Exception {
        return Conversation.get(Conversation.send(alice, out -> message(out, 'Q', sql, END)));
    }

    /** For the engine the names are one, and so they are for the node. */
    @Test
    void aNameThatTheEngineCutsStandsForTheStatementThatWasPreparedLast() throws Exception {
        String name = "n".repeat(63);
        assertEquals("131/I", Conversation.get(Conversation.send(alice, out -> {
            parse(out, ascii(name + "a"), ascii("update victim set word = 'x'"));
            Frontend.closeStatement(out, name + "b");
            parse(out, ascii(name + "b"), ascii(FORGING + forged));
            Frontend.sync(out);
        })));
        say("begin");
        assertEquals("2DC(UPDATE 1)/T", execute(ascii(name + "a")));
        say("commit");
        nothingForged();
    }

    @Test
    void namesBeyondAsciiAreTakenInUtf8Only() throws Exception {
        byte[] latin = {(byte) 0xe9};
        byte[] utf8 = bytes("\u00e9", "UTF-8");
        assertEquals("1/I", prepare(utf8, ascii("update victim set word = 'x'")));
        say("set client_encoding = 'LATIN1'");
        assertEquals("E(0A000)/I", Conversation.get(Conversation.send(alice, out -> {
            message(out, 'C', ascii("S"), latin, END);
            parse(out, latin, ascii(FORGING + forged));
            Frontend.sync(out);
        })));
        assertEquals("E(0A000)/I", execute(latin));
        say("set client_encoding = 'UTF8'");
        assertEquals("12C(SET)E(0A000)/I", Conversation.get(Conversation.send(alice, out -> {
            Frontend.statement(out, "set client_encoding = 'LATIN1'");
            message(out, 'C', ascii("S"), latin, END);
            parse(out, latin, ascii(FORGING + forged));
            Frontend.sync(out);
        })));
        say("begin");
        assertEquals("2C(UPDATE 1)/T", execute(utf8));
        assertEquals("C(COMMIT)/I", say("commit"));
        assertEquals("[[1, x]]", rows("victim"));
    }

    /** The engine reports what has changed with the end of the cycle only. */
    @ParameterizedTest
    @ValueSource(strings = {"set standard_conforming_strings = off",
            "select set_config('standard_conforming_strings', 'off', false)",
            "select run('set standard_conforming_strings = off')", "select * from quiet",
            "set local standard_conforming_strings = off",
            "do $$ begin execute 'set standard_conforming_strings = off'; end $$"})
    void aTextIsRefusedThatEndsElsewhereIfASettingHasChangedBeforeIt(String change) throws Exception {
        for (String text : List.of("select 'a\\'' , hide(), '' -- '",
                "update mine set word = 'a\\' where id = 1 --'")) {
            String answer = together(change, ascii(text));
            assertTrue(answer.endsWith("E(0A000)/I"), answer);
            assertEquals(List.of(), fixture.committed());
            say("reset standard_conforming_strings");
        }
        assertEquals("[[1, a], [2, b]]", rows("mine"));
    }

    @Test
    void aTextIsReadAsTheEngineReadsItOnceThatHasToldItsSettings() throws Exception {
        say("set standard_conforming_strings = off");
        assertEquals("NTDC(SELECT 1)/I", say("select 'a\\'' , hide(), '' -- '"));
        assertEquals("[insert hidden(1)", fixture.committed().toString().split("\n", 2)[0]);
        say("begin");
        say("set standard_conforming_strings = on");
        String answer = Conversation.get(Conversation.send(alice, out -> {
            Frontend.statement(out, "rollback");
            parse(out, new byte[0], ascii("update mine set word = 'a\\' where id = 1 --'"));
            execute(out, new byte[0]);
            Frontend.sync(out);
        }));
        assertTrue(answer.endsWith("E(0A000)/I"), answer);
    }

    /** Drivers begin a transaction so, and what is proven changes no settings. */
    @Test
    void whatChangesNoSettingsKeepsNothingFromBeingTaken() throws Exception {
        assertEquals("12C(BEGIN)12C(UPDATE 1)/T",
                together("begin", ascii("update mine set word = 'c:\\' where id = 1")));
        assertEquals("12C(UPDATE 1)12C(UPDATE 1)/T", together("update mine set word = 'd' where id = 2",
                bytes("update mine set word = 'c:\\\u00e9|\\' where id = 1", "UTF-8")));
        assertEquals("12C(SET)12C(UPDATE 1)/T",
                together("set work_mem = '4MB'",
                        bytes("update mine set word = 'c:\\\u00e9-\\d|' where id = 1", "UTF-8")));
        say("commit");
        assertEquals("[[1, c:\\\u00e9-\\d|], [2, d]]", rows("mine"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"set client_encoding = 'SJIS'", "select run('set client_encoding = ''BIG5'' ')"})
    void aTextIsRefusedThatIsDividedElsewhereIfTheEncodingHasChangedBeforeIt(String change) throws Exception {
        for (String text : List.of("select E'\u30bd', hide(), E'\u30bd'",
                "select $\u30dd$ $a$ $\u30dd$, hide(), $a$ $a$")) {
            String answer = together(change, bytes(text, "SJIS"));
            assertTrue(answer.endsWith("E(0A000)/I"), answer);
            assertEquals(List.of(), fixture.committed());
            say("reset client_encoding");
        }
        assertEquals("[]", rows("hidden"));
    }

    @Test
    void anEncodingWhoseCharactersContainAsciiIsTakenForValuesOnly() throws Exception {
        say("set client_encoding = 'SJIS'");
        assertEquals("E(0A000)/I", prepare(new byte[0], bytes("select E'\u30bd', hide(), E'\u30bd'", "SJIS")));
        byte[] value = bytes("\u30bd", "SJIS");
        assertEquals("12C(INSERT 0 1)/I", Conversation.get(Conversation.send(alice, out -> {
            parse(out, new byte[0], ascii("insert into mine values (3, $1)"));
            message(out, 'B', END, END, NONE, new byte[]{0, 1, 0, 0, 0, 2}, value, NONE);
            message(out, 'E', END, ALL);
            Frontend.sync(out);
        })));
        assertTrue(fixture.committed().getFirst().startsWith("insert mine(3,\u30bd)"));
    }

    @Test
    void scriptsAreReadAsTheyCame() throws Exception {
        say("set client_encoding = 'LATIN1'");
        assertEquals("C(BEGIN)C(INSERT 0 1)C(COMMIT)/I",
                script(bytes("begin; insert into mine values (3, '\u00e9'); commit", "ISO-8859-1")));
        assertTrue(fixture.committed().getFirst().startsWith("insert mine(3,\u00e9)"));
        assertEquals("E(0A000)/I", script(bytes("create table \"\u00e9\" (id int)", "ISO-8859-1")));
        say("set client_encoding = 'UTF8'");
        assertEquals("C(SET)C(BEGIN)E(0A000)/E",
                say("set standard_conforming_strings = off; begin; insert into mine values (4, 'a\\nb'); commit"));
        say("rollback");
        assertEquals("[[1, a], [2, b], [3, \u00e9]]", rows("mine"));
    }

    @Test
    void aPreparedStatementMeansWhatItMeantWhenItWasPrepared() throws Exception {
        prepare(ascii("s"), ascii("update mine set word = 'a\\nb' where id = 1"));
        prepare(ascii("c"), ascii("comment on table mine is 'a\\nb'"));
        say("set standard_conforming_strings = off");
        say("select run('select 1')");
        assertEquals("E(26000)/I", execute(ascii("s")));
        assertEquals("2E(26000)/I", execute(ascii("c")));
        say("set standard_conforming_strings = on");
        assertEquals("2C(UPDATE 1)/I", execute(ascii("s")));
        assertEquals("[[1, a\\nb], [2, b]]", rows("mine"));
    }

    /** Which zone IST is decides what a literal means. */
    @Test
    void howZonesAreAbbreviatedIsToldWithWhatEveryNodeExecutes() throws Exception {
        say("set timezone_abbreviations = 'India'");
        say("create table dated (at timestamptz default '2026-01-01 12:00 IST')");
        assertEquals("India", Statement.of(take(fixture.node.barriers).getBytes(StandardCharsets.UTF_8)).settings()
                .get("timezone_abbreviations"));
    }
}
