package tutti.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.core.protocol.ChosenProtocol;
import tutti.core.protocol.Protocols;

/** A node that was configured otherwise than its cluster stops, and no other one does. */
class OtherProtocolsTest extends ReplicaTrio {
    private static final ChosenProtocol OTHER_WINDOW = Protocols.STANDARD.choose("si",
            Map.of("window", "999", "progress-interval", "5ms"));

    private ChosenProtocol ofNode2 = OTHER_WINDOW;

    @Override
    ChosenProtocol chosen(String protocol, int node) {
        return node == 2 ? ofNode2 : super.chosen(protocol, node);
    }

    private void stops(int node) {
        End end = end(node);
        assertInstanceOf(ReplicaNode.OtherProtocolException.class, end.cause(), end::toString);
        assertFalse(end.restartable());
        nodes.remove(node).close();
        ends.remove(node);
    }

    private void openBoth() throws IOException {
        open("si", 0);
        open("si", 1);
        get(nodes.get(0).ready());
        get(nodes.get(1).ready());
    }

    @ParameterizedTest
    @ValueSource(strings = {"si", "postgres-r", "wice"})
    void whoRunsSomethingElseStopsAlone(String protocol) throws IOException {
        ofNode2 = protocol.equals("si") ? OTHER_WINDOW : chosen(protocol);
        openBoth();
        new Client(0, "before", 1).committed();
        open("si", 2);
        stops(2);
        // It is in the log for good.
        new Client(1, "behind", 2).committed();
        nodes.remove(0).close();
        nodes.remove(1).close();
        openBoth();
        long last = new Client(0, "after", 3).committed();
        ofNode2 = super.chosen("si", 2);
        openReady("si", 2);
        awaitVisible(last);
        noneHasEnded();
        assertEquals(engines.get(0).changes(), engines.get(2).changes());
        long its = new Client(2, "its own", 4).committed();
        awaitVisible(its);
    }

    /** Whoever is first decides, also if most differ: what they had said would be in the log as well. */
    @Test
    void theFirstNodeDecides() throws IOException {
        open("si", 2);
        open("si", 0);
        stops(0);
        open("si", 1);
        stops(1);
        assertTrue(ends.isEmpty(), ends::toString);
    }
}
