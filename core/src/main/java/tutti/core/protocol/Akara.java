package tutti.core.protocol;

import java.util.ArrayDeque;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import tutti.core.certify.CertificationIndex;
import tutti.core.protocol.ClassMessage.Changes;
import tutti.core.protocol.ClassMessage.Execute;
import tutti.core.protocol.ClassMessage.Release;
import tutti.core.protocol.ClassMessage.Submit;
import tutti.core.txn.AbortReason;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeySet;
import tutti.core.txn.Outcome;
import tutti.core.txn.TransactionId;

/**
 * {@code akara}: conservative order by conflict classes, optimistic execution of up to n transactions that wait in it,
 * re-execution with priority instead of aborts, and active transactions: one-copy snapshot isolation, or serializability
 * if asked for (AKARA section 3, figures 5 and 6).
 *
 * <pre>
 *  submit: Q0 -- order Submit -- Q2a -- next, scheduled --> Q2b -- executed, next --> Q2c -- next --+-- ready ------+-- order --
 *   (type, cc)                          (n at a time) execute    (or overtakes)                     +-- run(ORDERED)+  Updates
 * </pre>
 *
 * Names and structure are those of figure 6, whose lines the comments name: {@code Q0, Q2a, Q2b, Q2c}, {@code t.seq},
 * {@code t.cc}, {@code next(Q, cc)}. What waits for a condition there is reconsidered here whenever the condition may
 * have become true.
 *
 * <p>
 * <b>Deviations.</b>
 * <ul>
 * <li>Updates are ordered, not multicast (line 22); their position is the transaction's, so the order alone recovers an
 * engine. An active transaction, too, gets its position by a second message once it is next in Q2c (line 47).
 * <li>The swap (line 56) takes effect at the other replicas when the updates are delivered. In the figure nobody tells
 * them: with u of a third party ordered between t' and t, they would make u wait for t' while t's replica makes t'
 * wait for u, and real conflicts of t and t' would be applied in two orders.
 * <li>n bounds those that were scheduled and hold locks without being sure of their place, whether they still execute or wait
 * in Q2b or Q2c (line 11): who has executed is no less in the way of others than who executes.
 * <li>A transaction that is first in all queues is scheduled whatever n says (line 11): otherwise those behind it, waiting
 * for it with locks in their hands, can keep others from leaving their slots.
 * <li>Line 57 aborts t if an earlier t' is still executed. The text of section 3.2 means a t' that is blocked by t; if every
 * earlier t' counted, most of what finishes soon would be aborted. Nobody tells a protocol who is blocked, so t waits, and
 * one that is first and has not been executed for a while is given priority: whoever blocks it is pushed aside.
 * <li>An interactive transaction cannot be executed again: what pushes it aside in the engine aborts it for good.
 * <li>A transaction that changed nothing, failed for good, or whose replica is gone leaves by an ordered {@link Release},
 * as in {@link Nodo}.
 * </ul>
 *
 * <p>
 * <b>Places belong to groups.</b> Call transactions of the same replica with equal classes a group. What all replicas
 * agree on, as a function of the ordered prefix, is which group each place {@code seq} belongs to; who of the group holds
 * which is their replica's own business until an update of one of them is delivered. It then takes the first place of
 * its group; one that is released leaves the last. Updates of t may be delivered only while the first place that meets
 * t.cc belongs to t's group. Their replica sends them when that holds ({@link #mayCommit}); nothing can be delivered
 * meanwhile that changes it, because whatever meets t.cc and is not of the group comes after that place.
 *
 * <p>
 * <b>Why that is snapshot isolation.</b> Let t be sent with b and c as in {@link SnapshotIsolation}, and delivered at p.
 * Whatever meets t.cc and was delivered before is visible where t ran, since it stays in Q2c until then and t is next;
 * none is delivered between sending and p. So at the time of sending the engine has seen every conflicting transaction
 * with a position below p, and t still holds its locks: had one of them written, after t's snapshot, what t wrote, t would
 * have failed (first updater wins) or been a {@link #victim}, and would not be ready. What the engine does not see, as
 * appliers check no foreign keys and active requests may have keys of their own, the index says ({@link #certify}). Hence
 * first committer wins, and snapshots are prefixes of the order. With {@code serializable}, t's read set is compared with all
 * that was written in (b, p) as well: then t has read what positions 1 to p - 1 leave, and the history is equivalent to
 * the serial one in order of position. Whoever fails either test is not aborted but executed again, at the head of its
 * queues, where nothing can come between.
 */
public final class Akara implements Protocol {
    /** The name in configurations. */
    public static final String NAME = "akara";

    private static final long RESOLVE_TIMER = 1;
    private static final long PATIENCE_TIMER = 2;

    /**
     * Parameters; the same at every replica except {@code node}.
     *
     * @param node this replica
     * @param replicas all replicas, alive or not, this one included
     * @param optimisticMax n: how many transactions are executed optimistically side by side at a replica; 0 makes it
     *            {@link Nodo}
     * @param serializable whether reads are certified too
     * @param activeIfPossible whether requests that may run {@linkplain TransactionRequest.Placement#EITHER either way} are active
     * @param patienceNanos after how long, at least, a transaction that is first and has not been executed is given
     *            priority, in nanoseconds
     * @param resolveIntervalNanos how long a transaction whose replica is gone keeps its places before its release is
     *            asked for again, in nanoseconds
     */
    public record Parameters(int node, Set<Integer> replicas, int optimisticMax, boolean serializable,
            boolean activeIfPossible, long patienceNanos, long resolveIntervalNanos) {
        public Parameters {
            replicas = Checks.replicas(node, replicas);
            if (optimisticMax < 0) {
                throw new IllegalArgumentException("optimisticMax " + optimisticMax);
            }
            Checks.time("patienceNanos", patienceNanos);
            Checks.time("resolveIntervalNanos", resolveIntervalNanos);
        }
    }

    private enum Queue {
        Q2A, Q2B, Q2C
    }

    private enum State {
        /** Of another replica, or of this one and answered already: its end will be delivered. */
        REMOTE,
        /** Of this replica, not scheduled yet; if active, it will not be. */
        WAITING,
        /** Executes optimistically. */
        RUNNING,
        /** Executed, holds its locks: ready to commit. */
        READY,
        /** Rolled back after an optimistic execution: not ready to commit. */
        NOT_READY,
        /** Executes with priority. */
        PRIORITY,
        /** Its second message is on its way. */
        SENT,
        /** Its second message is on its way; it was rolled back in the engine. */
        SENT_ROLLED_BACK,
        /** Its second message was delivered: it has a position, and is in Q2c until that is visible. */
        DELIVERED
    }

    /** A transaction that has been ordered. */
    private static final class Transaction implements ClassQueues.Member {
        final TransactionId id;
        final ConflictClasses cc;
        /** Of a local one that is not answered. */
        final @Nullable TransactionRequest request;
        long seq;
        Queue queue = Queue.Q2A;
        State state;
        /** How it was executed last. */
        @Nullable
        Execution execution;
        /** It takes one of n. */
        boolean scheduled;
        /** It was first, and running, when patience was looked at last. */
        boolean seenFirst;

        Transaction(long seq, TransactionId id, ConflictClasses cc, @Nullable TransactionRequest request) {
            this.seq = seq;
            this.id = id;
            this.cc = cc;
            this.request = request;
            this.state = request == null ? State.REMOTE : State.WAITING;
        }

        @Override
        public long sequence() {
            return seq;
        }

        @Override
        public ConflictClasses classes() {
            return cc;
        }

        boolean repeatable() {
            return request instanceof TransactionRequest.Whole;
        }

        boolean sameGroup(Transaction other) {
            return id.node() == other.id.node() && cc.equals(other.cc);
        }
    }

    /** A transaction with a position that is not visible yet. */
    private record Delivered(long position, Transaction t, boolean local) {}

    private final Parameters parameters;
    private final ReplicaWorld world;
    private final Map<TransactionId, TransactionRequest> q0 = new HashMap<>();
    private final Map<Queue, ClassQueues<Transaction>> queues = new EnumMap<>(Queue.class);
    /** All in Q2a, Q2b and Q2c whose end was not delivered: what all replicas agree on, up to groups. */
    private final ClassQueues<Transaction> undelivered = new ClassQueues<>();
    /** Of those in Q2b that are ready, by their classes, in order: the first may overtake. */
    private final Map<ConflictClasses, TreeMap<Long, Transaction>> ready = new HashMap<>();
    private final Map<TransactionId, Transaction> transactions = new HashMap<>();
    private final ArrayDeque<Delivered> invisible = new ArrayDeque<>();
    private final ArrayDeque<Transaction> reconsidered = new ArrayDeque<>();
    private final CertificationIndex index = new CertificationIndex();
    private final Orphans orphans;
    /** How many are scheduled and hold their locks, or wait for them, without being sure of their place. */
    private int scheduled;
    private long delivered;
    private boolean patienceTimerRuns;

    /** A replica at the beginning of the order. */
    public Akara(Parameters parameters, ReplicaWorld world) {
        this.parameters = parameters;
        this.world = world;
        this.orphans = new Orphans(parameters.node(), parameters.replicas(), parameters.resolveIntervalNanos(),
                RESOLVE_TIMER);
        for (Queue queue : Queue.values()) {
            queues.put(queue, new ClassQueues<>());
        }
    }

    private ClassQueues<Transaction> q(Queue queue) {
        ClassQueues<Transaction> found = queues.get(queue);
        if (found == null) {
            throw new IllegalStateException("no queue " + queue);
        }
        return found;
    }

    /** Line 4: whether every replica executes it. */
    private boolean active(TransactionRequest request) {
        return request instanceof TransactionRequest.Whole whole
                && (whole.placement() == TransactionRequest.Placement.ALL
                        || (whole.placement() == TransactionRequest.Placement.EITHER && parameters.activeIfPossible()));
    }

    // ------------------------------------------------------------------------------------------ lines 2 to 7

    @Override
    public void submitted(TransactionId transaction, TransactionRequest request) {
        if (q0.putIfAbsent(transaction, request) != null || transactions.containsKey(transaction)) {
            throw new IllegalStateException(transaction + " was submitted twice");
        }
        world.order(new Submit(transaction, request.classes()));
    }

    // ------------------------------------------------------------------------------------------ lines 8, 29 and 41

    @Override
    public void delivered(long position, int sender, Message message) {
        if (position <= delivered) {
            throw new IllegalStateException("position " + position + " delivered after " + delivered);
        }
        delivered = position;
        switch ((ClassMessage) message) {
            case Submit submit -> {
                world.skip(position);
                Transaction t = new Transaction(position, submit.transaction(), submit.classes(),
                        q0.remove(submit.transaction()));
                if (transactions.putIfAbsent(t.id, t) != null) {
                    throw new IllegalStateException(t.id + " was ordered twice");
                }
                undelivered.add(t);
                q(Queue.Q2A).add(t);
                reconsidered.add(t);
                if (orphan(t)) {
                    orphans.watch(world);
                }
            }
            case Changes changes -> {
                Transaction t = transactions.get(changes.transaction());
                if (t == null) {
                    world.skip(position);
                } else if (t.state == State.SENT) {
                    world.commit(t.id, position, changes.writes());
                    ended(t, position, changes.writes().keys());
                } else {
                    world.apply(t.id, position, changes.writes());
                    ended(t, position, changes.writes().keys());
                }
            }
            case Execute execute -> {
                Transaction t = transactions.get(execute.transaction());
                if (t == null) {
                    world.skip(position);
                } else {
                    world.execute(t.id, position, execute.request());
                    ended(t, position, execute.request().keys());
                }
            }
            case Release release -> {
                world.skip(position);
                release.transactions().forEach(this::released);
            }
        }
        reconsider();
    }

    /** The second message of t was delivered: it takes the first place of its group, and is past all waiting. */
    private void ended(Transaction t, long position, KeySet keys) {
        Transaction first = undelivered.next(t.cc);
        if (first == null || !first.sameGroup(t)) {
            throw new IllegalStateException(t.id + " ended at " + position + " out of its order");
        }
        swap(first, t);
        undelivered.remove(t);
        transactions.remove(t.id);
        if (position > index.floor()) {
            index.note(keys, position);
        }
        invisible.add(new Delivered(position, t, t.state == State.SENT || t.state == State.SENT_ROLLED_BACK));
        become(t, State.DELIVERED);
        move(t, Queue.Q2C);
    }

    /** t leaves without a position: it gives up the last place of its group, and those behind it in the group move up. */
    private void released(TransactionId id) {
        Transaction t = transactions.remove(id);
        if (t == null) {
            return;
        }
        for (Transaction other : List.copyOf(undelivered.members())) {
            if (other.seq > t.seq && other.sameGroup(t)) {
                swap(t, other);
            }
        }
        undelivered.remove(t);
        leave(t);
        look(t);
        if (t.state != State.REMOTE) {
            stop(t);
            world.abort(id);
            world.answer(id, new Outcome.Aborted(new AbortReason.Refused(
                    "the other replicas took this one for gone and gave the transaction's place away; try again")));
        }
    }

    @Override
    public void committed(long position, long horizon) {
        index.forget(horizon);
        while (!invisible.isEmpty() && invisible.peek().position() <= position) {
            // Lines 24, 39 and 50.
            Delivered end = invisible.remove();
            q(Queue.Q2C).remove(end.t());
            look(end.t());
            if (end.local()) {
                world.answer(end.t().id, new Outcome.Committed(end.position()));
            }
        }
        reconsider();
    }

    // ------------------------------------------------------------------------------------------ progress

    /** Whoever may go on now that t has left a queue. */
    private void look(Transaction t) {
        List<Transaction> executing = q(Queue.Q2B).heads(t.cc);
        reconsidered.addAll(q(Queue.Q2A).heads(t.cc));
        reconsidered.addAll(executing);
        reconsidered.addAll(q(Queue.Q2C).heads(t.cc));
        for (Transaction next : executing) {
            TreeMap<Long, Transaction> overtaking = next.state == State.RUNNING ? ready.get(next.cc) : null;
            if (overtaking != null) {
                reconsidered.add(overtaking.firstEntry().getValue());
            }
        }
    }

    /** Puts it into its queue, and takes down whether it may overtake. */
    private void enter(Transaction t) {
        q(t.queue).add(t);
        if (t.queue == Queue.Q2B && t.state == State.READY) {
            ready.computeIfAbsent(t.cc, _ -> new TreeMap<>()).put(t.seq, t);
        }
    }

    /** Takes it out of its queue. */
    private void leave(Transaction t) {
        q(t.queue).remove(t);
        if (t.queue == Queue.Q2B && t.state == State.READY) {
            TreeMap<Long, Transaction> there = ready.get(t.cc);
            if (there != null) {
                there.remove(t.seq);
                if (there.isEmpty()) {
                    ready.remove(t.cc);
                }
            }
        }
    }

    /** Its state changes: when it begins or ceases to be ready in Q2b, it enters its queue again. */
    private void become(Transaction t, State state) {
        if (t.queue == Queue.Q2B && (t.state == State.READY || state == State.READY) && q(Queue.Q2B).contains(t)) {
            leave(t);
            t.state = state;
            enter(t);
        } else {
            t.state = state;
        }
    }

    private void move(Transaction t, Queue to) {
        if (t.queue != to) {
            leave(t);
            t.queue = to;
            enter(t);
            look(t);
        }
        reconsidered.add(t);
    }

    private void reconsider() {
        while (!reconsidered.isEmpty()) {
            Transaction t = reconsidered.remove();
            if (!q(t.queue).contains(t)) {
                continue;
            }
            switch (t.queue) {
                case Q2A -> fromQ2a(t);
                case Q2B -> fromQ2b(t);
                case Q2C -> fromQ2c(t);
            }
        }
        watch();
    }

    /** Lines 10 to 13, 31 and 32, 43 and 44. */
    private void fromQ2a(Transaction t) {
        if (!q(Queue.Q2A).isNext(t)) {
            return;
        }
        if (t.state != State.WAITING || active(t)) {
            move(t, Queue.Q2B);
        } else if (scheduled < parameters.optimisticMax() || first(t)) {
            become(t, State.RUNNING);
            t.scheduled = true;
            scheduled++;
            world.run(t.id, ReplicaWorld.Priority.OPTIMISTIC);
            move(t, Queue.Q2B);
        }
    }

    /** Lines 15 to 18, 33 and 34, 45 and 46; otherwise lines 52 to 56. */
    private void fromQ2b(Transaction t) {
        if (t.state == State.RUNNING || t.state == State.PRIORITY) {
            return;
        }
        Transaction next = q(Queue.Q2B).next(t.cc);
        if (t.equals(next)) {
            move(t, Queue.Q2C);
        } else if (t.state == State.READY && next != null && next.state == State.RUNNING && t.cc.equals(next.cc)) {
            swap(t, next);
            reconsidered.add(t);
        }
    }

    /** Lines 19 to 22 and 47. */
    private void fromQ2c(Transaction t) {
        if (!mayCommit(t)) {
            return;
        }
        AbortReason lost = t.state == State.READY ? certify(t) : null;
        if (lost != null) {
            stop(t);
            become(t, State.NOT_READY);
            world.abort(t.id);
            if (!t.repeatable()) {
                end(t, new Outcome.Aborted(lost));
                return;
            }
        }
        if (t.state == State.NOT_READY) {
            become(t, State.PRIORITY);
            world.run(t.id, ReplicaWorld.Priority.ORDERED);
        } else if (t.state == State.READY && t.execution != null) {
            stop(t);
            become(t, State.SENT);
            world.order(new Changes(t.id, t.execution.writes()));
        } else if (t.state == State.WAITING && t.request instanceof TransactionRequest.Whole whole) {
            become(t, State.SENT);
            world.order(new Execute(t.id, whole));
        }
    }

    private boolean active(Transaction t) {
        return t.request != null && active(t.request);
    }

    /** Whether nothing that meets t is before it. */
    private boolean first(Transaction t) {
        for (ClassQueues<Transaction> queue : queues.values()) {
            Transaction next = queue.next(t.cc);
            if (next != null && next.seq < t.seq) {
                return false;
            }
        }
        return true;
    }

    /** Line 19, and whether the others would agree: the first place that meets t is one of its group. */
    private boolean mayCommit(Transaction t) {
        Transaction place = undelivered.next(t.cc);
        return q(Queue.Q2C).isNext(t) && place != null && place.sameGroup(t);
    }

    /** Why what t executed on is no longer right, in respects that the engine does not look after; null if it is right. */
    private @Nullable AbortReason certify(Transaction t) {
        Execution execution = t.execution;
        if (execution == null) {
            return null;
        }
        AbortReason lost = index.lost(execution.writes().keys(), execution.begun(), execution.lastCommitted());
        return lost == null ? index.stale(execution.reads().keys(), execution.begun()) : lost;
    }

    /** Line 56. */
    private void swap(Transaction t, Transaction other) {
        if (t.equals(other)) {
            return;
        }
        for (Transaction one : List.of(t, other)) {
            undelivered.remove(one);
            leave(one);
        }
        long seq = t.seq;
        t.seq = other.seq;
        other.seq = seq;
        for (Transaction one : List.of(t, other)) {
            undelivered.add(one);
            enter(one);
        }
        look(t);
    }

    // ------------------------------------------------------------------------------------------ executions

    private Transaction local(TransactionId id, String what) {
        Transaction t = transactions.get(id);
        if (t == null || t.request == null) {
            throw new IllegalStateException(id + " " + what + " but is not executing");
        }
        return t;
    }

    @Override
    public void executed(TransactionId id, Execution execution) {
        Transaction t = local(id, "was executed");
        if (t.state != State.RUNNING && t.state != State.PRIORITY) {
            throw new IllegalStateException(id + " was executed in state " + t.state);
        }
        t.seenFirst = false;
        become(t, State.READY);
        t.execution = execution;
        if (execution.writes().isEmpty()) {
            end(t, new Outcome.Committed(0));
        }
        reconsidered.add(t);
        reconsider();
    }

    @Override
    public void failed(TransactionId id, AbortReason.Failed cause) {
        if (q0.remove(id) != null) {
            world.answer(id, new Outcome.Aborted(cause));
            world.order(new Release(List.of(id)));
            return;
        }
        Transaction t = local(id, "failed");
        if (t.state == State.SENT || t.state == State.SENT_ROLLED_BACK) {
            throw new IllegalStateException(id + " failed but its changes are on their way");
        }
        if (t.state == State.RUNNING && t.repeatable()) {
            // Perhaps because of what it executed beside: it is to fail with priority before its client is told.
            stop(t);
            become(t, State.NOT_READY);
        } else {
            end(t, new Outcome.Aborted(cause));
        }
        reconsidered.add(t);
        reconsider();
    }

    @Override
    public void victim(TransactionId id, long forPosition) {
        Transaction t = transactions.get(id);
        if (t == null || t.request == null) {
            return;
        }
        switch (t.state) {
            case RUNNING, READY, PRIORITY -> {
                if (t.repeatable()) {
                    stop(t);
                    become(t, State.NOT_READY);
                } else {
                    end(t, new Outcome.Aborted(new AbortReason.Victim(forPosition)));
                }
            }
            case SENT -> become(t, State.SENT_ROLLED_BACK);
            case REMOTE, WAITING, NOT_READY, SENT_ROLLED_BACK, DELIVERED -> {
                // It does not run; nothing is lost.
            }
        }
        reconsidered.add(t);
        reconsider();
    }

    /** Its slot is free: it holds no locks any more, or is sure of its place. */
    private void stop(Transaction t) {
        t.seenFirst = false;
        if (t.scheduled) {
            t.scheduled = false;
            scheduled--;
            reconsidered.addAll(q(Queue.Q2A).heads(ConflictClasses.ALL));
        }
    }

    /** It will change nothing: answers, and leaves the queues in the total order. */
    private void end(Transaction t, Outcome outcome) {
        stop(t);
        become(t, State.REMOTE);
        world.answer(t.id, outcome);
        world.order(new Release(List.of(t.id)));
    }

    /** Has the timer look after transactions that are first and still execute without priority. */
    private void watch() {
        if (!patienceTimerRuns && scheduled > 0) {
            patienceTimerRuns = true;
            world.timer(PATIENCE_TIMER, parameters.patienceNanos());
        }
    }

    @Override
    public void timer(long timer) {
        if (timer == RESOLVE_TIMER) {
            orphans.ranOut();
            resolve();
            return;
        }
        patienceTimerRuns = false;
        for (Transaction t : q(Queue.Q2B).heads(ConflictClasses.ALL)) {
            if (t.state == State.RUNNING && first(t)) {
                if (t.seenFirst) {
                    stop(t);
                    become(t, State.PRIORITY);
                    world.run(t.id, ReplicaWorld.Priority.ORDERED);
                } else {
                    t.seenFirst = true;
                }
            }
        }
        reconsider();
    }

    // ------------------------------------------------------------------------------------------ replicas that are gone

    @Override
    public void view(Set<Integer> alive) {
        orphans.view(alive);
        resolve();
    }

    private boolean orphan(Transaction t) {
        return orphans.isOne(t.id, t.state != State.REMOTE);
    }

    private void resolve() {
        orphans.release(undelivered.members().stream().filter(this::orphan).map(t -> t.id).toList(), world);
    }

    // ------------------------------------------------------------------------------------------ the rest of the seam

    /** Which group each place belongs to; who holds it may differ between replicas, and does not matter. */
    @Override
    public byte[] snapshot() {
        return new ClassPlaces(delivered, undelivered.members().stream()
                .map(t -> new ClassPlaces.Place(t.seq, t.id, t.cc)).toList()).bytes();
    }

    @Override
    public void restore(byte[] snapshot) {
        ClassPlaces open = Snapshots.open(snapshot, ClassPlaces.class);
        delivered = open.delivered();
        for (ClassPlaces.Place place : open.places()) {
            Transaction t = new Transaction(place.sequence(), place.transaction(), place.classes(), null);
            transactions.put(t.id, t);
            undelivered.add(t);
            q(Queue.Q2A).add(t);
            reconsidered.add(t);
        }
        reconsider();
    }
}
