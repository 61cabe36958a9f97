package tutti.node;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import tutti.core.spi.Engine;

/** Executors of whole requests, made when there is no idle one. Of the replica's loop. */
final class ExecutorPool {
    private final Engine engine;
    private final ArrayDeque<Engine.Executor> idle = new ArrayDeque<>();
    private final List<Engine.Executor> all = new ArrayList<>();

    ExecutorPool(Engine engine) {
        this.engine = engine;
    }

    Engine.Executor take() {
        Engine.Executor executor = idle.poll();
        if (executor == null) {
            executor = engine.openExecutor();
            all.add(executor);
        }
        return executor;
    }

    /** One that holds nothing. */
    void free(Engine.Executor executor) {
        idle.add(executor);
    }

    void close() {
        all.forEach(Engine.Executor::close);
    }
}
