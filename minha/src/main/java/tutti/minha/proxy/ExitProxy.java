package tutti.minha.proxy;

import java.lang.reflect.Method;
import org.jspecify.annotations.Nullable;
import tutti.minha.Machine;
import tutti.minha.jdk.lang.Thread;
import tutti.minha.jdk.util.concurrent.locks.ReentrantLock;
import tutti.sim.thread.WaitList;

/**
 * Simulated code calls a real object. The object's code runs while virtual time stands still; then a processor of its
 * machine is busy for what that cost, and then the caller gets the result. One call at a time: whoever calls meanwhile waits
 * until the first has its result (D5.1, section 2.4.2, "RealTimeProxy").
 *
 * <p>
 * Real code that waits for something real for more than half a minute is taken for stuck.
 */
public final class ExitProxy {
    private final Object real;
    private final Machine machine;
    private final Cost cost;
    private final ReentrantLock lock = new ReentrantLock(true);

    private ExitProxy(Object real, Machine machine, Cost cost) {
        this.real = real;
        this.machine = machine;
        this.cost = cost;
    }

    /**
     * What simulated threads may call.
     *
     * @param type an interface
     * @param real the object that does the work
     * @param machine whose processor it uses
     * @param cost of a call
     */
    public static <I> I of(Class<I> type, I real, Machine machine, Cost cost) {
        ExitProxy exit = new ExitProxy(real, machine, cost);
        return Calls.proxy(type, "exit to " + type.getName(), (_, method, arguments) -> exit.call(method, arguments));
    }

    private @Nullable Object call(Method method, Object @Nullable [] arguments) throws Throwable {
        Thread.settle();
        lock.lock();
        try {
            Watch watch = new Watch();
            try {
                return Calls.call(real, method, arguments);
            } finally {
                busy(cost.nanos(method, watch.nanos()));
            }
        } finally {
            lock.unlock();
        }
    }

    private void busy(long nanos) {
        boolean[] over = {false};
        WaitList waiting = new WaitList();
        machine.host().execute(nanos, () -> {
            over[0] = true;
            waiting.wakeAll();
        });
        while (!over[0]) {
            waiting.awaitUninterruptibly();
        }
    }
}
