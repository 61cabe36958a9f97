package tutti.core.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.ReadSet;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

class HorizonsTest {
    private static final Set<Integer> REPLICAS = Set.of(0, 1, 2);
    private static final long WINDOW = 1000;
    private static final int TURNS_MAX = 100;

    /** Replicas without engines: what is delivered is visible at once, and timers run out as soon as nothing else happens. */
    private static final class Group {
        private record Ordered(int sender, Message message) {}

        final List<Protocol> protocols = new ArrayList<>();
        final List<Ordered> order = new ArrayList<>();
        final Set<Integer> timers = new HashSet<>();
        private int delivered;

        Group(String name) {
            for (int node : REPLICAS) {
                protocols.add(Protocols.STANDARD.choose(name, Map.of("progress-interval", "1ms")).create(node, REPLICAS,
                        new World(node)));
            }
        }

        private final class World extends PassingWorld {
            private final int node;

            World(int node) {
                super(new IdleReplica());
                this.node = node;
            }

            @Override
            public void order(Message message) {
                order.add(new Ordered(node, message));
            }

            @Override
            public void timer(long timer, long delayNanos) {
                timers.add(node);
            }
        }

        /** How many turns it takes until nobody has anything to do. */
        int untilSilent() {
            for (int turn = 0; turn < TURNS_MAX; turn++) {
                while (delivered < order.size()) {
                    Ordered next = order.get(delivered++);
                    for (Protocol protocol : protocols) {
                        protocol.delivered(delivered, next.sender(), next.message());
                        protocol.committed(delivered, delivered);
                    }
                }
                if (timers.isEmpty()) {
                    return turn;
                }
                Set<Integer> running = Set.copyOf(timers);
                timers.clear();
                running.forEach(node -> protocols.get(node).timer(1));
            }
            return TURNS_MAX;
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"si", "dbsm"})
    void anIdleGroupBecomesSilent(String name) {
        Group group = new Group(name);
        TransactionId transaction = new TransactionId(1, 1);
        group.protocols.get(1).submitted(transaction, TransactionRequest.Interactive.UNDECLARED);
        group.protocols.get(1).executed(transaction, new Execution(0, 0,
                new WriteSet(new KeySet.Builder().add(7, KeyKind.UPDATE).build(), new byte[1]), ReadSet.EMPTY));
        assertTrue(group.untilSilent() < TURNS_MAX);
        assertEquals(1 + REPLICAS.size(), group.order.size());
    }

    @Test
    void theFloorIsWhatAllReplicasHaveToldButNotFartherThanTheWindow() {
        Horizons horizons = new Horizons(REPLICAS, WINDOW, 1, 1);
        horizons.reached(0, 500);
        horizons.reached(1, 400);
        assertEquals(0, horizons.floor(600));
        horizons.reached(2, 450);
        horizons.reached(1, 300);
        assertEquals(400, horizons.floor(600));
        assertEquals(700, horizons.floor(700 + WINDOW));
    }

    @Test
    void aReplicaThatComesLaterCountsFromItsFirstHorizonOn() {
        Horizons horizons = new Horizons(REPLICAS, WINDOW, 1, 1);
        REPLICAS.forEach(replica -> horizons.reached(replica, 400));
        assertEquals(400, horizons.floor(600));
        horizons.reached(9, 300);
        assertEquals(300, horizons.floor(600));
        // It begins itself with what the others have heard, whomever it was told to be there in the beginning.
        Horizons its = new Horizons(Set.of(0, 1, 2, 9, 10), WINDOW, 1, 1);
        its.restore(horizons.told(), 600);
        assertEquals(300, its.floor(600));
    }
}
