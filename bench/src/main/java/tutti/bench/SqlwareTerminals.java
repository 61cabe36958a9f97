package tutti.bench;

import java.sql.SQLException;
import java.time.Clock;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import tutti.workload.tpcc.TpccConstants;
import tutti.workload.tpcc.TpccDatabase;
import tutti.workload.tpcc.TpccForm;
import tutti.workload.tpcc.TpccInput;
import tutti.workload.tpcc.TpccInputs;
import tutti.workload.tpcc.TpccOutput;
import tutti.workload.tpcc.TpccPopulation;
import tutti.workload.tpcc.TpccSession;
import tutti.workload.tpcc.TpccTransaction;

/**
 * Terminals of TPC-C without think time that hand stored transactions in, one after the other, and do not repeat what was aborted.
 *
 * @param databases where they work, in turns
 * @param count how many
 * @param logged whether they hear only that a transaction is logged, if it changes something
 * @param inFlight how many transactions a terminal hands in at once when they are logged, at least 1
 * @param seed of the inputs
 * @param source of the keys of rows of HISTORY; no other run may have the same
 */
record SqlwareTerminals(List<TpccDatabase> databases, TpccPopulation population, int count, boolean logged,
        int inFlight, long seed,
        long source) {
    /** What a client says to have its transactions acknowledged when they are logged. */
    private static final String LOGGED = "set tutti.acknowledge = 'logged'";
    /** And to have each of several that it hands in at once be one by itself. */
    private static final String SEPARATE = "set tutti.requests = 'statement'";

    /**
     * What came of it.
     *
     * @param accepted transactions that were acknowledged
     * @param newOrders of them
     * @param aborted transactions that failed, but for orders of items that there are not
     * @param latencyNanos of all that were acknowledged, together
     * @param lastError of an aborted one, or nothing
     */
    record Result(long accepted, long newOrders, long aborted, long latencyNanos, String lastError) {
        private Result plus(Result other) {
            return new Result(accepted + other.accepted, newOrders + other.newOrders, aborted + other.aborted,
                    latencyNanos + other.latencyNanos, lastError.isEmpty() ? other.lastError : lastError);
        }

        double abortPercent() {
            return accepted + aborted == 0 ? 0 : 100.0 * aborted / (accepted + aborted);
        }

        double latencyMillis() {
            return accepted == 0 ? 0 : latencyNanos / 1e6 / accepted;
        }
    }

    /** Has them work for so long. */
    Result work(int seconds) throws SQLException, InterruptedException {
        long until = System.nanoTime() + seconds * 1_000_000_000L;
        TpccConstants constants = TpccConstants.forRun(TpccConstants.forLoad(population.seed()), seed);
        Result all = new Result(0, 0, 0, 0, "");
        try (ExecutorService threads = Executors.newThreadPerTaskExecutor(Thread.ofPlatform().factory())) {
            List<Future<Result>> terminals = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                int number = i;
                terminals.add(threads.submit(() -> terminal(number, constants, until)));
            }
            for (Future<Result> terminal : terminals) {
                try {
                    all = all.plus(terminal.get());
                } catch (ExecutionException failed) {
                    if (failed.getCause() instanceof SQLException cause) {
                        throw cause;
                    }
                    throw new IllegalStateException(failed.getCause());
                }
            }
        }
        return all;
    }

    private Result terminal(int number, TpccConstants constants, long until) throws SQLException {
        int warehouse = number % population.scale().warehouses() + 1;
        int district = number / population.scale().warehouses() % population.scale().districts() + 1;
        TpccInputs inputs = new TpccInputs(population.scale(), constants, seed, number, warehouse, district);
        long accepted = 0;
        long newOrders = 0;
        long aborted = 0;
        long collectedNewOrders = 0;
        long latency = 0;
        String lastError = "";
        var connection = databases.get(number % databases.size()).open();
        try (TpccSession session = new TpccSession(connection, TpccForm.STORED)) {
            if (logged) {
                try (var statement = connection.createStatement()) {
                    statement.execute(LOGGED);
                    if (inFlight > 1) {
                        statement.execute(SEPARATE);
                    }
                }
            }
            for (long history = 1; System.nanoTime() < until; history++) {
                TpccInput input = inputs.next();
                LocalDateTime now = LocalDateTime.now(Clock.system(ZoneOffset.UTC)).truncatedTo(ChronoUnit.MICROS);
                TpccSession.HistoryKey key = new TpccSession.HistoryKey(source + number, history);
                long begun = System.nanoTime();
                try {
                    boolean ordered = true;
                    if (logged && inFlight > 1) {
                        session.collect(input, now, key);
                        boolean full = history % inFlight == 0;
                        if (full) {
                            session.handIn();
                        }
                        // All that were collected have waited for the last.
                        collectedNewOrders += input.type() == TpccTransaction.NEW_ORDER ? 1 : 0;
                        latency += (System.nanoTime() - begun) * (full ? inFlight : 0);
                        accepted += full ? inFlight : 0;
                        newOrders += full ? collectedNewOrders : 0;
                        collectedNewOrders = full ? 0 : collectedNewOrders;
                        continue;
                    } else if (logged) {
                        session.submit(input, now, key);
                    } else {
                        ordered = !(session.execute(input, now, key) instanceof TpccOutput.UnknownItem);
                    }
                    latency += System.nanoTime() - begun;
                    accepted++;
                    newOrders += ordered && input.type() == TpccTransaction.NEW_ORDER ? 1 : 0;
                } catch (SQLException failed) {
                    aborted++;
                    lastError = failed.getSQLState() + " " + failed.getMessage();
                    if (connection.isClosed()) {
                        throw failed;
                    }
                }
            }
        }
        return new Result(accepted, newOrders, aborted, latency, lastError);
    }
}
