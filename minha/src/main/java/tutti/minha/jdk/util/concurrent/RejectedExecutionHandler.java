package tutti.minha.jdk.util.concurrent;

/** The mirror of {@link java.util.concurrent.RejectedExecutionHandler}. */
@FunctionalInterface
public interface RejectedExecutionHandler {
    /** There is no room for a task, or the executor was shut down. */
    void rejectedExecution(Runnable task, ThreadPoolExecutor executor);
}
