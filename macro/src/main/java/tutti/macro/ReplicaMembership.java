package tutti.macro;

import java.util.Arrays;
import java.util.Comparator;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import tutti.macro.call.CallFactory;

/**
 * The replicas of a component: which take part, who joins and leaves, and what was found wrong with them. From any thread.
 */
final class ReplicaMembership {
    private final Scheduler.Settings settings;
    private final CallFactory calls;
    private final WorkQueue queue;
    private final AtomicBoolean watching = new AtomicBoolean();
    private volatile Replica[] active = {};
    /** The best replica of each operation when it was last looked for; a hint that is written by anybody. */
    private final @Nullable Replica[] best;

    ReplicaMembership(Scheduler.Settings settings, CallFactory calls, WorkQueue queue) {
        this.settings = settings;
        this.calls = calls;
        this.queue = queue;
        best = new Replica[calls.table().operations().size()];
    }

    /** Those that take part in everything; never changed in place. */
    Replica[] active() {
        return active;
    }

    @Nullable
    Replica[] best() {
        return best;
    }

    Replica replica(String name, Object implementation, boolean exclusiveReads) {
        return new Replica(name, implementation, exclusiveReads, calls.table().operations().size(),
                settings.queueCapacity(), settings.clock());
    }

    /**
     * Begins to use a replica that has joined the queue and whose state is complete.
     *
     * @param reads what its executor is to do with the reads that are queued for it
     * @throws IllegalStateException if it has been removed meanwhile, or the component closed
     */
    void activate(Replica replica, Reads reads) {
        ReplicaExecutor executor = new ReplicaExecutor(replica, queue, calls.invoker(), this, reads, settings.threads(),
                "macro-" + calls.table().type().getSimpleName() + "-" + replica.name());
        queue.lock().lock();
        try {
            if (queue.closed() || !Arrays.asList(queue.members()).contains(replica)) {
                boolean _ = queue.leave(replica);
                throw new IllegalStateException("replica " + replica.name() + " cannot take part any more: "
                        + (queue.closed() ? "the component is closed" : "it was removed while it was made"));
            }
            replica.executor(executor);
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
    boolean exclude(Replica replica, UnlockActions after) {
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

    void wakeAll(boolean urgent) {
        for (Replica replica : active) {
            wake(replica, urgent);
        }
    }

    static void wake(Replica replica, boolean urgent) {
        ReplicaExecutor executor = replica.executor();
        if (executor != null) {
            executor.wake(urgent);
        }
    }

    /** The component is closed: nobody is given leave to read, and calls that no replica has executed yet end. */
    void dismissAll() {
        for (Replica replica : queue.members()) {
            replica.become(ReplicaStatus.State.REMOVED);
        }
        long last = queue.sequenced();
        for (long position = Math.max(1, last - queue.capacity() + 1); position <= last; position++) {
            SequencedCall call = queue.at(position);
            if (call != null) {
                call.abandon(new IllegalStateException("the component was closed before " + call.operation
                        + " was answered; a replica that was executing it may have done so"));
            }
        }
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
                UnlockActions after = new UnlockActions(this);
                excluded = exclude(faulty, after);
                after.run();
            }
        }
        tell(new ReplicaFault(fault.replica(), fault.kind(), fault.operation(), fault.position(), fault.detail(),
                excluded));
    }

    private void tell(ReplicaFault fault) {
        try {
            settings.faults().found(fault);
        } catch (RuntimeException | Error e) {
            // It concerns neither the call nor the executor in whose thread it happened.
            uncaught(e);
        }
    }

    /** Has the handler of the current thread hear of something that nobody else can be told; by default it is printed. */
    static void uncaught(Throwable thrown) {
        Thread thread = Thread.currentThread();
        thread.getUncaughtExceptionHandler().uncaughtException(thread, thrown);
    }

    /** A replica that fills the queue, while most do not, is left out. With the queue's lock held. */
    boolean excludeLaggard() {
        Replica slowest = queue.slowest();
        long others = Arrays.stream(active).filter(r -> !r.equals(slowest))
                .filter(r -> queue.sequenced() - r.applied() < queue.capacity()).count();
        if (!slowest.active() || others <= active.length / 2) {
            return false;
        }
        UnlockActions after = new UnlockActions(this);
        boolean excluded = exclude(slowest, after);
        start(() -> {
            after.run();
            tell(new ReplicaFault(slowest.name(), ReplicaFault.Kind.TOO_SLOW, "", slowest.applied() + 1,
                    "it is " + queue.capacity() + " calls behind", true));
        });
        return excluded;
    }

    /** In a thread of its own: that of the caller holds a lock, and those of the common pool may all be busy. */
    private static void start(Runnable task) {
        Thread.ofVirtual().name("macro-faults").start(task);
    }

    /** Looks after a while whether replicas still owe their votes; one ballot is watched at a time. */
    void watch(Ballot ballot) {
        Voting voting = settings.voting();
        if (voting == null || ballot.late().isEmpty() || !watching.compareAndSet(false, true)) {
            return;
        }
        CompletableFuture.delayedExecutor(voting.slowAfter().toNanos(), TimeUnit.NANOSECONDS, ReplicaMembership::start)
                .execute(() -> {
                    watching.set(false);
                    if (queue.closed()) {
                        return;
                    }
                    for (Replica late : ballot.late()) {
                        faultFound(
                                new ReplicaFault(late.name(), ReplicaFault.Kind.TOO_SLOW, ballot.operation.toString(),
                                        ballot.position, "it has not answered " + voting.slowAfter().toMillis()
                                                + " ms after the majority",
                                        false));
                    }
                    watch(ballot);
                });
    }
}
