package tutti.macro.example;

import java.util.HashMap;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.ConcurrentSkipListSet;
import tutti.macro.MacroComponent;

/** Components of several implementations each, ready to build: change what should differ. */
@SuppressWarnings("JdkObsolete") // of sorted sets the smaller interface is enough
public final class Components {
    private Components() {}

    /** A map: hash table, tree and skip list. What its interface reads is known. */
    @SuppressWarnings("unchecked")
    public static <K extends Comparable<K>, V> MacroComponent.Builder<Map<K, V>> map() {
        Class<Map<K, V>> type = (Class<Map<K, V>>) (Class<?>) Map.class;
        return MacroComponent.of(type).replica("hash", new HashMap<>()).replica("tree", new TreeMap<>())
                .replica("skip list", new ConcurrentSkipListMap<>());
    }

    /** A sorted set: tree, skip list and sorted array. */
    @SuppressWarnings("unchecked")
    public static <E extends Comparable<E>> MacroComponent.Builder<SortedSet<E>> sortedSet() {
        Class<SortedSet<E>> type = (Class<SortedSet<E>>) (Class<?>) SortedSet.class;
        return MacroComponent.of(type).replica("tree", new TreeSet<>())
                .replica("skip list", new ConcurrentSkipListSet<>()).replica("array", new ArraySet<>());
    }

    /** A search index: one good at each of finding, completing and being written. */
    public static MacroComponent.Builder<SearchIndex> searchIndex() {
        return MacroComponent.of(SearchIndex.class).replica("hashed", InvertedIndex.hashed())
                .replica("sorted", InvertedIndex.sorted()).replica("scanning", new ScanningIndex());
    }
}
