package tutti.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static tutti.wire.Conversation.extended;
import static tutti.wire.Conversation.simple;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.util.InsecureTrustManagerFactory;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tutti.core.spi.EngineFailure;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.BackendSettings;
import tutti.pgwire.BackendSettings.Credentials;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.Frontend;
import tutti.pgwire.PostgresException;

/** How connections begin, and what becomes of those that should not. */
@Timeout(60)
class ConnectingTest {
    private static FrontEndFixture fixture;

    @BeforeAll
    static void start() throws Exception {
        Path directory = Files.createTempDirectory("certificate");
        Process openssl = new ProcessBuilder("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1", "-subj", "/CN=localhost", "-keyout",
                directory.resolve("key.pem").toString(), "-out", directory.resolve("certificate.pem").toString())
                .redirectErrorStream(true).redirectOutput(directory.resolve("log").toFile()).start();
        assertEquals(0, openssl.waitFor(), Files.readString(directory.resolve("log")));
        fixture = new FrontEndFixture(FrontEndSettings
                .of(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                        BackendSettings.of(new InetSocketAddress(InetAddress.getLoopbackAddress(), 1), "", "",
                                new Credentials.None()))
                .withTls(SslContextBuilder.forServer(directory.resolve("certificate.pem").toFile(),
                        directory.resolve("key.pem").toFile()).applicationProtocolConfig(DirectTls.protocol()).build(),
                        false)
                .withLimits(Places.of(4), Duration.ofSeconds(5), 1 << 16));
    }

    @AfterAll
    static void stop() throws Exception {
        fixture.close();
    }

    private static BackendConnection connect(BackendSettings settings) throws Exception {
        return BackendConnection.connect(fixture.loops.next(), settings).get(20, TimeUnit.SECONDS);
    }

    private static ErrorFields refusal(BackendSettings settings) {
        ExecutionException failed = assertThrows(ExecutionException.class, () -> connect(settings));
        return assertInstanceOf(PostgresException.class, failed.getCause()).fields();
    }

    @Test
    void wrongPasswordAndUnknownRoleLookTheSame() {
        ErrorFields wrong = refusal(fixture.settings("alice", "wrong"));
        ErrorFields unknown = refusal(fixture.settings("nobody", "wrong"));
        assertEquals("28P01", wrong.sqlState());
        assertEquals("password authentication failed for user \"alice\"", wrong.message());
        assertEquals("password authentication failed for user \"nobody\"", unknown.message());
        assertEquals("FATAL", unknown.severity());
    }

    @Test
    void otherDatabasesAndReplicationAreRefused() throws Exception {
        BackendSettings settings = fixture.settings("alice", "wonderland");
        ErrorFields other = refusal(settings.inDatabase("another"));
        assertEquals("3D000", other.sqlState());
        assertEquals("database \"another\" does not exist", other.message());
        assertTrue(String.valueOf(other.get('D')).contains("\"postgres\""), other.toString());
        assertEquals("0A000", refusal(settings.withParameters(Map.of("replication", "database"))).sqlState());
        assertEquals("22023", refusal(settings.withParameters(Map.of("replication", "perhaps"))).sqlState());
        connect(settings.withParameters(Map.of("replication", "No"))).close();
        assertEquals("database \"alice\" does not exist", refusal(settings.inDatabase("")).message(),
                "as if it named none");
        assertEquals("0A000", refusal(settings.withParameters(Map.of("client_encoding", "SJIS"))).sqlState());
    }

    @Test
    void aDatabaseThatAnotherNodeHasJustMadeIsWaitedFor() throws Exception {
        AtomicReference<PostgresFrontEnd.@Nullable OtherDatabase> made = new AtomicReference<>();
        fixture.admin.execute("CREATE DATABASE shop", FrontEndFixture.PATIENCE);
        try (PostgresFrontEnd frontEnd = new PostgresFrontEnd(FrontEndSettings
                .of(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), fixture.server.settings()),
                fixture.node, fixture.capture, (_, _) -> () -> {}, fixture.loops)) {
            frontEnd.others(new PostgresFrontEnd.OtherDatabases() {
                @Override
                public PostgresFrontEnd.@Nullable OtherDatabase of(String name) {
                    return name.equals("shop") ? made.get() : null;
                }

                @Override
                public @Nullable String refusal(boolean creates, boolean ofSystem) {
                    return null;
                }
            });
            BackendSettings shop = BackendSettings.of(frontEnd.start(), fixture.server.settings().user(), "shop",
                    fixture.server.settings().credentials());
            assertEquals("3D000", refusal(shop).sqlState());
            fixture.node.awaitRefusal = new EngineFailure("57P03", "there is no majority", true);
            assertEquals("57P03", refusal(shop).sqlState(), "it cannot know");
            fixture.node.awaitRefusal = null;
            fixture.node.awaited = () -> made.set(new PostgresFrontEnd.OtherDatabase() {
                @Override
                public long id() {
                    return 7;
                }

                @Override
                public Capture capture() {
                    return fixture.capture;
                }

                @Override
                public PostgresFrontEnd.SessionRegistry registry() {
                    return (_, _) -> () -> {};
                }
            });
            BackendConnection client = connect(shop);
            assertEquals("shop",
                    client.execute("select current_database()", FrontEndFixture.PATIENCE).value());
            client.close();
            client.closed().get(20, TimeUnit.SECONDS);
        } finally {
            fixture.node.awaited = () -> {};
            fixture.node.awaitRefusal = null;
        }
    }

    @Test
    void databasesThatEveryServerHasCanBeReadAndNotChanged() throws Exception {
        BackendConnection client = connect(fixture.settings("alice", "wonderland").inDatabase("template1"));
        assertEquals("template1", client.execute("select current_database()", FrontEndFixture.PATIENCE).value());
        assertEquals("TDC(SELECT 1)/I", simple(client, "select has_database_privilege('postgres', 'connect')"));
        assertEquals("C(BEGIN)TDC(SELECT 1)C(COMMIT)/I", simple(client, "begin; select 1; commit"));
        assertEquals("12C(BEGIN)12DC(SELECT 1)12C(ROLLBACK)/I", extended(client, "begin", "select 1", "rollback"));
        for (String change : new String[]{"create table t (a int)", "create database another",
                "insert into t values (1)",
                "create temp table t (a int)", "select 1 into t", "select 1 for update", "vacuum", "notify x",
                "do 'begin end'",
                "alter role alice password 'x'", "set transaction_read_only = off", "begin read write",
                "start transaction isolation level repeatable read, read write",
                "set \"default_transaction_read_only\" = off",
                "select set_config('transaction_read_only', 'off', false)", "prepare transaction 'x'",
                "set session characteristics as transaction read write", "with x as (delete from t) select 1",
                "copy t from stdin", "explain analyze delete from t", "grant alice to postgres"}) {
            assertEquals("E(0A000)/I", simple(client, change), change);
        }
        for (String change : new String[]{"create table t (a int)", "vacuum", "begin read write",
                "set transaction_read_only = off", "create temp table t (a int)"}) {
            assertEquals("12E(0A000)/I", extended(client, change), change);
        }
        PostgresException refused = assertThrows(PostgresException.class,
                () -> client.execute("create table t (a int)", FrontEndFixture.PATIENCE));
        assertTrue(refused.fields().message().contains("one that CREATE DATABASE has made"), refused.toString());
        assertEquals("TDC(SHOW)/I", simple(client, "show transaction_read_only"));
        assertEquals("on", client.execute("show transaction_read_only", FrontEndFixture.PATIENCE).value());
        client.close();
    }

    @Test
    void keysOfCancelRequestsAreLongWhereTheProtocolHasThem() throws Exception {
        BackendSettings settings = fixture.settings("alice", "wonderland");
        BackendConnection old = connect(settings);
        assertEquals(4, old.secretKey().length);
        old.close();
        // of a version that is not known the newest one that is known is spoken
        for (int protocol : new int[]{Frontend.PROTOCOL_3_2, Frontend.PROTOCOL_3_2 + 7}) {
            BackendConnection client = connect(settings.withProtocol(protocol));
            assertEquals(32, client.secretKey().length);
            CompletableFuture<String> answer = Conversation.send(client,
                    out -> Frontend.query(out, "select pg_sleep(3600)"));
            fixture.awaitSleeping();
            client.cancel().get(20, TimeUnit.SECONDS);
            assertEquals("TE(57014)/I", Conversation.get(answer));
            client.close();
        }
    }

    @Test
    void serializableIsRefusedUnderSnapshotIsolation() {
        BackendSettings settings = fixture.settings("alice", "wonderland");
        Map.of("default_transaction_isolation", "Serializable", "options",
                "-c default_transaction_isolation=serializable").forEach((name, value) -> {
                    ErrorFields refused = refusal(settings.withParameters(Map.of(name, value)));
                    assertEquals("0A000", refused.sqlState());
                    assertTrue(refused.message().contains("REPEATABLE READ"), refused.message());
                });
    }

    @Test
    void sessionsAreTheRolesOwnAndRepeatableRead() throws Exception {
        BackendConnection client = connect(fixture.settings("alice", "wonderland"));
        Duration patience = FrontEndFixture.PATIENCE;
        assertEquals("alice", client.execute("select session_user", patience).value());
        assertEquals("repeatable read", client.execute("show transaction_isolation", patience).value());
        assertThrows(PostgresException.class, () -> client.execute("select * from pg_authid", patience));
        client.close();
        client.closed().get(20, TimeUnit.SECONDS);
    }

    @Test
    void whoEndsTheNodesSessionsKeepsNobodyOut() throws Exception {
        connect(fixture.settings("alice", "wonderland")).close();
        fixture.admin.execute("select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()"
                + " and query like '%rolpassword%' and state = 'idle'", FrontEndFixture.PATIENCE);
        connect(fixture.settings("alice", "wonderland")).close();
    }

    @Test
    void tlsIsSpokenWhenAskedFor() throws Exception {
        BackendSettings plain = fixture.settings("alice", "wonderland");
        BackendConnection client = connect(
                plain.withTls(SslContextBuilder.forClient().trustManager(InsecureTrustManagerFactory.INSTANCE)
                        .endpointIdentificationAlgorithm("").build()));
        assertEquals("1", client.execute("select 1", FrontEndFixture.PATIENCE).value());
        client.close();
        client.closed().get(20, TimeUnit.SECONDS);
    }

    /** Over TLS a client can prove that nobody stands between, and can begin with TLS at once. */
    @Test
    void driversBindTheirPasswordToTheCertificateAndBeginWithTls() throws Exception {
        for (String negotiation : List.of("postgres", "direct")) {
            try (Connection client = fixture.jdbc("sslmode=require", "channelBinding=require",
                    "sslNegotiation=" + negotiation);
                    Statement statement = client.createStatement();
                    ResultSet row = statement.executeQuery("select session_user")) {
                assertTrue(row.next());
                assertEquals("alice", row.getString(1));
            }
        }
        SQLException wrong = assertThrows(SQLException.class,
                () -> fixture.jdbc("sslmode=require", "channelBinding=require", "password=wrong").close());
        assertEquals("28P01", wrong.getSQLState());
    }

    private static SSLSocket tls(String... protocols) throws Exception {
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, InsecureTrustManagerFactory.INSTANCE.getTrustManagers(), null);
        SSLSocket socket = (SSLSocket) context.getSocketFactory().createSocket(fixture.address.getAddress(),
                fixture.address.getPort());
        socket.setSoTimeout(20_000);
        SSLParameters parameters = socket.getSSLParameters();
        parameters.setApplicationProtocols(protocols);
        socket.setSSLParameters(parameters);
        return socket;
    }

    /** Who does not say which protocol it is going to speak may have been led here. */
    @Test
    void whoBeginsWithTlsSaysWhatItSpeaks() throws Exception {
        for (String other : List.of("", "http/1.1")) {
            try (SSLSocket client = other.isEmpty() ? tls() : tls(other)) {
                ByteBuf start = Unpooled.buffer();
                Frontend.startup(start, Frontend.PROTOCOL_3_0, Map.of("user", "alice"));
                byte[] said = new byte[start.readableBytes()];
                start.readBytes(said);
                String heard;
                try {
                    client.getOutputStream().write(said);
                    heard = new String(client.getInputStream().readAllBytes(), java.nio.charset.StandardCharsets.UTF_8);
                } catch (IOException closed) {
                    heard = "";
                }
                assertEquals("", heard, other);
            }
        }
        for (int code : new int[]{Frontend.SSL_CODE, Frontend.GSS_CODE}) {
            try (SSLSocket client = tls("postgresql")) {
                client.getOutputStream().write(Unpooled.buffer().writeInt(8).writeInt(code).array(), 0, 8);
                String heard = new String(client.getInputStream().readAllBytes(),
                        java.nio.charset.StandardCharsets.UTF_8);
                assertTrue(heard.startsWith("E") && heard.contains("unsupported frontend protocol 1234."), heard);
            }
        }
    }

    private static Socket socket(InetSocketAddress address) throws IOException {
        Socket socket = new Socket(address.getAddress(), address.getPort());
        socket.setSoTimeout(20_000);
        return socket;
    }

    private static String answer(ByteBuf bytes) throws IOException {
        return answer(fixture.address, bytes);
    }

    private static String answer(InetSocketAddress address, ByteBuf bytes) throws IOException {
        try (Socket socket = socket(address)) {
            bytes.readBytes(socket.getOutputStream(), bytes.readableBytes());
            socket.getOutputStream().flush();
            return new String(new DataInputStream(socket.getInputStream()).readAllBytes(),
                    java.nio.charset.StandardCharsets.UTF_8);
        }
    }

    @Test
    void malformedStartUpPacketsAreRefused() throws Exception {
        assertEquals("", answer(Unpooled.buffer().writeInt(10_001)));
        assertEquals("", answer(Unpooled.buffer().writeByte(Frontend.TERMINATE).writeInt(4)));
        assertEquals("EFATAL:  unsupported frontend protocol 2.0: server supports 3.0 to 3.2\n\0",
                answer(Unpooled.buffer().writeInt(8).writeInt(2 << 16)), "as that one tells errors");
        for (int other : new int[]{0, 4 << 16}) {
            assertTrue(answer(Unpooled.buffer().writeInt(8).writeInt(other))
                    .matches("(?s).*C0A000.*unsupported frontend protocol.*"));
        }
        assertTrue(answer(Unpooled.buffer().writeInt(9).writeInt(3 << 16).writeByte('x')).contains("C28000"));
        for (String torn : List.of("user\0\0", "user\0alice\0", "user\0alice", "user\0alice\0\0after")) {
            assertTrue(answer(Unpooled.buffer().writeInt(8 + torn.length()).writeInt(3 << 16)
                    .writeBytes(torn.getBytes(java.nio.charset.StandardCharsets.US_ASCII)))
                    .contains("Minvalid startup packet layout: expected terminator as last byte"), torn);
        }
        assertEquals("", answer(Unpooled.buffer().writeInt(8).writeInt(Frontend.CANCEL_CODE)), "no session's key");
        ByteBuf gss = Unpooled.buffer().writeInt(8).writeInt(Frontend.GSS_CODE).writeInt(8).writeInt(2 << 16);
        assertTrue(answer(gss).startsWith("N"));
    }

    /** Who asked for ever, and did not read the answers, would fill the node's memory without having proved who it is. */
    @Test
    void encryptionIsAskedForOnce() throws Exception {
        FrontEndSettings plain = FrontEndSettings
                .of(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), fixture.server.settings())
                .withLimits(Places.of(1), Duration.ofSeconds(20), 1 << 16);
        try (PostgresFrontEnd frontEnd = new PostgresFrontEnd(plain, fixture.node, fixture.capture,
                (_, _) -> () -> {}, fixture.loops)) {
            InetSocketAddress address = frontEnd.start();
            for (int again : new int[]{Frontend.SSL_CODE, Frontend.GSS_CODE}) {
                ByteBuf asked = Unpooled.buffer().writeInt(8).writeInt(Frontend.GSS_CODE).writeInt(8)
                        .writeInt(Frontend.SSL_CODE).writeInt(8).writeInt(again);
                String answer = answer(address, asked);
                assertTrue(answer.startsWith("NNE") && answer.contains("unsupported frontend protocol 1234."), answer);
            }
        }
    }

    @Test
    void halfOpenConnectionsAreClosed() throws Exception {
        FrontEndSettings impatient = FrontEndSettings
                .of(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), fixture.server.settings())
                .withLimits(Places.of(1), Duration.ofMillis(1), 1 << 16);
        try (PostgresFrontEnd frontEnd = new PostgresFrontEnd(impatient, fixture.node, fixture.capture,
                (_, _) -> () -> {}, fixture.loops)) {
            assertTrue(answer(frontEnd.start(), Unpooled.EMPTY_BUFFER)
                    .contains("canceling authentication due to timeout"));
        }
    }

    @Test
    void thoseWhoSayNothingTakeNobodysPlace() throws Exception {
        List<Socket> silent = new ArrayList<>();
        try {
            for (int i = 0; i < 2 * ClientPort.ARRIVALS_MAX; i++) {
                silent.add(new Socket(fixture.address.getAddress(), fixture.address.getPort()));
            }
            BackendConnection client = connect(fixture.settings("alice", "wonderland"));
            assertEquals("1", client.execute("select 1", FrontEndFixture.PATIENCE).value());
            client.close();
        } finally {
            for (Socket socket : silent) {
                socket.close();
            }
        }
    }

    /** Clients of a front end with so many places, as far as they get in. */
    private static List<String> arrivals(Places places, String... roles) throws Exception {
        FrontEndSettings settings = FrontEndSettings
                .of(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), fixture.server.settings())
                .withLimits(places, Duration.ofSeconds(20), 1 << 16);
        List<BackendConnection> clients = new ArrayList<>();
        List<String> results = new ArrayList<>();
        try (PostgresFrontEnd frontEnd = new PostgresFrontEnd(settings, fixture.node, fixture.capture,
                (_, _) -> () -> {}, fixture.loops)) {
            InetSocketAddress address = frontEnd.start();
            for (String role : roles) {
                BackendSettings own = BackendSettings.of(address, role, "postgres",
                        role.equals("alice")
                                ? new Credentials.Password("wonderland")
                                : fixture.server.settings().credentials());
                try {
                    clients.add(connect(own));
                    results.add("in");
                } catch (ExecutionException failed) {
                    ErrorFields why = assertInstanceOf(PostgresException.class, failed.getCause()).fields();
                    results.add(why.sqlState() + " " + why.message());
                }
            }
        } finally {
            clients.forEach(BackendConnection::close);
        }
        return results;
    }

    @Test
    void superusersHavePlacesOfTheirOwn() throws Exception {
        String root = fixture.server.settings().user();
        List<String> come = arrivals(new Places(3, 1, 0), "alice", "alice", "alice", root, root);
        assertEquals(
                "53300 remaining connection slots are reserved for roles with the SUPERUSER attribute: the limit of this"
                        + " node is 3, 1 of them reserved",
                come.get(2));
        assertEquals("53300 sorry, too many clients already: the limit of this node is 3", come.get(4));
        assertEquals(List.of("in", "in", "in"), List.of(come.get(0), come.get(1), come.get(3)));
        assertEquals(List.of("in"), arrivals(new Places(1, 3, 0), "alice"), "others have one place at least");
    }

    @Test
    void oneAddressHasItsLimit() throws Exception {
        List<String> come = arrivals(new Places(10, 0, 1), "alice", "alice", fixture.server.settings().user());
        assertEquals(List.of("in", "53300 too many connections from this address: the limit of this node is 1", "in"),
                come);
    }

    @Test
    void aRoleHasTheLimitThatPostgresKnows() throws Exception {
        fixture.admin.execute("CREATE ROLE limited LOGIN CONNECTION LIMIT 1 PASSWORD 'wonderland'",
                FrontEndFixture.PATIENCE);
        BackendConnection first = connect(fixture.settings("limited", "wonderland"));
        assertEquals("53300", refusal(fixture.settings("limited", "wonderland")).sqlState());
        first.close();
        first.closed().get(20, TimeUnit.SECONDS);
    }

    @Test
    void aMessageLongerThanTheLimitEndsTheSession() throws Exception {
        BackendConnection client = connect(fixture.settings("alice", "wonderland"));
        IOException lost = assertThrows(IOException.class, () -> client.execute(
                "select '" + "x".repeat(1 << 17) + "'", FrontEndFixture.PATIENCE));
        assertTrue(String.valueOf(lost.getCause()).contains("limit of 65536 bytes"), () -> "" + lost.getCause());
        client.closed().get(20, TimeUnit.SECONDS);
    }

    @Test
    void noiseNeverHangsOrBreaksTheServer() throws Exception {
        for (long seed = 0; seed < 50; seed++) {
            Random random = new Random(seed);
            ByteBuf bytes = Unpooled.buffer();
            if (random.nextBoolean()) {
                Frontend.startup(bytes, Frontend.PROTOCOL_3_0, Map.of("user", "alice", "database", "postgres"));
            }
            byte[] noise = new byte[random.nextInt(300)];
            random.nextBytes(noise);
            bytes.writeBytes(noise);
            // Who has said all that he will is not waited for, however little of a message it is.
            try (Socket socket = socket(fixture.address)) {
                bytes.readBytes(socket.getOutputStream(), bytes.readableBytes());
                socket.shutdownOutput();
                socket.getInputStream().readAllBytes();
            } catch (java.net.SocketException reset) {
                assertTrue(String.valueOf(reset.getMessage()).contains("reset"), reset.toString());
            }
        }
        BackendConnection client = connect(fixture.settings("alice", "wonderland"));
        assertEquals("1", client.execute("select 1", FrontEndFixture.PATIENCE).value());
        client.close();
        client.closed().get(20, TimeUnit.SECONDS);
    }
}
