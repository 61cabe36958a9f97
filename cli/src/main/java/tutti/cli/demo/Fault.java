package tutti.cli.demo;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.DoubleSupplier;
import tutti.cluster.Cluster;
import tutti.command.Failure;
import tutti.command.Screen;
import tutti.report.RunReport.Event;
import tutti.report.RunReport.EventKind;
import tutti.server.http.NodeStatus;

/**
 * Kills a node in the middle of a run, starts it again, and waits until it is where the others were when it was started.
 * Notes when each of these happened. Safe for several threads.
 */
final class Fault implements AutoCloseable {
    private static final Duration CATCH_UP_PATIENCE = Duration.ofMinutes(3);

    private final Cluster cluster;
    private final Screen screen;
    private final DoubleSupplier elapsedSeconds;
    private final List<Event> events = new ArrayList<>();
    private final ScheduledExecutorService clock = Executors
            .newSingleThreadScheduledExecutor(Thread.ofPlatform().daemon().name("fault").factory());
    private final CompletableFuture<Void> over = new CompletableFuture<>();
    private double restartedAt = Double.NaN;
    private double caughtUpAt = Double.NaN;

    /**
     * Begins to wait for its times.
     *
     * @param elapsedSeconds since the start of the run
     */
    Fault(Cluster cluster, DemoPlan plan, Screen screen, DoubleSupplier elapsedSeconds) {
        this.cluster = cluster;
        this.screen = screen;
        this.elapsedSeconds = elapsedSeconds;
        if (plan.victim().isEmpty()) {
            over.complete(null);
            return;
        }
        int victim = plan.victim().getAsInt();
        at(plan.killAfter(), () -> kill(victim));
        at(plan.restartAfter(), () -> restart(victim));
    }

    private void at(Duration after, Runnable what) {
        clock.schedule(() -> {
            try {
                what.run();
            } catch (RuntimeException e) {
                over.completeExceptionally(e);
            }
        }, after.toMillis(), TimeUnit.MILLISECONDS);
    }

    private void kill(int victim) {
        String name = cluster.nodes().get(victim).name();
        note(EventKind.DOWN, name + " killed", screen.bad("✗ " + name + " and its database are killed (SIGKILL)"));
        cluster.kill(victim);
    }

    private void restart(int victim) {
        String name = cluster.nodes().get(victim).name();
        long target = 0;
        for (int id = 0; id < cluster.nodes().size(); id++) {
            target = Math.max(target, cluster.status(id).map(status -> status.positions().known()).orElse(0L));
        }
        long mustReach = target;
        note(EventKind.RESTARTED, name + " restarted", screen.notice("↻ " + name + " is started again"));
        restartedAt = elapsedSeconds.getAsDouble();
        cluster.startNode(victim);
        NodeStatus now = cluster.await(victim, CATCH_UP_PATIENCE, "where the others were",
                status -> status.state() == NodeStatus.State.READY && status.positions().applied() >= mustReach);
        caughtUpAt = elapsedSeconds.getAsDouble();
        note(EventKind.CAUGHT_UP, name + " caught up", screen.good("✓ " + name + " has caught up at position "
                + now.positions().applied()));
        over.complete(null);
    }

    private void note(EventKind kind, String label, String line) {
        add(new Event(elapsedSeconds.getAsDouble(), kind, label));
        screen.line(line);
    }

    /** Notes that a node went away in another way. */
    void noteDeath(String label) {
        add(new Event(elapsedSeconds.getAsDouble(), EventKind.DOWN, label));
    }

    private synchronized void add(Event event) {
        events.add(event);
    }

    /** What happened so far, in order of time. */
    synchronized List<Event> events() {
        return List.copyOf(events);
    }

    /**
     * Waits until the node has caught up; returns at once if none was killed.
     *
     * @throws Failure if it does not
     */
    void awaitRecovery() throws InterruptedException {
        try {
            over.get(CATCH_UP_PATIENCE.toSeconds() * 2, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof Failure failure) {
                throw failure;
            }
            throw new Failure("bringing the node back failed: " + e.getCause().getMessage(), "", e);
        } catch (TimeoutException e) {
            throw new Failure("the node did not catch up", "its log says what it did", e);
        }
    }

    /** Seconds from the second start of the node until it had caught up. Asked after {@link #awaitRecovery}. */
    OptionalDouble recoverySeconds() {
        double seconds = caughtUpAt - restartedAt;
        return Double.isNaN(seconds) ? OptionalDouble.empty() : OptionalDouble.of(seconds);
    }

    @Override
    public void close() {
        clock.shutdownNow();
    }
}
