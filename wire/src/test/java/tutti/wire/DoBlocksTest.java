package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.pgwire.Frontend;

class DoBlocksTest {
    private static String rewritten(String sql) throws RolePasswords.RefusedException {
        TextSettings texts = new TextSettings(java.util.Map.of("client_encoding", "UTF8"));
        byte[] text = (sql + "\0").getBytes(StandardCharsets.UTF_8);
        ByteBuf made = new DoBlocks(texts, new RolePasswords(texts)).rewritten(Frontend.QUERY,
                Unpooled.wrappedBuffer(text), 0,
                text.length);
        return made == null
                ? sql
                : made.toString(Messages.HEADER, made.readableBytes() - Messages.HEADER - 1, StandardCharsets.UTF_8);
    }

    @Test
    void statementsThatNobodyTellsOfBecomeCalls() throws Exception {
        assertEquals("DO $$ BEGIN PERFORM pg_catalog.pg_notify('chan', ''); END $$",
                rewritten("DO $$ BEGIN NOTIFY Chan; END $$"));
        assertEquals(
                "select 1; do $a$ BEGIN <<x>> PERFORM pg_catalog.pg_notify('A\"b', 'it''s; NOTIFY y;'); END $a$; select 2",
                rewritten("select 1; do $a$ BEGIN <<x>> NOTIFY \"A\"\"b\" , 'it''s; NOTIFY y;' ; END $a$; select 2"));
        assertEquals("DO $$ BEGIN IF a THEN PERFORM tutti.execute_shared('CREATE ROLE x COMMENT ''y'''); END IF;"
                + "PERFORM tutti.execute_shared('GRANT a TO b'); GRANT SELECT ON t TO b; END $$ LANGUAGE plpgsql",
                rewritten("DO $$ BEGIN IF a THEN CREATE ROLE x COMMENT 'y'; END IF;"
                        + "GRANT a TO b; GRANT SELECT ON t TO b; END $$ LANGUAGE plpgsql"));
        String hashed = rewritten("DO $$BEGIN CREATE USER x PASSWORD 'secret'; END$$");
        assertTrue(hashed.startsWith("DO $$BEGIN PERFORM tutti.execute_shared('CREATE USER x PASSWORD ''SCRAM-SHA-256"),
                hashed);
    }

    @ParameterizedTest
    @ValueSource(strings = {"SELECT 'DO $$ BEGIN NOTIFY x; END $$'", "DO LANGUAGE plperl $$ BEGIN NOTIFY x; END $$",
            "DO $$ BEGIN notify := 1; PERFORM CASE WHEN a THEN notify END; /* NOTIFY x; */ END $$",
            "DO $$ BEGIN CREATE TABLE role (a int); CREATE USER MAPPING FOR a SERVER b; END $$", "DO $$ BEGIN NOTIFY x",
            "INSERT INTO t VALUES ($1) ON CONFLICT DO NOTHING", "CREATE FUNCTION f() AS $$ NOTIFY x; $$"})
    void othersStayAsTheyAre(String sql) throws Exception {
        assertEquals(sql, rewritten(sql));
    }

    @ParameterizedTest
    @ValueSource(strings = {"DO 'BEGIN NOTIFY x; END'", "DO $$ BEGIN EXECUTE 'NOTIFY ' || x; END $$",
            "DO $$ BEGIN EXECUTE format('notify %I', x); END $$"})
    void whatIsNotUnderstoodIsRefused(String sql) {
        assertThrows(RolePasswords.RefusedException.class, () -> rewritten(sql));
    }
}
