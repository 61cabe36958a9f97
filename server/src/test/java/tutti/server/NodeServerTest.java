package tutti.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import tutti.command.Program;
import tutti.core.spi.Order;
import tutti.order.OrderDescriptor;
import tutti.order.OrderSettings;
import tutti.runtime.Directory;
import tutti.runtime.Machine;
import tutti.runtime.real.FreePorts;

@Timeout(120)
class NodeServerTest {
    @TempDir
    private Path directory;

    /** An order some of whose classes are not there; named in a directory that only some have on their class path. */
    public static final class Broken implements OrderDescriptor {
        /** For {@link java.util.ServiceLoader}. */
        public Broken() {}

        @Override
        public String name() {
            return "broken";
        }

        @Override
        public Durability durability() {
            return Durability.DISK;
        }

        @Override
        public int payloadBytesMax() {
            return 1 << 30;
        }

        @Override
        public boolean hasVoters() {
            return false;
        }

        @Override
        public Order open(OrderSettings settings, Machine machine, Directory own) {
            throw new NoClassDefFoundError("org/example/Ledger");
        }
    }

    /** Whoever starts it again only when it has failed must be told that it has. */
    @Test
    void anErrorIsAReasonToEnd() throws Exception {
        Path services = Files.createDirectories(directory.resolve("jar/META-INF/services"));
        Files.writeString(services.resolve(OrderDescriptor.class.getName()), Broken.class.getName());
        Path said = directory.resolve("said");
        Process node = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp",
                System.getProperty("java.class.path") + File.pathSeparator + directory.resolve("jar"),
                NodeProgram.class.getName(), "node", "--config", config("broken").toString()).redirectErrorStream(true)
                .redirectOutput(said.toFile()).start();
        assertEquals(Program.FAILURE, node.waitFor());
        String words = Files.readString(said);
        assertTrue(words.contains("cannot go on: org/example/Ledger"), words);
    }

    private Path config(String order) throws Exception {
        List<InetSocketAddress> free = FreePorts.addresses(3);
        return Files.writeString(directory.resolve("node.yaml"), """
                node: 0
                data: "%s"
                engine: h2
                order: {kind: %s}
                members: [{id: 0, name: lone, order: "127.0.0.1:%d"}]
                listen: {host: 127.0.0.1, port: %d}
                http: {host: 127.0.0.1, port: %d}
                """.formatted(directory.resolve("data"), order, free.get(0).getPort(),
                free.get(1).getPort(), free.get(2).getPort()));
    }

    /** As root on a host whose node has a user of its own; only root can make such a directory. */
    @Test
    void whatIsPutIntoANodesDirectoryIsItsUsers() throws Exception {
        assumeTrue(System.getProperty("user.name").equals("root"), "needs root");
        Path file = config("raft");
        Files.writeString(file, Files.readString(file).replace("members: [",
                "members: [{id: 1, name: other, order: \"127.0.0.1:1\"}, "));
        Path data = Files.createDirectory(directory.resolve("data"));
        Files.setOwner(data, data.getFileSystem().getUserPrincipalLookupService().lookupPrincipalByName("nobody"));
        for (String doing : List.of("--adopt", "--copy-from=other")) {
            StringWriter err = new StringWriter();
            assertEquals(Program.FAILURE, new CommandLine(new NodeCommand()).setErr(new PrintWriter(err))
                    .execute("--config", file.toString(), doing));
            assertTrue(err.toString().contains("runuser -u nobody"), err::toString);
        }
        try (Stream<Path> left = Files.list(data)) {
            assertEquals(List.of(), left.toList());
        }
    }
}
