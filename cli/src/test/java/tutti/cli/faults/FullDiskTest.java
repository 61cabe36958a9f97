package tutti.cli.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Disks that are full. A node without room for the order stops with a clear error, and comes back when it is started where there is space;
 * nodes without room for their databases wait for it.
 */
@Tag("long")
class FullDiskTest {
    @TempDir
    private Path directory;
    private final List<Path> mounted = new ArrayList<>();

    /** A small file system of its own in place of a directory of a node; needs the rights of root. */
    private void mount(Path place, int mebibytes) throws Exception {
        Files.createDirectories(place);
        assumeTrue(
                run("mount", "-t", "tmpfs", "-o", "mode=0700,size=" + mebibytes + "m", "tmpfs", place.toString()) == 0,
                "file systems cannot be mounted here");
        mounted.add(place);
    }

    @AfterEach
    void unmount() throws Exception {
        for (Path each : mounted) {
            assertEquals(0, run("umount", each.toString()));
        }
    }

    private static int run(String... command) throws IOException, InterruptedException {
        return new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start().waitFor();
    }

    /** Takes all the space that is left. */
    private static Path fill(Path place) throws IOException {
        Path file = place.resolve("ballast");
        byte[] block = new byte[4096];
        try (OutputStream out = Files.newOutputStream(file)) {
            while (true) {
                out.write(block);
            }
        } catch (IOException full) {
            assertNotNull(full.getMessage());
        }
        return file;
    }

    @Test
    void theDiskOfTheOrdersLog() throws Exception {
        mount(directory.resolve("node-0").resolve("data").resolve("order"), 64);
        fullDisk(mounted.getFirst());
    }

    private Path database(int node) {
        return directory.resolve("node-" + node).resolve("data").resolve("postgres");
    }

    /** Nothing that the third node acknowledges is undone, although most nodes cannot make it for as long as there is no room. */
    @Test
    void theDisksOfMostDatabases() throws Exception {
        FaultCluster.start(directory, 3).close();
        for (int node = 0; node < 2; node++) {
            Path aside = Files.move(database(node), database(node).resolveSibling("aside"));
            mount(database(node), 300);
            assertEquals(0, run("cp", "-a", aside + "/.", database(node).toString()));
        }
        try (FaultCluster cluster = FaultCluster.start(directory, 3)) {
            Ledger.create(cluster);
            try (Ledger ledger = Ledger.run(cluster, 1, 9)) {
                cluster.ids().forEach(id -> ledger.awaitMore(id, 20));
                List<Path> ballast = List.of(fill(database(0)), fill(database(1)));
                for (int node = 0; node < 2; node++) {
                    Path log = Path.of(cluster.node(node).log());
                    while (!Files.readString(log).contains("the database is in trouble")) {
                        ledger.awaitMore(2, 1);
                    }
                }
                ledger.awaitMore(2, 20);
                for (Path each : ballast) {
                    Files.delete(each);
                }
                ledger.awaitMore(0, 10);
                ledger.awaitMore(1, 10);
                ledger.verify();
            }
        }
    }

    private void fullDisk(Path place) throws Exception {
        try (FaultCluster cluster = FaultCluster.start(directory, 3)) {
            Ledger.create(cluster);
            try (Ledger ledger = Ledger.run(cluster, 1, 9)) {
                cluster.ids().forEach(id -> ledger.awaitMore(id, 20));
                Path ballast = fill(place);
                String death = cluster.deaths.poll(FaultCluster.PATIENCE.toSeconds(), TimeUnit.SECONDS);
                assertEquals("node-0 1", death);
                String log = Files.readString(Path.of(cluster.node(0).log()));
                assertTrue(log.contains("No space left on device"),
                        () -> log.substring(Math.max(0, log.length() - 4000)));
                assertTrue(log.contains("tutti: node node-0 cannot go on"), log);
                ledger.awaitMore(1, 20);
                ledger.awaitMore(2, 20);
                Files.delete(ballast);
                cluster.cluster.startNode(0);
                cluster.awaitReady(0);
                ledger.awaitMore(0, 10);
                ledger.verify();
            }
        }
    }
}
