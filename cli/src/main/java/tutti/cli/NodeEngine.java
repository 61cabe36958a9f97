package tutti.cli;

import java.util.Map;
import tutti.cluster.ClusterSpec;
import tutti.command.Failure;
import tutti.server.config.NodeConfig;

/** What holds the nodes' copies, as options of commands say it. */
final class NodeEngine {
    private static final int SECONDARIES_MAX = NodeConfig.InProcess.SECONDARIES_MAX;

    private NodeEngine() {}

    /** The settings of a cluster's nodes. */
    static Map<String, String> settings(String engine, int secondaries) {
        if (!NodeConfig.engines().contains(engine)) {
            throw Failure.usage("there is no engine " + engine,
                    "choose one of " + String.join(", ", NodeConfig.engines()));
        }
        if (secondaries < 0 || secondaries > SECONDARIES_MAX) {
            throw Failure.usage("--secondaries must be 0 to " + SECONDARIES_MAX + ", was " + secondaries, "");
        }
        if (!NodeConfig.inProcess(engine)) {
            if (secondaries > 0) {
                throw Failure.usage("--secondaries is for databases in the nodes' processes",
                        "choose one with --engine: " + String.join(", ", NodeConfig.inProcessEngines()));
            }
            return Map.of();
        }
        return Map.of(ClusterSpec.ENGINE, engine, ClusterSpec.SECONDARIES, String.valueOf(secondaries));
    }
}
