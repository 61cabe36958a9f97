package tutti.core.protocol.world;

import java.util.Set;
import java.util.SplittableRandom;
import tutti.core.protocol.ChosenProtocol;
import tutti.core.protocol.PassiveReplication;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.Protocols;
import tutti.core.protocol.ReplicaWorld;

/** {@code passive} in the test world. */
class PassiveReplicationTest extends ProtocolSuite {
    @Override
    protected Protocol create(int node, Set<Integer> replicas, SplittableRandom knobs, ReplicaWorld world) {
        long window = knobs.nextInt(3) == 0 ? 20 + knobs.nextInt(50) : 10_000;
        return new PassiveReplication(
                new PassiveReplication.Parameters(node, replicas, window, 1000L + knobs.nextInt(100_000)), world);
    }

    @Override
    protected ChosenProtocol chosen() {
        return Protocols.STANDARD.choose(PassiveReplication.NAME);
    }

    @Override
    protected Set<String> mustHappen() {
        return Set.of("committed", "crash", "restart", "user", "refused", "certification", "deposed", "victim",
                "began-before-take-over");
    }
}
