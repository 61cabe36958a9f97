package tutti.node;

import java.util.function.Consumer;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.runtime.Loop;

/**
 * Has what an engine answers done on a loop, from whatever thread it comes.
 *
 * @param success does what follows when it worked
 * @param failure does what follows when it did not
 */
record LoopCompletion<T>(Loop loop, Consumer<T> success, Consumer<EngineFailure> failure) implements Completion<T> {
    @Override
    public void succeeded(T value) {
        loop.execute(() -> success.accept(value));
    }

    @Override
    public void failed(EngineFailure cause) {
        loop.execute(() -> failure.accept(cause));
    }
}
