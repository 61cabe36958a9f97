package tutti.engine.postgres;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.channel.EventLoopGroup;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
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
import tutti.engine.postgres.capture.Statement.DatabaseChange;
import tutti.engine.postgres.databases.DatabaseTag;
import tutti.engine.postgres.databases.ServerEngine;
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
    private static final int DATABASES = 3;
    @TempDir
    private Path directory;

    private ServerConfiguration configuration() throws Exception {
        return ServerConfiguration.of(ServerBinaries.unpacked(), directory.resolve("data"), Ports.free(), "postgres",
                "secret");
    }

    private static BackendSettings reach(ServerConfiguration configuration) {
        return BackendSettings.of(
                new InetSocketAddress(java.net.InetAddress.getLoopbackAddress(), configuration.port()), "postgres",
                "postgres", new BackendSettings.Credentials.Password("secret"));
    }

    @Test
    void positionAndContentsAgreeAfterACrash() throws Exception {
        ServerConfiguration configuration = configuration();
        EventLoopGroup loops = TestServer.loops();
        BackendSettings reach = reach(configuration);
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

    /** What {@link ServerEngine} relies on: whatever database has the highest position that is left, no position before it is missing in another. */
    @Test
    void databasesOfAServerLoseOneSuffixTogether() throws Exception {
        ServerConfiguration configuration = configuration();
        EventLoopGroup loops = TestServer.loops();
        BackendSettings reach = reach(configuration);
        EmbeddedPostgres server = EmbeddedPostgres.start(configuration);
        ServerEngine engine = serverEngine(loops, reach);
        Applier applier = engine.openApplier();
        for (int made = 1; made < DATABASES; made++) {
            execute(applier, made, Statement.database(new DatabaseChange(DatabaseChange.Kind.CREATE, "d" + made, false,
                    "CREATE DATABASE d" + made + " TEMPLATE template0"), "postgres").toBytes());
        }
        byte[] table = new Statement("CREATE TABLE t (id int PRIMARY KEY)", "postgres", Map.of("search_path", "public"))
                .toBytes();
        for (int database = 0; database < DATABASES; database++) {
            execute(applier, DATABASES + database, DatabaseTag.tag(database, table));
        }
        Result<Long> flushed = new Result<>();
        engine.durablePosition(flushed);
        assertEquals(2 * DATABASES - 1, flushed.success(), "the tables are there to stay");
        for (int position = 2 * DATABASES; position <= POSITIONS; position++) {
            Result<Void> committed = new Result<>();
            applier.applyAndCommit(position, List.of(DatabaseTag.tag(position % DATABASES, insert(position))), position,
                    committed);
            committed.success();
        }
        server.kill();
        engine.close();
        try (EmbeddedPostgres again = EmbeddedPostgres.start(configuration)) {
            assertTrue(again.isAlive());
            ServerEngine recovered = serverEngine(loops, reach);
            long applied = EngineContract.position(recovered);
            recovered.close();
            TreeSet<Long> found = new TreeSet<>();
            for (int database = 0; database < DATABASES; database++) {
                BackendConnection client = BackendConnection.connect(loops.next(), of(reach, database)).get(20,
                        TimeUnit.SECONDS);
                client.execute("SELECT id FROM t", Duration.ofSeconds(10)).rows()
                        .forEach(row -> found.add(Long.parseLong(String.valueOf(row.getFirst()))));
                client.close();
            }
            assertEquals(LongStream.rangeClosed(2 * DATABASES, applied).boxed().toList(), List.copyOf(found));
        }
    }

    private static void execute(Applier applier, long position, byte[] statement) throws Exception {
        Result<ExecuteResult> result = new Result<>();
        applier.execute(position, statement, result);
        assertTrue(result.success().tookEffect());
    }

    private static BackendSettings of(BackendSettings reach, int database) {
        return database == 0 ? reach : reach.inDatabase("d" + database);
    }

    private static ServerEngine serverEngine(EventLoopGroup loops, BackendSettings reach) throws Exception {
        CaptureInstaller.Settings capture = new CaptureInstaller.Settings(0, 16, "s", 1 << 20);
        return new ServerEngine(loops, reach, PostgresEngine.open(loops, reach, capture),
                (settings, beside) -> PostgresEngine.open(loops, settings, capture, beside));
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
