package tutti.cli;

import java.io.PrintWriter;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import tutti.cluster.AdminClient;
import tutti.cluster.ChosenNodes;
import tutti.command.Failure;
import tutti.command.Program;

/** Tells what transactions have changed at a node, a line of JSON for each, in the order in which they committed. */
@Command(name = "changes", description = "Tell what transactions have changed at a PostgreSQL node, a line of JSON for each, in"
        + " the order in which they committed there. From the order (what was captured before the commit; the last few MiB, and"
        + " what comes), or from the server's log (also what was changed without the node; after --begin, and from any position on"
        + " that was not confirmed). Goes on from the position of the last line with --after.")
final class ChangesCommand implements Callable<Integer> {
    private static final Duration WAIT = Duration.ofSeconds(5);
    private static final Duration ONCE = Duration.ofMillis(500);
    private static final Duration PATIENCE = Duration.ofMinutes(2);
    private static final int COUNT = 500;
    private static final Pattern POSITION = Pattern.compile("^\\{\"position\":\"([0-9A-F/]+)\"");
    private static final String NO_CHANGES = "\"changes\":[]";

    /** Where it is read. */
    enum Source {
        ORDER,
        SERVER
    }

    @Mixin
    private ChosenNodes nodes = new ChosenNodes();

    @Option(names = "--source", paramLabel = "order|server", defaultValue = "order", description = "Where to read (default: ${DEFAULT-VALUE}).")
    private Source source = Source.ORDER;

    @Option(names = "--after", paramLabel = "POSITION", description = "Go on behind the transaction whose line has this position, which with"
            + " --source server is thereby confirmed and never told again. Or first: all that there is. Default: first with --source server, otherwise now.")
    private String after = "";

    @Option(names = "--database", paramLabel = "NAME", description = "Which of the cluster's databases; with --source order only. Default: the configured one.")
    private String database = "";

    @Option(names = "--follow", description = "Wait for more.")
    private boolean follow;

    @ArgGroup
    private Server server = new Server();

    @Spec
    private CommandSpec spec;

    /** What the server is to do. */
    static final class Server {
        @Option(names = "--begin", description = "Have the node's server keep what is changed, from now on, until it was read, within"
                + " max_slot_wal_keep_size. Tables tell whole old rows from then on, which makes the server's log longer.")
        private boolean begin;

        @Option(names = "--end", description = "Have it do that no more, and forget what was not read.")
        private boolean end;

        @Option(names = "--state", description = "Tell whether it does, up to which position that was confirmed, and how much of its log it keeps.")
        private boolean state;
    }

    @Override
    public Integer call() throws InterruptedException {
        PrintWriter out = spec.commandLine().getOut();
        List<ChosenNodes.Chosen> chosen = nodes.all();
        if (chosen.size() != 1 && (server.begin || server.end || source == Source.SERVER)) {
            throw Failure.usage("each node has a server, and a log, of its own", "name one, with --node or --url");
        }
        ChosenNodes.Chosen node = chosen.getFirst();
        try (AdminClient client = new AdminClient(PATIENCE)) {
            if (server.begin || server.end || server.state) {
                out.println(ask(client, node, server.begin ? "do=begin" : server.end ? "do=end" : "do=state"));
                out.flush();
                return Program.OK;
            }
            read(client, node, out);
        }
        return Program.OK;
    }

    private void read(AdminClient client, ChosenNodes.Chosen node, PrintWriter out) throws InterruptedException {
        String from = !after.isEmpty() ? after : source == Source.SERVER ? "first" : follow ? "now" : "first";
        boolean more = true;
        String confirmed = after.matches(".*\\d.*") ? "&confirm=" + after : "";
        while (more) {
            String lines = ask(client, node,
                    "do=read&source=" + source.name().toLowerCase(Locale.ROOT) + "&after=" + from
                            + confirmed + "&database=" + URLEncoder.encode(database, StandardCharsets.UTF_8) + "&count="
                            + COUNT + "&wait=" + (follow ? WAIT.toMillis() : ONCE.toMillis()));
            for (String line : lines.lines().toList()) {
                Matcher position = POSITION.matcher(line);
                if (!position.find()) {
                    throw new Failure("the node answers what this program does not understand: " + line, "");
                }
                from = position.group(1);
                if (!line.contains(NO_CHANGES)) {
                    out.println(line);
                }
            }
            out.flush();
            if (out.checkError()) {
                throw new Failure("what is told cannot be written; the last that was is at position " + from, "");
            }
            if (follow && POSITION.matcher(lines).find()) {
                confirmed = "&confirm=" + from;
            }
            more = follow || !lines.isEmpty();
        }
    }

    private static String ask(AdminClient client, ChosenNodes.Chosen node, String what) throws InterruptedException {
        AdminClient.Answer answer = client.post(node.url(), "/changes?" + what, node.token());
        if (!answer.well()) {
            throw new Failure("node " + node.name() + ": " + answer.text(), "");
        }
        return answer.text();
    }
}
