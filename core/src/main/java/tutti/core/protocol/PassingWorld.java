package tutti.core.protocol;

import java.util.function.Consumer;

/** Passes everything on that a protocol asks of its world: for whoever stands between the two and changes a part of it. */
public class PassingWorld extends UniformWorld {
    /** That is asked. */
    protected final ReplicaWorld world;

    /** In front of a world. */
    public PassingWorld(ReplicaWorld world) {
        this.world = world;
    }

    @Override
    protected void ask(Consumer<ReplicaWorld> effect) {
        effect.accept(world);
    }
}
