package tutti.cli;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import tutti.cluster.Cluster;
import tutti.cluster.ClusterFile;
import tutti.cluster.ClusterSpec;
import tutti.cluster.NodeJvm;
import tutti.command.Failure;
import tutti.command.Screen;
import tutti.core.protocol.Protocols;
import tutti.server.config.NodeConfig;

/** Runs a whole cluster on this machine in the foreground, until it is interrupted. */
@Command(name = "start", description = "Run a cluster on this machine in the foreground, each node a process of its own"
        + " with a database of its own, until interrupted (Ctrl-C). Data and ports are kept in the data"
        + " directory; DIR/cluster.json says where everything is.", footer = {"",
                "Then, for example: psql postgresql://postgres:tutti@127.0.0.1:6432/tutti"})
final class StartCommand implements Callable<Integer> {
    private static final Duration READY_PATIENCE = Duration.ofMinutes(2);
    private static final int RESTARTS_MAX = 10;

    @Option(names = "--nodes", paramLabel = "N", defaultValue = "3", description = "How many nodes, 1 to 15 (default: ${DEFAULT-VALUE}).")
    private int nodes;

    @Option(names = "--data", paramLabel = "DIR", defaultValue = "data", description = "Directory of the cluster (default: ${DEFAULT-VALUE}).")
    private Path data;

    @Option(names = "--base-port", paramLabel = "PORT", defaultValue = "0", description = "First port for PostgreSQL clients; HTTP begins 100 above, the order 200, the servers beneath 300. Without it, the"
            + " ports of the last start, or free ones.")
    private int basePort;

    @Option(names = "--protocol", paramLabel = "NAME", defaultValue = Protocols.DEFAULT, description = "How the copies are kept identical (default: ${DEFAULT-VALUE}).")
    private String protocol;

    @Option(names = "--engine", paramLabel = "NAME", defaultValue = NodeConfig.DEFAULT_ENGINE, description = "What holds the nodes' copies: postgres, a PostgreSQL server for each; or h2, hsqldb, databases in the nodes' own processes (default: ${DEFAULT-VALUE}).")
    private String engine;

    @Mixin
    private OrderOptions order;

    @Option(names = "--secondaries", paramLabel = "N", defaultValue = "0", description = "With h2 or hsqldb: how many copies in memory take a node's read-only transactions (default: ${DEFAULT-VALUE}).")
    private int secondaries;

    @Option(names = "--database", paramLabel = "NAME", defaultValue = "tutti", description = "The database that is replicated (default: ${DEFAULT-VALUE}).")
    private String database;

    @Mixin
    private PasswordOptions password;

    @Option(names = "--restart", description = "Start a node again when it ends on its own, at most "
            + RESTARTS_MAX + " times in all. Without it, that is reported only.")
    private boolean restart;

    @Option(names = "--flight-recorder", description = "Have every node keep the last minutes of its protocol's events, for `tutti flight`.")
    private boolean flightRecorder;

    @Option(names = "--record-workload", description = "Have every node write down what its clients do, for"
            + " `tutti sim run` (docs/evaluation.md).")
    private boolean recordWorkload;

    @Option(names = "--set", paramLabel = "NAME=VALUE", description = "A parameter of the protocol (docs/configuration.md lists them); may be repeated.")
    private Map<String, String> parameters = new LinkedHashMap<>();

    @Spec
    private CommandSpec spec;

    private final AtomicInteger restarts = new AtomicInteger();

    @Override
    public Integer call() throws InterruptedException {
        Screen screen = Screen.standard(spec.commandLine().getOut());
        CountDownLatch allDead = new CountDownLatch(1);
        AtomicReference<@Nullable Cluster> started = new AtomicReference<>();
        Map<String, String> settings = settings();
        ClusterSpec wanted = new ClusterSpec(data, nodes, basePort, protocol, database,
                password.password(System.getenv()), settings, NodeJvm.command(ClusterSpec.inProcess(settings)));
        Cluster cluster = Cluster.start(wanted, (node, exitStatus) -> died(screen, node, exitStatus, started.get(),
                allDead));
        started.set(cluster);
        Runtime.getRuntime().addShutdownHook(Thread.ofPlatform().name("stop").unstarted(cluster::close));
        try (cluster) {
            for (ClusterFile.Node node : cluster.nodes()) {
                cluster.awaitReady(node.id(), READY_PATIENCE);
            }
            Screen.table(rows(cluster.nodes())).forEach(screen::line);
            screen.line("All nodes, for the JDBC driver: " + shown(cluster.jdbcUrl()));
            screen.line("Ready. Data and cluster.json are in " + cluster.directory() + ". Ctrl-C stops the cluster.");
            allDead.await();
        }
        throw new Failure("no node is left", "their logs are in " + cluster.directory());
    }

    /** An address as it is shown: a password that somebody has chosen is in {@code cluster.json} only. */
    private static String shown(String url) {
        return url.contains(":" + PasswordOptions.DEFAULT + "@") || url.endsWith("=" + PasswordOptions.DEFAULT)
                ? url
                : url.replaceFirst("(//[^:/@]+):[^@]*@", "$1@").replaceFirst("&password=[^&]*", "");
    }

    private Map<String, String> settings() {
        Map<String, String> settings = new LinkedHashMap<>(NodeEngine.settings(engine, secondaries));
        settings.putAll(ClusterSpec.protocolParameters(protocol, parameters));
        settings.putAll(order.settings());
        if (flightRecorder) {
            settings.put("flight-recorder", "{enabled: true}");
        }
        if (recordWorkload) {
            settings.put("workload-recording", "{enabled: true}");
        }
        return settings;
    }

    private static List<List<String>> rows(List<ClusterFile.Node> nodes) {
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("node", "PostgreSQL", "HTTP", "process"));
        for (ClusterFile.Node node : nodes) {
            rows.add(List.of(node.name(), shown(node.postgresUrl()), node.httpUrl(), String.valueOf(node.pid())));
        }
        return rows;
    }

    private void died(Screen screen, ClusterFile.Node node, int exitStatus, @Nullable Cluster cluster,
            CountDownLatch allDead) {
        screen.line(screen.bad(node.name() + " ended on its own with exit status " + exitStatus + "; its log: "
                + node.log()));
        if (cluster == null) {
            return;
        }
        if (restart && restarts.incrementAndGet() <= RESTARTS_MAX) {
            screen.line("starting " + node.name() + " again");
            cluster.startNode(node.id());
        } else if (cluster.nodes().stream().noneMatch(other -> cluster.isRunning(other.id()))) {
            allDead.countDown();
        }
    }
}
