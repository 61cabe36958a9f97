package tutti.sim.machine;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import tutti.runtime.Loop;
import tutti.sim.kernel.Clock;
import tutti.sim.kernel.Label;
import tutti.sim.kernel.SimulationFailure;

/** A loop: each task is an event of its host, and begins when the time of the one before it is over. */
final class SimLoop extends Timeline implements Loop {
    private static final Timer NOTHING = () -> {};

    private final SimMachine machine;
    private final Label label;
    private final Consumer<Throwable> onFailure;
    private final Deque<Runnable> tasks = new ArrayDeque<>();
    private final Runnable turn = this::turn;
    private final Runnable next = this::next;
    private @Nullable Runnable atEndOfTask;
    /** True time at which the last task ends or has ended. */
    private long busyUntil;
    private boolean armed;
    private boolean closed;

    SimLoop(SimMachine machine, String name, Consumer<Throwable> onFailure) {
        this.machine = machine;
        this.label = Label.of("loop", machine.host().name() + " " + name);
        this.onFailure = onFailure;
    }

    Label label() {
        return label;
    }

    boolean isClosed() {
        return closed;
    }

    /** Has something done, on the loop, whenever a task has ended, at the end of its time. */
    void atEndOfTask(Runnable action) {
        atEndOfTask = action;
    }

    @Override
    public void execute(Runnable task) {
        if (closed || machine.isGone()) {
            return;
        }
        long ahead = machine.ahead();
        if (ahead == 0 || machine.current() == this) {
            add(task);
        } else {
            machine.later(ahead, label, () -> add(task));
        }
    }

    private void add(Runnable task) {
        if (!closed) {
            tasks.add(task);
            arm();
        }
    }

    @Override
    public void run(Runnable task) {
        boolean idle = machine.current() == null && !armed && tasks.isEmpty() && busyUntil <= machine.now();
        if (idle && !closed && !machine.isGone()) {
            perform(task);
        } else {
            execute(task);
        }
    }

    private void arm() {
        if (!armed && machine.current() != this) {
            armed = true;
            long now = machine.kernel().now();
            machine.kernel().schedule(Math.max(0, busyUntil - now) + machine.host().schedulingDelay(), label, turn);
        }
    }

    private void turn() {
        if (!machine.isDead()) {
            machine.host().enter(label, next);
        }
    }

    private void next() {
        armed = false;
        Runnable task = tasks.poll();
        if (task != null && !closed && !isKilled()) {
            perform(task);
        }
    }

    private void perform(Runnable task) {
        Timeline before = machine.enter(this);
        begin(0);
        try {
            task.run();
            if (atEndOfTask != null) {
                atEndOfTask.run();
            }
        } catch (SimulationFailure failure) {
            throw failure;
        } catch (Throwable thrown) {
            if (!machine.isGone()) {
                closed = true;
                onFailure.accept(thrown);
            }
        } finally {
            busyUntil = machine.now();
            machine.leave(before);
        }
        if (!tasks.isEmpty() && !closed) {
            arm();
        }
    }

    @Override
    public Timer schedule(long delayNanos, Runnable task) {
        if (closed || machine.isGone()) {
            return NOTHING;
        }
        Due due = new Due(task);
        due.timer = machine.host().after(machine.ahead(), delayNanos, label, due);
        return due;
    }

    private final class Due implements Timer, Runnable {
        private final Runnable task;
        private Clock.@Nullable Timer timer;

        Due(Runnable task) {
            this.task = task;
        }

        @Override
        public void run() {
            if (!machine.isDead()) {
                add(task);
            }
        }

        @Override
        public void cancel() {
            if (timer != null) {
                timer.cancel();
            }
        }
    }

    @Override
    public boolean isCurrent() {
        return machine.current() == this;
    }

    @Override
    public void close() {
        closed = true;
        tasks.clear();
    }

    @Override
    public String toString() {
        return label.toString();
    }
}
