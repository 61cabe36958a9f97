package tutti.bench;

import picocli.CommandLine.Command;
import picocli.CommandLine.HelpCommand;
import tutti.bench.apply.ApplyCommand;

/** The group of commands that measure. */
@Command(name = "bench", description = "Measure. Every command prints what it ran on; docs/benchmarks.md says how to read"
        + " the results.", subcommands = {OverheadCommand.class, ActiveCommand.class, SqlwareCommand.class,
                CertifyCommand.class,
                OrderCommand.class,
                HeapCommand.class, KernelCommand.class, MacroCommand.class, CaptureCommand.class, RecorderCommand.class,
                ApplyCommand.class,
                ComponentCommand.class, FailoverCommand.class,
                HelpCommand.class}, synopsisSubcommandLabel = "COMMAND")
public final class BenchCommand {}
