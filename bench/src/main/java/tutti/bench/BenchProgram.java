package tutti.bench;

import picocli.CommandLine.Command;
import tutti.command.Program;

/** The {@code tutti} command with {@code tutti bench} and nothing else, for measurements in virtual machines of their own. */
@Command(subcommands = BenchCommand.class)
public final class BenchProgram extends Program {
    /** What runs on a machine: the whole of it is decided by the arguments. */
    public static void main(String[] arguments) {
        System.exit(new BenchProgram().commandLine().execute(arguments));
    }
}
