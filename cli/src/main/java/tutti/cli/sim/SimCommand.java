package tutti.cli.sim;

import picocli.CommandLine.Command;
import picocli.CommandLine.HelpCommand;
import tutti.eval.FiguresCommand;
import tutti.eval.PredictCommand;
import tutti.eval.RunCommand;
import tutti.eval.network.NetworkCommand;
import tutti.eval.subjects.SubjectsCommand;

/** The group of commands that simulate. */
@Command(name = "sim", description = "Run protocols in a deterministic simulation, under faults, and check every history;"
        + " docs/testing.md says what is checked.", subcommands = {CheckCommand.class, ReplayCommand.class,
                MutantsCommand.class, RunCommand.class, FiguresCommand.class, PredictCommand.class,
                NetworkCommand.class, SubjectsCommand.class,
                ExampleCommand.class, ProgramCommand.class,
                HelpCommand.class}, synopsisSubcommandLabel = "COMMAND")
public final class SimCommand {}
