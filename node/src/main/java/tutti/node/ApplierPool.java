package tutti.node;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Engine;

/**
 * Appliers that were opened, and those of them that have nothing to do. Of the replica's loop.
 *
 * <p>
 * How many may work side by side can change at any time. More are opened at once. Of too many none is taken away from what it
 * does, or closed: whoever {@linkplain #hasSpare asks for a spare one} gets none until few enough work. Those that {@link #takeOrOpen} has opened
 * are beyond that number.
 */
final class ApplierPool implements AutoCloseable {
    private final Engine engine;
    private final List<Engine.Applier> opened = new ArrayList<>();
    private final ArrayDeque<Engine.Applier> idle = new ArrayDeque<>();
    private int workingMax;
    /** The highest limit so far: so many were opened for it. */
    private int limited;

    ApplierPool(Engine engine) {
        this.engine = engine;
    }

    private Engine.Applier open() {
        Engine.Applier applier = engine.openApplier();
        opened.add(applier);
        return applier;
    }

    /** So many may work side by side from now on, at least 1. */
    void limit(int count) {
        workingMax = count;
        for (; limited < count; limited++) {
            idle.add(open());
        }
    }

    /** Whether one can apply what two slots have changed in one engine transaction. */
    boolean together(Slot one, Slot other) {
        return engine.together(one.writes(), other.writes());
    }

    /** Whether one has nothing to do. */
    boolean hasIdle() {
        return !idle.isEmpty();
    }

    /** Whether one may begin, and another one is left that has nothing to do. */
    boolean hasSpare() {
        return idle.size() - (limited - workingMax) > 1;
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
