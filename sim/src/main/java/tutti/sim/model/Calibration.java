package tutti.sim.model;

import java.util.Collections;
import java.util.EnumMap;
import java.util.Map;
import tutti.sim.kernel.Distribution;

/**
 * How long a database takes for what, as measured (D5.1, section 2.5).
 *
 * @param cpu processor time of each kind of transaction, on a core of speed 1 (table 2.4)
 * @param logWritesPerRow log writes for each row that is written (m of table 2.5), at least 0
 * @param logAccessNanos how long one log write takes (logAccessDelay), at least 0
 * @param logParallelism log writes at a time (parallelism), at least 1
 * @param applyShare processor time that a write set takes where it is applied, as a share of what its execution took: 0 to 1
 * @param code what real code costs
 */
public record Calibration(Map<Kind, Distribution> cpu, double logWritesPerRow, long logAccessNanos, int logParallelism,
        double applyShare, Code code) {
    /**
     * What real code costs if it is charged by model: processor time on a core of speed 1.
     *
     * @param messageNanos of a protocol for a message, at least 0
     * @param byteNanos in addition for each of its bytes, at least 0
     * @param eventNanos of a protocol for any other event, at least 0
     * @param packetNanos of group communication for a packet that is sent or received, at least 0
     */
    public record Code(long messageNanos, double byteNanos, long eventNanos, long packetNanos) {}

    public Calibration {
        cpu = Collections.unmodifiableMap(new EnumMap<>(cpu));
        for (Kind kind : Kind.DRAWN) {
            if (!cpu.containsKey(kind)) {
                throw new IllegalArgumentException("no processor time for " + kind.label());
            }
        }
        if (!(logWritesPerRow >= 0) || logAccessNanos < 0 || logParallelism < 1
                || !(applyShare >= 0 && applyShare <= 1)) {
            throw new IllegalArgumentException("impossible storage: " + logWritesPerRow + " log writes a row, "
                    + logAccessNanos + " ns each, " + logParallelism + " at a time, apply share " + applyShare);
        }
    }

    /** Log writes that so many rows make; whoever writes at all makes one. */
    int logWrites(int rows) {
        return rows == 0 ? 0 : Math.max(1, (int) Math.ceil(logWritesPerRow * rows));
    }

    /** Processor time of a kind of transaction. */
    Distribution cpuOf(Kind kind) {
        Distribution found = cpu.get(kind);
        if (found == null) {
            throw new IllegalStateException("no processor time for " + kind);
        }
        return found;
    }
}
