package tutti.cli.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.InputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;
import tutti.cli.Tutti;
import tutti.cluster.ClusterSpec;
import tutti.command.Program;
import tutti.command.Trees;
import tutti.node.copy.CopyStream;
import tutti.runtime.real.PathDirectory;
import tutti.server.BackupNote;

/** Clusters begin anew with backups, and with what one node has kept. */
@Tag("long")
@Timeout(400)
class BackupTest {
    @TempDir
    private Path directory;

    private static String run(int status, String... arguments) {
        StringWriter out = new StringWriter();
        PrintWriter writer = new PrintWriter(out);
        assertEquals(status, new CommandLine(new Tutti()).setOut(writer).setErr(writer).execute(arguments),
                () -> List.of(arguments) + ": " + out);
        return out.toString();
    }

    private static List<String> rows(FaultCluster cluster, int node) throws Exception {
        return rows(cluster, node, "tutti");
    }

    private static List<String> rows(FaultCluster cluster, int node, String database) throws Exception {
        try (Connection connection = cluster.connectTo(node, database);
                Statement statement = connection.createStatement();
                ResultSet results = statement.executeQuery("SELECT what FROM note ORDER BY id")) {
            List<String> rows = new ArrayList<>();
            while (results.next()) {
                rows.add(results.getString(1));
            }
            return rows;
        }
    }

    private static Path data(FaultCluster cluster, int node) {
        return Path.of(cluster.node(node).config()).resolveSibling("data");
    }

    private static BackupNote newest(Path backups) throws Exception {
        return BackupNote.read(BackupNote.in(backups).getLast());
    }

    /** The newest has its parts unpacked; and one is damaged for a moment. */
    private static void asOfAnOlderRelease(Path backups) throws Exception {
        List<Path> sorted = BackupNote.in(backups);
        Path base = sorted.getFirst().resolve(BackupNote.COPY);
        byte[] whole = Files.readAllBytes(base);
        byte[] damaged = whole.clone();
        // One bit may make no difference: what is compressed may say the same in two ways.
        Arrays.fill(damaged, damaged.length / 2, damaged.length / 2 + 100, (byte) 0x55);
        Files.write(base, damaged);
        String found = run(Program.FAILURE, "backup", "verify", "--to", backups.toString());
        assertTrue(found.contains("DAMAGED") && found.contains("3 backups, 1 damaged"), found);
        Files.write(base, whole);
        Path old = sorted.getLast();
        Path unpacked = Files.createDirectory(backups.resolve("unpacking"));
        try (InputStream in = Files.newInputStream(old.resolve(BackupNote.COPY))) {
            CopyStream.receive(in, PathDirectory.of(unpacked), BackupNote.PARTS, BackupNote.COMPLETE);
        }
        Trees.delete(old);
        Files.move(unpacked, old);
    }

    /** All nodes are killed, their data is gone, and they begin with what is restored. */
    private static void restore(FaultCluster cluster, Path backups, String engine, String... at) throws Exception {
        cluster.killAll();
        List<String> arguments = new ArrayList<>(List.of("restore", "--from", backups.toString()));
        for (int node : cluster.ids().toArray()) {
            arguments.addAll(List.of("--config", cluster.node(node).config()));
        }
        arguments.addAll(List.of(at));
        String refused = run(Program.FAILURE, arguments.toArray(new String[0]));
        assertTrue(refused.contains("nothing is overwritten"), refused);
        for (int node : cluster.ids().toArray()) {
            for (String part : List.of(engine, "replica", "order")) {
                Trees.delete(data(cluster, node).resolve(part));
            }
        }
        run(Program.OK, arguments.toArray(new String[0]));
        cluster.startAll();
        cluster.awaitReady();
    }

    @ParameterizedTest
    @ValueSource(strings = {"postgres", "h2"})
    void aClusterBeginsWithWhatWasThereAtAPositionAtATimeAndAtTheEnd(String engine) throws Exception {
        ClusterSpec spec = FaultCluster.spec(directory.resolve("nodes"), 2, "si");
        Path backups = directory.resolve("backups");
        String data = spec.directory().toString();
        try (FaultCluster cluster = FaultCluster.start(engine.equals("postgres")
                ? spec
                : FaultCluster.with(spec, ClusterSpec.ENGINE, engine))) {
            cluster.execute(0, "CREATE TABLE note (id int PRIMARY KEY, what varchar(20))",
                    "INSERT INTO note VALUES (1, 'before')");
            boolean several = engine.equals("postgres");
            if (several) {
                cluster.execute(0, "CREATE DATABASE shop");
                cluster.executeIn(0, "shop", "CREATE TABLE note (id int PRIMARY KEY, what text)",
                        "INSERT INTO note VALUES (1, 'in the base')");
            }
            String base = run(Program.OK, "backup", "--data", data, "--to", backups.toString());
            assertTrue(base.contains("a base"), base);
            cluster.execute(1, "SET tutti.acknowledge = 'applied'", "INSERT INTO note VALUES (2, 'kept')");
            cluster.execute(0, "UPDATE note SET what = what || '!' WHERE id = 2");
            if (several) {
                cluster.executeIn(0, "shop", "INSERT INTO note VALUES (2, 'since')");
            }
            String since = run(Program.OK, "backup", "--data", data, "--node", "0", "--to", backups.toString());
            assertTrue(since.contains("what was ordered since"), since);
            BackupNote kept = newest(backups);
            cluster.execute(1, "INSERT INTO note VALUES (3, 'late')");
            if (several) {
                cluster.executeIn(1, "shop", "DELETE FROM note WHERE id = 1");
                cluster.execute(1, "CREATE DATABASE later");
                cluster.executeIn(1, "later", "CREATE TABLE note AS SELECT 1 AS id, 'made since' AS what");
            }
            cluster.execute(0, "DELETE FROM note WHERE id = 1");
            run(Program.OK, "backup", "--data", data, "--node", "0", "--to", backups.toString());
            String verified = run(Program.OK, "backup", "verify", "--to", backups.toString());
            assertTrue(verified.contains("3 backups, 0 damaged"), verified);
            asOfAnOlderRelease(backups);
            String list = run(Program.OK, "restore", "--from", backups.toString(), "--list");
            assertTrue(list.contains("base") && list.contains("log"), list);

            restore(cluster, backups, engine, "--at", String.valueOf(kept.most()));
            for (int node : cluster.ids().toArray()) {
                assertEquals(List.of("before", "kept!"), rows(cluster, node));
            }
            if (several) {
                assertEquals(List.of("in the base", "since"), rows(cluster, 1, "shop"));
                assertThrows(SQLException.class, () -> rows(cluster, 1, "later"));
                cluster.executeIn(1, "shop", "INSERT INTO note VALUES (4, 'another history')");
            }
            cluster.execute(1, "INSERT INTO note VALUES (4, 'another history')");
            restore(cluster, backups, engine, "--at", Instant.ofEpochMilli(kept.millis()).toString());
            assertEquals(List.of("before", "kept!"), rows(cluster, 1));
            restore(cluster, backups, engine);
            for (int node : cluster.ids().toArray()) {
                assertEquals(List.of("kept!", "late"), rows(cluster, node));
                if (several) {
                    assertEquals(List.of("since"), rows(cluster, node, "shop"));
                    assertEquals(List.of("made since"), rows(cluster, node, "later"));
                }
            }
            cluster.execute(1, "INSERT INTO note VALUES (5, 'on')");
            run(Program.OK, "compare", "--data", data);
        }
    }

    /** Before a change, behind it, and with a base of after it; the number of the node that went is still not given again. */
    @Test
    void membersThatWereChangedAreThoseOfThePosition() throws Exception {
        ClusterSpec spec = FaultCluster.with(FaultCluster.spec(directory.resolve("nodes"), 2, "si"),
                ClusterSpec.ENGINE, "h2");
        Path backups = directory.resolve("backups");
        String data = spec.directory().toString();
        try (FaultCluster cluster = FaultCluster.start(spec)) {
            cluster.execute(0, "CREATE TABLE note (id int PRIMARY KEY, what varchar(20))");
            run(Program.OK, "backup", "--data", data, "--to", backups.toString());
            cluster.execute(1, "INSERT INTO note VALUES (1, 'of the first')");
            run(Program.OK, "backup", "--data", data, "--to", backups.toString());
            BackupNote first = newest(backups);
            run(Program.OK, "nodes", "add", "2", "127.0.0.1:1", "--data", data);
            run(Program.OK, "nodes", "remove", "2", "--data", data);
            cluster.execute(1, "SET tutti.acknowledge = 'applied'", "INSERT INTO note VALUES (2, 'changed')");
            run(Program.OK, "backup", "--data", data, "--to", backups.toString());

            restore(cluster, backups, "h2", "--at", String.valueOf(first.most()));
            assertEquals(List.of("of the first"), rows(cluster, 1));
            String begun = run(Program.OK, "nodes", "list", "--data", data);
            assertTrue(begun.contains("as the cluster began"), begun);

            restore(cluster, backups, "h2");
            cluster.execute(1, "INSERT INTO note VALUES (3, 'restored')");
            String again = run(Program.FAILURE, "nodes", "add", "2", "127.0.0.1:1", "--data", data);
            assertTrue(again.contains("numbers are never given again"), again);

            Path later = directory.resolve("later");
            run(Program.OK, "backup", "--data", data, "--to", later.toString());
            cluster.execute(0, "INSERT INTO note VALUES (4, 'lost')");
            restore(cluster, later, "h2");
            cluster.execute(1, "INSERT INTO note VALUES (5, 'on')");
            assertEquals(List.of("of the first", "changed", "restored", "on"), rows(cluster, 1));
            run(Program.OK, "nodes", "add", "3", "127.0.0.1:1", "--data", data);
            run(Program.OK, "compare", "--data", data);
        }
    }

    /** Also that a base is one of a moment, although clients write while it is read. */
    @Test
    void aBaseOfANodeThatIsWrittenToIsOneOfAPosition() throws Exception {
        Path backups = directory.resolve("backups");
        try (FaultCluster cluster = FaultCluster.start(directory.resolve("nodes"), 2)) {
            Ledger.create(cluster);
            try (Ledger ledger = Ledger.run(cluster, 2, 4)) {
                ledger.awaitMore(50);
                run(Program.OK, "backup", "--data", directory.resolve("nodes").toString(), "--node", "1", "--to",
                        backups.toString());
                ledger.awaitMore(50);
                run(Program.OK, "backup", "--data", directory.resolve("nodes").toString(), "--node", "0", "--to",
                        backups.toString());
                ledger.awaitMore(20);
            }
            restore(cluster, backups, "postgres");
            assertEquals(0, cluster.beneathValue(1, "SELECT count(*) FROM account AS a WHERE balance <> 1000"
                    + " + coalesce((SELECT sum(amount) FROM transfer WHERE taker = a.id), 0)"
                    + " - coalesce((SELECT sum(amount) FROM transfer WHERE giver = a.id), 0)"));
            assertTrue(cluster.beneathValue(1, "SELECT count(*) FROM transfer") >= 100);
            cluster.assertSame();
            Ledger.run(cluster, 1, 5).close();
        }
    }

    /** As docs/operations.md has it: one member is left, another one's disk is lost, and the third comes back with what only it and the lost one had. */
    @ParameterizedTest
    @ValueSource(strings = {"postgres", "h2"})
    void aClusterThatHasLostItsMajorityGoesOnWithWhatOneNodeHas(String engine) throws Exception {
        ClusterSpec spec = FaultCluster.spec(directory.resolve("nodes"), 3, "si");
        try (FaultCluster cluster = FaultCluster.start(engine.equals("postgres")
                ? spec
                : FaultCluster.with(spec, ClusterSpec.ENGINE, engine))) {
            cluster.execute(0, "CREATE TABLE note (id int PRIMARY KEY, what varchar(20))",
                    "INSERT INTO note VALUES (1, 'before')");
            cluster.execute(2, "SELECT tutti_wait()", "INSERT INTO note VALUES (2, 'kept')");
            cluster.cluster.kill(2);
            cluster.execute(0, "INSERT INTO note VALUES (3, 'lost')");
            String left = cluster.node(2).config();
            String place = cluster.node(0).config();
            String running = run(Program.FAILURE, "recover", "--config", place);
            assertTrue(running.contains("in use"), running);
            cluster.killAll();
            Trees.delete(data(cluster, 0));

            String looked = run(Program.OK, "recover", "--config", left, "--config", place);
            assertTrue(looked.contains("has most") && looked.contains("Nothing was changed"), looked);
            String few = run(Program.FAILURE, "recover", "--force", "--config", left);
            assertTrue(few.contains("are no majority of [0, 1, 2]"), few);
            String told = run(Program.OK, "recover", "--force", "--config", left, "--config", place);
            assertTrue(told.contains("HISTORY") && told.contains("Members [1] have to be copied"), told);
            for (int node : List.of(0, 2)) {
                cluster.cluster.startNode(node);
            }
            for (int node : List.of(0, 2)) {
                cluster.awaitReady(node);
            }
            cluster.execute(2, "INSERT INTO note VALUES (4, 'on')");

            cluster.cluster.startNode(1);
            cluster.awaitReady(1);
            cluster.execute(1, "SELECT tutti_wait()", "INSERT INTO note VALUES (5, 'with all')");
            cluster.execute(0, "SELECT tutti_wait()");
            for (int node : List.of(0, 1)) {
                assertEquals(List.of("before", "kept", "on", "with all"), rows(cluster, node));
            }
            run(Program.OK, "compare", "--data", spec.directory().toString());
            assertEquals(List.of(), List.copyOf(cluster.deaths));
        }
    }
}
