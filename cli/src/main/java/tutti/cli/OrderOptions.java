package tutti.cli;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.StringJoiner;
import picocli.CommandLine.Option;
import tutti.command.Failure;
import tutti.order.OrderDescriptor;
import tutti.order.Orders;

/** What makes the total order, as options of commands say it. */
final class OrderOptions {
    @Option(names = "--order", paramLabel = "KIND", defaultValue = Orders.DEFAULT, description = "What makes the order: raft, group (in memory), or another one on the class path, such as bookkeeper"
            + " (docs/distributedlog.md) (default: ${DEFAULT-VALUE}).")
    private String kind;

    @Option(names = "--order-set", paramLabel = "NAME=VALUE", description = "A parameter of the order (docs/distributedlog.md); may be repeated.")
    private Map<String, String> parameters = new LinkedHashMap<>();

    /** The lines of configuration that choose it. */
    Map<String, String> settings() {
        try {
            OrderDescriptor chosen = Orders.STANDARD.descriptor(kind);
            chosen.check(parameters);
            if (kind.equals(Orders.DEFAULT)) {
                return Map.of();
            }
            StringJoiner values = new StringJoiner(", ", "{", "}");
            parameters.forEach((name, value) -> values.add("\"" + quoted(name) + "\": \"" + quoted(value) + "\""));
            return Map.of("order", "{kind: " + kind + ", durability: " + chosen.durability().word() + ", parameters: "
                    + values + "}");
        } catch (IllegalArgumentException wrong) {
            throw Failure.usage(String.valueOf(wrong.getMessage()), "see --order, and docs/distributedlog.md");
        }
    }

    private static String quoted(String text) {
        return text.replace("\\", "\\\\").replace("\"", "\\\"");
    }
}
