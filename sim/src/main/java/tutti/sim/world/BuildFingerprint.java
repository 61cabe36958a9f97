package tutti.sim.world;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import tutti.check.CheckResult;
import tutti.core.txn.TransactionId;
import tutti.group.GroupParameters;
import tutti.node.ReplicaNode;
import tutti.order.raft.RaftOrder;
import tutti.runtime.Machine;
import tutti.sim.kernel.Kernel;
import tutti.workload.client.ClientOutcome;

/** Which build ran: the fingerprint of the class files of all that a scenario runs through, the simulated world included. */
public final class BuildFingerprint {
    private static final int SHOWN_BYTES = 8;
    private static final String ROOT = "tutti.";
    /** One class of each room. */
    private static final List<Class<?>> ROOMS = List.of(TransactionId.class, GroupParameters.class, Machine.class,
            RaftOrder.class, ReplicaNode.class, ClientOutcome.class, CheckResult.class, Kernel.class);

    private BuildFingerprint() {}

    private static String room(Class<?> one) {
        String name = one.getPackageName().substring(ROOT.length());
        int end = name.indexOf('.');
        return end < 0 ? name : name.substring(0, end);
    }

    /**
     * The first 64 bits of a SHA-256 over names and contents of all class files of the rooms, in order of name: the same for
     * the same class files, wherever they lie, in jars or directories.
     *
     * @throws UncheckedIOException if they cannot be read
     */
    public static String fingerprint() {
        try {
            MessageDigest all = MessageDigest.getInstance("SHA-256");
            Map<String, byte[]> files = new TreeMap<>();
            for (Class<?> one : ROOMS) {
                Path place = Path.of(one.getProtectionDomain().getCodeSource().getLocation().toURI());
                if (Files.isDirectory(place)) {
                    digest(place, room(one), files);
                } else {
                    try (FileSystem jar = FileSystems.newFileSystem(place)) {
                        digest(jar.getPath("/"), room(one), files);
                    }
                }
            }
            files.forEach((name, digest) -> {
                all.update(name.getBytes(StandardCharsets.UTF_8));
                all.update(digest);
            });
            return HexFormat.of().formatHex(all.digest(), 0, SHOWN_BYTES);
        } catch (IOException cannot) {
            throw new UncheckedIOException(cannot);
        } catch (NoSuchAlgorithmException | URISyntaxException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    private static void digest(Path root, String room, Map<String, byte[]> files)
            throws IOException, NoSuchAlgorithmException {
        Path top = root.resolve("tutti").resolve(room);
        try (Stream<Path> found = Files.walk(top)) {
            for (Path file : (Iterable<Path>) found::iterator) {
                if (file.toString().endsWith(".class") && !file.endsWith("package-info.class")) {
                    files.put(root.relativize(file).toString(),
                            MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(file)));
                }
            }
        }
    }
}
