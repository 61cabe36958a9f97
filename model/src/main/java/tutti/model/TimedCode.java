package tutti.model;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import tutti.sim.host.CpuPool;

/**
 * Real code of a site that is charged what it takes (D5.1, section 2.1.3): told events one at a time; what it asks for during
 * an event is carried out when the time that the event has taken has passed, and the next event is told then.
 */
final class TimedCode {
    private final CpuPool cpu;
    private final CodeCharge charge;
    private final Runnable after;
    private final ArrayDeque<Runnable> events = new ArrayDeque<>();
    private List<Runnable> effects = new ArrayList<>();
    private boolean busy;

    /** @param after what follows when the effects of an event have been carried out */
    TimedCode(CpuPool cpu, CodeCharge charge, Runnable after) {
        this.cpu = cpu;
        this.charge = charge;
        this.after = after;
    }

    /** Has the code told an event when it has been told all that came before. */
    void tell(Runnable event) {
        events.add(event);
        work();
    }

    /** What the code asks for during an event. */
    void effect(Runnable effect) {
        effects.add(effect);
    }

    private void work() {
        if (!busy && !events.isEmpty()) {
            busy = true;
            long nanos = Math.max(1, charge.run(ModelReplica.Charge.EVENT, 0, events.remove()));
            cpu.execute(nanos, true, () -> {
                List<Runnable> asked = effects;
                effects = new ArrayList<>();
                asked.forEach(Runnable::run);
                busy = false;
                after.run();
                work();
            });
        }
    }
}
