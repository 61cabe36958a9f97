package tutti.macro;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Queue;
import java.util.SortedSet;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tutti.macro.example.Components;
import tutti.macro.example.InvertedIndex;
import tutti.macro.example.SearchIndex;

/** The implementations of each example agree on everything, exceptions included, and with one that stands alone. */
@Timeout(60)
class ExamplesTest {
    private static final int STEPS = 400;
    private static final int KEYS = 12;

    private final Queue<ReplicaFault> faults = new ConcurrentLinkedQueue<>();
    private final SplittableRandom random = new SplittableRandom(5);

    /** Every replica executes every call, and whoever differs is reported. */
    private <T> MacroComponent<T> voting(MacroComponent.Builder<T> builder) {
        return builder.voting(Voting.majority()).onFault(faults::add).build();
    }

    private void assertAgreed(MacroComponent<?> macro) {
        macro.awaitAll();
        assertEquals(List.of(), List.copyOf(faults));
        assertEquals(3, macro.replicas().size());
    }

    @Test
    @SuppressWarnings("JdkObsolete") // of sorted sets the smaller interface is enough
    void sortedSets() {
        try (var macro = voting(Components.<Integer>sortedSet())) {
            SortedSet<Integer> set = macro.component();
            SortedSet<Integer> model = new TreeSet<>();
            assertThrows(NoSuchElementException.class, set::first);
            for (int i = 0; i < STEPS; i++) {
                Integer key = random.nextInt(KEYS);
                Integer higher = key + random.nextInt(KEYS);
                switch (random.nextInt(9)) {
                    case 0, 1 -> assertEquals(model.add(key), set.add(key));
                    case 2 -> assertEquals(model.remove(key), set.remove(key));
                    case 3 -> assertEquals(model.contains(key), set.contains(key));
                    case 4 -> assertEquals(model.headSet(key), set.headSet(key));
                    case 5 -> assertEquals(List.copyOf(model.tailSet(key)), List.copyOf(set.tailSet(key)));
                    case 6 -> assertEquals(model.subSet(key, higher), set.subSet(key, higher));
                    case 7 -> assertEquals(model.addAll(List.of(key, higher)), set.addAll(List.of(key, higher)));
                    default -> assertEquals(model.removeIf(e -> e % KEYS == key), set.removeIf(e -> e % KEYS == key));
                }
                assertEquals(model.size(), set.size());
            }
            assertEquals(model, set);
            assertEquals(model.toString(), set.toString());
            Integer last = null;
            for (Integer element : set) {
                last = element;
            }
            assertEquals(model.last(), last);
            assertEquals(model.stream().toList(), set.stream().toList());
            assertEquals(model.spliterator().estimateSize(), set.spliterator().estimateSize());
            assertThrows(IllegalArgumentException.class, () -> set.subSet(5, 4));
            assertAgreed(macro);
        }
    }

    @Test
    void maps() {
        try (var macro = voting(Components.<Integer, Integer>map())) {
            Map<Integer, Integer> map = macro.component();
            Map<Integer, Integer> model = new TreeMap<>();
            for (int i = 0; i < STEPS; i++) {
                Integer key = random.nextInt(KEYS);
                Integer value = i;
                switch (random.nextInt(6)) {
                    case 0 -> assertEquals(model.put(key, value), map.put(key, value));
                    case 1 -> assertEquals(model.remove(key), map.remove(key));
                    case 2 -> assertEquals(model.merge(key, 1, Integer::sum), map.merge(key, 1, Integer::sum));
                    case 3 -> assertEquals(model.computeIfAbsent(key, _ -> value),
                            map.computeIfAbsent(key, _ -> value));
                    case 4 -> assertEquals(model.getOrDefault(key, -1), map.getOrDefault(key, -1));
                    default -> assertEquals(model.keySet(), map.keySet());
                }
            }
            assertEquals(model, map);
            // The implementations show the same in different orders.
            map.clear();
            for (String word : List.of("what", "order", "have", "these", "words", "in", "a", "hash", "table")) {
                map.put(word.hashCode(), word.length());
            }
            assertEquals(35, map.values().stream().mapToInt(n -> n).sum());
            assertEquals(9, map.toString().chars().filter(c -> c == '=').count());
            int seen = 0;
            for (Map.Entry<Integer, Integer> entry : map.entrySet()) {
                seen += entry.getValue();
            }
            assertEquals(35, seen);
            assertAgreed(macro);
        }
    }

    @Test
    void searchIndexes() throws Exception {
        try (var macro = voting(Components.searchIndex())) {
            SearchIndex index = macro.component();
            SearchIndex model = InvertedIndex.sorted();
            for (int i = 0; i < STEPS; i++) {
                int document = random.nextInt(KEYS);
                String word = Integer.toString(random.nextInt(KEYS));
                switch (random.nextInt(4)) {
                    case 0 -> {
                        String text = word + ' ' + i % KEYS + " all";
                        assertEquals(model.put(document, text), index.put(document, text));
                    }
                    case 1 -> assertEquals(removed(model, document), removed(index, document));
                    case 2 -> assertEquals(model.containing(word), index.containing(word));
                    default -> assertEquals(model.completions(word.substring(0, 1), 3),
                            index.completions(word.substring(0, 1), 3));
                }
            }
            assertEquals(model.size(), index.size());
            assertAgreed(macro);
        }
    }

    private static List<String> removed(SearchIndex index, int document) {
        List<String> said = new ArrayList<>();
        try {
            index.remove(document);
        } catch (SearchIndex.UnknownDocumentException none) {
            said.add(String.valueOf(none.getMessage()));
        }
        return said;
    }
}
