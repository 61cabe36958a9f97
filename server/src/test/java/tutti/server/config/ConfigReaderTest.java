package tutti.server.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import tutti.yaml.Problem;
import tutti.yaml.UnusableFileException;

class ConfigReaderTest {
    private static final String SMALLEST = """
            node: 1
            members:
              - {id: 0, name: a, order: "127.0.0.1:7800"}
              - {id: 1, name: b, order: "127.0.0.1:7801", http: "127.0.0.1:8009"}
            """;

    @Test
    void whatIsLeftOutHasItsDefault() throws UnusableFileException {
        NodeConfig config = read(SMALLEST);
        assertEquals("b", config.self().name());
        assertEquals("si", config.protocol());
        assertEquals(5432, config.listen().port());
        assertEquals(Duration.ofSeconds(1), config.order().electionTimeout());
        assertEquals(64L << 20, config.order().queueBytes());
        assertEquals(Path.of("/etc/tutti/data"), config.data());
        assertNotNull(config.postgres().embedded());
        assertNull(config.postgres().url());
        assertNull(config.listen().tls());
    }

    @Test
    void whatIsGivenIsRead() throws UnusableFileException {
        NodeConfig config = read(SMALLEST + """
                data: /var/lib/tutti
                cluster: shop
                postgres:
                  url: postgresql://db.example:5433
                  user: owner
                  password: "0123"
                  database: shop
                listen:
                  host: 0.0.0.0
                  port: 6000
                  tls: {certificate: server.crt, key: /keys/server.key, required: true}
                order: {queue-bytes: 128 MiB, election-timeout: 300ms}
                """);
        assertEquals(new PostgresUrl(new HostPort("db.example", 5433), PostgresUrl.Encryption.DISABLE),
                config.postgres().url());
        assertEquals("0123", config.postgres().password());
        assertNull(config.postgres().embedded());
        assertEquals(new NodeConfig.Tls(Path.of("/etc/tutti/server.crt"), Path.of("/keys/server.key"), true),
                config.listen().tls());
        assertEquals(128L << 20, config.order().queueBytes());
        assertEquals(Duration.ofMillis(300), config.order().electionTimeout());
        assertEquals(Path.of("/var/lib/tutti"), config.data());
    }

    @Test
    void nodesProveWhoTheyAreUnlessTheConfigurationSaysOtherwise() throws UnusableFileException {
        NodeConfig.Peers peers = read(SMALLEST).peers();
        assertTrue(peers.areProven());
        assertEquals(Path.of("/etc/tutti/keys/node.crt"), peers.certificate());
        String elsewhere = SMALLEST.replace("127.0.0.1", "10.0.0.1");
        UnusableFileException refusal = assertThrows(UnusableFileException.class,
                () -> read(elsewhere + "peers: {security: none}\n"));
        assertTrue(refusal.getMessage().contains("whoever does can become a member"), refusal.getMessage());
        assertTrue(refusal.getMessage().contains("tutti keys"), refusal.getMessage());
        UnusableFileException deceptive = assertThrows(UnusableFileException.class,
                () -> read(SMALLEST.replace("127.0.0.1", "127.example.com") + "peers: {security: none}\n"));
        assertTrue(deceptive.getMessage().contains("peers.security"), deceptive.getMessage());
        assertTrue(!read(SMALLEST.replace("a.example", "localhost").replace("b.example", "127.0.0.1")
                + "peers: {security: none}\n").peers().areProven());
        assertTrue(!read(elsewhere + "peers: {security: trusted-network}\n").peers().areProven());
    }

    @Test
    void someNumbersCanBeLeftToTheNode() throws UnusableFileException {
        assertEquals(0, read(SMALLEST + "apply: {appliers: auto}\n").apply().appliers());
        assertEquals(64, read(SMALLEST + "apply: {appliers: auto}\n").apply().batchTransactions());
        assertTrue(
                assertThrows(UnusableFileException.class, () -> read(SMALLEST + "apply: {appliers: 0}\n")).getMessage()
                        .contains("1 to 64, or auto"));
        assertThrows(UnusableFileException.class, () -> read(SMALLEST + "http: {port: auto}\n"));
    }

    @Test
    void parametersOfTheEmbeddedServerAreTextsByName() throws UnusableFileException {
        NodeConfig config = read(SMALLEST + "postgres: {embedded: {parameters: {work_mem: 8MB, jit: off}}}\n");
        assertEquals(Map.of("work_mem", "8MB", "jit", "off"), config.postgres().embedded().parameters());
    }

    @Test
    void aPortMayBeUsedAgainAtAnotherAddress() throws UnusableFileException {
        NodeConfig config = read(
                SMALLEST + "listen: {host: 127.0.0.2, port: 7801}\nhttp: {host: 127.0.0.3, port: 7800}\n");
        assertEquals(7801, config.listen().port());
        assertNotNull(read(SMALLEST + "engine: h2\npostgres: {embedded: {port: 5432}}\n"));
    }

    @Test
    void aPasswordIsNotShown() throws UnusableFileException {
        assertTrue(!read(SMALLEST + "postgres: {password: very-secret}").toString().contains("very-secret"));
    }

    static Stream<Arguments> refused() {
        return Stream.of(
                Arguments.of("ordre: {}", "node.yaml:5: ordre is no key; did you mean order?"),
                Arguments.of("order:\n  queue-byte: 1 MiB",
                        "node.yaml:6: order.queue-byte is no key; did you mean order.queue-bytes?"),
                Arguments.of("http:\n  segment-bytes: 4 MiB", "node.yaml:6: http.segment-bytes is no key;"
                        + " did you mean order.segment-bytes? valid keys here: host, port"),
                Arguments.of("listen: {port: 70000}",
                        "node.yaml:5: listen.port cannot be \"70000\"; valid: 1 to 65535"),
                Arguments.of("listen: {port: http}",
                        "node.yaml:5: listen.port cannot be \"http\"; must be a whole number, 1 to 65535"),
                Arguments.of("listen: 5432",
                        "node.yaml:5: listen must be a section of keys; valid keys: host, port, tls"),
                Arguments.of("listen: {port: [1]}",
                        "node.yaml:5: listen.port must be a single value; valid: 1 to 65535"),
                Arguments.of("order: {queue-bytes: 10 PB}", "node.yaml:5: order.queue-bytes cannot be \"10 PB\";"
                        + " must be a size such as 4 KiB, 64 MiB, 1 GiB, 1 MiB to 16 GiB"),
                Arguments.of("order: {queue-bytes: 999999999999999999 TiB}",
                        "node.yaml:5: order.queue-bytes cannot be \"999999999999999999 TiB\"; valid: 1 MiB to 16 GiB"),
                Arguments.of("order: {kind: group}\nlimits: {transaction-bytes: 1 MiB}",
                        "node.yaml:5: order.durability is disk, but order.kind group gives none; write `durability: none`"
                                + " beside `kind: group` if the cluster may end when a majority of its nodes stops, or"
                                + " leave `kind` out"),
                Arguments.of("order: {durability: none}",
                        "node.yaml:5: order.durability is none, but order.kind raft gives disk"),
                Arguments.of("order: {kind: grup}",
                        "order.kind cannot be \"grup\"; did you mean group? valid: group, raft"),
                Arguments.of("order: {parameters: {zookeeper: \"a:2181\"}}",
                        "node.yaml:5: order.parameters order raft has no parameters, but is given zookeeper; leave them"
                                + " out"),
                Arguments.of("order: {kind: group, durability: none}",
                        "limits.transaction-bytes is larger than order.kind group can carry; valid with it: 4 KiB to"
                                + " 3670016 bytes"),
                Arguments.of(
                        "order: {kind: group, durability: none}\nlimits: {transaction-bytes: 1 MiB}\nprotocol: wice\n"
                                + "protocol-parameters: {clusters: \"a:0;b:1\", voters: primary}",
                        "order.kind is group, of which every node is a part"),
                Arguments.of("order: {election-timeout: 1ms}",
                        "node.yaml:5: order.election-timeout cannot be \"1ms\"; valid: 100ms to 1min"),
                Arguments.of("protocol: sii",
                        "node.yaml:5: protocol cannot be \"sii\"; did you mean si? valid: si, dbsm, postgres-r, active, passive, nodo, akara, 2pc, wice, hybrid"),
                Arguments.of("protocol: paxos",
                        "node.yaml:5: protocol cannot be \"paxos\"; valid: si, dbsm, postgres-r, active, passive, nodo, akara, 2pc, wice, hybrid"),
                Arguments.of("node: 0", "node.yaml:5: node is given twice; first on line 1"),
                Arguments.of("postgres:\n  embedded:\n  url: postgresql://h:1",
                        "postgres.url is given, and embedded too; leave one of them out"),
                Arguments.of("postgres: {url: \"postgresql://me@h:1\"}", "postgres.url cannot be"
                        + " \"postgresql://me@h:1\": must not name a role: that is what postgres.user and password are for"),
                Arguments.of("postgres: {url: \"postgresql://h:1?sslmode=prefer\"}",
                        "must carry nothing after '?' but one of sslmode=disable, sslmode=require, sslmode=verify-full"),
                Arguments.of("postgres: {url: \"postgresql://h:1?sslmode=require\", authorities: ca.crt}",
                        "postgres.authorities is given, but url does not ask for sslmode=verify-full"),
                Arguments.of("postgres: {isolation: snapshot}",
                        "postgres.isolation cannot be \"snapshot\"; valid: read committed, repeatable read, serializable"),
                Arguments.of("postgres: {user: tutti}",
                        "postgres.user is tutti, which the superuser of an embedded server"),
                Arguments.of("postgres: {password: \"a\\nb\"}",
                        "postgres.password has several lines; write one of one line"),
                Arguments.of("postgres: {embedded: {parameters: {work_mem: 8MB, Restart_After_Crash: \"on\"}}}",
                        "node.yaml:5: postgres.embedded.parameters names Restart_After_Crash: commits that a crash of one"
                                + " of its processes loses would be missed unseen; leave it out"),
                Arguments.of("postgres: {embedded: {parameters: {fsync: \"off\"}}}",
                        "postgres.embedded.parameters names fsync: after a crash of the machine"),
                Arguments.of("postgres: {embedded: {parameters: {port: \"5433\"}}}",
                        "postgres.embedded.port is for that; leave it out"),
                Arguments.of("listen: {port: 8008}",
                        "http.port is the port 8008, and listen.port, too; give each a port of its own"),
                Arguments.of("postgres: {password: x, embedded: {port: 6000}}\nlisten: {host: 0.0.0.0, port: 6000}",
                        "postgres.embedded.port is the port 6000, and listen.port, too"),
                Arguments.of("http: {host: localhost, port: 7801}",
                        "node.yaml:4: members[1].order is the port 7801, and http.port, too"),
                Arguments.of("listen: {acknowledge: logged}",
                        "listen.acknowledge is logged, but there are no request logs with protocol si"),
                Arguments.of("postgres: {isolation: serializable}\nprotocol: wice",
                        "postgres.isolation is serializable, but protocol wice guarantees snapshot isolation to everybody"),
                Arguments.of("listen:\n  tls: {certificate: c.pem}",
                        "node.yaml:6: listen.tls.key is missing; it must be given, for example server.key"),
                Arguments.of("listen: {host: 0.0.0.0}",
                        "postgres.password is the default, but clients of other hosts may"
                                + " connect to listen.host 0.0.0.0; set one of your own, or listen on 127.0.0.1"),
                Arguments.of("sequences: {stride: 1}", "node.yaml:4: members[1].id is 1, but sequences.stride leaves"),
                Arguments.of("limits: {transaction-bytes: 1 GiB}",
                        "node.yaml:5: limits.transaction-bytes is larger than order.queue-bytes"),
                Arguments.of("a: [", "node.yaml:5: is not YAML: "),
                Arguments.of("? [x]\n: 1", "node.yaml: is not YAML: Non scalar key"));
    }

    @ParameterizedTest
    @MethodSource
    void refused(String wrong, String expected) {
        UnusableFileException refusal = assertThrows(UnusableFileException.class, () -> read(SMALLEST + wrong));
        assertTrue(refusal.getMessage().contains(expected), refusal.getMessage());
        assertEquals(1, refusal.problems().size(), refusal.getMessage());
    }

    static Stream<Arguments> refusedMembers() {
        return Stream.of(Arguments.of("members: []", "members is empty"),
                Arguments.of("members: [{id: 2, name: a, order: \"h:1\"}]",
                        "node.yaml:1: node is 1, but no member has that id; valid: 2"),
                Arguments.of("members: [{id: 1, name: a, order: \"h:1\"}, {id: 1, name: b, order: \"h:2\"}]",
                        "node.yaml:2: members[1].id another member has the id 1 too"),
                Arguments.of("members: [{id: 1, name: a, order: \"h\"}]",
                        "node.yaml:2: members[0].order cannot be \"h\": must be host:port"),
                Arguments.of("members: [{id: 1, name: A, order: \"h:1\"}]", "members[0].name cannot be \"A\""),
                Arguments.of("members: {id: 1}", "node.yaml:2: members must be a list"),
                Arguments.of("protocol: si", "members is missing"));
    }

    @ParameterizedTest
    @MethodSource
    void refusedMembers(String members, String expected) {
        UnusableFileException refusal = assertThrows(UnusableFileException.class,
                () -> read("node: 1\n" + members + "\n"));
        assertTrue(refusal.getMessage().contains(expected), refusal.getMessage());
    }

    @Test
    void everythingThatIsWrongIsSaidAtOnce() {
        UnusableFileException refusal = assertThrows(UnusableFileException.class,
                () -> read(SMALLEST + "listen: {port: 0}\nhttp: {prot: 1}\nprotocol: x\n"));
        assertEquals(List.of(5, 6, 7),
                refusal.problems().stream().map(Problem::line).sorted().toList());
    }

    @Test
    void anEmptyOrMissingFileIsRefused(@TempDir Path directory) throws Exception {
        assertThrows(UnusableFileException.class, () -> read(""));
        UnusableFileException missing = assertThrows(UnusableFileException.class,
                () -> ConfigReader.read(directory.resolve("none.yaml")));
        assertTrue(missing.getMessage().contains("there is no such file"), missing.getMessage());
        Path binary = Files.write(directory.resolve("binary.yaml"), new byte[]{(byte) 0xff, (byte) 0xfe, 0});
        assertThrows(UnusableFileException.class, () -> ConfigReader.read(binary));
    }

    @Test
    void thePrintedConfigurationIsOneWithTheDefaults() throws UnusableFileException {
        NodeConfig printed = read(ConfigManual.yaml());
        NodeConfig smallest = read("node: 0\nmembers: [{id: 0, name: a, order: \"127.0.0.1:7800\","
                + " http: \"127.0.0.1:8008\"}]\n");
        assertEquals(smallest, printed);
    }

    @Test
    void everySettingExplainsItself() {
        for (String path : Schema.paths(NodeConfig.class, "")) {
            assertEquals(path, path.toLowerCase(Locale.ROOT));
        }
    }

    @Test
    void theManualSaysWhatTheReaderDoes() throws Exception {
        Path manual = Path.of("..", "docs", "configuration.md");
        if (Boolean.getBoolean("tutti.write-manual")) {
            Files.writeString(manual, ConfigManual.markdown());
        }
        assertEquals(ConfigManual.markdown(), Files.readString(manual),
                "docs/configuration.md is out of date: mvn -pl server -am verify -Dtutti.write-manual=true renews it");
    }

    private static NodeConfig read(String text) throws UnusableFileException {
        return ConfigReader.read(text, "node.yaml", Path.of("/etc/tutti"));
    }
}
