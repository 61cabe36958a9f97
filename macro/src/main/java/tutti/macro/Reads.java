package tutti.macro;

import java.util.Arrays;
import java.util.Comparator;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import tutti.macro.call.Invoker;
import tutti.macro.call.Operation;

/**
 * Where reads are executed that are not direct (MacroDDB, section 3.2.2): in the caller's thread, at the cheapest replica
 * that is free, or by the executors of as many replicas as the strategy says. From any thread.
 *
 * <p>
 * Costs are learnt from what is executed here: each replica executes an operation until its cost there is {@linkplain Costs#known known},
 * before the cheapest is chosen; now and then another one than the cheapest is tried, the more rarely the dearer it was when last seen.
 */
final class Reads {
    /** One of so many looks at the costs tries another replica than the best. */
    private static final int SAMPLES_PER_TRIAL = 16;
    /** A replica that is so many times dearer is tried more rarely in proportion. */
    private static final double TRIAL_COST_RATIO = 10;

    private final Scheduler.Settings settings;
    private final Invoker invoker;
    private final WorkQueue queue;
    private final ReplicaMembership membership;
    private final long limitNanos;

    Reads(Scheduler.Settings settings, Invoker invoker, WorkQueue queue, ReplicaMembership membership) {
        this.settings = settings;
        this.invoker = invoker;
        this.queue = queue;
        this.membership = membership;
        limitNanos = settings.callLimit().toNanos();
    }

    /** Reads in this thread: at the cheapest replica, or at the next if that one is busy, or at the first to be free. */
    @Nullable
    Object readHere(Operation operation, @Nullable Object[] arguments) throws Throwable {
        if (queue.closed()) {
            throw new IllegalStateException("the component is closed");
        }
        long required = queue.completed();
        UnlockActions after = new UnlockActions(membership);
        Replica chosen = cheapestReader(membership.active(), operation, required);
        long stamp = chosen.acquireRead(required, 0, queue, invoker, after);
        if (stamp == 0) {
            Waiting waiting = new Waiting(settings, operation, membership.active().length);
            while (stamp == 0) {
                for (Replica replica : byCost(membership.active(), operation, required)) {
                    stamp = replica.acquireRead(required, waiting.nextNanos(), queue, invoker, after);
                    if (stamp != 0) {
                        chosen = replica;
                        break;
                    }
                }
            }
        }
        try {
            return timedRead(chosen, operation, arguments);
        } finally {
            chosen.lock().unlock(stamp);
            queue.gotOn();
            after.run();
        }
    }

    private @Nullable Object timedRead(Replica replica, Operation operation, @Nullable Object[] arguments)
            throws Throwable {
        long begun = settings.clock().getAsLong();
        try {
            return operation.detach(invoker.invoke(operation.index(), replica.implementation(), arguments));
        } finally {
            replica.costs().observeRead(operation.index(), settings.clock().getAsLong() - begun);
        }
    }

    /** What a read would cost there, with what must be done before it; as if it were free as long as that is to be learnt. */
    private static double readCost(Replica replica, Operation operation, long required) {
        double own = replica.costs().known(operation.index()) ? replica.costs().nanos(operation.index()) : 0;
        return own * (1 + replica.reads().size())
                + Math.max(0, required - replica.applied()) * replica.costs().meanWriteNanos();
    }

    private Replica cheapestReader(Replica[] all, Operation operation, long required) {
        Replica cheapest = all[0];
        double least = Double.MAX_VALUE;
        for (Replica replica : all) {
            double cost = readCost(replica, operation, required);
            if (cost < least) {
                least = cost;
                cheapest = replica;
            }
        }
        if (!cheapest.costs().known(operation.index())) {
            return cheapest;
        }
        membership.best()[operation.index()] = cheapest;
        return all.length > 1 ? maybeAnother(all, cheapest, operation) : cheapest;
    }

    /** Now and then another replica than the cheapest, so that its cost stays known. */
    private static Replica maybeAnother(Replica[] all, Replica cheapest, Operation operation) {
        ThreadLocalRandom random = ThreadLocalRandom.current();
        int rarity = operation.detaches() ? Scheduler.READS_PER_SAMPLE * SAMPLES_PER_TRIAL : SAMPLES_PER_TRIAL;
        if (random.nextInt(rarity) != 0) {
            return cheapest;
        }
        Replica other = all[random.nextInt(all.length)];
        double ratio = other.costs().nanos(operation.index())
                / Math.max(1, cheapest.costs().nanos(operation.index()));
        return ratio <= TRIAL_COST_RATIO || random.nextDouble() < TRIAL_COST_RATIO / ratio ? other : cheapest;
    }

    private static Replica[] byCost(Replica[] all, Operation operation, long required) {
        Replica[] sorted = all.clone();
        double[] costs = new double[all.length];
        Integer[] places = new Integer[all.length];
        for (int i = 0; i < all.length; i++) {
            costs[i] = readCost(all[i], operation, required);
            places[i] = i;
        }
        Arrays.sort(places, Comparator.comparingDouble(i -> costs[i]));
        for (int i = 0; i < all.length; i++) {
            sorted[i] = all[places[i]];
        }
        return sorted;
    }

    /** Gives a read to the executors of as many replicas as the strategy says; the first answers. */
    Answer queueRead(Operation operation, @Nullable Object[] arguments, Answer answer, long required) {
        if (queue.closed()) {
            throw new IllegalStateException("the component is closed");
        }
        Replica[] all = membership.active();
        int wanted = Math.min(settings.readStrategy().replicas(), all.length);
        ReadTask task = new ReadTask(answer, operation, arguments, required);
        if (wanted == 1) {
            give(cheapestReader(all, operation, required), task);
            return answer;
        }
        int given = 0;
        Replica[] sorted = byCost(all, operation, required);
        for (int i = 0; i < sorted.length && given < wanted; i++) {
            if (sorted[i].reads().offer(task)) {
                given++;
                queued(sorted[i]);
            }
        }
        if (given == 0) {
            give(sorted[0], task);
        }
        return answer;
    }

    private void give(Replica replica, ReadTask task) {
        if (!replica.reads().offer(task)) {
            switch (settings.overflow()) {
                case CALLER_RUNS -> {
                    executeRead(replica, task);
                    return;
                }
                case WAIT -> {
                    if (!offerInTime(replica, task)) {
                        throw readsFull(replica);
                    }
                }
                case REJECT -> throw readsFull(replica);
            }
        }
        queued(replica);
    }

    private WorkQueueFullException readsFull(Replica replica) {
        return new WorkQueueFullException(queue.capacity() + " reads wait for replica " + replica.name()
                + ", which is all that the work queue takes");
    }

    private boolean offerInTime(Replica replica, ReadTask task) {
        boolean interrupted = false;
        long deadline = System.nanoTime() + limitNanos;
        try {
            while (true) {
                try {
                    return replica.reads().offer(task, Math.max(0, deadline - System.nanoTime()),
                            TimeUnit.NANOSECONDS);
                } catch (InterruptedException _) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private void queued(Replica replica) {
        ReplicaExecutor executor = replica.executor();
        if (executor == null || executor.ended()) {
            rescueReads(replica);
        } else {
            ReplicaMembership.wake(replica, true);
        }
    }

    /** Executes a queued read, unless another replica has answered it. By the executor, or by a caller who helps. */
    void executeRead(Replica replica, ReadTask task) {
        if (task.answer().given()) {
            return;
        }
        UnlockActions after = new UnlockActions(membership);
        long stamp = replica.acquireRead(task.required(), limitNanos, queue, invoker, after);
        if (stamp == 0) {
            elsewhere(replica, task);
            return;
        }
        Object value = null;
        Throwable thrown = null;
        try {
            value = timedRead(replica, task.operation(), task.arguments());
        } catch (Throwable e) {
            // The answer, whatever it is.
            thrown = e;
        } finally {
            replica.lock().unlock(stamp);
        }
        queue.gotOn();
        after.run();
        if (task.answer().give(value, thrown)) {
            task.answer().completeFuture();
        }
    }

    /** A replica was removed, or the component closed, while reads waited for it. */
    void rescueReads(Replica replica) {
        for (ReadTask task = replica.reads().poll(); task != null; task = replica.reads().poll()) {
            elsewhere(replica, task);
        }
    }

    private void elsewhere(Replica replica, ReadTask task) {
        if (task.answer().given()) {
            return;
        }
        try {
            if (replica.active() && !queue.closed()) {
                throw Waiting.timeout(settings, task.operation());
            }
            Answer _ = queueRead(task.operation(), task.arguments(), task.answer(), task.required());
        } catch (IllegalStateException | WorkQueueFullException | CallTimeoutException e) {
            if (task.answer().give(null, e)) {
                task.answer().completeFuture();
            }
        }
    }
}
