package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

/** What sessions keep of prepared statements has a bound, each session's and that of all. */
class KeptBytesTest {
    private final KeptBytes.Shared all = new KeptBytes.Shared(400, 4);
    private final KeptBytes room = new KeptBytes(all);
    private final NamedObjects<String> names = new NamedObjects<>(room);

    private static ByteBuf name(String text) {
        return Unpooled.copiedBuffer(text, StandardCharsets.UTF_8);
    }

    private boolean put(String name, String value, long bytes) {
        return names.put(name(name), 0, name.length(), value, bytes);
    }

    private String get(String name) {
        return String.valueOf(names.get(name(name), 0, name.length()));
    }

    @Test
    void aSessionHasAFourth() {
        assertTrue(put("a", "first", 59));
        assertFalse(put("b", "second", 40));
        assertEquals("null", get("b"));
        assertTrue(put("b", "second", 39));
        assertEquals(100, all.kept());
        assertFalse(put("a", "larger", 60));
        assertEquals("first", get("a"), "what does not fit leaves what was there");
        assertTrue(put("a", "smaller", 9));
        assertTrue(put("", "unnamed", 50));
        assertFalse(put("", "larger", 51));
        assertEquals("unnamed", get(""));
    }

    @Test
    void allSessionsTogetherHaveABound() {
        for (int i = 0; i < 4; i++) {
            assertTrue(new KeptBytes(all).take(99));
        }
        assertFalse(room.take(5));
        assertTrue(room.take(4));
    }

    @Test
    void whatIsForgottenMakesRoom() {
        assertTrue(put("a", "first", 99));
        names.remove(name("a"), 0, 1);
        assertEquals(0, all.kept());
        assertTrue(put("b", "second", 99));
        room.close();
        assertEquals(0, all.kept());
        names.remove(name("b"), 0, 1);
        assertEquals(0, all.kept());
    }

    @Test
    void whatIsUndoneIsCountedAsBefore() {
        assertTrue(put("a", "first", 9));
        Runnable undo = names.before(name("a"), 0, 1);
        Runnable undoNew = names.before(name("b"), 0, 1);
        Runnable undoUnnamed = names.before(name(""), 0, 0);
        assertTrue(put("a", "second", 49));
        assertTrue(put("b", "new", 9));
        assertTrue(put("", "unnamed", 20));
        assertEquals(80, all.kept());
        undo.run();
        undoNew.run();
        undoUnnamed.run();
        assertEquals(10, all.kept());
        assertEquals("first", get("a"));
        assertEquals("null", get("b"));
        assertNull(names.get(name(""), 0, 0));
    }
}
