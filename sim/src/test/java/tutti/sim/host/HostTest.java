package tutti.sim.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import tutti.sim.kernel.Clock;
import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Label;
import tutti.sim.thread.SimThread;
import tutti.sim.thread.SimThread;
import tutti.sim.thread.Threads;

class HostTest {
    private static final Label EVENT = Label.of("test", "event");

    private final Kernel kernel = new Kernel(1);
    private final Threads threads = new Threads(kernel);
    private final List<String> log = new ArrayList<>();

    @AfterEach
    void end() {
        threads.close();
    }

    private Host host(int cores) {
        HostConfig d = HostConfig.DEFAULT;
        Host host = new Host(kernel, threads, "n1", new HostConfig(cores, 1, 10, 0, 0, d.disk()));
        host.boot();
        return host;
    }

    private Runnable say(String what) {
        return () -> log.add(kernel.now() + " " + what);
    }

    private void at(long nanos, Runnable action) {
        kernel.schedule(nanos - kernel.now(), EVENT, action);
    }

    @Test
    void jobsShareACoreRoundRobin() {
        Host host = host(1);
        host.execute(25, say("long"));
        host.execute(5, say("short"));
        host.execute(15, say("middle"));
        kernel.run();
        // long 0-10, short 10-15, middle 15-25, long 25-35, middle 35-40, long 40-45
        assertEquals(List.of("15 short", "40 middle", "45 long"), log);
        assertEquals(45, host.busyNanos());
    }

    @Test
    void aLateJobCutsTheOneThatRunsAtTheEndOfItsQuantum() {
        Host host = host(1);
        host.execute(100, say("long"));
        at(33, () -> host.execute(5, say("short")));
        kernel.run();
        assertEquals(List.of("45 short", "105 long"), log);
    }

    @Test
    void coresWorkSideBySide() {
        Host host = host(3);
        for (int i = 0; i < 4; i++) {
            host.execute(10, say("job " + i));
        }
        assertEquals(1, host.queuedJobs());
        kernel.run();
        assertEquals(List.of("10 job 0", "10 job 1", "10 job 2", "20 job 3"), log);
    }

    @Test
    void costsAreDividedByTheSpeed() {
        Host host = new Host(kernel, threads, "fast", new HostConfig(1, 2, 10, 0, 0, HostConfig.DEFAULT.disk()));
        host.boot();
        host.execute(100, say("done"));
        kernel.run();
        assertEquals(List.of("50 done"), log);
    }

    @Test
    void aPausedHostStandsStillAndThenCatchesUpInOrder() {
        Host host = host(1);
        host.execute(20, say("job"));
        host.after(30, EVENT, say("timer a"));
        Clock.Timer cancelled = host.after(35, EVENT, say("cancelled"));
        host.after(40, EVENT, say("timer b"));
        host.spawn("sleeper", () -> {
            SimThread.sleep(45);
            say("thread").run();
        });
        at(15, host::pause);
        at(50, () -> host.enter(EVENT, say("from outside")));
        at(60, cancelled::cancel);
        at(100, host::resume);
        kernel.run();
        assertEquals(List.of("100 timer a", "100 timer b", "100 thread", "100 from outside", "105 job"), log);
    }

    @Test
    void aCrashedHostForgetsAndBootsAnew() {
        Host host = host(1);
        host.onBoot(h -> h.after(1, EVENT, say("program of life " + h.life())));
        host.execute(20, say("job"));
        host.after(30, EVENT, say("timer"));
        host.onCrash(say("crash action"));
        SimThread thread = host.spawn("sleeper", () -> SimThread.sleep(1000));
        at(10, host::crash);
        at(15, () -> {
            host.enter(EVENT, say("from outside"));
            assertThrows(IllegalStateException.class, () -> host.after(1, EVENT, () -> {}));
            assertThrows(IllegalStateException.class, () -> host.execute(1, () -> {}));
        });
        at(20, host::boot);
        kernel.run();
        assertEquals(List.of("10 crash action", "21 program of life 2"), log);
        assertEquals(SimThread.State.ENDED, thread.state());
        assertThrows(IllegalStateException.class, host::boot);
    }

    @Test
    void aSlowClockIsLateAndDoesNotKnow() {
        Host host = host(1);
        at(1000, () -> {
            host.setClockDrift(0.1);
            assertEquals(1000, host.now());
            host.after(100, EVENT, () -> {
                say("timer").run();
                assertEquals(1100, host.now());
                host.setClockDrift(0);
                assertEquals(1100, host.now());
            });
        });
        kernel.run();
        assertEquals(List.of("1110 timer"), log);
    }

    @Test
    void schedulingLatencyDelaysWhatIsScheduled() {
        Host host = host(1);
        host.setSchedulingLatency(new Distribution.Constant(7));
        host.after(10, EVENT, say("timer"));
        kernel.run();
        assertEquals(List.of("17 timer"), log);
    }

    @Test
    void threadsComputeOnTheirHost() {
        Host host = host(1);
        for (String name : List.of("a", "b")) {
            host.spawn(name, () -> {
                SimThread.await(done -> host.execute(15, done));
                say(name).run();
            });
        }
        kernel.run();
        assertEquals(List.of("25 a", "30 b"), log);
        assertFalse(host.toString().isEmpty());
        assertTrue(threads.alive().isEmpty());
    }
}
