package tutti.sim.jdk.util.concurrent;

import tutti.sim.jdk.lang.Thread;

/** The mirror of {@link java.util.concurrent.ThreadFactory}. */
@FunctionalInterface
public interface ThreadFactory {
    /** A thread that will run something and has not begun. */
    Thread newThread(Runnable task);
}
