package tutti.core.protocol.world;

import java.util.Set;
import java.util.SplittableRandom;
import tutti.core.protocol.Akara;
import tutti.core.protocol.ChosenProtocol;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.Protocols;
import tutti.core.protocol.ReplicaWorld;

/** {@code akara} in the test world, as the paper has it. */
class AkaraSuiteTest extends ProtocolSuite {
    @Override
    protected Protocol create(int node, Set<Integer> replicas, SplittableRandom knobs, ReplicaWorld world) {
        return create(node, replicas, knobs, world, false);
    }

    static Protocol create(int node, Set<Integer> replicas, SplittableRandom knobs, ReplicaWorld world,
            boolean serializable) {
        return new Akara(new Akara.Parameters(node, replicas, knobs.nextInt(5), serializable, knobs.nextBoolean(),
                1 + knobs.nextLong(100_000), 1 + knobs.nextLong(1_000_000)), world);
    }

    @Override
    protected ChosenProtocol chosen() {
        return Protocols.STANDARD.choose(Akara.NAME);
    }

    @Override
    protected Set<String> mustHappen() {
        return Set.of("committed", "crash", "restart", "user", "refused", "lost", "victim", "gave-way-ASKED",
                "gave-way-RUNNING");
    }
}
