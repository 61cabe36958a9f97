package tutti.core.protocol.world;

import java.util.Set;
import java.util.SplittableRandom;
import tutti.core.protocol.ChosenProtocol;
import tutti.core.protocol.Nodo;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.Protocols;
import tutti.core.protocol.ReplicaWorld;

/** {@code nodo} in the test world. */
class NodoSuiteTest extends ProtocolSuite {
    @Override
    protected Protocol create(int node, Set<Integer> replicas, SplittableRandom knobs, ReplicaWorld world) {
        return new Nodo(new Nodo.Parameters(node, replicas, knobs.nextBoolean(), 1 + knobs.nextLong(1_000_000)),
                world);
    }

    @Override
    protected ChosenProtocol chosen() {
        return Protocols.STANDARD.choose(Nodo.NAME);
    }

    @Override
    protected Set<String> mustHappen() {
        return Set.of("committed", "crash", "restart", "user", "refused", "lost");
    }
}
