package tutti.minha;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;

/** A simulation whose output is kept. */
final class World implements AutoCloseable {
    final Simulation simulation;
    final List<String> log = new ArrayList<>();

    World() {
        this(1);
    }

    World(long seed) {
        simulation = new Simulation(seed);
        simulation.setConsole((jvm, line) -> log.add(line));
    }

    /** Runs a program on a machine of its own and returns what it printed. */
    static List<String> run(Program program, String... arguments) {
        try (World world = new World()) {
            world.machine("a").run("main", program, arguments);
            world.simulation.run();
            assertEquals("", world.simulation.describe(), "threads that did not end");
            return world.log;
        }
    }

    Machine machine(String name) {
        return simulation.machine(name);
    }

    @Override
    public void close() {
        simulation.close();
    }
}
