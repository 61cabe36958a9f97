package tutti.minha.example;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import tutti.minha.Program;
import tutti.minha.Simulation;
import tutti.minha.rewrite.UnchangedProgram;
import tutti.sim.host.HostConfig;
import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.Nanos;
import tutti.sim.net.LinkConfig;
import tutti.sim.net.Segment;

/** A program of this package with the world that it runs in. */
public enum Example {
    /** Datagrams. */
    HELLO("two machines, five milliseconds apart, say hello to each other in datagrams (D5.1, C.3)",
            simulation -> hello(simulation, () -> Hello::main)),
    /** Tasks with times. */
    TIMER("a task every ten milliseconds, and after a hundred its end (D5.1, C.4)",
            simulation -> simulation.machine("a").run("timer", Timer::main)),
    /** Locks. */
    LOCKS("two threads that take turns under a lock (D5.1, C.5)",
            simulation -> simulation.machine("a").run("locks", Locks::main)),
    /** Datagrams, by a program for the JDK. */
    PLAIN_HELLO("the first as it is written for the JDK, its class file rewritten when it is loaded",
            simulation -> hello(simulation, plain(tutti.minha.example.plain.Hello.class))),
    /** Tasks with times, by a program for the JDK. */
    PLAIN_TIMER("the second likewise", simulation -> simulation.machine("a").runFresh("timer",
            plain(tutti.minha.example.plain.Timer.class))),
    /** Locks, by a program for the JDK. */
    PLAIN_LOCKS("the third likewise; its loop takes time because its rounds are counted",
            simulation -> simulation.machine("a").runFresh("locks", plain(tutti.minha.example.plain.Locks.class)));

    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final String description;
    @SuppressWarnings("ImmutableEnumChecker")
    private final Consumer<Simulation> builder;

    Example(String description, Consumer<Simulation> builder) {
        this.description = description;
        this.builder = builder;
    }

    private static Supplier<Program> plain(Class<?> main) {
        UnchangedProgram program = UnchangedProgram.of(main.getClassLoader(), main.getName());
        return program::newProcess;
    }

    private static void hello(Simulation simulation, Supplier<Program> program) {
        LinkConfig line = LinkConfig.LAN.withLatency(new Distribution.Constant(5 * Nanos.MILLI));
        Segment lan = simulation.network().segment("lan", line);
        simulation.machine("a", "10.0.0.1", lan, HostConfig.DEFAULT).runFresh("hello", program, "10.0.0.2");
        simulation.machine("b", "10.0.0.2", lan, HostConfig.DEFAULT).runFresh("hello", program, "10.0.0.1");
    }

    /** What it is called on a command line. */
    public String title() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /** What it shows. */
    public String description() {
        return description;
    }

    /** All titles. */
    public static List<String> titles() {
        return Arrays.stream(values()).map(Example::title).toList();
    }

    /**
     * The example of a title.
     *
     * @throws IllegalArgumentException if there is none; its message names all
     */
    public static Example of(String title) {
        return Arrays.stream(values()).filter(example -> example.title().equals(title)).findFirst()
                .orElseThrow(() -> new IllegalArgumentException("there is no example '" + title + "', but "
                        + titles().stream().collect(Collectors.joining(", "))));
    }

    /**
     * Runs it for at most a minute of virtual time.
     *
     * @param seed of everything random
     * @param console is given each line that its programs print
     * @return seed, events, time and hash
     */
    public String run(long seed, Consumer<String> console) {
        try (Simulation simulation = new Simulation(seed)) {
            simulation.setConsole((_, line) -> console.accept(line));
            builder.accept(simulation);
            simulation.runFor(PATIENCE);
            return simulation.fingerprint();
        }
    }
}
