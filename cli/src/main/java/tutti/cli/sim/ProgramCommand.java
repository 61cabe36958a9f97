package tutti.cli.sim;

import java.io.File;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import tutti.command.Program;
import tutti.command.Failure;
import tutti.minha.Simulation;
import tutti.minha.rewrite.UnchangedProgram;
import tutti.sim.host.Host;
import tutti.sim.host.HostConfig;
import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.Label;
import tutti.sim.kernel.Nanos;
import tutti.sim.kernel.SimulationFailure;
import tutti.sim.net.Impairment;
import tutti.sim.net.LinkConfig;
import tutti.sim.net.Segment;

/** Runs anybody's programs for the JDK in the simulation. */
@Command(name = "program", description = "Run programs that were compiled for the JDK in the simulation, unchanged, each in a"
        + " process of its own on a machine of its own; docs/simulation-library.md says what is simulated.")
final class ProgramCommand implements Callable<Integer> {
    private static final Label FAULT = Label.of("cli", "fault");
    private static final Pattern CRASH = Pattern.compile("([^@]+)@([0-9.]+[a-z]+)(?:-([0-9.]+[a-z]+))?");
    private static final int WORDS_MIN = 2;

    @Option(names = "--class-path", paramLabel = "PATH", required = true, description = "Jars and directories of the programs.")
    private String classPath = "";

    @Option(names = "--run", paramLabel = "'MACHINE MAIN ARGUMENT...'", required = true, description = "A process: the name of its machine, its main class and arguments, separated by blanks. May be repeated.")
    private List<String> runs = List.of();

    @Option(names = "--seed", paramLabel = "N", defaultValue = "1", description = "What everything random follows from (default: ${DEFAULT-VALUE}).")
    private long seed;

    @Option(names = "--until", paramLabel = "TIME", defaultValue = "60s", description = "Virtual time at which it ends at the latest (default: ${DEFAULT-VALUE}).")
    private String until = "";

    @Option(names = "--latency", paramLabel = "TIME", defaultValue = "50us", description = "Of messages between machines (default: ${DEFAULT-VALUE}).")
    private String latency = "";

    @Option(names = "--loss", paramLabel = "RATE", defaultValue = "0", description = "Probability that a message is lost (default: ${DEFAULT-VALUE}).")
    private double loss;

    @Option(names = "--crash", paramLabel = "MACHINE@TIME[-TIME]", description = "A machine crashes, and boots again at the second time. May be repeated.")
    private List<String> crashes = List.of();

    @Option(names = "--tick", paramLabel = "TIME", defaultValue = "3ns", description = "CPU time of a bit of work: a method's beginning or a round of a loop (default: ${DEFAULT-VALUE}).")
    private String tick = "";

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() {
        PrintWriter out = spec.commandLine().getOut();
        try (Simulation simulation = new Simulation(seed)) {
            simulation.setConsole((jvm, line) -> out.println(jvm.machine().name() + ": " + line));
            build(simulation);
            simulation.runFor(Duration.ofNanos(Nanos.parse(until)));
            String threads = simulation.describe();
            if (!threads.isEmpty()) {
                out.println("still there: " + threads.replace("\n", ", "));
            }
            out.println(simulation.fingerprint());
            out.flush();
            return Program.OK;
        } catch (IllegalArgumentException wrong) {
            throw Failure.usage(String.valueOf(wrong.getMessage()), "");
        } catch (SimulationFailure failure) {
            out.flush();
            throw new Failure(String.valueOf(failure.getMessage()), "", failure);
        }
    }

    private void build(Simulation simulation) {
        LinkConfig line = LinkConfig.LAN.withLatency(new Distribution.Constant(Nanos.parse(latency)));
        Segment lan = simulation.network().segment("lan", line);
        List<Path> paths = Arrays.stream(classPath.split(Pattern.quote(File.pathSeparator), -1)).map(Path::of).toList();
        if (!(loss >= 0 && loss < 1)) {
            throw new IllegalArgumentException("--loss " + loss + " is not at least 0 and below 1");
        }
        if (loss > 0) {
            simulation.network().impair(
                    new Impairment(List.of("*"), List.of("*"), new Impairment.Effect.Lose(loss)),
                    simulation.kernel().random("loss"));
        }
        for (String run : runs) {
            String[] words = run.strip().split("\\s+", -1);
            if (words.length < WORDS_MIN) {
                throw new IllegalArgumentException("--run '" + run + "' names no machine and main class");
            }
            String name = words[0];
            if (simulation.find(name) == null) {
                simulation.machine(name, "10.0.0." + (simulation.machines().size() + 1), lan, HostConfig.DEFAULT);
            }
            String main = words[1];
            UnchangedProgram program = UnchangedProgram.of(paths, main).withNanosPerTick(Nanos.parse(tick));
            simulation.machine(name).runFresh(main.substring(main.lastIndexOf('.') + 1), program::newProcess,
                    Arrays.copyOfRange(words, WORDS_MIN, words.length));
        }
        crashes.forEach(crash -> crash(simulation, crash));
    }

    private static void crash(Simulation simulation, String text) {
        Matcher matcher = CRASH.matcher(text);
        if (!matcher.matches() || simulation.find(matcher.group(1)) == null) {
            throw new IllegalArgumentException("--crash '" + text + "' is not of the form MACHINE@TIME or"
                    + " MACHINE@TIME-TIME with a machine that --run names");
        }
        Host host = simulation.machine(matcher.group(1)).host();
        simulation.kernel().schedule(Nanos.parse(matcher.group(2)), FAULT, host::crash);
        @Nullable
        String back = matcher.group(3);
        if (back != null) {
            simulation.kernel().schedule(Nanos.parse(back), FAULT, () -> {
                if (host.state() == Host.State.DOWN) {
                    host.boot();
                }
            });
        }
    }
}
