package tutti.cli.flight;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import tutti.cli.Failure;
import tutti.cli.Screen;
import tutti.cli.Tutti;
import tutti.cli.cluster.ClusterFile;

/** Has running nodes write flight recordings. */
@Command(name = "flight", description = "Have the running nodes of a cluster write what their flight recorders keep to files,"
        + " which `tutti sim replay` replays. Exit status 1 if a node has written none.")
public final class FlightCommand implements Callable<Integer> {
    private static final Duration PATIENCE = Duration.ofMinutes(1);

    @Option(names = "--data", paramLabel = "DIR", defaultValue = "data", description = "Directory of a cluster on this machine (default: ${DEFAULT-VALUE}).")
    private Path data = Path.of("data");

    @Option(names = "--node", paramLabel = "N", description = "Only the node with this id; may be repeated.")
    private List<Integer> nodes = List.of();

    @Option(names = "--url", paramLabel = "URL", description = "Admin HTTP of a node, http://host:port, instead of a directory; may be repeated.")
    private List<String> urls = List.of();

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws InterruptedException {
        Screen screen = Screen.standard(spec.commandLine().getOut());
        List<List<String>> rows = new ArrayList<>();
        boolean all = true;
        try (HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build()) {
            for (String url : urls.isEmpty() ? fromDirectory() : urls) {
                HttpResponse<String> answer;
                try {
                    answer = http.send(HttpRequest.newBuilder(URI.create(url).resolve("/flight-recording"))
                            .timeout(PATIENCE).POST(HttpRequest.BodyPublishers.noBody()).build(),
                            HttpResponse.BodyHandlers.ofString());
                } catch (IOException silent) {
                    all = false;
                    rows.add(List.of(url, "cannot be reached"
                            + (silent.getMessage() == null ? "" : ": " + silent.getMessage())));
                    continue;
                } catch (IllegalArgumentException wrong) {
                    throw Failure.usage(url + " is no address of a node: " + wrong.getMessage(),
                            "give http://host:port");
                }
                all &= answer.statusCode() == 200;
                rows.add(List.of(url, answer.body().strip()));
            }
        }
        Screen.table(rows).forEach(screen::line);
        return all ? Tutti.OK : Tutti.FAILURE;
    }

    private List<String> fromDirectory() {
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
                .map(ClusterFile.Node::httpUrl).toList();
    }
}
