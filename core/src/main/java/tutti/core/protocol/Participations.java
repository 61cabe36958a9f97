package tutti.core.protocol;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import tutti.core.protocol.TwoPhaseMessage.Inquire;
import tutti.core.protocol.TwoPhaseMessage.Prepare;
import tutti.core.protocol.TwoPhaseMessage.Vote;
import tutti.core.protocol.TwoPhaseMessage.Wait;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/**
 * The participant's part of {@link TwoPhaseCommit}, which says why it is right: the transactions of other coordinators that this
 * replica was asked to prepare. Each waits in here until nobody holds a lock that it needs, then in the engine, which makes
 * its changes; it holds its locks from the moment when the engine is asked. Not for use by several threads.
 */
final class Participations {
    private enum Part {
        /** Waits in here for locks that others hold. */
        WAITING,
        /** The engine makes its changes. */
        PREPARING,
        /** In the engine, with its locks. */
        PREPARED
    }

    private static final class Participation {
        final TransactionId id;
        final WriteSet writes;
        Part part = Part.WAITING;
        /** For whom it waits in the engine. */
        Set<TransactionId> blockers = Set.of();
        /** The epoch in which it was asked for, the latest of several. */
        long round;
        int ticks;

        Participation(TransactionId id, WriteSet writes) {
            this.id = id;
            this.writes = writes;
        }
    }

    /** What is known of the lives of coordinators. */
    interface Lives {
        /** Whether what this life of its coordinator has asked for is over; the coordinator may be no member any more. */
        boolean over(TransactionId transaction);
    }

    private final ReplicaWorld world;
    private final KeyLocks locks;
    private boolean withholds;
    private final Map<TransactionId, Participation> all = new LinkedHashMap<>();

    /** None yet; locks that are also those of local transactions. */
    Participations(ReplicaWorld world, KeyLocks locks) {
        this.world = world;
        this.locks = locks;
    }

    boolean isEmpty() {
        return all.isEmpty();
    }

    boolean contains(TransactionId transaction) {
        return all.containsKey(transaction);
    }

    /** Whether it is in the engine, with its locks. */
    boolean isPrepared(TransactionId transaction) {
        Participation participation = all.get(transaction);
        return participation != null && participation.part == Part.PREPARED;
    }

    /** A coordinator asks; a question for what was decided meanwhile is answered by nothing. */
    void asked(Prepare prepare, long delivered) {
        if (!all.containsKey(prepare.transaction()) && locks.holds(prepare.transaction())) {
            return;
        }
        Participation participation = all.computeIfAbsent(prepare.transaction(),
                id -> new Participation(id, prepare.writes()));
        participation.round = Math.max(participation.round, prepare.round());
        vote(participation, delivered);
        grant();
    }

    /** Prepares whoever waits in here for nobody any more; first come, first served. */
    void grant() {
        for (Participation participation : all.values()) {
            if (participation.part == Part.WAITING
                    && locks.inTheWay(participation.id, participation.writes.keys()).isEmpty()) {
                participation.part = Part.PREPARING;
                participation.blockers = Set.of();
                locks.hold(participation.id, participation.writes.keys());
                world.prepare(participation.id, participation.writes);
            }
        }
    }

    /** The engine has made its changes. */
    void prepared(TransactionId transaction, long delivered) {
        Participation participation = all.get(transaction);
        if (participation == null || participation.part != Part.PREPARING) {
            throw new IllegalStateException(transaction + " was prepared without having been asked to");
        }
        participation.part = Part.PREPARED;
        vote(participation, delivered);
    }

    /** The engine cannot make its changes: votes no. Without effect on what the engine was not asked for. */
    void failed(TransactionId transaction) {
        Participation participation = all.get(transaction);
        if (participation.part == Part.PREPARING) {
            world.multicast(new Vote(transaction, participation.round, false), Set.of(transaction.node()));
            drop(participation);
        }
    }

    /** For whom it waits in the engine, which may be none; without effect if it is not known. */
    void blocked(TransactionId transaction, Set<TransactionId> holders) {
        Participation participation = all.get(transaction);
        if (participation != null) {
            participation.blockers = new LinkedHashSet<>(holders);
        }
    }

    /**
     * Votes yes once the epoch has begun here in which it was asked: what was decided before without this replica may yet
     * overrule what it holds.
     */
    private void vote(Participation participation, long delivered) {
        if (participation.part == Part.PREPARED && participation.round <= delivered && !withholds) {
            world.multicast(new Vote(participation.id, participation.round, true),
                    Set.of(participation.id.node()));
        }
    }

    /** Who gets locks here may get those of somebody who needs them still: votes for nobody until {@link #voteForAll}. */
    void withhold() {
        withholds = true;
    }

    /** Votes again, and for all that hold their locks, whether it has before or not. */
    void voteForAll(long delivered) {
        withholds = false;
        all.values().forEach(participation -> vote(participation, delivered));
    }

    /** The epoch of this position has begun. */
    void began(long position) {
        all.values().stream().filter(participation -> participation.round == position)
                .forEach(participation -> vote(participation, position));
    }

    /**
     * Its decision has been delivered: it is none of these any more, and keeps its locks if it is prepared.
     *
     * @return whether it is in the engine with its locks, and can commit there
     */
    boolean decided(TransactionId transaction) {
        Participation participation = all.remove(transaction);
        if (participation != null && participation.part == Part.PREPARING) {
            world.abort(transaction);
        }
        return participation != null && participation.part == Part.PREPARED;
    }

    /** It gives up its locks for somebody else, and waits for them anew. */
    void giveWay(TransactionId transaction) {
        all.get(transaction).part = Part.WAITING;
        world.abort(transaction);
        locks.release(transaction);
    }

    /** Its coordinator has ended it; without effect if it is not known. */
    void ended(TransactionId transaction) {
        Participation participation = all.get(transaction);
        if (participation != null) {
            drop(participation);
        }
    }

    private void drop(Participation participation) {
        all.remove(participation.id);
        if (participation.part != Part.WAITING) {
            world.abort(participation.id);
        }
        locks.release(participation.id);
        grant();
    }

    /** What lives that are over have asked for is dropped: its decisions are refused from here on. */
    void dropThoseOf(Lives lives, long delivered) {
        for (Participation participation : List.copyOf(all.values())) {
            if (participation.round <= delivered && lives.over(participation.id)) {
                drop(participation);
            }
        }
    }

    /** A tick has passed: asks the coordinators of which nothing was heard for this many ticks. */
    void tick(int inquireTicks) {
        for (Participation participation : all.values()) {
            if (++participation.ticks % inquireTicks == 0) {
                world.multicast(new Inquire(participation.id), Set.of(participation.id.node()));
            }
        }
    }

    /** Who waits here for whom, in here or in the engine. */
    List<Wait> waits() {
        List<Wait> waits = new ArrayList<>();
        for (Participation participation : all.values()) {
            if (participation.part == Part.WAITING) {
                for (TransactionId holder : locks.inTheWay(participation.id, participation.writes.keys())) {
                    waits.add(new Wait(participation.id, holder));
                }
            } else if (participation.part == Part.PREPARING) {
                participation.blockers.forEach(holder -> waits.add(new Wait(participation.id, holder)));
            }
        }
        return waits;
    }
}
