package tutti.cli.torture;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import tutti.check.AcknowledgedCheck;
import tutti.check.CheckResult;
import tutti.check.ReplicaComparison;
import tutti.check.TpccConsistency;
import tutti.check.bank.BankCheck;
import tutti.check.isolation.Isolation;
import tutti.check.listappend.ListAppendCheck;
import tutti.cluster.Cluster;
import tutti.cluster.ClusterFile;
import tutti.core.protocol.Protocols;
import tutti.workload.bank.BankOptions;
import tutti.workload.bank.BankRun;
import tutti.workload.client.ClientOptions;
import tutti.workload.listappend.ListAppendOptions;
import tutti.workload.listappend.ListAppendRun;
import tutti.workload.tpcc.TpccDatabase;
import tutti.workload.tpcc.TpccOptions;
import tutti.workload.tpcc.TpccPopulation;
import tutti.workload.tpcc.TpccResult;
import tutti.workload.tpcc.TpccRun;

/**
 * The clients of one stage of a run: list-append and TPC-C through the PostgreSQL protocol at every node, a bank and the probes through
 * the driver. One thread starts and ends it; numbers may be asked from any.
 */
final class Load {
    private static final ListAppendOptions LISTS = new ListAppendOptions(12, 40, 2, 5, 50, 2);
    private static final Duration THINKING = Duration.ofMillis(50);
    /** A stage is ended by its owner, long before. */
    private static final Duration DURATION = Duration.ofHours(1);

    private final Cluster cluster;
    private final TpccPopulation population;
    private final String protocol;
    private final ListAppendRun lists;
    private final BankRun bank;
    private final TpccRun tpcc;
    private final Probes probes;

    private Load(Cluster cluster, TpccPopulation population, String protocol, int sessions, long seed)
            throws SQLException {
        this.cluster = cluster;
        this.population = population;
        this.protocol = protocol;
        List<String> urls = cluster.nodes().stream().map(ClusterFile.Node::jdbcUrl).toList();
        List<String> driver = driverUrls(cluster);
        tpcc = TpccRun.start(TpccOptions.of(cluster.nodes().stream()
                .map(node -> TpccDatabase.of(node.name(), node.jdbcUrl())).toList(), population, sessions, DURATION,
                seed),
                _ -> {});
        lists = ListAppendRun.start(ClientOptions.of(urls, sessions, DURATION, seed), LISTS);
        lists.clients().think(THINKING);
        bank = BankRun.start(ClientOptions.of(driver, sessions, DURATION, seed + 1), BankOptions.usual());
        bank.clients().think(THINKING);
        probes = Probes.start(driver);
    }

    /** Makes tables anew and starts. All nodes are up. */
    static Load start(Cluster cluster, TpccPopulation population, String protocol, int sessions, long seed)
            throws SQLException {
        String url = cluster.nodes().getFirst().jdbcUrl();
        ListAppendRun.createTables(url, LISTS);
        BankRun.createTables(url, BankOptions.usual());
        try (Connection connection = DriverManager.getConnection(url)) {
            Probes.createTable(connection);
        }
        Settling.await(cluster);
        return new Load(cluster, population, protocol, sessions, seed);
    }

    /** For the driver, each with another node first. */
    private static List<String> driverUrls(Cluster cluster) {
        String url = cluster.jdbcUrl();
        List<String> hosts = cluster.nodes().stream().map(node -> node.host() + ":" + node.postgresPort()).toList();
        String all = String.join(",", hosts);
        return IntStream.range(0, hosts.size()).mapToObj(first -> {
            List<String> turned = new ArrayList<>(hosts.subList(first, hosts.size()));
            turned.addAll(hosts.subList(0, first));
            return url.replace(all, String.join(",", turned));
        }).toList();
    }

    /** Transactions that clients were told of as committed, by all kinds of them. */
    long committed() {
        return lists.clients().committed() + bank.clients().committed() + tpcc.snapshot().committed()
                + probes.acknowledged();
    }

    /** What the longest-waiting client of the driver waited, since this was last asked, in milliseconds. */
    long longestWaitMillis() {
        return probes.longestWaitMillis();
    }

    /** All nodes are up: clients of the driver go to their own again. */
    void goHome() {
        probes.goHome();
    }

    /** Why clients have given up, if some have. */
    private static void noteEarlyEnds(List<CheckResult> results, String who, java.util.Optional<String> failure) {
        results.add(new CheckResult(who + ": clients went on to the end", "", failure
                .map(why -> List.of(CheckResult.Violation.of("clients", who, why))).orElse(List.of()), List.of(), 0));
    }

    /** Stops the clients; waits until they have. */
    Stopped stop() throws InterruptedException {
        lists.clients().stop();
        bank.clients().stop();
        tpcc.stop();
        probes.close();
        List<CheckResult> results = new ArrayList<>();
        noteEarlyEnds(results, "list-append", lists.clients().result().failure());
        noteEarlyEnds(results, "bank", bank.clients().result().failure());
        TpccResult result = tpcc.result();
        noteEarlyEnds(results, "TPC-C", result.failure());
        return new Stopped(result, results);
    }

    /** Clients that have stopped. */
    final class Stopped {
        private final TpccResult result;
        private final List<CheckResult> results;

        private Stopped(TpccResult result, List<CheckResult> results) {
            this.result = result;
            this.results = results;
        }

        /** Checks everything; all nodes are at the same position, and nobody writes. */
        List<CheckResult> check() throws SQLException, InterruptedException {
            List<ClusterFile.Node> nodes = cluster.nodes();
            results.add(new ReplicaComparison(nodes.stream()
                    .map(node -> new ReplicaComparison.Source(node.name(), () -> open(node))).toList()).compare());
            for (ClusterFile.Node node : nodes) {
                lists.lastReads(node.id());
                try (Connection connection = open(node)) {
                    results.add(probes.check(node.name(), connection));
                }
                results.add(BankCheck.state(node.name(), bank.state(node.id()), bank.history()));
            }
            results.add(ListAppendCheck.check(lists.history(), isolation()));
            results.add(BankCheck.reads(bank.history()));
            try (Connection connection = open(nodes.getFirst())) {
                results.add(TpccConsistency.check(nodes.getFirst().name(), connection, population.scale()));
                results.add(AcknowledgedCheck.check(nodes.getFirst().name(), connection, result.ledger()));
            }
            return List.copyOf(results);
        }

        private Connection open(ClusterFile.Node node) throws SQLException {
            return DriverManager.getConnection(cluster.jdbcUrlBeneath(node.id()));
        }

        /** Of reads at any node, which may be a little behind the others. */
        private Isolation isolation() {
            return switch (Protocols.STANDARD.choose(protocol).claims().guarantee()) {
                case SNAPSHOT_ISOLATION, STRONG_SNAPSHOT_ISOLATION -> Isolation.SNAPSHOT_ISOLATION;
                case SERIALIZABILITY -> Isolation.SERIALIZABLE;
            };
        }
    }
}
