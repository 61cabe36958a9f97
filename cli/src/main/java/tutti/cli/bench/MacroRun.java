package tutti.cli.bench;

import java.sql.SQLException;
import java.time.Clock;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import tutti.cli.Failure;
import tutti.workload.client.SqlFailure;
import tutti.workload.tpcc.PortableTpcc;
import tutti.workload.tpcc.TpccConstants;
import tutti.workload.tpcc.TpccInput;
import tutti.workload.tpcc.TpccInputs;
import tutti.workload.tpcc.TpccOutput;
import tutti.workload.tpcc.TpccPopulation;
import tutti.workload.tpcc.TpccScale;
import tutti.workload.tpcc.TpccSession;
import tutti.workload.tpcc.TpccTransaction;

/** Lets clients work at a system for a while and counts. */
final class MacroRun {
    private final MacroSystem system;
    private final TpccPopulation population;
    private final MacroMix mix;
    private final int clients;
    private final long seed;
    private final long source;

    /**
     * What came of a run.
     *
     * @param reads transactions that committed and only read
     * @param writes transactions that committed and may have written
     * @param aborts attempts that failed because of a conflict
     * @param rolledBack NewOrders with an unknown item, which TPC-C wants rolled back
     * @param seconds how long it took
     */
    record Counts(long reads, long writes, long aborts, long rolledBack, double seconds) {
        /** Committed transactions per minute. */
        double perMinute() {
            return (reads + writes) / seconds * 60;
        }

        /** Aborted of all attempts, in percent. */
        double abortPercent() {
            long attempts = reads + writes + aborts + rolledBack;
            return attempts == 0 ? 0 : 100.0 * aborts / attempts;
        }

        /** Reading of all committed transactions, in percent. */
        double readPercent() {
            return reads + writes == 0 ? 0 : 100.0 * reads / (reads + writes);
        }

        Counts plus(Counts other) {
            return new Counts(reads + other.reads, writes + other.writes, aborts + other.aborts,
                    rolledBack + other.rolledBack, Math.max(seconds, other.seconds));
        }
    }

    /**
     * A run.
     *
     * @param source of keys of HISTORY, different in each run on the same system
     */
    MacroRun(MacroSystem system, TpccPopulation population, MacroMix mix, int clients, long seed, long source) {
        this.system = system;
        this.population = population;
        this.mix = mix;
        this.clients = clients;
        this.seed = seed;
        this.source = source;
    }

    /** Works for that long. */
    Counts work(double seconds) throws InterruptedException {
        long end = System.nanoTime() + (long) (seconds * 1e9);
        try (ExecutorService threads = Executors.newFixedThreadPool(clients,
                Thread.ofPlatform().name("macro-client-", 0).factory())) {
            List<Future<Counts>> running = new ArrayList<>();
            for (int i = 0; i < clients; i++) {
                int number = i;
                running.add(threads.submit(() -> work(number, end)));
            }
            Counts all = new Counts(0, 0, 0, 0, 0);
            for (Future<Counts> client : running) {
                all = all.plus(client.get());
            }
            return all;
        } catch (ExecutionException failed) {
            throw new Failure("a client failed: " + failed.getCause().getMessage(), "", failed.getCause());
        }
    }

    private Counts work(int number, long end) throws SQLException {
        TpccScale scale = population.scale();
        TpccInputs inputs = new TpccInputs(scale, TpccConstants.forRun(TpccConstants.forLoad(population.seed()), seed),
                seed, number, 1 + number % scale.warehouses(), 1 + number / scale.warehouses() % scale.districts());
        SplittableRandom random = new SplittableRandom(seed + number);
        long begun = System.nanoTime();
        long reads = 0;
        long writes = 0;
        long aborts = 0;
        long rolledBack = 0;
        long history = 0;
        try (MacroSystem.Client client = system.client(number)) {
            PortableTpcc tpcc = new PortableTpcc(client.statements());
            while (System.nanoTime() < end) {
                TpccTransaction type = mix.draw(random);
                boolean readOnly = type == TpccTransaction.ORDER_STATUS || type == TpccTransaction.STOCK_LEVEL;
                TpccInput input = inputs.next(type);
                try {
                    client.begin(readOnly);
                    TpccOutput output = tpcc.execute(input,
                            LocalDateTime.now(Clock.system(ZoneOffset.UTC)).truncatedTo(ChronoUnit.MICROS),
                            new TpccSession.HistoryKey(source + number, ++history));
                    if (output instanceof TpccOutput.UnknownItem) {
                        client.rollback();
                        rolledBack++;
                        continue;
                    }
                    client.commit();
                    reads += readOnly ? 1 : 0;
                    writes += readOnly ? 0 : 1;
                } catch (SQLException failed) {
                    client.rollback();
                    // HSQLDB says 40501, and H2 itself HYT00 where a session of ours would have waited on.
                    if (!SqlFailure.of(failed).isAbort() && !String.valueOf(failed.getSQLState()).startsWith("40")
                            && !String.valueOf(failed.getSQLState()).startsWith("HYT")) {
                        throw failed;
                    }
                    aborts++;
                }
            }
        }
        return new Counts(reads, writes, aborts, rolledBack, (System.nanoTime() - begun) / 1e9);
    }
}
