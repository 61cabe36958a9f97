package tutti.eval;

import java.io.OutputStream;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLongArray;
import org.jspecify.annotations.Nullable;
import tutti.command.Screen;
import tutti.model.Costs;
import tutti.model.ModelRun;
import tutti.model.RunResult;
import tutti.model.TraceFile;
import tutti.model.scenario.ScenarioFile;
import tutti.sim.net.PacketCapture;

/** Makes runs of the model, several side by side, each on one thread, and shows how far they are. */
final class ModelRuns {
    private static final int BAR_WIDTH = 30;
    private static final long SHOW_EVERY_NANOS = 200_000_000;

    private final Screen screen;
    private final int threads;

    /**
     * One run.
     *
     * @param name for the person who waits
     * @param scenario what is run
     * @param seed of the run
     */
    record Job(String name, ScenarioFile scenario, long seed) {}

    /** @param threads runs side by side, at least 1 */
    ModelRuns(Screen screen, int threads) {
        this.screen = screen;
        this.threads = threads;
    }

    /** The results, in the order of the jobs. */
    List<RunResult> run(List<Job> jobs) throws InterruptedException {
        return run(jobs, new TraceFile(0), List.of(), null, null);
    }

    /**
     * The results, in the order of the jobs.
     *
     * @param trace where a timeline of the only job goes
     * @param replayed what a measured run has taken down
     * @param measured where the measurements of the only job go, if any
     * @param packets where the packets of the only job go, if anywhere
     */
    List<RunResult> run(List<Job> jobs, TraceFile trace, List<Costs> replayed, @Nullable List<Costs> measured,
            @Nullable OutputStream packets) throws InterruptedException {
        AtomicLongArray done = new AtomicLongArray(jobs.size());
        AtomicInteger ended = new AtomicInteger();
        List<RunResult> results = new ArrayList<>();
        try (ExecutorService executor = Executors.newFixedThreadPool(threads)) {
            List<Future<RunResult>> futures = new ArrayList<>();
            for (int i = 0; i < jobs.size(); i++) {
                int index = i;
                Job job = jobs.get(i);
                futures.add(executor.submit(() -> {
                    ModelRun run = new ModelRun(job.scenario.config(), job.seed, trace, replayed);
                    if (packets != null) {
                        run.capture(new PacketCapture(job.scenario.config().topology().names(), packets));
                    }
                    run.onProgress(count -> done.set(index, count));
                    RunResult result = run.run();
                    if (measured != null) {
                        measured.addAll(run.costs());
                    }
                    done.set(index, job.scenario.config().length().transactions());
                    ended.incrementAndGet();
                    return result;
                }));
            }
            try {
                watch(jobs, futures, done, ended);
                for (Future<RunResult> future : futures) {
                    results.add(future.get());
                }
            } catch (ExecutionException failed) {
                executor.shutdownNow();
                if (failed.getCause() instanceof RuntimeException cause) {
                    throw cause;
                }
                throw new IllegalStateException(failed.getCause());
            }
        }
        return results;
    }

    private void watch(List<Job> jobs, List<Future<RunResult>> futures, AtomicLongArray done, AtomicInteger ended)
            throws InterruptedException {
        long began = System.nanoTime();
        while (futures.stream().anyMatch(future -> !future.isDone())) {
            if (futures.stream().anyMatch(future -> future.state() == Future.State.FAILED)) {
                break;
            }
            long all = 0;
            long counted = 0;
            Map<String, Long> now = new LinkedHashMap<>();
            for (int i = 0; i < jobs.size(); i++) {
                long wanted = jobs.get(i).scenario.config().length().transactions();
                all += wanted;
                counted += Math.min(wanted, done.get(i));
                if (done.get(i) > 0 && !futures.get(i).isDone()) {
                    now.put(jobs.get(i).name, 100 * done.get(i) / wanted);
                }
            }
            int full = (int) (BAR_WIDTH * counted / Math.max(1, all));
            List<String> lines = new ArrayList<>();
            lines.add(String.format(Locale.ROOT, "[%s%s] %d of %d runs, %d%% of all transactions, %.0f s",
                    "=".repeat(full), " ".repeat(BAR_WIDTH - full), ended.get(), jobs.size(),
                    100 * counted / Math.max(1, all), (System.nanoTime() - began) / 1e9));
            now.forEach((name, percent) -> lines.add("  " + name + ": " + percent + "%"));
            screen.live(lines);
            Thread.sleep(SHOW_EVERY_NANOS / 1_000_000);
        }
        screen.live(List.of());
    }
}
