package tutti.workload.tpcc;

import java.util.Map;

/**
 * One node during one second of a run.
 *
 * @param atSeconds end of the interval, since the start of the run
 * @param seconds length of the interval, about 1
 * @param node its name
 * @param up whether terminals could reach it at the end of the interval
 * @param terminals connected to it at the end of the interval
 * @param committed transactions of all types
 * @param newOrders NewOrders among them
 * @param p50Micros median latency in microseconds, 0 if nothing committed
 * @param p95Micros 95th percentile of the latency in microseconds, 0 if nothing committed
 * @param aborts attempts that failed, by cause
 */
public record TpccSecond(double atSeconds, double seconds, String node, boolean up, int terminals, long committed,
        long newOrders, long p50Micros, long p95Micros, Map<String, Long> aborts) {
    public TpccSecond {
        aborts = Map.copyOf(aborts);
    }

    static TpccSecond none(String node) {
        return new TpccSecond(0, 1, node, true, 0, 0, 0, 0, 0, Map.of());
    }

    /** Transactions per second. */
    public double perSecond() {
        return committed / seconds;
    }
}
