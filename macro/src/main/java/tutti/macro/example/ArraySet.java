package tutti.macro.example;

import java.util.AbstractSet;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.SortedSet;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * A sorted set in one array: the smallest of its kind and the fastest to walk through, and slow to write when it is
 * large. Not thread safe.
 *
 * @param <E> of the elements
 */
@SuppressWarnings("JdkObsolete") // the larger interface would show nothing more
public final class ArraySet<E extends Comparable<E>> extends AbstractSet<E> implements SortedSet<E> {
    private final List<E> elements = new ArrayList<>();

    @Override
    public @Nullable Comparator<? super E> comparator() {
        return null;
    }

    @Override
    public boolean add(E element) {
        int place = Collections.binarySearch(elements, element);
        if (place < 0) {
            elements.add(-place - 1, element);
        }
        return place < 0;
    }

    @Override
    @SuppressWarnings("unchecked")
    public boolean remove(Object element) {
        int place = Collections.binarySearch(elements, (E) element);
        if (place >= 0) {
            elements.remove(place);
        }
        return place >= 0;
    }

    @Override
    @SuppressWarnings("unchecked")
    public boolean contains(Object element) {
        return Collections.binarySearch(elements, (E) element) >= 0;
    }

    @Override
    public Iterator<E> iterator() {
        return elements.iterator();
    }

    @Override
    public int size() {
        return elements.size();
    }

    @Override
    public void clear() {
        elements.clear();
    }

    private int place(E element) {
        int place = Collections.binarySearch(elements, element);
        return place < 0 ? -place - 1 : place;
    }

    /** A copy, unlike in other sets. */
    @Override
    public SortedSet<E> subSet(E from, E to) {
        if (from.compareTo(to) > 0) {
            throw new IllegalArgumentException("from " + from + " to " + to);
        }
        return new TreeSet<>(elements.subList(place(from), place(to)));
    }

    /** A copy, unlike in other sets. */
    @Override
    public SortedSet<E> headSet(E to) {
        return new TreeSet<>(elements.subList(0, place(to)));
    }

    /** A copy, unlike in other sets. */
    @Override
    public SortedSet<E> tailSet(E from) {
        return new TreeSet<>(elements.subList(place(from), elements.size()));
    }

    @Override
    public E first() {
        if (elements.isEmpty()) {
            throw new NoSuchElementException();
        }
        return elements.getFirst();
    }

    @Override
    public E last() {
        if (elements.isEmpty()) {
            throw new NoSuchElementException();
        }
        return elements.getLast();
    }
}
