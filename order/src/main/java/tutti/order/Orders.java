package tutti.order;

import java.util.List;
import java.util.ServiceLoader;
import java.util.TreeMap;

/** Which kinds of order there are, by name: those of all jars of the class path. Immutable, for any thread. */
public final class Orders {
    /** All there are. */
    public static final Orders STANDARD = new Orders(ServiceLoader.load(OrderDescriptor.class, Orders.class.getClassLoader()));

    /** Name of the order that is used if none is chosen. */
    public static final String DEFAULT = "raft";

    private final TreeMap<String, OrderDescriptor> byName = new TreeMap<>();

    private Orders(Iterable<OrderDescriptor> all) {
        for (OrderDescriptor descriptor : all) {
            if (byName.put(descriptor.name(), descriptor) != null) {
                throw new IllegalStateException("two orders are called " + descriptor.name());
            }
        }
    }

    /** Names of all. */
    public List<String> names() {
        return List.copyOf(byName.keySet());
    }

    /**
     * One of them.
     *
     * @throws IllegalArgumentException if there is none of this name
     */
    public OrderDescriptor descriptor(String name) {
        OrderDescriptor found = byName.get(name);
        if (found == null) {
            throw new IllegalArgumentException(
                    "no order '" + name + "'; there are: " + String.join(", ", byName.keySet()));
        }
        return found;
    }
}
