package tutti.cli.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tutti.cli.Tutti;
import tutti.cluster.ClusterSpec;
import tutti.command.Program;
import tutti.engine.jdbc.EmbeddedDatabase;
import tutti.engine.jdbc.SqlSyntax;
import tutti.engine.jdbc.h2.H2Database;
import tutti.engine.jdbc.hsqldb.HsqldbDatabase;

/** {@code tutti compare} on clusters that are written to. */
@Tag("long")
class CompareTest {
    @TempDir
    private Path directory;
    private final StringWriter out = new StringWriter();

    private int compare(Path data, String... more) {
        out.getBuffer().setLength(0);
        List<String> arguments = new ArrayList<>(List.of("compare", "--data", data.toString()));
        arguments.addAll(List.of(more));
        PrintWriter writer = new PrintWriter(out);
        return new CommandLine(new Tutti()).setOut(writer).setErr(writer).execute(arguments.toArray(new String[0]));
    }

    @Test
    void aDifferenceBehindANodesBackIsNamedWhileClientsWork() throws Exception {
        try (FaultCluster cluster = FaultCluster.start(directory, 3)) {
            cluster.execute(0, "CREATE TABLE item (id int, part int, what text, PRIMARY KEY (id, part))",
                    "INSERT INTO item SELECT i, i % 7, repeat(md5(i::text), 10) FROM generate_series(1, 20000) i",
                    "CREATE TABLE \"Odd & name\" (v text)",
                    "ALTER TABLE \"Odd & name\" REPLICA IDENTITY FULL",
                    "INSERT INTO \"Odd & name\" VALUES ('a'), ('a'), (NULL)");
            Ledger.create(cluster);
            try (Ledger ledger = Ledger.run(cluster, 1, 2)) {
                ledger.awaitMore(20);
                assertEquals(Program.OK, compare(directory), out::toString);
                assertTrue(out.toString().contains("identical"), out::toString);
                try (Connection beneath = cluster.beneath(1); Statement statement = beneath.createStatement()) {
                    statement.execute("SET session_replication_role = replica; SET event_triggers = off");
                    statement.execute("UPDATE item SET what = 'planted' WHERE id = 4711");
                    statement.execute("DELETE FROM item WHERE id = 12");
                    statement.execute("INSERT INTO \"Odd & name\" VALUES ('a')");
                    statement.execute("CREATE INDEX planted ON item (what)");
                }
                ledger.awaitMore(5);
                assertEquals(Program.FAILURE, compare(directory), out::toString);
                String told = out.toString();
                assertTrue(told.contains("public.item (4711,0): nodes 0 node-0, 2 node-2 | node 1 node-1"), told);
                assertTrue(told.contains("public.item (12,5): there at nodes 0 node-0, 2 node-2; not there at node 1"),
                        told);
                assertTrue(told.contains("public.\"Odd & name\" (a)"), told);
                assertTrue(told.contains("planted"), told);
                assertFalse(told.contains("ledger"), told);
                assertEquals(Program.FAILURE, compare(directory, "--json"), out::toString);
                JsonNode json = JsonMapper.shared().readTree(out.toString());
                assertTrue(json.get("position").asLong() > 0, out::toString);
                assertEquals(4, json.get("differences").size(), out::toString);
                ledger.awaitMore(20);
                assertEquals(Program.OK, compare(directory, "--node", "0", "--node", "2"), out::toString);
                cluster.cluster.kill(2);
                assertEquals(Program.FAILURE, compare(directory, "--node", "0", "--node", "2"), out::toString);
                assertTrue(out.toString().contains("two nodes that serve are needed"), out::toString);
            }
        }
    }

    @Test
    void nodesWithDatabasesOfTheirOwnAreComparedAsWell() throws Exception {
        for (String engine : List.of("h2", "hsqldb")) {
            Path data = directory.resolve(engine);
            ClusterSpec spec = FaultCluster.with(FaultCluster.spec(data, 2, "si"), ClusterSpec.ENGINE, engine);
            try (FaultCluster cluster = FaultCluster.start(spec)) {
                cluster.execute(0, "CREATE TABLE item (id bigint PRIMARY KEY, what varchar(20))");
                for (int i = 0; i < 50; i++) {
                    cluster.execute(i % 2, "INSERT INTO item VALUES (" + i + ", 'before')");
                }
                assertEquals(Program.OK, compare(data), out::toString);
                assertTrue(cluster.cluster.stop(1, FaultCluster.PATIENCE));
                plant(engine, Path.of(cluster.node(1).config()).resolveSibling("data").resolve(engine)
                        .resolve("database"));
                cluster.cluster.startNode(1);
                cluster.awaitReady(1);
                assertEquals(Program.FAILURE, compare(data), out::toString);
                assertTrue(out.toString().toLowerCase(Locale.ROOT).contains("\"item\" (17)"), out::toString);
            }
        }
    }

    private static void plant(String engine, Path files) throws Exception {
        try (EmbeddedDatabase database = engine.equals("h2")
                ? H2Database.inFile(files, SqlSyntax.POSTGRES)
                : HsqldbDatabase.inFiles(files, SqlSyntax.POSTGRES);
                EmbeddedDatabase.Session session = database.openApplier();
                Statement statement = session.connection().createStatement()) {
            assertEquals(1, statement.executeUpdate("UPDATE item SET what = 'planted' WHERE id = 17"));
            session.commit();
        }
    }
}
