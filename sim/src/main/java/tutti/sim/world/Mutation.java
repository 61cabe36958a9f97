package tutti.sim.world;

/**
 * How a scenario is run: with the classes as they are, or with something broken in them on purpose, to see that checkers find it.
 * Used for one run at a time.
 */
public interface Mutation {
    /** Nothing is broken. */
    Mutation NONE = ScenarioRun::run;

    /** Runs a scenario. */
    ScenarioResult run(Scenario scenario);
}
