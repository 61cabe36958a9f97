package tutti.grid.node;

import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.IntFunction;
import java.util.function.IntPredicate;
import tutti.grid.GridConfig;

/**
 * Without views: who was not heard for some time, who was given up, and whose group has not taken it in yet. One thread.
 *
 * <p>
 * <b>Who is given up</b>: who was not heard for very long, or for a while in which too much has come to be kept for it; as long as more than half of its group are heard, and more than half of this node's own. So a node that is cut off gives up nobody,
 * and what nobody can give back to a node is not taken from it.
 *
 * <p>
 * <b>Who leaves</b> is no member any more, or is about to become one again as another life, of which this node may not have heard: so it has left only when it is not heard.
 */
final class Absence {
    /** After so many failure timeouts a node is given up. */
    private static final int GIVEN_UP_TIMEOUTS = 10;

    private final int self;
    private final IntFunction<List<Integer>> groupOf;
    private final Set<Integer> gone = new TreeSet<>();
    private final Set<Integer> joining = new TreeSet<>();
    private final Set<Integer> leaving = new TreeSet<>();
    private Set<Integer> silent = Set.of();

    /** @param groupOf the members of a node's group, as far as this node knows */
    Absence(int self, IntFunction<List<Integer>> groupOf) {
        this.self = self;
        this.groupOf = groupOf;
    }

    /** Who takes no part now: not heard, or not taken in. */
    Set<Integer> silent() {
        return silent;
    }

    /** Who is given up. */
    Set<Integer> gone() {
        return gone;
    }

    /** Lives of nodes that have begun and are not taken in yet. */
    Set<Integer> joining() {
        return joining;
    }

    /** Another life of a node has come. */
    void begins(int node) {
        gone.remove(node);
        leaving.remove(node);
        joining.add(node);
        silent = with(silent, node);
    }

    /** A node says that it is a member. Whether that is news. */
    boolean there(int node) {
        return joining.remove(node);
    }

    /** These are no members any more, and those are. */
    void changed(Set<Integer> former, Set<Integer> members) {
        leaving.addAll(former);
        gone.removeAll(former);
        leaving.removeAll(members);
    }

    /** Who has left now: nothing comes from there any more. */
    Set<Integer> left(Hearing hearing, GridConfig config) {
        Set<Integer> left = hearing.silent(leaving, config.failureTimeout().toNanos());
        leaving.removeAll(left);
        return left;
    }

    private static Set<Integer> with(Set<Integer> some, int node) {
        Set<Integer> all = new TreeSet<>(some);
        all.add(node);
        return all;
    }

    /**
     * To be called often. Who is given up now.
     *
     * @param unheard for the failure timeout
     * @param isTooMuch whether more is kept for a node than may be
     */
    Set<Integer> notHeard(Set<Integer> unheard, Hearing hearing, GridConfig config, IntPredicate isTooMuch) {
        silent = new TreeSet<>(unheard);
        silent.addAll(joining);
        Set<Integer> givenUp = new TreeSet<>();
        Set<Integer> forLong = hearing.silent(unheard, GIVEN_UP_TIMEOUTS * config.failureTimeout().toNanos());
        for (int node : unheard) {
            if (!gone.contains(node) && (forLong.contains(node) || isTooMuch.test(node))
                    && isHeard(groupOf.apply(node)) && isHeard(groupOf.apply(self))) {
                givenUp.add(node);
            }
        }
        gone.addAll(givenUp);
        joining.removeAll(givenUp);
        return givenUp;
    }

    private boolean isHeard(List<Integer> group) {
        return 2 * group.stream().filter(node -> !silent.contains(node)).count() > group.size();
    }
}
