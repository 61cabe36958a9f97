package tutti.sim.world.mutant;

import java.util.Map;
import java.util.function.Supplier;
import tutti.core.protocol.Protocols;
import tutti.sim.fault.FaultProfile;
import tutti.sim.world.Mutation;
import tutti.sim.world.Scenario;

/**
 * Something broken on purpose.
 *
 * @param name lower-case words with hyphens between them
 * @param what is wrong, in words
 * @param protocol in which it is looked for
 * @param parameters of the protocol that are not left to chance
 * @param order over which
 * @param faults under which, as {@link FaultProfile#parse} reads them
 * @param mutation makes one for a run; it must not be used for another
 */
public record Mutant(String name, String what, String protocol, Map<String, String> parameters,
        Scenario.OrderKind order, String faults, Supplier<Mutation> mutation) {
    /** The scenario of a seed. */
    public Scenario scenario(long seed, int transactions) {
        return Scenario.random(seed, Protocols.STANDARD.descriptor(protocol), parameters, order, transactions,
                FaultProfile.parse(faults));
    }
}
