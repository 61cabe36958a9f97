package tutti.cluster;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Option;
import tutti.command.Failure;

/** Options that say which running nodes a command is for. */
public final class ChosenNodes {
    @Option(names = "--data", paramLabel = "DIR", defaultValue = "data", description = "Directory of a cluster on this machine (default: ${DEFAULT-VALUE}).")
    private Path data = Path.of("data");

    @Option(names = "--node", paramLabel = "N", description = "Only the node with this id; may be repeated.")
    private List<Integer> nodes = List.of();

    @Option(names = "--url", paramLabel = "URL", description = "Admin HTTP of a node, http://host:port, instead of a directory; may be repeated.")
    private List<String> urls = List.of();

    @Option(names = "--token-file", paramLabel = "FILE", description = "With --url: a copy of http-token of the node's data directory, for what not everybody may ask. Once for all nodes, or one for each --url, in their order.")
    private List<Path> tokens = List.of();

    /** Made by picocli. */
    public ChosenNodes() {}

    /**
     * A node that was chosen.
     *
     * @param name for people
     * @param url of its admin HTTP
     * @param token what changes ask for; nothing if it is not known
     */
    public record Chosen(String name, String url, String token) {
        /** Without the token. */
        @Override
        public String toString() {
            return name + " at " + url;
        }
    }

    /**
     * The nodes.
     *
     * @throws Failure if there is no such cluster or node
     */
    public List<Chosen> all() {
        if (!urls.isEmpty()) {
            if (tokens.size() > 1 && tokens.size() != urls.size()) {
                throw Failure.usage(tokens.size() + " token files for " + urls.size() + " nodes",
                        "give one --token-file for each --url, in their order, or one for all");
            }
            List<Chosen> chosen = new ArrayList<>();
            for (int i = 0; i < urls.size(); i++) {
                String token = tokens.isEmpty() ? "" : read(tokens.get(tokens.size() == 1 ? 0 : i));
                chosen.add(new Chosen(urls.get(i), urls.get(i), token));
            }
            return chosen;
        }
        ClusterFile cluster = ClusterFile.read(data)
                .orElseThrow(() -> new Failure("there is no cluster.json in " + data.toAbsolutePath().normalize(),
                        "name the directory of a cluster with --data, or a node with --url http://host:port"));
        List<Integer> unknown = new ArrayList<>(nodes);
        unknown.removeAll(cluster.nodes().stream().map(ClusterFile.Node::id).toList());
        if (!unknown.isEmpty()) {
            throw Failure.usage("the cluster has no node " + unknown.getFirst(),
                    "it has " + cluster.nodes().stream().map(ClusterFile.Node::id).toList());
        }
        return cluster.nodes().stream().filter(node -> nodes.isEmpty() || nodes.contains(node.id()))
                .map(ChosenNodes::of).toList();
    }

    /**
     * What the first of them says that does what it is asked to.
     *
     * @param node it
     * @param text its answer
     */
    public record Said(Chosen node, String text) {}

    /**
     * Asks one after the other, until one answers well. One that was asked for a change and is silent about it is the last: it may have
     * had it ordered.
     *
     * @param changes whether that is to change something (POST)
     * @param patience for each
     * @param otherwise what to tell people if none does
     * @throws Failure if none does, or if there is no such cluster or node
     */
    public Said first(boolean changes, String path, Duration patience, String otherwise) throws InterruptedException {
        return first(all(), changes, path, patience, otherwise);
    }

    /** As above, of these nodes. */
    static Said first(List<Chosen> nodes, boolean changes, String path, Duration patience, String otherwise)
            throws InterruptedException {
        List<String> refusals = new ArrayList<>();
        try (AdminClient client = new AdminClient(patience)) {
            for (Chosen node : nodes) {
                AdminClient.Answer answer = changes
                        ? client.post(node.url(), path, node.token())
                        : client.get(node.url(), path);
                if (answer.well()) {
                    return new Said(node, answer.text());
                }
                refusals.add("node " + node.name() + ": " + answer.text());
                if (changes && answer.perhaps()) {
                    throw new Failure(String.join("; ", refusals),
                            "what it was asked to do may be done, or be done yet: look before you ask again");
                }
            }
        }
        throw new Failure(otherwise + ": " + String.join("; ", refusals), "");
    }

    /** A node of a cluster on this machine. */
    static Chosen of(ClusterFile.Node node) {
        return new Chosen(node.id() + " " + node.name(), node.httpUrl(), token(node));
    }

    /** What a node of this machine asks for before it changes something; nothing if it has not been started. */
    public static String token(ClusterFile.Node node) {
        Path file = Path.of(node.config()).resolveSibling("data").resolve("http-token");
        return Files.exists(file) ? read(file) : "";
    }

    private static String read(Path file) {
        try {
            return Files.readString(file).strip();
        } catch (IOException failed) {
            throw new Failure("cannot read the token in " + file + ": " + Failure.said(failed), "", failed);
        }
    }
}
