package tutti.node;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Engine;

/** Appliers that were opened, and those of them that have nothing to do. Of the replica's loop. */
final class ApplierPool implements AutoCloseable {
    private final Engine engine;
    private final List<Engine.Applier> opened = new ArrayList<>();
    private final ArrayDeque<Engine.Applier> idle = new ArrayDeque<>();

    ApplierPool(Engine engine) {
        this.engine = engine;
    }

    private Engine.Applier open() {
        Engine.Applier applier = engine.openApplier();
        opened.add(applier);
        return applier;
    }

    /** Opens so many more. */
    void open(int count) {
        for (int i = 0; i < count; i++) {
            idle.add(open());
        }
    }

    /** How many have nothing to do. */
    int idle() {
        return idle.size();
    }

    /** Takes one that has nothing to do, if there is one. */
    Engine.@Nullable Applier take() {
        return idle.poll();
    }

    /** Likewise, or opens one. */
    Engine.Applier takeOrOpen() {
        Engine.Applier taken = idle.poll();
        return taken == null ? open() : taken;
    }

    /** Gives one back. */
    void free(Engine.Applier applier) {
        idle.add(applier);
    }

    @Override
    public void close() {
        opened.forEach(Engine.Applier::close);
    }
}
