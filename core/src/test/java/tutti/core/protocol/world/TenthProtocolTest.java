package tutti.core.protocol.world;

import java.util.Set;
import java.util.SplittableRandom;
import tutti.core.protocol.ChosenProtocol;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.Protocols;
import tutti.core.protocol.ReplicaWorld;
import tutti.core.protocol.tenth.FirstCommitter;
import tutti.core.protocol.tenth.FirstCommitterDescriptor;

/** A protocol that Tutti does not come with runs by its descriptor alone. */
class TenthProtocolTest extends ProtocolSuite {
    private static final Protocols TEN = Protocols.STANDARD.with(new FirstCommitterDescriptor());

    @Override
    protected Protocol create(int node, Set<Integer> replicas, SplittableRandom knobs, ReplicaWorld world) {
        return chosen().create(node, replicas, world);
    }

    @Override
    protected ChosenProtocol chosen() {
        return TEN.choose(FirstCommitter.NAME);
    }

    @Override
    protected Set<String> mustHappen() {
        return Set.of("committed", "crash", "restart", "user", "too-old", "victim", "lost");
    }
}
