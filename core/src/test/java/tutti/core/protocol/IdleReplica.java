package tutti.core.protocol;

import java.util.function.Consumer;

/** A world that does nothing. */
public class IdleReplica extends UniformWorld {
    @Override
    protected void ask(Consumer<ReplicaWorld> effect) {
        // Nobody does it.
    }
}
