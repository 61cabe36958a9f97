package tutti.core.protocol.world;

import java.util.Set;
import java.util.SplittableRandom;
import tutti.core.protocol.ChosenProtocol;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.Protocols;
import tutti.core.protocol.ReplicaWorld;
import tutti.core.protocol.TwoPhaseCommit;

/** {@code 2pc} in the test world, whose engines are of the snapshot kind. */
class TwoPhaseCommitSuiteTest extends ProtocolSuite {
    @Override
    protected Protocol create(int node, Set<Integer> replicas, SplittableRandom knobs, ReplicaWorld world) {
        return new TwoPhaseCommit(new TwoPhaseCommit.Parameters(node, replicas, 1 + knobs.nextLong(20_000),
                5 + knobs.nextInt(100), 2 + knobs.nextInt(20)), world);
    }

    @Override
    protected ChosenProtocol chosen() {
        return Protocols.STANDARD.choose(TwoPhaseCommit.NAME);
    }

    @Override
    protected Set<String> mustHappen() {
        return Set.of("committed", "crash", "restart", "user", "lost", "distributed-deadlock", "lock-timeout",
                "victim");
    }
}
