package tutti.cli.flight;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;
import tutti.cluster.AdminClient;
import tutti.cluster.ChosenNodes;
import tutti.command.Program;
import tutti.command.Screen;

/** Has running nodes write flight recordings. */
@Command(name = "flight", description = "Have the running nodes of a cluster write what their flight recorders keep to files,"
        + " which `tutti sim replay` replays. Exit status 1 if a node has written none.")
public final class FlightCommand implements Callable<Integer> {
    private static final Duration PATIENCE = Duration.ofMinutes(1);

    @Mixin
    private ChosenNodes nodes = new ChosenNodes();

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws InterruptedException {
        Screen screen = Screen.standard(spec.commandLine().getOut());
        List<List<String>> rows = new ArrayList<>();
        boolean all = true;
        try (AdminClient client = new AdminClient(PATIENCE)) {
            for (ChosenNodes.Chosen node : nodes.all()) {
                AdminClient.Answer answer = client.post(node.url(), "/flight-recording", node.token());
                all &= answer.well();
                rows.add(List.of(node.url(), answer.text()));
            }
        }
        Screen.table(rows).forEach(screen::line);
        return all ? Program.OK : Program.FAILURE;
    }
}
