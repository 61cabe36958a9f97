package tutti.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import tutti.command.Failure;
import tutti.runtime.real.PeerKeys;

class KeyFilesTest {
    @TempDir
    private Path directory;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int run(Object... arguments) {
        CommandLine line = new CommandLine(new KeysCommand()).setOut(new PrintWriter(out, true))
                .setErr(new PrintWriter(err, true)).setExecutionExceptionHandler((thrown, command, _) -> {
                    command.getErr().println(thrown.getMessage());
                    return 1;
                });
        return line.execute(Stream.of(arguments).map(String::valueOf).toArray(String[]::new));
    }

    private Path at(String name) {
        return directory.resolve(name);
    }

    private static PeerKeys open(Path keys) throws Exception {
        return PeerKeys.open(PeerKeys.Source.in(keys), _ -> {});
    }

    @Test
    void whatTheCommandsMakeProvesWhoTheNodesAre() throws Exception {
        assertEquals(0, run("create-cluster", "--out", at("authority")), err::toString);
        for (int node : List.of(0, 1)) {
            assertEquals(0, run("issue", "--authority", at("authority"), "--node", node, "--out", at("node" + node)));
        }
        assertEquals(1, open(at("node1")).identity().node());
        assertEquals(open(at("node0")).identity().cluster(), open(at("node1")).identity().cluster());
        assertEquals(Files.readString(at("node0").resolve("datagrams.key")),
                Files.readString(at("node1").resolve("datagrams.key")));
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path file : (Iterable<Path>) files.filter(Files::isRegularFile)::iterator) {
                assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(file)),
                        file.toString());
            }
        }
        assertEquals(0, run("show", "--out", at("node1")));
        assertTrue(out.toString().contains(open(at("node1")).identity() + ": "), out.toString());
        assertFalse(out.toString().contains("PRIVATE"), out.toString());
    }

    @Test
    void aCertificateIsRenewedForTheSameNodeByTheSameClusterOnly() throws Exception {
        run("create-cluster", "--out", at("authority"));
        run("create-cluster", "--out", at("other"));
        run("issue", "--authority", at("authority"), "--node", 3, "--out", at("node"));
        String before = Files.readString(at("node").resolve("node.key"));
        assertEquals(0, run("renew", "--authority", at("authority"), "--out", at("node")), err::toString);
        assertNotEquals(before, Files.readString(at("node").resolve("node.key")));
        assertEquals(3, open(at("node")).identity().node());
        assertEquals(1, run("renew", "--authority", at("other"), "--out", at("node")));
        assertTrue(err.toString().contains("is the authority of cluster"), err.toString());
        assertEquals(1, run("issue", "--authority", at("authority"), "--node", 4, "--out", at("node")));
        assertTrue(err.toString().contains("holds the certificate of node 3"), err.toString());
        assertEquals(1, run("create-cluster", "--out", at("authority")));
        assertTrue(err.toString().contains("holds the keys of an authority already"), err.toString());
        assertThrows(Failure.class, () -> KeyFiles.authority(at("node")));
    }

    @Test
    void anotherAuthorityOfTheSameClusterIsTrustedBesideTheFirst() throws Exception {
        run("create-cluster", "--out", at("first"));
        run("create-cluster", "--succeeding", at("first"), "--out", at("next"));
        run("issue", "--authority", at("first"), "--node", 0, "--out", at("node0"));
        run("issue", "--authority", at("next"), "--node", 0, "--out", at("moved"));
        assertEquals(open(at("node0")).identity(), open(at("moved")).identity());
        Files.copy(at("next").resolve("authorities.crt"), at("node0").resolve("authorities.crt"),
                java.nio.file.StandardCopyOption.REPLACE_EXISTING);
        assertEquals(0, open(at("node0")).identity().node());
    }
}
