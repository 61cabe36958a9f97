package tutti.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.util.List;
import org.junit.jupiter.api.Test;

class NewestPositionTest {
    private static final HostPort ONE = new HostPort("one", 1);
    private static final HostPort TWO = new HostPort("two", 2);

    @Test
    void isSharedByThoseThatNameTheSameNodes() {
        assertSame(NewestPosition.byAll(List.of(ONE, TWO)), NewestPosition.byAll(List.of(TWO, ONE, ONE)));
        assertNotSame(NewestPosition.byAll(List.of(ONE, TWO)), NewestPosition.byAll(List.of(ONE)));
    }

    @Test
    void growsUnlessTheClusterIsAnother() {
        NewestPosition seen = new NewestPosition();
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
