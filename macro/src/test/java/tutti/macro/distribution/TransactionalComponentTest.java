package tutti.macro.distribution;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** A map of which only changes travel. */
class TransactionalComponentTest extends DistributedComponentContract {
    @SuppressWarnings("unchecked")
    private static final Class<Map<String, Integer>> MAP = (Class<Map<String, Integer>>) (Class<?>) Map.class;

    @Override
    protected MacroNode.Builder host(MacroNode.Builder node) {
        ObjectCodec values = StateMachineComponentTest.VALUES;
        return node.values(values)
                .component(NUMBERS,
                        HostedComponent.transactional(Map.class, new VersionedMap<String, Integer>(values)));
    }

    @Override
    protected MacroNode.Builder elsewhere(MacroNode.Builder node) {
        return node.values(StateMachineComponentTest.VALUES)
                .component(NUMBERS, HostedComponent.transactionalElsewhere(Map.class));
    }

    @Override
    protected MacroOperation<?> add(String key, int amount) {
        return new StateMachineComponentTest.Add(key, amount);
    }

    @Override
    protected MacroOperation<?> get(String key) {
        return new StateMachineComponentTest.Get(key);
    }

    private static Map<String, Integer> map(MacroNode node) {
        return node.component(NUMBERS, MAP);
    }

    @Test
    void itIsAMapLikeAnother() throws Exception {
        Map<String, Integer> here = map(start(1));
        Map<String, Integer> there = map(start(2));
        Map<String, Integer> expected = new HashMap<>(Map.of("a", 1, "b", 2, "c", 3, "d", 4));
        here.putAll(expected);
        assertEquals(expected, there);
        assertEquals(2, there.remove("b"));
        assertNull(here.remove("b"));
        assertNull(there.putIfAbsent("b", 7));
        assertEquals(7, here.putIfAbsent("b", 8));
        there.replaceAll((_, value) -> value + 10);
        assertEquals(Map.of("a", 11, "b", 17, "c", 13, "d", 14), here);
        assertEquals(Set.of("a", "b", "c", "d"), here.keySet());
        assertEquals(4, there.size());
        assertTrue(here.containsValue(13));
        here.clear();
        assertTrue(there.isEmpty());
    }

    @Test
    void functionsAreCalledAtOneNodeAndNeedNotBeDeterministic() throws Exception {
        Map<String, Integer> here = map(start(1));
        Map<String, Integer> there = map(start(2));
        AtomicInteger calls = new AtomicInteger();
        Integer drawn = there.computeIfAbsent("x", _ -> {
            calls.incrementAndGet();
            return UUID.randomUUID().hashCode();
        });
        assertEquals(1, calls.get());
        assertEquals(drawn, here.get("x"));
    }

    @Test
    void ofTwoTransactionsThatChangeTheSameTheFirstToCommitWins() throws Throwable {
        MacroNode one = start(1);
        MacroNode two = start(2);
        map(one).put("n", 1);
        try (MacroTransaction<Map<String, Integer>> first = one.begin(NUMBERS, MAP, false);
                MacroTransaction<Map<String, Integer>> second = two.begin(NUMBERS, MAP, false);
                MacroTransaction<Map<String, Integer>> other = two.begin(NUMBERS, MAP, false)) {
            first.component().merge("n", 10, Integer::sum);
            second.component().merge("n", 100, Integer::sum);
            other.component().put("m", second.component().get("n"));
            assertEquals(1, map(two).get("n"), "nobody sees what is not committed");
            first.commit();
            assertEquals(101, second.component().get("n"), "it sees what it saw");
            TransactionConflictException lost = assertThrows(TransactionConflictException.class, second::commit);
            assertTrue(lost.getMessage().contains(NUMBERS), lost.getMessage());
            other.commit();
            assertThrows(IllegalStateException.class, other::commit);
        }
        assertEquals(Map.of("n", 11, "m", 101), map(one));
        assertEquals(Map.of("n", 11, "m", 101), map(two));
    }

    @Test
    void aTransactionThatIsNotCommittedLeavesNothing() throws Throwable {
        MacroNode one = start(1);
        start(2);
        try (MacroTransaction<Map<String, Integer>> given = one.begin(NUMBERS, MAP, false)) {
            given.component().put("n", 1);
        }
        assertTrue(map(one).isEmpty());
        try (MacroTransaction<Map<String, Integer>> reader = one.begin(NUMBERS, MAP, true)) {
            map(one).put("n", 1);
            map(one).put("n", 2);
            map(one).remove("n");
            assertFalse(reader.component().containsKey("n"));
            reader.commit();
        }
        assertTrue(map(one).isEmpty());
    }

    @Test
    void aNodeThatHasJoinedKnowsWhatCommitsAreComparedWith() throws Throwable {
        MacroNode one = start(1);
        MacroNode two = start(2);
        map(one).put("n", 1);
        try (MacroTransaction<Map<String, Integer>> open = two.begin(NUMBERS, MAP, false)) {
            open.component().put("n", 5);
            map(one).put("n", 2);
            MacroNode three = join(3, one.stateCopy());
            assertThrows(TransactionConflictException.class, open::commit);
            assertEquals(2, map(three).get("n"));
        }
    }

    @Test
    void aComponentOfTheOtherKindHasNoTransactions() throws Exception {
        MacroNode node = new StateMachineComponentTest().host(MacroNode.builder(1, alone())).start();
        try (node) {
            IllegalStateException none = assertThrows(IllegalStateException.class,
                    () -> node.begin(NUMBERS, MAP, true));
            assertTrue(none.getMessage().contains("has no transactions"), none.getMessage());
        }
        MacroNode client = elsewhere(MacroNode.builder(1, alone())).start();
        try (client) {
            assertThrows(IllegalStateException.class, () -> client.begin(NUMBERS, MAP, true));
        }
    }

    @Test
    void oldValuesAreKeptWhileSomebodyMayLookAtThem() throws Exception {
        VersionedMap<String, Integer> map = new VersionedMap<>(ObjectCodec.standard());
        write(map, 1, Map.of("a", 1, "b", 1));
        var early = map.begin(true, () -> {});
        write(map, 2, Map.of("a", 2));
        var late = map.begin(true, () -> {});
        write(map, 3, new TreeMap<>(Map.of("a", 3, "c", 3)));
        assertEquals(Map.of("a", 1, "b", 1), early.component());
        early.end();
        write(map, 4, Map.of("b", 4));
        assertEquals(Map.of("a", 2, "b", 1), late.component());
        late.end();
        write(map, 5, Map.of("c", 5));
        assertEquals(Map.of("a", 3, "b", 4, "c", 5), map.begin(true, () -> {}).component());
        assertThrows(EncodingException.class, () -> new VersionedMap<Set<String>, Integer>(ObjectCodec.standard())
                .begin(false, () -> {}).component().put(Set.of("a"), 1));
    }

    private static void write(VersionedMap<String, Integer> map, long position, Map<String, Integer> what)
            throws Exception {
        var transaction = map.begin(false, () -> {});
        transaction.component().putAll(what);
        var writes = transaction.changes();
        assertFalse(transaction.commit(position));
        map.apply(position, writes);
    }
}
