package tutti.core.protocol;

import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import tutti.core.schema.MessageSet;

/** A protocol with values for its parameters: what a world is told to run. Immutable, for any thread. */
public final class ChosenProtocol {
    private final ProtocolDescriptor descriptor;
    private final Map<String, String> parameters;
    private final ParameterValues values;
    private final Claims claims;

    /**
     * Chooses.
     *
     * @param parameters values by name, the same at all replicas; what is left out has its default
     * @throws IllegalArgumentException naming the protocol, the parameter, the value, and the nearest that is valid
     */
    public ChosenProtocol(ProtocolDescriptor descriptor, Map<String, String> parameters) {
        this.descriptor = descriptor;
        this.parameters = Map.copyOf(parameters);
        this.values = ParameterValues.parse(descriptor.name(), descriptor.parameters(), parameters);
        this.claims = descriptor.claims(values);
    }

    /** Which protocol. */
    public ProtocolDescriptor descriptor() {
        return descriptor;
    }

    /** Its name in configurations. */
    public String name() {
        return descriptor.name();
    }

    /** What was chosen and not left at its default. */
    public Map<String, String> parameters() {
        return parameters;
    }

    /** What it promises and needs. */
    public Claims claims() {
        return claims;
    }

    /** What it promises and needs from where parameters that the order changes have these values. */
    public Claims claims(OrderedParameters present) {
        if (present.since() == 0) {
            return claims;
        }
        Map<String, String> then = new TreeMap<>(parameters);
        then.putAll(present.values());
        return descriptor.claims(ParameterValues.parse(name(), descriptor.parameters(), then));
    }

    /** Short for {@link Claims#has}. */
    public boolean has(Trait trait) {
        return claims.has(trait);
    }

    /** Whether a transaction that asks for it is serializable over engines that guarantee snapshot isolation. */
    public boolean grantsSerializable() {
        return guarantee() == Guarantee.SERIALIZABILITY || has(Trait.TAKES_READS);
    }

    /** What it guarantees over engines that guarantee snapshot isolation. */
    public Guarantee guarantee() {
        return claims.guarantee();
    }

    /**
     * Whose majority should decide the total order, where the world's order has votes.
     *
     * @throws IllegalArgumentException if the parameters do not fit these replicas
     */
    public Set<Integer> voters(Set<Integer> replicas) {
        return descriptor.voters(replicas, values);
    }

    /**
     * Makes one replica's side of it, in a world whose order spans all replicas.
     *
     * @param node this replica
     * @param replicas all replicas, this one included
     * @param world the world that it is to live in
     * @throws IllegalArgumentException if the parameters do not fit these replicas
     */
    public Protocol create(int node, Set<Integer> replicas, ReplicaWorld world) {
        return create(Deployment.spanning(node, replicas), world);
    }

    /**
     * Makes one replica's side of it.
     *
     * @param world the world that it is to live in
     * @throws IllegalArgumentException if the parameters do not fit this deployment
     */
    public Protocol create(Deployment where, ReplicaWorld world) {
        if (!where.spans() && !has(Trait.ORDER_OF_ONE_CLUSTER)) {
            throw new IllegalArgumentException("protocol " + name() + " needs an order that every replica is delivered"
                    + "; this one spans " + where.ordered() + " of " + where.replicas());
        }
        return descriptor.create(where, values, world);
    }

    /**
     * The message that gives parameters other values, at its position, for all replicas.
     *
     * @param replicas all of them, as of now
     * @param present as whoever asks for the change knows them ({@link Protocol#ordered})
     * @param wanted values by name, of those that change
     * @throws IllegalArgumentException naming the parameter, and what can be done instead
     */
    public Message change(Set<Integer> replicas, OrderedParameters present, Map<String, String> wanted) {
        Map<String, String> then = new TreeMap<>(parameters);
        then.putAll(present.values());
        then.putAll(wanted);
        ParameterValues checked = ParameterValues.parse(name(), descriptor.parameters(), then);
        for (String name : wanted.keySet()) {
            if (!descriptor.ordered().contains(name)) {
                throw new IllegalArgumentException(name + " of protocol " + name() + (descriptor.local().contains(name)
                        ? " is each node's own: change its configuration, and have it read again (`tutti reload`)"
                        : " is kept for good by a cluster"));
            }
        }
        return descriptor.change(replicas, present, checked);
    }

    /**
     * Whether a replica that {@linkplain #toString says} that it runs this can take part: the same protocol with the same values of all
     * parameters, but for those that replicas may have different values of.
     */
    public boolean fits(String told) {
        int open = told.indexOf(" {");
        if (!name().equals(open < 0 ? told : told.substring(0, open))) {
            return false;
        }
        Map<String, String> texts = new TreeMap<>();
        if (open >= 0) {
            for (String each : told.substring(open + 2, told.length() - 1).split(", ", -1)) {
                int equals = each.indexOf('=');
                texts.put(each.substring(0, Math.max(0, equals)), each.substring(equals + 1));
            }
        }
        try {
            return ParameterValues.parse(name(), descriptor.parameters(), texts).same(values, descriptor.local());
        } catch (IllegalArgumentException another) {
            return false;
        }
    }

    /** Tells one replica's side of this protocol that those parameters which are its own have these values from now on, if there are any. */
    public void configure(Protocol protocol) {
        descriptor.configure(protocol, values);
    }

    /** Its messages. */
    public MessageSet<Message> messages() {
        return descriptor.messages();
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof ChosenProtocol that && descriptor.equals(that.descriptor)
                && parameters.equals(that.parameters);
    }

    @Override
    public int hashCode() {
        return Objects.hash(name(), parameters);
    }

    /** Name, and what is not as by default, in an order that is the same everywhere. */
    @Override
    public String toString() {
        return parameters.isEmpty() ? name() : name() + " " + new TreeMap<>(parameters);
    }
}
