package tutti.core.protocol;

import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.TransactionId;

/**
 * Class queues in which transactions stand that are known by name, each at the position of its first message. Not for use by several
 * threads.
 *
 * @param <T> who waits; see {@link ClassQueues}
 */
final class TransactionQueues<T extends TransactionQueues.Named> {
    /** A transaction that can wait. */
    interface Named extends ClassQueues.Member {
        /** Its name, which no other has. */
        TransactionId transaction();

        /** What of it counts in {@link #bytes}; always the same. */
        default long bytes() {
            return 0;
        }
    }

    private final ClassQueues<T> queues = new ClassQueues<>();
    private final Map<TransactionId, T> byName = new HashMap<>();
    private long bytes;

    /** @throws IllegalStateException if it is in here */
    void enter(T member) {
        if (byName.putIfAbsent(member.transaction(), member) != null) {
            throw new IllegalStateException(member.transaction() + " was ordered twice");
        }
        queues.add(member);
        bytes += member.bytes();
    }

    /**
     * Takes a transaction out of the queues; null if it is not in here.
     *
     * @param steps told of those who are first in all their queues then, in order
     */
    @Nullable
    T leave(TransactionId transaction, Consumer<T> steps) {
        T member = byName.remove(transaction);
        if (member != null) {
            remove(member);
            queues.heads(member.classes()).forEach(steps);
        }
        return member;
    }

    /**
     * Takes transactions out that are all in here, before anybody steps forward.
     *
     * @param steps told of those who are first in all their queues then; perhaps more than once
     */
    void leaveAll(List<TransactionId> transactions, Consumer<T> steps) {
        Set<ConflictClasses> left = new LinkedHashSet<>();
        for (TransactionId transaction : transactions) {
            T member = byName.remove(transaction);
            if (member == null) {
                throw new IllegalStateException(transaction + " is in no queue");
            }
            remove(member);
            left.add(member.classes());
        }
        left.forEach(classes -> queues.heads(classes).forEach(steps));
    }

    private void remove(T member) {
        queues.remove(member);
        bytes -= member.bytes();
    }

    /** See {@link ClassQueues#run}. */
    List<T> run(T first, int enough, int max, Predicate<T> admits, ClassQueues.Firsts<T> others) {
        return queues.run(first, enough, max, admits, others);
    }

    /** How many are in here. */
    int size() {
        return byName.size();
    }

    /** What all that are in here count. */
    long bytes() {
        return bytes;
    }

    /** How many of them are of a kind. */
    long count(Predicate<T> kind) {
        return byName.values().stream().filter(kind).count();
    }

    @Nullable
    T of(TransactionId transaction) {
        return byName.get(transaction);
    }

    /** Whether it is in here. */
    boolean contains(T member) {
        return member.equals(byName.get(member.transaction()));
    }

    /** Whether nobody waits whose classes meet these. */
    boolean isFree(ConflictClasses classes) {
        return queues.next(classes) == null;
    }

    /** Whether it is the first in each of its queues. */
    boolean isNext(T member) {
        return queues.isNext(member);
    }

    /** Everybody, in order. */
    List<T> members() {
        return queues.members();
    }
}
