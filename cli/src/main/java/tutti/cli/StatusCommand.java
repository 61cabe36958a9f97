package tutti.cli;

import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import tools.jackson.databind.json.JsonMapper;
import tutti.cluster.ClusterFile;
import tutti.cluster.StatusClient;
import tutti.command.Failure;
import tutti.command.Program;
import tutti.command.Screen;
import tutti.server.http.NodeStatus;

/** Shows how a cluster is: members, positions, lag, protocol, sessions. */
@Command(name = "status", description = "Show members, positions, lag, protocol and sessions of a cluster. Exit status 1"
        + " if it has no majority: it then accepts no writes.")
final class StatusCommand implements Callable<Integer> {
    private static final int MEMBERS_MAX = 256;
    /** A machine that is short of processors answers late. */
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    @Option(names = "--data", paramLabel = "DIR", defaultValue = "data", description = "Directory of a cluster on this machine (default: ${DEFAULT-VALUE}).")
    private Path data;

    @Option(names = "--url", paramLabel = "URL", description = "Admin HTTP of a node, http://host:port; may be repeated. The others are found through it.")
    private List<String> urls = List.of();

    @Option(names = "--json", description = "Print JSON.")
    private boolean json;

    @Spec
    private CommandSpec spec;

    /**
     * What a node answered.
     *
     * @param url where it was asked
     * @param status null if it did not answer
     * @param error why not; null if it did
     */
    record Line(String url, @Nullable NodeStatus status,
            @Nullable String error) {}

    /**
     * The whole answer.
     *
     * @param majority whether a majority of the members can have transactions ordered
     * @param members how many there are
     * @param nodes what each answered
     * @param unasked members of which no configuration says where they can be asked
     */
    record Summary(boolean majority, int members, List<Line> nodes, List<NodeStatus.Member> unasked) {}

    @Override
    public Integer call() {
        Summary summary = ask();
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            out.println(JsonMapper.shared().writerWithDefaultPrettyPrinter().writeValueAsString(summary));
        } else {
            Screen screen = Screen.standard(out);
            Screen.table(rows(summary)).forEach(screen::line);
            secondaries(summary).forEach(screen::line);
            lacking(summary).forEach(screen::line);
            String protocol = summary.nodes().stream().filter(line -> line.status() != null)
                    .map(line -> line.status().protocol() + ", Tutti " + line.status().version() + ", "
                            + line.status().database())
                    .findFirst().orElse("unknown");
            screen.line("protocol " + protocol);
            screen.line(summary.majority()
                    ? screen.good("majority: writes are accepted")
                    : screen.bad("no majority: writes are refused"));
        }
        out.flush();
        return summary.majority() ? Program.OK : Program.FAILURE;
    }

    private Summary ask() {
        Map<String, Line> asked = new LinkedHashMap<>();
        Map<Integer, Line> byNode = new TreeMap<>();
        Map<Integer, NodeStatus.Member> unasked = new TreeMap<>();
        Set<Integer> heard = new HashSet<>();
        int members = 0;
        List<String> toAsk = new ArrayList<>(urls.isEmpty() ? fromDirectory() : urls);
        try (StatusClient client = new StatusClient(PATIENCE)) {
            for (int next = 0; next < toAsk.size() && next < MEMBERS_MAX; next++) {
                String url = toAsk.get(next);
                switch (client.ask(url)) {
                    case StatusClient.Answer.Status(NodeStatus status) -> {
                        byNode.putIfAbsent(status.node(), new Line(url, status, null));
                        members = Math.max(members, status.members().size());
                        for (NodeStatus.Member member : status.members()) {
                            String other = "http://" + member.http();
                            if (member.http() == null) {
                                unasked.put(member.id(), member);
                            }
                            if (member.reachable() && status.majority()) {
                                heard.add(member.id());
                            }
                            if (member.http() != null && member.id() != status.node() && !toAsk.contains(other)) {
                                toAsk.add(other);
                            }
                        }
                    }
                    case StatusClient.Answer.Silence(String why) -> asked.put(url, new Line(url, null, why));
                }
            }
        }
        List<Line> lines = new ArrayList<>(byNode.values());
        lines.addAll(asked.values());
        long able = byNode.values().stream().filter(line -> line.status() != null && line.status().majority()).count();
        unasked.keySet().removeAll(byNode.keySet());
        heard.removeAll(byNode.keySet());
        // Who cannot be asked from here is taken for what nodes that have a majority say: whether they reach it.
        long reached = able + heard.size();
        return new Summary(able > 0 && reached * 2 > members, members, lines, List.copyOf(unasked.values()));
    }

    private List<String> fromDirectory() {
        return ClusterFile.read(data)
                .orElseThrow(() -> new Failure("there is no cluster.json in " + data.toAbsolutePath().normalize(),
                        "name the directory of a cluster with --data, or a node with --url http://host:port"))
                .nodes().stream().map(ClusterFile.Node::httpUrl).toList();
    }

    /** One line for each node that does not keep all tables. */
    private static List<String> lacking(Summary summary) {
        List<String> lines = new ArrayList<>();
        for (Line line : summary.nodes()) {
            NodeStatus status = line.status();
            if (status != null && !status.lacks().isEmpty()) {
                lines.add("tables that " + status.node() + " " + status.name() + " lacks: "
                        + String.join(", ", status.lacks()));
            }
        }
        return lines;
    }

    /** One line for each node that has secondaries, or has lost one. */
    private static List<String> secondaries(Summary summary) {
        List<String> lines = new ArrayList<>();
        for (Line line : summary.nodes()) {
            NodeStatus status = line.status();
            NodeStatus.Secondaries now = status == null ? null : status.secondaries();
            if (now != null && (!now.secondaries().isEmpty() || now.filling() > 0 || now.dropped() > 0)) {
                lines.add("secondaries of " + status.node() + " " + status.name() + ": " + now.inWords()
                        + (now.lastFailure() == null ? "" : "; the last one dropped: " + now.lastFailure()));
            }
        }
        return lines;
    }

    private static List<List<String>> rows(Summary summary) {
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("node", "state", "position", "lag", "sessions", "leader", "PostgreSQL", ""));
        for (Line line : summary.nodes()) {
            NodeStatus status = line.status();
            if (status == null) {
                rows.add(List.of(line.url(), "silent", "-", "-", "-", "", "", String.valueOf(line.error())));
            } else {
                boolean leads = status.leader() != null && status.leader() == status.node();
                rows.add(List.of(status.node() + " " + status.name(), status.state().name().toLowerCase(Locale.ROOT),
                        String.valueOf(status.positions().applied()), String.valueOf(status.positions().lag()),
                        String.valueOf(status.sessions()), leads ? "leads" : "", status.sql(),
                        status.reason() == null ? "" : status.reason()));
            }
        }
        for (NodeStatus.Member member : summary.unasked()) {
            rows.add(List.of(member.id() + " " + member.name(), member.reachable() ? "reached" : "silent", "-", "-",
                    "-", "", "",
                    "no other node's configuration says where to ask it: --url http://host:port does"));
        }
        return rows;
    }
}
