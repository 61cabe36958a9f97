package tutti.sim.world;

import java.util.function.Function;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.Replica;
import tutti.core.spi.Order;

/**
 * What is broken on purpose in a run, to see that checkers find it: stands between the parts and changes what passes, or asks the
 * world to do something wrong. Of one run only.
 */
public interface Mutation {
    /** Nothing is broken. */
    Mutation NONE = new Mutation() {};

    /**
     * Makes a replica's protocol.
     *
     * @param maker makes the right one for a world
     * @param replica the world
     */
    default Protocol protocol(int node, Function<Replica, Protocol> maker, Replica replica) {
        return maker.apply(replica);
    }

    /** Whether clients are told that their transaction has committed when it asks to commit. */
    default boolean answersEarly() {
        return false;
    }

    /** Whether the ideal order forgets its end when its first member crashes. */
    default boolean orderForgets() {
        return false;
    }

    /** Makes a replica's order, given the right one. */
    default Order order(int node, Order right) {
        return right;
    }
}
