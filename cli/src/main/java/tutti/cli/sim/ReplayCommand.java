package tutti.cli.sim;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;
import tutti.cli.Failure;
import tutti.cli.Screen;
import tutti.cli.Tutti;
import tutti.sim.world.Mutation;
import tutti.sim.world.ReplayFile;
import tutti.sim.world.ScenarioResult;
import tutti.sim.world.ScenarioRun;
import tutti.sim.world.mutant.Mutants;

/** Runs a scenario from a file once more. */
@Command(name = "replay", description = "Run a scenario that `tutti sim check` wrote to a file, and check it. Says whether it"
        + " was the same run. Exit status 1 if a check fails.")
final class ReplayCommand implements Callable<Integer> {
    @Parameters(paramLabel = "FILE", description = "The scenario.")
    private Path file = Path.of("");

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws IOException {
        Screen screen = Screen.standard(spec.commandLine().getOut());
        ReplayFile replay = read();
        ScenarioResult result = ScenarioRun.run(replay.scenario(), mutation(replay));
        if (result.passed()) {
            screen.line(screen.good("passed") + "  " + result.scenario().describe());
            screen.line("  " + result.fingerprint());
            result.checks().forEach(check -> screen.line("  " + check.check() + ": " + check.examined()));
        } else {
            screen.line(screen.bad("FAILED"));
            FailureText.lines(result).forEach(screen::line);
        }
        if (!replay.fingerprint().isEmpty()) {
            screen.line(replay.fingerprint().equals(result.fingerprint())
                    ? "the same run as the one that the file was written from"
                    : screen.notice("another run than the one that the file was written from: ") + replay.fingerprint()
                            + "; the build differs, or the file was changed");
        }
        return result.passed() ? Tutti.OK : Tutti.FAILURE;
    }

    private Mutation mutation(ReplayFile replay) {
        try {
            return Mutants.mutation(replay.mutant()).get();
        } catch (IllegalArgumentException unknown) {
            throw Failure.usage(file + ": " + unknown.getMessage(), "");
        }
    }

    private ReplayFile read() throws IOException {
        try {
            return ReplayFile.parse(Files.readString(file));
        } catch (NoSuchFileException missing) {
            throw Failure.usage("there is no file " + file, "name one that `tutti sim check` has written");
        } catch (IllegalArgumentException unreadable) {
            throw Failure.usage(file + " is no scenario: " + unreadable.getMessage(), "");
        }
    }
}
