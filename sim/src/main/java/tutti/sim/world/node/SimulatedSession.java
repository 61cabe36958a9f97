package tutti.sim.world.node;

import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.ReplicaWorld.Priority;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.AbortReason;
import tutti.core.txn.Outcome;
import tutti.core.txn.ReadSet;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;
import tutti.node.TransactionNames;
import tutti.node.Transactions;
import tutti.sim.kernel.Nanos;
import tutti.sim.world.database.LockedRows;
import tutti.sim.world.database.Run;
import tutti.sim.world.database.RunResponse;
import tutti.sim.world.database.SimTransaction;
import tutti.sim.world.database.StatementEnd;
import tutti.workload.listappend.ListAppendOperation;

/**
 * A client's transaction at its node, as a front end carries it through: begins it, runs its statements in the database, asks
 * the node to commit, does what the node asks for, and tells the client once. What decides is the node's business. If it loses, some
 * sessions run it again, which is another transaction to the node ({@link #runAgain}), whether their client still sees the node or not.
 */
final class SimulatedSession implements LocalTransaction {
    /** How long a session waits for what has been delivered before its transaction begins. */
    private static final long FRESH_NANOS_MAX = 100 * Nanos.MILLI;
    /** How long it waits for what it has booked, and of how many sessions one books. */
    private static final long BOOKED_NANOS_MAX = 2 * Nanos.SECOND;
    private static final int BOOKING_SESSIONS = 4;
    private static final double LOSE_NANOS_MEAN = 2 * Nanos.MILLI;
    /** How many clients lose sight of their node while it commits, and how long after they have asked for that. */
    private static final double LOST_SIGHT = 0.05;
    private static final double LOST_SIGHT_NANOS_MEAN = 3 * Nanos.MILLI;
    /** How often a session runs a transaction again, and after how long. */
    private static final int AGAIN_MAX = 3;
    private static final double AGAIN_NANOS_MEAN = 2 * Nanos.MILLI;

    private final NodeLife life;
    private final Transactions node;
    private final Submission submission;
    private final Client client;
    /** By which the client knows it. */
    private final TransactionId name;
    /** How often it was run before. */
    private final int former;
    private TransactionId id;
    private @Nullable SimulatedSession next;
    private Transactions.@Nullable Ticket ticket;
    private @Nullable SimTransaction running;
    private @Nullable Run executed;
    /** What an owner has told that it did for it. */
    private List<ListAppendOperation> operations = List.of();
    /** What it has booked, in whichever run. */
    private Transactions.@Nullable Booking booking;
    private Submission.Place place = Submission.Place.HERE;
    private boolean handedIn;
    private boolean mayCommit;
    private boolean answered;
    private boolean over;
    /** Its client has lost sight of the node, which does not know. */
    private boolean blind;
    /** The session is ending it by itself, with nothing to commit. */
    private boolean ending;
    private int runs;

    SimulatedSession(NodeLife life, Transactions node, Submission submission, Client client) {
        this.life = life;
        this.node = node;
        this.submission = submission;
        this.client = client;
        this.name = Objects.requireNonNull(node.reserve(), "nodes name transactions beforehand");
        this.id = name;
        this.former = 0;
    }

    /** Another run of one that has lost. */
    private SimulatedSession(SimulatedSession lost) {
        this.life = lost.life;
        this.node = lost.node;
        this.submission = lost.submission;
        this.client = lost.client;
        this.name = lost.name;
        this.id = name;
        this.former = lost.former + 1;
        this.place = lost.place;
        this.mayCommit = lost.mayCommit;
        this.blind = lost.blind;
        this.booking = lost.booking;
    }

    /** By which its client knows it. */
    TransactionId name() {
        return name;
    }

    void begin() {
        life.log().begun(id, submission.session());
        place = submission.place(node);
        if (place == Submission.Place.OWNER) {
            mayCommit = true;
            node.undertake(submission.program().statement(id), submission.classes(node), id, new ByOwner());
            if (life.isLostSightOf()) {
                losesSight();
            }
        } else if (place == Submission.Place.EVERYWHERE
                && !life.kept().placement().keptByAll(submission.program().tables())) {
            // As a front end does: what every node executes must come to the same everywhere.
            life.later(0, () -> end(Client.Outcome.ABORTED, StatementEnd.NOT_HERE.label()));
        } else if (place == Submission.Place.EVERYWHERE) {
            mayCommit = true;
            node.request(submission.program().statement(id), submission.classes(node),
                    submission.program().exclusiveKeys(), id, new Everywhere());
            if (life.isLostSightOf()) {
                losesSight();
            }
        } else if (submission.program().writes() && !submission.isWhole() && node.executesAtOnce()
                && submission.session() % BOOKING_SESSIONS == 1) {
            book();
        } else if (submission.fresh() && submission.program().writes() && node.executesAtOnce()
                && node.visiblePosition() < node.arrivedPosition()) {
            awaitDelivered();
        } else {
            beginHere();
        }
    }

    /** Has it come after those that have booked the same, its first table, unless that takes too long. */
    private void book() {
        life.log().count("booked");
        Completion<Long> come = beginsOnce(BOOKED_NANOS_MAX, "booked for too long");
        booking = node.book(submission.program().exclusiveKeys().hash(0), come);
    }

    /** Has it see what has been delivered, unless that takes too long. */
    private void awaitDelivered() {
        node.await(node.arrivedPosition(), beginsOnce(FRESH_NANOS_MAX, "delivered is not visible"));
    }

    /** What begins it, or does so by itself after a time, which is counted. */
    private Completion<Long> beginsOnce(long nanosMax, String late) {
        boolean[] begun = new boolean[1];
        Runnable begin = () -> {
            if (!begun[0] && !over) {
                begun[0] = true;
                beginHere();
            }
        };
        life.later(nanosMax, () -> {
            if (!begun[0] && !over) {
                life.log().count(late);
            }
            begin.run();
        });
        return new Completion<>() {
            @Override
            public void succeeded(Long position) {
                life.later(0, begin);
            }

            @Override
            public void failed(EngineFailure failure) {
                life.later(0, begin);
            }
        };
    }

    private void beginHere() {
        ticket = node.begin(this, id);
        beginWork();
    }

    private void beginAgain() {
        long since = node.hold();
        try {
            ticket = node.again(this, since, name);
        } finally {
            node.unhold(since);
        }
        id = ticket().id();
        life.log().begun(id, submission.session());
        life.log().again(name, id);
        beginWork();
    }

    private void beginWork() {
        handedIn = submission.program().writes() && !node.executesAtOnce();
        if (handedIn) {
            ticket().submit(submission.request(node));
        } else {
            start(Priority.OPTIMISTIC);
        }
    }

    private Transactions.Ticket ticket() {
        return Objects.requireNonNull(ticket, "it has begun");
    }

    // ------------------------------------------------------------------------------------------ statements

    private void start(Priority priority) {
        runs++;
        long salt = submission.form() == Submission.Form.WHOLE_VARYING ? runs : 0;
        SimTransaction begun = life.engine().begin(this, id, submission.program(), salt);
        running = begun;
        watch(begun, priority);
        stepLater(begun);
    }

    private void watch(SimTransaction present, Priority priority) {
        if (priority == Priority.ORDERED || node.hearsOfWaits()) {
            present.watch();
        }
    }

    private void stepLater(SimTransaction of) {
        life.later(life.statement().sample(life.random()), () -> {
            if (of.equals(running) && !over) {
                step(of);
            }
        });
    }

    private void step(SimTransaction of) {
        if (of.hasNext()) {
            of.perform(end -> {
                if (!of.equals(running) || over) {
                    return;
                }
                if (end == StatementEnd.DONE) {
                    stepLater(of);
                } else {
                    failed(end);
                }
            });
        } else if (submission.rollsBack() && !submission.isWhole()) {
            ending = true;
            of.rollback(() -> {
                if (!over) {
                    ticket().failed(new AbortReason.Failed("user"));
                    end(Client.Outcome.ABORTED, "user");
                }
            });
        } else {
            finish(of);
        }
    }

    /** The database has rolled it back. A whole request may run again if it is worth it, and waits for what its node says. */
    private void failed(StatementEnd end) {
        boolean repeatable = end == StatementEnd.DEADLOCK || end == StatementEnd.FIRST_UPDATER;
        if (handedIn && submission.isWhole() && repeatable) {
            ticket().failed(new AbortReason.Failed(end.label()));
            return;
        }
        if (repeatable) {
            ticket().failed(new AbortReason.Failed(end.label()));
        } else {
            ticket().ended();
        }
        if (repeatable && repeats()) {
            runAgain();
        } else {
            end(Client.Outcome.ABORTED, end.label());
        }
    }

    private void finish(SimTransaction of) {
        if (of.isLost()) {
            failed(StatementEnd.DISCONNECTED);
            return;
        }
        if (of.isOver()) {
            // Its node has had it rolled back, and goes on with it.
            return;
        }
        WriteSet changes = of.capture();
        LockedRows locked = of.run().locked();
        WriteSet writes = changes.isEmpty() || locked.isEmpty()
                ? changes
                : locked.addTo(changes, node.takesReads() || node.needsReads());
        if (!changes.isEmpty()) {
            of.run().holdsLocked();
        }
        executed = of.run();
        life.log().executed(of.run());
        if (writes.isEmpty()) {
            ending = true;
            of.commitUnchanged(() -> {
                if (!over) {
                    ticket().ended();
                    end(Client.Outcome.COMMITTED, "");
                }
            });
            return;
        }
        mayCommit = true;
        if (submission.loses()) {
            life.later((long) life.random().exponential(LOSE_NANOS_MEAN), of::disconnected);
        }
        if (!submission.isWhole() && !blind && life.random().chance(LOST_SIGHT)) {
            life.later((long) life.random().exponential(LOST_SIGHT_NANOS_MEAN), this::lostSight);
        }
        if (life.isLostSightOf()) {
            losesSight();
        }
        Transactions.Booking booked = booking;
        if (booked != null) {
            booked.isFor(id);
        }
        ticket().executed(writes, reads(of, locked));
    }

    /** What its node is told that it has read: that, if it is told anything, or else what it has locked. */
    private ReadSet reads(SimTransaction of, LockedRows locked) {
        ReadSet told = node.needsReads() || (submission.serializable() && node.takesReads())
                ? of.reads()
                : ReadSet.EMPTY;
        return told.isEmpty() && node.takesReads() ? locked.reads() : told;
    }

    // ------------------------------------------------------------------------------------------ from the node

    @Override
    public void run(Priority priority) {
        if (over || ending) {
            // Its node has not heard of that yet.
            return;
        }
        SimTransaction present = running;
        if (present != null && !present.isOver()) {
            watch(present, priority);
        } else {
            start(priority);
        }
    }

    @Override
    public void commit(long position, Completion<Void> done) {
        Objects.requireNonNull(running, "it has run").commit(position, done);
    }

    @Override
    public void rollback(Runnable done) {
        SimTransaction present = running;
        if (present == null) {
            life.later(0, done);
        } else {
            present.rollback(done);
        }
    }

    @Override
    public void renewed() {
        ticket().renewed(node.visiblePosition());
    }

    @Override
    public void answer(Outcome outcome) {
        if (answered) {
            life.log().violated("answers", id + " is answered again: " + outcome);
        }
        answered = true;
        switch (outcome) {
            case Outcome.Committed _ -> end(Client.Outcome.COMMITTED, "");
            case Outcome.Aborted(AbortReason reason) -> {
                if (!over && hasLost(reason) && repeats()) {
                    runAgain();
                } else {
                    end(Client.Outcome.ABORTED, reason.label());
                }
            }
        }
    }

    /** Whether it may do better if it is run again, as sessions see it. */
    private static boolean hasLost(AbortReason reason) {
        return switch (reason) {
            case AbortReason.LostCertification _,AbortReason.StaleRead _,AbortReason.Victim _,AbortReason.TooOld _,AbortReason.Promised _ ->
                true;
            case AbortReason.Refused _,AbortReason.Failed _,AbortReason.Inapplicable _ -> false;
        };
    }

    /** Whether the session runs it again: every other session does. */
    private boolean repeats() {
        return former < AGAIN_MAX && submission.session() % 2 == 1 && !submission.isWhole()
                && (running == null || !running.isLost());
    }

    private void runAgain() {
        over = true;
        life.log().answered(id, false);
        life.log().count("run again");
        SimulatedSession again = new SimulatedSession(this);
        next = again;
        life.goesOn(again);
        life.later((long) life.random().exponential(AGAIN_NANOS_MEAN), again::beginAgain);
    }

    /** Told what became of a request that some owner has executed, and what that has seen. */
    private final class ByOwner extends Everywhere {
        @Override
        public void succeeded(ExecuteResult result) {
            operations = RunResponse.read(result.response());
            super.succeeded(result);
        }
    }

    /** Told what became of a request that every node executes. */
    private class Everywhere implements Completion<ExecuteResult> {
        @Override
        public void succeeded(ExecuteResult result) {
            if (result.tookEffect()) {
                end(Client.Outcome.COMMITTED, "");
            } else {
                end(Client.Outcome.ABORTED, StatementEnd.FOREIGN_KEY.label());
            }
        }

        @Override
        public void failed(EngineFailure failure) {
            if (failure.sqlState().equals(TransactionNames.IN_DOUBT)) {
                lostSight();
            }
            end(Client.Outcome.ABORTED, failure.sqlState().equals("25006") ? "refused" : failure.sqlState());
        }
    }

    /** This node has executed it, as every other. */
    void executedHere(Run run) {
        executed = run;
    }

    // ------------------------------------------------------------------------------------------ the end

    private void end(Client.Outcome outcome, String why) {
        if (over) {
            return;
        }
        over = true;
        life.forget(this);
        node.release(name);
        Transactions.Booking booked = booking;
        if (booked != null) {
            booked.end();
        }
        if (!blind) {
            life.log().answered(id, outcome == Client.Outcome.COMMITTED);
            client.ended(new Client.End(name, outcome, why, executed == null ? operations : executed.operations()));
        }
    }

    /** Its client will soon lose sight of the node, if that commits for it. */
    void losesSight() {
        if (mayCommit && !over && (!submission.isWhole() || place != Submission.Place.HERE)) {
            life.later((long) life.random().exponential(LOST_SIGHT_NANOS_MEAN), () -> {
                if (lostSight()) {
                    life.sightLost();
                }
            });
        }
    }

    /** Its client cannot reach the node any more, which goes on with it. Returns whether it could before. */
    private boolean lostSight() {
        if (next != null) {
            return next.lostSight();
        }
        if (over || blind) {
            return false;
        }
        life.log().count(former == 0 ? "client lost sight" : "client lost sight of another run");
        blind = true;
        client.ended(new Client.End(name, Client.Outcome.UNKNOWN, Client.LOST_SIGHT, submission.program().appends()));
        return true;
    }

    /** Its node is gone, and has told nothing. */
    void nodeIsGone() {
        if (over) {
            return;
        }
        over = true;
        life.forget(this);
        if (blind) {
            return;
        }
        if (mayCommit) {
            client.ended(new Client.End(name, Client.Outcome.UNKNOWN, "", submission.program().appends()));
        } else {
            life.log().answered(id, false);
            client.ended(new Client.End(name, Client.Outcome.ABORTED, "crash", List.of()));
        }
    }

    @Override
    public String toString() {
        return id + " " + submission.form() + (running == null ? "" : " " + running);
    }
}
