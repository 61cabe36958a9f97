package tutti.core.protocol;

import java.util.List;
import java.util.Map;
import java.util.Set;
import tutti.core.schema.MessageSet;

/**
 * All that the rest of the system knows of a protocol: its name, what can be chosen about it, what it promises and needs, and
 * how it is made. Stands in one class beside the protocol's own; {@link Protocols} finds it. Immutable, for any thread.
 */
public interface ProtocolDescriptor {
    /** The name in configurations: lower case, unique. */
    String name();

    /** What it does, in one sentence. */
    String idea();

    /** What can be chosen about it. */
    List<Parameter> parameters();

    /**
     * Names of those that {@link #change} changes while it runs, at one position of the order for all replicas. The values that a replica is made with are
     * those with which the order began.
     */
    default Set<String> ordered() {
        return Set.of();
    }

    /** Names of those that replicas may have different values of, and that change while one runs: see {@link #configure}. */
    default Set<String> local() {
        return Set.of();
    }

    /**
     * Tells one replica's side that its {@link #local} parameters have these values from now on.
     *
     * @param protocol made by this descriptor
     */
    default void configure(Protocol protocol, ParameterValues values) {
        // There are none.
    }

    /**
     * The message that gives {@link #ordered} parameters other values from its position on. It means nothing if somebody else's came first.
     *
     * @param replicas all of them, as of now
     * @param present as whoever asks for the change knows them
     * @param values of all parameters then
     * @throws IllegalArgumentException if they do not fit these replicas, or cannot follow the present ones
     */
    default Message change(Set<Integer> replicas, OrderedParameters present, ParameterValues values) {
        throw new IllegalArgumentException("protocol " + name() + " has no parameter that the order changes");
    }

    /** What it promises and needs with these values. */
    Claims claims(ParameterValues values);

    /** What the papers' figures call the queues of a stage, where they name any. */
    default Map<Stage, String> queues() {
        return Map.of();
    }

    /**
     * Whose majority should decide the total order, where the world's order has votes.
     *
     * @throws IllegalArgumentException if the values do not fit these replicas
     */
    default Set<Integer> voters(Set<Integer> replicas, ParameterValues values) {
        return Set.copyOf(replicas);
    }

    /**
     * Makes one replica's side of it.
     *
     * @param values the same at all replicas
     * @param world the world that it is to live in
     * @throws IllegalArgumentException if the values do not fit this deployment
     */
    Protocol create(Deployment where, ParameterValues values, ReplicaWorld world);

    /** Its messages, for whoever writes and reads them. */
    MessageSet<Message> messages();
}
