package tutti.cli;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;
import tutti.cluster.ChosenNodes;
import tutti.command.Failure;
import tutti.command.Program;
import tutti.command.Screen;
import tutti.server.http.NodeStatus;
import tutti.server.http.StatusJson;

/** Shows which tables of a cluster are kept on some nodes only, and places them while it serves. */
@Command(name = "tables", subcommands = {TablesCommand.ListAll.class,
        TablesCommand.Place.class}, description = "Tables that are kept on some nodes only. All others are on all nodes.")
final class TablesCommand {
    private static final String PATH = "/tables";
    /** No period but in quotation marks. */
    private static final Pattern WITHOUT_SCHEMA = Pattern.compile("(?:[^\".]|\"[^\"]*\")*");

    private TablesCommand() {}

    private static void print(Screen screen, List<NodeStatus.PlacedTable> tables) {
        if (tables.isEmpty()) {
            screen.line("all nodes keep all tables");
            return;
        }
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("table", "kept on nodes", "since position", "state"));
        tables.forEach(each -> rows.add(List.of(each.name(),
                each.nodes().stream().map(String::valueOf).collect(Collectors.joining(",")),
                String.valueOf(each.since()), each.made() ? "placed" : "being placed")));
        Screen.table(rows).forEach(screen::line);
    }

    /** Shows them. */
    @Command(name = "list", description = "Show them, as the first node that answers knows them. Exit status 1 if none does.")
    static final class ListAll extends ShowingCommand<List<NodeStatus.PlacedTable>> {
        ListAll() {
            super(PATH, "no node says where tables are kept");
        }

        @Override
        List<NodeStatus.PlacedTable> read(String text) {
            return StatusJson.readTables(text);
        }

        @Override
        void show(Screen screen, List<NodeStatus.PlacedTable> now) {
            print(screen, now);
        }
    }

    /** Places some. */
    @Command(name = "place", description = "Keep tables on some nodes only, from one position of the order on, while the cluster serves: the others drop"
            + " their rows, and refuse statements that name them. Tables that foreign keys join are placed together. Two nodes at least"
            + " keep each. A node that is named and does not have the rows begins anew with a copy of another one's database: one"
            + " node at a time, in a cluster of three or more. Exit status 1 if they stay where they are.")
    static final class Place implements Callable<Integer> {
        @Mixin
        private ChosenNodes nodes = new ChosenNodes();

        @Parameters(paramLabel = "TABLE", arity = "1..*", description = "Such as public.events.")
        private List<String> tables = List.of();

        @Option(names = "--nodes", paramLabel = "N,N", required = true, description = "Ids of the nodes that keep them, as in 0,2;"
                + " 'all' to forget where a table was that has been dropped.")
        private String keepers = "";

        @Option(names = "--database", paramLabel = "NAME", description = "Which of the cluster's databases they are of. Default: the configured one.")
        private String database = "";

        @Spec
        private CommandSpec spec;

        /** With its database before its schema, if that is not the configured one. */
        private String named(String table) {
            return database.isEmpty()
                    ? table
                    : '"' + database.replace("\"", "\"\"") + "\"."
                            + (WITHOUT_SCHEMA.matcher(table).matches() ? "public." : "") + table;
        }

        @Override
        public Integer call() throws InterruptedException {
            if (!keepers.matches("all|\\d{1,3}(,\\d{1,3})*")) {
                throw Failure.usage("--nodes must be ids of nodes, as in 0,2, or 'all', was '" + keepers + "'", "");
            }
            String query = "?nodes=" + keepers + tables.stream()
                    .map(each -> "&table=" + URLEncoder.encode(named(each), StandardCharsets.UTF_8))
                    .collect(Collectors.joining());
            print(Screen.standard(spec.commandLine().getOut()), StatusJson.readTables(nodes
                    .first(true, PATH + query, ShowingCommand.PATIENCE, "the tables stay where they are").text()));
            return Program.OK;
        }
    }
}
