package tutti.node;

import java.util.function.Consumer;
import tutti.core.protocol.ReplicaWorld;
import tutti.core.protocol.UniformWorld;

/** A world of which nothing may be asked. */
final class NoWorld extends UniformWorld {
    @Override
    protected void ask(Consumer<ReplicaWorld> effect) {
        throw new AssertionError("nothing may be asked");
    }
}
