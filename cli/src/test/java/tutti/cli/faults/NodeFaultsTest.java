package tutti.cli.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.nio.file.Files;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.cluster.AdminClient;
import tutti.server.http.NodeStatus;

/** Nodes, and the servers beneath them, that die or stand still while all nodes are written to. */
@Tag("long")
class NodeFaultsTest {
    private static final Logger LOG = LoggerFactory.getLogger(NodeFaultsTest.class);

    @TempDir
    private static Path directory;
    private static FaultCluster cluster;

    @BeforeAll
    static void start() throws Exception {
        cluster = FaultCluster.start(directory, 3);
        Ledger.create(cluster);
    }

    @AfterAll
    static void stop() {
        if (cluster != null) {
            cluster.close();
        }
    }

    @Test
    void aNodeWithPostgresqlRefusesToMakeCopiesWithinIt() throws Exception {
        try (AdminClient client = new AdminClient(FaultCluster.PATIENCE)) {
            String url = cluster.node(0).httpUrl();
            assertFalse(client.post(url, "/secondaries?count=1", "").well(), "without a token");
            String token = Files
                    .readString(Path.of(cluster.node(0).config()).resolveSibling("data").resolve("http-token"))
                    .strip();
            for (AdminClient.Answer answer : List.of(client.get(url, "/secondaries"),
                    client.post(url, "/secondaries?count=1", token))) {
                assertFalse(answer.well(), answer.text());
                assertTrue(answer.text().contains("choose an engine that keeps its database in the node's process"),
                        answer.text());
            }
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3})
    void allNodesKilledAtAnyInstantComeBackWithEverythingAcknowledged(long seed) throws Exception {
        try (Ledger ledger = Ledger.run(cluster, 1, seed)) {
            ledger.awaitMore(50 + new Random(seed).nextInt(300));
            cluster.killAll();
            cluster.startAll();
            cluster.ids().forEach(id -> ledger.awaitMore(id, 5));
            ledger.verify();
        }
    }

    @Test
    void oneNodeAfterTheOtherIsKilledAndTheRestGoesOn() throws Exception {
        try (Ledger ledger = Ledger.run(cluster, 1, 4)) {
            for (int round = 0; round < 3; round++) {
                int victim = round == 1 ? (cluster.leader() + 1) % cluster.size() : cluster.leader();
                ledger.awaitMore(100);
                long _ = ledger.longestGapMillis();
                boolean led = cluster.leader() == victim;
                cluster.cluster.kill(victim);
                cluster.ids().filter(id -> id != victim).forEach(id -> ledger.awaitMore(id, 20));
                LOG.info("{} killed: {} ms without a commit", led ? "leader" : "follower", ledger.longestGapMillis());
                cluster.cluster.startNode(victim);
                cluster.awaitReady(victim);
                ledger.awaitMore(victim, 10);
            }
            ledger.verify();
        }
    }

    @Test
    void aServerThatIsKilledLosesItsLastCommitsAndTheyAreMadeAgain() throws Exception {
        try (Ledger ledger = Ledger.run(cluster, 1, 5)) {
            for (int node = 0; node < cluster.size(); node++) {
                ledger.awaitMore(node, 60);
                FaultCluster.signal("KILL", cluster.serverProcess(node));
                ledger.awaitMore((node + 1) % cluster.size(), 20);
                ledger.awaitMore(node, 20);
            }
            ledger.verify();
        }
    }

    @Test
    void aServerOfWhichOneProcessIsKilledDoesNotGoOnWithoutItsLastCommits() throws Exception {
        try (Ledger ledger = Ledger.run(cluster, 1, 6)) {
            for (int node = 0; node < cluster.size(); node++) {
                ledger.awaitMore(node, 60);
                long server = cluster.serverProcess(node);
                FaultCluster.signal("KILL", cluster.beneathValue(node, "SELECT pid FROM pg_stat_activity WHERE"
                        + " application_name LIKE '%JDBC%' AND pid <> pg_backend_pid() LIMIT 1"));
                ledger.awaitMore(node, 20);
                assertNotEquals(server, cluster.serverProcess(node), "the server was started anew, by the node");
            }
            ledger.verify();
        }
    }

    @Test
    void aMinorityRefusesWritesSaysWhyAndAnswersReads() throws Exception {
        int left = (cluster.leader() + 1) % cluster.size();
        try (Ledger ledger = Ledger.run(cluster, 1, 7)) {
            ledger.awaitMore(left, 20);
            try (Connection reader = cluster.connect(left); Statement statement = reader.createStatement()) {
                long[] stopped = cluster.ids().filter(id -> id != left).mapToLong(id -> cluster.node(id).pid())
                        .toArray();
                for (long pid : stopped) {
                    FaultCluster.signal("STOP", pid);
                }
                try {
                    cluster.cluster.await(left, FaultCluster.PATIENCE, "isolated",
                            status -> status.state() == NodeStatus.State.ISOLATED);
                    SQLException refusal = assertThrows(SQLException.class,
                            () -> statement.execute("INSERT INTO transfer VALUES (-1, 0, 1, 0)"));
                    assertEquals("57P03", refusal.getSQLState(), refusal.getMessage());
                    assertTrue(refusal.getMessage().contains("majority"), refusal.getMessage());
                    assertTrue(statement.executeQuery("SELECT count(*) FROM transfer").next());
                } finally {
                    for (long pid : stopped) {
                        FaultCluster.signal("CONT", pid);
                    }
                }
                cluster.awaitReady(left);
                assertEquals(1, statement.executeUpdate("INSERT INTO transfer VALUES (-1, 0, 1, 0)"));
                assertEquals(1, statement.executeUpdate("DELETE FROM transfer WHERE number = -1"));
            }
            cluster.ids().forEach(id -> ledger.awaitMore(id, 5));
            ledger.verify();
        }
    }

    @Test
    void aLeaderThatStoodStillDoesNoHarmWhenItGoesOn() throws Exception {
        try (Ledger ledger = Ledger.run(cluster, 1, 8)) {
            ledger.awaitMore(50);
            int leader = cluster.leader();
            long pid = cluster.node(leader).pid();
            FaultCluster.signal("STOP", pid);
            try {
                cluster.ids().filter(id -> id != leader).forEach(id -> ledger.awaitMore(id, 30));
            } finally {
                FaultCluster.signal("CONT", pid);
            }
            ledger.awaitMore(leader, 10);
            ledger.verify();
        }
    }
}
