package tutti.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class NodeTest {
    @Test
    void whatItHasShownCountsInThatLifeOnly() {
        Node node = Node.at(new HostPort("node", 1));
        assertEquals(-1, node.shown("0:1"));
        node.shows("0:1", 5);
        node.shows("0:1", 4);
        assertEquals(5, node.shown("0:1"));
        assertEquals(-1, node.shown("0:2"));
        // started again, it has not reached that yet
        node.shows("0:2", 3);
        assertEquals(3, node.shown("0:2"));
        assertEquals(-1, node.shown("0:1"));
    }
}
