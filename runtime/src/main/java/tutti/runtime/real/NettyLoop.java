package tutti.runtime.real;

import io.netty.channel.EventLoop;
import io.netty.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import tutti.runtime.Loop;

/** A {@link Loop} on the thread that also serves connections. */
final class NettyLoop implements Loop {
    private final EventLoop loop;
    private final Consumer<Throwable> onFailure;
    private volatile boolean closed;

    NettyLoop(EventLoop loop, Consumer<Throwable> onFailure) {
        this.loop = loop;
        this.onFailure = onFailure;
    }

    boolean isClosed() {
        return closed;
    }

    @Override
    public void execute(Runnable task) {
        if (closed) {
            return;
        }
        try {
            loop.execute(() -> enter(task));
        } catch (RejectedExecutionException shutDown) {
            closed = true;
        }
    }

    /** On the loop: does something, unless the loop is closed; closes it if that throws. */
    void enter(Runnable task) {
        if (closed) {
            return;
        }
        try {
            task.run();
        } catch (Throwable thrown) {
            closed = true;
            onFailure.accept(thrown);
        }
    }

    @Override
    public Timer schedule(long delayNanos, Runnable task) {
        if (closed) {
            return () -> {};
        }
        try {
            Future<?> timer = loop.schedule(() -> enter(task), delayNanos, TimeUnit.NANOSECONDS);
            return () -> timer.cancel(false);
        } catch (RejectedExecutionException shutDown) {
            closed = true;
            return () -> {};
        }
    }

    @Override
    public boolean isCurrent() {
        return loop.inEventLoop();
    }

    @Override
    public void close() {
        closed = true;
        if (!loop.inEventLoop() && !loop.isShuttingDown()) {
            try {
                loop.submit(() -> {}).syncUninterruptibly();
            } catch (RejectedExecutionException shutDown) {
                // Then nothing runs either.
                closed = true;
            }
        }
    }
}
