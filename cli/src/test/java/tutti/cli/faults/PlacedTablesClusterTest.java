package tutti.cli.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import tutti.cli.Tutti;
import tutti.command.Program;
import tutti.command.Trees;

/** A table that two of three real nodes keep. */
@Tag("long")
class PlacedTablesClusterTest {
    @TempDir
    private Path directory;

    @Test
    @Timeout(300)
    void whoLacksATableRefusesItAndTheOthersStayEqual() throws Exception {
        try (FaultCluster cluster = FaultCluster.start(directory, 3)) {
            cluster.execute(0, "create table events (id int primary key, what text)",
                    "create table shops (id int primary key, name text)",
                    "insert into events select i, 'before' from generate_series(1, 100) i",
                    "insert into shops values (1, 'all have it')");
            assertTrue(
                    tutti(Program.FAILURE, "tables", "place", "nothing", "--nodes", "0,2").contains("does not exist"));
            assertTrue(tutti(Program.FAILURE, "tables", "place", "events", "--nodes", "0").contains("give a copy"));
            String placed = tutti(Program.OK, "tables", "place", "events", "--nodes", "0,2");
            assertTrue(placed.contains("public.events") && placed.contains("0,2") && !placed.contains("being placed"),
                    placed);
            assertTrue(tutti(Program.OK, "status").contains("lacks: public.events"));
            cluster.executeIn(1, "postgres", "create database shop");
            cluster.executeIn(0, "shop", "create table events (id int primary key, what text)",
                    "insert into events select i, 'in the shop' from generate_series(1, 7) i");
            assertTrue(tutti(Program.OK, "tables", "place", "events", "--nodes", "0,2", "--database", "shop")
                    .matches("(?s).*\"shop\".public.events +0,2 .*"));
            // A transaction that names both tables executes at a keeper, and the third node makes its part of it.
            cluster.execute(2, "begin", "update events set what = 'after' where id <= 10",
                    "update shops set name = 'and has this'", "commit");
            SQLException refused = assertThrows(SQLException.class, () -> cluster.execute(1, "select * from events"));
            assertEquals("0A000", refused.getSQLState());
            assertTrue(String.valueOf(refused.getMessage()).contains("only on nodes 0, 2"), refused.getMessage());
            assertThrows(SQLException.class, () -> cluster.execute(1, "insert into events values (1000, 'here')"));
            cluster.execute(1, "update shops set name = name || ', too'");

            cluster.cluster.kill(1);
            cluster.execute(0, "insert into events select i, 'without' from generate_series(101, 200) i",
                    "insert into shops values (2, 'new')");
            cluster.cluster.startNode(1);
            cluster.awaitReady();
            cluster.cluster.kill(2);
            cluster.execute(0, "delete from events where id > 150");
            cluster.cluster.startNode(2);
            cluster.awaitReady();
            cluster.executeIn(0, "shop", "insert into events values (8, 'here')");
            assertEquals("0A000", assertThrows(SQLException.class,
                    () -> cluster.executeIn(1, "shop", "table events")).getSQLState());
            assertEquals("55006", assertThrows(SQLException.class,
                    () -> cluster.executeIn(0, "tutti", "drop database shop")).getSQLState());
            assertEquals("0A000",
                    assertThrows(SQLException.class, () -> cluster.execute(1, "table events")).getSQLState());
            // The schema changes everywhere, also where the table is empty.
            cluster.execute(0, "alter table events add column more int default 7");
            cluster.execute(2, "begin", "create index on events (what)", "commit");
            cluster.execute(2, "insert into events values (1000, 'last', 8)");
            FaultCluster.await("equal nodes", () -> same());
            assertEquals(150 + 1, count(cluster, 0));
            assertEquals(150 + 1, count(cluster, 2));
            assertEquals(0, cluster.beneathValue(1, "select pg_relation_size('events')"));

            assertTrue(tutti(Program.FAILURE, "nodes", "remove", "9").contains("there is no node 9"));
            assertTrue(tutti(Program.FAILURE, "tables", "place", "events", "--nodes", "all")
                    .contains("that is forgotten of a table that does not exist"));
            String brought = tutti(Program.OK, "tables", "place", "events", "--nodes", "0,1,2");
            assertTrue(brought.contains("being placed"), brought);
            FaultCluster.await("its rows at node 1",
                    () -> run("tables", "list").text().matches("(?s).*events\\s+0,1,2\\s.*placed.*"));
            cluster.awaitReady();
            cluster.execute(1, "insert into events values (1001, 'at the new keeper', 9)");
            assertEquals(152, count(cluster, 1));
            FaultCluster.await("equal nodes", () -> same());
            assertTrue(!tutti(Program.OK, "status").contains("lacks: public.events"));
            cluster.executeIn(2, "shop", "drop table events");
            tutti(Program.OK, "tables", "place", "events", "--nodes", "all", "--database", "shop");
            assertTrue(!tutti(Program.OK, "status").contains("lacks"));
            cluster.executeIn(2, "tutti", "drop database shop");
            cluster.execute(1, "drop table events");
            assertTrue(tutti(Program.OK, "tables", "place", "events", "--nodes", "all").contains("all nodes keep all"));
            cluster.execute(1, "create table events (id int primary key)", "insert into events values (1)");
            FaultCluster.await("equal nodes", () -> same());
            cluster.assertSame();
        }
    }

    /** What a node lacks it does not give to others, and what it has is not taken for all there is. */
    @Test
    @Timeout(400)
    void copiesAndBackupsAreOfNodesThatKeepWhatIsWanted() throws Exception {
        String backups = directory.resolve("backups").toString();
        try (FaultCluster cluster = FaultCluster.start(directory, 3)) {
            cluster.execute(0, "create table events (id int primary key, what text)",
                    "create table shops (id int primary key, name text)",
                    "insert into events select i, 'before' from generate_series(1, 100) i");
            tutti(Program.OK, "tables", "place", "events", "--nodes", "0,2");
            String lacking = tutti(Program.OK, "backup", "--to", backups, "--node", "1");
            assertTrue(lacking.contains("it lacks tables that node node-1 does not keep: public.events"), lacking);

            cluster.cluster.kill(0);
            String config = cluster.node(0).config();
            String refused = run(List.of("node", "--config", config, "--copy-from", cluster.node(1).name())).text();
            assertTrue(refused.contains("only nodes [2] can give it a copy"), refused);
            String given = run(List.of("node", "--config", config, "--copy-from", "any")).text();
            assertTrue(given.contains("holds a copy now"), given);
            cluster.cluster.startNode(0);
            cluster.awaitReady();
            assertEquals(100, count(cluster, 0));
            // From a keeper to a node that lacks the table.
            cluster.cluster.kill(1);
            Trees.delete(data(cluster, 1));
            cluster.execute(0, "insert into events values (101, 'meanwhile')");
            cluster.cluster.startNode(1);
            cluster.awaitReady();
            assertElsewhere(cluster);

            // Two bases of one position.
            tutti(Program.OK, "backup", "--to", backups, "--node", "1", "--base");
            String whole = tutti(Program.OK, "backup", "--to", backups, "--node", "2", "--base");
            assertTrue(whole.contains("a base") && !whole.contains("lacks"), whole);
            cluster.killAll();
            List<String> restore = new ArrayList<>(List.of("restore", "--from", backups));
            for (int node : cluster.ids().toArray()) {
                restore.addAll(List.of("--config", cluster.node(node).config()));
                for (String part : List.of("postgres", "replica", "order")) {
                    Trees.delete(data(cluster, node).resolve(part));
                }
            }
            Ran restored = run(restore);
            assertEquals(Program.OK, restored.status(), restored::text);
            cluster.startAll();
            cluster.awaitReady();
            cluster.execute(2, "insert into events values (102, 'after')");
            FaultCluster.await("equal nodes", () -> same());
            assertEquals(102, count(cluster, 0));
            assertElsewhere(cluster);
        }
    }

    private static void assertElsewhere(FaultCluster cluster) throws SQLException {
        assertEquals("0A000", assertThrows(SQLException.class, () -> cluster.execute(1, "table events")).getSQLState());
        assertEquals(0, cluster.beneathValue(1, "select pg_relation_size('events')"));
    }

    private static Path data(FaultCluster cluster, int node) {
        return Path.of(cluster.node(node).config()).resolveSibling("data");
    }

    private static long count(FaultCluster cluster, int node) throws SQLException {
        try (Connection connection = cluster.connect(node);
                ResultSet row = connection.createStatement().executeQuery("select count(*) from events")) {
            row.next();
            return row.getLong(1);
        }
    }

    private boolean same() {
        return run("compare").status() == Program.OK;
    }

    private String tutti(int status, String... arguments) {
        Ran ran = run(arguments);
        assertEquals(status, ran.status(), () -> List.of(arguments) + ": " + ran.text());
        return ran.text();
    }

    private record Ran(int status, String text) {}

    private Ran run(String... arguments) {
        List<String> line = new ArrayList<>(List.of(arguments));
        line.addAll(List.of("--data", directory.toString()));
        return run(line);
    }

    private static Ran run(List<String> line) {
        StringWriter out = new StringWriter();
        PrintWriter writer = new PrintWriter(out);
        int status = new CommandLine(new Tutti()).setOut(writer).setErr(writer)
                .setExecutionExceptionHandler((failed, _, _) -> {
                    writer.println(failed.getMessage());
                    return Program.FAILURE;
                }).execute(line.toArray(new String[0]));
        return new Ran(status, out.toString());
    }
}
