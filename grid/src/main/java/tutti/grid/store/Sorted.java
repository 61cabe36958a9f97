package tutti.grid.store;

import java.util.Collections;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/** Copies that nobody can change, and that are gone through in ascending order: that of {@link Set#copyOf} differs from one virtual machine to the next, and a simulated run would not be the same in both. */
public final class Sorted {
    private Sorted() {}

    /** A copy of a set. */
    public static <T extends Comparable<T>> Set<T> copy(Set<T> of) {
        return Collections.unmodifiableSet(new TreeSet<>(of));
    }

    /** A copy of a map. */
    public static <K extends Comparable<K>, V> Map<K, V> copy(Map<K, V> of) {
        return Collections.unmodifiableMap(new TreeMap<>(of));
    }
}
