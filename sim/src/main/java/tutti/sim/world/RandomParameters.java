package tutti.sim.world;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import tutti.core.protocol.Parameter;
import tutti.core.protocol.ProtocolDescriptor;
import tutti.sim.kernel.RandomStream;

/**
 * Random values for the parameters of protocols, so that runs differ in character: times short enough for a run of two
 * seconds to see them pass, windows that are sometimes too small, every word of a choice.
 */
final class RandomParameters {
    private static final long MILLI = 1_000_000;
    private static final double MILLIS_MEAN = 40;

    private RandomParameters() {}

    static Map<String, String> random(RandomStream dice, ProtocolDescriptor protocol, int replicas) {
        Map<String, String> values = new TreeMap<>();
        for (Parameter parameter : protocol.parameters()) {
            RandomStream own = dice.fork(parameter.name());
            switch (parameter) {
                case Parameter.Time time -> values.put(time.name(), millis(time, own) + "ms");
                // The orders of this world are decided by all.
                case Parameter.Choice choice -> values.put(choice.name(),
                        choice.ofOrder() ? choice.byDefault() : own.pick(choice.words()));
                case Parameter.Fraction _ -> values.put(parameter.name(), own.chance(0.5) ? "0.3" : "0.001");
                case Parameter.Text text -> values.put(text.name(), text.byDefault());
                case Parameter.Clusters clusters -> values.put(clusters.name(), clusters(own, replicas));
                case Parameter.Count count -> values.put(count.name(),
                        count.auto() && own.fork("auto").chance(0.25)
                                ? "auto"
                                : Long.toString(Math.clamp(count(count, own), count.minimum(), count.maximum())));
            }
        }
        return values;
    }

    private static long millis(Parameter.Time time, RandomStream own) {
        long drawn = 1 + (long) own.exponential(MILLIS_MEAN);
        return Math.max(Math.max(1, time.minimumNanos() / MILLI), Math.min(time.normalNanos() / MILLI / 5, drawn));
    }

    /** Two clusters, with at least one replica each. */
    private static String clusters(RandomStream own, int replicas) {
        int first = 1 + own.nextInt(replicas - 1);
        List<String> east = new ArrayList<>();
        List<String> west = new ArrayList<>();
        for (int node = 0; node < replicas; node++) {
            (node < first ? east : west).add(Integer.toString(node));
        }
        return "east:" + String.join(",", east) + ";west:" + String.join(",", west);
    }

    private static long count(Parameter.Count count, RandomStream own) {
        return switch (count.name()) {
            case "window" -> own.nextInt(4) == 0 ? own.between(50, 200) : 10_000;
            case "window-keys" -> own.nextInt(4) == 0 ? own.between(5, 100) : count.normal();
            case "rows-per-table" -> own.nextInt(3) == 0 ? own.nextInt(4) : 100;
            case "optimistic" -> own.nextInt(9);
            case "lock-ticks" -> own.between(10, 200);
            case "inquire-ticks" -> own.between(2, 20);
            case "executors" -> own.nextInt(2) == 0 ? 1 : count.normal();
            case "batch-requests" -> own.nextInt(3) == 0 ? own.between(1, 4) : count.normal();
            case "move-after" -> own.nextInt(2) == 0 ? own.between(5, 100) : 0;
            default -> count.normal();
        };
    }
}
