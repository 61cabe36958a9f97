package tutti.cli;

import picocli.CommandLine.Command;
import tutti.bench.BenchCommand;
import tutti.bench.GridCommand;
import tutti.cli.backup.BackupCommand;
import tutti.cli.compare.CompareCommand;
import tutti.cli.flight.FlightCommand;
import tutti.cli.pack.PackageCommand;
import tutti.cli.sim.SimCommand;
import tutti.cluster.KeysCommand;
import tutti.command.Program;
import tutti.eval.calibrate.CalibrateCommand;
import tutti.eval.calibrate.ValidateCommand;
import tutti.server.NodeCommand;
import tutti.server.RecoverCommand;
import tutti.server.RestoreCommand;

/** The {@code tutti} command with all that it can do. */
@Command(subcommands = {
        DemoCommand.class, TortureCommand.class, StartCommand.class, StatusCommand.class, TopCommand.class,
        NodeCommand.class, KeysCommand.class, SecondariesCommand.class, NodesCommand.class, ParametersCommand.class,
        TablesCommand.class,
        PositionCommand.class,
        ReloadCommand.class,
        CompareCommand.class, ChangesCommand.class, BackupCommand.class, RestoreCommand.class, RecoverCommand.class,
        FlightCommand.class,
        TrainCommand.class, PackageCommand.class,
        BenchCommand.class, GridCommand.class,
        SimCommand.class,
        CalibrateCommand.class,
        ValidateCommand.class})
public final class Tutti extends Program {
    /** What runs on a machine: the whole of it is decided by the arguments. */
    public static void main(String[] arguments) {
        System.exit(new Tutti().commandLine().execute(arguments));
    }
}
