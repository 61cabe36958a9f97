package tutti.sim.world.replica;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.ChosenProtocol;
import tutti.core.protocol.Execution;
import tutti.core.protocol.Replica.Priority;
import tutti.core.protocol.Request;
import tutti.core.protocol.Trait;
import tutti.core.txn.AbortReason;
import tutti.core.txn.Outcome;
import tutti.core.txn.ReadSet;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;
import tutti.sim.host.Host;
import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.Label;
import tutti.sim.kernel.Nanos;
import tutti.sim.kernel.RandomStream;
import tutti.sim.world.engine.Branch;
import tutti.sim.world.engine.PreparedChanges;
import tutti.sim.world.engine.Run;
import tutti.sim.world.engine.SimEngine;
import tutti.sim.world.engine.SimSession;
import tutti.sim.world.replica.Local.Phase;

/**
 * Clients' transactions at one replica, from their beginning to their answer: runs their statements, tells the protocol,
 * rolls back those that stand in the way of what has been ordered, and carries out what the protocol asks for them. Also
 * keeps what is prepared here for other replicas.
 */
final class Locals implements SimEngine.Blockers {
    private static final Label STEP = Label.of("replica", "statement");
    private static final Label LOSE = Label.of("replica", "lost session");
    private static final Label PREPARE = Label.of("replica", "prepare again");
    private static final Label WATCH = Label.of("replica", "watch waits");
    /** How often an engine is asked for whom something waits. */
    private static final long WATCH_NANOS = 4 * Nanos.MILLI;
    private static final long PREPARE_AGAIN_NANOS = Nanos.MILLI;
    private static final long LOSE_NANOS_MEAN = 2 * Nanos.MILLI;

    private final SimReplica replica;
    private final Host host;
    private final SimEngine engine;
    private final WorldLog log;
    private final ChosenProtocol protocol;
    private final Distribution statement;
    private final boolean repliesEarly;
    private final RandomStream random;
    private final Map<TransactionId, Local> open = new LinkedHashMap<>();
    private final Map<TransactionId, Preparation> prepared = new HashMap<>();

    Locals(SimReplica replica, Host host, SimEngine engine, WorldLog log, ReplicaHost.Settings settings,
            RandomStream random) {
        this.replica = replica;
        this.host = host;
        this.engine = engine;
        this.log = log;
        this.protocol = settings.chosen();
        this.statement = settings.statement();
        this.repliesEarly = settings.repliesEarly();
        this.random = random;
        engine.onBlockers(this);
    }

    Collection<Local> open() {
        return open.values();
    }

    @Nullable
    Local find(TransactionId transaction) {
        return open.get(transaction);
    }

    private Local known(TransactionId transaction) {
        Local local = open.get(transaction);
        if (local == null) {
            throw new IllegalStateException(transaction + " is not open at its replica");
        }
        return local;
    }

    /** No transaction told of from now on has begun below it. */
    long horizon() {
        long lowest = replica.visible();
        for (Local local : open.values()) {
            if (local.runs > 0) {
                lowest = Math.min(lowest, local.begun);
            }
        }
        return lowest;
    }

    // ------------------------------------------------------------------------------------------ clients

    void begin(TransactionId id, Submission submission, Client client) {
        Local local = new Local(id, submission, client);
        open.put(id, local);
        log.begun(id, submission.session());
        if (protocol.has(Trait.EXECUTES_AT_ONCE) && !submission.forAll()) {
            start(local);
            if (submission.toldEarly()) {
                submit(local);
            }
        } else {
            submit(local);
        }
    }

    private void submit(Local local) {
        if (!local.told) {
            local.told = true;
            replica.tell(() -> replica.protocol().submitted(local.id, local.request));
        }
    }

    private void start(Local local) {
        local.phase = Phase.RUNNING;
        local.runs++;
        local.epoch++;
        local.begun = replica.visible();
        long salt = local.submission.form() == Submission.Form.WHOLE_ONE ? local.runs : 0;
        SimSession session = engine.begin(local.id, local.submission.program(), salt,
                local.priority == Priority.ORDERED);
        local.session = session;
        stepLater(local, session);
    }

    private void stepLater(Local local, SimSession session) {
        host.after(statement.sample(random), STEP, () -> {
            if (session.equals(local.session) && local.phase == Phase.RUNNING && !session.isRolledBack()) {
                step(local, session);
            }
        });
    }

    private void step(Local local, SimSession session) {
        if (session.hasNext()) {
            session.perform(failed -> {
                if (failed == null) {
                    stepLater(local, session);
                } else {
                    fail(local, failed);
                }
            });
        } else if (local.submission.rollsBack() && !local.submission.isWhole()) {
            fail(local, "user");
        } else {
            finish(local, session);
        }
    }

    private void finish(Local local, SimSession session) {
        WriteSet writes = session.capture();
        Run run = session.run();
        local.captured = writes;
        local.executed = run;
        log.executed(run);
        if (writes.isEmpty() && protocol.has(Trait.EXECUTES_AT_ONCE)) {
            session.answer(new Outcome.Committed(0));
            end(local, Client.End.COMMITTED, "");
            return;
        }
        submit(local);
        local.phase = Phase.ASKED;
        local.asked = true;
        ReadSet reads = protocol.has(Trait.NEEDS_READS) ? run.readSet() : ReadSet.EMPTY;
        Execution execution = new Execution(local.begun, replica.visible(), writes, reads);
        if (local.submission.loses()) {
            host.after((long) random.exponential((double) LOSE_NANOS_MEAN), LOSE, () -> lose(local, session));
        }
        tell(local, () -> replica.protocol().executed(local.id, execution));
        if (repliesEarly && !writes.isEmpty()) {
            answerClient(local, Client.End.COMMITTED, "");
        }
    }

    /** Has the protocol told of a transaction, unless it has it run again, rolled back or answered first. */
    private void tell(Local local, Runnable event) {
        int epoch = local.epoch;
        replica.tell(() -> {
            if (local.epoch == epoch) {
                event.run();
            }
        });
    }

    /** The engine or the client ends a running transaction. */
    private void fail(Local local, String label) {
        local.rollBack();
        if (local.told) {
            local.phase = Phase.IDLE;
            tell(local, () -> replica.protocol().failed(local.id, new AbortReason.Failed(label)));
        } else {
            end(local, Client.End.ABORTED, label);
        }
    }

    /** The session of a transaction that has executed dies; nobody is told. */
    private void lose(Local local, SimSession session) {
        if (!session.equals(local.session) || session.isCommitting() || session.isRolledBack()) {
            return;
        }
        if (local.phase == Phase.CERTIFIED) {
            log.count("lost");
            becomeRemote(local);
        } else if (local.phase == Phase.ASKED) {
            log.count("lost");
            local.rollBack();
        }
    }

    private void end(Local local, Client.End end, String why) {
        local.rollBack();
        local.phase = Phase.ENDED;
        local.epoch++;
        open.remove(local.id);
        answerClient(local, end, why);
    }

    private void answerClient(Local local, Client.End end, String why) {
        if (local.answered) {
            return;
        }
        local.answered = true;
        Run run = local.executed;
        log.answered(local.id, end == Client.End.COMMITTED);
        local.client.ended(end, why, run == null ? List.of() : run.operations());
    }

    /** The host crashed: clients are told what they can know. */
    void crash() {
        for (Local local : new ArrayList<>(open.values())) {
            boolean perhaps = local.asked || (local.told && local.submission.isWhole());
            local.phase = Phase.ENDED;
            open.remove(local.id);
            if (local.answered) {
                continue;
            }
            if (!perhaps) {
                log.answered(local.id, false);
            }
            local.client.ended(perhaps ? Client.End.UNKNOWN : Client.End.ABORTED, "crash",
                    local.submission.program().appends());
        }
    }

    // ------------------------------------------------------------------------------------------ who gives way

    @Override
    public void blocked(long position, Branch holder) {
        switch (holder) {
            case SimSession session -> {
                Local local = open.get(session.run().transaction());
                if (local != null && session.equals(local.session)) {
                    giveWay(local, position);
                }
            }
            case PreparedChanges changes -> prepared.values().stream()
                    .filter(preparation -> changes.equals(preparation.changes)).toList()
                    .forEach(preparation -> giveWay(preparation, position));
        }
    }

    @Override
    public void blocked(SimSession waiter, Branch holder) {
        if (holder instanceof SimSession session) {
            Local local = open.get(session.run().transaction());
            if (local != null && session.equals(local.session) && local.priority == Priority.OPTIMISTIC
                    && local.phase != Phase.CERTIFIED) {
                giveWay(local, replica.delivered());
            }
        }
    }

    /** A local transaction stands in the way of a position. */
    private void giveWay(Local local, long forPosition) {
        if (local.isRolledBack() || local.isCommitting()) {
            return;
        }
        if (local.phase == Phase.CERTIFIED) {
            if (local.position > forPosition) {
                becomeRemote(local);
            }
            return;
        }
        log.count("victim while " + local.phase);
        local.rollBack();
        if (!local.told) {
            end(local, Client.End.ABORTED, "victim");
            return;
        }
        Phase phase = local.phase;
        tell(local, () -> {
            if (local.phase == phase) {
                replica.protocol().victim(local.id, forPosition);
            }
        });
    }

    /** What the local transaction at its position has changed is applied in its place. */
    private void becomeRemote(Local local) {
        local.rollBack();
        Slot slot = replica.pipeline().slotOf(local);
        if (slot != null) {
            replica.pipeline().becomeRemote(slot);
        }
    }

    private void giveWay(Preparation preparation, long forPosition) {
        PreparedChanges changes = preparation.changes;
        if (changes == null || changes.isCommitting()) {
            return;
        }
        if (preparation.certified) {
            Slot slot = replica.pipeline().slotOf(preparation);
            if (slot != null && slot.position > forPosition) {
                changes.rollBack();
                replica.pipeline().becomeRemote(slot);
            }
            return;
        }
        if (changes.isReady()) {
            throw new IllegalStateException(preparation.id + " was prepared, and position " + forPosition
                    + " needs its locks");
        }
        changes.rollBack();
        host.after(PREPARE_AGAIN_NANOS, PREPARE, () -> {
            if (!preparation.ended) {
                prepare(preparation);
            }
        });
    }

    // ------------------------------------------------------------------------------------------ what protocols ask

    void run(TransactionId transaction, Priority priority) {
        Local local = known(transaction);
        if (local.submission.forAll()) {
            throw new IllegalStateException(local + " is to be executed by every replica, not run");
        }
        local.priority = priority;
        SimSession running = local.session;
        if (running != null && local.phase == Phase.RUNNING && !running.isRolledBack()) {
            if (priority == Priority.ORDERED) {
                running.prioritize();
            }
            return;
        }
        if (local.phase == Phase.CERTIFIED || (local.phase == Phase.ASKED && !local.isRolledBack())) {
            throw new IllegalStateException(local + " is to run though it has executed");
        }
        if (local.runs > 0 && local.request instanceof Request.Interactive) {
            local.phase = Phase.IDLE;
            tell(local, () -> replica.protocol().failed(local.id, new AbortReason.Failed("cannot-repeat")));
            return;
        }
        start(local);
    }

    void prepare(TransactionId transaction, WriteSet writes) {
        Preparation preparation = new Preparation(transaction, writes);
        if (prepared.putIfAbsent(transaction, preparation) != null) {
            throw new IllegalStateException(transaction + " is prepared twice");
        }
        prepare(preparation);
    }

    private void prepare(Preparation preparation) {
        preparation.changes = engine.prepare(preparation.writes, possible -> {
            // Perhaps it is given up before the protocol can be told.
            replica.tell(() -> {
                if (preparation.ended) {
                    return;
                }
                if (possible) {
                    replica.protocol().prepared(preparation.id);
                } else {
                    forget(preparation);
                    replica.protocol().failed(preparation.id, new AbortReason.Failed("deadlock"));
                }
            });
        });
        watch(preparation, preparation.changes, Set.of());
    }

    /** Has the protocol told for whom changes wait that are being made, for as long as they do. */
    private void watch(Preparation preparation, PreparedChanges changes, Set<TransactionId> told) {
        host.after(WATCH_NANOS, WATCH, () -> {
            if (preparation.ended || !changes.equals(preparation.changes) || changes.isReady()
                    || changes.isRolledBack()) {
                return;
            }
            Set<TransactionId> holders = new LinkedHashSet<>();
            changes.blockers().forEach(blocker -> known(blocker, holders));
            if (!holders.equals(told)) {
                replica.tell(() -> replica.protocol().blocked(preparation.id, holders));
            }
            watch(preparation, changes, holders);
        });
    }

    /** Whose a branch is, if the protocol has heard of it. */
    private void known(Branch branch, Set<TransactionId> known) {
        switch (branch) {
            case SimSession session -> {
                Local local = open.get(session.run().transaction());
                if (local != null && session.equals(local.session) && local.asked) {
                    known.add(local.id);
                }
            }
            case PreparedChanges changes -> prepared.values().stream()
                    .filter(preparation -> changes.equals(preparation.changes))
                    .forEach(preparation -> known.add(preparation.id));
        }
    }

    private void forget(Preparation preparation) {
        preparation.ended = true;
        prepared.remove(preparation.id, preparation);
        preparation.rollBack();
    }

    void abort(TransactionId transaction) {
        Preparation preparation = prepared.get(transaction);
        if (preparation != null) {
            forget(preparation);
        }
        Local local = open.get(transaction);
        if (local != null) {
            if (local.phase == Phase.CERTIFIED) {
                throw new IllegalStateException(local + " is aborted though it has a position");
            }
            local.rollBack();
            local.phase = Phase.IDLE;
            local.epoch++;
        }
    }

    void answer(TransactionId transaction, Outcome outcome) {
        Local local = known(transaction);
        switch (outcome) {
            case Outcome.Committed(long position) -> {
                if (position > replica.visible()) {
                    throw new IllegalStateException(local + " is answered before it is visible");
                }
                if (position == 0 && !local.captured.isEmpty()) {
                    throw new IllegalStateException(local + " has changed something, and is told " + outcome);
                }
                end(local, Client.End.COMMITTED, "");
            }
            case Outcome.Aborted(AbortReason reason) -> {
                if (!local.isRolledBack()) {
                    throw new IllegalStateException(local + " is told " + outcome + " but is not rolled back");
                }
                end(local, Client.End.ABORTED, reason.label());
            }
        }
    }

    // ------------------------------------------------------------------------------------------ positions

    /** The slot of a write set that is applied: of a remote transaction, or a local one that was rolled back. */
    Slot apply(TransactionId transaction, long position, WriteSet writes) {
        Preparation preparation = prepared.get(transaction);
        if (preparation != null) {
            forget(preparation);
        }
        Local local = open.get(transaction);
        if (local != null) {
            if (!local.isRolledBack()) {
                throw new IllegalStateException(local + " is applied while it holds its locks");
            }
            local.phase = Phase.CERTIFIED;
            local.position = position;
        }
        return Pipeline.writing(position, Slot.Kind.REMOTE, transaction, writes);
    }

    /** The slot of a transaction that holds its locks, or did until its session died. */
    Slot commit(TransactionId transaction, long position, WriteSet writes) {
        Slot slot = Pipeline.writing(position, Slot.Kind.LOCAL, transaction, writes);
        Preparation preparation = prepared.get(transaction);
        if (preparation != null) {
            if (preparation.changes == null || !preparation.changes.isReady()) {
                throw new IllegalStateException(transaction + " is committed before it is prepared");
            }
            preparation.certified = true;
            slot.kind = Slot.Kind.PREPARED;
            slot.preparation = preparation;
            return slot;
        }
        Local local = known(transaction);
        if (local.phase != Phase.ASKED) {
            throw new IllegalStateException(local + " is committed");
        }
        local.phase = Phase.CERTIFIED;
        local.position = position;
        if (local.isRolledBack()) {
            slot.kind = Slot.Kind.REMOTE;
        } else {
            slot.local = local;
        }
        return slot;
    }

    /** A position became visible. */
    void visible(Slot slot) {
        Preparation preparation = slot.transaction == null ? null : prepared.get(slot.transaction);
        if (preparation != null && preparation.certified) {
            forget(preparation);
        }
    }
}
