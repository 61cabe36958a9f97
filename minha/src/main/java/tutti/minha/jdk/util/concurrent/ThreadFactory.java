package tutti.minha.jdk.util.concurrent;

import tutti.minha.jdk.lang.Thread;

/** The mirror of {@link java.util.concurrent.ThreadFactory}. */
@FunctionalInterface
public interface ThreadFactory {
    /** A thread that will run something and has not begun. */
    Thread newThread(Runnable task);
}
