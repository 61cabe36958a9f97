package tutti.sim.world;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.concurrent.Callable;
import java.util.concurrent.locks.ReentrantLock;
import tutti.core.spi.Engine.Applier;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Nanos;

/**
 * For suites that are written for threads that wait: a thread lets virtual time pass as fast as it can, and takes turns with
 * the test's calls by a lock.
 */
public final class VirtualTime implements AutoCloseable {
    private static final long SLICE_NANOS = Nanos.MILLI;

    private final ReentrantLock turn = new ReentrantLock(true);
    private final Thread time;
    private volatile boolean over;

    /** Begins. */
    public VirtualTime(Kernel kernel) {
        time = Thread.ofPlatform().start(() -> {
            while (!over) {
                turn.lock();
                try {
                    kernel.runUntil(kernel.now() + SLICE_NANOS);
                } finally {
                    turn.unlock();
                }
            }
        });
    }

    /** Does something while time stands still. */
    public <T> T inTurn(Callable<T> work) throws Exception {
        turn.lock();
        try {
            return work.call();
        } finally {
            turn.unlock();
        }
    }

    /** Likewise, with what throws nothing. */
    public void run(Runnable work) {
        turn.lock();
        try {
            work.run();
        } finally {
            turn.unlock();
        }
    }

    /** Something all of whose methods are called while time stands still, those of its appliers too. */
    public <T> T shared(Class<T> type, T object) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[]{type}, (_, method, arguments) -> {
            try {
                Object result = inTurn(() -> method.invoke(object, arguments));
                return result instanceof Applier applier ? shared(Applier.class, applier) : result;
            } catch (InvocationTargetException thrown) {
                throw thrown.getCause();
            }
        }));
    }

    @Override
    public void close() {
        over = true;
        try {
            time.join();
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
