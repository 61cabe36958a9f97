package tutti.bench;

import picocli.CommandLine.Command;
import picocli.CommandLine.HelpCommand;

/** The group of commands about the grid. */
@Command(name = "grid", description = "The partially replicated transactional key/value store.", subcommands = {
        GridBenchCommand.class, HelpCommand.class}, synopsisSubcommandLabel = "COMMAND")
public final class GridCommand {}
