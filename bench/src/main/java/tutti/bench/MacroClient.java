package tutti.bench;

import java.sql.SQLException;
import java.time.Clock;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.SplittableRandom;
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

/** A terminal of TPC-C at a {@link MacroSystem}: one transaction after the other, without thinking. One thread. */
final class MacroClient implements AutoCloseable {
    private final MacroMix mix;
    private final MacroSessions.Client client;
    private final PortableTpcc tpcc;
    private final TpccInputs inputs;
    private final SplittableRandom random;
    private final long source;
    private long reads;
    private long writes;
    private long aborts;
    private long rolledBack;
    private long history;
    /** Of those that committed, by kind. */
    private final long[] nanos = new long[TpccTransaction.values().length];
    private final long[] counts = new long[TpccTransaction.values().length];

    /**
     * What came of transactions.
     *
     * @param reads that committed and only read
     * @param writes that committed and may have written
     * @param aborts attempts that failed because of a conflict
     * @param rolledBack NewOrders with an unknown item, which TPC-C wants rolled back
     */
    record Counts(long reads, long writes, long aborts, long rolledBack) {
        /** Nothing. */
        static final Counts NONE = new Counts(0, 0, 0, 0);

        /** How many have ended, one way or the other. */
        long ended() {
            return reads + writes + aborts + rolledBack;
        }

        Counts plus(Counts other) {
            return new Counts(reads + other.reads, writes + other.writes, aborts + other.aborts,
                    rolledBack + other.rolledBack);
        }
    }

    /**
     * A terminal.
     *
     * @param number of the terminal at the system, from 0
     * @param source of keys of HISTORY, different for each run on the same system
     */
    MacroClient(MacroSystem system, TpccPopulation population, MacroMix mix, int number, long seed, long source)
            throws SQLException {
        TpccScale scale = population.scale();
        this.mix = mix;
        this.source = source + number;
        inputs = new TpccInputs(scale, TpccConstants.forRun(TpccConstants.forLoad(population.seed()), seed), seed,
                number, 1 + number % scale.warehouses(), 1 + number / scale.warehouses() % scale.districts());
        random = new SplittableRandom(seed + number);
        client = system.client(number);
        tpcc = new PortableTpcc(client.statements());
    }

    /** Tries one transaction. */
    void step() throws SQLException {
        TpccTransaction type = mix.draw(random);
        boolean readOnly = type == TpccTransaction.ORDER_STATUS || type == TpccTransaction.STOCK_LEVEL;
        TpccInput input = inputs.next(type);
        long begun = System.nanoTime();
        try {
            client.begin(readOnly, tables(type));
            TpccOutput output = tpcc.execute(input,
                    LocalDateTime.now(Clock.system(ZoneOffset.UTC)).truncatedTo(ChronoUnit.MICROS),
                    new TpccSession.HistoryKey(source, ++history));
            if (output instanceof TpccOutput.UnknownItem) {
                client.rollback();
                rolledBack++;
                return;
            }
            client.commit();
            nanos[type.ordinal()] += System.nanoTime() - begun;
            counts[type.ordinal()]++;
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

    private static String tables(TpccTransaction type) {
        return switch (type) {
            case NEW_ORDER -> "warehouse, district, customer, orders, new_order, order_line, item, stock";
            case PAYMENT -> "warehouse, district, customer, history";
            case ORDER_STATUS -> "customer, orders, order_line";
            case DELIVERY -> "new_order, orders, order_line, customer";
            case STOCK_LEVEL -> "district, order_line, stock";
        };
    }

    /** Mean time of those of a kind that committed, in microseconds; 0 if there are none. */
    double meanMicros(TpccTransaction type) {
        long count = counts[type.ordinal()];
        return count == 0 ? 0 : nanos[type.ordinal()] / 1000.0 / count;
    }

    Counts counts() {
        return new Counts(reads, writes, aborts, rolledBack);
    }

    @Override
    public void close() throws SQLException {
        client.close();
    }
}
