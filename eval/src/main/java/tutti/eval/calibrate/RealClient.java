package tutti.eval.calibrate;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Clock;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.locks.LockSupport;
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
    private static final long POLL_NANOS = 50_000;
    private static final int LINES_OF_AN_ORDER = 10;
    private static final int ROWS_OF_A_DELIVERED_ORDER = 3 + LINES_OF_AN_ORDER;
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private final WorkloadModel workload;
    private final TpccScale scale;
    private final TpccInputs inputs;
    private final RandomStream random;
    private final TpccSession session;
    private final int pid;
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
        this.pid = connection.unwrap(PGConnection.class).getBackendPID();
        this.backend = new ProcessClock(pid, "postgres");
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
     * Runs its next transaction, and tells what its server process has used for it. That is read when it rests
     * afterwards, and not before it begins as well: a processor that has just been reading is awake, and a transaction finds it
     * so that would have had to wake it. So the process must have done nothing since it was last noted what it has used.
     *
     * @throws Failure if the database reports anything but an abort
     */
    Observation runProfiled() throws IOException, SQLException {
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

    /**
     * Runs a transaction that waits for its first row and loses it, and tells what that takes; nothing if it waited for none, as
     * a Delivery does where all orders have been delivered.
     *
     * @param holder a connection of its own, not in autocommit, which takes the row before and commits when it is waited for
     * @param loser one thread, the same every time
     * @throws Failure if it waits and does not lose
     */
    Optional<LosingProbe.Loss> lose(RequestKind kind, Connection holder, ExecutorService loser)
            throws IOException, SQLException, InterruptedException {
        Asked asked = next(kind);
        rest();
        long began = usedNanos;
        Attempt attempt = new Attempt(asked.input, new TpccSession.HistoryKey(historySource, ++historyNumber));
        try (Statement statement = holder.createStatement()) {
            statement.executeUpdate(firstRow(asked.input));
            loser.execute(attempt);
            try (PreparedStatement waits = holder.prepareStatement("select cardinality(pg_blocking_pids(?)) > 0")) {
                waits.setInt(1, pid);
                while (!first(waits)) {
                    if (attempt.failed.getCount() == 0) {
                        attempt.goOn.countDown();
                        attempt.ended.await();
                        return Optional.empty();
                    }
                    LockSupport.parkNanos(POLL_NANOS);
                }
            }
            rest();
            long waiting = usedNanos;
            long waitingClient = THREADS.getThreadCpuTime(attempt.thread);
            holder.commit();
            attempt.failed.await();
            rest();
            long failed = usedNanos;
            attempt.goOn.countDown();
            attempt.ended.await();
            rest();
            if (attempt.wrong != null) {
                throw new Failure("a " + kind.label() + " that was to lose its row did not: " + attempt.wrong, "");
            }
            long idle = attempt.rollbackNanos - (attempt.clientNanos - attempt.failedNanos) - (usedNanos - failed);
            return Optional
                    .of(new LosingProbe.Loss(waiting - began, waitingClient - attempt.startedNanos, usedNanos - waiting,
                            attempt.clientNanos - waitingClient, Math.max(0, idle)));
        } finally {
            attempt.goOn.countDown();
            holder.rollback();
        }
    }

    /** The row that many transactions want, and that is locked first: takes it and leaves it as it is. */
    private static String firstRow(TpccInput input) {
        return switch (input) {
            case TpccInput.NewOrder order -> "update district set d_ytd = d_ytd where d_w_id = " + order.warehouse()
                    + " and d_id = " + order.district();
            case TpccInput.Payment payment ->
                "update warehouse set w_ytd = w_ytd where w_id = " + payment.warehouse();
            case TpccInput.Delivery delivery -> "update new_order set no_o_id = no_o_id where no_w_id = "
                    + delivery.warehouse()
                    + " and (no_d_id, no_o_id) in (select no_d_id, min(no_o_id) from new_order where no_w_id = "
                    + delivery.warehouse() + " group by no_d_id)";
            case TpccInput.OrderStatus _,TpccInput.StockLevel _ ->
                throw new IllegalArgumentException(input + " locks nothing");
        };
    }

    private static boolean first(PreparedStatement statement) throws SQLException {
        try (ResultSet row = statement.executeQuery()) {
            return row.next() && row.getBoolean(1);
        }
    }

    /** One that is to lose, in a thread of its own. */
    private final class Attempt implements Runnable {
        private final TpccInput input;
        private final TpccSession.HistoryKey key;
        private final CountDownLatch failed = new CountDownLatch(1);
        private final CountDownLatch goOn = new CountDownLatch(1);
        private final CountDownLatch ended = new CountDownLatch(1);
        private volatile long thread;
        private volatile long startedNanos;
        private @Nullable String wrong = "it has executed";
        private long failedNanos;
        private long clientNanos;
        private long rollbackNanos;

        Attempt(TpccInput input, TpccSession.HistoryKey key) {
            this.input = input;
            this.key = key;
        }

        @Override
        public void run() {
            try {
                thread = Thread.currentThread().threadId();
                startedNanos = THREADS.getCurrentThreadCpuTime();
                try {
                    session.execute(input, LocalDateTime.now(Clock.system(ZoneOffset.UTC)), key);
                } catch (SQLException e) {
                    wrong = SqlFailure.of(e).isAbort() ? null : e.getMessage();
                }
                failedNanos = THREADS.getCurrentThreadCpuTime();
                failed.countDown();
                goOn.await();
                long since = System.nanoTime();
                session.rollback();
                rollbackNanos = System.nanoTime() - since;
                clientNanos = THREADS.getCurrentThreadCpuTime();
            } catch (SQLException e) {
                wrong = e.getMessage();
            } catch (InterruptedException e) {
                wrong = "interrupted";
                Thread.currentThread().interrupt();
            } finally {
                failed.countDown();
                ended.countDown();
            }
        }
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
