package tutti.node;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import tutti.core.protocol.ChosenProtocol;
import tutti.core.protocol.OrderedParameters;
import tutti.core.protocol.PassingProtocol;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.Protocols;
import tutti.core.protocol.ReplicaWorld;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;

/** Parameters that change while replicas run: told, kept, and refused. */
class ParameterChangesTest extends ReplicaTrio {
    private static final String BIRTH = "{execution=hybrid, logs=64, owners=in-turn}";

    /** What replicas were told to undertake. */
    private final List<String> undertake = new CopyOnWriteArrayList<>();

    @Override
    Function<ReplicaWorld, Protocol> maker(int node, ChosenProtocol protocol) throws IOException {
        Function<ReplicaWorld, Protocol> maker = super.maker(node, protocol);
        return world -> new PassingProtocol(maker.apply(world)) {
            @Override
            public void undertake(int executors, int together) {
                undertake.add(node + ": " + executors + " times " + together);
                super.undertake(executors, together);
            }
        };
    }

    private OrderedParameters change(int node, Map<String, String> values) {
        return this.<OrderedParameters>told(done -> nodes.get(node).change(values, done));
    }

    private EngineFailure refusal(int node, Map<String, String> values) {
        AtomicReference<@Nullable EngineFailure> refusal = new AtomicReference<>();
        nodes.get(node).change(values, new Completion<>() {
            @Override
            public void succeeded(OrderedParameters now) {
                throw new AssertionError("changed to " + now);
            }

            @Override
            public void failed(EngineFailure failure) {
                refusal.set(failure);
            }
        });
        await(() -> refusal.get() != null);
        return Objects.requireNonNull(refusal.get());
    }

    /** Whether front ends are to have requests executed by every node. */
    private void allExecute(boolean everywhere) {
        nodes.values().forEach(node -> assertEquals(everywhere, node.everywhereIfPossible(), node::toString));
    }

    private void allHave(OrderedParameters wanted) {
        await(() -> nodes.values().stream().allMatch(node -> node.parameters().equals(wanted)));
    }

    @Test
    void whatOneNodeIsAskedForCountsAtAllAndIsKept() throws IOException {
        openAll("hybrid");
        assertEquals(new OrderedParameters(0, nodes.get(2).parameters().values()), nodes.get(2).parameters());
        assertEquals(BIRTH, nodes.get(2).parameters().values().toString());
        new Client(0, "before", 1).committed();
        OrderedParameters now = change(1, Map.of("logs", "3", "owners", "2"));
        assertEquals("{execution=hybrid, logs=3, owners=2}", now.values().toString());
        assertTrue(now.since() > 0);
        allHave(now);
        new Client(0, "behind", 1).committed();
        assertEquals(now, change(0, Map.of("logs", "3")), "as it is already");
        OrderedParameters last = change(2, Map.of("execution", "passive"));
        assertEquals("{execution=passive, logs=3, owners=2}", last.values().toString());
        allHave(last);
        allExecute(false);
        OrderedParameters everywhere = change(0, Map.of("execution", "active"));
        allHave(everywhere);
        allExecute(true);
        for (int more = 0; more < 3 * SNAPSHOT_POSITIONS; more++) {
            new Client(0, "more " + more, more).committed();
        }
        nodes.get(1).close();
        openReady("hybrid", 1);
        allHave(everywhere);
        allExecute(true);
        allHave(change(1, Map.of("execution", "hybrid")));
        allExecute(false);
        new Client(1, "at last", 1).committed();
    }

    @Test
    void whatCannotBeIsRefusedAndNothingChanges() throws IOException {
        openAll("hybrid");
        EngineFailure impossible = refusal(0, Map.of("logs", "0"));
        assertEquals("22023", impossible.sqlState());
        assertTrue(impossible.message().contains("valid: 1 to 65536"), impossible::message);
        assertTrue(refusal(0, Map.of("executors", "4")).message().contains("tutti reload"));
        assertTrue(refusal(0, Map.of("take-over-delay", "2s")).message().contains("kept for good"));
        assertTrue(refusal(0, Map.of("owners", "7")).message().contains("the nodes are [0, 1, 2]"));
        nodes.values().forEach(node -> assertEquals(BIRTH, node.parameters().values().toString()));
    }

    @Test
    void ofTwoThatAskAtOnceOneIsToldToAskAgain() throws IOException {
        openAll("hybrid");
        AtomicReference<@Nullable String> first = new AtomicReference<>();
        AtomicReference<@Nullable String> second = new AtomicReference<>();
        nodes.get(0).change(Map.of("logs", "7"), noting(first));
        nodes.get(1).change(Map.of("logs", "9"), noting(second));
        await(() -> first.get() != null && second.get() != null);
        assertEquals("changed", first.get());
        assertTrue(
                String.valueOf(second.get()).matches("55000 the parameters, as of position \\d+, or the members .*"),
                second::toString);
    }

    private static Completion<OrderedParameters> noting(AtomicReference<@Nullable String> told) {
        return new Completion<>() {
            @Override
            public void succeeded(OrderedParameters now) {
                told.set("changed");
            }

            @Override
            public void failed(EngineFailure failure) {
                told.set(failure.sqlState() + " " + failure.message());
            }
        };
    }

    @Test
    void whatIsEachNodesOwnCountsWhileItRuns() throws IOException {
        openAll("hybrid");
        assertEquals(List.of(), undertake);
        nodes.get(1).configured(chosen("hybrid"));
        nodes.get(1)
                .configured(Protocols.STANDARD.choose("hybrid", Map.of("executors", "auto", "batch-requests", "2")));
        nodes.get(2).configured(Protocols.STANDARD.choose("hybrid", Map.of("executors", "1")));
        await(() -> undertake.size() == 2);
        assertEquals(Set.of("1: 0 times 2", "2: 1 times 32"), Set.copyOf(undertake));
        new Client(1, "one", 1).committed();
        new Client(2, "other", 1).committed();
    }

    @Test
    void aProtocolWithoutThemSaysSo() throws IOException {
        openAll("si");
        assertEquals("0A000", refusal(0, Map.of("window", "3")).sqlState());
        assertEquals(OrderedParameters.NONE, nodes.get(0).parameters());
    }
}
