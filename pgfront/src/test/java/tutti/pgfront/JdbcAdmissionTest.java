package tutti.pgfront;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.handler.ssl.SslContextBuilder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** TLS and passwords at nodes with H2 and HSQLDB, as pgjdbc uses them. */
@Timeout(60)
class JdbcAdmissionTest {
    @TempDir
    private Path directory;

    private static String failure(String url, String user, String password) {
        return assertThrows(SQLException.class, () -> DriverManager.getConnection(url, user, password).close())
                .getSQLState();
    }

    @ParameterizedTest
    @EnumSource
    void clientsProveThatTheyKnowThePasswordBehindTls(EngineKind kind) throws Exception {
        Path certificate = directory.resolve("certificate.pem");
        Path key = directory.resolve("key.pem");
        Process openssl = new ProcessBuilder("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1", "-subj", "/CN=localhost", "-addext",
                "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key.toString(), "-out",
                certificate.toString()).redirectErrorStream(true).redirectOutput(directory.resolve("log").toFile())
                .start();
        assertEquals(0, openssl.waitFor(), Files.readString(directory.resolve("log")));
        try (JdbcNodes nodes = new JdbcNodes(kind, directory, 1, "si",
                SslContextBuilder.forServer(certificate.toFile(), key.toFile()).build())) {
            String url = nodes.url(0) + "?sslmode=verify-full&sslrootcert=" + certificate;
            try (Connection connection = DriverManager.getConnection(url, "tutti", "tutti");
                    Statement statement = connection.createStatement();
                    ResultSet row = statement.executeQuery("SELECT 1")) {
                assertTrue(row.next());
            }
            assertEquals("28P01", failure(url, "tutti", "wrong"));
            assertEquals("28P01", failure(url, "nobody", "tutti"));
            assertEquals("28000", failure(nodes.url(0) + "?sslmode=disable", "tutti", "tutti"));
        }
    }
}
