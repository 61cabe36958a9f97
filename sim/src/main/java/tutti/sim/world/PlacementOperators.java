package tutti.sim.world;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.TablePlacement;
import tutti.node.ReplicaNode;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Label;
import tutti.sim.kernel.Nanos;
import tutti.sim.kernel.RandomStream;
import tutti.sim.world.database.Catalog;
import tutti.sim.world.node.NodeHost;

/**
 * Operators of a scenario's cluster who place tables while it serves, as {@code tutti tables place} does, several at a time at several nodes; and what
 * must be true of that: nodes at rest have the same placement, the one that was asked for, and no row of what they lack.
 */
final class PlacementOperators {
    private static final Label ACT = Label.of("operator", "places");
    private static final long PAUSE_NANOS = 50 * Nanos.MILLI;
    /** Longer than a node takes to say that it does not know what became of it. */
    private static final long PATIENCE_NANOS = 6 * Nanos.SECOND;
    /** Name of the check of these. */
    private static final String PLACEMENTS = "placements";

    private final Kernel kernel;
    private final Recording recording;
    private final List<NodeHost> nodes;
    private final RandomStream random;
    private final List<TablePlacement> wanted;
    private int asking;
    private int made;

    /**
     * @param nodes by number; filled later
     * @param wanted what they place, one after the other; nothing if nobody places anything
     */
    PlacementOperators(Kernel kernel, Recording recording, List<NodeHost> nodes, List<TablePlacement> wanted) {
        this.kernel = kernel;
        this.recording = recording;
        this.nodes = nodes;
        this.wanted = wanted;
        this.random = kernel.random("placements");
    }

    /** Two of them begin some time before the faults end. */
    void begin() {
        for (int operators = isMade() ? 0 : 2; operators > 0; operators--) {
            kernel.schedule(1 + random.nextLong(Scenario.SAFETY_NANOS), ACT, this::act);
        }
    }

    /** Whether all is placed, and nobody waits for an answer. */
    boolean isAtRest() {
        return isMade() && asking == 0;
    }

    private boolean isMade() {
        return made == wanted.size();
    }

    private void act() {
        if (isMade()) {
            return;
        }
        List<NodeHost> serving = nodes.stream().filter(NodeHost::isReady).toList();
        ReplicaNode replica = serving.isEmpty() ? null : random.pick(serving).replica();
        if (replica != null) {
            ask(replica);
        }
        kernel.schedule(1 + random.nextLong(PAUSE_NANOS), ACT, this::act);
    }

    /** All tables of a placement are on the same nodes. */
    private void ask(ReplicaNode replica) {
        int step = made;
        TablePlacement next = wanted.get(step);
        Set<Integer> keepers = next.keepers().values().iterator().next();
        // A node that is late knows of none.
        if (step > 0 && replica.placements().stream()
                .filter(table -> table.made() && table.nodes().equals(keepers)).count() == next.keepers().size()) {
            made++;
            recording.count("tables brought back");
            return;
        }
        boolean[] answered = new boolean[1];
        asking++;
        kernel.schedule(PATIENCE_NANOS, ACT, () -> answered(answered));
        List<String> tables = IntStream.range(0, Catalog.TABLES)
                .filter(table -> next.keepers().containsKey(Catalog.tableKey(table))).mapToObj(String::valueOf)
                .toList();
        replica.place(tables, keepers, new Completion<>() {
            @Override
            public void succeeded(List<ReplicaNode.PlacedTable> now) {
                // Where rows are brought to a node they are not there yet.
                if (step == 0) {
                    made = Math.max(made, 1);
                    recording.count("tables placed");
                }
                answered(answered);
            }

            @Override
            public void failed(EngineFailure failure) {
                recording.count("placement refused: " + failure.sqlState());
                answered(answered);
            }
        });
    }

    /** Whoever was asked may be gone before it answers. */
    private void answered(boolean[] answered) {
        if (!answered[0]) {
            answered[0] = true;
            asking--;
        }
    }

    /** Looks at nodes that have come to rest. */
    void compare(List<NodeHost> serving) {
        if (wanted.isEmpty()) {
            return;
        }
        TablePlacement last = wanted.getLast();
        Map<Integer, List<ReplicaNode.PlacedTable>> shown = new HashMap<>();
        for (NodeHost node : serving) {
            ReplicaNode replica = node.replica();
            if (node.database().holdsWhatItLacks()) {
                recording.violated(PLACEMENTS, "node " + node.node() + " holds rows of a table that it lacks");
            }
            if (!node.database().kept().placement().equals(last)) {
                recording.violated(PLACEMENTS, "the database of node " + node.node() + " has "
                        + Placements.describe(node.database().kept().placement()));
            }
            if (replica != null) {
                shown.put(node.node(), replica.placements());
                replica.placements().stream().filter(table -> !table.made())
                        .forEach(table -> recording.violated(PLACEMENTS,
                                "node " + node.node() + " does not know that all have placed " + table));
            }
        }
        if (shown.values().stream().distinct().count() > 1
                || shown.values().stream().anyMatch(tables -> tables.size() != last.keepers().size())) {
            recording.violated(PLACEMENTS,
                    "nodes at rest have different ones, or others than were asked for: " + shown);
        }
    }
}
