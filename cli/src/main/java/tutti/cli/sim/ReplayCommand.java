package tutti.cli.sim;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;
import tutti.command.Program;
import tutti.cli.flight.FlightReport;
import tutti.command.Failure;
import tutti.command.QuietLog;
import tutti.command.Screen;
import tutti.core.flight.FlightRecording;
import tutti.sim.world.Mutation;
import tutti.sim.world.ReplayFile;
import tutti.sim.world.ScenarioResult;
import tutti.sim.world.mutant.Mutants;

/** Runs a scenario from a file once more, or a real node's protocol over its flight recording. */
@Command(name = "replay", description = "Run a scenario that `tutti sim check` wrote to a file, and check it; says whether it"
        + " was the same run. Or run a protocol over the flight recording of a real node (`tutti flight`), event by event, and"
        + " compare what it asks for with what it asked for then. Exit status 1 if a check fails or something differs.")
final class ReplayCommand implements Callable<Integer> {
    @Parameters(paramLabel = "FILE", description = "The scenario, or the flight recording.")
    private Path file = Path.of("");

    @Option(names = "--events", paramLabel = "A-B", defaultValue = "", description = "Of a flight recording: show the events with these numbers, with their effects.")
    private String events = "";

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws IOException {
        Screen screen = Screen.standard(spec.commandLine().getOut());
        byte[] bytes = bytes();
        if (FlightRecording.isOne(bytes)) {
            return flight(bytes, screen);
        }
        ReplayFile replay = scenario(bytes);
        try (QuietLog log = new QuietLog()) {
            return scenario(replay, log, screen);
        }
    }

    private int scenario(ReplayFile replay, QuietLog log, Screen screen) {
        ScenarioResult result = mutation(replay).run(replay.scenario());
        if (result.passed()) {
            screen.line(screen.good("passed") + "  " + result.scenario().describe());
            screen.line("  " + result.fingerprint());
            result.checks().forEach(check -> screen.line("  " + check.check() + ": " + check.examined()));
        } else {
            screen.line(screen.bad("FAILED"));
            FailureText.lines(result).forEach(screen::line);
            FailureText.log(log, result, replay.mutant()).forEach(screen::line);
        }
        if (!replay.fingerprint().isEmpty()) {
            screen.line(replay.fingerprint().equals(result.fingerprint())
                    ? "the same run as the one that the file was written from"
                    : screen.notice("another run than the one that the file was written from: ") + replay.fingerprint()
                            + "; the build differs, or the file was changed");
        }
        return result.passed() ? Program.OK : Program.FAILURE;
    }

    private Mutation mutation(ReplayFile replay) {
        try {
            return Mutants.mutation(replay.mutant()).get();
        } catch (IllegalArgumentException unknown) {
            throw Failure.usage(file + ": " + unknown.getMessage(), "");
        }
    }

    private byte[] bytes() throws IOException {
        try {
            return Files.readAllBytes(file);
        } catch (NoSuchFileException missing) {
            throw Failure.usage("there is no file " + file,
                    "name one that `tutti sim check` or `tutti flight` has written");
        }
    }

    private ReplayFile scenario(byte[] bytes) {
        try {
            return ReplayFile.parse(new String(bytes, StandardCharsets.UTF_8));
        } catch (IllegalArgumentException unreadable) {
            throw Failure.usage(file + " is no scenario and no flight recording: " + unreadable.getMessage(), "");
        }
    }

    private int flight(byte[] bytes, Screen screen) {
        long first = 1;
        long last = 0;
        if (!events.isEmpty()) {
            try {
                String[] numbers = events.split("-", 2);
                first = Long.parseLong(numbers[0]);
                last = Long.parseLong(numbers[numbers.length - 1]);
            } catch (NumberFormatException _) {
                throw Failure.usage("--events is '" + events + "'", "give two numbers, such as 100-120");
            }
        }
        return FlightReport.replay(file, bytes, first, last, screen) ? Program.OK : Program.FAILURE;
    }
}
