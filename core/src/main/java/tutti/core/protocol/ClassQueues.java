package tutti.core.protocol;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.ConflictClasses;

/**
 * One queue per conflict class, each in order of sequence number: who is first in all the queues of its classes (NODO,
 * AKARA section 2.1), which is {@code next(Q, cc)} of AKARA's figure 6. A transaction of {@linkplain ConflictClasses#ALL
 * all classes} stands in every queue, those included that do not exist yet. Not for use by several threads.
 *
 * <p>
 * A workload has few kinds of transactions, so many transactions have exactly the same classes. They are kept once, as a
 * <i>group</i> in order, not once for each class, and a group knows the groups that it has a class in common with: who is
 * first in all the queues of its classes is the earliest among the firsts of those. Coming and going cost a logarithm of
 * the group, whatever the number of its classes. A group that has become empty stays for a while, since it will be wanted
 * again; when there are many of them all are forgotten.
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

    /** All that have exactly these classes; perhaps nobody. */
    private static final class Group<T extends Member> {
        final TreeMap<Long, T> members = new TreeMap<>();
        /** Those that meet it, itself included. */
        final List<Group<T>> meeting = new ArrayList<>(4);
        /** The earliest member. */
        @Nullable
        T first;

        void add(T member) {
            if (members.putIfAbsent(member.sequence(), member) != null) {
                throw new IllegalStateException("two members at " + member.sequence());
            }
            T earliest = first;
            if (earliest == null || member.sequence() < earliest.sequence()) {
                first = member;
            }
        }

        boolean remove(T member) {
            if (!members.remove(member.sequence(), member)) {
                return false;
            }
            if (member.equals(first)) {
                first = members.isEmpty() ? null : members.firstEntry().getValue();
            }
            return true;
        }

        /** The earliest of all that meet it, or null. */
        @Nullable
        T earliest() {
            T earliest = null;
            for (int i = 0; i < meeting.size(); i++) {
                T other = meeting.get(i).first;
                if (earliest == null || (other != null && other.sequence() < earliest.sequence())) {
                    earliest = other;
                }
            }
            return earliest;
        }

        /** Whether its first is the earliest of all that meet it. With many that wait this is seldom so, and an earlier one is found soon. */
        boolean leads() {
            T own = first;
            if (own == null) {
                return false;
            }
            for (int i = 0; i < meeting.size(); i++) {
                T other = meeting.get(i).first;
                if (other != null && other.sequence() < own.sequence()) {
                    return false;
                }
            }
            return true;
        }
    }

    /** Tells of others who are first in all their queues. */
    @FunctionalInterface
    interface Firsts<T> {
        /** The next of them; null if there is nobody else. */
        @Nullable
        T next();
    }

    /** Members that are taken together, from the first on. Of each group they are the earliest ones. */
    private static final class Run<T extends Member> {
        private final ClassQueues<T> queues;
        private final int max;
        private final Predicate<T> admits;
        private final List<T> members = new ArrayList<>();
        /** The last that is taken of a group. */
        private final IdentityHashMap<Group<T>, T> taken = new IdentityHashMap<>();
        /** The groups that meet those taken. */
        private final Set<Group<T>> met = Collections.newSetFromMap(new IdentityHashMap<>());
        /** Of each of them, the first that is not taken, the earliest in front; nothing of one whose first was not admitted, or is blocked. */
        private final PriorityQueue<Next<T>> frontier = new PriorityQueue<>();
        /** By the group of somebody before them who is not taken: those whose first is not behind those taken alone. */
        private final IdentityHashMap<Group<T>, List<Group<T>>> blocked = new IdentityHashMap<>();

        /** Who can be next, of a group. */
        private record Next<T extends Member>(T member, Group<T> of) implements Comparable<Next<T>> {
            @Override
            public int compareTo(Next<T> other) {
                return Long.compare(member.sequence(), other.member.sequence());
            }
        }

        Run(ClassQueues<T> queues, int max, Predicate<T> admits) {
            this.queues = queues;
            this.max = max;
            this.admits = admits;
        }

        List<T> of(T first, int enough, Firsts<T> others) {
            T head = first;
            while (head != null) {
                take(head);
                takeBehind();
                head = members.size() < Math.min(enough, max) ? others.next() : null;
            }
            return members;
        }

        private void takeBehind() {
            while (members.size() < max && met.size() <= MET_MAX) {
                Next<T> next = frontier.poll();
                if (next == null) {
                    break;
                }
                if (isBehind(next.member, next.of) && admits.test(next.member)) {
                    take(next.member);
                }
            }
        }

        private void take(T member) {
            Group<T> own = queues.groups.get(member.classes());
            if (own == null) {
                throw new IllegalStateException(member + " is in no queue");
            }
            members.add(member);
            taken.put(own, member);
            for (Group<T> meeting : own.meeting) {
                if (met.add(meeting) || meeting == own) {
                    meet(meeting);
                }
            }
            List<Group<T>> behind = blocked.remove(own);
            if (behind != null) {
                behind.forEach(this::meet);
            }
        }

        private void meet(Group<T> group) {
            T next = untaken(group);
            if (next != null) {
                frontier.add(new Next<>(next, group));
            }
        }

        private @Nullable T untaken(Group<T> group) {
            T last = taken.get(group);
            if (last == null) {
                return group.first;
            }
            Map.Entry<Long, T> next = group.members.higherEntry(last.sequence());
            return next == null ? null : next.getValue();
        }

        /** Whether all that stand before it have been taken; if not, it is looked at again when somebody of the group that one of them is of is taken. */
        private boolean isBehind(T member, Group<T> own) {
            for (Group<T> meeting : own.meeting) {
                T next = untaken(meeting);
                if (next != null && next.sequence() < member.sequence()) {
                    blocked.computeIfAbsent(meeting, _ -> new ArrayList<>(2)).add(own);
                    return false;
                }
            }
            return true;
        }
    }

    private static final int EMPTY_MAX = 64;
    /** Where so many groups meet, nobody more is looked for to be taken together. */
    private static final int MET_MAX = 4096;

    private final Map<ConflictClasses, Group<T>> groups = new LinkedHashMap<>();
    /** By class, the groups that have it by name. */
    private final Map<Long, List<Group<T>>> byClass = new HashMap<>();
    private int empty;

    /** Puts it into the queues of its classes. */
    void add(T member) {
        Group<T> group = group(member.classes());
        if (group.first == null) {
            empty--;
        }
        group.add(member);
    }

    /** Takes it out of them, wherever it stands; false if it was not there. */
    boolean remove(T member) {
        Group<T> group = groups.get(member.classes());
        if (group == null || !group.remove(member)) {
            return false;
        }
        if (group.first == null) {
            empty++;
            if (empty > EMPTY_MAX && empty > groups.size() / 2) {
                forgetEmpty();
            }
        }
        return true;
    }

    private Group<T> group(ConflictClasses classes) {
        Group<T> there = groups.get(classes);
        if (there != null) {
            return there;
        }
        Group<T> group = new Group<>();
        meeting(classes).forEach(other -> {
            other.meeting.add(group);
            group.meeting.add(other);
        });
        group.meeting.add(group);
        groups.put(classes, group);
        for (int i = 0; i < classes.size(); i++) {
            byClass.computeIfAbsent(classes.hash(i), _ -> new ArrayList<>(2)).add(group);
        }
        empty++;
        return group;
    }

    /** The groups that meet these classes. */
    private Collection<Group<T>> meeting(ConflictClasses classes) {
        if (classes.all()) {
            return groups.values();
        }
        Set<Group<T>> meeting = new LinkedHashSet<>();
        Group<T> all = groups.get(ConflictClasses.ALL);
        if (all != null) {
            meeting.add(all);
        }
        for (int i = 0; i < classes.size(); i++) {
            meeting.addAll(byClass.getOrDefault(classes.hash(i), List.of()));
        }
        return meeting;
    }

    private void forgetEmpty() {
        groups.values().removeIf(group -> group.first == null);
        groups.values().forEach(group -> group.meeting.removeIf(other -> other.first == null));
        byClass.values().removeIf(there -> {
            there.removeIf(group -> group.first == null);
            return there.isEmpty();
        });
        empty = 0;
    }

    /** Whether it is in here. */
    boolean contains(T member) {
        Group<T> group = groups.get(member.classes());
        return group != null && member.equals(group.members.get(member.sequence()));
    }

    /** The earliest of those whose classes meet these, or null. */
    @Nullable
    T next(ConflictClasses classes) {
        Group<T> group = groups.get(classes);
        if (group != null) {
            return group.earliest();
        }
        T earliest = null;
        for (Group<T> meeting : meeting(classes)) {
            T first = meeting.first;
            if (earliest == null || (first != null && first.sequence() < earliest.sequence())) {
                earliest = first;
            }
        }
        return earliest;
    }

    /** Whether it is the first in each of its queues. */
    boolean isNext(T member) {
        Group<T> group = groups.get(member.classes());
        return group != null && member.equals(group.first) && group.leads();
    }

    /** Those who are first in all their queues, now that somebody of these classes has left or come; in order. */
    List<T> heads(ConflictClasses classes) {
        Group<T> there = groups.get(classes);
        List<T> heads = new ArrayList<>(4);
        for (Group<T> group : there == null ? meeting(classes) : there.meeting) {
            T first = group.first;
            if (first != null && group.leads()) {
                heads.add(first);
            }
        }
        if (heads.size() > 1) {
            heads.sort((one, other) -> Long.compare(one.sequence(), other.sequence()));
        }
        return heads;
    }

    /**
     * Who can be taken together: somebody who is first, and behind it, in order, those before whom in each of their queues stands nobody but others of
     * these, and in one of them at least somebody does; then, as long as these are not enough, another who is first, and likewise. So nobody of them leaves
     * before one who is first does, unless with it; and each stands behind those in front of whom it stands in no queue.
     *
     * @param enough of so many, at least 1, nobody else is asked for who is first
     * @param max most members, at least 1
     * @param admits asked once about each that can be next behind others; nobody is taken who stands behind one that it does not admit
     * @param others who are first, too; asked as long as there are not enough
     */
    List<T> run(T first, int enough, int max, Predicate<T> admits, Firsts<T> others) {
        return new Run<>(this, max, admits).of(first, enough, others);
    }

    /** Everybody, in order. */
    List<T> members() {
        List<T> all = new ArrayList<>();
        groups.values().forEach(group -> all.addAll(group.members.values()));
        all.sort((one, other) -> Long.compare(one.sequence(), other.sequence()));
        return all;
    }
}
