package tutti.minha.proxy;

import java.lang.reflect.Method;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import tutti.minha.Machine;
import tutti.minha.Simulation;
import tutti.minha.jdk.lang.Thread;
import tutti.sim.kernel.Label;
import tutti.sim.kernel.SimulationFailure;
import tutti.sim.thread.SimThread;
import tutti.sim.thread.WaitList;

/**
 * Real code calls a simulated object. Each call is an event of the simulation, in which a process begins on the object's
 * machine that calls the object; when it has the result, the caller gets it (D5.1, section 2.4.2, "SimulationProxy").
 *
 * <p>
 * Who calls from outside runs the simulation by that, from the call to the result, and virtual time stands still between
 * calls; or, at a cost, goes on by what the caller did meanwhile. So a run is repeatable if the caller is and the cost does
 * not depend on what is measured. Who calls from a simulated thread, for example in a real object behind an
 * {@link ExitProxy}, waits there. Neither may an event call that no thread runs in.
 *
 * <p>
 * Thread rules: from outside one thread at a time.
 */
public final class EntryProxy {
    private static final String PROCESS = "entry";

    private final Object simulated;
    private final Machine machine;
    private final Cost cost;
    private final Label label;
    private @Nullable Watch outside;

    private EntryProxy(Object simulated, Machine machine, Cost cost, Label label) {
        this.simulated = simulated;
        this.machine = machine;
        this.cost = cost;
        this.label = label;
    }

    /** One call. */
    private static final class Call {
        private final WaitList waiting = new WaitList();
        private boolean over;
        private @Nullable Object result;
        private @Nullable Throwable thrown;
    }

    /**
     * What real code may call.
     *
     * @param type an interface
     * @param simulated the object that does the work; its methods may wait in virtual time
     * @param machine where it does
     * @param cost of what the caller does between two calls
     */
    public static <I> I of(Class<I> type, I simulated, Machine machine, Cost cost) {
        EntryProxy entry = new EntryProxy(simulated, machine, cost, Label.of(PROCESS, type.getName()));
        return Calls.proxy(type, "entry to " + type.getName(), (_, method, arguments) -> entry.call(method, arguments));
    }

    private @Nullable Object call(Method method, Object @Nullable [] arguments) throws Throwable {
        Call call = new Call();
        if (Thread.isSimulated()) {
            long begun = System.nanoTime();
            Thread.settle();
            begin(call, method, arguments);
            while (!call.over) {
                call.waiting.awaitUninterruptibly();
            }
            Watch.simulated(System.nanoTime() - begun);
        } else {
            fromOutside(call, method, arguments);
        }
        if (call.thrown != null) {
            throw call.thrown;
        }
        return call.result;
    }

    private void fromOutside(Call call, Method method, Object @Nullable [] arguments) {
        Simulation simulation = machine.simulation();
        if (outside != null) {
            simulation.runFor(Duration.ofNanos(cost.nanos(method, outside.nanos())));
        }
        simulation.kernel().schedule(0, label, () -> begin(call, method, arguments));
        simulation.run();
        if (!call.over) {
            throw new SimulationFailure("nothing is left to happen, and " + method + " has no result; threads:\n"
                    + simulation.describe(), simulation.kernel().now(), simulation.kernel().seed());
        }
        outside = new Watch();
    }

    private void begin(Call call, Method method, Object @Nullable [] arguments) {
        boolean stop = !Thread.isSimulated();
        machine.begin(PROCESS, _ -> {
            try {
                call.result = Calls.call(simulated, method, arguments);
            } catch (Throwable e) {
                if (SimThread.current().isKilled()) {
                    // The machine has crashed: nobody gets an answer.
                    return;
                }
                call.thrown = e;
            }
            Thread.settle();
            call.over = true;
            call.waiting.wakeAll();
            if (stop) {
                machine.simulation().kernel().stop();
            }
        });
    }
}
