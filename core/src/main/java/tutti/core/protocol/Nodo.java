package tutti.core.protocol;

import java.util.ArrayDeque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.ClassMessage.Changes;
import tutti.core.protocol.ClassMessage.Execute;
import tutti.core.protocol.ClassMessage.Release;
import tutti.core.protocol.ClassMessage.Submit;
import tutti.core.protocol.ClassPlaces.Place;
import tutti.core.txn.AbortReason;
import tutti.core.txn.Outcome;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/**
 * {@code nodo}: order first, by conflict classes, then execute: one-copy serializability without certification and
 * without aborts for conflicts (Non-Disjoint conflict classes and Optimistic multicast: AKARA section 2.1 and figure 2;
 * CONS in GORDA D5.1).
 *
 * <pre>
 *  client  submitted    delivered at q, everywhere    first in every queue,         delivered at p, everywhere
 *    |        |                  |                    q.. visible where it runs                |
 *    +--------+-- order Submit --+- class queues ------------+-- run -- executed -- order Changes -+- out of the queues,
 *      (Q0)       (id, classes)        (Q2)                                 (id, changes)             commit / apply,
 *                   (Q1)                                                                              answer
 * </pre>
 *
 * <p>
 * <b>Two messages.</b> The first gives a transaction its place in one queue per conflict class. When it is first in all
 * of them, the replica that it was submitted to executes it. The paper multicasts the changes; here they are ordered,
 * and the position of that second message is the transaction's, so that the order alone recovers an engine. A request
 * that every replica executes waits in the queues like any other; its second message carries the request.
 *
 * <p>
 * <b>Why that is one-copy serializability.</b> Let T and U be transactions whose classes meet, T before U in the queues;
 * all replicas have the same queues, because they are a function of the ordered prefix. U is not run before T has left
 * the queues at U's replica, by a message at some position t, and everything up to t is visible there ({@link Turn}): U
 * sees T's changes. U's own message is ordered after that, so it has a position above t. Hence a transaction at position
 * p has read, of its classes, exactly the state that positions 1 to p - 1 leave: the history is equivalent to the serial
 * one in order of position, whatever isolation the engines have. The classes must cover what is read and what is written;
 * if they cover what is written only, what remains is snapshot isolation. Whoever changed nothing has read a prefix of
 * that history. A transaction submitted after another one of its classes was answered sees it.
 *
 * <p>
 * <b>No deadlock.</b> Whoever stands first among all that wait is first in each of its queues, so somebody always runs;
 * transactions that run side by side have no class in common.
 *
 * <p>
 * <b>Leaving without changes.</b> A transaction that failed or changed nothing frees its queues by an ordered message
 * ({@link Release}). So does one whose replica is gone: the lowest of the replicas that are left orders it, and a
 * restarted replica does it for those of its former life. If the changes were ordered before, they count and the release
 * comes too late; if the release came first, the changes are skipped, everywhere alike. A replica that was only taken for
 * gone then learns from the order that its transaction has ended.
 *
 * <p>
 * <b>Optimistic execution</b> (figure 2, transitions 2 to 4). A whole request is run as soon as its first message
 * is delivered tentatively, if none that is ordered or runs tentatively here meets its classes. If one that meets them is
 * delivered before it, it missed the order: it is rolled back, and runs again when it is first. If not, its state was
 * right: nothing that it may read changed between. An interactive transaction cannot run again, so it waits for its turn.
 */
public final class Nodo implements Protocol {
    /** The name in configurations. */
    public static final String NAME = "nodo";

    private static final long RESOLVE_TIMER = 1;

    /**
     * Parameters; the same at every replica except {@code node}.
     *
     * @param node this replica
     * @param replicas all replicas, alive or not, this one included
     * @param optimistic whether whole requests run on tentative delivery, where the world tells of it
     * @param resolveIntervalNanos how long a transaction whose replica is gone keeps its places before its release is
     *            asked for again, in nanoseconds
     */
    public record Parameters(int node, Set<Integer> replicas, boolean optimistic, long resolveIntervalNanos) {
        public Parameters {
            replicas = Checks.founders(replicas);
            Checks.time("resolveIntervalNanos", resolveIntervalNanos);
        }
    }

    /** What this replica knows of a local transaction that has not been answered. */
    private enum Phase {
        /** Its first message is on its way (Q1); it does not run. */
        SUBMITTED,
        /** As before, and it will run, or runs, on the strength of a tentative delivery. */
        TENTATIVE,
        /** As before, and has run: holds its locks, its changes are kept here. */
        TENTATIVELY_EXECUTED,
        /** In the class queues (Q2), not first in all. */
        QUEUED,
        /** First in all queues; will run as soon as its state is visible, or runs. */
        FIRST,
        /** Its second message is on its way; it holds its locks, if it has any. */
        ORDERED,
        /** Its second message is on its way; it was rolled back in the engine. */
        ORDERED_ROLLED_BACK
    }

    private static final class Local {
        final TransactionId id;
        final TransactionRequest request;
        Phase phase = Phase.SUBMITTED;
        /** The latest turn that it was given. */
        @Nullable
        Turn turn;
        /** What it changed, if it was executed tentatively. */
        WriteSet kept = WriteSet.EMPTY;

        Local(TransactionId id, TransactionRequest request) {
            this.id = id;
            this.request = request;
        }

        boolean repeatable() {
            return request instanceof TransactionRequest.Whole;
        }

        boolean everywhere() {
            return request instanceof TransactionRequest.Whole whole
                    && whole.placement() == TransactionRequest.Placement.ALL;
        }
    }

    /**
     * A transaction may run once everything up to {@code after} is visible here: the position at which it became first.
     * Whatever left the queues before it did so at or below that position.
     */
    private record Turn(long after, Local local, ReplicaWorld.Priority priority) {}

    private final Parameters parameters;
    private final ReplicaWorld world;
    private final TransactionQueues<Place> queues = new TransactionQueues<>();
    private final Map<TransactionId, Local> local = new LinkedHashMap<>();
    /** Those of them that run, or have run, on the strength of a tentative delivery. */
    private final Map<TransactionId, Local> tentative = new LinkedHashMap<>();
    /** In order of {@code after}. */
    private final ArrayDeque<Turn> turns = new ArrayDeque<>();
    private final Unanswered unanswered = new Unanswered();
    private final Orphans orphans;
    private long delivered;
    private long visible;

    /** A replica at the beginning of the order. */
    public Nodo(Parameters parameters, ReplicaWorld world) {
        this.parameters = parameters;
        this.world = world;
        this.orphans = new Orphans(parameters.node(), parameters.replicas(), parameters.resolveIntervalNanos(),
                RESOLVE_TIMER, world);
    }

    // ------------------------------------------------------------------------------------------ local transactions

    @Override
    public void submitted(TransactionId transaction, TransactionRequest request) {
        if (local.putIfAbsent(transaction, new Local(transaction, request)) != null) {
            throw new IllegalStateException(transaction + " was submitted twice");
        }
        world.order(new Submit(transaction, request.classes()));
    }

    @Override
    public void tentative(int sender, Message message) {
        if (!parameters.optimistic() || !(message instanceof Submit submit)) {
            return;
        }
        Local own = local.get(submit.transaction());
        if (own == null || own.phase != Phase.SUBMITTED || !own.repeatable() || own.everywhere()
                || !queues.isFree(submit.classes())
                || tentative.values().stream()
                        .anyMatch(other -> other.request.classes().meet(submit.classes()))) {
            return;
        }
        own.phase = Phase.TENTATIVE;
        tentative.put(own.id, own);
        give(own, ReplicaWorld.Priority.OPTIMISTIC);
    }

    /** Runs it as soon as the present state is visible. */
    private void give(Local own, ReplicaWorld.Priority priority) {
        Turn turn = new Turn(delivered, own, priority);
        own.turn = turn;
        turns.add(turn);
        takeTurns();
    }

    private void takeTurns() {
        while (!turns.isEmpty() && turns.peek().after() <= visible) {
            Turn turn = turns.remove();
            if (turn.equals(turn.local().turn)) {
                world.run(turn.local().id, turn.priority());
            }
        }
    }

    @Override
    public void executed(TransactionId transaction, Execution execution) {
        Local own = local.get(transaction);
        if (own != null && own.phase == Phase.TENTATIVE) {
            own.phase = Phase.TENTATIVELY_EXECUTED;
            own.kept = execution.writes();
        } else if (own != null && own.phase == Phase.FIRST) {
            ship(own, execution.writes());
        } else {
            throw new IllegalStateException(transaction + " was executed, but it was not its turn");
        }
    }

    private void ship(Local own, WriteSet writes) {
        if (writes.isEmpty()) {
            end(own, new Outcome.Committed(0));
        } else {
            own.phase = Phase.ORDERED;
            world.order(new Changes(own.id, writes));
        }
    }

    @Override
    public void failed(TransactionId transaction, AbortReason.Failed cause) {
        Local own = local.get(transaction);
        if (own == null || own.phase == Phase.ORDERED || own.phase == Phase.ORDERED_ROLLED_BACK) {
            throw new IllegalStateException(transaction + " failed but was not executing");
        }
        if (own.phase == Phase.TENTATIVE) {
            again(own);
        } else {
            end(own, new Outcome.Aborted(cause));
        }
    }

    @Override
    public void victim(TransactionId transaction, long forPosition) {
        Local own = local.get(transaction);
        if (own == null) {
            return;
        }
        switch (own.phase) {
            case TENTATIVE, TENTATIVELY_EXECUTED -> again(own);
            case FIRST -> {
                // Not by its classes, or it would not be first: two keys with one hash, or a lock that is no row's.
                if (own.repeatable()) {
                    give(own, ReplicaWorld.Priority.ORDERED);
                } else {
                    end(own, new Outcome.Aborted(new AbortReason.Victim(forPosition)));
                }
            }
            case ORDERED -> own.phase = Phase.ORDERED_ROLLED_BACK;
            case SUBMITTED, QUEUED, ORDERED_ROLLED_BACK -> {
                // It does not run; nothing is lost.
            }
        }
    }

    /** What it did tentatively is gone: it will run when it is first. */
    private void again(Local own) {
        own.phase = Phase.SUBMITTED;
        tentative.remove(own.id);
        own.turn = null;
        own.kept = WriteSet.EMPTY;
    }

    /** It changes nothing: answers, and frees its queues. */
    private void end(Local own, Outcome outcome) {
        local.remove(own.id);
        tentative.remove(own.id);
        own.turn = null;
        world.answer(own.id, outcome);
        world.order(new Release(List.of(own.id)));
    }

    // ------------------------------------------------------------------------------------------ the order

    @Override
    public void delivered(long position, int sender, Message message) {
        if (position <= delivered) {
            throw new IllegalStateException("position " + position + " delivered after " + delivered);
        }
        delivered = position;
        switch ((ClassMessage) message) {
            case Submit submit -> enqueue(position, submit);
            case Changes changes -> {
                Place place = queues.leave(changes.transaction(), this::promote);
                Local own = local.remove(changes.transaction());
                if (place == null) {
                    world.skip(position);
                } else if (own != null && own.phase == Phase.ORDERED) {
                    world.commit(changes.transaction(), position, changes.writes());
                } else {
                    world.apply(changes.transaction(), position, changes.writes());
                }
                decided(position, place, own);
            }
            case Execute execute -> {
                Place place = queues.leave(execute.transaction(), this::promote);
                Local own = local.remove(execute.transaction());
                if (place == null) {
                    world.skip(position);
                } else {
                    world.execute(execute.transaction(), position, execute.request());
                }
                decided(position, place, own);
            }
            case Release release -> {
                world.skip(position);
                orphans.released(sender);
                release.transactions().forEach(this::released);
            }
        }
    }

    private void enqueue(long position, Submit submit) {
        world.skip(position);
        Local own = local.get(submit.transaction());
        tentative.remove(submit.transaction());
        if (!tentative.isEmpty()) {
            missedOrder(submit);
        }
        Place place = new Place(position, submit.transaction(), submit.classes());
        queues.enter(place);
        if (own == null) {
            if (orphan(place.transaction())) {
                orphans.watch();
            }
            return;
        }
        switch (own.phase) {
            case SUBMITTED -> {
                own.phase = Phase.QUEUED;
                promote(place);
            }
            // Correct order, transition 4.
            case TENTATIVE -> own.phase = Phase.FIRST;
            case TENTATIVELY_EXECUTED -> ship(own, own.kept);
            default -> throw new IllegalStateException(own.id + " was ordered in phase " + own.phase);
        }
    }

    /** Transition 3 of those that run tentatively and meet what was ordered before them. */
    private void missedOrder(Submit submit) {
        for (Local other : List.copyOf(tentative.values())) {
            if (other.request.classes().meet(submit.classes())) {
                again(other);
                world.abort(other.id);
            }
        }
    }

    /** Runs a transaction that has become first in all its queues, if it is one of this replica. */
    private void promote(Place place) {
        Local own = local.get(place.transaction());
        if (own == null || own.phase != Phase.QUEUED || !queues.isNext(place)) {
            return;
        }
        if (own.request instanceof TransactionRequest.Whole whole && own.everywhere()) {
            own.phase = Phase.ORDERED;
            world.order(new Execute(own.id, whole));
        } else {
            own.phase = Phase.FIRST;
            give(own, ReplicaWorld.Priority.ORDERED);
        }
    }

    private void decided(long position, @Nullable Place place, @Nullable Local own) {
        if (own == null) {
            return;
        }
        if (place == null) {
            throw new IllegalStateException(own.id + " has no place in the queues but waits for position " + position);
        }
        unanswered.add(position, own.id);
    }

    private void released(TransactionId transaction) {
        queues.leave(transaction, this::promote);
        Local own = local.remove(transaction);
        if (own != null) {
            tentative.remove(transaction);
            own.turn = null;
            world.abort(transaction);
            world.answer(transaction, new Outcome.Aborted(new AbortReason.Refused(
                    "the other replicas took this one for gone and gave the transaction's place away; try again")));
        }
    }

    @Override
    public void committed(long position, long horizon) {
        visible = position;
        unanswered.visible(position, world);
        takeTurns();
    }

    // ------------------------------------------------------------------------------------------ replicas that are gone

    @Override
    public void view(Set<Integer> alive) {
        orphans.view(alive);
        resolve();
    }

    @Override
    public void timer(long timer) {
        orphans.ranOut();
        resolve();
    }

    private boolean orphan(TransactionId transaction) {
        return orphans.isOne(transaction, local.containsKey(transaction));
    }

    private void resolve() {
        orphans.release(queues.members().stream().map(Place::transaction).filter(this::orphan).toList());
    }

    // ------------------------------------------------------------------------------------------ the rest of the seam

    @Override
    public byte[] snapshot() {
        return new ClassPlaces(delivered, List.copyOf(queues.members())).bytes();
    }

    @Override
    public void restore(byte[] snapshot) {
        ClassPlaces open = Snapshots.open(snapshot, ClassPlaces.class);
        delivered = open.delivered();
        open.places().forEach(queues::enter);
    }
}
