package tutti.minha.example.plain;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.atomic.AtomicInteger;

/** A task every ten milliseconds, and after a hundred its end. */
public final class Timer {
    private static final int PERIOD = 10;
    private static final int END = 100;
    private static final AtomicInteger COUNT = new AtomicInteger();

    private Timer() {}

    /** Runs it; there are no arguments. */
    public static void main(String[] arguments) {
        ScheduledExecutorService executor = Executors.newSingleThreadScheduledExecutor();
        ScheduledFuture<?> task = executor.scheduleAtFixedRate(
                () -> System.out.println("task " + COUNT.incrementAndGet() + " at " + System.currentTimeMillis()),
                PERIOD, PERIOD, MILLISECONDS);
        executor.schedule(() -> {
            System.out.println("end at " + System.currentTimeMillis());
            task.cancel(true);
            executor.shutdown();
        }, END, MILLISECONDS);
    }
}
