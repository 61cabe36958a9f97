package tutti.core.protocol;

import java.util.function.Consumer;

/** Passes everything on that a protocol asks of its world: for whoever stands between the two and changes a part of it. */
public class PassingReplica extends ReplicaAdapter {
    /** That is asked. */
    protected final Replica world;

    /** In front of a world. */
    public PassingReplica(Replica world) {
        this.world = world;
    }

    @Override
    protected void ask(Consumer<Replica> effect) {
        effect.accept(world);
    }
}
