package tutti.core.protocol;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.core.certify.CertificationIndex;
import tutti.core.schema.Field;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;
import tutti.core.txn.AbortReason;
import tutti.core.txn.KeySet;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/**
 * What protocols have in common whose transactions execute at once, are ordered with one message each, and are decided by
 * every replica for itself when that is delivered: the way of a transaction from its client to its decision and back, the
 * requests that every replica executes, whose turn it is at a row ({@link NodeTurns}), and what may be forgotten. What is compared with what, and why that is right, say
 * {@link SnapshotIsolation} and {@link DatabaseStateMachine}.
 */
abstract class NonVotingCertification implements Protocol {
    private static final long PROGRESS_TIMER = 1;
    private static final long TURN_TIMER = 2;
    /** A turn that is waited for here lasts {@value #TURN_TICKS} times as long, and up to once more. */
    private static final long TURN_TICK_NANOS = 100_000_000;
    private static final int TURN_TICKS = 5;

    /** Asks for a transaction to be certified. */
    interface Candidate extends Message {
        @Override
        TransactionId transaction();

        /** A position visible before its first snapshot. */
        long begun();

        /** The position visible when it held all its locks. */
        long lastCommitted();

        /** No transaction that the sender asks to certify from now on has begun below it. */
        long horizon();

        WriteSet writes();
    }

    private final String name;
    private final int node;
    private final ReplicaWorld world;
    private final LocalTransactions local;
    private final Horizons horizons;
    private CertificationIndex index = new CertificationIndex();
    private final int lossesToTurn;
    private final int keysMax;
    private NodeTurns turns;
    private final List<Refused> refused = new ArrayList<>();
    /** What it has said of turns, until that is delivered. */
    private final Set<NodeTurns.Over> said = new LinkedHashSet<>();
    private boolean turnTimerRuns;
    private long delivered;

    /** A local transaction that was refused because it was another node's turn, and is answered when that is over. */
    private static final class Refused {
        final TransactionId transaction;
        final long key;
        final AbortReason why;
        int ticks;

        Refused(TransactionId transaction, long key, AbortReason why) {
            this.transaction = transaction;
            this.key = key;
            this.why = why;
        }
    }

    /**
     * At the beginning of the order.
     *
     * @param name of the protocol, for errors
     * @param node this replica
     * @param replicas all of them, alive or not
     * @param windowPositions how far back a transaction may have executed
     * @param keysMax how many keys are kept to be compared with at most, whatever the window: without a bound, a member that is away for a million
     *            positions of twenty keys each would cost the others a gigabyte
     * @param progressIntervalNanos how often an otherwise silent replica says how far it has come
     * @param lossesToTurn after how many losses of a row in a row a node has its turn there; 0 for never
     */
    NonVotingCertification(String name, int node, Set<Integer> replicas, long windowPositions,
            int keysMax, long progressIntervalNanos,
            int lossesToTurn, ReplicaWorld world) {
        this.name = name;
        this.node = node;
        this.world = world;
        this.keysMax = keysMax;
        this.lossesToTurn = lossesToTurn;
        this.turns = new NodeTurns(lossesToTurn);
        this.local = new LocalTransactions(world);
        this.horizons = new Horizons(replicas, windowPositions, progressIntervalNanos, PROGRESS_TIMER);
    }

    // ------------------------------------------------------------------------------------------ what the protocols say

    /** The message that asks for a transaction of this replica to be certified. */
    abstract Candidate candidate(TransactionId transaction, Execution execution, long horizon);

    /** Why a transaction may not commit; null if it may. A function of the message and of what was {@linkplain #note noted}. */
    abstract @Nullable AbortReason conflict(Candidate candidate);

    /** These keys were touched at a position. */
    void note(KeySet keys, long position) {
        index.note(keys, position);
    }

    /** No message still to be delivered is certified against positions up to this one, or against more than so many keys. */
    void forget(long floor) {
        index.forget(floor);
        index.bound(keysMax);
        turns.forget(index.floor());
    }

    /** Who touched which key last. */
    final CertificationIndex index() {
        return index;
    }

    final IllegalArgumentException foreign(Message message) {
        return new IllegalArgumentException("not a message of " + name + ": " + message);
    }

    // ------------------------------------------------------------------------------------------ events

    @Override
    public final void submitted(TransactionId transaction, TransactionRequest request) {
        local.submitted(transaction, request);
    }

    @Override
    public final void executed(TransactionId transaction, Execution execution) {
        local.executed(transaction, execution);
        if (execution.begun() < horizons.own()) {
            throw new IllegalArgumentException(
                    transaction + " begun at " + execution.begun() + ", horizon " + horizons.own());
        }
        world.order(candidate(transaction, execution, horizons.tell()));
    }

    @Override
    public final void failed(TransactionId transaction, AbortReason.Failed cause) {
        local.failed(transaction, cause);
    }

    @Override
    public final void victim(TransactionId transaction, long forPosition) {
        local.victim(transaction, forPosition);
    }

    @Override
    public final void delivered(long position, int sender, Message message) {
        if (position <= delivered) {
            throw new IllegalStateException("position " + position + " delivered after " + delivered);
        }
        delivered = position;
        if (!(message instanceof Horizons.Progress || message instanceof NodeTurns.Over)) {
            horizons.matters(position);
        }
        switch (message) {
            case Candidate candidate -> certify(position, sender, candidate);
            case Barrier barrier -> {
                // It touches what it says from here on: later transactions that executed before it are stale.
                note(barrier.request().keys(), position);
                local.execute(position, barrier);
            }
            case Horizons.Progress progress -> {
                horizons.reached(sender, progress.horizon());
                world.skip(position);
            }
            case NodeTurns.Over over -> {
                said.remove(over);
                turns.over(over);
                world.skip(position);
            }
            default -> throw foreign(message);
        }
        answerRefused();
        forget(horizons.floor(delivered));
        horizons.watch(world);
    }

    private void certify(long position, int sender, Candidate candidate) {
        KeySet keys = candidate.writes().keys();
        AbortReason lost = conflict(candidate);
        horizons.reached(sender, candidate.horizon());
        if (lost instanceof AbortReason.LostCertification(int key, long _)) {
            turns.lost(keys, key, sender, position);
        }
        int taken = lost == null ? turns.refused(keys, sender, position) : -1;
        if (taken >= 0) {
            if (local.refused(position, candidate.transaction())) {
                refused.add(new Refused(candidate.transaction(), keys.hash(taken),
                        new AbortReason.LostCertification(taken, position)));
            }
            return;
        }
        if (lost == null) {
            note(keys, position);
            turns.won(keys, sender);
        }
        local.decided(position, candidate.transaction(), candidate.writes(), lost);
    }

    /** Run again before it is anybody's turn, or this node's, those would be refused again. */
    private void answerRefused() {
        for (Iterator<Refused> each = refused.iterator(); each.hasNext();) {
            Refused one = each.next();
            NodeTurns.Turn turn = turns.first(one.key, delivered);
            if (turn == null || turn.node() == node) {
                each.remove();
                local.answer(one.transaction, one.why);
            }
        }
        watchTurns();
    }

    private void watchTurns() {
        if (!turnTimerRuns && !refused.isEmpty()) {
            turnTimerRuns = true;
            world.timer(TURN_TIMER, TURN_TICK_NANOS);
        }
    }

    /** A turn whose node does not use it is over, for all replicas, when a message says so. */
    private void turnTick() {
        turnTimerRuns = false;
        Set<NodeTurns.Turn> over = new LinkedHashSet<>();
        for (Refused one : refused) {
            NodeTurns.Turn turn = turns.first(one.key, delivered);
            if (++one.ticks > TURN_TICKS && turn != null) {
                over.add(turn);
                one.ticks = 0;
            }
        }
        over.stream().map(turn -> new NodeTurns.Over(turn.key(), turn.since())).filter(said::add).forEach(world::order);
        watchTurns();
    }

    @Override
    public final void committed(long position, long horizon) {
        horizons.rise(horizon);
        local.visible(position);
    }

    @Override
    public final void timer(long timer) {
        if (timer == TURN_TIMER) {
            turnTick();
        } else {
            horizons.ranOut(world);
        }
    }

    @Override
    public final int remembered() {
        return index.live();
    }

    // ------------------------------------------------------------------------------------------ snapshots

    /**
     * What is decided from.
     *
     * @param horizons what each replica has told last
     */
    record Image(long delivered, Map<Integer, Long> horizons, CertificationIndex.Image index, NodeTurns.Image turns) {
        static final Schema<Image> SCHEMA = Schema.part("certification", Image.class).of(
                Field.of("delivered", Types.NATURAL, Image::delivered),
                Field.of("horizons", Types.map(Types.INT, Types.LONG, 1 << 16), Image::horizons),
                Field.of("index", CertificationIndex.Image.SCHEMA, Image::index),
                Field.of("turns", NodeTurns.Image.SCHEMA, Image::turns), Image::new);
    }

    final Image image() {
        forget(horizons.floor(delivered));
        return new Image(delivered, horizons.told(), index.image(), turns.image(delivered));
    }

    final void restore(Image image) {
        delivered = image.delivered();
        horizons.restore(image.horizons(), delivered);
        index = CertificationIndex.of(image.index());
        turns = new NodeTurns(lossesToTurn, image.turns(), index.floor());
    }
}
