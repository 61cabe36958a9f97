package tutti.order.raft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tutti.core.spi.Group;
import tutti.order.CopiedOrder;
import tutti.order.Recorder;
import tutti.runtime.real.FreePorts;
import tutti.runtime.real.PathDirectory;
import tutti.runtime.real.RealMachine;

/** Nodes come, move and go while the others have messages ordered. */
@Timeout(60)
class MembershipTest {
    private static final long NUMBER = 4711;

    @TempDir
    private Path directory;

    private final Map<Integer, RaftOrder> orders = new HashMap<>();
    private final Map<Integer, Recorder> recorders = new HashMap<>();
    /** With whom the cluster begins. */
    private Map<Integer, InetSocketAddress> founders = Map.of();
    private Map<Integer, InetSocketAddress> all = Map.of();
    private long number;

    @BeforeEach
    void startThree() throws Exception {
        all = new TreeMap<>(RaftNodes.members(4));
        founders = new TreeMap<>(all);
        founders.remove(3);
        for (int node = 0; node < 3; node++) {
            start(node, founders, 0);
        }
        for (Recorder recorder : recorders.values()) {
            recorder.awaitView(v -> v.majority() && v.members().size() == 3);
        }
    }

    @AfterEach
    void close() {
        orders.values().forEach(RaftOrder::close);
    }

    private void start(int node, Map<Integer, InetSocketAddress> configured, long after) throws Exception {
        RaftOrder order = RaftNodes.open(RaftNodes.config(node, configured), directory);
        orders.put(node, order);
        Recorder recorder = new Recorder();
        recorders.put(node, recorder);
        order.join(recorder);
        order.start(after, recorder);
    }

    private void stop(int node) {
        orders.remove(node).close();
        recorders.remove(node);
    }

    private Recorder at(int node) {
        return recorders.get(node);
    }

    /** Has messages ordered that are so many altogether then, and waits until all nodes have them that run. */
    private void submit(int node, int from, int to) throws Exception {
        for (int i = from; i <= to; i++) {
            orders.get(node).append(Integer.toString(i).getBytes(StandardCharsets.UTF_8));
        }
        for (Recorder each : recorders.values()) {
            List<Recorder.Delivered> there = each.deliveries();
            while (there.isEmpty() || there.getLast().position() < to) {
                each.awaitCount(there.size() + 1);
                there = each.deliveries();
            }
        }
    }

    private static SortedMap<Integer, String> addresses(Map<Integer, InetSocketAddress> of) {
        SortedMap<Integer, String> addresses = new TreeMap<>();
        of.forEach((id, address) -> addresses.put(id, address.getHostString() + ":" + address.getPort()));
        return addresses;
    }

    /** As the message in the order does at all nodes that run. */
    private void tell(Set<Integer> members, Set<Integer> learners, Set<Integer> removed) {
        SortedMap<Integer, String> present = addresses(all);
        present.keySet().retainAll(members);
        SortedMap<Integer, String> former = addresses(all);
        former.keySet().retainAll(removed);
        Group.Members now = new Group.Members(++number, present, learners, former);
        orders.values().forEach(order -> order.members(now));
    }

    /** All nodes have the message, and would fail where it is. */
    @Test
    void allGoOnWhenANodeIsToBeWhereNoAddressIs() throws Exception {
        submit(0, 1, 5);
        SortedMap<Integer, String> mistyped = addresses(all);
        mistyped.put(3, "host:70000");
        Group.Members now = new Group.Members(++number, mistyped, Set.of(3), new TreeMap<>());
        orders.values().forEach(order -> order.members(now));
        submit(1, 6, 10);
        stop(2);
        start(2, founders, 5);
        at(2).awaitView(v -> v.majority() && v.members().size() == 3);
        submit(2, 11, 15);
        assertEquals(now, orders.get(2).members());
        tell(Set.of(0, 1, 2), Set.of(), Set.of(3));
        submit(0, 16, 20);
    }

    private void giveCopy(int donor, int receiver, long after, long position) throws Exception {
        CompletableFuture<CopiedOrder.Copy> taken = new CompletableFuture<>();
        orders.get(donor).copy(after, taken::complete);
        PathDirectory files = PathDirectory.of(RaftNodes.files(directory, receiver));
        taken.get().write(files);
        OrderCopy.adopt(RaftNodes.config(receiver, all), RealMachine.INSTANCE, files, NUMBER);
        orders.values().forEach(order -> order.replaced(receiver, NUMBER, position, position));
    }

    private void addTheFourth() throws Exception {
        submit(0, 1, 20);
        tell(Set.of(0, 1, 2, 3), Set.of(3), Set.of());
        giveCopy(0, 3, 14, 20);
        start(3, all, 14);
        submit(1, 21, 30);
        assertEquals(15, at(3).deliveries().getFirst().position());
        tell(Set.of(0, 1, 2, 3), Set.of(), Set.of());
    }

    @Test
    void aNodeThatComesIsDeliveredWhatFollowsAndDecidesWithTheOthers() throws Exception {
        addTheFourth();
        for (Recorder each : recorders.values()) {
            each.awaitView(v -> v.majority() && v.members().size() == 4);
        }
        submit(3, 31, 40);
        // Three of four are a majority, two of the three that were there before it are none any more.
        stop(0);
        for (int node : List.of(1, 2, 3)) {
            at(node).awaitView(v -> v.majority() && !v.members().contains(0));
        }
        submit(2, 41, 45);
        // What they all are is in their files, whatever their configurations say.
        for (int node : List.of(1, 2, 3)) {
            stop(node);
        }
        for (int node : List.of(1, 2, 3)) {
            start(node, node == 1 ? all : node == 2 ? founders : all, 14);
        }
        for (int node : List.of(1, 2, 3)) {
            at(node).awaitView(v -> v.majority() && v.members().equals(Set.of(1, 2, 3)));
        }
        submit(1, 46, 50);
    }

    /** When it hears who leads it still takes others for those who decide, of whom it reaches none. */
    @Test
    void aNodeThatWasAwayMeanwhileIsOneOfAMajorityOnceItHearsWhoDecidesNow() throws Exception {
        submit(0, 1, 20);
        tell(Set.of(0, 1, 2, 3), Set.of(3), Set.of());
        giveCopy(0, 3, 14, 20);
        start(3, all, 14);
        submit(1, 21, 30);
        stop(0);
        tell(Set.of(0, 1, 2, 3), Set.of(), Set.of());
        for (int node : List.of(1, 2, 3)) {
            at(node).awaitView(v -> v.majority() && v.members().equals(Set.of(1, 2, 3)));
        }
        submit(3, 31, 40);
        int goes = at(3).awaitView(v -> v.leader() >= 0).leader() == 2 ? 1 : 2;
        int stays = 3 - goes;
        tell(Set.of(0, stays, 3), Set.of(), Set.of(goes));
        recorders.remove(goes);
        submit(3, 41, 50); // behind what the leader has asked for
        orders.remove(goes).close();
        stop(stays);
        start(0, founders, 30);
        for (int node : List.of(0, 3)) {
            at(node).awaitView(v -> v.majority() && v.members().equals(Set.of(0, 3)));
        }
        submit(0, 51, 60);
    }

    @Test
    @Tag("long")
    void aNodeThatWasAwayMeanwhileFindsTheOneThatHasCome() throws Exception {
        submit(0, 1, 20);
        stop(2);
        addTheFourth(21);
        at(3).awaitView(v -> v.majority() && v.members().equals(Set.of(0, 1, 3)));
        start(2, founders, 20);
        for (Recorder each : recorders.values()) {
            each.awaitView(v -> v.majority() && v.members().size() == 4);
        }
        submit(2, 31, 40);
    }

    private void addTheFourth(int next) throws Exception {
        tell(Set.of(0, 1, 2, 3), Set.of(3), Set.of());
        giveCopy(0, 3, 14, next - 1);
        start(3, all, 14);
        submit(1, next, 30);
        tell(Set.of(0, 1, 2, 3), Set.of(), Set.of());
    }

    @Test
    @Tag("long")
    void aNodeThatIsNewGetsNoPartWithoutACopy() throws Exception {
        submit(0, 1, 5);
        tell(Set.of(0, 1, 2, 3), Set.of(3), Set.of());
        start(3, all, 0);
        Throwable why = at(3).awaitFailure();
        assertTrue(why.getMessage().contains("has no copy yet"), why::toString);
        assertTrue(at(3).deliveries().isEmpty());
        stop(3);
        submit(0, 6, 8);
    }

    @Test
    void aNodeThatIsRemovedIsToldSoAndTheOthersNeedItNoMore() throws Exception {
        submit(0, 1, 10);
        tell(Set.of(0, 1), Set.of(), Set.of(2));
        Throwable why = at(2).awaitFailure();
        assertTrue(why.getMessage().contains("was removed"), why::toString);
        stop(2);
        assertTrue(assertThrows(IOException.class, () -> RaftNodes.open(RaftNodes.config(2, founders), directory))
                .getMessage().contains("was removed"));
        for (int node : List.of(0, 1)) {
            at(node).awaitView(v -> v.majority() && v.members().equals(Set.of(0, 1)));
        }
        submit(1, 11, 20);
        stop(0);
        stop(1);
        start(0, founders, 0);
        start(1, founders, 0);
        submit(0, 21, 30);
        // One of three, with two away, has no majority; of two, it would take both as well.
        stop(0);
        at(1).awaitView(v -> !v.majority());
    }

    @Test
    @Tag("long")
    void aNodeThatWasRemovedWhileItWasAwayIsToldWhenItComes() throws Exception {
        submit(0, 1, 10);
        stop(2);
        // A leader that has had something ordered asks for what it is told at once, and so before anything is ordered behind it.
        for (int node : List.of(0, 1)) {
            at(node).awaitView(v -> v.majority() && v.leader() != 2);
        }
        submit(1, 11, 20);
        tell(Set.of(0, 1), Set.of(), Set.of(2));
        submit(1, 21, 30);
        start(2, founders, 10);
        Throwable why = at(2).awaitFailure();
        assertTrue(why.getMessage().contains("was removed"), why::toString);
        assertTrue(at(2).deliveries().isEmpty(), () -> String.valueOf(at(2).deliveries()));
    }

    @Test
    @Tag("long")
    void theLeaderHandsOverWhenItIsToGo() throws Exception {
        submit(0, 1, 10);
        int leader = at(0).awaitView(v -> v.majority()).leader();
        Set<Integer> rest = new java.util.TreeSet<>(Set.of(0, 1, 2));
        rest.remove(leader);
        tell(rest, Set.of(), Set.of(leader));
        at(leader).awaitFailure();
        stop(leader);
        for (int node : rest) {
            at(node).awaitView(v -> v.majority() && v.members().equals(rest));
        }
        submit(rest.iterator().next(), 11, 20);
    }

    @Test
    void aNodeMoves() throws Exception {
        submit(0, 1, 10);
        stop(2);
        all.put(2, FreePorts.addresses(1).getFirst());
        tell(Set.of(0, 1, 2), Set.of(), Set.of());
        Map<Integer, InetSocketAddress> configured = new TreeMap<>(founders);
        configured.put(2, all.get(2));
        start(2, configured, 10);
        for (Recorder each : recorders.values()) {
            each.awaitView(v -> v.majority() && v.members().size() == 3);
        }
        submit(2, 11, 20);
    }
}
