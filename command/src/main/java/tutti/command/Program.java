package tutti.command;

import java.io.PrintWriter;
import java.util.Optional;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.Option;
import picocli.CommandLine.ScopeType;

/**
 * A program that is called {@code tutti}; subclasses name its subcommands. Exit status: 0 it worked, 1 it did not, 2 it was
 * called wrongly. Errors are one or two lines for people, cause and remedy; {@code --verbose} adds the stack trace.
 */
@Command(name = "tutti", mixinStandardHelpOptions = true, scope = ScopeType.INHERIT, description = "Replicates PostgreSQL: several copies of a database, all of which take reads and"
        + " writes, behind the drivers that applications already use.", versionProvider = Program.Version.class, synopsisSubcommandLabel = "COMMAND")
public abstract class Program {
    /** Exit status of a command that did what it was asked, and found all well. */
    public static final int OK = 0;
    /** Exit status of a command that failed, or found something wrong. */
    public static final int FAILURE = 1;
    /** Exit status of a command that was called wrongly. */
    public static final int USAGE = 2;

    private boolean verbose;

    /** For subclasses. */
    protected Program() {}

    @Option(names = "--verbose", scope = ScopeType.INHERIT, description = "Show stack traces of errors, and the log at level INFO.")
    void setVerbose(boolean verbose) {
        this.verbose = verbose;
        if (verbose) {
            System.setProperty("tutti.log", "INFO");
        }
    }

    /** The program with its subcommands, ready to execute arguments. */
    public final CommandLine commandLine() {
        CommandLine line = new CommandLine(this);
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
            if (verbose) {
                failure.printStackTrace(err);
            }
            return failure instanceof Failure known ? known.exitStatus() : FAILURE;
        });
        return line;
    }

    /** Versions of everything that matters. */
    static final class Version implements IVersionProvider {
        @Override
        public String[] getVersion() {
            String version = Optional.ofNullable(Program.class.getPackage().getImplementationVersion())
                    .orElse("(not packaged)");
            return new String[]{"Tutti " + version,
                    "Java " + Runtime.version() + " (" + System.getProperty("java.vm.name") + ")"};
        }
    }
}
