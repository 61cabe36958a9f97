package tutti.eval.calibrate;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import tutti.model.fit.Fits;

/**
 * How long a thread that wakes up waits for a processor: what the operating system's scheduler does with whoever has slept. A
 * scheduler that lets others finish a slice has it wait for half a slice on average where all processors compute; one that
 * prefers whoever has used less does not, and a modelled processor has to have a short quantum.
 *
 * @param idle how much later than it wanted a thread wakes up where processors have nothing else to do, the timer's slack included
 * @param busy the same where every processor is kept computing
 */
record WakingProbe(Fits idle, Fits busy) {
    private static final long SLEEP_NANOS = 200_000;
    private static final long COMPUTE_NANOS = 30_000;
    private static final int SAMPLES = 1000;
    /** However many have been seen, it ends then. */
    private static final long NANOS_MAX = 2_000_000_000;

    /** Measures, for some seconds at most. */
    static WakingProbe measure() throws InterruptedException {
        Fits idle = wakeups();
        List<Thread> computing = new ArrayList<>();
        try {
            for (int i = 0; i < Runtime.getRuntime().availableProcessors(); i++) {
                computing.add(Thread.ofPlatform().name("computing-" + i).daemon().start(() -> {
                    while (!Thread.currentThread().isInterrupted()) {
                        Thread.onSpinWait();
                    }
                }));
            }
            return new WakingProbe(idle, wakeups());
        } finally {
            computing.forEach(Thread::interrupt);
            for (Thread one : computing) {
                one.join();
            }
        }
    }

    private static Fits wakeups() {
        long[] late = new long[SAMPLES];
        int seen = 0;
        long begun = System.nanoTime();
        while (seen < SAMPLES && (seen == 0 || System.nanoTime() - begun < NANOS_MAX)) {
            long since = System.nanoTime();
            LockSupport.parkNanos(SLEEP_NANOS);
            long now = System.nanoTime();
            // Nobody interrupts it; a wake-up for no reason says nothing.
            late[seen] = Math.max(0, now - since - SLEEP_NANOS);
            seen++;
            while (System.nanoTime() - now < COMPUTE_NANOS) {
                Thread.onSpinWait();
            }
        }
        return Fits.of(Arrays.copyOf(late, seen));
    }
}
