package tutti.engine.postgres;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tutti.core.spi.Engine.Applier;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.txn.KeySet;
import tutti.core.txn.WriteSet;
import tutti.engine.EngineContract.Result;
import tutti.engine.EngineContract;
import tutti.engine.postgres.capture.CaptureInstaller;
import tutti.engine.postgres.capture.Changes.Change;
import tutti.engine.postgres.capture.Changes.TableName;
import tutti.engine.postgres.capture.Changes;
import tutti.engine.postgres.capture.Statement;
import tutti.engine.postgres.server.EmbeddedPostgres;
import tutti.engine.postgres.server.Ports;
import tutti.engine.postgres.server.ServerBinaries;
import tutti.engine.postgres.server.ServerConfiguration;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.BackendSettings;

/** What clients do to roles, settings and sessions does not reach the engine's own sessions; a crash of the server does. */
@Tag("long")
@Timeout(120)
class OwnSessionsTest {
    private static final CaptureInstaller.Settings CAPTURE = new CaptureInstaller.Settings(0, 16, "s", 1 << 20);
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    @TempDir
    private Path directory;
    private EmbeddedPostgres server;
    private BackendSettings reach;
    private PostgresEngine engine;
    private Applier applier;
    private long position;

    @BeforeEach
    void start() throws Exception {
        ServerConfiguration configuration = ServerConfiguration.of(ServerBinaries.unpacked(), directory.resolve("data"),
                Ports.free(), "postgres", "secret").with("restart_after_crash", "on");
        server = EmbeddedPostgres.start(configuration);
        reach = BackendSettings.of(new InetSocketAddress(InetAddress.getLoopbackAddress(), configuration.port()),
                "postgres", "postgres", new BackendSettings.Credentials.Password("secret"));
        execute("CREATE TABLE t (id int PRIMARY KEY)");
        open();
    }

    private void open() throws Exception {
        engine = PostgresEngine.open(TestServer.loops(), reach, CAPTURE);
        applier = engine.openApplier();
    }

    @AfterEach
    void stop() throws Exception {
        applier.close();
        engine.close();
        server.kill();
    }

    private String execute(String sql) throws Exception {
        BackendConnection connection = BackendConnection.connect(TestServer.loops().next(), reach).get(20,
                TimeUnit.SECONDS);
        try {
            return String.valueOf(connection.execute(sql, PATIENCE).value());
        } finally {
            connection.close();
        }
    }

    private void apply() throws Exception {
        byte[] row = ("(" + ++position + ")").getBytes(StandardCharsets.US_ASCII);
        Result<Void> applied = new Result<>();
        applier.apply(position, List.of(new WriteSet(KeySet.EMPTY,
                new Changes.Writer(64).add(new Change.Insert(new TableName("public", "t"), row)).toBytes())), applied);
        applied.success();
        Result<Void> committed = new Result<>();
        applier.commit(position, committed);
        committed.success();
        assertEquals(position, EngineContract.position(engine));
    }

    @Test
    void sessionsThatAreEndedAreReplaced() throws Exception {
        AtomicBoolean lost = new AtomicBoolean();
        engine.onLost(() -> lost.set(true));
        for (int i = 0; i < 3; i++) {
            apply();
            execute("SELECT count(pg_terminate_backend(pid, 20000)) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
                    + " AND application_name LIKE 'tutti%'");
            engine.refreshCatalog().get(20, TimeUnit.SECONDS);
            engine.confirm().get(20, TimeUnit.SECONDS);
            assertEquals(position, EngineContract.position(engine));
        }
        assertFalse(lost.get());
    }

    @Test
    void aCrashThatTheServerSurvivesIsNoticed() throws Exception {
        apply();
        CountDownLatch lost = new CountDownLatch(1);
        engine.onLost(lost::countDown);
        BackendConnection victim = BackendConnection.connect(TestServer.loops().next(), reach).get(20,
                TimeUnit.SECONDS);
        assertTrue(ProcessHandle.of(victim.processId()).orElseThrow().destroyForcibly());
        assertTrue(lost.await(30, TimeUnit.SECONDS));
    }

    @Test
    void settingsRolesAndForeignTablesDoNotMatter() throws Exception {
        apply();
        String far = "CREATE FOREIGN DATA WRAPPER far; CREATE SERVER far FOREIGN DATA WRAPPER far;"
                + "SELECT tutti.allow_statement('" + engine.secret()
                + "', NULL); CREATE FOREIGN TABLE far (id int) SERVER far;";
        StringBuilder all = new StringBuilder("CREATE ROLE tutti SUPERUSER;");
        for (String whose : List.of("ROLE postgres", "DATABASE postgres", "ROLE ALL",
                "ROLE " + engine.functions().name(CaptureInstaller.Role.APPLIER) + " IN DATABASE postgres")) {
            for (String setting : List.of("default_transaction_read_only = on",
                    "default_transaction_isolation = 'serializable'", "search_path = nowhere", "statement_timeout = 1",
                    "lock_timeout = 1", "array_nulls = off", "standard_conforming_strings = off",
                    "transform_null_equals = on", "client_encoding = 'LATIN1'", "datestyle = 'SQL, DMY'",
                    "bytea_output = 'escape'", "role = 'pg_monitor'", "session_preload_libraries = 'nowhere'",
                    "row_security = off", "idle_session_timeout = 1")) {
                all.append("ALTER ").append(whose).append(" SET ").append(setting).append(';');
            }
        }
        BackendConnection admin = BackendConnection.connect(TestServer.loops().next(), reach).get(20, TimeUnit.SECONDS);
        TestServer.execute(admin, "SELECT set_config('session_preload_libraries', 'tutti adopting', false)");
        TestServer.execute(admin, far);
        TestServer.execute(admin, all.toString());
        admin.close();
        Applier again = engine.openApplier();
        applier.close();
        applier = again;
        Result<ExecuteResult> executed = new Result<>();
        applier.execute(++position, new Statement("SELECT 1", "postgres", Map.of()).toBytes(), executed);
        assertTrue(executed.success().tookEffect());
        applier.close();
        engine.close();
        open();
        apply();
    }

    @Test
    void theRolesThatApplyAreMadeAnewWhenTheyAreChanged() throws Exception {
        String name = engine.functions().name(CaptureInstaller.Role.APPLIER);
        for (String change : List.of("ALTER ROLE " + name + " NOLOGIN", "ALTER ROLE " + name + " PASSWORD 'x'",
                "ALTER ROLE " + name + " RENAME TO other", "ALTER ROLE " + name + " VALID UNTIL 'yesterday'")) {
            execute(change);
            applier.close();
            applier = engine.openApplier();
            apply();
        }
    }
}
