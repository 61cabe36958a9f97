package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import tutti.pgwire.Frontend;
import tutti.pgwire.Scram;

class RolePasswordsTest {
    private static final Pattern VERIFIER = Pattern.compile("'(SCRAM-SHA-256\\$[^']*)'");
    private static final Map<String, String> USUAL = Map.of("client_encoding", "UTF8");

    private static @Nullable String hashed(Map<String, String> settings, String sql) throws Exception {
        ByteBuf message = Unpooled.buffer();
        Frontend.query(message, sql);
        ByteBuf hashed = new RolePasswords(new TextSettings(settings)).hashed(Frontend.QUERY, message,
                Messages.HEADER, message.readableBytes() - Messages.HEADER);
        if (hashed == null) {
            return null;
        }
        assertEquals(hashed.readableBytes() - 1, hashed.getInt(1));
        return hashed.toString(Messages.HEADER, hashed.readableBytes() - Messages.HEADER - 1, StandardCharsets.UTF_8);
    }

    private static void assertHashed(String sql, String password, String expected) throws Exception {
        assertHashed(USUAL, sql, password, expected);
    }

    private static void assertHashed(Map<String, String> settings, String sql, String password, String expected)
            throws Exception {
        String hashed = hashed(settings, sql);
        assertNotNull(hashed, sql);
        Matcher verifier = VERIFIER.matcher(hashed);
        assertTrue(verifier.find(), hashed);
        Scram.Verifier parsed = Scram.Verifier.parse(verifier.group(1));
        assertEquals(Scram.Verifier.of(password, parsed.salt(), parsed.iterations()).toString(), verifier.group(1));
        assertEquals(expected, verifier.replaceAll("HASH"));
    }

    @Test
    void everyFormOfAPasswordIsHashed() throws Exception {
        assertHashed("alter role a password 'x'", "x", "alter role a password HASH");
        assertHashed("CREATE USER b LOGIN ENCRYPTED PASSWORD 'it''s' VALID UNTIL 'infinity'", "it's",
                "CREATE USER b LOGIN ENCRYPTED PASSWORD HASH VALID UNTIL 'infinity'");
        assertHashed("create group c /* no */ PassWord -- no\n 'größe'", "größe",
                "create group c /* no */ PassWord -- no\n HASH");
        assertHashed("alter user d password $$dollars' $$", "dollars' ", "alter user d password HASH");
        assertHashed("alter user d password $tag$a$$b$tag$", "a$$b", "alter user d password HASH");
        assertHashed("alter user d password E'back\\\\slash\\'s'", "back\\slash's", "alter user d password HASH");
        assertHashed("alter user d password 'back\\slash'", "back\\slash", "alter user d password HASH");
        assertHashed("alter role password password 'x'", "x", "alter role password password HASH");
        assertHashed("select 'password'; alter role a password 'x'; select 1", "x",
                "select 'password'; alter role a password HASH; select 1");
        assertHashed(Map.of("client_encoding", "UTF8", "standard_conforming_strings", "off"),
                "alter role a password 'it\\'s'", "it's", "alter role a password HASH");
        assertHashed(Map.of("client_encoding", "LATIN1"), "alter role a password 'x'", "x",
                "alter role a password HASH");
    }

    @Test
    void everythingElseIsLeftAsItIs() throws Exception {
        String verifier = Scram.Verifier.of("x", new byte[16], 4096).toString();
        for (String sql : List.of("select password from account where word = 'x'", "alter role a password null",
                "alter role a password ''", "alter role a password '" + verifier + "'",
                "alter role a password 'md50123456789abcdef0123456789abcdef'",
                "create user mapping for a server s options (user 'b', password 'c')",
                "create table password (a text default 'x')", "alter role a set search_path = 'password', 'x'",
                "select 1; -- alter role a password 'x'", "password", "w", "")) {
            assertNull(hashed(USUAL, sql), sql);
        }
    }

    @Test
    void whatIsNotUnderstoodIsRefusedAndNotPassedOn() {
        for (String sql : List.of("alter role a password U&'\\0041'", "alter role a password N'x'",
                "alter role a password B'1'", "alter role a password E'\\x41'", "alter role a password 'a'\n'b'",
                "alter role a password 'x", "alter role a password $$x",
                "alter role a password 'x';".repeat(65))) {
            assertThrows(RolePasswords.RefusedException.class, () -> hashed(USUAL, sql), sql);
        }
        assertThrows(RolePasswords.RefusedException.class,
                () -> hashed(Map.of("client_encoding", "LATIN1"), "alter role a password 'größe'"));
    }

    @Test
    void aParseKeepsItsNameAndTypes() throws Exception {
        ByteBuf message = Unpooled.buffer();
        Frontend.parse(message, "named", "alter role a password 'x'");
        ByteBuf hashed = new RolePasswords(new TextSettings(USUAL)).hashed(Frontend.PARSE, message, Messages.HEADER,
                message.readableBytes() - Messages.HEADER);
        assertNotNull(hashed);
        assertEquals(hashed.readableBytes() - 1, hashed.getInt(1));
        String body = hashed.toString(Messages.HEADER, hashed.readableBytes() - Messages.HEADER,
                StandardCharsets.UTF_8);
        assertTrue(body.startsWith("named\0alter role a password 'SCRAM-SHA-256$") && body.endsWith("'\0\0\0"), body);
    }
}
