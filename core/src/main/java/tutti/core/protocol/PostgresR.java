package tutti.core.protocol;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.core.certify.CertificationIndex;
import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.MessageSet;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;
import tutti.core.txn.AbortReason;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.Outcome;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/**
 * {@code postgres-r}: optimistic execution; the write set is totally ordered, the replica that executed the transaction
 * decides and tells the outcome (voting): one-copy snapshot isolation, or serializability with read sets that never leave
 * their replica (Postgres-R; AKARA section 2.3, PGR in GORDA D5.1).
 *
 * <pre>
 *  client    executed            delivered at w           delivered at v
 *    |          |                     |                        |
 *    +--run-----+--- order changes ---+-- skip; wait for       +-- commit / apply; answer when visible
 *                                     |   conflicting ones     +-- skip
 *                                     |   ordered before w     |
 *                                     +-- at its replica: certify, order the vote
 * </pre>
 *
 * <p>
 * <b>Positions.</b> A transaction's position is v, that of its vote: only there every replica knows what happens, and nothing
 * is held up by a vote that is late but what conflicts with it. The changes wait between w and v at every replica, as part of
 * the protocol's snapshot; votes are ordered like everything else, so the log alone recovers an engine.
 *
 * <p>
 * <b>The decision.</b> Call pending what lies between w and v. T, executed with b and c as in {@link SnapshotIsolation}, is
 * decided by its replica once no transaction that was ordered before w and conflicts with T is pending any more. It commits
 * iff nothing that committed after c (after b, for exclusive keys) conflicts with it.
 *
 * <p>
 * <b>Why that is snapshot isolation.</b> First-committer-wins asks that nothing that conflicts with T commits in (s, v). Up to
 * c the engine has seen to it, as in {@code si}. From c to the decision certification has. Between the decision and v: a
 * conflicting T' ordered before w is decided already; one ordered after w is not decided by its replica before it is
 * delivered T's outcome at v, so its own vote comes later. Nobody waits in a circle, as everyone waits for what was ordered
 * earlier. A {@link TransactionRequest.Placement#ALL request for every replica} at position p conflicts with pending transactions
 * without being asked: those are aborted at p by every replica, and their votes count for nothing.
 *
 * <p>
 * <b>Serializability.</b> The replica keeps what T read and compares it with everything committed after b. Others do not know
 * it, so T waits until <i>everything</i> ordered before w is decided: votes then come in the order of the changes, nothing
 * commits between the decision and v, and T has read what it would have read alone at v. For the same reason a request for
 * every replica aborts all that is pending. Read-only transactions see prefixes of that order. (Votes out of order would let
 * one see T' but not T, though T read what T' overwrote.)
 *
 * <p>
 * <b>If the replica that must decide is gone</b>, another orders a resolution: abort what was executed there. So does a new
 * life of the replica for its former. Of vote and resolution, whichever comes first in the order decides, and the other finds
 * nothing pending; a wrong suspicion aborts and never splits. Aborting is right, since nobody but that replica has answered
 * the client, and none answers success before v is visible.
 *
 * <p>
 * <b>Bounds.</b> The index is this replica's own, so it may forget what it likes: a transaction that began before what it remembers is voted
 * against ({@link #certify}). What is pending is bounded by keys, too, where a replica's votes are late: changes for which there is no room are left out
 * by every replica, as if they had been voted against. What is pending is a function of the ordered prefix, so all leave out the same; a vote is ordered only
 * for what is pending.
 */
public final class PostgresR implements Protocol {
    /** The name in configurations. */
    public static final String NAME = "postgres-r";

    /** Its messages. */
    static final MessageSet<Message> MESSAGES = new MessageSet<>("postgres-r",
            "Under protocol `postgres-r`.", List.of(Changes.SCHEMA, Barrier.SCHEMA, Vote.SCHEMA, Resolve.SCHEMA));
    private static final long RESOLVE_TIMER = 1;
    /** How many positions become visible between two times that the index is told to forget. */
    private static final long FORGET_EVERY = 256;
    /** Most transactions in one resolution; more take several. */
    private static final int RESOLVE_MAX = 1000;

    /**
     * Parameters; the same at every replica except {@code node}.
     *
     * @param node this replica
     * @param replicas all replicas, alive or not, this one included
     * @param windowPositions how far back a transaction may have executed, in positions: 1 to
     *            {@link CertificationIndex#SPAN_MAX}/2
     * @param keysMax how many keys of those that committed are remembered at most, at least 1
     * @param resolveDelayNanos how long a transaction may wait for the vote of a replica that seems to be gone, in
     *            nanoseconds
     * @param serializable whether reads are certified too
     */
    public record Parameters(int node, Set<Integer> replicas, long windowPositions, int keysMax, long resolveDelayNanos,
            boolean serializable) {
        public Parameters {
            replicas = Checks.founders(replicas);
            Checks.window(windowPositions, keysMax);
            Checks.time("resolveDelayNanos", resolveDelayNanos);
        }
    }

    /** What a transaction has changed. */
    record Changes(TransactionId transaction, WriteSet writes) implements Message {
        static final Schema<Changes> SCHEMA = Schema
                .message("changes", 1, Changes.class, "What a transaction has changed.").of(
                        Field.of("transaction", TransactionId.SCHEMA, Changes::transaction),
                        Field.of("writes", WriteSet.SCHEMA, Changes::writes), Changes::new);
    }

    /** What the replica that executed it has decided. */
    record Vote(TransactionId transaction, boolean commit) implements Message {
        static final Schema<Vote> SCHEMA = Schema
                .message("vote", 3, Vote.class, "What the replica that executed it has decided.").of(
                        Field.of("transaction", TransactionId.SCHEMA, Vote::transaction),
                        Field.of("commit", Types.BOOLEAN, Vote::commit), Vote::new);
    }

    /** These abort, unless they have been decided: who should decide seems to be gone. */
    record Resolve(List<TransactionId> transactions) implements Message {
        static final Schema<Resolve> SCHEMA = Schema.message("resolve", 4, Resolve.class,
                "These abort, unless they have been decided: who should decide seems to be gone.").of(
                        Field.of("transactions", TransactionId.LIST, Resolve::transactions), Resolve::new);
    }

    /** A local transaction that has not been answered and whose outcome is not known. */
    private static final class Local {
        /** Null until it has executed. */
        @Nullable
        Execution execution;
        /** In the engine; its write set will be applied in its place. */
        boolean rolledBack;
    }

    /** A transaction whose changes have been delivered and whose outcome has not. */
    private static final class Pending {
        final TransactionId transaction;
        final WriteSet writes;
        /** How many pending transactions ordered before it conflict with it. */
        int blockers;
        /** Transactions ordered after it that conflict with it. */
        final Set<Pending> blocked = new LinkedHashSet<>();
        /** This replica has decided, and its vote is on its way. */
        boolean voted;

        Pending(TransactionId transaction, WriteSet writes) {
            this.transaction = transaction;
            this.writes = writes;
        }
    }

    /** How a pending transaction touches a key. */
    private record Touch(Pending by, KeyKind kind) {}

    private final Parameters parameters;
    private final ReplicaWorld world;
    private final Map<TransactionId, Local> local = new HashMap<>();
    private final Unanswered unanswered = new Unanswered();
    private final RepeatedProposal resolves;
    /** In the order of their changes. */
    private final LinkedHashMap<TransactionId, Pending> pending = new LinkedHashMap<>();
    private int pendingKeys;
    /** Which of them touch a key. */
    private final Map<Long, List<Touch>> touching = new HashMap<>();
    /** What committed; only for deciding local transactions, so not part of the replicated state. */
    private final CertificationIndex index = new CertificationIndex();
    private Set<Integer> alive;
    private long delivered;
    private long forgetAt;
    private boolean timerRuns;

    /** A replica at the beginning of the order. */
    public PostgresR(Parameters parameters, ReplicaWorld world) {
        this.parameters = parameters;
        this.world = world;
        this.resolves = new RepeatedProposal(parameters.node(), world);
        this.alive = parameters.replicas();
    }

    @Override
    public void submitted(TransactionId transaction, TransactionRequest request) {
        if (local.putIfAbsent(transaction, new Local()) != null) {
            throw new IllegalStateException(transaction + " was submitted twice");
        }
        if (request instanceof TransactionRequest.Whole whole
                && whole.placement() == TransactionRequest.Placement.ALL) {
            world.order(new Barrier(transaction, whole));
        }
    }

    @Override
    public void executed(TransactionId transaction, Execution execution) {
        Local own = local.get(transaction);
        if (own == null || own.execution != null) {
            throw new IllegalStateException(transaction + " asked to commit but was not executing");
        }
        if (execution.writes().isEmpty()) {
            throw new IllegalArgumentException(transaction + " asked to commit an empty write set");
        }
        own.execution = execution;
        world.order(new Changes(transaction, execution.writes()));
    }

    @Override
    public void failed(TransactionId transaction, AbortReason.Failed cause) {
        Local own = local.remove(transaction);
        if (own == null || own.execution != null) {
            throw new IllegalStateException(transaction + " failed but was not executing");
        }
        world.answer(transaction, new Outcome.Aborted(cause));
    }

    @Override
    public void victim(TransactionId transaction, long forPosition) {
        Local own = local.get(transaction);
        if (own == null) {
            return;
        }
        if (own.execution == null) {
            local.remove(transaction);
            world.answer(transaction, new Outcome.Aborted(new AbortReason.Victim(forPosition)));
        } else {
            own.rolledBack = true;
        }
    }

    @Override
    public void delivered(long position, int sender, Message message) {
        if (position <= delivered) {
            throw new IllegalStateException("position " + position + " delivered after " + delivered);
        }
        delivered = position;
        switch (message) {
            case Changes changes -> {
                world.skip(position);
                changes(changes);
            }
            case Vote vote -> outcome(position, vote);
            case Resolve resolve -> {
                world.skip(position);
                resolves.delivered(sender);
                for (TransactionId transaction : resolve.transactions()) {
                    Pending unresolved = pending.get(transaction);
                    if (unresolved != null) {
                        aborted(unresolved, new AbortReason.Failed("suspected"));
                    }
                }
            }
            case Barrier barrier -> barrier(position, barrier);
            default -> throw new IllegalArgumentException("not a message of " + NAME + ": " + message);
        }
    }

    // ------------------------------------------------------------------------------------------ pending

    private void changes(Changes changes) {
        TransactionId transaction = changes.transaction();
        if (!pending.isEmpty() && pendingKeys + changes.writes().keys().size() > parameters.keysMax()) {
            if (local.remove(transaction) != null) {
                world.abort(transaction);
                world.answer(transaction, new Outcome.Aborted(new AbortReason.Failed("backlog")));
            }
            return;
        }
        Pending added = add(transaction, changes.writes());
        if (orphan(added)) {
            awaitVote();
        }
        decide(added);
    }

    private Pending add(TransactionId transaction, WriteSet writes) {
        Pending added = new Pending(transaction, writes);
        KeySet keys = writes.keys();
        for (int i = 0; i < keys.size(); i++) {
            List<Touch> touches = touching.computeIfAbsent(keys.hash(i), _ -> new ArrayList<>(2));
            for (Touch earlier : touches) {
                if (!earlier.by().equals(added) && earlier.kind().conflictsWith(keys.kind(i))
                        && earlier.by().blocked.add(added)) {
                    added.blockers++;
                }
            }
            touches.add(new Touch(added, keys.kind(i)));
        }
        pending.put(transaction, added);
        pendingKeys += keys.size();
        return added;
    }

    private static boolean conflict(KeySet one, KeySet other) {
        for (int i = 0; i < one.size(); i++) {
            for (int j = 0; j < other.size(); j++) {
                if (one.hash(i) == other.hash(j) && one.kind(i).conflictsWith(other.kind(j))) {
                    return true;
                }
            }
        }
        return false;
    }

    /** It is decided, and may have been what others waited for. */
    private void remove(Pending decided) {
        pending.remove(decided.transaction);
        KeySet keys = decided.writes.keys();
        pendingKeys -= keys.size();
        for (int i = 0; i < keys.size(); i++) {
            List<Touch> touches = touching.get(keys.hash(i));
            if (touches != null && touches.removeIf(touch -> touch.by().equals(decided)) && touches.isEmpty()) {
                touching.remove(keys.hash(i));
            }
        }
        for (Pending later : decided.blocked) {
            later.blockers--;
        }
    }

    /** What can be decided now that this one is. */
    private void decideAfter(Pending decided) {
        if (parameters.serializable()) {
            if (!pending.isEmpty()) {
                decide(pending.firstEntry().getValue());
            }
        } else {
            decided.blocked.forEach(this::decide);
        }
    }

    /** Votes on a pending transaction if that is this replica's task and nothing stands before it. */
    private void decide(Pending undecided) {
        Local own = local.get(undecided.transaction);
        if (own == null || own.execution == null || undecided.voted) {
            return;
        }
        boolean waits = parameters.serializable()
                ? !pending.firstEntry().getKey().equals(undecided.transaction)
                : undecided.blockers > 0;
        if (waits) {
            return;
        }
        AbortReason reason = certify(own.execution);
        undecided.voted = true;
        if (reason != null) {
            local.remove(undecided.transaction);
            world.abort(undecided.transaction);
            world.answer(undecided.transaction, new Outcome.Aborted(reason));
        }
        world.order(new Vote(undecided.transaction, reason == null));
    }

    private @Nullable AbortReason certify(Execution execution) {
        long oldest = Math.max(index.floor(), delivered - parameters.windowPositions());
        if (execution.begun() < oldest) {
            return new AbortReason.TooOld(execution.begun(), oldest);
        }
        AbortReason lost = index.certify(execution.writes().keys(), execution.begun(),
                index.comparedAfter(execution.begun(), execution.lastCommitted()));
        return lost == null && parameters.serializable()
                ? index.stale(execution.reads().keys(), execution.begun())
                : lost;
    }

    // ------------------------------------------------------------------------------------------ outcomes

    private void outcome(long position, Vote vote) {
        TransactionId transaction = vote.transaction();
        Pending decided = pending.get(transaction);
        if (decided == null) {
            // Something that came before it in the order has decided.
            world.skip(position);
        } else if (vote.commit()) {
            index.note(decided.writes.keys(), position);
            index.bound(parameters.keysMax());
            Local own = local.remove(transaction);
            if (own == null || own.rolledBack) {
                world.apply(transaction, position, decided.writes);
            } else {
                world.commit(transaction, position, decided.writes);
            }
            if (own != null) {
                unanswered.add(position, transaction);
            }
            remove(decided);
            decideAfter(decided);
        } else {
            world.skip(position);
            remove(decided);
            decideAfter(decided);
        }
    }

    /** A pending transaction is aborted by something else than a vote. */
    private void aborted(Pending decided, AbortReason reason) {
        if (local.remove(decided.transaction) != null) {
            world.abort(decided.transaction);
            world.answer(decided.transaction, new Outcome.Aborted(reason));
        }
        remove(decided);
        decideAfter(decided);
    }

    private void barrier(long position, Barrier barrier) {
        KeySet keys = barrier.request().keys();
        index.note(keys, position);
        index.bound(parameters.keysMax());
        world.execute(barrier.transaction(), position, barrier.request());
        if (local.remove(barrier.transaction()) != null) {
            unanswered.add(position, barrier.transaction());
        }
        for (Pending undecided : List.copyOf(pending.values())) {
            if (parameters.serializable() || conflict(keys, undecided.writes.keys())) {
                aborted(undecided, new AbortReason.Victim(position));
            }
        }
    }

    @Override
    public void committed(long position, long horizon) {
        unanswered.visible(position, world);
        if (position >= forgetAt) {
            forgetAt = position + FORGET_EVERY;
            long lowest = Math.min(horizon, delivered);
            for (Local own : local.values()) {
                if (own.execution != null) {
                    lowest = Math.min(lowest, own.execution.begun());
                }
            }
            index.forget(Math.max(lowest, delivered - parameters.windowPositions()));
        }
    }

    // ------------------------------------------------------------------------------------------ those gone

    /** Nobody will vote on it, as far as this replica can tell. */
    private boolean orphan(Pending undecided) {
        int node = undecided.transaction.node();
        return !undecided.voted && !local.containsKey(undecided.transaction)
                && (node == parameters.node() || !alive.contains(node));
    }

    private void awaitVote() {
        if (!timerRuns && pending.values().stream().anyMatch(this::orphan)) {
            timerRuns = true;
            world.timer(RESOLVE_TIMER, parameters.resolveDelayNanos());
        }
    }

    @Override
    public void timer(long timer) {
        timerRuns = false;
        List<TransactionId> orphans = pending.values().stream().filter(this::orphan).limit(RESOLVE_MAX)
                .map(undecided -> undecided.transaction).toList();
        if (!orphans.isEmpty()) {
            if (alive.contains(parameters.node())) {
                resolves.order(new Resolve(orphans));
            }
            awaitVote();
        }
    }

    @Override
    public void view(Set<Integer> members) {
        alive = Set.copyOf(members);
        awaitVote();
    }

    // ------------------------------------------------------------------------------------------ the rest

    @Override
    public int remembered() {
        return index.live() + pendingKeys;
    }

    /** What it keeps in a snapshot. */
    record Snapshot(boolean serializable, long delivered, List<Changes> pending) implements Encoded {
        static final Schema<Snapshot> SCHEMA = Schema
                .message("postgres-r", 3, Snapshot.class, "Of protocol `postgres-r`.").of(
                        Field.of("serializable", Types.BOOLEAN, Snapshot::serializable),
                        Field.of("delivered", Types.NATURAL, Snapshot::delivered),
                        Field.of("pending", Types.list(Changes.SCHEMA, Integer.MAX_VALUE), Snapshot::pending),
                        Snapshot::new);
    }

    /**
     * The pending transactions with their changes. The index is not part of it: it serves to decide local transactions, and
     * those of a new life begin at a position that is visible after the restart, thus not before the snapshot's.
     */
    @Override
    public byte[] snapshot() {
        return new Snapshot(parameters.serializable(), delivered, pending.values().stream()
                .map(undecided -> new Changes(undecided.transaction, undecided.writes)).toList()).bytes();
    }

    @Override
    public void restore(byte[] snapshot) {
        Snapshot from = Snapshots.open(snapshot, Snapshot.class);
        if (from.serializable() != parameters.serializable()) {
            throw new IllegalArgumentException("the snapshot is of replicas with another isolation than "
                    + (parameters.serializable() ? "serializable" : "snapshot"));
        }
        delivered = from.delivered();
        from.pending().forEach(undecided -> add(undecided.transaction(), undecided.writes()));
        index.forget(delivered);
    }
}
