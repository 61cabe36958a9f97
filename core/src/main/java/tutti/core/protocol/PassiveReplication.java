package tutti.core.protocol;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.core.certify.CertificationIndex;
import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.MessageSet;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;
import tutti.core.txn.AbortReason;
import tutti.core.txn.KeySet;
import tutti.core.txn.Outcome;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/**
 * {@code passive}: one primary executes everything that changes the database and ships its write sets to the backups, which
 * serve reads; fail-over is decided in the total order (primary-backup; SQLware's passive replication without its logs).
 * One-copy snapshot isolation, strong for whatever changes something: it has seen all that any client had been told of
 * when it was submitted.
 *
 * <pre>
 *  client    executed at the primary     delivered at p              delivered at t
 *    |          |                            |                           |
 *    +--run-----+--- order (epoch, changes) -+-- commit / apply; answer  |
 *                                            +-- skip, if of an older    |
 *                                                epoch                   |
 *  a backup that misses the primary: ------ order take-over(epoch + 1) --+-- it is primary from t on
 * </pre>
 *
 * <p>
 * <b>Epochs.</b> The state of the protocol is (epoch, primary), at first (0, the replica with the lowest number). A take-over
 * for epoch e + 1 delivered in epoch e begins epoch e + 1 with its sender as primary; any other is skipped: of rivals the
 * first in the order wins. Changes are skipped if they carry another epoch than the one they are delivered in, so what a
 * deposed primary had sent and the order brought too late happens nowhere. It learns of that at the take-over and tells its
 * clients. All that is a function of the ordered prefix; suspicions only cause take-overs, they decide nothing.
 *
 * <p>
 * <b>Why that is strong.</b> A replica that becomes primary at t runs nothing that may change the database before t is visible
 * in its engine, and refuses to order what began earlier. Let T commit in epoch e, which began at t, and let q be a position
 * that a client had been told of when T was submitted. If q was committed in an earlier epoch, q &lt; t, which T has seen. If in
 * e, the same primary answered it when it was visible there, and T began after. It cannot have been in a later epoch: T, in
 * the order after the take-over of that epoch, would have been skipped. (A restarted primary goes on in its epoch: its world
 * submits nothing before it has caught up.) A client that the primary could not tell may ask another replica what became of its
 * transaction; that q was committed is told there when the primary has said, in the order, that it shows q, or when behind q
 * its life or its epoch has ended.
 *
 * <p>
 * <b>Why write sets are certified nevertheless.</b> The primary's engine keeps transactions apart by its locks, but an ordered
 * transaction may lose its locks before it is visible: its session dies, and its write set is applied in its place. A
 * transaction that takes the row in between has not seen it. So every replica certifies, write against write, as in
 * {@link SnapshotIsolation}; there, too, stands why that suffices. It hardly ever aborts anything, and it also decides what
 * becomes of messages of the primary's own former life. Only what the present primary says of its open transactions bounds
 * what the index keeps, since all that is certified in this epoch begins at the take-over or later; and so many keys, by which the floor is raised. Their number
 * is a function of what was noted, so all replicas raise it alike, and refuse alike what began below it.
 */
public final class PassiveReplication implements Protocol {
    /** The name in configurations. */
    public static final String NAME = "passive";

    /** Its messages. */
    static final MessageSet<Message> MESSAGES = new MessageSet<>("passive",
            "Under protocol `passive`.", List.of(Changes.SCHEMA, Barrier.SCHEMA, TakeOver.SCHEMA));
    private static final long TAKE_OVER_TIMER = 1;

    /**
     * Parameters; the same at every replica except {@code node}.
     *
     * @param node this replica
     * @param replicas all replicas, alive or not, this one included; the lowest is the first primary
     * @param windowPositions how far back a transaction may have executed, in positions: 1 to
     *            {@link CertificationIndex#SPAN_MAX}/2
     * @param keysMax how many keys of those that committed are remembered at most, at least 1
     * @param takeOverDelayNanos how long the primary must have been missed before another takes over, in nanoseconds
     */
    public record Parameters(int node, Set<Integer> replicas, long windowPositions, int keysMax,
            long takeOverDelayNanos) {
        public Parameters {
            replicas = Checks.replicas(node, replicas);
            Checks.window(windowPositions, keysMax);
            Checks.time("takeOverDelayNanos", takeOverDelayNanos);
        }
    }

    /** What the primary of an epoch has changed. */
    record Changes(long epoch, TransactionId transaction, long begun, long lastCommitted, long horizon,
            WriteSet writes) implements Message {
        static final Schema<Changes> SCHEMA = Schema
                .message("changes", 1, Changes.class, "What the primary of an epoch has changed.").of(
                        Field.of("epoch", Types.NATURAL, Changes::epoch),
                        Field.of("transaction", TransactionId.SCHEMA, Changes::transaction),
                        Field.of("begun", Types.NATURAL, Changes::begun),
                        Field.of("lastCommitted", Types.NATURAL, Changes::lastCommitted),
                        Field.of("horizon", Types.NATURAL, Changes::horizon),
                        Field.of("writes", WriteSet.SCHEMA, Changes::writes), Changes::new);
    }

    /** What the primary of an epoch has every replica execute alone. */
    record Barrier(long epoch, TransactionId transaction, TransactionRequest.Whole request) implements Message {
        static final Schema<Barrier> SCHEMA = Schema
                .message("barrier", 2, Barrier.class, "What the primary of an epoch has every replica execute alone.")
                .of(
                        Field.of("epoch", Types.NATURAL, Barrier::epoch),
                        Field.of("transaction", TransactionId.SCHEMA, Barrier::transaction),
                        Field.of("request", TransactionRequest.Whole.SCHEMA, Barrier::request), Barrier::new);
    }

    /** The sender wants to be the primary of this epoch. */
    record TakeOver(long epoch) implements Message {
        static final Schema<TakeOver> SCHEMA = Schema
                .message("take-over", 3, TakeOver.class, "The sender wants to be the primary of this epoch.").of(
                        Field.of("epoch", Types.NATURAL, TakeOver::epoch), TakeOver::new);
    }

    private enum Phase {
        /** Until this primary has caught up with its take-over. */
        WAITING,
        /** In the engine. */
        RUNNING,
        /** Its message is on its way. */
        ORDERED
    }

    /** A local transaction that has not been answered and has no position. */
    private static final class Local {
        final TransactionRequest request;
        Phase phase = Phase.WAITING;
        /** In the engine. */
        boolean rolledBack;

        Local(TransactionRequest request) {
            this.request = request;
        }

        TransactionRequest.@Nullable Whole barrier() {
            return request instanceof TransactionRequest.Whole whole
                    && whole.placement() == TransactionRequest.Placement.ALL ? whole : null;
        }
    }

    private final Parameters parameters;
    private final ReplicaWorld world;
    private final Map<TransactionId, Local> local = new LinkedHashMap<>();
    private final Unanswered unanswered = new Unanswered();
    private final RepeatedProposal takeOvers;
    private CertificationIndex index = new CertificationIndex();
    private long epoch;
    private int primary;
    /** Position of the take-over that began the epoch. */
    private long epochBegan;
    private long delivered;
    private long visible;
    private long horizon;
    private Set<Integer> alive;
    private boolean timerRuns;
    /** So many times it was looked, and this primary was missing in this view. */
    private int looks;

    /** A replica at the beginning of the order. */
    public PassiveReplication(Parameters parameters, ReplicaWorld world) {
        this.parameters = parameters;
        this.world = world;
        this.takeOvers = new RepeatedProposal(parameters.node(), world);
        this.primary = Collections.min(parameters.replicas());
        this.alive = parameters.replicas();
    }

    @Override
    public OptionalInt primary() {
        return OptionalInt.of(primary);
    }

    private boolean isPrimary() {
        return primary == parameters.node();
    }

    // ------------------------------------------------------------------------------------------ clients

    @Override
    public void submitted(TransactionId transaction, TransactionRequest request) {
        Local own = new Local(request);
        if (local.putIfAbsent(transaction, own) != null) {
            throw new IllegalStateException(transaction + " was submitted twice");
        }
        begin(transaction, own);
    }

    /** Lets it run: here, or by everybody; or refuses it; or has it wait. */
    private void begin(TransactionId transaction, Local own) {
        TransactionRequest.Whole barrier = own.barrier();
        if (isPrimary() && visible < epochBegan) {
            return;
        }
        if (barrier == null) {
            // Elsewhere than at the primary too: it may turn out to read only.
            own.phase = Phase.RUNNING;
            world.run(transaction, ReplicaWorld.Priority.OPTIMISTIC);
        } else if (isPrimary()) {
            own.phase = Phase.ORDERED;
            world.order(new Barrier(epoch, transaction, barrier));
        } else {
            aborted(transaction, notPrimary());
        }
    }

    private AbortReason notPrimary() {
        return new AbortReason.Refused("under protocol '" + NAME + "' changes are made at the primary, which is node "
                + primary + "; this is node " + parameters.node() + ", where transactions may only read");
    }

    private void aborted(TransactionId transaction, AbortReason reason) {
        local.remove(transaction);
        world.answer(transaction, new Outcome.Aborted(reason));
    }

    @Override
    public void executed(TransactionId transaction, Execution execution) {
        Local own = running(transaction);
        if (execution.writes().isEmpty()) {
            local.remove(transaction);
            world.answer(transaction, new Outcome.Committed(0));
        } else if (!isPrimary()) {
            world.abort(transaction);
            aborted(transaction, notPrimary());
        } else if (execution.begun() < epochBegan) {
            world.abort(transaction);
            aborted(transaction, new AbortReason.Failed("began-before-take-over"));
        } else {
            own.phase = Phase.ORDERED;
            world.order(new Changes(epoch, transaction, execution.begun(), execution.lastCommitted(),
                    Math.min(horizon, execution.begun()), execution.writes()));
        }
    }

    private Local running(TransactionId transaction) {
        Local own = local.get(transaction);
        if (own == null || own.phase != Phase.RUNNING) {
            throw new IllegalStateException(transaction + " was not running");
        }
        return own;
    }

    @Override
    public void failed(TransactionId transaction, AbortReason.Failed cause) {
        running(transaction);
        aborted(transaction, cause);
    }

    @Override
    public void victim(TransactionId transaction, long forPosition) {
        Local own = local.get(transaction);
        if (own == null) {
            return;
        }
        if (own.phase == Phase.RUNNING) {
            aborted(transaction, new AbortReason.Victim(forPosition));
        } else {
            own.rolledBack = true;
        }
    }

    @Override
    public void committed(long position, long newHorizon) {
        visible = position;
        horizon = Math.max(horizon, newHorizon);
        unanswered.visible(position, world);
        beginWaiting();
    }

    private void beginWaiting() {
        for (Map.Entry<TransactionId, Local> entry : List.copyOf(local.entrySet())) {
            if (entry.getValue().phase == Phase.WAITING) {
                begin(entry.getKey(), entry.getValue());
            }
        }
    }

    // ------------------------------------------------------------------------------------------ order

    @Override
    public void delivered(long position, int sender, Message message) {
        if (position <= delivered) {
            throw new IllegalStateException("position " + position + " delivered after " + delivered);
        }
        delivered = position;
        switch (message) {
            case Changes changes -> changes(position, changes);
            case Barrier barrier -> {
                if (barrier.epoch() == epoch) {
                    index.note(barrier.request().keys(), position);
                    index.bound(parameters.keysMax());
                    world.execute(barrier.transaction(), position, barrier.request());
                    if (local.remove(barrier.transaction()) != null) {
                        unanswered.add(position, barrier.transaction());
                    }
                } else {
                    world.skip(position);
                }
            }
            case TakeOver takeOver -> {
                world.skip(position);
                takeOvers.delivered(sender);
                if (takeOver.epoch() == epoch + 1) {
                    takenOver(position, sender);
                }
            }
            default -> throw new IllegalArgumentException("not a message of " + NAME + ": " + message);
        }
    }

    private void changes(long position, Changes changes) {
        if (changes.epoch() != epoch) {
            // Its client, if any, was told at the take-over.
            world.skip(position);
            return;
        }
        TransactionId transaction = changes.transaction();
        KeySet keys = changes.writes().keys();
        Local own = local.remove(transaction);
        AbortReason reason = index.certify(keys, changes.begun(), changes.lastCommitted());
        if (reason == null) {
            index.note(keys, position);
            if (own == null || own.rolledBack) {
                world.apply(transaction, position, changes.writes());
            } else {
                world.commit(transaction, position, changes.writes());
            }
            if (own != null) {
                unanswered.add(position, transaction);
            }
        } else {
            world.skip(position);
            if (own != null) {
                world.abort(transaction);
                aborted(transaction, reason);
            }
        }
        index.forget(Math.max(changes.horizon(), position - parameters.windowPositions()));
        index.bound(parameters.keysMax());
    }

    private void takenOver(long position, int newPrimary) {
        boolean deposed = isPrimary() && newPrimary != parameters.node();
        epoch++;
        primary = newPrimary;
        epochBegan = position;
        index.forget(position);
        for (Map.Entry<TransactionId, Local> entry : List.copyOf(local.entrySet())) {
            if (entry.getValue().phase == Phase.ORDERED) {
                world.abort(entry.getKey());
                aborted(entry.getKey(), new AbortReason.Failed("deposed"));
            }
        }
        if (deposed) {
            beginWaiting();
        }
        looks = 0;
        missPrimary();
    }

    // ------------------------------------------------------------------------------------------ fail-over

    @Override
    public void view(Set<Integer> members) {
        alive = Set.copyOf(members);
        looks = 0;
        missPrimary();
    }

    private boolean primaryMissing() {
        return !isPrimary() && !alive.contains(primary);
    }

    private void missPrimary() {
        if (primaryMissing() && !timerRuns) {
            timerRuns = true;
            world.timer(TAKE_OVER_TIMER, parameters.takeOverDelayNanos());
        }
    }

    /**
     * The lowest of those that seem to be alive takes over; if views differ, several try and one wins. It may be so far behind that it does not know who is
     * primary, so at each further look one more tries, the next lowest.
     */
    @Override
    public void timer(long timer) {
        timerRuns = false;
        if (primaryMissing()) {
            if (alive.contains(parameters.node())
                    && alive.stream().filter(other -> other < parameters.node()).count() <= looks) {
                takeOvers.order(new TakeOver(epoch + 1));
            }
            looks++;
        }
        missPrimary();
    }

    // ------------------------------------------------------------------------------------------ the rest

    /** What it keeps in a snapshot. */
    record Snapshot(long delivered, long epoch, int primary, long epochBegan,
            CertificationIndex.Image index) implements Encoded {
        static final Schema<Snapshot> SCHEMA = Schema.message("passive", 5, Snapshot.class, "Of protocol `passive`.")
                .of(
                        Field.of("delivered", Types.NATURAL, Snapshot::delivered),
                        Field.of("epoch", Types.NATURAL, Snapshot::epoch),
                        Field.of("primary", Types.INT, Snapshot::primary),
                        Field.of("epochBegan", Types.NATURAL, Snapshot::epochBegan),
                        Field.of("index", CertificationIndex.Image.SCHEMA, Snapshot::index), Snapshot::new);
    }

    @Override
    public int remembered() {
        return index.live();
    }

    @Override
    public byte[] snapshot() {
        return new Snapshot(delivered, epoch, primary, epochBegan, index.image()).bytes();
    }

    @Override
    public void restore(byte[] snapshot) {
        Snapshot from = Snapshots.open(snapshot, Snapshot.class);
        delivered = from.delivered();
        epoch = from.epoch();
        primary = from.primary();
        epochBegan = from.epochBegan();
        index = CertificationIndex.of(from.index());
    }
}
