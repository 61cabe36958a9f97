package tutti.grid.genuine;

import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.TransactionId;

/** Who takes part in which ballot of which group, as far as a node knows. Changed by {@link GroupMulticast} only. */
final class Memberships {
    /** So many ballots of a group are remembered: what refers to earlier ones has been said again in a later one. */
    private static final int BALLOTS_MAX = 64;
    private static final NavigableMap<Long, Configuration> NONE = Collections.unmodifiableNavigableMap(new TreeMap<>());

    /** By group and ballot. */
    private final Map<Integer, NavigableMap<Long, Configuration>> known = new TreeMap<>();
    /** By group: the members of the highest ballot. */
    private final Map<Integer, List<Integer>> nodes = new HashMap<>();

    private final Set<Integer> dissolved = new TreeSet<>();

    Memberships(Groups groups) {
        groups.members().forEach((group, of) -> {
            boolean _ = learn(group, groups.firstBallot(group), Configuration.first(of));
        });
    }

    /** There is no such group any more, and will not be. */
    void dissolved(int group) {
        known.remove(group);
        nodes.remove(group);
        dissolved.add(group);
    }

    /** Whether there was one. */
    boolean isDissolved(int group) {
        return dissolved.contains(group);
    }

    /** Whether that is news. */
    boolean learn(int group, long ballot, Configuration configuration) {
        NavigableMap<Long, Configuration> ballots = known.computeIfAbsent(group, _ -> new TreeMap<>());
        if (ballots.putIfAbsent(ballot, configuration) != null) {
            return false;
        }
        if (ballots.size() > BALLOTS_MAX) {
            ballots.pollFirstEntry();
        }
        nodes.put(group, ballots.lastEntry().getValue().nodes());
        return true;
    }

    private NavigableMap<Long, Configuration> ballots(int group) {
        return known.getOrDefault(group, NONE);
    }

    /** Who takes part in a ballot; null if that is not known. */
    @Nullable
    Configuration at(int group, long ballot) {
        return ballots(group).get(ballot);
    }

    /** The highest ballot that is known; -1 if there is none, since nothing is known of such a group. */
    long ballot(int group) {
        return ballots(group).isEmpty() ? -1 : ballots(group).lastKey();
    }

    /** Who takes part in it. */
    Configuration latest(int group) {
        return ballots(group).isEmpty() ? Configuration.NOBODY : ballots(group).lastEntry().getValue();
    }

    /** The same as nodes, ascending. */
    List<Integer> nodes(int group) {
        return nodes.getOrDefault(group, List.of());
    }

    /** Whether the life that has sent a message was a member of a group and is none any more: the highest ballot that is known is not below the one in which it was taken in, and lacks it. */
    boolean isPast(int group, TransactionId id) {
        long life = Outbox.lifeOf(id);
        Configuration.Member member = latest(group).of(id.node());
        return isDissolved(group) || (ballot(group) >= life && (member == null || member.since() != life));
    }

    /** Whether something is known of all of these groups. */
    boolean knows(int[] of) {
        return Arrays.stream(of).allMatch(known::containsKey);
    }

    /** How many of these are more than half. */
    int quorum(int group) {
        return nodes(group).size() / 2 + 1;
    }

    /** The nodes of some groups, ascending. */
    Set<Integer> everybody(int[] of) {
        Set<Integer> all = new TreeSet<>();
        for (int group : of) {
            all.addAll(nodes(group));
        }
        return all;
    }

    /** The numbers of all groups. */
    Collection<Integer> groups() {
        return known.keySet();
    }
}
