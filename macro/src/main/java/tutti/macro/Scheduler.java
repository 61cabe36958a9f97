package tutti.macro;

import java.time.Duration;
import java.util.Arrays;
import java.util.Comparator;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import tutti.macro.call.CallFactory;
import tutti.macro.call.DirectRead;
import tutti.macro.call.Dispatcher;
import tutti.macro.call.Invoker;
import tutti.macro.call.Operation;

/**
 * Decides where each call goes (MacroDDB, sections 3.2.1 and 3.2.2): to a replica at once, in the caller's thread, or to
 * the executors.
 *
 * <p>
 * Costs are learnt by timing one direct read out of {@link #READS_PER_SAMPLE}, which is also when the best replica of the
 * operation is chosen anew; now and then another replica is tried, the more rarely the dearer it was when last seen.
 */
final class Scheduler implements Dispatcher {
    private static final int READS_PER_SAMPLE = 64;
    /** One of so many looks at the costs tries another replica than the best. */
    private static final int SAMPLES_PER_TRIAL = 16;
    /** A replica that is so many times dearer is tried more rarely in proportion. */
    private static final double TRIAL_COST_RATIO = 10;

    /** What a component is built from; see {@link MacroComponent.Builder} for the meaning of each. */
    record Settings(ReadStrategy readStrategy, @Nullable Voting voting, Execution execution, int queueCapacity,
            OverflowPolicy overflow, Duration callLimit, ThreadFactory threads, ReplicaFault.Listener faults) {}

    private final Settings settings;
    private final CallFactory calls;
    private final Invoker invoker;
    private final WorkQueue queue;
    private final long limitNanos;
    private final boolean direct;
    private final AtomicBoolean watching = new AtomicBoolean();

    private volatile Replica[] active = {};
    /** The best replica of each operation when it was last looked for; a hint. */
    private final @Nullable Replica[] best;

    Scheduler(Settings settings, CallFactory calls) {
        this.settings = settings;
        this.calls = calls;
        invoker = calls.invoker();
        queue = new WorkQueue(settings.queueCapacity());
        limitNanos = settings.callLimit().toNanos();
        direct = settings.voting() == null && settings.execution() == Execution.CALLER
                && settings.readStrategy().replicas() == 1;
        best = new Replica[calls.table().operations().size()];
    }

    Invoker invoker() {
        return invoker;
    }

    WorkQueue queue() {
        return queue;
    }

    @Override
    public @Nullable DirectRead beginRead(Operation operation) {
        if (!direct) {
            return null;
        }
        Replica replica = best[operation.index()];
        if (replica == null || ThreadLocalRandom.current().nextInt(READS_PER_SAMPLE) == 0) {
            return null;
        }
        return replica.tryBeginRead(queue) ? replica : null;
    }

    @Override
    public @Nullable Object call(Operation operation, @Nullable Object[] arguments) throws Throwable {
        Voting voting = settings.voting();
        if (voting != null) {
            Ballot ballot = new Ballot(operation, arguments, null, voting);
            append(ballot);
            wakeAll(true);
            return await(ballot, operation);
        }
        if (!operation.reads()) {
            return write(operation, arguments);
        }
        if (direct) {
            return readHere(operation, arguments);
        }
        return await(queueRead(operation, arguments, new Answer(null), queue.completed()), operation);
    }

    private @Nullable Object await(Answer answer, Operation operation) throws Throwable {
        if (!answer.await(System.nanoTime() + limitNanos)) {
            throw timeout(operation);
        }
        return answer.get();
    }

    private CallTimeoutException timeout(Operation operation) {
        return new CallTimeoutException(operation + " had no answer within " + settings.callLimit().toMillis()
                + " ms; a write may yet take effect");
    }

    /** An asynchronous call. Reads see the writes that were called, here or anywhere, before them. */
    CompletableFuture<@Nullable Object> callAsync(Operation operation, @Nullable Object[] arguments) {
        CompletableFuture<@Nullable Object> future = new CompletableFuture<>();
        Voting voting = settings.voting();
        if (operation.reads() && voting == null) {
            queueRead(operation, arguments, new Answer(future), queue.sequenced());
        } else {
            append(voting == null
                    ? new SequencedCall(operation, arguments, future)
                    : new Ballot(operation, arguments, future, voting));
            wakeAll(true);
        }
        return future;
    }

    // Writes

    private @Nullable Object write(Operation operation, @Nullable Object[] arguments) throws Throwable {
        SequencedCall call = new SequencedCall(operation, arguments, null);
        append(call);
        if (settings.execution() == Execution.EXECUTOR) {
            wakeAll(true);
            return await(call, operation);
        }
        lead(call);
        return call.get();
    }

    /**
     * Brings one replica up to the call, unless somebody else does it: the cheapest, or the next if that one is busy. The
     * others follow by their executors.
     */
    private void lead(SequencedCall call) {
        Aftermath after = new Aftermath(this);
        Replica leader = cheapestWriter(call.operation);
        long stamp = leader.acquireExclusively(0);
        if (stamp != 0) {
            advance(leader, stamp, call, after);
        }
        if (!call.given()) {
            Waiting waiting = new Waiting(call.operation);
            while (!call.given()) {
                for (Replica replica : active) {
                    stamp = call.given() ? 0 : replica.acquireExclusively(waiting.nextNanos());
                    if (stamp != 0) {
                        leader = replica;
                        advance(replica, stamp, call, after);
                    }
                }
            }
        }
        for (Replica replica : active) {
            if (!replica.equals(leader)) {
                wake(replica, false);
            }
        }
    }

    private void advance(Replica leader, long stamp, SequencedCall call, Aftermath after) {
        try {
            leader.advance(call.position, queue, invoker, after);
        } finally {
            leader.lock().unlockWrite(stamp);
        }
        queue.gotOn();
        after.run();
    }

    /**
     * How long to wait for a replica's lock before another replica is looked at: not at all at first, then longer and
     * longer, until the call has taken as long as it may.
     */
    private final class Waiting {
        private static final long FIRST_NANOS = 50_000;
        private static final long LONGEST_NANOS = 5_000_000;

        private final Operation operation;
        private final long deadline = System.nanoTime() + limitNanos;
        private int looks = active.length;
        private long nanos = FIRST_NANOS;

        Waiting(Operation operation) {
            this.operation = operation;
        }

        long nextNanos() {
            if (looks-- > 0) {
                return 0;
            }
            long left = deadline - System.nanoTime();
            if (left <= 0) {
                throw timeout(operation);
            }
            nanos = Math.min(LONGEST_NANOS, nanos + nanos / 2);
            return Math.min(nanos, left);
        }
    }

    private Replica cheapestWriter(Operation operation) {
        Replica[] all = active;
        Replica cheapest = all[0];
        double least = Double.MAX_VALUE;
        for (Replica replica : all) {
            double cost = (queue.sequenced() - replica.applied()) * replica.costs().meanWriteNanos()
                    + replica.costs().nanos(operation.index());
            if (cost < least) {
                least = cost;
                cheapest = replica;
            }
        }
        return cheapest;
    }

    private void append(SequencedCall call) {
        queue.append(call, new WorkQueue.WhenFull() {
            private long deadline;

            @Override
            public void makeRoom() {
                if (settings.voting() != null && excludeLaggard()) {
                    return;
                }
                if (deadline == 0) {
                    deadline = System.nanoTime() + limitNanos;
                }
                wakeAll(true);
                boolean room = switch (settings.overflow()) {
                    case REJECT -> false;
                    case WAIT -> queue.awaitRoom(deadline);
                    case CALLER_RUNS -> help(deadline);
                };
                if (!room) {
                    throw new WorkQueueFullException("replica " + queue.slowest().name() + " is " + queue.capacity()
                            + " calls behind, which is all that the work queue takes");
                }
            }
        });
    }

    /** With the queue's lock held, which is given up meanwhile. */
    private boolean help(long deadline) {
        Replica slowest = queue.slowest();
        queue.lock().unlock();
        try {
            long stamp = slowest.active() ? slowest.acquireExclusively(Math.max(1, deadline - System.nanoTime())) : 0;
            if (stamp != 0) {
                Aftermath after = new Aftermath(this);
                try {
                    slowest.advance(slowest.applied() + queue.capacity() / 2, queue, invoker, after);
                } finally {
                    slowest.lock().unlockWrite(stamp);
                }
                after.run();
                return true;
            }
        } finally {
            queue.lock().lock();
        }
        return slowest.active() ? false : queue.awaitRoom(deadline);
    }

    /** A minority that fills the queue is left out. With the queue's lock held. */
    private boolean excludeLaggard() {
        Replica slowest = queue.slowest();
        long others = Arrays.stream(active).filter(r -> !r.equals(slowest))
                .filter(r -> queue.sequenced() - r.applied() < queue.capacity()).count();
        if (!slowest.active() || others <= active.length / 2) {
            return false;
        }
        Aftermath after = new Aftermath(this);
        boolean excluded = exclude(slowest, after);
        CompletableFuture.runAsync(() -> {
            after.run();
            settings.faults().found(new ReplicaFault(slowest.name(), ReplicaFault.Kind.TOO_SLOW, "",
                    slowest.applied() + 1, "it is " + queue.capacity() + " calls behind", true));
        });
        return excluded;
    }

    // Reads

    /** Reads in this thread: at the cheapest replica, or at the next if that one is busy, or at the first to be free. */
    private @Nullable Object readHere(Operation operation, @Nullable Object[] arguments) throws Throwable {
        if (queue.closed()) {
            throw new IllegalStateException("the component is closed");
        }
        long required = queue.completed();
        Aftermath after = new Aftermath(this);
        Replica chosen = cheapestReader(active, operation, required);
        long stamp = chosen.acquireRead(required, 0, queue, invoker, after);
        if (stamp == 0) {
            Waiting waiting = new Waiting(operation);
            while (stamp == 0) {
                for (Replica replica : byCost(active, operation, required)) {
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
        long begun = System.nanoTime();
        try {
            return operation.detach(invoker.invoke(operation.index(), replica.implementation(), arguments));
        } finally {
            replica.costs().observeRead(operation.index(), System.nanoTime() - begun);
        }
    }

    /** What a read would cost there, with what must be done before it. */
    private static double readCost(Replica replica, Operation operation, long required) {
        double own = replica.costs().nanos(operation.index());
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
        best[operation.index()] = cheapest;
        return all.length > 1 ? maybeAnother(all, cheapest, operation) : cheapest;
    }

    /** Now and then another replica than the cheapest, so that its cost stays known. */
    private static Replica maybeAnother(Replica[] all, Replica cheapest, Operation operation) {
        ThreadLocalRandom random = ThreadLocalRandom.current();
        int rarity = operation.detaches() ? READS_PER_SAMPLE * SAMPLES_PER_TRIAL : SAMPLES_PER_TRIAL;
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
    private Answer queueRead(Operation operation, @Nullable Object[] arguments, Answer answer, long required) {
        if (queue.closed()) {
            throw new IllegalStateException("the component is closed");
        }
        Replica[] all = active;
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
            wake(replica, true);
        }
    }

    /** Executes a queued read, unless another replica has answered it. By the executor, or by a caller who helps. */
    void executeRead(Replica replica, ReadTask task) {
        if (task.answer().given()) {
            return;
        }
        Aftermath after = new Aftermath(this);
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
                throw timeout(task.operation());
            }
            Answer _ = queueRead(task.operation(), task.arguments(), task.answer(), task.required());
        } catch (IllegalStateException | WorkQueueFullException | CallTimeoutException e) {
            if (task.answer().give(null, e)) {
                task.answer().completeFuture();
            }
        }
    }

    // Replicas

    private void wakeAll(boolean urgent) {
        for (Replica replica : active) {
            wake(replica, urgent);
        }
    }

    private static void wake(Replica replica, boolean urgent) {
        ReplicaExecutor executor = replica.executor();
        if (executor != null) {
            executor.wake(urgent);
        }
    }

    Replica replica(String name, Object implementation, boolean exclusiveReads, ReplicaStatus.State state) {
        return new Replica(name, implementation, exclusiveReads, calls.table().operations().size(),
                settings.queueCapacity(), state);
    }

    /** Begins to use a replica whose state is complete. */
    void activate(Replica replica) {
        ReplicaExecutor executor = new ReplicaExecutor(replica, queue, this, settings.threads(),
                "macro-" + calls.table().type().getSimpleName() + "-" + replica.name());
        replica.executor(executor);
        queue.lock().lock();
        try {
            replica.become(ReplicaStatus.State.ACTIVE);
            activesChanged();
        } finally {
            queue.lock().unlock();
        }
        executor.start();
    }

    private void activesChanged() {
        active = Arrays.stream(queue.members()).filter(Replica::active).toArray(Replica[]::new);
        Arrays.fill(best, null);
    }

    /** An active replica to copy from: one without faults, and the most recent. */
    Replica donor() {
        return Arrays.stream(active).min(Comparator.comparingInt(Replica::faults)
                .thenComparing(Replica::applied, Comparator.reverseOrder())).orElseThrow();
    }

    /** Goes on without a replica. Returns false if it is the last or is gone already. */
    boolean exclude(Replica replica, Aftermath after) {
        queue.lock().lock();
        try {
            if ((replica.active() && active.length == 1) || !queue.leave(replica)) {
                return false;
            }
            replica.become(ReplicaStatus.State.REMOVED);
            activesChanged();
            for (long position = replica.applied() + 1; position <= queue.sequenced(); position++) {
                SequencedCall call = queue.at(position);
                if (call != null) {
                    call.withdrawn(replica, after);
                    if (call.given()) {
                        after.answered(call);
                    }
                }
            }
        } finally {
            queue.lock().unlock();
        }
        wake(replica, true);
        return true;
    }

    // Faults

    /** No lock may be held. */
    void faultFound(ReplicaFault fault) {
        Replica faulty = Arrays.stream(queue.members()).filter(m -> m.name().equals(fault.replica())).findFirst()
                .orElse(null);
        boolean excluded = false;
        if (faulty != null) {
            int faults = faulty.countFault();
            Voting voting = settings.voting();
            if (voting != null && faults >= voting.excludeAfterFaults()) {
                Aftermath after = new Aftermath(this);
                excluded = exclude(faulty, after);
                after.run();
            }
        }
        settings.faults().found(new ReplicaFault(fault.replica(), fault.kind(), fault.operation(), fault.position(),
                fault.detail(), excluded));
    }

    /** Looks after a while whether replicas still owe their votes; one ballot is watched at a time. */
    void watch(Ballot ballot) {
        Voting voting = settings.voting();
        if (voting == null || ballot.late().isEmpty() || !watching.compareAndSet(false, true)) {
            return;
        }
        CompletableFuture.delayedExecutor(voting.slowAfter().toNanos(), TimeUnit.NANOSECONDS).execute(() -> {
            watching.set(false);
            if (queue.closed()) {
                return;
            }
            for (Replica late : ballot.late()) {
                faultFound(new ReplicaFault(late.name(), ReplicaFault.Kind.TOO_SLOW, ballot.operation.toString(),
                        ballot.position, "it has not answered " + voting.slowAfter().toMillis()
                                + " ms after the majority",
                        false));
            }
            watch(ballot);
        });
    }
}
