package tutti.core.protocol.world;

import java.util.Set;
import java.util.SplittableRandom;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.Replica;

/** {@code akara} with reads certified. */
class AkaraSerializableSuiteTest extends ProtocolSuite {
    @Override
    protected Protocol create(int node, Set<Integer> replicas, SplittableRandom knobs, Replica replica) {
        return AkaraSuiteTest.create(node, replicas, knobs, replica, true);
    }

    @Override
    protected Guarantee guarantee() {
        return Guarantee.SERIALIZABILITY;
    }
}
