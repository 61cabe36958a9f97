package tutti.engine;

import java.util.List;
import java.util.Optional;
import java.util.ServiceLoader;
import tutti.core.text.ByName;

/**
 * Which engines there are, by name: those whose descriptors are on the class path, in the order in which it names them.
 * Configuration, URLs and commands are read by means of it; nothing else says what engines exist. Immutable, for any
 * thread.
 */
public final class Engines {
    /** Those of this program. */
    public static final Engines INSTALLED = new Engines(
            ServiceLoader.load(EngineDescriptor.class, Engines.class.getClassLoader()));

    private final ByName<EngineDescriptor> byName;

    private Engines(Iterable<EngineDescriptor> descriptors) {
        byName = new ByName<>("engine", descriptors, EngineDescriptor::name);
    }

    /** Names of all. */
    public List<String> names() {
        return byName.names();
    }

    /** Names of those of a kind. */
    public List<String> names(Class<? extends EngineDescriptor> kind) {
        return byName.all().stream().filter(kind::isInstance).map(EngineDescriptor::name).toList();
    }

    /**
     * One of them.
     *
     * @throws IllegalArgumentException if there is none of this name, with those that there are
     */
    public EngineDescriptor descriptor(String name) {
        return byName.get(name);
    }

    /** One of them, if there is one of this name and kind. */
    public <T extends EngineDescriptor> Optional<T> find(String name, Class<T> kind) {
        return Optional.ofNullable(byName.find(name)).filter(kind::isInstance).map(kind::cast);
    }
}
