package tutti.core.protocol.world;

import java.util.Set;
import java.util.SplittableRandom;
import tutti.core.protocol.ChosenProtocol;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.ReplicaWorld;

/**
 * A protocol that is to live in the test world.
 *
 * @param chosen what it claims, and how its messages are read
 * @param maker makes its replicas
 */
record Subject(ChosenProtocol chosen, Maker maker) {
    /** Makes the protocol of one replica; {@code knobs} is the same for all replicas of a world. */
    interface Maker {
        Protocol create(int node, Set<Integer> replicas, SplittableRandom knobs, ReplicaWorld world);
    }

    /** With the parameters that were chosen. */
    static Subject of(ChosenProtocol chosen) {
        return new Subject(chosen, (node, replicas, _, world) -> chosen.create(node, replicas, world));
    }

    /** The same with replicas that are made otherwise. */
    Subject with(Maker other) {
        return new Subject(chosen, other);
    }
}
