package tutti.cli;

import java.io.PrintWriter;
import java.util.Optional;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.Option;
import picocli.CommandLine.ScopeType;
import tutti.cli.bench.BenchCommand;
import tutti.cli.calibrate.CalibrateCommand;
import tutti.cli.calibrate.ValidateCommand;
import tutti.cli.flight.FlightCommand;
import tutti.cli.server.NodeServer;
import tutti.cli.sim.SimCommand;

/**
 * The {@code tutti} command. Exit status: 0 it worked, 1 it did not, 2 it was called wrongly. Errors are one or two lines
 * for people, cause and remedy; {@code --verbose} adds the stack trace.
 */
@Command(name = "tutti", mixinStandardHelpOptions = true, scope = ScopeType.INHERIT, description = "Replicates PostgreSQL: several copies of a database, all of which take reads and"
        + " writes, behind the drivers that applications already use.", subcommands = {
                DemoCommand.class, StartCommand.class, StatusCommand.class,
                NodeCommand.class, SecondariesCommand.class, FlightCommand.class,
                BenchCommand.class,
                SimCommand.class,
                CalibrateCommand.class,
                ValidateCommand.class}, versionProvider = Tutti.Version.class, synopsisSubcommandLabel = "COMMAND")
public final class Tutti {
    /** Exit status of a command that did what it was asked, and found all well. */
    public static final int OK = 0;
    /** Exit status of a command that failed, or found something wrong. */
    public static final int FAILURE = 1;
    /** Exit status of a command that was called wrongly. */
    public static final int USAGE = 2;

    @Option(names = "--verbose", scope = ScopeType.INHERIT, description = "Show stack traces of errors, and the log at level INFO.")
    void setVerbose(boolean verbose) {
        this.verbose = verbose;
        if (verbose) {
            System.setProperty("tutti.log", "INFO");
        }
    }

    private boolean verbose;

    /** What runs on a machine: the whole of it is decided by the arguments. */
    public static void main(String[] arguments) {
        System.exit(run(arguments));
    }

    /** Runs a command and returns its exit status. */
    static int run(String... arguments) {
        return commandLine().execute(arguments);
    }

    static CommandLine commandLine() {
        Tutti tutti = new Tutti();
        CommandLine line = new CommandLine(tutti);
        line.setCaseInsensitiveEnumValuesAllowed(true);
        line.setUsageHelpAutoWidth(true);
        line.setUsageHelpLongOptionsMaxWidth(28);
        line.setParameterExceptionHandler((failure, _) -> {
            PrintWriter err = failure.getCommandLine().getErr();
            err.println("tutti: " + failure.getMessage());
            CommandLine.UnmatchedArgumentException.printSuggestions(failure, err);
            err.println("Try `" + failure.getCommandLine().getCommandSpec().qualifiedName() + " --help`.");
            return USAGE;
        });
        line.setExecutionExceptionHandler((failure, command, _) -> {
            PrintWriter err = command.getErr();
            err.println("tutti: " + Failure.explain(failure));
            if (tutti.verbose) {
                failure.printStackTrace(err);
            }
            return failure instanceof Failure known ? known.exitStatus() : FAILURE;
        });
        return line;
    }

    /** The version of this build. */
    static String version() {
        return Optional.ofNullable(Tutti.class.getPackage().getImplementationVersion()).orElse("(not packaged)");
    }

    /** What {@code tutti node} runs. */
    static NodeRuntime nodeRuntime() {
        return new NodeServer();
    }

    /** Versions of everything that matters. */
    static final class Version implements IVersionProvider {
        @Override
        public String[] getVersion() {
            return new String[]{"Tutti " + version(),
                    "Java " + Runtime.version() + " (" + System.getProperty("java.vm.name") + ")"};
        }
    }
}
