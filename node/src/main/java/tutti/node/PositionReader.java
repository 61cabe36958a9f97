package tutti.node;

import java.util.function.BooleanSupplier;

/** Somebody who looks at the database as it is at a position. */
@FunctionalInterface
public interface PositionReader {
    /**
     * All up to this position can be seen, and nothing behind it. On the replica's loop.
     *
     * @param begun to be called, from any thread, when it does not matter any more what becomes visible; answers false if that took
     *            so long that the node has gone on
     */
    void at(long position, BooleanSupplier begun);
}
