package tutti.cli.faults;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.check.CheckResult;
import tutti.check.bank.BankCheck;
import tutti.check.isolation.Isolation;
import tutti.check.listappend.ListAppendCheck;
import tutti.core.protocol.Protocols;
import tutti.workload.bank.BankOptions;
import tutti.workload.bank.BankRun;
import tutti.workload.client.ClientOptions;
import tutti.workload.listappend.ListAppendOptions;
import tutti.workload.listappend.ListAppendRun;

/**
 * Every protocol on real nodes: clients at all of them append to lists and transfer money while one node is killed, and
 * what they saw must have the isolation that the protocol claims.
 */
@Tag("long")
class ProtocolClusterTest {
    private static final Logger LOG = LoggerFactory.getLogger(ProtocolClusterTest.class);
    private static final ListAppendOptions LISTS = new ListAppendOptions(12, 40, 2, 5, 50, 2);
    private static final int SESSIONS = 6;
    /** Of lists and of transfers, in each part of a run. */
    private static final int MORE = 40;
    private static final String READ_ONLY = "25006";
    private static final Duration THINKING = Duration.ofMillis(50);
    private static final Duration LONG_ENOUGH = Duration.ofMinutes(2);

    @TempDir
    private Path directory;

    /** A protocol, on so many nodes, with these parameters. */
    record Choice(String protocol, int nodes, Map<String, String> parameters) {
        @Override
        public String toString() {
            return protocol + (parameters.isEmpty() ? "" : " " + parameters);
        }
    }

    static Stream<Choice> protocols() {
        return Stream.concat(
                Stream.of("si", "dbsm", "postgres-r", "passive", "nodo", "akara", "2pc", "hybrid")
                        .map(protocol -> new Choice(protocol, 3, Map.of())),
                Stream.of(new Choice("wice", 4, Map.of("clusters", "braga:0,1,2;lisbon:3"))));
    }

    @ParameterizedTest
    @MethodSource("protocols")
    @Timeout(150)
    void clientsSeeWhatTheProtocolPromisesThoughANodeIsKilled(Choice choice) throws Exception {
        String protocol = choice.protocol();
        try (FaultCluster cluster = FaultCluster
                .start(FaultCluster.spec(directory, choice.nodes(), protocol, choice.parameters()))) {
            List<String> urls = cluster.ids().mapToObj(id -> cluster.node(id).jdbcUrl()).toList();
            createTables(urls);
            cluster.assertSame();
            ListAppendRun lists = ListAppendRun.start(ClientOptions.of(urls, SESSIONS, LONG_ENOUGH, 5), LISTS);
            BankRun bank = BankRun.start(ClientOptions.of(urls, SESSIONS, LONG_ENOUGH, 6), BankOptions.usual());
            awaitMore(lists, bank, MORE);
            cluster.cluster.kill(0);
            awaitMore(lists, bank, MORE);
            // all processors belong to the clients otherwise, and the node would be long about its start
            lists.clients().think(THINKING);
            bank.clients().think(THINKING);
            cluster.cluster.startNode(0);
            cluster.awaitReady();
            lists.clients().think(Duration.ZERO);
            bank.clients().think(Duration.ZERO);
            awaitMore(lists, bank, MORE);
            lists.clients().stop();
            bank.clients().stop();
            String said = choice + ": lists " + lists.clients().result().text() + "; bank "
                    + bank.clients().result().text();
            LOG.info("{}", said);
            assertTrue(lists.clients().result().failure().isEmpty() && bank.clients().result().failure().isEmpty(),
                    said);
            cluster.assertSame();
            assertTrue(lists.lastReads(1));
            passed(ListAppendCheck.check(lists.history(), isolation(protocol)));
            passed(BankCheck.reads(bank.history()));
            for (int node = 0; node < cluster.size(); node++) {
                passed(BankCheck.state(cluster.node(node).name(), bank.state(node), bank.history()));
            }
        }
    }

    /** At a node that takes writes: under some protocols it is one of them only, and not always the first. */
    private static void createTables(List<String> urls) throws SQLException {
        for (String url : urls) {
            try {
                ListAppendRun.createTables(url, LISTS);
                BankRun.createTables(url, BankOptions.usual());
                return;
            } catch (SQLException refused) {
                if (!READ_ONLY.equals(refused.getSQLState()) || url.equals(urls.getLast())) {
                    throw refused;
                }
            }
        }
    }

    /** Of reads at any node, which may be a little behind the others. */
    private static Isolation isolation(String protocol) {
        return switch (Protocols.STANDARD.choose(protocol).claims().guarantee()) {
            case SNAPSHOT_ISOLATION, STRONG_SNAPSHOT_ISOLATION -> Isolation.SNAPSHOT_ISOLATION;
            case SERIALIZABILITY -> Isolation.SERIALIZABLE;
        };
    }

    private static void awaitMore(ListAppendRun lists, BankRun bank, int more) {
        long listsBefore = lists.clients().committed();
        long bankBefore = bank.clients().committed();
        FaultCluster.await(more + " more of both", () -> lists.clients().committed() >= listsBefore + more
                && bank.clients().committed() >= bankBefore + more);
    }

    private static void passed(CheckResult result) {
        assertTrue(result.passed(), result::text);
    }
}
