package tutti.core.flight;

import tutti.core.protocol.ReplicaWorld;

/** A protocol that holds a thread, which cannot be written into a file. */
final class Closed extends Flawed {
    private final Thread thread = new Thread();

    Closed(ReplicaWorld world) {
        super(world);
    }

    @Override
    public String toString() {
        return "closed, " + thread;
    }
}
