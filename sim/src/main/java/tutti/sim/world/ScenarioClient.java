package tutti.sim.world;

import org.jspecify.annotations.Nullable;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.node.ReplicaNode;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Label;
import tutti.sim.kernel.Nanos;
import tutti.sim.kernel.RandomStream;
import tutti.sim.world.database.Program;
import tutti.sim.world.node.Client;
import tutti.sim.world.node.NodeHost;
import tutti.sim.world.node.Submission;
import tutti.workload.client.ClientOutcome;

/**
 * One client: begins a transaction at its replica, waits for its end, thinks, and begins the next.
 *
 * <p>
 * <b>Who was told by another node that a transaction has committed</b> goes on at its own. That one shows it, once it is ready, if
 * the transaction committed by a message of its own; another node's may be on its way yet where requests outlive the node that they
 * were handed to. There a client does as the driver does: it waits until its node shows what the one that told it did, and is a new
 * session if that takes too long.
 */
final class ScenarioClient {
    private static final Label THINK = Label.of("client", "begin");
    private static final long AGAIN_NANOS = 5 * Nanos.MILLI;
    /** Longer than a node takes to say that it does not show a position. */
    private static final long PATIENCE_NANOS = 6 * Nanos.SECOND;
    /** Part of those who are not told what became of their transaction, and ask. */
    private static final double ASKS = 0.7;

    /** Part of those whose node lacks a table, and who try all the same. */
    private static final double TRIES = 0.1;

    private final ScenarioRun run;
    private final Kernel kernel;
    private final RandomStream random;
    private int session;
    private NodeHost home;
    /** The session goes on when its node shows this position. */
    private long mustShow;
    private int wait;
    /** What it begins next, if that was chosen before. */
    private @Nullable Program next;

    ScenarioClient(ScenarioRun run, Kernel kernel, RandomStream random, int session, NodeHost home) {
        this.run = run;
        this.kernel = kernel;
        this.random = random;
        this.session = session;
        this.home = home;
    }

    void beginLater(long nanos) {
        kernel.schedule(nanos, THINK, this::begin);
    }

    private void begin() {
        if (run.isOver()) {
            return;
        }
        if (!home.isReady()) {
            if (home.refuses()) {
                move();
            }
            beginLater(AGAIN_NANOS);
            return;
        }
        if (mustShow > 0) {
            awaitShown();
            return;
        }
        Program program = next == null ? run.nextProgram() : next;
        next = null;
        if (!home.database().kept().mayExecute(program) && !random.chance(TRIES)) {
            // As a front end that forwards it whole: at a node that keeps what it names, of which the session knows nothing yet.
            next = program;
            home = run.keeper(program, random);
            session = run.newSession();
            beginLater(0);
            return;
        }
        Submission submission = new Submission(session, program, run.form(random), random.chance(0.5),
                random.chance(0.03), random.chance(0.01) && run.mayLoseSessions(), run.isSerializable(session));
        long number = run.begins(session, home, program);
        home.begin(submission, end -> ended(number, end));
    }

    private void awaitShown() {
        @Nullable
        ReplicaNode replica = home.replica();
        int asked = ++wait;
        if (replica != null) {
            replica.await(mustShow, new Completion<>() {
                @Override
                public void succeeded(Long shown) {
                    shown(asked);
                }

                @Override
                public void failed(EngineFailure failure) {
                    if (asked == wait) {
                        session = run.newSession();
                        shown(asked);
                    }
                }
            });
        }
        kernel.schedule(PATIENCE_NANOS, THINK, () -> {
            if (asked == wait) {
                begin();
            }
        });
    }

    private void shown(int asked) {
        if (asked == wait) {
            wait++;
            mustShow = 0;
            begin();
        }
    }

    private void ended(long number, Client.End end) {
        if (end.why().equals(Client.LOST_SIGHT)) {
            // What others tell of it need not be visible here.
            session = run.newSession();
        }
        if (end.outcome() == Client.Outcome.UNKNOWN && random.chance(ASKS)) {
            run.questions().ask(end.transaction(), random, (outcome, shown) -> {
                if (run.requestsOutlive()) {
                    mustShow = shown;
                }
                told(number, new Client.End(end.transaction(), outcome,
                        outcome == Client.Outcome.ABORTED ? "asked" : "", end.operations()));
            });
        } else {
            told(number, end);
        }
    }

    private void told(long number, Client.End end) {
        ClientOutcome outcome = switch (end.outcome()) {
            case COMMITTED -> ClientOutcome.OK;
            case ABORTED -> ClientOutcome.FAILED;
            case UNKNOWN -> ClientOutcome.UNKNOWN;
        };
        run.ended(number, outcome, end);
        if (run.hasOnePrimary() && end.why().equals("refused")) {
            move();
        }
        beginLater(run.think(random));
    }

    private void move() {
        home = run.anyReplica(random);
        session = run.newSession();
    }
}
