package tutti.sim.world.mutant;

import java.lang.reflect.InvocationTargetException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.Protocols;
import tutti.sim.fault.FaultPlan;
import tutti.sim.fault.FaultProfile;
import tutti.sim.world.Mutation;
import tutti.sim.world.Scenario;
import tutti.sim.world.ScenarioResult;
import tutti.sim.world.database.EngineKind;

/**
 * Something broken on purpose in the classes that decide about transactions.
 *
 * @param name lower-case words with hyphens between them
 * @param what is wrong, in words
 * @param edits that make it so
 * @param where it is looked for
 * @param finder who must find it
 * @param within of how many scenarios at most
 * @param mended whether the project has had this fault
 */
public record Mutant(String name, String what, List<Edit> edits, Where where, Finder finder, int within,
        boolean mended) {
    public Mutant {
        edits = List.copyOf(edits);
    }

    /**
     * Scenarios in which a mutant is looked for.
     *
     * @param protocol that is run
     * @param parameters of the protocol that are not left to chance
     * @param engine what the databases are like; null if that is left to chance
     * @param order over which
     * @param faults under which, as {@link FaultProfile#parse} reads them
     * @param transactions of each scenario
     * @param firstSeed of the first scenario
     * @param partial whether some nodes lack some tables
     * @param plan what goes wrong, a line for each fault as {@link FaultPlan} reads them, where that is not left to chance; empty if it is
     */
    public record Where(String protocol, Map<String, String> parameters, @Nullable EngineKind engine,
            Scenario.OrderKind order, String faults, int transactions, long firstSeed, boolean partial,
            List<String> plan) {
        public Where {
            parameters = Map.copyOf(parameters);
            plan = List.copyOf(plan);
        }

        /** Where all nodes keep all tables. */
        public Where(String protocol, Map<String, String> parameters, @Nullable EngineKind engine,
                Scenario.OrderKind order, String faults, int transactions, long firstSeed) {
            this(protocol, parameters, engine, order, faults, transactions, firstSeed, false, List.of());
        }

        /** The same where some nodes lack some tables. */
        Where withTablesOnSomeNodes() {
            return new Where(protocol, parameters, engine, order, faults, transactions, firstSeed, true, plan);
        }

        /** The same under just these faults. */
        Where withPlan(String... lines) {
            return new Where(protocol, parameters, engine, order, faults, transactions, firstSeed, partial,
                    List.of(lines));
        }

        /** The scenario of a seed. */
        public Scenario scenario(long seed) {
            Scenario random = Scenario.random(seed, Protocols.STANDARD.descriptor(protocol), parameters, order,
                    transactions, FaultProfile.parse(faults));
            Scenario over = engine == null ? random : random.withEngine(engine);
            Scenario under = plan.isEmpty() ? over : over.withPlan(planned(over));
            return partial ? under.withTablesOnSomeNodes() : under;
        }

        /** The plan's own head, and these faults. */
        private FaultPlan planned(Scenario over) {
            List<String> head = over.plan().withFaults(List.of()).toString().lines().toList();
            return FaultPlan.parse(String.join("\n", Stream.concat(head.stream(), plan.stream()).toList()) + "\n");
        }
    }

    /** What is done to the classes. */
    public List<String> changes() {
        return edits.stream().map(Edit::toString).toList();
    }

    /** The same with its edits in another method. */
    public Mutant elsewhere(String method, String other) {
        return new Mutant(name, what,
                edits.stream().map(edit -> edit.method().equals(method) ? edit.in(other) : edit).toList(), where,
                finder,
                within, mended);
    }

    /** Runs scenarios as its mutations do, with nothing broken. */
    public Mutation sound() {
        return new Mutant(name, what, List.of(), where, finder, within, mended).mutations().get();
    }

    /**
     * Makes mutations of it, which may run side by side.
     *
     * @throws IllegalStateException if a class has changed so that an edit does not fit any more
     */
    public Supplier<Mutation> mutations() {
        ConcurrentLinkedQueue<Function<String, List<Object>>> idle = new ConcurrentLinkedQueue<>();
        idle.add(over());
        return () -> new Mutation() {
            @Override
            public ScenarioResult run(Scenario scenario) {
                Function<String, List<Object>> taken = idle.poll();
                Function<String, List<Object>> over = taken == null ? over() : taken;
                try {
                    return LoaderBoundary.run(scenario, over);
                } finally {
                    idle.add(over);
                }
            }
        };
    }

    /** To the other side of a border behind which it is broken. */
    @SuppressWarnings("unchecked") // LoaderBoundary is one.
    private Function<String, List<Object>> over() {
        try {
            return (Function<String, List<Object>>) new MutantLoader(MutantLoader.WORLD, edits)
                    .loadClass(LoaderBoundary.class.getName())
                    .getConstructor().newInstance();
        } catch (ClassNotFoundException | NoSuchMethodException | InstantiationException | IllegalAccessException
                | InvocationTargetException impossible) {
            throw new IllegalStateException("the border of mutant " + name, impossible);
        }
    }
}
