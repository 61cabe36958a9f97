package tutti.macro.distribution;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Takes requests from a queue and puts them to execution (MacroDDB, section 4.2.3.4). One thread takes them, in the
 * queue's order; what may run beside others is given to a pool of threads that exist from the beginning. When all of them
 * are busy the distributor waits, and with it the queue.
 */
final class WorkDistributor {
    private final RequestQueue queue;
    private final Consumer<Request> handler;
    private final Consumer<Throwable> onFailure;
    private final Thread thread;
    private final ExecutorService pool;
    private final Semaphore free;

    /**
     * @param handler called for each request, in the distributor's thread
     * @param onFailure told what a handler or a task threw; then nothing more is distributed
     */
    WorkDistributor(String name, RequestQueue queue, int threads, Consumer<Request> handler,
            Consumer<Throwable> onFailure) {
        this.queue = queue;
        this.handler = handler;
        this.onFailure = onFailure;
        free = new Semaphore(threads);
        pool = Executors.newFixedThreadPool(threads, Thread.ofPlatform().daemon().name(name + "-", 1).factory());
        thread = Thread.ofPlatform().daemon().name(name).unstarted(this::distribute);
    }

    void start() {
        thread.start();
    }

    private void distribute() {
        try {
            for (var request = queue.getRequest(); request.isPresent(); request = queue.getRequest()) {
                handler.accept(request.get());
            }
        } catch (RuntimeException | Error e) {
            onFailure.accept(e);
        } finally {
            pool.shutdown();
        }
    }

    /** Runs a task in the pool, once a thread is free. Only from a handler. */
    void inParallel(Runnable task) {
        free.acquireUninterruptibly();
        pool.execute(() -> {
            try {
                task.run();
            } catch (RuntimeException | Error e) {
                onFailure.accept(e);
            } finally {
                free.release();
            }
        });
    }

    boolean isCurrentThread() {
        return Thread.currentThread().equals(thread);
    }

    /** Waits for the end, after the queue was closed. Returns false if the time is up. */
    boolean join(long nanos) {
        if (thread.getState() == Thread.State.NEW) {
            pool.shutdown();
            return true;
        }
        long deadline = System.nanoTime() + nanos;
        try {
            return isCurrentThread() || (thread.join(java.time.Duration.ofNanos(Math.max(1, nanos)))
                    && pool.awaitTermination(deadline - System.nanoTime(), TimeUnit.NANOSECONDS));
        } catch (InterruptedException _) {
            Thread.currentThread().interrupt();
            return false;
        }
    }
}
