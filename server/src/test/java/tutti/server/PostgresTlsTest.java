package tutti.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tutti.engine.postgres.server.EmbeddedPostgres;
import tutti.engine.postgres.server.ServerBinaries;
import tutti.engine.postgres.server.ServerConfiguration;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.BackendSettings;
import tutti.pgwire.BackendSettings.Credentials;
import tutti.pgwire.Transport;
import tutti.server.config.PostgresUrl.Encryption;

/** What a node asks of connections to a server that its configuration names by a URL. */
@Timeout(60)
class PostgresTlsTest {
    @TempDir
    private static Path directory;
    private static EventLoopGroup loops;
    private static EmbeddedPostgres server;
    private static EmbeddedPostgres plain;

    @BeforeAll
    static void start() throws Exception {
        loops = Transport.eventLoops(1, "test");
        certificate("server", "localhost");
        certificate("other", "localhost");
        server = EmbeddedPostgres.start(configuration("tls").with("ssl", "on")
                .with("ssl_cert_file", directory.resolve("server.crt").toString())
                .with("ssl_key_file", directory.resolve("server.key").toString()));
        plain = EmbeddedPostgres.start(configuration("plain"));
    }

    @AfterAll
    static void stop() throws Exception {
        server.close();
        plain.close();
        loops.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    }

    /** Of itself, with nothing else in it but a host's name. */
    private static void certificate(String name, String host) throws Exception {
        Path key = directory.resolve(name + ".key");
        Process openssl = new ProcessBuilder("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1", "-subj", "/CN=" + host, "-addext",
                "subjectAltName=DNS:" + host, "-keyout", key.toString(), "-out",
                directory.resolve(name + ".crt").toString()).redirectErrorStream(true)
                .redirectOutput(directory.resolve("log").toFile()).start();
        assertEquals(0, openssl.waitFor(), Files.readString(directory.resolve("log")));
        Files.setPosixFilePermissions(key, PosixFilePermissions.fromString("rw-------"));
    }

    private static ServerConfiguration configuration(String name) throws IOException, InterruptedException {
        try (ServerSocket free = new ServerSocket(0, 1, java.net.InetAddress.getLoopbackAddress())) {
            return ServerConfiguration.of(ServerBinaries.unpacked(), directory.resolve(name), free.getLocalPort(),
                    "postgres", "word");
        }
    }

    /** Whether the server says that the connection is encrypted. */
    private static String encrypted(EmbeddedPostgres to, String host, Encryption encryption, @Nullable String authority)
            throws Exception {
        BackendSettings settings = BackendSettings.of(new InetSocketAddress(host, to.port()), "postgres", "postgres",
                new Credentials.Password("word"))
                .withTls(PostgresDatabase.tls(encryption, authority == null ? null : directory.resolve(authority)));
        BackendConnection connection = BackendConnection.connect(loops.next(), settings).get(20, TimeUnit.SECONDS);
        try {
            return String.valueOf(connection.execute(
                    "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()", Duration.ofSeconds(10)).value());
        } finally {
            connection.close();
        }
    }

    private static String refusal(EmbeddedPostgres to, String host, Encryption encryption, @Nullable String authority) {
        return String.valueOf(assertThrows(ExecutionException.class, () -> encrypted(to, host, encryption, authority))
                .getCause());
    }

    @Test
    void connectionsAreEncryptedAsTheUrlAsks() throws Exception {
        assertEquals("f", encrypted(server, "localhost", Encryption.DISABLE, null));
        assertEquals("t", encrypted(server, "localhost", Encryption.REQUIRE, null));
        assertEquals("t", encrypted(server, "localhost", Encryption.VERIFY_FULL, "server.crt"));
    }

    @Test
    void aServerWithoutTlsIsNotSpokenTo() {
        assertTrue(refusal(plain, "localhost", Encryption.REQUIRE, null).contains("does not speak TLS"));
        assertTrue(refusal(plain, "localhost", Encryption.VERIFY_FULL, "server.crt").contains("does not speak TLS"));
    }

    @Test
    void anotherServerIsNotSpokenTo() {
        assertTrue(refusal(server, "localhost", Encryption.VERIFY_FULL, "other.crt").contains("TLS with PostgreSQL"));
        assertTrue(refusal(server, "localhost", Encryption.VERIFY_FULL, null).contains("TLS with PostgreSQL"));
        assertTrue(refusal(server, "127.0.0.1", Encryption.VERIFY_FULL, "server.crt").contains("TLS with PostgreSQL"),
                "the certificate is of another name");
    }

    @Test
    void authoritiesThatAreNoneAreNamed() {
        IOException refused = assertThrows(IOException.class,
                () -> PostgresDatabase.tls(Encryption.VERIFY_FULL, directory.resolve("server.key")));
        assertTrue(String.valueOf(refused.getMessage()).contains("postgres.authorities"), refused.getMessage());
    }
}
