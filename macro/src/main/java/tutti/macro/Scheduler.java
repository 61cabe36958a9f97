package tutti.macro;

import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.LongSupplier;
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
 * One direct read out of {@link #READS_PER_SAMPLE} goes through {@link Reads}, where its cost is observed and the best
 * replica of the operation chosen anew.
 */
final class Scheduler implements Dispatcher {
    static final int READS_PER_SAMPLE = 64;

    /** What a component is built from; see {@link MacroComponent.Builder} for the meaning of each. */
    record Settings(ReadStrategy readStrategy, @Nullable Voting voting, Execution execution, int queueCapacity,
            OverflowPolicy overflow, Duration callLimit, ThreadFactory threads, ReplicaFault.Listener faults,
            LongSupplier clock) {}

    private final Settings settings;
    private final CallFactory calls;
    private final Invoker invoker;
    private final WorkQueue queue;
    private final ReplicaMembership membership;
    private final Reads reads;
    private final long limitNanos;
    private final boolean direct;
    /** The membership's. */
    private final @Nullable Replica[] best;

    Scheduler(Settings settings, CallFactory calls) {
        this.settings = settings;
        this.calls = calls;
        invoker = calls.invoker();
        queue = new WorkQueue(settings.queueCapacity());
        membership = new ReplicaMembership(settings, calls, queue);
        reads = new Reads(settings, invoker, queue, membership);
        best = membership.best();
        limitNanos = settings.callLimit().toNanos();
        direct = settings.voting() == null && settings.execution() == Execution.CALLER
                && settings.readStrategy().replicas() == 1;
    }

    Invoker invoker() {
        return invoker;
    }

    WorkQueue queue() {
        return queue;
    }

    ReplicaMembership membership() {
        return membership;
    }

    Reads reads() {
        return reads;
    }

    /** What stands for the component where its interface says nothing about text. */
    @Override
    public String toString() {
        return "Macro-component of " + calls.table().type().getName() + " "
                + Arrays.stream(membership.active()).map(Replica::name).toList();
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
        return operation.present(execute(operation, arguments));
    }

    private @Nullable Object execute(Operation operation, @Nullable Object[] arguments) throws Throwable {
        refuseFromWithin(operation);
        Voting voting = settings.voting();
        if (voting != null) {
            Ballot ballot = new Ballot(operation, arguments, null, voting);
            append(ballot);
            membership.wakeAll(true);
            return await(ballot, operation);
        }
        if (!operation.reads()) {
            return write(operation, arguments);
        }
        if (direct) {
            return reads.readHere(operation, arguments);
        }
        return await(reads.queueRead(operation, arguments, new Answer(null), queue.completed()), operation);
    }

    /**
     * An implementation that calls its own component would wait for itself; and each replica would make the call, so that
     * it would be executed once for each.
     */
    private void refuseFromWithin(Operation operation) {
        Thread caller = Thread.currentThread();
        for (Replica replica : membership.active()) {
            if (replica.isExecutedBy(caller)) {
                throw new IllegalStateException(operation + " was called from within an operation of replica "
                        + replica.name()
                        + ": an implementation, or a function passed to a call, must not call the component");
            }
        }
    }

    private @Nullable Object await(Answer answer, Operation operation) throws Throwable {
        if (!answer.await(System.nanoTime() + limitNanos)) {
            throw Waiting.timeout(settings, operation);
        }
        return answer.get();
    }

    /** An asynchronous call. Reads see the writes that were called, here or anywhere, before them. */
    CompletableFuture<@Nullable Object> callAsync(Operation operation, @Nullable Object[] arguments) {
        refuseFromWithin(operation);
        CompletableFuture<@Nullable Object> future = new CompletableFuture<>();
        Voting voting = settings.voting();
        if (operation.reads() && voting == null) {
            Answer _ = reads.queueRead(operation, arguments, new Answer(future), queue.sequenced());
        } else {
            append(voting == null
                    ? new SequencedCall(operation, arguments, future)
                    : new Ballot(operation, arguments, future, voting));
            membership.wakeAll(true);
        }
        return operation.presents() ? future.thenApply(operation::present) : future;
    }

    // Writes

    private @Nullable Object write(Operation operation, @Nullable Object[] arguments) throws Throwable {
        SequencedCall call = new SequencedCall(operation, arguments, null);
        append(call);
        if (settings.execution() == Execution.EXECUTOR) {
            membership.wakeAll(true);
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
        UnlockActions after = new UnlockActions(membership);
        Replica leader = cheapestWriter(call.operation);
        long stamp = leader.acquireExclusively(0);
        if (stamp != 0) {
            advance(leader, stamp, call, after);
        }
        if (!call.given()) {
            Waiting waiting = new Waiting(settings, call.operation, membership.active().length);
            while (!call.given()) {
                for (Replica replica : membership.active()) {
                    stamp = call.given() ? 0 : replica.acquireExclusively(waiting.nextNanos());
                    if (stamp != 0) {
                        leader = replica;
                        advance(replica, stamp, call, after);
                    }
                }
            }
        }
        for (Replica replica : membership.active()) {
            if (!replica.equals(leader)) {
                ReplicaMembership.wake(replica, false);
            }
        }
    }

    private void advance(Replica leader, long stamp, SequencedCall call, UnlockActions after) {
        try {
            leader.advance(call.position, queue, invoker, after);
        } finally {
            leader.lock().unlockWrite(stamp);
        }
        queue.gotOn();
        after.run();
    }

    private Replica cheapestWriter(Operation operation) {
        Replica[] all = membership.active();
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
                if (settings.voting() != null && membership.excludeLaggard()) {
                    return;
                }
                if (deadline == 0) {
                    deadline = System.nanoTime() + limitNanos;
                }
                membership.wakeAll(true);
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
                UnlockActions after = new UnlockActions(membership);
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
}
