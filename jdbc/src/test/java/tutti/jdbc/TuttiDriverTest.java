package tutti.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.sql.DriverManager;
import java.sql.DriverPropertyInfo;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What the driver says of itself, of its URLs and properties, without any node. */
class TuttiDriverTest {
    private static final String URL = "jdbc:tutti://one:1,[::1]:2,three/data%20base?user=me&readLevel=local";

    @Test
    void isFoundByTheDriverManager() throws SQLException {
        assertInstanceOf(TuttiDriver.class, DriverManager.getDriver(URL));
        assertFalse(new TuttiDriver().acceptsURL("jdbc:postgresql://one/two"));
        assertNull(new TuttiDriver().connect("jdbc:postgresql://one/two", new Properties()));
    }

    @Test
    void readsUrls() throws SQLException {
        Properties given = new Properties();
        given.setProperty("user", "other");
        given.setProperty("ApplicationName", "test");
        given.setProperty("options", "-c statement_timeout=5000");
        Settings settings = Settings.of(URL, given);
        assertEquals(List.of(new HostPort("one", 1), new HostPort("::1", 2), new HostPort("three", 5432)),
                settings.hosts());
        assertEquals("[::1]:2", settings.hosts().get(1).toString());
        assertEquals("data base", settings.database());
        assertEquals(Settings.ReadLevel.LOCAL, settings.readLevel());
        assertEquals("me", settings.pgjdbc().getProperty("user"), "the URL counts more");
        assertEquals("test", settings.pgjdbc().getProperty("ApplicationName"));
        assertEquals("-c statement_timeout=5000 -c tutti.report=on", settings.pgjdbc().getProperty("options"));
        assertFalse(settings.url().contains("?"));
        assertEquals("", JdbcUrl.parse("jdbc:tutti://one").database());
        assertEquals(1, JdbcUrl.parse("jdbc:tutti://one,one:5432/x").hosts().size());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
            "jdbc:tutti:one/two                    | neither",
            "jdbc:tutti://:5/two                   | empty",
            "jdbc:tutti://one:x/two                | not a number",
            "jdbc:tutti://one:70000/two            | between 1 and 65535",
            "jdbc:tutti://me:word@one:5/two        | user and password are properties",
            "jdbc:tutti://one two/three            | not host:port",
            "jdbc:tutti://::1/two                  | stands in brackets",
            "jdbc:tutti://[::1/two                 | stands in brackets",
            "jdbc:tutti://one/x?sslmode=foo        | one of disable",
            "jdbc:tutti://one/x?loginTimeout=soon  | number of seconds",
            "jdbc:tutti://one/x?connectTimeout=-1  | 0 or more seconds",
            "jdbc:tutti://one/%zz                  | URL-encoded",
            "jdbc:tutti://one/x?loadbalance=true   | not known",
            "jdbc:tutti://one/x?loadBalance=maybe  | one of false, true",
            "jdbc:tutti://one/x?failoverTimeout=-1 | 0 to 86400",
            "jdbc:tutti://one/x?failoverTimeout=a  | number of seconds",
            "jdbc:tutti://one/x?targetServerType=primary | chooses nodes itself"})
    void saysWhatIsWrong(String url, String expected) {
        SQLException failure = assertThrows(SQLException.class, () -> DriverManager.getConnection(url));
        assertEquals("22023", failure.getSQLState());
        assertTrue(failure.getMessage().contains(expected), failure.getMessage());
    }

    /** As one does whose process stands still: the system takes the connection for it. */
    @Test
    void aNodeThatSaysNothingIsGivenUp() throws Exception {
        try (ServerSocket silent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
            String url = "jdbc:tutti://" + silent.getInetAddress().getHostAddress() + ":" + silent.getLocalPort()
                    + "/two?user=me&password=word&sslmode=disable&loginTimeout=0.2";
            SQLException failure = assertThrows(SQLException.class, () -> DriverManager.getConnection(url));
            assertEquals("08001", failure.getSQLState());
            assertTrue(failure.getMessage().contains("none of the nodes"), failure.getMessage());
        }
    }

    @Test
    void aPasswordThatIsMissingIsAskedFor() throws Exception {
        try (ServerSocket node = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
            Thread asking = new Thread(() -> {
                try (Socket client = node.accept()) {
                    client.getInputStream().read();
                    byte[] mechanisms = "SCRAM-SHA-256\0\0".getBytes(StandardCharsets.US_ASCII);
                    DataOutputStream out = new DataOutputStream(client.getOutputStream());
                    out.writeByte('R');
                    out.writeInt(8 + mechanisms.length);
                    out.writeInt(10);
                    out.write(mechanisms);
                    client.getInputStream().readAllBytes();
                } catch (IOException gone) {
                    // The driver has closed the connection.
                }
            });
            asking.start();
            String url = "jdbc:tutti://" + node.getInetAddress().getHostAddress() + ":" + node.getLocalPort()
                    + "/two?user=me&sslmode=disable";
            SQLException failure = assertThrows(SQLException.class, () -> DriverManager.getConnection(url));
            assertEquals("28P01", failure.getSQLState());
            assertTrue(failure.getMessage().contains("property password"), failure.getMessage());
            asking.join();
        }
    }

    @Test
    void describesItsProperties() throws SQLException {
        DriverPropertyInfo[] infos = new TuttiDriver().getPropertyInfo(URL, null);
        Set<String> names = Arrays.stream(infos).map(info -> info.name).collect(Collectors.toSet());
        for (DriverProperty property : DriverProperty.values()) {
            assertTrue(names.contains(property.key()), property.key());
        }
        assertTrue(names.containsAll(Set.of("user", "password", "ssl", "sslmode", "socketTimeout")));
        assertFalse(names.contains("targetServerType"));
        assertEquals("5", Arrays.stream(infos).filter(info -> info.name.equals("connectTimeout")).findFirst()
                .orElseThrow().value);
        DriverPropertyInfo level = Arrays.stream(infos).filter(info -> info.name.equals("readLevel")).findFirst()
                .orElseThrow();
        assertEquals("local", level.value);
        assertEquals(List.of("local", "session", "causal", "linearizable"), List.of(level.choices));
        assertTrue(level.description.length() > 20);
    }

    @Test
    void dataSourceRefusesXa() throws SQLException {
        TuttiDataSource source = new TuttiDataSource();
        assertThrows(SQLException.class, source::getConnection);
        source.setUrl(URL);
        source.setUser("me");
        assertEquals("me", source.getUser());
        assertEquals(source, source.unwrap(TuttiDataSource.class));
        SQLException refused = assertThrows(SQLFeatureNotSupportedException.class, source::getXAConnection);
        assertTrue(refused.getMessage().contains("XA"));
        assertThrows(SQLException.class, () -> source.setUrl("jdbc:postgresql://one/two"));
    }

    @Test
    void saysWhatIsMissingForEmbeddedNodes() {
        SQLException failure = assertThrows(SQLException.class,
                () -> DriverManager.getConnection("jdbc:tutti:embedded:h2:mem:x"));
        assertEquals("0A000", failure.getSQLState());
        assertTrue(failure.getMessage().contains("tutti-embedded"));
    }

    @Test
    void choosesNodes() {
        Node one = Node.at(new HostPort("choice", 1));
        Node two = Node.at(new HostPort("choice", 2));
        Node three = Node.at(new HostPort("choice", 3));
        List<Node> all = List.of(one, two, three);
        long now = 1_000_000_000L;
        assertEquals(all, LoadBalance.LISTED.arrange(all, 7, now));
        assertEquals(List.of(two, three, one), LoadBalance.ROUND_ROBIN.arrange(all, 4, now));
        assertEquals(Set.copyOf(all), Set.copyOf(LoadBalance.RANDOM.arrange(all, 0, now)));
        one.opened();
        two.opened();
        assertEquals(three, LoadBalance.LEAST_CONNECTIONS.arrange(all, 0, now).get(0));
        one.failed(now);
        assertEquals(List.of(two, three, one), LoadBalance.LISTED.arrange(all, 0, now + 1));
        assertEquals(all, LoadBalance.LISTED.arrange(all, 0, now + 6_000_000_000L));
    }
}
