package tutti.macro;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The order of the calls, and the work queue of all replicas at once: a ring of calls of which each replica has executed
 * a prefix, {@link Replica#applied}. A slot is used again when all members have executed what is in it, so that the
 * ring's size bounds how far the slowest may be behind.
 *
 * <p>
 * Lock order: a replica's lock may be held when this class's lock is taken, never the other way round.
 */
final class WorkQueue {
    private static final VarHandle COMPLETED;

    static {
        try {
            COMPLETED = MethodHandles.lookup().findVarHandle(WorkQueue.class, "completed", long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** What to do with a full queue; called with the queue's lock held, which it may give up and take again. */
    interface WhenFull {
        /** Makes room or waits for it. @throws WorkQueueFullException if there is none */
        void makeRoom();
    }

    private final @Nullable SequencedCall[] ring;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition room = lock.newCondition();

    private volatile long sequenced;
    private volatile long completed;
    private volatile Replica[] members = {};
    private volatile boolean roomWanted;
    private volatile boolean closed;

    /** All members have executed at least this; with the lock held. */
    private long lowest;
    /** Slots up to this position have been emptied; with the lock held. */
    private long emptied;

    WorkQueue(int capacity) {
        ring = new SequencedCall[capacity];
    }

    /** Position of the last call that has one. */
    long sequenced() {
        return sequenced;
    }

    /** Highest position that any replica has executed: what every read that begins now must see. */
    long completed() {
        return completed;
    }

    int capacity() {
        return ring.length;
    }

    ReentrantLock lock() {
        return lock;
    }

    Replica[] members() {
        return members;
    }

    boolean closed() {
        return closed;
    }

    /** The call at a position, if its slot has not been used again. */
    @Nullable
    SequencedCall at(long position) {
        SequencedCall call = ring[(int) (position & (ring.length - 1))];
        return call != null && call.position == position ? call : null;
    }

    /** A replica has executed everything up to this position. Called before the answer is given and its lock released. */
    void completed(long position) {
        for (long before = completed; before < position; before = completed) {
            if (COMPLETED.compareAndSet(this, before, position)) {
                return;
            }
        }
    }

    /** Gives a call its place. */
    void append(SequencedCall call, WhenFull whenFull) {
        lock.lock();
        try {
            while (full()) {
                whenFull.makeRoom();
            }
            if (closed) {
                throw new IllegalStateException("the component is closed");
            }
            long position = sequenced + 1;
            call.position = position;
            call.sequenced(members);
            ring[(int) (position & (ring.length - 1))] = call;
            sequenced = position;
        } finally {
            lock.unlock();
        }
    }

    /** With the lock held. */
    private boolean full() {
        if (sequenced - lowest < ring.length) {
            return false;
        }
        lowest = lowestApplied();
        return sequenced - lowest >= ring.length;
    }

    private long lowestApplied() {
        long min = sequenced;
        for (Replica member : members) {
            min = Math.min(min, member.applied());
        }
        return min;
    }

    /** Waits until there may be room, with the lock held; returns false if the time is up. */
    boolean awaitRoom(long deadline) {
        roomWanted = true;
        boolean interrupted = false;
        try {
            // A replica that gets on after the flag is up tells; before, it is seen here.
            while (full()) {
                long left = deadline - System.nanoTime();
                if (left <= 0) {
                    return false;
                }
                try {
                    room.awaitNanos(left);
                } catch (InterruptedException _) {
                    interrupted = true;
                }
                roomWanted = true;
            }
            return true;
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** A replica has got on. No replica's lock need be held. */
    void gotOn() {
        if (roomWanted) {
            lock.lock();
            try {
                roomWanted = false;
                room.signalAll();
            } finally {
                lock.unlock();
            }
        }
    }

    /** Lets go of the calls that all members have executed. Called when a replica has nothing to do. */
    void empty() {
        if (lock.tryLock()) {
            try {
                long done = lowestApplied();
                for (long position = Math.max(emptied, sequenced - ring.length) + 1; position <= done; position++) {
                    ring[(int) (position & (ring.length - 1))] = null;
                }
                emptied = Math.max(emptied, done);
            } finally {
                lock.unlock();
            }
        }
    }

    /** The member that is furthest behind. */
    Replica slowest() {
        return Arrays.stream(members).min((a, b) -> Long.compare(a.applied(), b.applied())).orElseThrow();
    }

    /** From here on the member's next calls are kept for it. The caller keeps {@code like} from getting on. */
    @SuppressWarnings("ReferenceEquality") // two maps with the same entries are two replicas
    void join(Replica member, @Nullable Replica like) {
        lock.lock();
        try {
            if (closed) {
                throw new IllegalStateException("the component is closed");
            }
            if (Arrays.stream(members).anyMatch(m -> m.name().equals(member.name()))) {
                throw new IllegalArgumentException("there is a replica named " + member.name() + " already");
            }
            for (Replica other : members) {
                if (other.implementation() == member.implementation()) {
                    throw new IllegalArgumentException("replica " + member.name() + " is the same object as replica "
                            + other.name() + ", which would execute each write twice");
                }
            }
            if (like != null) {
                if (!like.active()) {
                    throw new IllegalStateException(
                            "replica " + like.name() + " was removed while it was to be copied");
                }
                member.startAfter(like.applied());
            }
            Replica[] more = Arrays.copyOf(members, members.length + 1);
            more[members.length] = member;
            members = more;
        } finally {
            lock.unlock();
        }
    }

    /** Nothing is kept for this member any more. Returns false if it was none. */
    boolean leave(Replica member) {
        lock.lock();
        try {
            Replica[] fewer = Arrays.stream(members).filter(m -> !m.equals(member)).toArray(Replica[]::new);
            if (fewer.length == members.length) {
                return false;
            }
            members = fewer;
            roomWanted = false;
            room.signalAll();
            return true;
        } finally {
            lock.unlock();
        }
    }

    /** No call is given a place any more. */
    void close() {
        lock.lock();
        try {
            closed = true;
            room.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
