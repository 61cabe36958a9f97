package tutti.sim.machine;

import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;
import tutti.runtime.Background;
import tutti.runtime.Machine;
import tutti.sim.kernel.Label;
import tutti.sim.kernel.SimulationFailure;

/** Work on a line of its own: done within one event, and over when the time that it has used is. */
final class SimBackground extends Timeline implements Background {
    private final SimMachine machine;
    private final Machine.Work work;
    private @Nullable Exception failure;
    private boolean begun;
    /** True time at which it ends. */
    private long end = Long.MAX_VALUE;

    SimBackground(SimMachine machine, String name, Machine.Work work) {
        this.machine = machine;
        this.work = work;
        if (!machine.isGone()) {
            Label label = Label.of("background", machine.host().name() + " " + name);
            machine.later(machine.ahead() + machine.host().schedulingDelay(), label, this::begin);
        }
    }

    private void begin() {
        if (!begun) {
            perform(0);
        }
    }

    private void perform(long ahead) {
        begun = true;
        Timeline before = machine.enter(this);
        begin(ahead);
        try {
            work.run();
        } catch (SimulationFailure thrown) {
            throw thrown;
        } catch (Exception thrown) {
            failure = thrown;
        } catch (Throwable thrown) {
            failure = new ExecutionException(thrown);
        } finally {
            end = isKilled() ? Long.MAX_VALUE : machine.now();
            machine.leave(before);
        }
    }

    @Override
    public boolean isDone() {
        return begun && end <= machine.now();
    }

    @Override
    public @Nullable Exception failure() {
        return isDone() ? failure : null;
    }

    @Override
    public void join() {
        if (!begun && !machine.isGone()) {
            perform(machine.ahead());
        }
        if (end != Long.MAX_VALUE) {
            machine.pass(Math.max(0, end - machine.now()));
        }
    }
}
