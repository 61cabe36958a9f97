package tutti.grid.genuine;

import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** Who takes part in which ballot of which group, as far as a node knows. Changed by {@link GroupMulticast} only. */
final class Memberships {
    /** So many ballots of a group are remembered: what refers to earlier ones has been said again in a later one. */
    private static final int BALLOTS_MAX = 64;

    /** By group and ballot. */
    private final Map<Integer, NavigableMap<Long, Configuration>> known = new TreeMap<>();
    /** By group: the members of the highest ballot. */
    private final Map<Integer, List<Integer>> nodes = new HashMap<>();

    Memberships(Groups groups) {
        groups.members().forEach((group, of) -> {
            known.put(group, new TreeMap<>());
            boolean _ = learn(group, groups.firstBallot(group), Configuration.first(of));
        });
    }

    /** Whether that is news. */
    boolean learn(int group, long ballot, Configuration configuration) {
        NavigableMap<Long, Configuration> ballots = ballots(group);
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
        NavigableMap<Long, Configuration> ballots = known.get(group);
        if (ballots == null) {
            throw new IllegalArgumentException("there is no group " + group + ", of " + known.keySet());
        }
        return ballots;
    }

    /** Who takes part in a ballot; null if that is not known. */
    @Nullable
    Configuration at(int group, long ballot) {
        return ballots(group).get(ballot);
    }

    /** The highest ballot that is known. */
    long ballot(int group) {
        return ballots(group).lastKey();
    }

    /** Who takes part in it. */
    Configuration latest(int group) {
        return ballots(group).lastEntry().getValue();
    }

    /** The same as nodes, ascending. */
    List<Integer> nodes(int group) {
        List<Integer> of = nodes.get(group);
        if (of == null) {
            throw new IllegalArgumentException("there is no group " + group + ", of " + known.keySet());
        }
        return of;
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
