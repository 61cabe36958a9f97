package tutti.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;

import org.junit.jupiter.api.Test;

class NodeTest {
    private final Node node = Node.at(new HostPort("node", 1));

    @Test
    void whatItHasShownCountsInThatLifeOnly() {
        Node.Life first = node.life("0:1", 5, null, -1);
        first.shows(4);
        assertEquals(5, first.shown());
        assertSame(first, node.life("0:1", 7, first, 5));
        assertEquals(7, first.shown());
        // another session was opened meanwhile, and has shown more
        assertSame(first, node.life("0:1", 6, first, 5));
        // started again, it has not reached that yet
        Node.Life second = node.life("0:2", 3, first, 7);
        assertEquals(3, second.shown());
        assertSame(second, node.life());
        // once more, and it has come further
        Node.Life third = node.life("0:3", 9, second, 3);
        assertNotSame(second, third);
        assertEquals(3, second.shown());
    }

    @Test
    void whatShowsLessThanBeforeIsAnotherNodeWithTheSameName() {
        Node.Life old = node.life("0:9", 50, node.life(), 0);
        Node.Life anew = node.life("0:9", 3, old, 50);
        assertNotSame(old, anew);
        // opened at the same time as the one before
        assertSame(anew, node.life("0:9", 2, old, 50));
        old.shows(60);
        assertEquals(3, anew.shown());
    }
}
