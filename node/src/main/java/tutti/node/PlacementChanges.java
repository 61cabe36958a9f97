package tutti.node;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.protocol.Claims;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.Group;
import tutti.core.txn.KeySet;
import tutti.runtime.Loop;

/** Changes of {@link Placements}: asks for them, has the databases make them, and does what follows. Of the replica's loop. */
final class PlacementChanges {
    private static final Logger LOG = LoggerFactory.getLogger(PlacementChanges.class);
    private static final long PATIENCE_NANOS = 5_000_000_000L;
    /** So long after a failure a node tries again to keep what it is to keep. */
    private static final long AGAIN_NANOS = 1_000_000_000L;
    private static final String LATER = "; `tutti tables list` tells later what became of it, and the same command completes it";

    /** What of the node is needed here. */
    interface Node {
        /** Has all nodes told something, in the order. */
        void send(Control control);

        /** Has every replica execute a statement at one position. */
        void barrier(byte[] statement, KeySet keys, Completion<Engine.ExecuteResult> done);

        /** Why the node cannot serve; null if it can. */
        @Nullable
        String refusal();

        Claims claims();

        /** All nodes of the cluster. */
        Set<Integer> members();

        /** Whom it reaches. */
        Group.View view();

        void schedule(long delayNanos, Runnable task);
    }

    private record Asked(Control.Place wanted, Engine.PlacementPlan plan,
            Completion<List<ReplicaNode.PlacedTable>> done) {}

    /** @param refusal why the databases refuse it; null if they have made it */
    private record Answered(Control.Placed told, @Nullable EngineFailure refusal,
            Completion<List<ReplicaNode.PlacedTable>> done) {}

    private final int self;
    private final Placements placements;
    private final Engine engine;
    private final Loop loop;
    private final Group group;
    private final LogKeeping logKeeping;
    private final Settlement settlement;
    private final Node node;
    /** What the order has not answered yet. */
    private @Nullable Asked asked;
    /** What this node's database has answered, and the others have not been told yet. */
    private final List<Answered> answered = new ArrayList<>();
    /** Whether this node is about to find out if it has the rows of what it is to keep. */
    private boolean looks;
    private boolean waits;

    PlacementChanges(int self, Placements placements, Engine engine, Loop loop, Group group, LogKeeping logKeeping,
            Settlement settlement, Node node) {
        this.self = self;
        this.placements = placements;
        this.engine = engine;
        this.loop = loop;
        this.group = group;
        this.logKeeping = logKeeping;
        this.settlement = settlement;
        this.node = node;
    }

    /** As {@link ReplicaNode#placements}. Any thread. */
    List<ReplicaNode.PlacedTable> list() {
        List<ReplicaNode.PlacedTable> list = new ArrayList<>();
        Set<Integer> members = Set.copyOf(node.members());
        placements.tables().values().forEach(table -> list
                .add(new ReplicaNode.PlacedTable(table.name(), table.keepers(), table.isOver(members), table.since())));
        list.sort(Comparator.comparing(ReplicaNode.PlacedTable::name));
        return list;
    }

    // ------------------------------------------------------------------------------------------ asking

    /** As {@link ReplicaNode#place}. */
    void ask(List<String> tables, Set<Integer> nodes, Completion<List<ReplicaNode.PlacedTable>> done) {
        String impossible = impossible();
        if (impossible != null) {
            done.failed(new EngineFailure("0A000", impossible, false));
            return;
        }
        engine.preparePlacement(tables, nodes,
                new LoopCompletion<>(loop, plan -> ask(plan, nodes, done), done::failed));
    }

    /** Why all nodes keep all tables whatever happens; null if some may lack some. */
    private @Nullable String impossible() {
        if (!node.claims().tablesMayBePartial()) {
            return "under the cluster's protocol nodes execute what clients of others ask for, so all keep all tables";
        }
        return group.allCan(Group.PLACEMENTS)
                ? null
                : "not all nodes can keep some tables only: start all of them, with this version";
    }

    private void ask(Engine.PlacementPlan plan, Set<Integer> nodes, Completion<List<ReplicaNode.PlacedTable>> done) {
        Map<Long, String> names = new TreeMap<>();
        plan.tables().forEach((name, key) -> names.put(key, name));
        Control.Place wanted = new Control.Place(names, nodes);
        String refusal = asked == null ? node.refusal() : "another change is under way: ask again";
        if (refusal == null) {
            refusal = placements.refusal(wanted, node.members());
        }
        if (refusal == null) {
            refusal = away(wanted);
        }
        if (refusal != null) {
            done.failed(new EngineFailure("55000", refusal, false));
            return;
        }
        Asked mine = new Asked(wanted, plan, done);
        asked = mine;
        LOG.info("node {}: asks for tables {} on nodes {}", self, plan.tables().keySet(), nodes);
        node.send(wanted);
        node.schedule(PATIENCE_NANOS, () -> {
            if (mine.equals(asked)) {
                asked = null;
                done.failed(new EngineFailure("57P03", "the order has not answered in time" + LATER, true));
            }
        });
    }

    /** Which of those that are to get rows is not there; null if all are. */
    private @Nullable String away(Control.Place wanted) {
        Set<Integer> away = new TreeSet<>(wanted.nodes());
        away.removeAll(node.view().members());
        away.removeIf(each -> wanted.tables().keySet().stream().allMatch(table -> placements.now().keeps(each, table)));
        return away.isEmpty() ? null : "nodes " + away + " are to get rows, and are not there: start them first";
    }

    // ------------------------------------------------------------------------------------------ what is delivered

    /** Somebody asks for a placement. */
    void delivered(long position, int sender, Control.Place told) {
        String refusal = placements.refusal(told, node.members());
        if (refusal == null) {
            LOG.info("node {}: as of position {} tables {} are placed on nodes {}", self, position,
                    told.tables().values(),
                    told.nodes());
            placements.placing(position, told);
            follow(position);
            come();
        }
        Asked mine = asked;
        if (mine == null || sender != self || !told.equals(mine.wanted)) {
            return;
        }
        asked = null;
        if (refusal != null) {
            mine.done.failed(new EngineFailure("55000", refusal, false));
            return;
        }
        if (told.tables().keySet().stream().anyMatch(placements::isComing)) {
            // Whoever is to get the rows goes on with it by itself.
            mine.done.succeeded(list());
            return;
        }
        node.barrier(mine.plan.statement(), mine.plan.keys(),
                new LoopCompletion<>(loop, result -> executed(mine, result),
                        failure -> mine.done.failed(
                                new EngineFailure(failure.sqlState(), failure.message() + LATER, failure.kind()))));
    }

    private void executed(Asked mine, Engine.ExecuteResult result) {
        Control.Place wanted = mine.wanted;
        Control.Placed told = new Control.Placed(wanted.tables(), wanted.nodes(), result.tookEffect());
        answered.add(new Answered(told, result.refusal(), mine.done));
        node.send(told);
    }

    /** The databases have made one, or refused it. */
    void delivered(long position, int sender, Control.Placed told) {
        LOG.info("node {}: as of position {} tables {} {} on nodes {}", self, position, told.tables().values(),
                told.tookEffect() ? "are" : "are not", told.nodes());
        placements.placed(position, told);
        follow(position);
        looks &= sender != self;
        come();
        if (sender == self && !answered.isEmpty() && answered.getFirst().told.equals(told)) {
            Answered mine = answered.removeFirst();
            if (mine.refusal == null) {
                mine.done.succeeded(list());
            } else {
                mine.done.failed(mine.refusal);
            }
        }
    }

    // ------------------------------------------------------------------------------------------ what this node is to keep

    /**
     * Has all databases execute what has this node keep more tables, if it is to. One that does not have the rows refuses that
     * ({@link EngineFailure#needsCopy}), after which the node begins anew with the copy of one that does; then it is here again, and tells the others.
     * Waits until there is a majority without it.
     */
    void come() {
        Map<Long, Placements.Table> coming = placements.coming(self);
        if (coming.isEmpty() || looks) {
            return;
        }
        String refusal = node.refusal();
        if (refusal != null) {
            again(refusal);
            return;
        }
        Set<Integer> others = new TreeSet<>(node.members());
        others.retainAll(node.view().members());
        others.remove(self);
        if (2 * others.size() <= node.members().size()) {
            again("nodes " + others + " are no majority without it");
            return;
        }
        looks = true;
        Set<Integer> nodes = coming.values().iterator().next().nodes();
        Map<Long, String> names = new TreeMap<>();
        coming.forEach((key, table) -> names.put(key, table.name()));
        LOG.info("node {}: is to keep tables {}, too", self, names.values());
        engine.preparePlacement(List.copyOf(names.values()), nodes, new LoopCompletion<>(loop,
                plan -> node.barrier(plan.statement(), plan.keys(), new LoopCompletion<>(loop,
                        result -> node.send(new Control.Placed(names, nodes, result.tookEffect())), this::again)),
                failure -> {
                    if (failure.transientFailure()) {
                        again(failure);
                    } else {
                        LOG.warn("node {}: cannot keep tables {}: {}", self, names.values(), failure.message());
                        node.send(new Control.Placed(names, nodes, false));
                    }
                }));
    }

    private void again(EngineFailure failure) {
        looks = false;
        again(failure.message());
    }

    private void again(String why) {
        if (!waits) {
            waits = true;
            LOG.debug("node {}: does not keep what it is to keep yet: {}", self, why);
            node.schedule(AGAIN_NANOS, () -> {
                waits = false;
                come();
            });
        }
    }

    private void follow(long position) {
        logKeeping.placed(position);
        settlement.placed();
    }
}
