package tutti.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tutti.core.protocol.SnapshotIsolation;
import tutti.core.spi.DurableLog;
import tutti.core.spi.Group;
import tutti.core.spi.Order;
import tutti.core.txn.Outcome;
import tutti.core.txn.ReadSet;
import tutti.node.trace.Span;
import tutti.node.trace.TraceContext;
import tutti.node.trace.Tracer;

/** What is recorded of transactions at the nodes of a cluster, under {@code si}. */
class FollowedTest extends ReplicaTrio {
    private final Map<Integer, Recorder> recorders = new TreeMap<>();
    private boolean allCan = true;

    /** Keeps all spans of a node, and counts what it is asked. */
    private static final class Recorder implements Tracer {
        private final int node;
        private final List<Kept> spans = new ArrayList<>();
        private int asked;

        Recorder(int node) {
            this.node = node;
        }

        @Override
        public boolean on() {
            return true;
        }

        @Override
        public Span transaction(@Nullable TraceContext parent, long agoNanos) {
            return begin("transaction", parent == null ? 0 : parent.span());
        }

        @Override
        public Span delivery(TraceContext parent, long agoNanos) {
            asked++;
            assertTrue(agoNanos >= 0);
            return begin("deliver", parent.span());
        }

        private Kept begin(String name, long parent) {
            Kept span = new Kept(this, name, parent, 1000L * (node + 1) + spans.size());
            spans.add(span);
            return span;
        }

        List<String> names() {
            return spans.stream().map(span -> span.name).toList();
        }

        Kept only(String name) {
            List<Kept> found = spans.stream().filter(span -> span.name.equals(name)).toList();
            assertEquals(1, found.size(), () -> name + " of " + names());
            return found.getFirst();
        }
    }

    private static final class Kept implements Span {
        private final Recorder by;
        private final String name;
        private final long parent;
        private final long id;
        private final Map<String, String> said = new TreeMap<>();
        private int ends;

        Kept(Recorder by, String name, long parent, long id) {
            this.by = by;
            this.name = name;
            this.parent = parent;
            this.id = id;
        }

        @Override
        public TraceContext context() {
            return new TraceContext(1, 2, id, 1);
        }

        @Override
        public Span child(Kind kind, String of, long agoNanos) {
            return by.begin(of, id);
        }

        @Override
        public Span with(String key, String value) {
            said.put(key, value);
            return this;
        }

        @Override
        public Span with(String key, long value) {
            return with(key, Long.toString(value));
        }

        @Override
        public Span failed(String type) {
            return with("error.type", type);
        }

        @Override
        public void end() {
            ends++;
        }
    }

    /** Says of some member that it reads no trace contexts, if that is so. */
    @Override
    Order order(int node) {
        Order order = super.order(node);
        Group group = (Group) Proxy.newProxyInstance(Group.class.getClassLoader(), new Class<?>[]{Group.class},
                (_, method, arguments) -> {
                    if (method.getName().equals("allCan") && arguments[0].equals(Group.TRACES) && !allCan) {
                        return false;
                    }
                    try {
                        return method.invoke(order.group(), arguments);
                    } catch (InvocationTargetException wrong) {
                        throw wrong.getCause();
                    }
                });
        return new Order() {
            @Override
            public DurableLog log() {
                return order.log();
            }

            @Override
            public Group group() {
                return group;
            }
        };
    }

    @BeforeEach
    void open() throws IOException {
        openAll(SnapshotIsolation.NAME);
        for (int node : ALL) {
            recorders.put(node, new Recorder(node));
            nodes.get(node).traces().by(recorders.get(node));
        }
    }

    private ListEngine.Session commit(String change, long key, @Nullable Span followed) {
        ListEngine.Session session = engines.get(0).new Session(change);
        Transactions.Ticket ticket = nodes.get(0).begin(session);
        if (followed != null) {
            nodes.get(0).traces().begins(ticket.id(), followed);
        }
        ticket.executed(writes(change, key), ReadSet.EMPTY);
        return session;
    }

    private long position(ListEngine.Session session) {
        Outcome outcome = get(session.outcome);
        long position = assertInstanceOf(Outcome.Committed.class, outcome, outcome::toString).position();
        awaitVisible(position);
        return position;
    }

    @Test
    void eachStepOfAFollowedTransactionIsAChildOfWhatCausedIt() {
        Recorder origin = recorders.get(0);
        Kept transaction = origin.begin("transaction", 0);
        long position = position(commit("followed", 1, transaction));
        assertEquals(List.of("transaction", "order", "certify", "commit"), origin.names());
        for (String part : List.of("order", "certify", "commit")) {
            assertEquals(transaction.id, origin.only(part).parent);
            assertEquals(1, origin.only(part).ends, part);
        }
        assertEquals(0, transaction.ends, "its session ends it");
        for (int other : List.of(1, 2)) {
            Recorder there = recorders.get(other);
            assertEquals(List.of("deliver", "certify", "apply"), there.names());
            assertEquals(origin.only("order").id, there.only("deliver").parent);
            assertEquals(there.only("deliver").id, there.only("certify").parent);
            assertEquals(there.only("deliver").id, there.only("apply").parent);
            assertEquals("effect", there.only("certify").said.get("tutti.decision"));
            assertEquals(Long.toString(position), there.only("deliver").said.get("tutti.position"));
            there.spans.forEach(span -> assertEquals(1, span.ends, span.name));
        }
    }

    @Test
    void ofTransactionsThatAreNotFollowedNobodyIsAskedAnything() {
        for (int i = 0; i < 50; i++) {
            position(commit("change " + i, i, null));
        }
        recorders.values().forEach(recorder -> {
            assertEquals(List.of(), recorder.names());
            assertEquals(0, recorder.asked);
        });
    }

    @Test
    void oneThatLosesIsOverEverywhereAtItsDecision() {
        ListEngine.Session first = commit("first", 5, null);
        ListEngine.Session second = commit("second", 5, recorders.get(0).begin("transaction", 0));
        position(first);
        assertInstanceOf(Outcome.Aborted.class, get(second.outcome));
        position(commit("later", 6, null));
        for (int other : List.of(1, 2)) {
            assertEquals(List.of("deliver", "certify"), recorders.get(other).names());
            assertEquals("nothing", recorders.get(other).only("certify").said.get("tutti.decision"));
            recorders.get(other).spans.forEach(span -> assertEquals(1, span.ends, span.name));
        }
    }

    @Test
    void aMemberThatDoesNotReadContextsIsSentNone() {
        allCan = false;
        position(commit("followed", 1, recorders.get(0).begin("transaction", 0)));
        assertEquals(List.of("transaction"), recorders.get(0).names());
        assertEquals(List.of(), recorders.get(1).names());
        noneHasEnded();
    }

    @Test
    void whatTheEngineHeldAtAStartIsNotFollowedAgain() throws IOException {
        position(commit("followed", 1, recorders.get(0).begin("transaction", 0)));
        nodes.get(1).close();
        ReplicaNode again = open(SnapshotIsolation.NAME, 1);
        Recorder anew = new Recorder(1);
        again.traces().by(anew);
        get(again.ready());
        position(commit("later", 2, null));
        assertEquals(List.of(), anew.names());
    }
}
