package tutti.minha.jdk.util.concurrent;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionService;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The mirror of {@link java.util.concurrent.ExecutorCompletionService}.
 *
 * @param <V> the results
 */
public class ExecutorCompletionService<V> implements CompletionService<V> {
    private final Executor executor;
    private final BlockingQueue<Future<V>> ended;

    /** Has tasks run by an executor. */
    public ExecutorCompletionService(Executor executor) {
        this(executor, new LinkedBlockingQueue<>());
    }

    /** Has tasks run by an executor, and puts them into a queue when they have ended. */
    public ExecutorCompletionService(Executor executor, BlockingQueue<Future<V>> queue) {
        this.executor = executor;
        this.ended = queue;
    }

    @Override
    public Future<V> submit(Callable<V> task) {
        FutureTask<V> future = new FutureTask<>(task) {
            @Override
            protected void done() {
                ended.add(this);
            }
        };
        executor.execute(future);
        return future;
    }

    @Override
    public Future<V> submit(Runnable task, @Nullable V result) {
        return submit(Executors.callable(task, result));
    }

    @Override
    public Future<V> take() throws InterruptedException {
        return ended.take();
    }

    @Override
    public @Nullable Future<V> poll() {
        return ended.poll();
    }

    @Override
    public @Nullable Future<V> poll(long timeout, TimeUnit unit) throws InterruptedException {
        return ended.poll(timeout, unit);
    }
}
