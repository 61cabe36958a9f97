package tutti.bench;

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAccumulator;
import tutti.command.Failure;
import tutti.workload.tpcc.TpccPopulation;

/**
 * Lets terminals work at a system for a while and counts.
 *
 * @param source of keys of HISTORY, different for each run on the same system
 */
record MacroRun(MacroSystem system, TpccPopulation population, MacroMix mix, int clients, long seed, long source) {
    /**
     * What came of a run.
     *
     * @param seconds how long it took
     * @param standstillMillis the longest time in which no transaction of any client ended
     * @param collectionMillis how long the virtual machine stood still to collect garbage, altogether
     */
    record Result(MacroClient.Counts counts, double seconds, double standstillMillis, long collectionMillis) {
        /** Committed transactions per minute. */
        double perMinute() {
            return (counts.reads() + counts.writes()) / seconds * 60;
        }

        /** Aborted because of conflicts, of all attempts, in percent. */
        double abortPercent() {
            long attempts = counts.ended();
            return attempts == 0 ? 0 : 100.0 * counts.aborts() / attempts;
        }

        /** Reading over writing transactions that committed; 0 if none wrote. */
        double readWriteRatio() {
            return counts.writes() == 0 ? 0 : (double) counts.reads() / counts.writes();
        }
    }

    /** Of each client, however short the time is. */
    private static final long TRANSACTIONS_MIN = 5;

    /** Works for that long. */
    Result work(double seconds) throws InterruptedException {
        long collected = collectionMillis();
        Standstill standstill = new Standstill();
        long begun = System.nanoTime();
        long end = begun + (long) (seconds * 1e9);
        try (ExecutorService threads = Executors.newFixedThreadPool(clients,
                Thread.ofPlatform().name("macro-client-", 0).factory())) {
            List<Future<MacroClient.Counts>> running = new ArrayList<>();
            for (int i = 0; i < clients; i++) {
                int number = i;
                running.add(threads.submit(() -> work(number, end, standstill)));
            }
            MacroClient.Counts all = MacroClient.Counts.NONE;
            for (Future<MacroClient.Counts> client : running) {
                all = all.plus(client.get());
            }
            return new Result(all, (System.nanoTime() - begun) / 1e9, standstill.longest.get() / 1e6,
                    collectionMillis() - collected);
        } catch (ExecutionException failed) {
            throw new Failure("a client failed: " + failed.getCause().getMessage(), "", failed.getCause());
        }
    }

    private MacroClient.Counts work(int number, long end, Standstill standstill) throws SQLException {
        try (MacroClient client = new MacroClient(system, population, mix, number, seed, source)) {
            do {
                client.step();
                standstill.ended();
            } while (System.nanoTime() < end || client.counts().ended() < TRANSACTIONS_MIN);
            return client.counts();
        }
    }

    /** Watches how long nothing ends, at whichever client. */
    private static final class Standstill {
        /** When the last transaction ended; 0 before the first, whose client may have been opened late. */
        private final AtomicLong last = new AtomicLong();
        private final LongAccumulator longest = new LongAccumulator(Math::max, 0);

        void ended() {
            long now = System.nanoTime();
            long before = last.getAndSet(now);
            if (before != 0) {
                longest.accumulate(now - before);
            }
        }
    }

    private static long collectionMillis() {
        return ManagementFactory.getGarbageCollectorMXBeans().stream()
                .mapToLong(GarbageCollectorMXBean::getCollectionTime).sum();
    }
}
