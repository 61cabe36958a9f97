package tutti.server.config;

import java.util.ArrayList;
import java.util.List;
import tutti.core.protocol.Parameter;
import tutti.core.protocol.ProtocolDescriptor;
import tutti.core.protocol.Protocols;

/**
 * Explains the configuration to people: a file with all keys, their meaning and their defaults to begin with, and the
 * manual's table. Both are made from the same definition that the reader uses.
 */
public final class ConfigManual {
    private static final int LINE_WIDTH = 100;

    private ConfigManual() {}

    /** A configuration file for the first of one member, which spells out every default. */
    public static String yaml() {
        StringBuilder text = new StringBuilder();
        text.append("# Configuration of one Tutti node. What is left out has the value shown here.\n");
        yaml(NodeConfig.class, "", false, text);
        return text.toString();
    }

    private static void yaml(Class<?> section, String indent, boolean commentedOut, StringBuilder text) {
        for (Schema.Key key : Schema.keys(section)) {
            Setting setting = key.setting();
            if (indent.isEmpty()) {
                text.append('\n');
            }
            String range = Values.range(setting, " Valid: ");
            for (String line : wrap(setting.doc() + (range.isEmpty() ? "" : range + "."),
                    LINE_WIDTH - indent.length())) {
                text.append(indent).append("# ").append(line).append('\n');
            }
            boolean commented = commentedOut || key.isOptional();
            String start = indent + (commented ? "#" : "") + key.name() + ":";
            if (key.isSection()) {
                text.append(start).append('\n');
                yaml(key.section(), indent + "  ", commented, text);
            } else if (key.isList()) {
                text.append(start).append('\n');
                String element = element(key.element(), indent + "    ");
                text.append(indent).append("  - ").append(element.stripLeading());
            } else {
                String value = key.isOptional() || key.isRequired() ? setting.example() : setting.byDefault();
                text.append(start).append(' ').append(value).append('\n');
            }
        }
    }

    /** An element of a list: the explanations first, since the dash must stand before the first key. */
    private static String element(Class<?> section, String indent) {
        StringBuilder text = new StringBuilder();
        for (Schema.Key key : Schema.keys(section)) {
            List<String> lines = wrap(key.setting().doc() + Values.range(key.setting(), " Valid: "), LINE_WIDTH);
            for (String line : lines) {
                text.append(indent).append("# ").append(line).append('\n');
            }
            text.append(indent).append(key.name()).append(": ").append(key.setting().example()).append('\n');
        }
        return text.toString();
    }

    /** The manual's page in Markdown. */
    public static String markdown() {
        StringBuilder text = new StringBuilder();
        text.append(
                """
                        # Configuration

                        **What.** One YAML file per node, given to `tutti node --config FILE`.

                        **How.** `tutti node --print-config` prints a file with every key, its meaning and its default.

                        **Limits.** The file is read once, checked as a whole before anything starts, and counts until the node stops;
                        `tutti reload` reads it again, and docs/operations.md says which keys count at once. An unknown
                        key, a key given twice, a missing one or an impossible value is refused with its line, the reason and the nearest valid
                        key or the valid range.

                        Sizes are written `4 KiB`, `64 MiB`, `1 GiB` or as plain bytes; times `500ms`, `10s`, `5min`, `1h`.
                        Relative paths start at the directory of the file.

                        | key | default | valid | meaning |
                        |---|---|---|---|
                        """);
        rows(NodeConfig.class, "", text);
        protocols(text);
        return text.toString();
    }

    private static void protocols(StringBuilder text) {
        text.append(
                """

                        ## An order in memory

                        `order: {kind: group, durability: none}` orders transactions by group communication over UDP: nodes
                        multicast them, one says in which order they count, and nothing waits for a disk. The port is
                        `members[].order`, UDP in place of TCP. What it promises, and what not:

                        - While a majority of the nodes goes on, it is an order like any other: no node delivers what another
                          does not, a minority orders nothing, and nothing that a client was told is lost.
                        - A node that stopped and starts again has forgotten the order. It gets what its database lacks from the
                          others, and counts again when it has it. If they have let go of what it needs, it says so and does not
                          serve: give it a copy of another node's database and `replica` directory.
                        - When a majority has stopped, at once or one after the other before the first were back, the order is
                          gone. Nodes that are up refuse writes with `57P03`, nodes that start do not become ready, and both say why and
                          what to do: to who writes, in `tutti status`, and in their log. The databases hold what they had
                          applied. Begin a new cluster in empty directories with the data of the node whose position is highest.
                        - `limits.transaction-bytes` must be 3670016 (3.5 MiB) at most. `order.batch-bytes` and
                          `order.segment-bytes` have no meaning. Datagrams are checked for damage and dropped if they are not of this
                          cluster. With `peers.security: tls` they are authenticated, and taken once; they are not encrypted:
                          [keys.md](keys.md).

                        ## Parameters of protocols

                        Under `protocol-parameters`, for example `protocol-parameters: {reads: bloom}`. A cluster keeps those with which it
                        began, and a node with different ones stops, but for `executors` and `batch-requests` of `hybrid`; `tutti parameters`
                        changes some while nodes run. Times are written `500us`, `20ms`, `1s`, `5min`.

                        | protocol | parameter | default | valid | meaning |
                        |---|---|---|---|---|
                        """);
        for (ProtocolDescriptor protocol : Protocols.STANDARD.all()) {
            for (Parameter parameter : protocol.parameters()) {
                text.append("| `").append(protocol.name()).append("` | `").append(parameter.name()).append("` | `")
                        .append(parameter.byDefault()).append("` | ").append(parameter.valid()).append(" | ")
                        .append(parameter.description()).append(" |\n");
            }
        }
    }

    private static void rows(Class<?> section, String prefix, StringBuilder text) {
        for (Schema.Key key : Schema.keys(section)) {
            Setting setting = key.setting();
            String byDefault = byDefault(key);
            String valid = setting.pattern().isEmpty()
                    ? Values.range(setting, "")
                    : "`" + setting.pattern().replace("|", "\\|") + "`";
            text.append("| `").append(prefix).append(key.name()).append("` | ").append(byDefault).append(" | ")
                    .append(valid).append(" | ").append(setting.doc()).append(" |\n");
            if (key.isSection()) {
                rows(key.section(), prefix + key.name() + ".", text);
            } else if (key.isList()) {
                rows(key.element(), prefix + key.name() + "[].", text);
            }
        }
    }

    private static String byDefault(Schema.Key key) {
        if (key.isOptional()) {
            return "none";
        }
        if (key.isSection()) {
            return "";
        }
        return key.isRequired() ? "required" : "`" + key.setting().byDefault() + "`";
    }

    private static List<String> wrap(String text, int width) {
        List<String> lines = new ArrayList<>();
        StringBuilder line = new StringBuilder();
        for (String word : text.split(" ", -1)) {
            if (!line.isEmpty() && line.length() + 1 + word.length() > width) {
                lines.add(line.toString());
                line.setLength(0);
            }
            line.append(line.isEmpty() ? "" : " ").append(word);
        }
        lines.add(line.toString());
        return lines;
    }
}
