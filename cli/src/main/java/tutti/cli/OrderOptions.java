package tutti.cli;

import java.util.LinkedHashMap;
import java.util.Map;
import picocli.CommandLine.Option;
import tutti.command.Failure;
import tutti.server.config.NodeConfig;

/** What makes the total order, as options of commands say it. */
final class OrderOptions {
    @Option(names = "--order", paramLabel = "KIND", defaultValue = NodeConfig.DEFAULT_ORDER, description = "What makes the order: raft, a log on the nodes' disks; group, in the nodes' memory; or another one on the"
            + " class path, such as bookkeeper (docs/distributedlog.md) (default: ${DEFAULT-VALUE}).")
    private String kind;

    @Option(names = "--order-set", paramLabel = "NAME=VALUE", description = "A parameter of the order (docs/distributedlog.md); may be repeated.")
    private Map<String, String> parameters = new LinkedHashMap<>();

    /** The lines of configuration that choose it. */
    Map<String, String> settings() {
        try {
            String order = NodeConfig.Order.chosen(kind, parameters);
            return order.isEmpty() ? Map.of() : Map.of("order", order);
        } catch (IllegalArgumentException wrong) {
            throw Failure.usage(String.valueOf(wrong.getMessage()), "see --order, and docs/distributedlog.md");
        }
    }
}
