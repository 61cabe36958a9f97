package tutti.core.protocol.world;

import java.util.Set;
import java.util.SplittableRandom;
import tutti.core.protocol.ChosenProtocol;
import tutti.core.protocol.DatabaseStateMachine;
import tutti.core.protocol.DatabaseStateMachine.Reads;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.Protocols;
import tutti.core.protocol.ReplicaWorld;

/** {@code dbsm} in the test world, with read sets by row, by table above a limit, and as filters. */
class DatabaseStateMachineTest extends ProtocolSuite {
    @Override
    protected Protocol create(int node, Set<Integer> replicas, SplittableRandom knobs, ReplicaWorld world) {
        long window = knobs.nextInt(3) == 0 ? 20 + knobs.nextInt(50) : 10_000;
        Reads reads = knobs.nextBoolean() ? Reads.ROWS : Reads.BLOOM;
        int rowsMax = knobs.nextInt(3) == 0 ? knobs.nextInt(4) : 100;
        double rate = knobs.nextBoolean() ? 0.3 : 0.001;
        return new DatabaseStateMachine(new DatabaseStateMachine.Parameters(node, replicas, window, 1_000_000, reads,
                rowsMax, rate), world);
    }

    @Override
    protected ChosenProtocol chosen() {
        return Protocols.STANDARD.choose(DatabaseStateMachine.NAME);
    }

    @Override
    protected Set<String> mustHappen() {
        return Set.of("committed", "crash", "restart", "user", "certification", "stale-read", "too-old", "victim",
                "lost", "gave-way-CERTIFIED", "gave-way-ASKED", "gave-way-RUNNING");
    }
}
