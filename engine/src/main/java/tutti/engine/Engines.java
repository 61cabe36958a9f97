package tutti.engine;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceLoader;

/**
 * Which engines there are, by name: those whose descriptors are on the class path, in the order in which it names them.
 * Configuration, URLs and commands are read by means of it; nothing else says what engines exist. Immutable, for any
 * thread.
 */
public final class Engines {
    /** Those of this program. */
    public static final Engines INSTALLED = new Engines(
            ServiceLoader.load(EngineDescriptor.class, Engines.class.getClassLoader()));

    private final Map<String, EngineDescriptor> byName;

    private Engines(Iterable<EngineDescriptor> descriptors) {
        Map<String, EngineDescriptor> map = new LinkedHashMap<>();
        for (EngineDescriptor descriptor : descriptors) {
            EngineDescriptor other = map.put(descriptor.name(), descriptor);
            if (other != null) {
                throw new IllegalStateException("two engines are called " + descriptor.name() + ": "
                        + other.getClass().getName() + " and " + descriptor.getClass().getName()
                        + "; leave one of them off the class path");
            }
        }
        byName = Collections.unmodifiableMap(map);
    }

    /** Names of all. */
    public List<String> names() {
        return List.copyOf(byName.keySet());
    }

    /** Names of those of a kind. */
    public List<String> names(Class<? extends EngineDescriptor> kind) {
        List<String> names = new ArrayList<>();
        byName.forEach((name, descriptor) -> {
            if (kind.isInstance(descriptor)) {
                names.add(name);
            }
        });
        return names;
    }

    /**
     * One of them.
     *
     * @throws IllegalArgumentException if there is none of this name, with those that there are
     */
    public EngineDescriptor descriptor(String name) {
        EngineDescriptor found = byName.get(name);
        if (found == null) {
            throw new IllegalArgumentException(
                    "there is no engine " + name + "; there are: " + String.join(", ", names()));
        }
        return found;
    }

    /** One of them, if there is one of this name and kind. */
    public <T extends EngineDescriptor> Optional<T> find(String name, Class<T> kind) {
        return Optional.ofNullable(byName.get(name)).filter(kind::isInstance).map(kind::cast);
    }
}
