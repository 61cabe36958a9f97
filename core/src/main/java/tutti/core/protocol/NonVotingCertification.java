package tutti.core.protocol;

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
 * requests that every replica executes, and what may be forgotten. What is compared with what, and why that is right, say
 * {@link SnapshotIsolation} and {@link DatabaseStateMachine}.
 */
abstract class NonVotingCertification implements Protocol {
    private static final long PROGRESS_TIMER = 1;

    /** Asks for a transaction to be certified. */
    interface Candidate extends Message {
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
    private final ReplicaWorld world;
    private final LocalTransactions local;
    private final Horizons horizons;
    private CertificationIndex index = new CertificationIndex();
    private long delivered;

    /**
     * At the beginning of the order.
     *
     * @param name of the protocol, for errors
     * @param replicas all of them, alive or not
     * @param windowPositions how far back a transaction may have executed
     * @param progressIntervalNanos how often an otherwise silent replica says how far it has come
     */
    NonVotingCertification(String name, Set<Integer> replicas, long windowPositions, long progressIntervalNanos,
            ReplicaWorld world) {
        this.name = name;
        this.world = world;
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

    /** No message still to be delivered is certified against positions up to this one. */
    void forget(long floor) {
        index.forget(floor);
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
        if (!(message instanceof Horizons.Progress)) {
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
            default -> throw foreign(message);
        }
        forget(horizons.floor(delivered));
        horizons.watch(world);
    }

    private void certify(long position, int sender, Candidate candidate) {
        AbortReason lost = conflict(candidate);
        horizons.reached(sender, candidate.horizon());
        if (lost == null) {
            note(candidate.writes().keys(), position);
        }
        local.decided(position, candidate.transaction(), candidate.writes(), lost);
    }

    @Override
    public final void committed(long position, long horizon) {
        horizons.rise(horizon);
        local.visible(position);
    }

    @Override
    public final void timer(long timer) {
        horizons.ranOut(world);
    }

    // ------------------------------------------------------------------------------------------ snapshots

    /**
     * What is decided from.
     *
     * @param horizons what each replica has told last
     */
    record Image(long delivered, Map<Integer, Long> horizons, CertificationIndex.Image index) {
        static final Schema<Image> SCHEMA = Schema.part("certification", Image.class).of(
                Field.of("delivered", Types.NATURAL, Image::delivered),
                Field.of("horizons", Types.map(Types.INT, Types.LONG, 1 << 16), Image::horizons),
                Field.of("index", CertificationIndex.Image.SCHEMA, Image::index), Image::new);
    }

    final Image image() {
        forget(horizons.floor(delivered));
        return new Image(delivered, horizons.told(), index.image());
    }

    final void restore(Image image) {
        delivered = image.delivered();
        horizons.restore(image.horizons(), delivered);
        index = CertificationIndex.of(image.index());
    }
}
