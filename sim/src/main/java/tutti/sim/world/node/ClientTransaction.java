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
import tutti.node.Transactions;
import tutti.sim.kernel.Nanos;
import tutti.sim.world.database.Run;
import tutti.sim.world.database.RunResponse;
import tutti.sim.world.database.SimTransaction;
import tutti.sim.world.database.StatementEnd;
import tutti.workload.listappend.ListAppendOperation;

/**
 * A client's transaction at its node, as a front end carries it through: begins it, runs its statements in the database, asks
 * the node to commit, does what the node asks for, and tells the client once. What decides is the node's business.
 */
final class ClientTransaction implements LocalTransaction {
    /** How long a session waits for what has been delivered before its transaction begins. */
    private static final long FRESH_NANOS_MAX = 100 * Nanos.MILLI;
    private static final double LOSE_NANOS_MEAN = 2 * Nanos.MILLI;
    /** How many clients lose sight of their node while it commits, and how long after they have asked for that. */
    private static final double LOST_SIGHT = 0.05;
    private static final double LOST_SIGHT_NANOS_MEAN = 3 * Nanos.MILLI;

    private final NodeLife life;
    private final Transactions node;
    private final Submission submission;
    private final Client client;
    private final TransactionId id;
    private Transactions.@Nullable Ticket ticket;
    private @Nullable SimTransaction running;
    private @Nullable Run executed;
    /** What an owner has told that it did for it. */
    private List<ListAppendOperation> operations = List.of();
    private boolean handedIn;
    private boolean mayCommit;
    private boolean answered;
    private boolean over;
    /** The session is ending it by itself, with nothing to commit. */
    private boolean ending;
    private int runs;

    ClientTransaction(NodeLife life, Transactions node, Submission submission, Client client) {
        this.life = life;
        this.node = node;
        this.submission = submission;
        this.client = client;
        this.id = Objects.requireNonNull(node.reserve(), "nodes name transactions beforehand");
    }

    TransactionId id() {
        return id;
    }

    void begin() {
        life.log().begun(id, submission.session());
        if (submission.isForOwner(node)) {
            mayCommit = true;
            node.undertake(submission.program().statement(id), submission.classes(node), id, new ByOwner());
            if (life.isLostSightOf()) {
                losesSight();
            }
        } else if (submission.isForAll(node)) {
            mayCommit = true;
            node.request(submission.program().statement(id), submission.classes(node),
                    submission.program().exclusiveKeys(), id, new Everywhere());
            if (life.isLostSightOf()) {
                losesSight();
            }
        } else if (submission.fresh() && submission.program().writes() && node.executesAtOnce()
                && node.visiblePosition() < node.arrivedPosition()) {
            awaitDelivered();
        } else {
            beginHere();
        }
    }

    /** Has it see what has been delivered, unless that takes too long. */
    private void awaitDelivered() {
        boolean[] begun = new boolean[1];
        Runnable begin = () -> {
            if (!begun[0] && !over) {
                begun[0] = true;
                beginHere();
            }
        };
        life.later(FRESH_NANOS_MAX, begin);
        node.await(node.arrivedPosition(), new Completion<>() {
            @Override
            public void succeeded(Long position) {
                life.later(0, begin);
            }

            @Override
            public void failed(EngineFailure failure) {
                life.later(0, begin);
            }
        });
    }

    private void beginHere() {
        ticket = node.begin(this, id);
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
        end(Client.Outcome.ABORTED, end.label());
    }

    private void finish(SimTransaction of) {
        if (of.isLost()) {
            failed(StatementEnd.DISCONNECTED);
            return;
        }
        WriteSet writes = of.capture();
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
        if (!submission.isWhole() && life.random().chance(LOST_SIGHT)) {
            life.later((long) life.random().exponential(LOST_SIGHT_NANOS_MEAN), this::lostSight);
        }
        if (life.isLostSightOf()) {
            losesSight();
        }
        ticket().executed(writes, node.needsReads() ? of.reads() : ReadSet.EMPTY);
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
            case Outcome.Aborted(AbortReason reason) -> end(Client.Outcome.ABORTED, reason.label());
        }
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
        life.log().answered(id, outcome == Client.Outcome.COMMITTED);
        client.ended(new Client.End(id, outcome, why, executed == null ? operations : executed.operations()));
    }

    /** Its client will soon lose sight of the node, if that commits for it. */
    void losesSight() {
        if (mayCommit && !over && (!submission.isWhole() || submission.isForAll(node) || submission.isForOwner(node))) {
            life.later((long) life.random().exponential(LOST_SIGHT_NANOS_MEAN), () -> {
                if (!over) {
                    life.sightLost();
                    lostSight();
                }
            });
        }
    }

    /** Its client cannot reach the node any more, which goes on with it. */
    private void lostSight() {
        if (!over) {
            life.log().count("client lost sight");
            over = true;
            life.forget(this);
            client.ended(new Client.End(id, Client.Outcome.UNKNOWN, Client.LOST_SIGHT, submission.program().appends()));
        }
    }

    /** Its node is gone, and has told nothing. */
    void nodeIsGone() {
        if (over) {
            return;
        }
        over = true;
        life.forget(this);
        if (mayCommit) {
            client.ended(new Client.End(id, Client.Outcome.UNKNOWN, "", submission.program().appends()));
        } else {
            life.log().answered(id, false);
            client.ended(new Client.End(id, Client.Outcome.ABORTED, "crash", List.of()));
        }
    }

    @Override
    public String toString() {
        return id + " " + submission.form() + (running == null ? "" : " " + running);
    }
}
