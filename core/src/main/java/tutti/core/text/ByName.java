package tutti.core.text;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Things of one kind by their names, in the order in which they were given. Immutable, for any thread.
 *
 * @param <T> what they are
 */
public final class ByName<T> {
    private final String kind;
    private final Map<String, T> byName;

    /**
     * These.
     *
     * @param kind what one of them is called in errors
     * @throws IllegalArgumentException if two have the same name
     */
    public ByName(String kind, Iterable<? extends T> all, Function<? super T, String> name) {
        this.kind = kind;
        Map<String, T> map = new LinkedHashMap<>();
        for (T one : all) {
            T other = map.put(name.apply(one), one);
            if (other != null) {
                throw new IllegalArgumentException("two are called " + kind + " " + name.apply(one) + ": "
                        + other.getClass().getName() + " and " + one.getClass().getName() + "; leave one of them out");
            }
        }
        byName = Collections.unmodifiableMap(map);
    }

    /** Names of all. */
    public List<String> names() {
        return List.copyOf(byName.keySet());
    }

    /** All of them. */
    public List<T> all() {
        return List.copyOf(byName.values());
    }

    /** The one of a name, if there is one. */
    public @Nullable T find(String name) {
        return byName.get(name);
    }

    /**
     * The one of a name.
     *
     * @throws IllegalArgumentException if there is none, with those that there are, and the nearest
     */
    public T get(String name) {
        T found = byName.get(name);
        if (found == null) {
            throw new IllegalArgumentException("no " + kind + " '" + name + "'; there are: "
                    + String.join(", ", byName.keySet()) + "; nearest: " + NearestWord.of(name, names()));
        }
        return found;
    }
}
