package tutti.cli.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A node whose disk is full stops with a clear error, the others go on, and it comes back when there is space. */
@Tag("long")
class FullDiskTest {
    @TempDir
    private Path directory;
    private Path mounted;

    /** A small file system of its own in place of a directory of node 0; needs the rights of root. */
    private void mount(Path place, int mebibytes) throws Exception {
        Files.createDirectories(place);
        assumeTrue(
                run("mount", "-t", "tmpfs", "-o", "mode=0700,size=" + mebibytes + "m", "tmpfs", place.toString()) == 0,
                "file systems cannot be mounted here");
        mounted = place;
    }

    @AfterEach
    void unmount() throws Exception {
        if (mounted != null) {
            assertEquals(0, run("umount", mounted.toString()));
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
        fullDisk(mounted);
    }

    /** Takes more than a minute, so it has a switch of its own. */
    @Test
    @EnabledIfSystemProperty(named = "tutti.slow", matches = "true")
    void theDiskOfTheDatabase() throws Exception {
        FaultCluster.start(directory, 3).close();
        Path database = directory.resolve("node-0").resolve("data").resolve("postgres");
        Path aside = Files.move(database, database.resolveSibling("aside"));
        mount(database, 300);
        assertEquals(0, run("cp", "-a", aside + "/.", database.toString()));
        fullDisk(database);
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
                cluster.cluster.awaitReady(0, FaultCluster.PATIENCE);
                ledger.awaitMore(0, 10);
                ledger.verify();
            }
        }
    }
}
