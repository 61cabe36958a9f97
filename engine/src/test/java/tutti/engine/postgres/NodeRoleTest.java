package tutti.engine.postgres;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tutti.engine.postgres.server.EmbeddedPostgres;
import tutti.engine.postgres.server.Ports;
import tutti.engine.postgres.server.ServerBinaries;
import tutti.engine.postgres.server.ServerConfiguration;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.BackendSettings;

/** A node gets into its server whatever clients have made of roles. */
@Timeout(120)
class NodeRoleTest {
    @TempDir
    private Path directory;
    private ServerConfiguration configuration;
    private EmbeddedPostgres server;
    private BackendSettings configured;
    private final AtomicInteger repairs = new AtomicInteger();

    @BeforeEach
    void start() throws Exception {
        configuration = ServerConfiguration.of(ServerBinaries.unpacked(), directory.resolve("data"), Ports.free(),
                "postgres", "secret");
        server = EmbeddedPostgres.start(configuration);
        configured = BackendSettings.of(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), configuration.port()), "postgres", "shop",
                new BackendSettings.Credentials.Password("secret"));
    }

    @AfterEach
    void stop() throws Exception {
        server.kill();
    }

    private BackendSettings connect() throws Exception {
        return NodeRole.connect(TestServer.loops(), configured, "known to the node", (statements, _) -> {
            repairs.incrementAndGet();
            server.close();
            EmbeddedPostgres.executeAlone(configuration, statements);
            server = EmbeddedPostgres.start(configuration);
        });
    }

    private static void execute(BackendSettings settings, String sql) throws Exception {
        BackendConnection connection = BackendConnection
                .connect(TestServer.loops().next(), OwnSessions.superuser(settings, "test")).get(20, TimeUnit.SECONDS);
        try {
            connection.execute(sql, Duration.ofSeconds(20));
        } finally {
            connection.close();
        }
    }

    @Test
    void whatBecomesOfTheConfiguredRoleDoesNotMatter() throws Exception {
        BackendSettings own = connect();
        assertEquals(NodeRole.NAME, own.user());
        execute(own, "ALTER USER postgres PASSWORD 'x'; ALTER USER postgres NOLOGIN;"
                + "ALTER ROLE tutti_node SET role = 'pg_monitor'; ALTER DATABASE shop SET default_transaction_read_only = on");
        execute(connect(), "CREATE TABLE public.made (id int)");
        assertEquals(0, repairs.get());
    }

    @Tag("long")
    @Test
    void theNodesRoleIsMadeAnew() throws Exception {
        for (String change : new String[]{"PASSWORD 'x'", "NOLOGIN", "NOSUPERUSER", "RENAME TO other",
                "VALID UNTIL 'yesterday'"}) {
            connect();
            execute(configured, "ALTER ROLE tutti_node " + change);
            execute(connect(), "SELECT pg_read_file('PG_VERSION')");
        }
        assertEquals(0, repairs.get());
    }

    @Test
    void whenNobodyIsLetInTheServerIsRepaired() throws Exception {
        connect();
        execute(configured.inDatabase("postgres"), "ALTER ROLE postgres PASSWORD 'x'; ALTER ROLE tutti_node NOLOGIN;"
                + " ALTER DATABASE shop ALLOW_CONNECTIONS false");
        execute(connect(), "SELECT pg_read_file('PG_VERSION')");
        assertEquals(1, repairs.get());
    }

    @Test
    void aServerThatCannotBeRepairedSaysWhatToDo() {
        BackendSettings wrong = configured.as("postgres", new BackendSettings.Credentials.Password("wrong"));
        IOException refused = assertThrows(IOException.class,
                () -> NodeRole.connect(TestServer.loops(), wrong, "known to the node", (_, why) -> {
                    throw why;
                }));
        assertTrue(String.valueOf(refused.getMessage()).contains("postgres.password"), refused.getMessage());
    }
}
