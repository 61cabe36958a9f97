package tutti.engine.postgres.output;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tutti.core.spi.Engine.Applier;
import tutti.core.txn.KeyKind;
import tutti.core.txn.WriteSet;
import tutti.engine.EngineContract.Result;
import tutti.engine.WriteSetService;
import tutti.engine.WriteSetService.Committed;
import tutti.engine.WriteSetService.Reader;
import tutti.engine.postgres.LocalSession;
import tutti.engine.postgres.PostgresEngine;
import tutti.engine.postgres.TestServer;
import tutti.engine.postgres.catalog.TableCatalog;
import tutti.engine.postgres.server.EmbeddedPostgres;
import tutti.engine.postgres.server.Ports;
import tutti.engine.postgres.server.ServerBinaries;
import tutti.engine.postgres.server.ServerConfiguration;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.BackendSettings;
import tutti.pgwire.ProtocolViolation;

/** Write sets that the server tells after the commit, as the contract wants them, and what only it can tell. */
class DecodedWriteSetsTest extends WriteSetServiceContract {
    /** Of a database without capture, what is needed to be told. */
    private static final String[] OWN = {"CREATE SCHEMA tutti",
            "CREATE TABLE tutti.applied (position bigint PRIMARY KEY)"};

    @TempDir
    private Path directory;

    @Override
    Told open(String database) throws Exception {
        DecodedWriteSets service = service(database);
        service.begin();
        LocalSession session = new LocalSession(database);
        session.execute("SET synchronous_commit = on", "COMMIT");
        return new Told() {
            @Override
            public WriteSet commit(String... statements) throws Exception {
                return session.commit(statements);
            }

            @Override
            public LocalSession session() {
                return session;
            }

            @Override
            public WriteSetService service() {
                return service;
            }

            @Override
            public void close() throws IOException, SQLException {
                session.close();
                try {
                    service.end();
                } catch (InterruptedException interrupted) {
                    throw new IOException(interrupted);
                }
            }
        };
    }

    private static DecodedWriteSets service(String database) {
        return new DecodedWriteSets(TestServer.loops(), TestServer.reach(database));
    }

    @Override
    void forget(Told told, Reader reader, long position) throws Exception {
        reader.confirm(position);
        DecodedWriteSets service = (DecodedWriteSets) told.service();
        while (service.state().from() < position) {
            assertFalse(service.state().lost());
        }
    }

    /** As a superuser does whom no trigger sees. */
    private static void behindTheNode(String database, String... statements) throws Exception {
        BackendConnection connection = TestServer.connect(database);
        TestServer.execute(connection,
                "SET session_replication_role = replica; SET event_triggers = off; SET synchronous_commit = on");
        for (String statement : statements) {
            TestServer.execute(connection, statement);
        }
        connection.close();
    }

    @Test
    void tellsWhatWasChangedBehindTheNodeAndThePositionsOfTheRest() throws Exception {
        String database = TestServer.database("CREATE TABLE t (id int PRIMARY KEY)");
        DecodedWriteSets service = service(database);
        try (PostgresEngine engine = PostgresEngine.open(TestServer.loops(), TestServer.reach(database),
                TestServer.settings(0)); Applier applier = engine.openApplier()) {
            service.begin();
            try (Reader reader = service.read(0)) {
                behindTheNode(database, "INSERT INTO t VALUES (1)");
                Committed unknown = next(reader);
                assertEquals(0, unknown.ordered());
                assertEquals(List.of("(1)"), Rows.inserted(unknown.writes()));
                WriteSet more = new WriteSet(unknown.writes().keys(), changes("(2)"));
                Result<Void> applied = new Result<>();
                applier.applyAndCommit(5, List.of(more), 7, applied);
                applied.success();
                Committed ordered = next(reader);
                assertEquals(7, ordered.ordered());
                assertEquals(List.of("(2)"), Rows.inserted(ordered.writes()));
            }
        }
        service.end();
    }

    private static byte[] changes(String row) {
        return new tutti.engine.postgres.capture.Changes.Writer(64).add(
                new tutti.engine.postgres.capture.Changes.Change.Insert(
                        new tutti.engine.postgres.capture.Changes.TableName("public", "t"),
                        row.getBytes(java.nio.charset.StandardCharsets.UTF_8)))
                .toBytes();
    }

    @Test
    void tablesAreToldThatAreMadeLaterAndRowsAsTheirTableWasThen() throws Exception {
        String database = TestServer.database(OWN[0], OWN[1], "CREATE TABLE t (id int PRIMARY KEY, gone text)");
        DecodedWriteSets service = service(database);
        service.begin();
        BackendConnection connection = TestServer.connect(database);
        TestServer.execute(connection, "SET synchronous_commit = on");
        TestServer.execute(connection, "INSERT INTO t VALUES (1, 'then')");
        TestServer.execute(connection, "ALTER TABLE t DROP COLUMN gone");
        TestServer.execute(connection, "CREATE TABLE made (a int, b int)");
        TestServer.execute(connection, "INSERT INTO made VALUES (1, 2)");
        TestServer.execute(connection, "UPDATE made SET b = 3");
        try (Reader reader = service.read(0)) {
            WriteSet then = next(reader).writes();
            assertEquals(List.of("(1,then)"), Rows.inserted(then));
            assertEquals(1, then.keys().size());
            assertEquals(TableCatalog.SCHEMA_KEY, then.keys().hash(0));
            assertEquals(KeyKind.EXCLUSIVE, then.keys().kind(0));
            assertEquals(List.of("(1,2)"), Rows.inserted(next(reader).writes()));
            assertTrue(next(reader).writes().keys().size() > 1);
        }
        connection.close();
        service.end();
    }

    @Test
    void leavesNothingBehindWhenItEnds() throws Exception {
        String database = TestServer.database("CREATE TABLE t (id int PRIMARY KEY, u int NOT NULL UNIQUE)",
                "ALTER TABLE t REPLICA IDENTITY USING INDEX t_u_key", "CREATE TABLE n (x int)");
        TestServer.install(database, 0);
        DecodedWriteSets service = service(database);
        service.begin();
        assertTrue(service.state().on());
        assertEquals(service.state().from(), service.begin());
        assertEquals(List.of("f", "f"), identities(database));
        try (Reader reader = service.read(0)) {
            assertTrue(assertThrows(IOException.class, () -> service.read(0)).getMessage().contains("one reader"));
            service.end();
            assertThrows(IOException.class, () -> {
                while (true) {
                    reader.next(PATIENCE);
                }
            });
        }
        assertFalse(service.state().on());
        assertEquals(List.of("d", "i"), identities(database));
        assertEquals(List.of("0"),
                Rows.of(database, "SELECT (SELECT count(*) FROM pg_publication) + (SELECT count(*) FROM"
                        + " pg_proc WHERE proname IN ('tell_table', 'tell_made', 'untell_table'))"));
        assertTrue(assertThrows(IOException.class, () -> service.read(0)).getMessage().contains("begin"));
        service.end();
    }

    /** Meanwhile another index may have got the name: the server computes what is constant in its expression, as whoever asks whether it can tell rows apart. */
    @Test
    void anIndexOfTheNameOfTheOneThatToldRowsApartIsNotTakenForIt() throws Exception {
        String database = TestServer.database(OWN[0], OWN[1], "CREATE SEQUENCE calls",
                "DO $$ BEGIN CREATE ROLE nested; EXCEPTION WHEN duplicate_object THEN NULL; END $$",
                "GRANT CREATE ON SCHEMA public TO nested", """
                        CREATE FUNCTION fixed(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
                        BEGIN
                            PERFORM CASE WHEN current_user <> 'nested' THEN nextval('public.calls') END;
                            RETURN 1;
                        END $$""",
                "CREATE TABLE t (id int PRIMARY KEY, u int NOT NULL UNIQUE)",
                "ALTER TABLE t REPLICA IDENTITY USING INDEX t_u_key", "ALTER TABLE t OWNER TO nested");
        DecodedWriteSets service = service(database);
        service.begin();
        BackendConnection owner = TestServer.connect(database);
        TestServer.execute(owner, "SET ROLE nested; ALTER TABLE t DROP CONSTRAINT t_u_key");
        TestServer.execute(owner, "CREATE UNIQUE INDEX t_u_key ON t ((u * fixed(1)))");
        owner.close();
        service.end();
        assertEquals(List.of("d"), Rows.of(database, "SELECT relreplident FROM pg_class WHERE oid = 't'::regclass"));
        assertEquals(List.of("f"), Rows.of(database, "SELECT is_called FROM calls"));
    }

    /** The server refuses to change such a table if it is to tell old rows whole: no client may hear of that. */
    @Test
    void tablesAreNotToldWhoseColumnsAreComputedWhenTheyAreRead() throws Exception {
        String database = TestServer.database(OWN[0], OWN[1],
                "CREATE TABLE t (id int, v int GENERATED ALWAYS AS (id + 1) VIRTUAL)", "CREATE TABLE n (x int)");
        DecodedWriteSets service = service(database);
        service.begin();
        assertEquals(List.of("public.t"), service.state().untold());
        BackendConnection connection = TestServer.connect(database);
        for (String statement : List.of("INSERT INTO t VALUES (1)", "UPDATE t SET id = 2", "INSERT INTO n VALUES (1)",
                "ALTER TABLE n ADD y int GENERATED ALWAYS AS (x) VIRTUAL", "UPDATE n SET x = 2", "ALTER TABLE n DROP y",
                "SET synchronous_commit = on", "UPDATE n SET x = 3")) {
            TestServer.execute(connection, statement);
        }
        connection.close();
        try (Reader reader = service.read(0)) {
            assertEquals(List.of("(1)"), Rows.inserted(next(reader).writes()));
            assertTrue(Rows.inserted(next(reader).writes()).isEmpty());
            assertNothing(reader);
        }
        assertEquals(List.of("public.t"), service.state().untold());
        service.end();
    }

    private static List<String> identities(String database) throws Exception {
        return Rows.of(database, "SELECT relreplident FROM pg_class WHERE relname IN ('t', 'n') ORDER BY relname");
    }

    @Test
    @Tag("long")
    void refusesAServerWhoseLogWouldFillTheDiskOrTellsNothing() throws Exception {
        try (EmbeddedPostgres server = server("4MB", "replica")) {
            assertTrue(
                    assertThrows(IOException.class, () -> service(server).begin()).getMessage().contains("wal_level"));
        }
        try (EmbeddedPostgres server = server("-1", "logical")) {
            assertTrue(assertThrows(IOException.class, () -> service(server).begin()).getMessage()
                    .contains("max_slot_wal_keep_size"));
        }
    }

    private EmbeddedPostgres server(String kept, String level) throws Exception {
        return EmbeddedPostgres.start(ServerConfiguration
                .of(ServerBinaries.unpacked(), directory.resolve("data"), Ports.free(), TestServer.USER,
                        TestServer.PASSWORD)
                .with("shared_buffers", "16MB").with("wal_level", level).with("max_slot_wal_keep_size", kept)
                .with("max_wal_size", "64MB").with("min_wal_size", "32MB"));
    }

    private static BackendSettings reach(EmbeddedPostgres server) {
        return BackendSettings.of(new InetSocketAddress(server.host(), server.port()), TestServer.USER, "postgres",
                new BackendSettings.Credentials.Password(TestServer.PASSWORD));
    }

    private static DecodedWriteSets service(EmbeddedPostgres server) {
        return new DecodedWriteSets(TestServer.loops(), reach(server));
    }

    private static void execute(EmbeddedPostgres server, String... statements) throws Exception {
        BackendConnection connection = BackendConnection.connect(TestServer.loops().next(), reach(server)).get();
        for (String statement : statements) {
            TestServer.execute(connection, statement);
        }
        connection.close();
    }

    /** What a crash takes was never told, and what was told and not confirmed is told again, with the same positions. */
    @Test
    @Tag("long")
    void goesOnAfterACrashOfTheServer() throws Exception {
        List<Committed> before = new ArrayList<>();
        EmbeddedPostgres first = server("64MB", "logical");
        execute(first, OWN[0], OWN[1], "CREATE TABLE t (id serial PRIMARY KEY)");
        service(first).begin();
        try (Reader reader = service(first).read(0)) {
            for (int i = 0; i < 200; i++) {
                execute(first, "INSERT INTO t DEFAULT VALUES");
            }
            for (int i = 0; i < 50; i++) {
                before.add(next(reader));
            }
            reader.confirm(before.get(9).position());
            first.kill();
        }
        try (EmbeddedPostgres second = server("64MB", "logical")) {
            execute(second, "SET synchronous_commit = on; CREATE TABLE u (id int); INSERT INTO u VALUES (1)");
            long there = Long
                    .parseLong(String.valueOf(BackendConnection.connect(TestServer.loops().next(), reach(second))
                            .get().execute("SELECT count(*) FROM t", java.time.Duration.ofSeconds(30)).value()));
            assertTrue(there >= 50, () -> there + " rows are there, 50 were told");
            try (Reader reader = service(second).read(before.get(29).position())) {
                for (int i = 30; i < there; i++) {
                    Committed next = next(reader);
                    assertEquals(List.of("(" + (i + 1) + ")"), Rows.inserted(next.writes()));
                    if (i < before.size()) {
                        assertEquals(before.get(i).position(), next.position());
                    }
                }
                assertEquals(List.of("(1)"), Rows.inserted(next(reader).writes()));
            }
        }
    }

    @Test
    @Tag("long")
    void aReaderThatStaysAwayTooLongHearsOfIt() throws Exception {
        try (EmbeddedPostgres server = server("4MB", "logical")) {
            execute(server, OWN[0], OWN[1], "CREATE TABLE t (id int, filling text)");
            DecodedWriteSets service = service(server);
            service.begin();
            for (int i = 0; i < 5; i++) {
                execute(server, "INSERT INTO t SELECT i, repeat(md5(i::text), 200) FROM generate_series(1, 3000) i",
                        "SELECT pg_switch_wal()", "CHECKPOINT");
            }
            assertTrue(service.state().lost());
            assertTrue(assertThrows(IOException.class, () -> service.read(0)).getMessage().contains("begin again"));
            service.end();
            service.begin();
            assertFalse(service.state().lost());
        }
    }

    @Test
    void damagedMessagesAreRefused() {
        byte[] commit = new byte[]{'C', 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3};
        assertEquals(new OutputMessage.Commit(1, 2, 3), OutputMessage.read(Unpooled.wrappedBuffer(commit)));
        IntStream.range(0, commit.length).forEach(length -> assertThrows(ProtocolViolation.class,
                () -> OutputMessage.read(Unpooled.wrappedBuffer(commit, 0, length))));
        assertThrows(ProtocolViolation.class,
                () -> OutputMessage.read(Unpooled.wrappedBuffer(new byte[]{'S', 0, 0, 0, 1, 1})));
        assertThrows(ProtocolViolation.class, () -> OutputMessage
                .read(Unpooled.wrappedBuffer(new byte[]{'I', 0, 0, 0, 1, 'N', 0, 1, 't', 127, 127, 127, 127})));
        assertThrows(ProtocolViolation.class, () -> StreamMessage.read(Unpooled.wrappedBuffer(new byte[]{'k', 0})));
    }

    @Test
    void positionsInTheLogReadAsPostgresWritesThem() {
        assertEquals("1/2A", Lsn.text(0x1_0000_002AL));
        assertEquals(0xFFFF_FFFF_0000_0001L, Lsn.of("FFFFFFFF/1"));
        assertTrue(assertThrows(IllegalArgumentException.class, () -> Lsn.of("12")).getMessage().contains("0/15E4A38"));
    }
}
