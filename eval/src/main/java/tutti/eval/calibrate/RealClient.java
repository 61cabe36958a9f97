package tutti.eval.calibrate;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Clock;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import tutti.command.Failure;
import tutti.model.RequestKind;
import tutti.model.WorkloadModel;
import tutti.sim.kernel.RandomStream;
import tutti.workload.client.SqlFailure;
import tutti.workload.tpcc.TpccConstants;
import tutti.workload.tpcc.TpccDatabase;
import tutti.workload.tpcc.TpccInput;
import tutti.workload.tpcc.TpccInputs;
import tutti.workload.tpcc.TpccOutput;
import tutti.workload.tpcc.TpccScale;
import tutti.workload.tpcc.TpccSession;
import tutti.workload.tpcc.TpccTransaction;

/**
 * One client of a real database, with a connection, and so a server process, of its own. It does what a client of the
 * model does ({@code tutti.model.Clients}): the same inputs, the same mix, the same warehouses; nobody rolls an order
 * back. One thread.
 */
final class RealClient implements AutoCloseable {
    private static final int LINES_OF_AN_ORDER = 10;
    private static final int ROWS_OF_A_DELIVERED_ORDER = 3 + LINES_OF_AN_ORDER;
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private final WorkloadModel workload;
    private final TpccScale scale;
    private final TpccInputs inputs;
    private final RandomStream random;
    private final TpccSession session;
    private final ProcessClock backend;
    private final long historySource;
    private long historyNumber;
    /** Processor time that its server process had used when it rested last. */
    private long usedNanos;
    private @Nullable Asked again;

    private record Asked(RequestKind kind, TpccInput input) {}

    /**
     * A client that is connected.
     *
     * @param number from 0
     * @param historySource different for every client that ever used the database
     */
    RealClient(int number, WorkloadModel workload, TpccDatabase database, TpccScale scale, long seed,
            long populationSeed, long historySource) throws SQLException, IOException {
        this.workload = workload;
        this.scale = scale;
        this.historySource = historySource;
        int warehouse = 1 + (int) ((long) number * scale.warehouses() / workload.clients());
        this.inputs = new TpccInputs(scale,
                TpccConstants.forRun(TpccConstants.forLoad(populationSeed), populationSeed), seed, number, warehouse,
                1 + number % scale.districts());
        this.random = new RandomStream(seed).fork("real client " + number);
        Connection connection = database.open();
        this.session = new TpccSession(connection);
        this.backend = new ProcessClock(connection.unwrap(PGConnection.class).getBackendPID(), "postgres");
    }

    /** How long it thinks after a transaction; before the first, as after a NewOrder. */
    long thinkingNanos(@Nullable Observation after) {
        var thinking = workload.thinking().get(after == null ? RequestKind.NEW_ORDER : after.kind());
        return thinking == null ? 0 : thinking.sample(random);
    }

    /** Waits until its server process sleeps, and notes what that has used. Under the lock of who runs it. */
    void rest() throws IOException {
        usedNanos = backend.nanosAtRest();
    }

    /**
     * Runs its next transaction while nobody else does, and tells what its server process has used for it. That is read when it rests
     * afterwards, and not before it begins as well: a processor that has just been reading is awake, and a transaction finds it
     * so that would have had to wake it. So the process must have done nothing since it was last noted what it has used.
     *
     * @throws Failure if the database reports anything but an abort
     */
    Observation runAlone() throws IOException, SQLException {
        long before = usedNanos;
        Observation one = run();
        rest();
        return one.with(usedNanos - before);
    }

    /**
     * Runs its next transaction: the one that was aborted once more, if the workload has that, or a new one.
     *
     * @return what happened, with no processor time of the server
     * @throws Failure if the database reports anything but an abort
     */
    Observation run() throws SQLException {
        return run(again == null ? next(draw()) : again);
    }

    /** Runs a transaction of a kind. */
    Observation run(RequestKind kind) throws SQLException {
        return run(next(kind));
    }

    private Observation run(Asked asked) throws SQLException {
        LocalDateTime now = LocalDateTime.now(Clock.system(ZoneOffset.UTC)).truncatedTo(ChronoUnit.MICROS);
        TpccSession.HistoryKey key = new TpccSession.HistoryKey(historySource, ++historyNumber);
        long cpu = THREADS.getCurrentThreadCpuTime();
        long since = System.nanoTime();
        long committing = since;
        TpccOutput output = null;
        String cause = "";
        try {
            output = session.execute(asked.input, now, key);
            committing = System.nanoTime();
            session.commit();
        } catch (SQLException e) {
            SqlFailure failure = SqlFailure.of(e);
            if (!failure.isAbort()) {
                throw new Failure(asked.kind.label() + " failed: " + e.getMessage() + " (SQLSTATE " + e.getSQLState()
                        + ")", "", e);
            }
            cause = failure.cause();
            session.rollback();
        }
        long ended = System.nanoTime();
        cpu = THREADS.getCurrentThreadCpuTime() - cpu;
        again = !cause.isEmpty() && workload.resubmit() ? asked : null;
        return new Observation(asked.kind, output == null ? 0 : rows(asked.input, output), since, ended,
                ended - committing, 0, cpu, cause);
    }

    private static int rows(TpccInput input, TpccOutput output) {
        return switch (input) {
            case TpccInput.NewOrder order -> 3 + order.lines().size() + (int) order.lines().stream()
                    .map(line -> line.supplyWarehouse() + " " + line.item()).distinct().count();
            case TpccInput.Payment _ -> 4;
            case TpccInput.Delivery _ -> output instanceof TpccOutput.Delivery done
                    ? ROWS_OF_A_DELIVERED_ORDER * done.orders().size()
                    : 0;
            case TpccInput.OrderStatus _,TpccInput.StockLevel _ -> 0;
        };
    }

    private RequestKind draw() {
        double left = random.nextDouble();
        RequestKind kind = RequestKind.NEW_ORDER;
        for (RequestKind one : RequestKind.values()) {
            double share = workload.shares().getOrDefault(one, 0.0);
            kind = share > 0 ? one : kind;
            left -= share;
            if (left < 0) {
                break;
            }
        }
        return kind;
    }

    private Asked next(RequestKind kind) {
        TpccTransaction type = kind.tpcc();
        if (type == null) {
            throw new IllegalStateException("a real client knows no " + kind.label());
        }
        TpccInput input = inputs.next(type);
        while (input instanceof TpccInput.NewOrder order
                && order.lines().stream().anyMatch(line -> line.item() > scale.items())) {
            input = inputs.next(type);
        }
        return new Asked(kind, input);
    }

    @Override
    public void close() throws SQLException, IOException {
        try (session; backend) {
            again = null;
        }
    }
}
