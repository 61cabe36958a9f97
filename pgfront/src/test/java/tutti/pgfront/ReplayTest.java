package tutti.pgfront;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoopGroup;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.postgresql.PGConnection;
import tutti.node.metrics.NodeMetrics;
import tutti.pgwire.Backend;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.BackendSettings;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.Frontend;
import tutti.pgwire.ResponseHandler;
import tutti.pgwire.Transport;

/** A transaction that has lost is run again by its node, as long as its client cannot tell. */
@Timeout(300)
class ReplayTest {
    @TempDir
    private Path directory;

    private JdbcNodes nodes;

    private Connection[] connect(EngineKind kind, int count, String... options) throws Exception {
        nodes = new JdbcNodes(kind, directory, count);
        Connection first = nodes.connect(0);
        run(first, "CREATE TABLE item (id int PRIMARY KEY, amount int, note varchar(20))");
        run(first, "INSERT INTO item VALUES (1, 10, 'one'), (2, 20, 'two')");
        Connection second = DriverManager.getConnection(
                nodes.url(count - 1) + (options.length == 0 ? "" : "?" + String.join("&", options)), "tutti", "tutti");
        value(second, "SELECT tutti_wait()");
        second.setAutoCommit(false);
        return new Connection[]{first, second};
    }

    @AfterEach
    void stop() {
        nodes.close();
    }

    private static void run(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private static String value(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet row = statement.executeQuery(sql)) {
            assertTrue(row.next());
            return row.getString(1);
        }
    }

    private static String amounts(Connection connection) throws SQLException {
        value(connection, "SELECT tutti_wait()");
        return value(connection, "SELECT amount FROM item WHERE id = 1") + " "
                + value(connection, "SELECT amount FROM item WHERE id = 2");
    }

    private static String failure(org.junit.jupiter.api.function.Executable action) {
        return assertThrows(SQLException.class, action).getSQLState();
    }

    @ParameterizedTest
    @CsvSource({"H2, extended", "HSQLDB, simple"})
    void aBlockIsRunAgainWhoseClientHasSeenNothingThatHasChanged(EngineKind kind, String mode) throws Exception {
        Connection[] both = connect(kind, 1, "preferQueryMode=" + mode, "prepareThreshold=3");
        for (int round = 1; round <= 7; round++) {
            assertEquals("20", value(both[1], "SELECT amount FROM item WHERE id = 2"));
            assertEquals("one", value(both[1], "SELECT note FROM item WHERE id = 1"));
            run(both[0], "UPDATE item SET amount = amount + 1 WHERE id = 1");
            try (PreparedStatement update = both[1]
                    .prepareStatement("UPDATE item SET amount = amount + ? WHERE id = ?")) {
                update.setInt(1, 100);
                update.setInt(2, 1);
                assertEquals(1, update.executeUpdate());
            }
            both[1].commit();
            assertEquals(10 + 101 * round + " 20", amounts(both[0]));
        }
    }

    @ParameterizedTest
    @EnumSource
    void aBlockWhoseClientHasSeenWhatHasChangedFails(EngineKind kind) throws Exception {
        Connection[] both = connect(kind, 1);
        for (int round = 1; round <= 3; round++) {
            value(both[1], "SELECT amount FROM item WHERE id = 1");
            run(both[1], "UPDATE item SET amount = amount + 1 WHERE id = 2");
            run(both[0], "UPDATE item SET amount = amount + 1 WHERE id = 1");
            assertEquals("40001", failure(() -> run(both[1], "UPDATE item SET amount = 0 WHERE id = 1")));
            assertEquals("25P02", failure(() -> run(both[1], "UPDATE item SET amount = 0 WHERE id = 2")));
            both[1].rollback();
            assertEquals(10 + round + " 20", amounts(both[0]));
        }
        run(both[1], "UPDATE item SET amount = 5 WHERE id = 1");
        both[1].commit();
        assertEquals("5 20", amounts(both[0]));
    }

    @ParameterizedTest
    @CsvSource({"H2, extended, true", "H2, simple, false", "HSQLDB, extended, false"})
    void whatWasSeenInVainIsBookedByWhoeverIsAboutToLookAtItNext(EngineKind kind, String mode, boolean looksFirst)
            throws Exception {
        Connection[] both = connect(kind, 2, "preferQueryMode=" + mode, "options=-c%20tutti.report=on");
        nodes.holdBookings();
        String look = "SELECT amount FROM item WHERE id = 1";
        value(both[1], "SELECT note FROM item WHERE id = 2");
        value(both[1], look);
        run(both[0], "UPDATE item SET amount = amount + 1 WHERE id = 1");
        assertEquals("40001", failure(() -> {
            run(both[1], "UPDATE item SET amount = 0 WHERE id = 1");
            both[1].commit();
        }));
        both[1].rollback();
        if (!looksFirst) {
            value(both[1], "SELECT note FROM item WHERE id = 2");
        }
        String name = both[1].unwrap(PGConnection.class).getParameterStatus("tutti.transaction");
        CompletableFuture<String> seen = CompletableFuture.supplyAsync(() -> {
            try {
                return value(both[1], look);
            } catch (SQLException failed) {
                throw new IllegalStateException(failed);
            }
        });
        CompletableFuture<Void> comes = nodes.booked();
        // Nothing is held meanwhile, and what others do is seen.
        run(both[0], "UPDATE item SET amount = amount + 1 WHERE id = 1");
        try (Connection there = nodes.connect(1)) {
            value(there, "SELECT tutti_wait()");
        }
        comes.complete(null);
        assertEquals("12", seen.get(20, TimeUnit.SECONDS));
        run(both[1], "UPDATE item SET amount = amount + 100 WHERE id = 1");
        both[1].commit();
        assertEquals("committed", value(both[0], "SELECT tutti_outcome('" + name + "')"));
        assertEquals("112 20", amounts(both[0]));
        assertEquals("112", value(both[0], look), "by itself it shows what there is");
    }

    @ParameterizedTest
    @EnumSource
    void aCommitThatHasLostToAnotherNodeIsRunAgainUnderItsNameUnlessSomebodyHasAskedForIt(EngineKind kind)
            throws Exception {
        Connection[] both = connect(kind, 2, "options=-c%20tutti.report=on");
        for (int round = 1; round <= 3; round++) {
            run(both[1], "UPDATE item SET amount = amount + 100 WHERE id = 1");
            String name = both[1].unwrap(PGConnection.class).getParameterStatus("tutti.transaction");
            run(both[0], "UPDATE item SET amount = amount + 1 WHERE id = 1");
            run(both[1], "UPDATE item SET amount = amount + 1 WHERE id = 2");
            both[1].commit();
            assertEquals("committed", value(both[0], "SELECT tutti_outcome('" + name + "')"));
            assertEquals(10 + 101 * round + " " + (20 + round), amounts(both[0]));
        }
        String asked = both[1].unwrap(PGConnection.class).getParameterStatus("tutti.transaction");
        run(both[1], "UPDATE item SET amount = 0 WHERE id = 1");
        assertEquals("aborted", value(both[0], "SELECT tutti_outcome('" + asked + "')"));
        assertEquals("40001", failure(both[1]::commit), "it stays aborted");
        both[1].rollback();
        assertEquals("313 23", amounts(both[0]));
    }

    /** What a client hears, by the types of messages, errors with their SQLSTATE. */
    private static final class Heard implements ResponseHandler {
        private final StringBuilder types = new StringBuilder();
        private final CompletableFuture<String> end = new CompletableFuture<>();
        private final CompletableFuture<Void> row = new CompletableFuture<>();

        @Override
        public void message(byte type, ByteBuf body) {
            types.append((char) type);
            if (type == Backend.ERROR_RESPONSE) {
                types.append('(').append(ErrorFields.read(body).sqlState()).append(')');
            } else if (type == Backend.DATA_ROW) {
                row.complete(null);
            }
        }

        @Override
        public void ready(byte status) {
            end.complete(types.append('/').append((char) status).toString());
        }

        @Override
        public void lost(Throwable cause) {
            end.completeExceptionally(cause);
        }
    }

    /** A row is seen, another client changes that row, and it is changed in the same cycle of messages. */
    private String inOneCycle(Connection other, BackendConnection client, String seen) throws Exception {
        ByteBuf first = client.buffer();
        Frontend.statement(first, "SELECT " + seen + " FROM item WHERE id = 1");
        Frontend.flush(first);
        Heard heard = new Heard();
        client.send(first, heard);
        heard.row.get(20, TimeUnit.SECONDS);
        run(other, "UPDATE item SET amount = amount + 1 WHERE id = 1");
        ByteBuf second = client.buffer();
        Frontend.statement(second, "UPDATE item SET amount = amount + 100 WHERE id = 1");
        Frontend.statement(second, "SELECT amount FROM item WHERE id = 1");
        Frontend.sync(second);
        client.channel().writeAndFlush(second);
        return heard.end.get(20, TimeUnit.SECONDS);
    }

    private static String said(BackendConnection client, java.util.function.Consumer<ByteBuf> messages)
            throws Exception {
        ByteBuf out = client.buffer();
        messages.accept(out);
        Frontend.sync(out);
        Heard heard = new Heard();
        client.send(out, heard);
        return heard.end.get(20, TimeUnit.SECONDS);
    }

    @ParameterizedTest
    @EnumSource
    void aCycleIsRunAgainOrFailsInTheMiddle(EngineKind kind) throws Exception {
        Connection[] both = connect(kind, 1);
        EventLoopGroup loops = Transport.eventLoops(1, "test-client");
        BackendConnection client = BackendConnection.connect(loops.next(), BackendSettings.of(
                new InetSocketAddress(InetAddress.getLoopbackAddress(),
                        URI.create(nodes.url(0).substring(5)).getPort()),
                "tutti", "tutti", new BackendSettings.Credentials.Password("tutti"))).get(20, TimeUnit.SECONDS);
        assertEquals("12DC12C12DC/I", inOneCycle(both[0], client, "note"));
        assertEquals("111 20", amounts(both[0]));
        assertEquals("12DCE(40001)/I", inOneCycle(both[0], client, "amount"));
        assertEquals("112 20", amounts(both[0]));
        client.execute("BEGIN", Duration.ofSeconds(20));
        assertEquals("12DCE(40001)/E", inOneCycle(both[0], client, "amount"));
        client.execute("ROLLBACK", Duration.ofSeconds(20));
        client.execute("BEGIN", Duration.ofSeconds(20));
        assertEquals("12DC12C12DC/T", inOneCycle(both[0], client, "note"));
        client.execute("COMMIT", Duration.ofSeconds(20));
        assertEquals("214 20", amounts(both[0]));

        // A statement that cannot be prepared again is still the client's, as it has been told.
        run(both[0], "CREATE TABLE other (id int PRIMARY KEY)");
        client.execute("BEGIN", Duration.ofSeconds(20));
        assertEquals("12DC1/T", said(client, out -> {
            Frontend.statement(out, "SELECT note FROM item WHERE id = 1");
            Frontend.parse(out, "named", "SELECT count(*) FROM other");
        }));
        run(both[0], "DROP TABLE other");
        run(both[0], "UPDATE item SET amount = amount + 1 WHERE id = 1");
        assertEquals("E(40001)/E", said(client, out -> Frontend.statement(out,
                "UPDATE item SET amount = amount + 100 WHERE id = 1")).replace("12", ""));
        client.execute("ROLLBACK", Duration.ofSeconds(20));
        run(both[0], "CREATE TABLE other (id int PRIMARY KEY)");
        assertEquals("2DC/I", said(client, out -> {
            Frontend.bind(out, "", "named");
            Frontend.execute(out, "", 0);
        }));

        // A simple query, too, is skipped behind an error.
        assertEquals("E(42601)/I", said(client, out -> {
            Frontend.parse(out, "", "nonsense");
            Frontend.query(out, "INSERT INTO other VALUES (1)");
        }));
        assertEquals("0", value(both[0], "SELECT count(*) FROM other"));
        client.close();
        loops.shutdownGracefully(0, 1, TimeUnit.SECONDS).awaitUninterruptibly();
    }

    /** HSQLDB refuses at once what H2 would wait for. */
    @Test
    void whoHasLostARowToAnOpenTransactionWaitsForItsEnd() throws Exception {
        Connection[] both = connect(EngineKind.HSQLDB, 1);
        both[0].setAutoCommit(false);
        run(both[0], "UPDATE item SET amount = 0 WHERE id = 1");
        assertEquals("20", value(both[1], "SELECT amount FROM item WHERE id = 2"));
        CompletableFuture<Void> update = CompletableFuture.runAsync(() -> {
            try {
                run(both[1], "UPDATE item SET amount = amount + 5 WHERE id = 1");
            } catch (SQLException failed) {
                throw new IllegalStateException(failed);
            }
        });
        while (nodes.repeated() == 0) {
            Thread.onSpinWait();
        }
        both[0].commit();
        update.get(20, TimeUnit.SECONDS);
        both[1].commit();
        both[0].setAutoCommit(true);
        assertEquals("5 20", amounts(both[0]));
        // It waits for a short time at first.
        assertTrue(nodes.repeated() <= 2, () -> nodes.repeated() + " times");
        NodeMetrics.Loss loss = nodes.losses.take();
        assertTrue(loss.repeated() && loss.statement().contains("amount + 5"), loss::toString);
    }

    @Test
    void theNodeIsToldOfStatementsThatTakeLong() throws Exception {
        Connection[] both = connect(EngineKind.H2, 1);
        run(both[0], "CREATE TABLE many (id int PRIMARY KEY)");
        run(both[0], "INSERT INTO many VALUES " + IntStream.range(0, 2500).mapToObj(id -> "(" + id + ")")
                .collect(Collectors.joining(", ")));
        String slow = "SELECT count(*) FROM many a, many b WHERE a.id + b.id > 5";
        value(both[0], slow);
        String told = nodes.slow.take();
        while (!told.equals(slow)) {
            told = nodes.slow.take();
        }
    }

    @Test
    void whoWaitsToBeRunAgainMayCancel() throws Exception {
        Connection[] both = connect(EngineKind.HSQLDB, 1);
        both[0].setAutoCommit(false);
        run(both[0], "UPDATE item SET amount = 0 WHERE id = 1");
        assertEquals("20", value(both[1], "SELECT amount FROM item WHERE id = 2"));
        try (Statement update = both[1].createStatement()) {
            CompletableFuture<String> failed = CompletableFuture.supplyAsync(
                    () -> failure(() -> update.execute("UPDATE item SET amount = amount + 5 WHERE id = 1")));
            while (nodes.repeated() == 0) {
                Thread.onSpinWait();
            }
            update.cancel();
            assertEquals("57014", failed.get(20, TimeUnit.SECONDS));
        }
        both[1].rollback();
        both[0].commit();
        both[0].setAutoCommit(true);
        assertEquals("0 20", amounts(both[0]));
        assertEquals(1, nodes.repeated());
    }

    /** HSQLDB refuses at once what H2 would wait for. */
    @Test
    void aScriptOfWhichSomethingHasCommittedIsNotRunAgain() throws Exception {
        Connection[] both = connect(EngineKind.HSQLDB, 1, "preferQueryMode=simple");
        both[1].setAutoCommit(true);
        both[0].setAutoCommit(false);
        run(both[0], "UPDATE item SET amount = 0 WHERE id = 1");
        assertEquals("40001",
                failure(() -> run(both[1], "BEGIN; UPDATE item SET amount = amount + 1 WHERE id = 2; COMMIT;"
                        + " BEGIN; SELECT note FROM item WHERE id = 2; UPDATE item SET amount = 5 WHERE id = 1; COMMIT")));
        run(both[1], "ROLLBACK");
        both[0].rollback();
        both[0].setAutoCommit(true);
        assertEquals("10 21", amounts(both[0]));
    }
}
