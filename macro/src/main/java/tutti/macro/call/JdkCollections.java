package tutti.macro.call;

import java.lang.reflect.Method;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.ListIterator;
import java.util.Map;
import java.util.NavigableMap;
import java.util.NavigableSet;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.Spliterator;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentNavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What is known of the collection interfaces of {@code java.util}: which methods read, and which results are live views
 * of the collection. A view would be used later, outside of all order, so that callers get unmodifiable copies.
 */
final class JdkCollections {
    private static final Set<String> PACKAGES = Set.of("java.util", "java.util.concurrent", "java.lang");
    private static final Pattern READS = Pattern.compile("get|getOrDefault|getFirst|getLast|contains.*|size|isEmpty"
            + "|keySet|values|entrySet|forEach|equals|hashCode|toString|toArray|iterator|listIterator|spliterator|stream"
            + "|parallelStream|indexOf|lastIndexOf|subList|reversed|comparator|first|last|firstKey|lastKey|firstEntry"
            + "|lastEntry|(lower|floor|ceiling|higher)(Key|Entry)?|subMap|headMap|tailMap|subSet|headSet|tailSet"
            + "|descending.*|navigableKeySet|sequenced.*|peek.*|element|remainingCapacity");

    private static final Results TEXT = new Results(null, null, JdkCollections::sameParts);

    private JdkCollections() {}

    static boolean known(Method method) {
        Class<?> owner = method.getDeclaringClass();
        return PACKAGES.contains(owner.getPackageName()) && owner.getClassLoader() == null
                && (Iterable.class.isAssignableFrom(owner) || Map.class.isAssignableFrom(owner));
    }

    /** Collections show their elements as text, which their interfaces take for granted and do not declare. */
    static Optional<Method> textOf(Class<?> type) {
        if (!Map.class.isAssignableFrom(type) && !Collection.class.isAssignableFrom(type)) {
            return Optional.empty();
        }
        try {
            return Optional.of(Object.class.getMethod("toString"));
        } catch (NoSuchMethodException e) {
            throw new IllegalStateException(e);
        }
    }

    static boolean reads(Method method) {
        return known(method) && READS.matcher(method.getName()).matches();
    }

    static Results results(Method method) {
        if (method.getDeclaringClass() == Object.class) {
            return TEXT;
        }
        if (!known(method)) {
            return Results.PLAIN;
        }
        Class<?> result = method.getReturnType();
        if (result == Collection.class) {
            return new Results(view -> copy(result, view), null, JdkCollections::sameElements);
        }
        if (Map.class.isAssignableFrom(result) || Collection.class.isAssignableFrom(result)
                || result == Map.Entry.class) {
            return Results.copied(view -> copy(result, view));
        }
        if (ListIterator.class.isAssignableFrom(result)) {
            return new Results(JdkCollections::elementsAndPlace, JdkCollections::iteratorAt,
                    (one, other) -> one instanceof Map.Entry<?, ?> a && other instanceof Map.Entry<?, ?> b
                            && a.getValue().equals(b.getValue()) && sameElements(a.getKey(), b.getKey()));
        }
        if (result == Stream.class || Iterator.class.isAssignableFrom(result) || result == Spliterator.class) {
            return new Results(JdkCollections::elementsOf, elements -> passOver((List<?>) elements, result),
                    JdkCollections::sameElements);
        }
        return Results.PLAIN;
    }

    /** Of a collection without an order of its own, whose elements each implementation shows in another. */
    private static boolean sameElements(@Nullable Object one, @Nullable Object other) {
        return one instanceof Collection<?> a && other instanceof Collection<?> b && a.size() == b.size()
                && counts(a).equals(counts(b));
    }

    private static Map<@Nullable Object, Integer> counts(Collection<?> elements) {
        Map<@Nullable Object, Integer> counts = new HashMap<>();
        elements.forEach(element -> counts.merge(element, 1, Integer::sum));
        return counts;
    }

    /** The texts of the same elements in another order: between brackets, parted by commas. */
    private static boolean sameParts(@Nullable Object one, @Nullable Object other) {
        return one instanceof String a && other instanceof String b && a.length() == b.length()
                && Arrays.equals(sortedParts(a), sortedParts(b));
    }

    private static String[] sortedParts(String text) {
        String[] parts = text.substring(Math.min(1, text.length()), Math.max(1, text.length() - 1)).split(", ", -1);
        Arrays.sort(parts);
        return parts;
    }

    /** What a pass over a collection, which has not begun yet, would see: unlike the pass, it can be compared and sent. */
    private static List<?> elementsOf(@Nullable Object fresh) {
        return switch (fresh) {
            case Stream<?> stream -> elements(stream.map(Object.class::cast).toList());
            case Iterator<?> iterator -> list(iterator);
            case Spliterator<?> spliterator -> {
                List<@Nullable Object> all = new ArrayList<>();
                spliterator.forEachRemaining(all::add);
                yield elements(all);
            }
            case null, default -> throw new IllegalStateException("a collection gave " + fresh + " to pass over it");
        };
    }

    private static Object passOver(List<?> elements, Class<?> wanted) {
        if (wanted == Stream.class) {
            return elements.stream();
        }
        return wanted == Spliterator.class ? elements.spliterator() : elements.iterator();
    }

    /** All elements of a list iterator, and where it stands. */
    private static Object elementsAndPlace(@Nullable Object fresh) {
        ListIterator<?> iterator = (ListIterator<?>) Objects.requireNonNull(fresh);
        Integer place = iterator.nextIndex();
        while (iterator.hasPrevious()) {
            iterator.previous();
        }
        return new java.util.AbstractMap.SimpleImmutableEntry<>(list(iterator), place);
    }

    private static Object iteratorAt(@Nullable Object elementsAndPlace) {
        Map.Entry<?, ?> both = (Map.Entry<?, ?>) Objects.requireNonNull(elementsAndPlace);
        return ((List<?>) both.getKey()).listIterator((Integer) both.getValue());
    }

    private static @Nullable Object copy(Class<?> wanted, @Nullable Object view) {
        return switch (view) {
            case null -> null;
            case Map.Entry<?, ?> entry -> entry(entry);
            case SortedMap<?, ?> map when wanted == ConcurrentNavigableMap.class -> new ConcurrentSkipListMap<>(map);
            case SortedMap<?, ?> map when NavigableMap.class.isAssignableFrom(wanted) || wanted == SortedMap.class ->
                Collections.unmodifiableNavigableMap(new TreeMap<>(map));
            case Map<?, ?> map -> Collections.unmodifiableSequencedMap(new LinkedHashMap<>(map));
            case SortedSet<?> set when NavigableSet.class.isAssignableFrom(wanted) || wanted == SortedSet.class ->
                Collections.unmodifiableNavigableSet(new TreeSet<>(set));
            case Set<?> set -> Collections.unmodifiableSequencedSet(new LinkedHashSet<>(elements(set)));
            case Collection<?> collection when wanted == Deque.class -> new ArrayDeque<>(elements(collection));
            case Collection<?> collection -> elements(collection);
            default -> throw new IllegalStateException("a result of " + view.getClass() + " cannot be copied");
        };
    }

    private static List<?> list(Iterator<?> iterator) {
        List<@Nullable Object> all = new ArrayList<>();
        iterator.forEachRemaining(all::add);
        return elements(all);
    }

    private static List<@Nullable Object> elements(Collection<?> collection) {
        List<@Nullable Object> all = new ArrayList<>(collection.size());
        for (Object element : collection) {
            all.add(element instanceof Map.Entry<?, ?> entry ? entry(entry) : element);
        }
        return Collections.unmodifiableList(all);
    }

    private static Map.Entry<?, ?> entry(Map.Entry<?, ?> entry) {
        return new java.util.AbstractMap.SimpleImmutableEntry<>(entry);
    }
}
