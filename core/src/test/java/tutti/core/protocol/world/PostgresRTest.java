package tutti.core.protocol.world;

import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import tutti.core.protocol.ChosenProtocol;
import tutti.core.protocol.PostgresR;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.Protocols;
import tutti.core.protocol.ReplicaWorld;

/** {@code postgres-r} with snapshot isolation in the test world. */
class PostgresRTest extends ProtocolSuite {
    @Override
    protected Protocol create(int node, Set<Integer> replicas, SplittableRandom knobs, ReplicaWorld world) {
        long window = knobs.nextInt(3) == 0 ? 30 + knobs.nextInt(50) : 10_000;
        return new PostgresR(new PostgresR.Parameters(node, replicas, window, 100_000, serializable()), world);
    }

    protected boolean serializable() {
        return false;
    }

    @Override
    protected ChosenProtocol chosen() {
        return Protocols.STANDARD.choose(PostgresR.NAME,
                Map.of("isolation", serializable() ? "serializable" : "snapshot"));
    }

    @Override
    protected Set<String> mustHappen() {
        return Set.of("committed", "crash", "restart", "user", "certification", "too-old", "victim", "suspected",
                "lost", "gave-way-CERTIFIED", "gave-way-ASKED", "gave-way-RUNNING");
    }
}
