package tutti.core.protocol;

import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import tutti.core.certify.CertificationIndex;
import tutti.core.protocol.TwoPhaseMessage.Decide;
import tutti.core.protocol.TwoPhaseMessage.Ended;
import tutti.core.protocol.TwoPhaseMessage.Everywhere;
import tutti.core.protocol.TwoPhaseMessage.Join;
import tutti.core.protocol.TwoPhaseMessage.Prepare;
import tutti.core.protocol.TwoPhaseMessage.Vote;
import tutti.core.txn.AbortReason;
import tutti.core.txn.KeySet;
import tutti.core.txn.Outcome;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/**
 * The coordinator's part of {@link TwoPhaseCommit}, which says why it is right: the transactions of this replica, from the time when they run
 * until they are decided. Not for use by several threads.
 */
final class Coordinations {
    private static final String DEADLOCK = "distributed-deadlock";

    private enum Phase {
        /** Runs in the engine. */
        EXECUTING,
        /** Has run, holds its locks at home; collects votes. */
        PREPARING,
        /** Its decision is on its way. */
        DECIDED,
        /** Its decision is on its way; it was rolled back in the engine. */
        DECIDED_ROLLED_BACK
    }

    /** A transaction of this replica that has not been answered. */
    private static final class Local {
        final TransactionId id;
        Phase phase = Phase.EXECUTING;
        WriteSet writes = WriteSet.EMPTY;
        final Set<Integer> asked = new HashSet<>();
        final Set<Integer> votes = new HashSet<>();
        /** The last position that had committed without being visible when it had run. */
        long behind;
        int ticks;

        Local(TransactionId id) {
            this.id = id;
        }
    }

    private final ReplicaWorld world;
    private final KeyLocks locks;
    private final Participations participations;
    private final Epochs epochs;
    private final CertificationIndex index;
    private final Map<TransactionId, Local> all = new LinkedHashMap<>();
    /** Those that lost their locks in the engine when their decisions were on their way, and are not visible yet. */
    private final Set<TransactionId> unlocked = new HashSet<>();
    private long visible;
    /** The last position at which something committed that had not asked for its locks here. */
    private long overruled;
    /** Of this life; known once something was submitted. */
    private long incarnation = -1;
    private boolean joining;

    /**
     * None yet.
     *
     * @param locks also those of the participant
     * @param index what has committed
     */
    Coordinations(ReplicaWorld world, KeyLocks locks, Participations participations, Epochs epochs,
            CertificationIndex index) {
        this.world = world;
        this.locks = locks;
        this.participations = participations;
        this.epochs = epochs;
        this.index = index;
    }

    Set<TransactionId> all() {
        return all.keySet();
    }

    /** Of this replica's present life; -1 if it has none yet. */
    long incarnation() {
        return incarnation;
    }

    void submitted(TransactionId transaction, TransactionRequest request) {
        incarnation = transaction.incarnation();
        Local own = new Local(transaction);
        if (all.putIfAbsent(transaction, own) != null) {
            throw new IllegalStateException(transaction + " was submitted twice");
        }
        if (request instanceof TransactionRequest.Whole whole
                && whole.placement() == TransactionRequest.Placement.ALL) {
            own.phase = Phase.DECIDED;
            world.order(new Everywhere(transaction, whole));
        }
    }

    // ------------------------------------------------------------------------------------------ the first phase

    /**
     * One has run.
     *
     * @param behind the last position that has committed without being visible, or 0
     */
    void executed(TransactionId transaction, Execution execution, long behind) {
        Local own = all.get(transaction);
        if (own == null || own.phase != Phase.EXECUTING) {
            throw new IllegalStateException(transaction + " asked to commit but was not executing");
        }
        own.phase = Phase.PREPARING;
        own.writes = execution.writes();
        own.behind = behind;
        KeySet keys = own.writes.keys();
        AbortReason lost = index.certifyOpen(keys, execution.begun(),
                index.comparedAfter(execution.begun(), execution.lastCommitted()));
        if (lost != null) {
            abort(own, lost);
            return;
        }
        for (TransactionId holder : locks.inTheWay(transaction, keys)) {
            if (!participations.contains(holder) || participations.isPrepared(holder)) {
                // Keys that the engine does not lock, such as a child's parent for an applier.
                abort(own, new AbortReason.Failed("lock-conflict"));
                return;
            }
            // The engine has not given it the lock: this transaction has it, and would wait for it at its coordinator.
            if (WaitGraph.isOlder(holder, transaction)) {
                abort(own, new AbortReason.Failed(DEADLOCK));
                return;
            }
            participations.giveWay(holder);
        }
        locks.hold(transaction, keys);
        ask(own);
    }

    /** First phase: asks the members that were not asked in their present life; goes on to the second if all have voted. */
    private void ask(Local own) {
        if (!epochs.takesPart(incarnation)) {
            join(incarnation);
            return;
        }
        Set<Integer> others = epochs.others();
        Set<Integer> unasked = new HashSet<>(others);
        unasked.removeAll(own.asked);
        if (!unasked.isEmpty()) {
            own.asked.addAll(unasked);
            world.multicast(new Prepare(own.id, epochs.epoch(), own.writes), unasked);
        }
        if (own.votes.containsAll(others) && visible >= awaited(own) && unlocked.isEmpty()) {
            own.phase = Phase.DECIDED;
            world.order(new Decide(own.id, epochs.epoch(), own.writes));
        }
    }

    /** The position that must be visible before it is decided. */
    private long awaited(Local own) {
        return Math.max(overruled, own.behind);
    }

    private void askAll(Predicate<Local> which) {
        for (Local own : List.copyOf(all.values())) {
            if (own.phase == Phase.PREPARING && which.test(own)) {
                ask(own);
            }
        }
    }

    /** Has a life of this replica take part. */
    void join(long life) {
        if (!joining) {
            joining = true;
            world.order(new Join(epochs.node(), life));
        }
    }

    void voted(int sender, Vote vote) {
        Local own = all.get(vote.transaction());
        Epochs.Member member = epochs.member(sender);
        if (own == null || own.phase != Phase.PREPARING || member == null || vote.round() < member.since()) {
            return;
        }
        if (vote.yes()) {
            own.votes.add(sender);
            ask(own);
        } else {
            abort(own, new AbortReason.Failed("prepare-refused"));
        }
    }

    /** What has run here and is younger would wait for this one at its coordinator, where it has run, and which has not voted. */
    void giveWay(TransactionId older, KeySet keys) {
        for (TransactionId holder : locks.inTheWay(older, keys)) {
            Local own = all.get(holder);
            if (own != null && own.phase == Phase.PREPARING && WaitGraph.isOlder(older, holder)) {
                abort(own, new AbortReason.Failed(DEADLOCK));
            }
        }
    }

    /** Those among these that wait are aborted. */
    void breakDeadlocks(Set<TransactionId> giving) {
        for (Local own : List.copyOf(all.values())) {
            if (own.phase == Phase.PREPARING && giving.contains(own.id)) {
                abort(own, new AbortReason.Failed(DEADLOCK));
            }
        }
    }

    /** A tick has passed: those are aborted that have waited for more ticks than these. */
    void tick(int lockTicks) {
        for (Local own : List.copyOf(all.values())) {
            if (own.phase == Phase.PREPARING && ++own.ticks > lockTicks) {
                abort(own, new AbortReason.Failed("lock-timeout"));
            }
        }
    }

    // ------------------------------------------------------------------------------------------ without locks, and without success

    /** One has been, or is about to be, rolled back in the engine; without effect if it has its end. */
    void rolledBack(TransactionId transaction, AbortReason why) {
        Local own = all.get(transaction);
        if (own != null) {
            rolledBack(own, why);
        }
    }

    private void rolledBack(Local own, AbortReason why) {
        switch (own.phase) {
            case EXECUTING, PREPARING -> abort(own, why);
            case DECIDED -> {
                own.phase = Phase.DECIDED_ROLLED_BACK;
                unlocked.add(own.id);
                participations.withhold();
            }
            case DECIDED_ROLLED_BACK -> {
                // Known already.
            }
        }
    }

    /** Ends one that has not been decided, or whose decision was refused. */
    private void abort(Local own, AbortReason reason) {
        all.remove(own.id);
        world.abort(own.id);
        world.answer(own.id, new Outcome.Aborted(reason));
        if (!own.asked.isEmpty()) {
            world.multicast(new Ended(own.id, 0), own.asked);
        }
        locks.release(own.id);
        participations.grant();
        over(own.id);
    }

    /** What was decided without its locks has its end: after the last of them whoever waited for that is voted for, and decided. */
    private void over(TransactionId transaction) {
        if (unlocked.remove(transaction) && unlocked.isEmpty()) {
            participations.voteForAll(epochs.delivered());
            askAll(_ -> true);
        }
    }

    void failed(TransactionId transaction, AbortReason.Failed cause) {
        Local own = all.get(transaction);
        if (own == null || own.phase != Phase.EXECUTING) {
            throw new IllegalStateException(transaction + " failed but was not executing");
        }
        all.remove(transaction);
        world.answer(transaction, new Outcome.Aborted(cause));
    }

    // ------------------------------------------------------------------------------------------ the order

    /** A decision does not count, as its epoch is over. */
    void refused(TransactionId transaction, long position) {
        Local own = all.get(transaction);
        if (own != null && own.phase == Phase.DECIDED) {
            own.phase = Phase.PREPARING;
            own.ticks = 0;
            ask(own);
        } else if (own != null) {
            abort(own, new AbortReason.Victim(position));
        }
    }

    /** Whether it is in the engine with its locks, and its decision is on its way. */
    boolean canCommit(TransactionId transaction) {
        Local own = all.get(transaction);
        return own != null && own.phase == Phase.DECIDED;
    }

    /** It commits; false if it is none of these. */
    boolean decided(TransactionId transaction) {
        return all.remove(transaction) != null;
    }

    /** Something commits at a position that has not asked for its locks here. */
    void overruledAt(long position) {
        overruled = position;
    }

    /** One stands in the way of that; false if it is none of these. */
    boolean overrule(TransactionId holder, long position) {
        Local own = all.get(holder);
        if (own == null) {
            return false;
        }
        boolean refused = own.phase != Phase.PREPARING;
        rolledBack(own, new AbortReason.Victim(position));
        if (refused) {
            // Decided in an epoch that is over: it will be refused.
            world.abort(holder);
        }
        return true;
    }

    /** A replica has joined, perhaps with a new life: it is asked anew. */
    void joined(int node) {
        if (node == epochs.node()) {
            joining = false;
        }
        for (Local own : all.values()) {
            own.asked.remove(node);
            own.votes.remove(node);
        }
        askAll(_ -> true);
    }

    /** A replica has left. */
    void left(int node) {
        if (node == epochs.node()) {
            // The others have dropped what this replica had them prepare.
            for (Local own : all.values()) {
                own.asked.clear();
                own.votes.clear();
            }
        }
        askAll(_ -> true);
    }

    /** A position is visible, and so are these, which have committed. */
    void visible(long position, List<TransactionId> committed) {
        long before = visible;
        visible = position;
        committed.forEach(this::over);
        askAll(own -> before < awaited(own) && awaited(own) <= position);
    }
}
