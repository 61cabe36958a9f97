package tutti.cli;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import tutti.cluster.Cluster;
import tutti.cluster.ClusterSpec;
import tutti.cluster.NodeJvm;
import tutti.command.Trees;

/**
 * What starts a node of a test: small and soon there. Where its classes come from jars, as in a build, it loads them from an archive,
 * which halves the time until it is ready; the first test that needs it makes it for all.
 */
public final class NodeCommand {
    private static final List<String> OPTIONS = List.of("-XX:+UseSerialGC", "-XX:+UseCompactObjectHeaders",
            "-XX:TieredStopAtLevel=1", "-Xmx512m",
            "--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow");
    private static final Duration PATIENCE = Duration.ofMinutes(2);
    private static final List<String> LINE = NodeJvm.cache().isPresent()
            ? with("-XX:SharedArchiveFile=" + archive())
            : NodeJvm.command(OPTIONS);

    private NodeCommand() {}

    /** Command line up to the main class. */
    public static List<String> line() {
        return LINE;
    }

    private static List<String> with(String option) {
        List<String> options = new ArrayList<>(OPTIONS);
        options.add(option);
        return NodeJvm.command(options);
    }

    /** The virtual machine goes on without one that does not fit any more, which takes twice as long: then it is made anew. */
    private static Path archive() {
        Path directory = Path.of(System.getProperty("java.io.tmpdir"));
        Path archive = directory.resolve("nodes.jsa");
        try (FileChannel lock = FileChannel.open(directory.resolve("nodes.lock"), StandardOpenOption.CREATE,
                StandardOpenOption.WRITE);
                FileLock held = lock.lock()) {
            if (held.isValid() && !fits(archive)) {
                Path nodes = Files.createTempDirectory(directory, "archived-");
                Path made = nodes.resolve("nodes.jsa");
                ClusterSpec spec = new ClusterSpec(nodes.resolve("cluster"), 1, FreePorts.base(0, 100, 200, 300), "si",
                        "tutti", "secret", Map.of(), with("-XX:ArchiveClassesAtExit=" + made));
                boolean whole;
                try (Cluster cluster = Cluster.start(spec, (died, status) -> {})) {
                    cluster.awaitReady(0, PATIENCE);
                    // It writes when it ends; what a node leaves that had to be killed is a part.
                    whole = cluster.stop(0, PATIENCE);
                }
                if (whole) {
                    Files.move(made, archive, StandardCopyOption.ATOMIC_MOVE);
                }
                Trees.delete(nodes);
            }
            return archive;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Whether it is there, and no jar that classes of it come from has changed since. */
    private static boolean fits(Path archive) throws IOException {
        if (!Files.exists(archive)) {
            return false;
        }
        FileTime made = Files.getLastModifiedTime(archive);
        Path beside = NodeJvm.cache().orElseThrow().resolveSibling("");
        try (DirectoryStream<Path> jars = Files.newDirectoryStream(beside, "*.jar")) {
            for (Path jar : jars) {
                if (Files.getLastModifiedTime(jar).compareTo(made) > 0) {
                    return false;
                }
            }
            return true;
        }
    }
}
