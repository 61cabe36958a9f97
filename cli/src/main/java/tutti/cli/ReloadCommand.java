package tutti.cli;

import java.time.Duration;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;
import tutti.cluster.AdminClient;
import tutti.cluster.ChosenNodes;
import tutti.command.Program;
import tutti.command.Screen;

/** Has running nodes read their configuration files again. */
@Command(name = "reload", description = "Have running nodes read their configuration files again, as SIGHUP does. Each says which changes count"
        + " now and which when it is started again. Exit status 1 if a node refuses its file or could not be reached; then it goes on"
        + " as before.")
final class ReloadCommand implements Callable<Integer> {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    @Mixin
    private ChosenNodes nodes = new ChosenNodes();

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws InterruptedException {
        Screen screen = Screen.standard(spec.commandLine().getOut());
        boolean well = true;
        try (AdminClient client = new AdminClient(PATIENCE)) {
            for (ChosenNodes.Chosen node : nodes.all()) {
                AdminClient.Answer answer = client.post(node.url(), "/reload", node.token());
                screen.line("node " + node.name() + ": " + answer.text());
                well &= answer.well();
            }
        }
        return well ? Program.OK : Program.FAILURE;
    }
}
