package tutti.server;

import picocli.CommandLine.Command;
import tutti.command.Program;

/** The {@code tutti} command of a machine that only runs nodes: with {@code tutti node} and nothing else. */
@Command(subcommands = NodeCommand.class)
public final class NodeProgram extends Program {
    /** What runs on a machine: the whole of it is decided by the arguments. */
    public static void main(String[] arguments) {
        System.exit(new NodeProgram().commandLine().execute(arguments));
    }
}
