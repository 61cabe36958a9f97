package tutti.core.protocol;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.core.certify.CertificationIndex;
import tutti.core.protocol.AkaraParameters.WhenEarly;
import tutti.core.protocol.AkaraTransaction.Queue;
import tutti.core.protocol.AkaraTransaction.State;
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
 * <li>Line 57 aborts t if an earlier t' is still executed; the text of section 3.2 means a t' that is blocked by t. Both can
 * be had ({@link WhenEarly}), and a third, that t waits. Under each, one that is first and has not been executed for a while
 * is given priority: whoever blocks it is pushed aside.
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
 *
 * <p>
 * <b>What the index forgets.</b> It is this replica's own, and bounded by keys. Who began before what it remembers counts as having failed the test: it is
 * executed again, or aborted if that cannot be. Nothing that is first can lose in this way for ever, unless as many keys as are remembered are committed by
 * others while it executes, each time.
 *
 * <p>
 * <b>Why who gives way early harms nothing.</b> A transaction in Q2b has sent nothing, so rolling it back is this replica's own
 * business; what has been told of waits may be old or too much, and costs a repetition at most. Each gives way once: it is not
 * executed optimistically again. And the t' that has the first of all places does not wait for ever: follow those that run from t' to
 * whom they wait for, as told. Whoever is ready there meets t' and comes later, in Q2b or Q2c, so it gives way or overtakes; who runs
 * and waits for nobody will be ready; who has been sent ends without t'; and a circle is the engine's to break. Where an engine
 * does not tell, patience does.
 */
public final class Akara implements Protocol {
    /** The name in configurations. */
    public static final String NAME = "akara";

    private static final long RESOLVE_TIMER = 1;
    private static final long PATIENCE_TIMER = 2;

    /** A transaction with a position that is not visible yet. */
    private record Delivered(long position, AkaraTransaction t, boolean local) {}

    private final AkaraParameters parameters;
    private final ReplicaWorld world;
    private final Map<TransactionId, TransactionRequest> q0 = new HashMap<>();
    private final AkaraQueues queues = new AkaraQueues();
    private final Map<TransactionId, AkaraTransaction> transactions = new HashMap<>();
    private final ArrayDeque<Delivered> invisible = new ArrayDeque<>();
    private final ArrayDeque<AkaraTransaction> reconsidered = new ArrayDeque<>();
    private final CertificationIndex index = new CertificationIndex();
    private final Orphans orphans;
    /** How many are scheduled and hold their locks, or wait for them, without being sure of their place. */
    private int scheduled;
    private long delivered;
    private boolean patienceTimerRuns;

    /** A replica at the beginning of the order. */
    public Akara(AkaraParameters parameters, ReplicaWorld world) {
        this.parameters = parameters;
        this.world = world;
        this.orphans = new Orphans(parameters.node(), parameters.replicas(), parameters.resolveIntervalNanos(),
                RESOLVE_TIMER, world);
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
                AkaraTransaction t = new AkaraTransaction(position, submit.transaction(), submit.classes(),
                        q0.remove(submit.transaction()));
                if (transactions.putIfAbsent(t.id, t) != null) {
                    throw new IllegalStateException(t.id + " was ordered twice");
                }
                queues.deliver(t);
                reconsidered.add(t);
                if (orphan(t)) {
                    orphans.watch();
                }
            }
            case Changes changes -> {
                AkaraTransaction t = transactions.get(changes.transaction());
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
                AkaraTransaction t = transactions.get(execute.transaction());
                if (t == null) {
                    world.skip(position);
                } else {
                    world.execute(t.id, position, execute.request());
                    ended(t, position, execute.request().keys());
                }
            }
            case Release release -> {
                world.skip(position);
                orphans.released(sender);
                release.transactions().forEach(this::released);
            }
        }
        reconsider();
    }

    /** The second message of t was delivered: it takes the first place of its group, and is past all waiting. */
    private void ended(AkaraTransaction t, long position, KeySet keys) {
        AkaraTransaction first = queues.place(t.cc);
        if (first == null || !first.sameGroup(t)) {
            throw new IllegalStateException(t.id + " ended at " + position + " out of its order");
        }
        swap(first, t);
        queues.end(t);
        transactions.remove(t.id);
        if (position > index.floor()) {
            index.note(keys, position);
            index.bound(parameters.keysMax());
        }
        invisible.add(new Delivered(position, t, t.state == State.SENT || t.state == State.SENT_ROLLED_BACK));
        become(t, State.DELIVERED);
        move(t, Queue.Q2C);
    }

    /** t leaves without a position: it gives up the last place of its group, and those behind it in the group move up. */
    private void released(TransactionId id) {
        AkaraTransaction t = transactions.remove(id);
        if (t == null) {
            return;
        }
        for (AkaraTransaction other : queues.places()) {
            if (other.seq > t.seq && other.sameGroup(t)) {
                swap(t, other);
            }
        }
        queues.end(t);
        queues.leave(t);
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
            queues.leave(end.t());
            look(end.t());
            if (end.local()) {
                world.answer(end.t().id, new Outcome.Committed(end.position()));
            }
        }
        reconsider();
    }

    // ------------------------------------------------------------------------------------------ progress

    /** Whoever may go on now that t has left a queue. */
    private void look(AkaraTransaction t) {
        List<AkaraTransaction> executing = queues.heads(Queue.Q2B, t.cc);
        reconsidered.addAll(queues.heads(Queue.Q2A, t.cc));
        reconsidered.addAll(executing);
        reconsidered.addAll(queues.heads(Queue.Q2C, t.cc));
        executing.stream().filter(next -> next.state == State.RUNNING).forEach(this::lookBehind);
    }

    /** Who is ready in Q2b and may overtake one that is next there and runs, or must give way to it (lines 52 to 57). */
    private void lookBehind(AkaraTransaction next) {
        AkaraTransaction overtaking = queues.firstReady(next.cc);
        if (overtaking != null) {
            reconsidered.add(overtaking);
        }
        switch (parameters.whenEarly()) {
            case WAIT -> {
                // Nobody gives way.
            }
            case ABORT -> queues.ready().stream().filter(t -> t.cc.meet(next.cc)).forEach(reconsidered::add);
            case ABORT_IF_BLOCKING -> inTheWayOf(next).stream().filter(t -> t.state == State.READY)
                    .forEach(reconsidered::add);
        }
    }

    private void become(AkaraTransaction t, State state) {
        queues.become(t, state);
    }

    private void move(AkaraTransaction t, Queue to) {
        if (t.queue != to) {
            queues.move(t, to);
            look(t);
        }
        reconsidered.add(t);
    }

    private void reconsider() {
        while (!reconsidered.isEmpty()) {
            AkaraTransaction t = reconsidered.remove();
            if (!queues.stands(t)) {
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
    private void fromQ2a(AkaraTransaction t) {
        if (!queues.isNext(t)) {
            return;
        }
        if (t.state != State.WAITING || active(t)) {
            move(t, Queue.Q2B);
        } else if (scheduled < parameters.optimisticMax() || queues.first(t)) {
            become(t, State.RUNNING);
            t.scheduled = true;
            scheduled++;
            world.run(t.id, ReplicaWorld.Priority.OPTIMISTIC);
            move(t, Queue.Q2B);
        }
    }

    /** Lines 15 to 18, 33 and 34, 45 and 46; otherwise lines 52 to 57. */
    private void fromQ2b(AkaraTransaction t) {
        if (t.state == State.RUNNING || t.state == State.PRIORITY) {
            return;
        }
        AkaraTransaction next = queues.next(Queue.Q2B, t.cc);
        if (t.equals(next)) {
            move(t, Queue.Q2C);
        } else if (t.state == State.READY && next != null && next.state == State.RUNNING) {
            if (t.cc.equals(next.cc)) {
                swap(t, next);
                reconsidered.add(t);
            } else if (givesWay(t, next)) {
                rollBack(t, new AbortReason.Victim(next.seq));
            }
        }
    }

    /** Line 57. */
    private boolean givesWay(AkaraTransaction t, AkaraTransaction next) {
        return switch (parameters.whenEarly()) {
            case WAIT -> false;
            case ABORT -> true;
            case ABORT_IF_BLOCKING -> inTheWayOf(next).contains(t);
        };
    }

    /** For whom it waits in the engine: directly, or through others that run. */
    private Set<AkaraTransaction> inTheWayOf(AkaraTransaction waiter) {
        Set<AkaraTransaction> found = new LinkedHashSet<>();
        ArrayDeque<AkaraTransaction> next = new ArrayDeque<>(List.of(waiter));
        for (AkaraTransaction one = next.poll(); one != null; one = next.poll()) {
            for (TransactionId id : one.state == State.RUNNING ? one.blockedBy : Set.<TransactionId>of()) {
                AkaraTransaction holder = transactions.get(id);
                if (holder != null && found.add(holder)) {
                    next.add(holder);
                }
            }
        }
        return found;
    }

    /** Rolls back one that is ready: it is executed again in its turn, or ends if that cannot be. */
    private void rollBack(AkaraTransaction t, AbortReason why) {
        stop(t);
        become(t, State.NOT_READY);
        world.abort(t.id);
        if (!t.repeatable()) {
            end(t, new Outcome.Aborted(why));
        }
    }

    /** Lines 19 to 22 and 47; and line 57 again, for one before which another has got the place of one that was released. */
    private void fromQ2c(AkaraTransaction t) {
        AkaraTransaction place = queues.place(t.cc);
        if (place != null && place.state == State.RUNNING && t.state == State.READY && !place.sameGroup(t)
                && givesWay(t, place)) {
            rollBack(t, new AbortReason.Victim(place.seq));
        }
        if (!mayCommit(t)) {
            return;
        }
        AbortReason lost = t.state == State.READY ? certify(t) : null;
        if (lost != null) {
            rollBack(t, lost);
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

    private boolean active(AkaraTransaction t) {
        return t.request != null && active(t.request);
    }

    /** Line 19, and whether the others would agree: the first place that meets t is one of its group. */
    private boolean mayCommit(AkaraTransaction t) {
        AkaraTransaction place = queues.place(t.cc);
        return queues.isNext(t) && place != null && place.sameGroup(t);
    }

    /** Why what t executed on is no longer right, in respects that the engine does not look after; null if it is right. */
    private @Nullable AbortReason certify(AkaraTransaction t) {
        Execution execution = t.execution;
        if (execution == null) {
            return null;
        }
        AbortReason lost = index.certifyOpen(execution.writes().keys(), execution.begun(), execution.lastCommitted());
        return lost == null ? index.stale(execution.reads().keys(), execution.begun()) : lost;
    }

    /** Line 56. */
    private void swap(AkaraTransaction t, AkaraTransaction other) {
        queues.swap(t, other);
        look(t);
    }

    // ------------------------------------------------------------------------------------------ executions

    private AkaraTransaction local(TransactionId id, String what) {
        AkaraTransaction t = transactions.get(id);
        if (t == null || t.request == null) {
            throw new IllegalStateException(id + " " + what + " but is not executing");
        }
        return t;
    }

    @Override
    public void executed(TransactionId id, Execution execution) {
        AkaraTransaction t = local(id, "was executed");
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
        AkaraTransaction t = local(id, "failed");
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
        AkaraTransaction t = transactions.get(id);
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

    /** Counts only under {@link WhenEarly#ABORT_IF_BLOCKING}, and of one that is executed optimistically. */
    @Override
    public void blocked(TransactionId waiter, Set<TransactionId> holders) {
        AkaraTransaction t = transactions.get(waiter);
        if (t != null && t.state == State.RUNNING && parameters.whenEarly() == WhenEarly.ABORT_IF_BLOCKING) {
            t.blockedBy = holders;
            queues.heads(Queue.Q2B, ConflictClasses.ALL).stream().filter(next -> next.state == State.RUNNING)
                    .forEach(this::lookBehind);
            reconsider();
        }
    }

    /** Its slot is free: it holds no locks any more, or is sure of its place. */
    private void stop(AkaraTransaction t) {
        t.seenFirst = false;
        if (t.scheduled) {
            t.scheduled = false;
            scheduled--;
            reconsidered.addAll(queues.heads(Queue.Q2A, ConflictClasses.ALL));
        }
    }

    /** It will change nothing: answers, and leaves the queues in the total order. */
    private void end(AkaraTransaction t, Outcome outcome) {
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
        for (AkaraTransaction t : queues.heads(Queue.Q2B, ConflictClasses.ALL)) {
            if (t.state == State.RUNNING && queues.first(t)) {
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

    private boolean orphan(AkaraTransaction t) {
        return orphans.isOne(t.id, t.state != State.REMOTE);
    }

    private void resolve() {
        orphans.release(queues.places().stream().filter(this::orphan).map(t -> t.id).toList());
    }

    // ------------------------------------------------------------------------------------------ the rest of the seam

    @Override
    public int remembered() {
        return index.live();
    }

    /** Which group each place belongs to; who holds it may differ between replicas, and does not matter. */
    @Override
    public byte[] snapshot() {
        return new ClassPlaces(delivered, queues.places().stream()
                .map(t -> new ClassPlaces.Place(t.seq, t.id, t.cc)).toList()).bytes();
    }

    @Override
    public void restore(byte[] snapshot) {
        ClassPlaces open = Snapshots.open(snapshot, ClassPlaces.class);
        delivered = open.delivered();
        for (ClassPlaces.Place place : open.places()) {
            AkaraTransaction t = new AkaraTransaction(place.sequence(), place.transaction(), place.classes(), null);
            transactions.put(t.id, t);
            queues.deliver(t);
            reconsidered.add(t);
        }
        reconsider();
    }
}
