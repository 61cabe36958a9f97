package tutti.pgwire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tutti.pgwire.BackendSettings.Credentials;

@Timeout(60)
class BackendConnectionTest {
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static TestServer server;
    private static EventLoopGroup loops;

    @BeforeAll
    static void start() throws Exception {
        server = TestServer.start();
        loops = Transport.eventLoops(1, "backend-test");
    }

    @AfterAll
    static void stop() throws Exception {
        loops.shutdownGracefully(0, 5, TimeUnit.SECONDS).sync();
        server.close();
    }

    private static BackendConnection connect() throws Exception {
        return connect(server.settings());
    }

    private static BackendConnection connect(BackendSettings settings) throws Exception {
        return BackendConnection.connect(loops.next(), settings).get(20, TimeUnit.SECONDS);
    }

    /** Gathers what a batch is answered. */
    private static final class Answers implements ResponseHandler {
        final StringBuilder types = new StringBuilder();
        final List<String> values = new ArrayList<>();
        final CompletableFuture<Byte> end = new CompletableFuture<>();

        @Override
        public void message(byte type, ByteBuf body) {
            types.append((char) type);
            if (type == Backend.DATA_ROW) {
                values.add(String.valueOf(Fields.dataRow(body).getFirst()));
            }
        }

        @Override
        public void ready(byte status) {
            end.complete(status);
        }

        @Override
        public void lost(Throwable cause) {
            end.completeExceptionally(cause);
        }
    }

    @Test
    void simpleQueriesReturnRowsOfText() throws Exception {
        BackendConnection connection = connect();
        QueryResult result = connection.execute("select 1 as a, null as b; create temp table t (x int); select 'ü'",
                PATIENCE);
        assertEquals(3, result.statements().size());
        assertEquals(List.of("a", "b"), result.statements().getFirst().columns());
        assertEquals("CREATE TABLE", result.statements().get(1).tag());
        assertEquals("ü", result.value());
        PostgresException refused = assertThrows(PostgresException.class,
                () -> connection.execute("select 1/0", PATIENCE));
        assertEquals("22012", refused.sqlState());
        assertEquals("UTF8", connection.parameters().get("client_encoding"));
        connection.close();
        connection.closed().get(20, TimeUnit.SECONDS);
        assertThrows(IOException.class, () -> connection.execute("select 1", PATIENCE));
    }

    @Test
    void manyBatchesAreUnderWayAtOnce() throws Exception {
        BackendConnection connection = connect();
        List<Answers> all = new ArrayList<>();
        for (int i = 0; i < 500; i++) {
            ByteBuf batch = connection.buffer();
            Frontend.statement(batch, "select $1::int + 1", String.valueOf(i));
            if (i == 250) {
                Frontend.statement(batch, "select 1/0");
            }
            Frontend.sync(batch);
            Answers answers = new Answers();
            all.add(answers);
            connection.send(batch, answers);
        }
        for (int i = 0; i < 500; i++) {
            assertEquals(Backend.IDLE, all.get(i).end.get(20, TimeUnit.SECONDS));
            assertEquals(i == 250 ? "12DC1E" : "12DC", all.get(i).types.toString());
            assertEquals(List.of(String.valueOf(i + 1)), all.get(i).values);
        }
        connection.close();
    }

    @Test
    void aRunningStatementCanBeCancelled() throws Exception {
        BackendConnection connection = connect();
        BackendConnection observer = connect();
        CompletableFuture<QueryResult> endless = connection.query("select pg_sleep(3600)");
        String running = "select count(*) from pg_stat_activity where state = 'active' and pid = "
                + connection.processId();
        while (!"1".equals(observer.execute(running, PATIENCE).value())) {
            Thread.onSpinWait();
        }
        connection.cancel().get(20, TimeUnit.SECONDS);
        ExecutionException failed = assertThrows(ExecutionException.class, () -> endless.get(20, TimeUnit.SECONDS));
        assertEquals("57014", assertInstanceOf(PostgresException.class, failed.getCause()).sqlState());
        assertEquals("2", connection.execute("select 2", PATIENCE).value());
        connection.close();
        observer.close();
    }

    @Test
    void keysProvedToUsProveTheRoleToTheServer() throws Exception {
        BackendConnection admin = connect();
        admin.execute("create role passing login password 'geheim'", PATIENCE);
        Scram.Verifier verifier = Scram.Verifier.parse(
                admin.execute("select rolpassword from pg_authid where rolname = 'passing'", PATIENCE).value());
        Scram.Server conversation = new Scram.Server(java.util.Objects.requireNonNull(verifier));
        Scram.Client client = Scram.Client.ofPassword(new Scram.Password("geheim"));
        client.verify(conversation.outcome(client.second(conversation.challenge(Scram.MECHANISM, client.first()))));
        BackendConnection passing = connect(
                server.settings().as("passing", new Credentials.ScramKeys(conversation.keys())));
        assertEquals("passing", passing.execute("select current_user", PATIENCE).value());
        passing.close();
        admin.close();
    }

    @Test
    void refusalsAreClear() throws Exception {
        ExecutionException wrong = assertThrows(ExecutionException.class,
                () -> connect(server.settings().as("postgres", new Credentials.Password("wrong"))));
        assertEquals("28P01", assertInstanceOf(PostgresException.class, wrong.getCause()).sqlState());
        assertThrows(ExecutionException.class,
                () -> connect(server.settings().as("postgres", new Credentials.None())));
        ExecutionException nobody = assertThrows(ExecutionException.class, () -> connect(BackendSettings
                .of(new InetSocketAddress(java.net.InetAddress.getLoopbackAddress(), 1), "u", "d",
                        new Credentials.None())));
        assertInstanceOf(IOException.class, nobody.getCause());
    }

    @Test
    void batchesUnderWayAreToldWhenTheConnectionIsLost() throws Exception {
        BackendConnection connection = connect();
        BackendConnection observer = connect();
        CompletableFuture<QueryResult> endless = connection.query("select pg_sleep(3600)");
        observer.execute("select pg_terminate_backend(" + connection.processId() + ")", PATIENCE);
        ExecutionException failed = assertThrows(ExecutionException.class, () -> endless.get(20, TimeUnit.SECONDS));
        assertTrue(String.valueOf(failed.getCause().getMessage()).contains("57P01"), failed.toString());
        observer.close();
    }
}
