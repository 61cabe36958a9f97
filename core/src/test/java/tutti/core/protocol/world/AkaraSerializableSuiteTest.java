package tutti.core.protocol.world;

import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import tutti.core.protocol.Akara;
import tutti.core.protocol.ChosenProtocol;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.Protocols;
import tutti.core.protocol.ReplicaWorld;

/** {@code akara} with reads certified. */
class AkaraSerializableSuiteTest extends ProtocolSuite {
    @Override
    protected Protocol create(int node, Set<Integer> replicas, SplittableRandom knobs, ReplicaWorld world) {
        return AkaraSuiteTest.create(node, replicas, knobs, world, true);
    }

    @Override
    protected ChosenProtocol chosen() {
        return Protocols.STANDARD.choose(Akara.NAME, Map.of("isolation", "serializable"));
    }
}
