package tutti.sim.world;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import tutti.core.txn.TablePlacement;
import tutti.sim.kernel.RandomStream;
import tutti.sim.world.database.Catalog;

/** Which nodes of a scenario lack which tables. */
final class Placements {
    /** Choices of tables that some nodes lack. Registers and links are kept together, and one table of lists is everywhere. */
    private static final List<List<Integer>> LACKED = List.of(List.of(0), List.of(1),
            List.of(Catalog.REGISTER_TABLE, Catalog.LINK_TABLE), List.of(0, Catalog.REGISTER_TABLE, Catalog.LINK_TABLE),
            List.of(1, Catalog.REGISTER_TABLE, Catalog.LINK_TABLE));

    private Placements() {}

    /**
     * One of the founders, or two of four, lack the same tables. The others and whoever joins keep all, so that each node but the only
     * one that is left has somebody to get a copy from.
     *
     * @param founders how many nodes there are in the beginning, at least 3
     * @param nodes how many there may be
     */
    static TablePlacement random(long seed, int founders, int nodes) {
        RandomStream dice = new RandomStream(seed).fork("placement");
        Set<Integer> without = new TreeSet<>(Set.of(dice.nextInt(founders)));
        if (founders > 3 && dice.chance(0.5)) {
            without.add(dice.nextInt(founders));
        }
        Set<Integer> keepers = new TreeSet<>();
        for (int node = 0; node < nodes; node++) {
            if (!without.contains(node)) {
                keepers.add(node);
            }
        }
        Map<Long, Set<Integer>> placed = new TreeMap<>();
        dice.pick(LACKED).forEach(table -> placed.put(Catalog.tableKey(table), keepers));
        return new TablePlacement(placed);
    }

    /** For people. */
    static String describe(TablePlacement placement) {
        return new TreeMap<>(placement.keepers()).entrySet().stream()
                .map(entry -> "table " + entry.getKey() + " on " + new TreeSet<>(entry.getValue()))
                .collect(Collectors.joining(", "));
    }

    /** As {@link #parse} reads it. */
    static String text(TablePlacement placement) {
        return new TreeMap<>(placement.keepers()).entrySet().stream()
                .map(entry -> entry.getKey() + "=" + entry.getValue().stream().sorted().map(String::valueOf)
                        .collect(Collectors.joining(",")))
                .collect(Collectors.joining(" "));
    }

    /**
     * What {@link #text} wrote.
     *
     * @throws IllegalArgumentException if it is something else
     */
    static TablePlacement parse(String text) {
        Map<Long, Set<Integer>> placed = new TreeMap<>();
        for (String one : text.isBlank() ? List.<String>of() : List.of(text.strip().split(" "))) {
            String[] parts = one.split("=", 2);
            if (parts.length < 2) {
                throw new IllegalArgumentException("placement '" + one + "': write TABLE=NODE,NODE");
            }
            List<Integer> nodes = new ArrayList<>();
            for (String node : parts[1].split(",", -1)) {
                nodes.add(Integer.parseInt(node));
            }
            placed.put(Long.parseLong(parts[0]), Set.copyOf(nodes));
        }
        return new TablePlacement(placed);
    }
}
