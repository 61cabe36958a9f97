package tutti.engine.postgres;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.channel.EventLoopGroup;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tutti.core.spi.Engine.Applier;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.txn.KeySet;
import tutti.core.txn.WriteSet;
import tutti.engine.EngineContract;
import tutti.engine.EngineContract.Result;
import tutti.engine.postgres.capture.CaptureInstaller;
import tutti.engine.postgres.capture.SequenceName;
import tutti.engine.postgres.capture.Statement;
import tutti.engine.postgres.capture.Changes;
import tutti.engine.postgres.capture.Changes.Change;
import tutti.engine.postgres.capture.Changes.TableName;
import tutti.engine.postgres.server.EmbeddedPostgres;
import tutti.engine.postgres.server.Ports;
import tutti.engine.postgres.server.ServerBinaries;
import tutti.engine.postgres.server.ServerConfiguration;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.BackendSettings;

/** A crash of PostgreSQL loses a suffix of the positions, each together with its effects. */
class PostgresCrashTest {
    private static final int POSITIONS = 100;
    @TempDir
    private Path directory;

    @Test
    void positionAndContentsAgreeAfterACrash() throws Exception {
        ServerConfiguration configuration = ServerConfiguration.of(ServerBinaries.unpacked(), directory.resolve("data"),
                Ports.free(), "postgres", "secret");
        EventLoopGroup loops = TestServer.loops();
        BackendSettings reach = BackendSettings.of(
                new InetSocketAddress(java.net.InetAddress.getLoopbackAddress(), configuration.port()), "postgres",
                "postgres", new BackendSettings.Credentials.Password("secret"));
        CaptureInstaller.Settings capture = new CaptureInstaller.Settings(0, 16, "s", 1 << 20);
        EmbeddedPostgres server = EmbeddedPostgres.start(configuration);
        BackendConnection admin = BackendConnection.connect(loops.next(), reach).get(20, TimeUnit.SECONDS);
        admin.execute("CREATE TABLE t (id int PRIMARY KEY); CREATE SEQUENCE s", Duration.ofSeconds(10));
        PostgresEngine engine = PostgresEngine.open(loops, reach, capture);
        CountDownLatch lost = new CountDownLatch(1);
        engine.onLost(lost::countDown);
        Applier applier = engine.openApplier();
        long durable = 0;
        for (int position = 1; position <= POSITIONS; position++) {
            commit(applier, position);
            if (position == POSITIONS / 2) {
                Result<Long> flushed = new Result<>();
                engine.durablePosition(flushed);
                durable = flushed.success();
            }
        }
        assertEquals(POSITIONS / 2, durable);
        long given = Long
                .parseLong(String.valueOf(admin.execute("SELECT max(nextval('s')) FROM generate_series(1, 1000)",
                        Duration.ofSeconds(10)).value()));
        admin.close();
        server.kill();
        assertTrue(lost.await(20, TimeUnit.SECONDS), "the engine says that its server is gone");
        Result<Void> failed = new Result<>();
        applier.apply(POSITIONS + 1, List.of(insert(POSITIONS + 1)), failed);
        assertTrue(failed.failure().transientFailure());
        engine.close();
        try (EmbeddedPostgres again = EmbeddedPostgres.start(configuration)) {
            assertTrue(again.isAlive());
            PostgresEngine recovered = PostgresEngine.open(loops, reach, capture);
            long applied = EngineContract.position(recovered);
            assertTrue(applied >= durable && applied <= POSITIONS, "recovered to " + applied);
            BackendConnection client = BackendConnection.connect(loops.next(), reach).get(20, TimeUnit.SECONDS);
            assertEquals(applied + "," + applied,
                    client.execute("SELECT concat(count(*), ',', max(id)) FROM t", Duration.ofSeconds(10)).value());
            Applier next = recovered.openApplier();
            commit(next, applied + 1);
            assertEquals(applied + 1, EngineContract.position(recovered));
            Result<ExecuteResult> granted = new Result<>();
            next.execute(applied + 2,
                    Statement.grant(List.of(new SequenceName("public", "s", 1)), recovered.functions().life())
                            .toBytes(),
                    granted);
            assertTrue(granted.success().tookEffect());
            long further = Long.parseLong(
                    String.valueOf(client.execute("SELECT nextval('s')", Duration.ofSeconds(10)).value()));
            assertTrue(further > given, further + " after " + given);
            client.close();
            next.close();
            recovered.close();
        }
    }

    private static WriteSet insert(long position) {
        byte[] row = ("(" + position + ")").getBytes(java.nio.charset.StandardCharsets.US_ASCII);
        return new WriteSet(KeySet.EMPTY,
                new Changes.Writer(64).add(new Change.Insert(new TableName("public", "t"), row)).toBytes());
    }

    private static void commit(Applier applier, long position) throws Exception {
        Result<Void> applied = new Result<>();
        applier.apply(position, List.of(insert(position)), applied);
        applied.success();
        Result<Void> committed = new Result<>();
        applier.commit(position, committed);
        committed.success();
    }
}
