package tutti.macro;

import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import tutti.macro.call.Invoker;

/**
 * The one executor of a replica (MacroDDB, section 3.2.1): lets it follow the order, and executes the reads that were
 * queued for it.
 *
 * <p>
 * Waking a thread costs more than many an operation. So a thread that has just run out of work does not sleep until it
 * is woken but looks again after a millisecond, some times; meanwhile it is woken only for what somebody waits for, or
 * if much has gathered. Reads do not need it: they bring a replica up to date themselves.
 */
final class ReplicaExecutor implements Runnable {
    private static final int WRITES_PER_TURN = 64;
    private static final int NAPS_MAX = 16;
    private static final long NAP_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    private enum Rest {
        AWAKE, NAPPING, ASLEEP
    }

    private final Replica replica;
    private final WorkQueue queue;
    private final Invoker invoker;
    private final ReplicaMembership membership;
    private final Reads reads;
    private final Thread thread;
    private final AtomicReference<Rest> rest = new AtomicReference<>(Rest.AWAKE);
    private volatile boolean ended;

    ReplicaExecutor(Replica replica, WorkQueue queue, Invoker invoker, ReplicaMembership membership, Reads reads,
            ThreadFactory threads, String name) {
        this.replica = replica;
        this.queue = queue;
        this.invoker = invoker;
        this.membership = membership;
        this.reads = reads;
        Thread made = threads.newThread(this);
        if (made == null) {
            throw new IllegalArgumentException("the thread factory gave no thread for " + name);
        }
        thread = made;
        thread.setName(name);
    }

    void start() {
        thread.start();
    }

    /**
     * There is work.
     *
     * @param urgent whether somebody waits for it
     */
    void wake(boolean urgent) {
        Rest now = rest.get();
        if (now == Rest.ASLEEP || (now == Rest.NAPPING
                && (urgent || queue.sequenced() - replica.applied() >= WRITES_PER_TURN))) {
            if (rest.compareAndSet(now, Rest.AWAKE)) {
                LockSupport.unpark(thread);
            }
        }
    }

    /** Whether queued reads would wait in vain. */
    boolean ended() {
        return ended;
    }

    boolean isCurrentThread() {
        return Thread.currentThread().equals(thread);
    }

    /** Waits for the end of the thread; interrupts are kept for later. */
    boolean join(long nanos) {
        boolean interrupted = false;
        long deadline = System.nanoTime() + nanos;
        try {
            while (true) {
                try {
                    return thread.join(java.time.Duration.ofNanos(Math.max(1, deadline - System.nanoTime())));
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

    @Override
    public void run() {
        int naps = 0;
        while (true) {
            if (turnThatMayFail()) {
                naps = 0;
                continue;
            }
            if (replica.state() == ReplicaStatus.State.REMOVED || queue.closed()) {
                break;
            }
            queue.empty();
            rest.set(naps < NAPS_MAX ? Rest.NAPPING : Rest.ASLEEP);
            if (!work() && replica.state() != ReplicaStatus.State.REMOVED && !queue.closed()) {
                if (naps < NAPS_MAX) {
                    LockSupport.parkNanos(this, NAP_NANOS);
                } else {
                    LockSupport.park(this);
                }
            }
            // An implementation may have left it behind; with it there would be no sleep any more.
            boolean _ = Thread.interrupted();
            rest.set(Rest.AWAKE);
            naps++;
        }
        ended = true;
        reads.rescueReads(replica);
    }

    private boolean work() {
        return replica.applied() < queue.sequenced() || !replica.reads().isEmpty();
    }

    /** What implementations throw are answers. Should anything else be thrown, the replica must not stand still for it. */
    private boolean turnThatMayFail() {
        try {
            return turn();
        } catch (RuntimeException | Error e) {
            ReplicaMembership.uncaught(e);
            LockSupport.parkNanos(this, NAP_NANOS);
            return false;
        }
    }

    /** Some writes and one read. Returns whether there was anything. */
    private boolean turn() {
        if (replica.state() == ReplicaStatus.State.REMOVED) {
            return false;
        }
        UnlockActions after = new UnlockActions(membership);
        boolean did = false;
        if (replica.applied() < queue.sequenced()) {
            long before = replica.applied();
            long stamp = replica.lock().writeLock();
            try {
                replica.advance(Math.min(queue.sequenced(), replica.applied() + WRITES_PER_TURN), queue,
                        invoker, after);
            } finally {
                replica.lock().unlockWrite(stamp);
            }
            did = replica.applied() > before;
            queue.gotOn();
            after.run();
        }
        ReadTask read = replica.reads().peek();
        if (read != null && (read.answer().given() || read.required() <= replica.applied())) {
            replica.reads().remove();
            reads.executeRead(replica, read);
            did = true;
        }
        return did;
    }
}
