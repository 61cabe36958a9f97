package tutti.sim.world;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.OrderedParameters;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.node.ReplicaNode;
import tutti.sim.fault.EngineFaults;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Label;
import tutti.sim.kernel.Nanos;
import tutti.sim.kernel.RandomStream;
import tutti.sim.world.node.NodeHost;

/**
 * Operators of a scenario's cluster who change parameters of its protocol as {@code tutti parameters} does, several at a time at several nodes; and
 * what must be true of that: at one position all nodes have the same parameters, and what somebody was told has been so at the position that he was told.
 */
final class ParameterOperators {
    private static final Label ACT = Label.of("operator", "sets");
    private static final long PAUSE_NANOS = 30 * Nanos.MILLI;
    /** Longer than a node takes to say that it does not know what became of a change. */
    private static final long PATIENCE_NANOS = 6 * Nanos.SECOND;
    /** Name of the check of these. */
    private static final String PARAMETERS = "parameters";

    private final Kernel kernel;
    private final Recording recording;
    private final Scenario scenario;
    private final List<NodeHost> nodes;
    /** What some node has shown, by position. */
    private final Map<Long, OrderedParameters> seen = new TreeMap<>();
    private int asking;

    /** @param nodes by number; filled later */
    ParameterOperators(Kernel kernel, Recording recording, Scenario scenario, List<NodeHost> nodes) {
        this.kernel = kernel;
        this.recording = recording;
        this.scenario = scenario;
        this.nodes = nodes;
    }

    /** Somebody begins to ask. */
    EngineFaults.Change begin(RandomStream random) {
        Operator operator = new Operator(random);
        operator.act();
        return operator;
    }

    /** Whether nobody waits for an answer. */
    boolean isAtRest() {
        return asking == 0;
    }

    /** Looks at what nodes show that have come to rest. */
    void compare(List<NodeHost> serving) {
        Map<Integer, OrderedParameters> shown = new HashMap<>();
        for (NodeHost node : serving) {
            ReplicaNode replica = node.replica();
            if (replica != null) {
                OrderedParameters now = replica.parameters();
                saw(node.node(), now);
                shown.put(node.node(), now);
                boolean everywhere = "active".equals(now.values().get("execution"));
                if (now.since() > 0 && replica.everywhereIfPossible() != everywhere) {
                    recording.violated(PARAMETERS, "node " + node.node() + " has " + now.values()
                            + ", and does not have requests executed so");
                }
            }
        }
        if (shown.values().stream().distinct().count() > 1) {
            recording.violated(PARAMETERS, "nodes at rest have different ones: " + shown);
        }
    }

    private void saw(int node, OrderedParameters now) {
        OrderedParameters before = seen.putIfAbsent(now.since(), now);
        if (before != null && !before.equals(now)) {
            recording.violated(PARAMETERS, "node " + node + " has " + now + ", another one " + before);
        }
    }

    private Map<String, String> values(RandomStream random) {
        Map<String, String> values = new HashMap<>();
        if (random.chance(0.6)) {
            values.put("logs", Long.toString(random.pick(List.of(1L, 2L, 3L, 64L, random.between(1, 200)))));
        }
        if (random.chance(0.6) || values.isEmpty()) {
            values.put("owners", random.chance(0.3) ? "in-turn" : owners(random));
        }
        if (random.chance(0.3)) {
            values.put("execution", random.pick(List.of("hybrid", "active", "passive")));
        }
        return values;
    }

    private String owners(RandomStream random) {
        List<Integer> owners = new ArrayList<>();
        for (int more = 1 + random.nextInt(4); more > 0; more--) {
            owners.add(random.nextInt(scenario.plan().allHosts().size()));
        }
        return owners.stream().map(String::valueOf).collect(Collectors.joining(","));
    }

    /** Asks again and again, whichever node serves, without waiting for answers for long. */
    private final class Operator implements EngineFaults.Change {
        private final RandomStream random;
        private boolean givenUp;
        private long made;

        Operator(RandomStream random) {
            this.random = random;
        }

        private void act() {
            if (givenUp) {
                return;
            }
            List<NodeHost> serving = nodes.stream().filter(NodeHost::isReady).toList();
            ReplicaNode replica = serving.isEmpty() ? null : random.pick(serving).replica();
            if (replica != null) {
                ask(replica, values(random));
            }
            kernel.schedule(1 + random.nextLong(PAUSE_NANOS), ACT, this::act);
        }

        private void ask(ReplicaNode replica, Map<String, String> values) {
            boolean[] answered = new boolean[1];
            asking++;
            kernel.schedule(PATIENCE_NANOS, ACT, () -> answered(answered));
            replica.change(values, new Completion<>() {
                @Override
                public void succeeded(OrderedParameters now) {
                    made++;
                    recording.count("parameters changed");
                    told(now, values);
                    answered(answered);
                }

                @Override
                public void failed(EngineFailure failure) {
                    recording.count("change of parameters refused: " + failure.sqlState());
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

        private void told(OrderedParameters now, Map<String, String> values) {
            saw(-1, now);
            values.forEach((name, value) -> {
                @Nullable
                String is = now.values().get(name);
                if (!Objects.equals(is, value)) {
                    recording.violated(PARAMETERS,
                            "somebody was told that " + name + " is " + is + ", who had asked for " + value);
                }
            });
        }

        @Override
        public void giveUp() {
            givenUp = true;
        }

        @Override
        public long made() {
            return made;
        }
    }
}
