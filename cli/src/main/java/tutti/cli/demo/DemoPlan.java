package tutti.cli.demo;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalInt;
import java.util.SplittableRandom;
import tutti.command.Failure;
import tutti.workload.tpcc.TpccForm;
import tutti.workload.tpcc.TpccOptions.Placement;
import tutti.workload.tpcc.TpccScale;

/**
 * How to run the demonstration. Everything follows from it and from its seed, except what time decides.
 *
 * @param nodes of the cluster
 * @param warehouses of TPC-C
 * @param reduced whether the population is a hundredth of TPC-C's, which is then not TPC-C
 * @param terminals at work at a time
 * @param placement which terminals work at which node
 * @param seconds how long terminals work
 * @param seed of inputs, and of the choice of the node that is killed
 * @param kill whether a node is killed
 * @param form how transactions are handed in
 */
public record DemoPlan(int nodes, int warehouses, boolean reduced, int terminals, Placement placement, int seconds,
        long seed, boolean kill, TpccForm form) {
    private static final int SECONDS_MIN_WITH_KILL = 9;
    private static final int NODES_MIN_WITH_KILL = 3;

    public DemoPlan {
        require(warehouses >= 1 && warehouses <= 1000, "--warehouses must be 1 to 1000, was " + warehouses, "");
        require(terminals >= 1 && terminals <= 1000, "--terminals must be 1 to 1000, was " + terminals, "");
        require(seconds >= 1 && seconds <= 86_400, "--seconds must be 1 to 86400, was " + seconds, "");
        require(!kill || nodes >= NODES_MIN_WITH_KILL,
                "a cluster of " + nodes + " has no majority left when a node is killed",
                "take --nodes 3 or more, or --no-kill");
        require(!kill || seconds >= SECONDS_MIN_WITH_KILL,
                "in " + seconds + " s there is no time to kill a node and bring it back",
                "take --seconds " + SECONDS_MIN_WITH_KILL + " or more, or --no-kill");
    }

    private static void require(boolean condition, String what, String remedy) {
        if (!condition) {
            throw Failure.usage(what, remedy);
        }
    }

    /** What is loaded. */
    public TpccScale scale() {
        return reduced ? TpccScale.reduced(warehouses) : TpccScale.standard(warehouses);
    }

    /** The node that is killed, if one is. */
    public OptionalInt victim() {
        return kill ? OptionalInt.of(new SplittableRandom(seed).nextInt(nodes)) : OptionalInt.empty();
    }

    /** When it is killed, from the start of the run: in the middle. */
    public Duration killAfter() {
        return Duration.ofMillis(seconds * 1000L / 2);
    }

    /** When it is started again, from the start of the run. */
    public Duration restartAfter() {
        return Duration.ofMillis(seconds * 1000L * 2 / 3);
    }

    /** For the report. */
    public Map<String, String> settings() {
        Map<String, String> settings = new LinkedHashMap<>();
        settings.put("nodes", String.valueOf(nodes));
        settings.put("population", scale().toString());
        settings.put("terminals", terminals + ", without think time");
        settings.put("transactions", form.label());
        settings.put("placement", placement.name().toLowerCase(Locale.ROOT).replace('_', ' '));
        settings.put("seconds", String.valueOf(seconds));
        settings.put("seed", String.valueOf(seed));
        settings.put("killed", kill
                ? "node-" + victim().getAsInt() + " after " + killAfter().toMillis() / 1000.0
                        + " s, restarted after " + restartAfter().toMillis() / 1000.0 + " s"
                : "no node");
        return settings;
    }
}
