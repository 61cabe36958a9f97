package tutti.macro.call;

import java.lang.reflect.Method;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Deque;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.ListIterator;
import java.util.Map;
import java.util.NavigableMap;
import java.util.NavigableSet;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.Spliterator;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentNavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.function.UnaryOperator;
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

    static @Nullable UnaryOperator<@Nullable Object> detacher(Method method) {
        if (!known(method)) {
            return null;
        }
        Class<?> result = method.getReturnType();
        if (Map.class.isAssignableFrom(result) || Collection.class.isAssignableFrom(result)
                || result == Map.Entry.class || result == Stream.class || Iterator.class.isAssignableFrom(result)
                || result == Spliterator.class) {
            return view -> copy(result, view);
        }
        return null;
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
            case Stream<?> stream -> elements(stream.map(Object.class::cast).toList()).stream();
            case ListIterator<?> iterator -> {
                int before = iterator.nextIndex();
                while (iterator.hasPrevious()) {
                    iterator.previous();
                }
                yield list(iterator).listIterator(before);
            }
            case Iterator<?> iterator -> list(iterator).iterator();
            case Spliterator<?> spliterator -> {
                List<@Nullable Object> all = new ArrayList<>();
                spliterator.forEachRemaining(all::add);
                yield elements(all).spliterator();
            }
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
