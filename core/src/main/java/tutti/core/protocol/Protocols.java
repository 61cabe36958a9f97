package tutti.core.protocol;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import tutti.core.text.ByName;

/**
 * Which protocols there are, by name. Configuration, {@code --help} and documentation are made from their descriptors.
 * Immutable, for any thread.
 */
public final class Protocols {
    /** Those that Tutti comes with. A protocol is added here and nowhere else. */
    public static final Protocols STANDARD = new Protocols(List.of(
            new SnapshotIsolationDescriptor(),
            new DatabaseStateMachineDescriptor(),
            new PostgresRDescriptor(),
            new ActiveReplicationDescriptor(),
            new PassiveReplicationDescriptor(),
            new NodoDescriptor(),
            new AkaraDescriptor(),
            new TwoPhaseCommitDescriptor(),
            new WiceDescriptor(),
            new HybridDescriptor()));

    /** Name of the protocol that is used if none is chosen. */
    public static final String DEFAULT = SnapshotIsolation.NAME;

    private final ByName<ProtocolDescriptor> byName;

    private Protocols(List<ProtocolDescriptor> descriptors) {
        byName = new ByName<>("protocol", descriptors, ProtocolDescriptor::name);
    }

    /**
     * These, and one more.
     *
     * @throws IllegalArgumentException if there is one of its name
     */
    public Protocols with(ProtocolDescriptor another) {
        List<ProtocolDescriptor> more = new ArrayList<>(byName.all());
        more.add(another);
        return new Protocols(more);
    }

    /** Names of all protocols. */
    public List<String> names() {
        return byName.names();
    }

    /** All of them. */
    public List<ProtocolDescriptor> all() {
        return byName.all();
    }

    /**
     * One of them.
     *
     * @throws IllegalArgumentException if there is none of this name, naming the nearest
     */
    public ProtocolDescriptor descriptor(String name) {
        return byName.get(name);
    }

    /**
     * One of them with values for its parameters.
     *
     * @param parameters values by name; what is left out has its default
     * @throws IllegalArgumentException if there is none of this name, or a parameter is impossible
     */
    public ChosenProtocol choose(String name, Map<String, String> parameters) {
        return new ChosenProtocol(descriptor(name), parameters);
    }

    /** One of them with all parameters at their defaults. */
    public ChosenProtocol choose(String name) {
        return choose(name, Map.of());
    }
}
