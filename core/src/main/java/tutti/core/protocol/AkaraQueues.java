package tutti.core.protocol;

import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.AkaraTransaction.Queue;
import tutti.core.protocol.AkaraTransaction.State;
import tutti.core.txn.ConflictClasses;

/**
 * Where the transactions of {@link Akara} stand: its queues Q2a, Q2b and Q2c, and the places of those whose end has not
 * been delivered. Who stands in them changes state, queue and place here only, so that what is kept by these stays right.
 * Not for use by several threads.
 */
final class AkaraQueues {
    private final Map<Queue, ClassQueues<AkaraTransaction>> queues = new EnumMap<>(Queue.class);
    /** All in Q2a, Q2b and Q2c whose end was not delivered: what all replicas agree on, up to groups. */
    private final ClassQueues<AkaraTransaction> undelivered = new ClassQueues<>();
    /** Of those in Q2b that are ready, by their classes, in order: the first may overtake. */
    private final Map<ConflictClasses, TreeMap<Long, AkaraTransaction>> ready = new HashMap<>();

    AkaraQueues() {
        for (Queue queue : Queue.values()) {
            queues.put(queue, new ClassQueues<>());
        }
    }

    private ClassQueues<AkaraTransaction> q(Queue queue) {
        ClassQueues<AkaraTransaction> found = queues.get(queue);
        if (found == null) {
            throw new IllegalStateException("no queue " + queue);
        }
        return found;
    }

    // ------------------------------------------------------------------------------------------ who comes and goes

    /** Has it enter Q2a, with its place. */
    void deliver(AkaraTransaction t) {
        undelivered.add(t);
        enter(t);
    }

    /** Its end was delivered: it has no place any more, and stands in its queue. */
    void end(AkaraTransaction t) {
        undelivered.remove(t);
    }

    /** Takes it out of its queue, if it is in it. */
    void leave(AkaraTransaction t) {
        q(t.queue).remove(t);
        if (t.queue == Queue.Q2B && t.state == State.READY) {
            TreeMap<Long, AkaraTransaction> there = ready.get(t.cc);
            if (there != null) {
                there.remove(t.seq);
                if (there.isEmpty()) {
                    ready.remove(t.cc);
                }
            }
        }
    }

    private void enter(AkaraTransaction t) {
        q(t.queue).add(t);
        if (t.queue == Queue.Q2B && t.state == State.READY) {
            ready.computeIfAbsent(t.cc, _ -> new TreeMap<>()).put(t.seq, t);
        }
    }

    /** Its state changes: when it begins or ceases to be ready in Q2b, it enters its queue again. */
    void become(AkaraTransaction t, State state) {
        if (t.queue == Queue.Q2B && (t.state == State.READY || state == State.READY) && stands(t)) {
            leave(t);
            t.state = state;
            enter(t);
        } else {
            t.state = state;
        }
    }

    /** Has it leave its queue for this one. */
    void move(AkaraTransaction t, Queue to) {
        leave(t);
        t.queue = to;
        enter(t);
    }

    /** Line 56: the two change places. */
    void swap(AkaraTransaction t, AkaraTransaction other) {
        if (t.equals(other)) {
            return;
        }
        for (AkaraTransaction one : List.of(t, other)) {
            undelivered.remove(one);
            leave(one);
        }
        long seq = t.seq;
        t.seq = other.seq;
        other.seq = seq;
        for (AkaraTransaction one : List.of(t, other)) {
            undelivered.add(one);
            enter(one);
        }
    }

    // ------------------------------------------------------------------------------------------ who is where

    /** Whether it stands in its queue. */
    boolean stands(AkaraTransaction t) {
        return q(t.queue).contains(t);
    }

    /** Line 26. */
    @Nullable
    AkaraTransaction next(Queue queue, ConflictClasses cc) {
        return q(queue).next(cc);
    }

    /** Whether it is {@code next(Q, t.cc)} in its queue. */
    boolean isNext(AkaraTransaction t) {
        return q(t.queue).isNext(t);
    }

    /** Those that are next in a queue, now that somebody of these classes has left or come; in order. */
    List<AkaraTransaction> heads(Queue queue, ConflictClasses cc) {
        return q(queue).heads(cc);
    }

    /** Whether nothing that meets t is before it. */
    boolean first(AkaraTransaction t) {
        for (ClassQueues<AkaraTransaction> queue : queues.values()) {
            AkaraTransaction next = queue.next(t.cc);
            if (next != null && next.seq < t.seq) {
                return false;
            }
        }
        return true;
    }

    /** Whose place is the first of all that meet these classes, or null; up to groups, the same at all replicas. */
    @Nullable
    AkaraTransaction place(ConflictClasses cc) {
        return undelivered.next(cc);
    }

    /** All that have a place, in order. */
    List<AkaraTransaction> places() {
        return undelivered.members();
    }

    /** The first in Q2b that is ready and has exactly these classes, or null. */
    @Nullable
    AkaraTransaction firstReady(ConflictClasses cc) {
        TreeMap<Long, AkaraTransaction> there = ready.get(cc);
        return there == null ? null : there.firstEntry().getValue();
    }

    /** All in Q2b that are ready, in order. */
    List<AkaraTransaction> ready() {
        List<AkaraTransaction> all = new ArrayList<>();
        ready.values().stream().map(TreeMap::values).forEach((Collection<AkaraTransaction> some) -> all.addAll(some));
        all.sort((one, other) -> Long.compare(one.seq, other.seq));
        return all;
    }
}
