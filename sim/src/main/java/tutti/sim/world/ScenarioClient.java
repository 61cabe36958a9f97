package tutti.sim.world;

import java.util.List;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Label;
import tutti.sim.kernel.Nanos;
import tutti.sim.kernel.RandomStream;
import tutti.sim.world.engine.Program;
import tutti.sim.world.replica.Client;
import tutti.sim.world.replica.ReplicaHost;
import tutti.sim.world.replica.Submission;
import tutti.workload.client.ClientOutcome;
import tutti.workload.listappend.ListAppendOperation;
import tutti.workload.listappend.ListAppendTransaction;

/** One client: begins a transaction at its replica, waits for its end, thinks, and begins the next. */
final class ScenarioClient {
    private static final Label THINK = Label.of("client", "begin");
    private static final long AGAIN_NANOS = 5 * Nanos.MILLI;

    private final ScenarioRun run;
    private final Kernel kernel;
    private final RandomStream random;
    private int session;
    private ReplicaHost home;

    ScenarioClient(ScenarioRun run, Kernel kernel, RandomStream random, int session, ReplicaHost home) {
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
            beginLater(AGAIN_NANOS);
            return;
        }
        Program program = run.nextProgram();
        Submission submission = new Submission(session, program, run.form(random), random.chance(0.5),
                random.chance(0.03), random.chance(0.01) && run.mayLoseSessions());
        long begun = kernel.now();
        home.begin(submission, (end, why, operations) -> ended(begun, end, why, operations));
    }

    private void ended(long begun, Client.End end, String why, List<ListAppendOperation> operations) {
        ClientOutcome outcome = switch (end) {
            case COMMITTED -> ClientOutcome.OK;
            case ABORTED -> ClientOutcome.FAILED;
            case UNKNOWN -> ClientOutcome.UNKNOWN;
        };
        run.ended(new ListAppendTransaction(session, home.node(), begun, kernel.now(), outcome, false, operations), end,
                why);
        if (run.hasOnePrimary() && why.equals("refused")) {
            home = run.anyReplica(random);
            session = run.newSession();
        }
        beginLater(run.think(random));
    }
}
