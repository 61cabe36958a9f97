package tutti.core.protocol.world;

import java.util.Set;
import java.util.SplittableRandom;
import tutti.core.protocol.ChosenProtocol;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.Protocols;
import tutti.core.protocol.ReplicaWorld;
import tutti.core.protocol.SnapshotIsolation;

/** {@code si} in the test world. */
class SnapshotIsolationSuiteTest extends ProtocolSuite {
    @Override
    protected Protocol create(int node, Set<Integer> replicas, SplittableRandom knobs, ReplicaWorld world) {
        long window = knobs.nextInt(3) == 0 ? 20 + knobs.nextInt(50) : 10_000;
        return new SnapshotIsolation(new SnapshotIsolation.Parameters(node, replicas, window, 1_000_000), world);
    }

    @Override
    protected ChosenProtocol chosen() {
        return Protocols.STANDARD.choose(SnapshotIsolation.NAME);
    }

    @Override
    protected Set<String> mustHappen() {
        return Set.of("committed", "crash", "restart", "user", "certification", "too-old", "victim", "lost",
                "gave-way-CERTIFIED", "gave-way-ASKED", "gave-way-RUNNING", "deadlock", "first-updater");
    }
}
