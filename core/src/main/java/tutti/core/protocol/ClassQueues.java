package tutti.core.protocol;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.ConflictClasses;

/**
 * One queue per conflict class, each in order of sequence number: who is first in all the queues of its classes (NODO,
 * AKARA section 2.1), which is {@code next(Q, cc)} of AKARA's figure 6. A transaction of {@linkplain ConflictClasses#ALL
 * all classes} stands in every queue, those included that do not exist yet. Costs a logarithm per class. Not for use by
 * several threads.
 *
 * @param <T> who waits; its sequence number and classes must not change while it is in here
 */
final class ClassQueues<T extends ClassQueues.Member> {
    /** Somebody who can wait. */
    interface Member {
        /** Its place: smaller is earlier; no two members have the same. */
        long sequence();

        /** The queues that it stands in. */
        ConflictClasses classes();
    }

    private final TreeMap<Long, T> everybody = new TreeMap<>();
    private final TreeMap<Long, T> ofAllClasses = new TreeMap<>();
    private final Map<Long, TreeMap<Long, T>> byClass = new HashMap<>();

    /** Puts it into the queues of its classes. */
    void add(T member) {
        if (everybody.putIfAbsent(member.sequence(), member) != null) {
            throw new IllegalStateException("two members at " + member.sequence());
        }
        ConflictClasses classes = member.classes();
        if (classes.all()) {
            ofAllClasses.put(member.sequence(), member);
        }
        for (int i = 0; i < classes.size(); i++) {
            byClass.computeIfAbsent(classes.hash(i), _ -> new TreeMap<>()).put(member.sequence(), member);
        }
    }

    /** Takes it out of them, wherever it stands; false if it was not there. */
    boolean remove(T member) {
        if (!everybody.remove(member.sequence(), member)) {
            return false;
        }
        ConflictClasses classes = member.classes();
        if (classes.all()) {
            ofAllClasses.remove(member.sequence());
        }
        for (int i = 0; i < classes.size(); i++) {
            byClass.computeIfPresent(classes.hash(i), (_, queue) -> {
                queue.remove(member.sequence());
                return queue.isEmpty() ? null : queue;
            });
        }
        return true;
    }

    /** Whether it is in here. */
    boolean contains(T member) {
        return member.equals(everybody.get(member.sequence()));
    }

    /** The earliest of those whose classes meet these, or null. */
    @Nullable
    T next(ConflictClasses classes) {
        if (classes.all()) {
            return first(everybody);
        }
        T earliest = first(ofAllClasses);
        for (int i = 0; i < classes.size(); i++) {
            earliest = earlier(earliest, first(byClass.get(classes.hash(i))));
        }
        return earliest;
    }

    /** Whether it is the first in each of its queues. */
    boolean isNext(T member) {
        return member.equals(next(member.classes()));
    }

    /** Those who are first in all their queues, now that somebody of these classes has left or come. */
    List<T> heads(ConflictClasses classes) {
        Map<Long, T> heads = new TreeMap<>();
        T all = first(ofAllClasses);
        if (all != null) {
            heads.put(all.sequence(), all);
        }
        if (classes.all()) {
            byClass.values().forEach(queue -> heads.put(queue.firstKey(), queue.firstEntry().getValue()));
        }
        for (int i = 0; i < classes.size(); i++) {
            T head = first(byClass.get(classes.hash(i)));
            if (head != null) {
                heads.put(head.sequence(), head);
            }
        }
        List<T> next = new ArrayList<>(heads.values());
        next.removeIf(head -> !isNext(head));
        return next;
    }

    /** Everybody, in order; a view. */
    Collection<T> members() {
        return everybody.values();
    }

    private static <T> @Nullable T first(@Nullable NavigableMap<Long, T> queue) {
        return queue == null || queue.isEmpty() ? null : queue.firstEntry().getValue();
    }

    private @Nullable T earlier(@Nullable T one, @Nullable T other) {
        if (one == null || other == null) {
            return one == null ? other : one;
        }
        return one.sequence() < other.sequence() ? one : other;
    }
}
