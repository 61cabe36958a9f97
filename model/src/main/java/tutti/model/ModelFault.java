package tutti.model;

import java.util.List;
import tutti.sim.kernel.Distribution;

/** What goes wrong, from a time on (D5.1, table 3.3). */
public sealed interface ModelFault {
    /** When it begins, in nanoseconds of simulated time. */
    long atNanos();

    /** Which sites it concerns. */
    List<Integer> sites();

    /** Delays are longer, and elapsed times seem shorter, by this rate. */
    record ClockDrift(long atNanos, List<Integer> sites, double rate) implements ModelFault {}

    /** Whatever real code has scheduled happens later by this. */
    record SchedulingLatency(long atNanos, List<Integer> sites, Distribution latency) implements ModelFault {}

    /**
     * Each message is discarded upon reception with this probability.
     *
     * @param rate 0 to {@link #RATE_MAX}
     */
    record RandomLoss(long atNanos, List<Integer> sites, double rate) implements ModelFault {
        /** Who loses more would repeat without end. */
        public static final double RATE_MAX = 0.9;

        public RandomLoss {
            if (!(rate >= 0 && rate <= RATE_MAX)) {
                throw new IllegalArgumentException("a loss of " + rate + ", possible are 0 to " + RATE_MAX);
            }
        }
    }

    /**
     * Times in which all messages are discarded upon reception take turns with times in which they are received.
     *
     * @param lost how long the former are
     * @param received how long the latter are
     */
    record BurstyLoss(long atNanos, List<Integer> sites, Distribution lost, Distribution received)
            implements
                ModelFault {}

    /** The site stops for good. */
    record Crash(long atNanos, List<Integer> sites) implements ModelFault {}
}
