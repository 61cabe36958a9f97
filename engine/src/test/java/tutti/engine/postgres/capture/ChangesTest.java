package tutti.engine.postgres.capture;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import tutti.engine.postgres.capture.Changes.Change;
import tutti.engine.postgres.capture.Changes.TableName;

class ChangesTest {
    private static final TableName ONE = new TableName("public", "one");
    private static final TableName OTHER = new TableName("späß", "o\"ther");

    private static byte[] row(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static byte[] sample() {
        Statement statement = new Statement("CREATE TABLE ü (id int)", "me", Map.of("search_path", "a, b"));
        return new Changes.Writer(10).add(new Change.Insert(ONE, row("(1,x)")))
                .add(new Change.Delete(OTHER, row("(2)")))
                .add(new Change.Rekey(ONE, row("(1,x)"), row("(2," + "y".repeat(300) + ")")))
                .add(new Change.Truncate(OTHER)).add(new Change.Execute(statement.toBytes()))
                .add(new Change.Update(ONE, row("(2,)"))).add(new Change.Columns(ONE, new byte[]{1}, row("(2,)")))
                .add(new Change.Prepare("gid", "me", "2026-11-23 12:00:00+00", "token", new byte[9], row("kept")))
                .add(new Change.Notify(row("ch"), row("ü"))).toBytes();
    }

    @Test
    void areReadAsTheyWereWritten() {
        List<Change> changes = Changes.read(sample());
        assertEquals(9, changes.size());
        Change.Prepare prepare = (Change.Prepare) changes.get(7);
        assertEquals(List.of("gid", "me", "2026-11-23 12:00:00+00", "token"),
                List.of(prepare.identifier(), prepare.owner(), prepare.since(), prepare.token()));
        assertArrayEquals(row("kept"), prepare.changes());
        Change.Notify told = (Change.Notify) changes.getLast();
        assertArrayEquals(row("ch"), told.channel());
        assertArrayEquals(row("ü"), told.payload());
        Change.Rekey rekey = (Change.Rekey) changes.get(2);
        assertEquals(ONE, rekey.table());
        assertArrayEquals(row("(1,x)"), rekey.before());
        assertEquals(304, rekey.after().length);
        assertEquals(new Change.Truncate(OTHER), changes.get(3));
        Statement statement = Statement.of(((Change.Execute) changes.get(4)).statement());
        assertEquals(new Statement("CREATE TABLE ü (id int)", "me", Map.of("search_path", "a, b")), statement);
        assertEquals(List.of(), Changes.read(new byte[0]));
    }

    /** Bytes that nodes of other releases have written, and what they mean. */
    @Test
    void theFormsOfAllVersionsStayReadable() {
        byte[] first = HexFormat.of()
                .parseHex("0101067075626c6963036f6e6569000528312c782975000428312c296b000428312c290428322c"
                        + "2964000428322c297400");
        List<Change> changes = Changes.read(first);
        assertArrayEquals(row("(1,x)"), ((Change.Insert) changes.get(0)).row());
        assertArrayEquals(row("(1,)"), ((Change.Update) changes.get(1)).row());
        assertArrayEquals(row("(2,)"), ((Change.Rekey) changes.get(2)).after());
        assertArrayEquals(row("(2,)"), ((Change.Delete) changes.get(3)).row());
        assertEquals(new Change.Truncate(ONE), changes.get(4));
        assertArrayEquals(first, written(changes), "what older nodes can read is written for them");
        byte[] second = HexFormat.of()
                .parseHex("0201067075626c6963036f6e65630001050628312c2c782964000528322c2c29");
        List<Change> some = Changes.read(second);
        Change.Columns columns = (Change.Columns) some.getFirst();
        assertEquals(ONE, columns.table());
        assertArrayEquals(new byte[]{5}, columns.columns());
        assertArrayEquals(row("(1,,x)"), columns.row());
        assertArrayEquals(second, written(some));
        byte[] mixed = second.clone();
        mixed[0] = 1;
        assertThrows(IllegalArgumentException.class, () -> Changes.read(mixed), "version 1 has no such entry");
        mixed[0] = 4;
        assertThrows(IllegalArgumentException.class, () -> Changes.read(mixed));
        assertFalse(Changes.touchLargeObjects(second));
        byte[] third = HexFormat.of().parseHex("03006c013702616e036e616e620137013102fffe");
        List<Change> large = Changes.read(third);
        assertEquals(new Change.LargeObject("7", "an", "nan"), large.getFirst());
        assertArrayEquals(new byte[]{-1, -2}, ((Change.LargePages) large.getLast()).pages());
        assertArrayEquals(third, written(large));
        assertTrue(Changes.touchLargeObjects(third));
        for (byte version = 1; version < 3; version++) {
            third[0] = version;
            assertThrows(IllegalArgumentException.class, () -> Changes.read(third), "has no such entry");
        }
    }

    private static byte[] written(List<Change> changes) {
        Changes.Writer writer = new Changes.Writer(64);
        changes.forEach(writer::add);
        return writer.toBytes();
    }

    @Test
    void damageIsNoticedOrHarmlessButNeverAnythingElse() {
        byte[] good = sample();
        Random random = new Random(1);
        int noticed = 0;
        for (int i = 0; i < 20_000; i++) {
            byte[] bad = random.nextInt(4) == 0 ? Arrays.copyOf(good, random.nextInt(good.length)) : good.clone();
            for (int flips = random.nextInt(3); flips >= 0 && bad.length > 0; flips--) {
                bad[random.nextInt(Math.min(bad.length, 80))] = (byte) random.nextInt();
            }
            try {
                for (Change change : Changes.read(bad)) {
                    if (change instanceof Change.Execute(byte[] statement)) {
                        assertTrue(Statement.of(statement).sql().length() < 1000);
                    }
                }
            } catch (IllegalArgumentException _) {
                noticed++;
            }
        }
        assertTrue(noticed > 1000, noticed + " damages noticed");
        assertThrows(IllegalArgumentException.class, () -> Changes.read(new byte[]{9}));
        assertThrows(IllegalArgumentException.class, () -> Statement.of("99999999999:x"));
    }
}
