package tutti.core.protocol.world;

import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import tutti.core.protocol.ChosenProtocol;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.Protocols;
import tutti.core.protocol.ReplicaWorld;
import tutti.core.protocol.Wice;

/** {@code wice} over an order that spans all clusters. */
class WiceSuiteTest extends ProtocolSuite {
    @Override
    protected Protocol create(int node, Set<Integer> replicas, SplittableRandom knobs, ReplicaWorld world) {
        return create(node, replicas, knobs, world, true);
    }

    static Protocol create(int node, Set<Integer> replicas, SplittableRandom knobs, ReplicaWorld world,
            boolean spanning) {
        Map<String, Set<Integer>> clusters = new TreeMap<>(Map.of("braga", new HashSet<>(), "lisbon", new HashSet<>()));
        for (int one : replicas) {
            clusters.get(one % 2 == 0 ? "braga" : "lisbon").add(one);
        }
        long window = knobs.nextInt(3) == 0 ? 20 + knobs.nextInt(50) : 10_000;
        return new Wice(new Wice.Parameters(node, clusters, knobs.nextBoolean() ? "braga" : "lisbon", spanning,
                spanning ? knobs.nextInt(20) : 0, 10_000, 1 + knobs.nextLong(200_000), window, 5_000_000), world);
    }

    @Override
    protected ChosenProtocol chosen() {
        return Protocols.STANDARD.choose(Wice.NAME);
    }

    @Override
    protected Set<String> mustHappen() {
        return Set.of("committed", "crash", "restart", "user", "certification", "too-old", "victim", "lost");
    }
}
