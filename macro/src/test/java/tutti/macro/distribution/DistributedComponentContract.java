package tutti.macro.distribution;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tutti.core.spi.Order;
import tutti.order.local.LocalOrderGroup;
import tutti.runtime.real.RealMachine;

/**
 * What the distribution promises of every component, however its nodes are kept alike: numbers by key, never negative, in components of
 * several kinds.
 */
@Timeout(60)
public abstract class DistributedComponentContract {
    /** The component of numbers. */
    protected static final String NUMBERS = "numbers";
    private static final int ADDITIONS = 120;

    private final LocalOrderGroup group = new LocalOrderGroup(RealMachine.INSTANCE, Set.of(1, 2, 3));
    private final List<MacroNode> nodes = new ArrayList<>();

    /** Gives a node an empty copy of the component, and what it takes to send the operations. */
    protected abstract MacroNode.Builder host(MacroNode.Builder node) throws Exception;

    /** Tells a node of the component, which others have. */
    protected abstract MacroNode.Builder elsewhere(MacroNode.Builder node);

    /** Called once, when a majority has started. */
    protected void begin(MacroNode node) throws Exception {}

    /** Adds to a number, 0 if there is none, and tells the sum; throws something, and changes nothing, if that is negative. */
    protected abstract MacroOperation<?> add(String key, int amount);

    /** Tells a number, null if there is none. */
    protected abstract MacroOperation<?> get(String key);

    /** Whether a node can join with a copy. */
    protected boolean copies() {
        return true;
    }

    /** Closes all nodes. */
    @AfterEach
    protected void leave() {
        nodes.forEach(MacroNode::close);
    }

    private MacroNode.Builder builder(int node) {
        return MacroNode.builder(node, group.open(node));
    }

    /** A node with a copy. */
    protected final MacroNode start(int number) throws Exception {
        MacroNode node = host(builder(number)).start();
        nodes.add(node);
        if (nodes.size() == 2) {
            begin(node);
        }
        return node;
    }

    /** A node that joins with a copy. */
    protected final MacroNode join(int number, StateCopy copy) throws Exception {
        MacroNode node = host(builder(number)).start(copy);
        nodes.add(node);
        return node;
    }

    /** The order of a node without others. */
    protected static Order alone() {
        return new LocalOrderGroup(RealMachine.INSTANCE, Set.of(1)).open(1);
    }

    protected final int sum(MacroNode at, String key, int amount) throws Exception {
        return ((Number) run(at, add(key, amount))).intValue();
    }

    protected final Integer number(MacroNode at, String key) throws Exception {
        Number found = (Number) run(at, get(key));
        return found == null ? null : found.intValue();
    }

    private static Object run(MacroNode at, MacroOperation<?> operation) throws Exception {
        try {
            return at.sender().runOperation(NUMBERS, operation);
        } catch (Exception | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void whatOneNodeWritesAllOthersRead() throws Exception {
        MacroNode one = start(1);
        MacroNode two = start(2);
        assertEquals(null, number(two, "apples"));
        assertEquals(3, sum(one, "apples", 3));
        assertEquals(3, number(two, "apples"));
        assertEquals(5, sum(two, "apples", 2));
        assertEquals(5, number(one, "apples"));
    }

    @Test
    void callsAtAllNodesTogetherAreLinearizable() throws Exception {
        record Done(long invoked, long responded, int saw, boolean write) {}
        for (int node = 1; node <= 3; node++) {
            start(node);
        }
        sum(nodes.getFirst(), "n", 1);
        List<CompletableFuture<List<Done>>> running = new ArrayList<>();
        for (MacroNode node : nodes) {
            running.add(CompletableFuture.supplyAsync(() -> {
                List<Done> done = new ArrayList<>();
                for (int i = 0; i < 2 * ADDITIONS; i++) {
                    long invoked = System.nanoTime();
                    int saw;
                    try {
                        saw = i % 2 == 0 ? sum(node, "n", 1) : number(node, "n");
                    } catch (Exception e) {
                        throw new AssertionError(e);
                    }
                    done.add(new Done(invoked, System.nanoTime(), saw, i % 2 == 0));
                }
                return done;
            }, task -> Thread.ofPlatform().start(task)));
        }
        List<Done> history = new ArrayList<>();
        for (CompletableFuture<List<Done>> each : running) {
            history.addAll(each.get(50, TimeUnit.SECONDS));
        }
        int additions = ADDITIONS * nodes.size();
        assertEquals(additions, history.stream().filter(Done::write).mapToInt(Done::saw).distinct().count());
        for (Done later : history) {
            for (Done earlier : history) {
                if (earlier.responded() < later.invoked()) {
                    assertTrue(later.saw() >= earlier.saw() + (later.write() ? 1 : 0), earlier + " before " + later);
                }
            }
        }
        for (MacroNode node : nodes) {
            assertEquals(additions + 1, number(node, "n"));
        }
    }

    @Test
    void whatAnOperationRefusesChangesNothingAndComesToItsCaller() throws Exception {
        MacroNode one = start(1);
        MacroNode two = start(2);
        sum(one, "n", 2);
        assertThrows(Exception.class, () -> sum(two, "n", -3));
        assertEquals(2, number(one, "n"));
        assertEquals(0, sum(two, "n", -2));
        assertEquals(0, number(one, "n"));
    }

    @Test
    void aClientWithoutACopyIsServed() throws Exception {
        MacroNode one = start(1);
        start(2);
        MacroNode client = elsewhere(builder(3)).start();
        nodes.add(client);
        assertEquals(4, sum(client, "n", 4));
        assertEquals(4, number(one, "n"));
        assertEquals(7, sum(one, "n", 3));
        assertEquals(7, number(client, "n"));
        assertThrows(Exception.class, () -> sum(client, "n", -8));
    }

    @Test
    void oneNodeExecutesForAnother() throws Throwable {
        MacroNode one = start(1);
        MacroNode two = start(2);
        assertEquals(4, ((Number) one.sender().runOperationReliably(NUMBERS, add("n", 4), 2, 0)).intValue());
        assertEquals(4, number(two, "n"));
        assertEquals(4, number(one, "n"));
    }

    @Test
    void manyOperationsAreUnderWayAtOnce() throws Exception {
        MacroNode one = start(1);
        start(2);
        List<CompletableFuture<Object>> all = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            all.add(one.sender().runOperationAsync(NUMBERS, add("k" + i, i)));
        }
        for (int i = 0; i < 50; i++) {
            assertEquals(i, ((Number) all.get(i).get(20, TimeUnit.SECONDS)).intValue());
        }
        CompletableFuture<Object> refused = one.sender().runOperationAsync(NUMBERS, add("k1", -5));
        assertThrows(ExecutionException.class, () -> refused.get(20, TimeUnit.SECONDS));
    }

    @Test
    void aNodeThatBeginsLaterReadsTheWholeOrder() throws Exception {
        MacroNode one = start(1);
        MacroNode two = start(2);
        start(3);
        sum(one, "n", 1);
        two.close();
        sum(one, "m", 2);
        MacroNode again = start(2);
        again.awaitCurrent();
        assertEquals(1, number(again, "n"));
        assertEquals(3, sum(again, "m", 1));
        assertEquals(3, number(one, "m"));
        assertThrows(NodeFailedException.class, () -> number(two, "n"));
    }

    @Test
    void aNodeJoinsWithACopyAndDecidesAsTheOthersDo() throws Exception {
        assumeTrue(copies(), "this component cannot be copied");
        MacroNode one = start(1);
        Order order = group.open(2);
        MacroNode two = host(MacroNode.builder(2, order)).start();
        nodes.add(two);
        for (int i = 0; i < 40; i++) {
            sum(one, "k" + i % 7, i);
        }
        StateCopy copy = two.stateCopy();
        order.log().truncate(copy.position());
        sum(one, "k1", 1);
        MacroNode three = join(3, copy);
        three.awaitCurrent();
        for (int i = 0; i < 7; i++) {
            assertEquals(number(one, "k" + i), number(three, "k" + i));
        }
        assertEquals(number(one, "k2") + 1, sum(three, "k2", 1));
        assertEquals(number(three, "k2"), number(one, "k2"));
    }
}
