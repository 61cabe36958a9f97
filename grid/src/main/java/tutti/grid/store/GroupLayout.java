package tutti.grid.store;

import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import tutti.core.schema.Field;
import tutti.core.schema.Schema;
import tutti.core.schema.Type;
import tutti.core.schema.Types;

/**
 * Which groups own keys, from a stamp on. While keys are moved, there are two rings: groups of the first answer and vote for keys, and what is written goes to those of both. Immutable.
 *
 * @param number the stamp at which it begins: that of the message that has made it; 0 of the first
 * @param owning groups that answer for keys
 * @param next groups that will; the same if nothing is moved
 * @param copied of those that get keys: who has all that was there before this layout began
 * @param further groups that have not founded the grid, whether they own keys or do so no more: the nodes that may be their members
 */
public record GroupLayout(long number, Set<Integer> owning, Set<Integer> next, Set<Integer> copied,
        Map<Integer, Set<Integer>> further) {
    private static final int MAX = 256;
    private static final Type<Integer> NUMBER = Types.integer(0, MAX - 1);
    private static final Type<Set<Integer>> NUMBERS = Types.set(NUMBER, MAX);
    /** How it is written. */
    public static final Schema<GroupLayout> SCHEMA = Schema.part("layout of groups", GroupLayout.class).of(
            Field.of("number", Types.NATURAL, GroupLayout::number),
            Field.of("owning", NUMBERS, GroupLayout::owning), Field.of("next", NUMBERS, GroupLayout::next),
            Field.of("copied", NUMBERS, GroupLayout::copied),
            Field.of("further", Types.map(NUMBER, NUMBERS, MAX), GroupLayout::further), GroupLayout::new);

    /** Keeps copies. */
    public GroupLayout {
        owning = Sorted.copy(owning);
        next = Sorted.copy(next);
        copied = Sorted.copy(copied);
        further = Sorted.copy(further);
    }

    /** In which nothing is moved. */
    static GroupLayout first(Set<Integer> groups) {
        return new GroupLayout(0, groups, groups, Set.of(), Map.of());
    }

    /** Whether keys are moved. */
    public boolean isMoving() {
        return !owning.equals(next);
    }

    /** Groups that own keys, or will. */
    public Set<Integer> groups() {
        Set<Integer> all = new TreeSet<>(owning);
        all.addAll(next);
        return all;
    }

    /** Groups that get keys. */
    public Set<Integer> gaining() {
        Set<Integer> all = new TreeSet<>(isMoving() ? next : Set.of());
        if (next.containsAll(owning)) {
            all.removeAll(owning);
        }
        return all;
    }

    /** Groups that keys are moved from. */
    public Set<Integer> losing() {
        Set<Integer> all = new TreeSet<>(isMoving() ? owning : Set.of());
        if (owning.containsAll(next)) {
            all.removeAll(next);
        }
        return all;
    }

    /**
     * With a group more, which gets its share of the keys.
     *
     * @return null if that cannot be now, or ever: keys are being moved, or there is, or was, such a group, or a node has its place
     */
    public @Nullable GroupLayout founding(long stamp, int group, Set<Integer> nodes) {
        boolean isTaken = owning.contains(group) || further.containsKey(group)
                || further.values().stream().anyMatch(of -> of.stream().anyMatch(nodes::contains));
        if (isMoving() || isTaken) {
            return null;
        }
        Set<Integer> more = new TreeSet<>(owning);
        more.add(group);
        Map<Integer, Set<Integer>> all = new TreeMap<>(further);
        all.put(group, Sorted.copy(nodes));
        return new GroupLayout(stamp, owning, more, Set.of(), all);
    }

    /** Without a group, whose keys the others get; null if that cannot be now. */
    public @Nullable GroupLayout dissolving(long stamp, int group) {
        if (isMoving() || !owning.contains(group) || owning.size() == 1) {
            return null;
        }
        Set<Integer> less = new TreeSet<>(owning);
        less.remove(group);
        return new GroupLayout(stamp, owning, less, Set.of(), further);
    }

    /** A group has all that it gets. When all have, keys lie there: from the stamp on of who said so last. */
    public GroupLayout copied(long stamp, int group) {
        Set<Integer> all = new TreeSet<>(copied);
        all.add(group);
        return all.containsAll(gaining())
                ? new GroupLayout(stamp, next, next, Set.of(), further)
                : new GroupLayout(number, owning, next, all, further);
    }
}
