package tutti.cli;

import java.time.Duration;
import java.util.concurrent.Callable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import tutti.cluster.ChosenNodes;
import tutti.command.Program;
import tutti.command.Screen;

/** Shows what the first node that answers says of the whole cluster: as JSON, or in words. */
abstract class ShowingCommand<T> implements Callable<Integer> {
    /** So long each node is given to answer. */
    static final Duration PATIENCE = Duration.ofSeconds(15);

    private final String path;
    private final String otherwise;

    @Mixin
    private ChosenNodes nodes = new ChosenNodes();

    @Option(names = "--json", description = "Print JSON.")
    private boolean json;

    @Spec
    private CommandSpec spec;

    /**
     * @param path at a node's admin HTTP
     * @param otherwise what to tell people if no node answers
     */
    ShowingCommand(String path, String otherwise) {
        this.path = path;
        this.otherwise = otherwise;
    }

    /** Reads an answer. */
    abstract T read(String text);

    /** Says it in words. */
    abstract void show(Screen screen, T now);

    @Override
    public final Integer call() throws InterruptedException {
        Screen screen = Screen.standard(spec.commandLine().getOut());
        String text = nodes.first(false, path, PATIENCE, otherwise).text();
        T now = read(text);
        if (json) {
            screen.line(text.strip());
        } else {
            show(screen, now);
        }
        return Program.OK;
    }
}
