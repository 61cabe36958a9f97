package tutti.cli.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.BackendSettings;
import tutti.pgwire.BackendSettings.Credentials;
import tutti.pgwire.Frontend;
import tutti.pgwire.PostgresException;
import tutti.pgwire.QueryCollector;
import tutti.pgwire.QueryResult;
import tutti.pgwire.Transport;

/** Clients that die or misbehave, and server processes of sessions that are ended under them, on a live node. */
@Tag("long")
class ClientFaultsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final String SESSIONS = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'faulty'";

    @TempDir
    private static Path directory;
    private static FaultCluster cluster;
    private static EventLoopGroup loops;
    private static int next;
    private static final List<BackendConnection> CLIENTS = new ArrayList<>();

    @BeforeAll
    static void start() throws Exception {
        cluster = FaultCluster.start(directory, 2);
        loops = Transport.eventLoops(1, "clients");
        try (Connection connection = cluster.connect(0); Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE item (id int PRIMARY KEY, n int NOT NULL)");
            statement.execute("INSERT INTO item VALUES (0, 0)");
        }
    }

    @AfterAll
    static void stop() throws Exception {
        if (cluster != null) {
            cluster.close();
        }
        if (loops != null) {
            loops.shutdownGracefully(0, 1, TimeUnit.SECONDS).await(5, TimeUnit.SECONDS);
        }
    }

    @AfterEach
    void endWhatAFailedTestLeaves() throws Exception {
        CLIENTS.forEach(BackendConnection::abort);
        CLIENTS.clear();
        nodesAreHealthyAndTheSame();
    }

    /** Whatever happened: no session is left, no lock is held, and the nodes are the same. */
    private static void nodesAreHealthyAndTheSame() throws Exception {
        FaultCluster.await("no session is left", () -> {
            try {
                return cluster.beneathValue(0, SESSIONS) == 0;
            } catch (SQLException e) {
                throw new AssertionError(e);
            }
        });
        for (int node = 0; node < cluster.size(); node++) {
            try (Connection connection = cluster.connect(node); Statement statement = connection.createStatement()) {
                statement.execute("SET lock_timeout = '10s'");
                for (int tries = 0; update(statement) == 0; tries++) {
                    assertTrue(tries < 20, "an update is certified in the end");
                }
            }
        }
        cluster.assertSame();
    }

    /** An update that may meet the one of the other node, which is not yet visible here. */
    private static int update(Statement statement) throws SQLException {
        try {
            return statement.executeUpdate("UPDATE item SET n = n + 1 WHERE id = 0");
        } catch (SQLException e) {
            if ("40001".equals(e.getSQLState())) {
                return 0;
            }
            throw e;
        }
    }

    private static BackendConnection client(int node) throws Exception {
        BackendConnection client = BackendConnection.connect(loops.next(), BackendSettings
                .of(new InetSocketAddress(InetAddress.getLoopbackAddress(), cluster.node(node).postgresPort()),
                        "postgres", "tutti", new Credentials.Password("secret"))
                .withParameters(java.util.Map.of("application_name", "faulty"))).get(20, TimeUnit.SECONDS);
        CLIENTS.add(client);
        return client;
    }

    /** In a transaction that has made an item and changed the one that all change. */
    private static BackendConnection clientThatHasWritten(int id) throws Exception {
        for (int tries = 0; tries < 20; tries++) {
            BackendConnection client = client(0);
            try {
                client.execute("BEGIN; UPDATE item SET n = n + 1 WHERE id = 0; INSERT INTO item VALUES (" + id
                        + ", 0)", PATIENCE);
                return client;
            } catch (PostgresException refused) {
                client.abort();
                assertEquals("40001", refused.fields().sqlState(), refused.getMessage());
            }
        }
        throw new AssertionError("an earlier transaction is still in the way");
    }

    private static boolean exists(int node, int id) throws SQLException {
        return cluster.beneathValue(node, "SELECT count(*) FROM item WHERE id = " + id) == 1;
    }

    /** When a client's connection breaks. */
    enum Moment {
        /** In a transaction, with locks, nothing running. */
        BEFORE_COMMIT,
        /** While a statement runs. */
        IN_STATEMENT,
        /** Behind COMMIT. */
        WITH_COMMIT,
        /** With half a message sent. */
        IN_MESSAGE
    }

    @ParameterizedTest
    @EnumSource(Moment.class)
    void aClientThatDiesHasCommittedEverywhereOrNowhere(Moment moment) throws Exception {
        for (int round = 0; round < 5; round++) {
            int id = ++next;
            BackendConnection client = clientThatHasWritten(id);
            ByteBuf last = client.buffer();
            switch (moment) {
                case BEFORE_COMMIT -> last.writeBytes(new byte[0]);
                case IN_STATEMENT -> Frontend.query(last, "SELECT pg_sleep(1000)");
                case WITH_COMMIT -> Frontend.query(last, "COMMIT");
                case IN_MESSAGE -> last.writeByte('Q').writeInt(1000).writeBytes(new byte[100]);
            }
            boolean reset = round % 2 == 0 && moment != Moment.WITH_COMMIT;
            if (reset) {
                client.channel().config().setOption(ChannelOption.SO_LINGER, 0);
            }
            client.channel().writeAndFlush(last);
            if (moment == Moment.IN_STATEMENT && round > 0) {
                long process = client.processId();
                FaultCluster.await("the statement runs", () -> running(process));
            }
            client.abort();
        }
        nodesAreHealthyAndTheSame();
        for (int id = next - 4; id <= next; id++) {
            assertEquals(exists(0, id), exists(1, id));
            assertTrue(moment == Moment.WITH_COMMIT || !exists(0, id), "committed without having been asked to");
        }
    }

    private static boolean running(long process) {
        try {
            return cluster.beneathValue(0, "SELECT count(*) FROM pg_stat_activity WHERE pid = " + process
                    + " AND query LIKE '%pg_sleep%' AND state = 'active'") == 1;
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void aServerProcessThatIsEndedTakesItsTransactionWithItAndItsClientIsTold() throws Exception {
        for (boolean open : new boolean[]{false, true}) {
            int id = ++next;
            BackendConnection client = client(0);
            if (open) {
                client.execute("BEGIN; INSERT INTO item VALUES (" + id + ", 0)", PATIENCE);
            }
            terminate(client.processId());
            client.closed().get(20, TimeUnit.SECONDS);
            IOException told = assertThrows(IOException.class, () -> client.execute("SELECT 1", PATIENCE));
            assertTrue(String.valueOf(told.getCause()).contains("57P01"), String.valueOf(told.getCause()));
            assertTrue(!exists(0, id));
        }
    }

    private static void terminate(int process) throws SQLException {
        cluster.beneathValue(0, "SELECT count(pg_terminate_backend(" + process + "))");
    }

    @Test
    void aServerProcessThatIsEndedWhileItCommitsLeavesTheTransactionEverywhereOrNowhere() throws Exception {
        endsServerProcesses(10, 300_000);
    }

    @Tag("long")
    @Test
    void aServerProcessThatIsEndedAtAnyTimeOfItsCommitLeavesTheTransactionEverywhereOrNowhere() throws Exception {
        endsServerProcesses(60, 50_000);
    }

    private static void endsServerProcesses(int rounds, long stepNanos) throws Exception {
        List<Integer> acknowledged = new ArrayList<>();
        int first = next + 1;
        for (int round = 0; round < rounds; round++) {
            int id = ++next;
            BackendConnection client = clientThatHasWritten(id);
            CompletableFuture<?> committed = client.query("COMMIT");
            long until = System.nanoTime() + round * stepNanos;
            while (System.nanoTime() < until) {
                Thread.onSpinWait();
            }
            terminate(client.processId());
            boolean worked = committed.handle((_, failure) -> failure == null).get(20, TimeUnit.SECONDS);
            if (worked) {
                acknowledged.add(id);
            }
            client.abort();
        }
        nodesAreHealthyAndTheSame();
        for (int id = first; id <= next; id++) {
            assertEquals(exists(0, id), exists(1, id));
            assertTrue(exists(0, id) || !acknowledged.contains(id), "acknowledged and lost: " + id);
        }
    }

    @Test
    void halfOpenConnectionsAreNoBurdenAndEndWithTheirClient() throws Exception {
        List<Socket> silent = new ArrayList<>();
        List<BackendConnection> started = new ArrayList<>();
        try {
            for (int i = 0; i < 30; i++) {
                silent.add(socket());
            }
            for (int i = 0; i < 10; i++) {
                started.add(client(0));
            }
            try (Connection other = cluster.connect(0); Statement statement = other.createStatement()) {
                assertTrue(statement.executeQuery("SELECT 1").next());
            }
        } finally {
            for (Socket socket : silent) {
                socket.close();
            }
            started.forEach(BackendConnection::abort);
        }
    }

    private static Socket socket() throws IOException {
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), cluster.node(0).postgresPort());
        socket.setSoTimeout((int) PATIENCE.toMillis());
        return socket;
    }

    @Test
    void aClientThatStopsReadingAHugeResultIsHeldBackAndCanBePushedAside() throws Exception {
        BackendConnection client = clientThatHasWritten(++next);
        client.channel().config().setAutoRead(false);
        CompletableFuture<?> unread = client.query("SELECT repeat('x', 1000) FROM generate_series(1, 1000000)");
        long process = client.processId();
        FaultCluster.await("the server waits for its client", () -> {
            try {
                return cluster.beneathValue(0, "SELECT count(*) FROM pg_stat_activity WHERE pid = " + process
                        + " AND wait_event = 'ClientWrite'") == 1;
            } catch (SQLException e) {
                throw new AssertionError(e);
            }
        });
        assertTrue(cluster.cluster.status(0).orElseThrow().heapUsedBytes() < 400L << 20);
        // The other node's transaction was ordered first; the one that is stuck has to give way.
        try (Connection other = cluster.connect(1); Statement statement = other.createStatement()) {
            assertEquals(1, statement.executeUpdate("UPDATE item SET n = n + 1 WHERE id = 0"));
        }
        long target = cluster.cluster.status(1).orElseThrow().positions().applied();
        cluster.cluster.await(0, PATIENCE, "past the stuck client", now -> now.positions().applied() >= target);
        client.abort();
        assertThrows(ExecutionException.class, () -> unread.get(20, TimeUnit.SECONDS));
    }

    @Test
    void malformedMessagesEndTheirConnectionWithAnErrorAndNothingElse() throws Exception {
        byte[] huge = {0x7f, (byte) 0xff, (byte) 0xff, (byte) 0xff, 0, 3, 0, 0};
        byte[] small = {0, 0, 0, 1};
        byte[] http = "GET / HTTP/1.1\r\nHost: here\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
        byte[] version = {0, 0, 0, 9, 0, 99, 0, 0, 0};
        for (byte[] packet : List.of(huge, small, http, version)) {
            try (Socket socket = socket()) {
                socket.getOutputStream().write(packet);
                byte[] answer = socket.getInputStream().readAllBytes();
                assertTrue(answer.length == 0 || answer[0] == 'E', () -> new String(answer, StandardCharsets.UTF_8));
            }
        }
        byte[][] messages = {{'Q', 0, 0, 0, 1}, {'Q', 0x7f, 0, 0, 0}, {(byte) 0xff, 0, 0, 0, 4},
                {'Q', 0, 0, 0, 6, 'x', 'y'}};
        for (byte[] message : messages) {
            BackendConnection client = client(0);
            client.channel().writeAndFlush(client.buffer().writeBytes(message));
            client.closed().get(20, TimeUnit.SECONDS);
        }
    }

    @Test
    void aMessageWithoutSenseIsAnErrorThatTheSessionSurvives() throws Exception {
        BackendConnection client = client(0);
        ByteBuf batch = client.buffer();
        Frontend.parse(batch, "", "SELECT 1");
        batch.writeBytes(new byte[]{'B', 0, 0, 0, 8, 0, 0, 127, 127});
        Frontend.sync(batch);
        CompletableFuture<QueryResult> answer = new CompletableFuture<>();
        client.send(batch, new QueryCollector(answer));
        ExecutionException refused = assertThrows(ExecutionException.class, () -> answer.get(20, TimeUnit.SECONDS));
        assertTrue(String.valueOf(refused.getCause()).contains("08P01"), String.valueOf(refused.getCause()));
        assertEquals("1", client.execute("SELECT 1", PATIENCE).value());
        client.close();
    }
}
