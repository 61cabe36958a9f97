package tutti.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.util.List;
import org.junit.jupiter.api.Test;

class SeenTest {
    private static final HostPort ONE = new HostPort("one", 1);
    private static final HostPort TWO = new HostPort("two", 2);

    @Test
    void isSharedByThoseThatNameTheSameNodes() {
        assertSame(Seen.byAll(List.of(ONE, TWO)), Seen.byAll(List.of(TWO, ONE, ONE)));
        assertNotSame(Seen.byAll(List.of(ONE, TWO)), Seen.byAll(List.of(ONE)));
    }

    @Test
    void growsUnlessTheClusterIsAnother() {
        Seen seen = new Seen();
        assertEquals(-1, seen.position());
        seen.saw(10);
        seen.saw(7);
        seen.saw(-1);
        assertEquals(10, seen.position());
        seen.another(10, 3);
        assertEquals(3, seen.position());
        seen.saw(12);
        // somebody else has noticed it meanwhile
        seen.another(10, 3);
        assertEquals(12, seen.position());
    }
}
