package tutti.sim.host;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Label;

class CpuPoolTest {
    private static final Label EVENT = Label.of("test", "event");

    private final Kernel kernel = new Kernel(1);
    private final CpuPool pool = new CpuPool(kernel, "h", 1, 10);
    private final List<String> log = new ArrayList<>();

    private CpuPool.Job job(long nanos, boolean real, String name) {
        return pool.execute(nanos, real, () -> log.add(name + " " + kernel.now()));
    }

    @Test
    void realCodeTakesTheCoreAtOnceAndTheOtherJobGoesOn() {
        job(25, false, "ordinary");
        kernel.schedule(3, EVENT, () -> job(4, true, "real"));
        kernel.run();
        assertEquals(List.of("real 7", "ordinary 29"), log);
        assertEquals(29, pool.busyNanos());
        assertEquals(4, pool.realNanos());
    }

    @Test
    void realCodeIsNotCutByRealCodeNorByOrdinaryJobs() {
        job(30, true, "first");
        job(5, true, "second");
        job(5, false, "ordinary");
        kernel.run();
        assertEquals(List.of("first 30", "second 35", "ordinary 40"), log);
    }

    @Test
    void aJobThatIsCancelledLeavesTheCoreToTheNext() {
        CpuPool.Job running = job(100, false, "running");
        CpuPool.Job waiting = job(100, false, "waiting");
        job(6, false, "last");
        kernel.schedule(4, EVENT, () -> {
            pool.cancel(running);
            pool.cancel(waiting);
            pool.cancel(running);
        });
        kernel.run();
        assertEquals(List.of("last 10"), log);
    }

    @Test
    void aJobThatEndsWhenRealCodeComesHasEnded() {
        job(5, false, "ordinary");
        kernel.schedule(5, EVENT, () -> job(2, true, "real"));
        kernel.run();
        assertEquals(List.of("ordinary 5", "real 7"), log);
    }
}
