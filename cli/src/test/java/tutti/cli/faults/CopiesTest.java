package tutti.cli.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import picocli.CommandLine;
import tutti.cli.Tutti;
import tutti.command.Program;
import tutti.command.Trees;
import tutti.server.http.NodeStatus;

/** Nodes of a cluster that is written to begin anew with copies that others give them. */
@Tag("long")
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class CopiesTest {
    private static final Logger LOG = LoggerFactory.getLogger(CopiesTest.class);

    /** More of them for a measurement. */
    private static final int ROWS = Integer.getInteger("tutti.copies.rows", 20_000);

    @TempDir
    private static Path directory;
    private static FaultCluster cluster;

    @BeforeAll
    static void start() throws Exception {
        cluster = FaultCluster.start(directory, 3);
        Ledger.create(cluster);
        cluster.execute(0, "CREATE TABLE beat (id int PRIMARY KEY, n int)", "INSERT INTO beat VALUES (0, 0), (1, 0)");
        cluster.execute(0, "CREATE TABLE counted (id bigserial PRIMARY KEY, node int)",
                "CREATE TABLE filler AS SELECT i, repeat(md5(i::text), 20) AS words FROM generate_series(1, " + ROWS
                        + ") i");
    }

    @AfterAll
    static void stop() {
        if (cluster != null) {
            cluster.close();
        }
    }

    private static Path data(int node) {
        return Path.of(cluster.node(node).config()).resolveSibling("data");
    }

    /** A client at one node that commits again and again, and notes how long that takes at most. */
    private static final class Commits implements AutoCloseable {
        private final AtomicBoolean over = new AtomicBoolean();
        private final AtomicLong longestNanos = new AtomicLong();
        Commits(int node) {
            var _ = Thread.ofPlatform().daemon().start(() -> commit(node));
        }

        private void commit(int node) {
            try (Connection connection = cluster.connect(node); Statement statement = connection.createStatement()) {
                while (!over.get()) {
                    long begun = System.nanoTime();
                    statement.execute("UPDATE beat SET n = n + 1 WHERE id = " + node);
                    longestNanos.accumulateAndGet(System.nanoTime() - begun, Math::max);
                }
            } catch (SQLException failed) {
                LOG.warn("the client at node {}", node, failed);
                longestNanos.set(Long.MAX_VALUE);
            }
        }

        long longestMillis() {
            return TimeUnit.NANOSECONDS.toMillis(longestNanos.getAndSet(0));
        }

        @Override
        public void close() {
            over.set(true);
        }
    }

    /** Also that the node's sequences give none of the values that it gave before. */
    @Test
    @Order(1)
    void aNodeThatHasLostEverythingGetsItFromAnotherWhileClientsGoOn() throws Exception {
        cluster.execute(2, "INSERT INTO counted (node) SELECT 2 FROM generate_series(1, 30000)");
        try (Ledger ledger = Ledger.run(cluster, 1, 1)) {
            ledger.awaitMore(50);
            cluster.cluster.kill(2);
            Trees.delete(data(2));
            ledger.awaitMore(0, 20);
            try (Commits atZero = new Commits(0); Commits atOne = new Commits(1)) {
                cluster.cluster.startNode(2);
                FaultCluster.await("a copy is asked for", () -> Files.exists(data(2).resolve("incoming/wanted")));
                long _ = atZero.longestMillis() + atOne.longestMillis();
                FaultCluster.await("it is there", () -> !Files.exists(data(2).resolve("incoming/wanted")));
                LOG.info("while the copy was made, a commit took {} and {} ms at most", atZero.longestMillis(),
                        atOne.longestMillis());
                cluster.awaitReady(2);
            }
            ledger.awaitMore(2, 20);
            ledger.verify();
        }
        cluster.execute(2, "INSERT INTO counted (node) SELECT 2 FROM generate_series(1, 100)");
        cluster.assertSame();
    }

    @Test
    @Order(2)
    void aNodeIsGivenACopyByCommand() throws Exception {
        try (Ledger ledger = Ledger.run(cluster, 1, 2)) {
            cluster.cluster.kill(1);
            ledger.awaitMore(0, 20);
            StringWriter out = new StringWriter();
            CommandLine command = new CommandLine(new Tutti()).setOut(new PrintWriter(out));
            assertEquals(Program.OK, command.execute("node", "--config", cluster.node(1).config(), "--copy-from",
                    cluster.node(0).name()), out::toString);
            assertTrue(out.toString().contains("holds a copy now"), out::toString);
            cluster.cluster.startNode(1);
            cluster.awaitReady(1);
            ledger.awaitMore(1, 20);
            ledger.verify();
        }
        cluster.assertSame();
    }

    /** Whatever is killed while a copy is made, at whatever moment: in the end there is a whole one. */
    @Test
    @Order(3)
    void whoeverDiesWhileACopyIsMadeComesBack() throws Exception {
        try (Ledger ledger = Ledger.run(cluster, 1, 3)) {
            for (int round = 0; round < 3; round++) {
                cluster.cluster.kill(2);
                Trees.delete(data(2));
                cluster.cluster.startNode(2);
                FaultCluster.await("a copy has begun", () -> Files.exists(data(2).resolve("incoming/files/order")));
                int victim = round == 0 ? 2 : round - 1;
                cluster.cluster.kill(victim);
                cluster.cluster.startNode(victim);
                cluster.awaitReady();
                ledger.awaitMore(2, 10);
            }
            ledger.verify();
        }
        cluster.assertSame();
    }

    @Test
    @Order(4)
    void aNodeThatIsExcludedBeginsAnewWhileTheOthersGoOn() throws Exception {
        cluster.execute(0,
                "CREATE FUNCTION here() RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN current_setting('port')::int = "
                        + cluster.beneathValue(0, "SELECT current_setting('port')::int") + "; END $$",
                "CREATE TABLE signed (id int PRIMARY KEY, CHECK (here()))", "INSERT INTO signed VALUES (1)");
        FaultCluster.await("the node is as the others", () -> {
            try (Connection connection = cluster.connect(0);
                    Statement statement = connection.createStatement();
                    ResultSet rows = statement.executeQuery("SELECT count(*) FROM signed")) {
                rows.next();
                return rows.getLong(1) == 0 && cluster.cluster.status(0)
                        .filter(status -> status.state() == NodeStatus.State.READY).isPresent();
            } catch (SQLException notYet) {
                return false;
            }
        });
        cluster.assertSame();
    }
}
